import pytest
import yaml

from scaletest.profile import document as document_module
from scaletest.profile.document import Mark, parse_document

_TEXT = """\
a: 1
b:
  - x: [true, "no"]
    y: {}
  - 'é': 0.5
"""


@pytest.fixture(params=["CSafeLoader", "SafeLoader"])
def _either_parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document_module, "_LOADER", getattr(yaml, request.param))


def _faults(text: str) -> list[str]:
    return [f"{fault.mark.line}:{fault.mark.column} {fault.message}" for fault in parse_document(text).faults]


@pytest.mark.usefixtures("_either_parser")
class TestEitherParser:
    def test_gives_plain_values_with_tuples_for_sequences(self) -> None:
        expected = {"a": 1, "b": ({"x": (True, "no"), "y": {}}, {"é": 0.5})}
        assert parse_document(_TEXT).value == expected

    def test_marks_every_key_and_value(self) -> None:
        document = parse_document(_TEXT)
        assert document.keys["b", 0, "x"] == Mark(3, 5)
        assert document.values["b", 0, "x", 1] == Mark(3, 15)
        assert document.values["b", 1, "é"] == Mark(5, 10)

    def test_a_missing_path_stands_where_its_block_does(self) -> None:
        assert parse_document(_TEXT).mark(("b", 0, "y", "z")) == Mark(4, 5)

    def test_finds_all_structural_problems_in_one_go(self) -> None:
        text = "a: on\nb: &x 1\nc: *x\na: 2\nd: !!str 5\n? [e]\n: 6\n7: f\n"
        assert [line.split(" ", 1)[0] for line in _faults(text)] == ["1:4", "2:4", "3:4", "4:1", "5:4", "6:3", "8:1"]

    def test_problems_below_a_refused_key_are_found_too(self) -> None:
        assert _faults("1:\n  a: on\n")[1].startswith("2:6 'on' means")

    def test_the_first_of_two_equal_keys_is_kept(self) -> None:
        assert parse_document("a: {b: 1, b: 2}\n").value == {"a": {"b": 1}}

    def test_an_alias_as_a_key_is_refused(self) -> None:
        assert _faults("a: &x b\n*x : 1\n")[-1] == "2:1 aliases are not allowed: *x"

    def test_depth_is_limited_without_recursion(self) -> None:
        assert _faults("[" * 100_000) == ["1:51 nested deeper than 50 levels"]

    def test_a_second_document_is_refused(self) -> None:
        assert _faults("a: 1\n---\nb: 2\n") == ["2:1 a second document starts here"]

    def test_broken_text_keeps_what_was_found_before(self) -> None:
        document = parse_document("a: on\nb: [1\n")
        assert document.broken
        assert len(document.faults) == 2

    def test_half_a_character_is_refused(self) -> None:
        assert parse_document('a: "\\ud800"\n').faults

    def test_a_byte_order_mark_is_no_content(self) -> None:
        assert parse_document("\ufeffa: 1\n").value == {"a": 1}


def test_size_is_limited() -> None:
    assert _faults("#" * (2**20 + 1)) == ["1:1 the file is larger than 1048576 characters"]


def test_control_characters_are_refused_where_they_stand() -> None:
    assert _faults("a: 1\nb: \x1b[31m\n") == ["2:4 the character '\\x1b' is not allowed in YAML"]


def test_quoted_scalars_are_texts_whatever_they_look_like() -> None:
    assert parse_document('a: ["on", \'017\', "1e3"]\n').value == {"a": ("on", "017", "1e3")}


def test_a_tag_on_a_block_leaves_its_content_usable() -> None:
    document = parse_document("!!map {a: 1}\n")
    assert document.value == {"a": 1}
    assert not document.unusable
