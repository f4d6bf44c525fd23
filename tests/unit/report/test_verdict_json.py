"""verdict.json: what it holds, that equal verdicts give equal bytes, and what reading refuses."""

import json
from dataclasses import replace
from typing import Any

import pytest
from verdict_examples import EXAMPLE, PASSED, gate, nasty_verdict, verdict

from scaletest.gates.outcomes import Bracket
from scaletest.report.verdict_json import VerdictError, read_verdict, verdict_document, verdict_text


def gate_of(**changes: object) -> dict[str, Any]:
    document: dict[str, Any] = verdict_document(verdict(gate(**changes)))["gates"][0]  # type: ignore[arg-type]
    return document


def test_an_exact_value_is_a_number_and_a_bracket() -> None:
    document = gate_of(value=Bracket(3.25, 3.25))
    assert (document["value"], document["bracket"]) == (3.25, [3.25, 3.25])


def test_a_value_known_only_between_edges_is_a_bracket_alone() -> None:
    document = gate_of(value=Bracket(3, None))
    assert (document["value"], document["bracket"], document["margin"]) == (None, [3, None], None)


def test_nothing_measured_is_null_throughout() -> None:
    document = gate_of(value=None)
    assert (document["value"], document["bracket"], document["margin"]) == (None, None, None)


def test_the_margin_is_the_share_of_the_bar_that_is_left() -> None:
    assert gate_of(value=Bracket(4, 4), threshold=5)["margin"] == 0.2
    assert gate_of(value=Bracket(6, 6), threshold=5)["margin"] == -0.2


def test_a_margin_beyond_all_numbers_is_null() -> None:
    assert gate_of(value=Bracket(1e308, 1e308), threshold=1e-308)["margin"] is None
    assert gate_of(value=Bracket(10**308, 10**308), threshold=1e-3)["margin"] is None


def test_whole_numbers_are_spelled_in_one_way() -> None:
    whole = verdict(gate(value=Bracket(3, 3), threshold=30))
    floating = verdict(gate(value=Bracket(3.0, 3.0), threshold=30.0))
    assert whole == floating
    assert verdict_text(whole) == verdict_text(floating)


def test_the_margin_of_large_whole_numbers_does_not_depend_on_how_they_are_spelled() -> None:
    floating = verdict(gate(value=Bracket(-83651.0, None), threshold=-6.163520763948641e16, comparison=">="))
    whole = verdict(gate(value=Bracket(-83651, None), threshold=int(-6.163520763948641e16), comparison=">="))
    assert whole == floating
    assert verdict_text(whole) == verdict_text(floating)


def test_minus_zero_is_zero() -> None:
    assert '"value": 0,' in verdict_text(verdict(gate(value=Bracket(-0.0, -0.0))))


def test_the_text_is_ascii_with_sorted_keys_and_one_newline_at_the_end() -> None:
    text = verdict_text(nasty_verdict())
    keys = list(json.loads(text))
    assert text.isascii()
    assert keys == sorted(keys)
    assert text.endswith("}\n")


def test_not_a_number_is_never_written() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        verdict_text(verdict(gate(value=Bracket(float("nan"), None))))


@pytest.mark.parametrize("each", [EXAMPLE, PASSED, nasty_verdict()], ids=["rich", "passed", "nasty"])
def test_what_was_written_is_read_back(each: Any) -> None:
    assert read_verdict(verdict_text(each)) == each


def changed(path: str, value: object) -> str:
    """Return the example's text with one place changed, or removed when the value is ...; new keys are added."""
    document: Any = verdict_document(replace(EXAMPLE, gates=EXAMPLE.gates[:2]))
    *around, last = [int(part) if part.isdigit() else part for part in path.split(".")]
    place = document
    for part in around:
        place = place[part]
    if value is ...:
        del place[last]
    else:
        place[last] = value
    return json.dumps(document)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("version", 2, "version: 2 is not the known version 1"),
        ("version", True, "version: True is not"),
        ("version", ..., "version: None is not"),
        ("profile", ..., "profile: missing"),
        ("profile", 3, "profile: not a text"),
        ("outcome", "OK", "outcome: not one of PASS, FAIL, INCONCLUSIVE"),
        ("strict", 1, "strict: not true or false"),
        ("gates", {}, "gates: not a list"),
        ("gates.0", [], r"gates\[0\]: not an object"),
        ("gates.0.extra", 1, r"gates\[0\].extra: unknown key"),
        ("gates.0.margin", ..., r"gates\[0\].margin: missing"),
        ("gates.1.margin", 0.5, r"gates\[1\].margin: 0.5 disagrees with the other fields, which give -0.02"),
        ("gates.1.value", 4, r"gates\[1\].value: 4 disagrees"),
        ("gates.1.bar", "<= 6 s", r"gates\[1\].bar: '<= 6 s' disagrees"),
        ("gates.0.bracket", [1], r"gates\[0\].bracket: not a pair"),
        ("gates.0.bracket", [2, 1], r"gates\[0\].bracket: its low edge is above its high"),
        ("gates.0.bracket", [None, 1], r"gates\[0\].bracket: not a number"),
        ("gates.0.threshold", False, r"gates\[0\].threshold: not a number"),
        ("gates.0.threshold", 10**400, r"gates\[0\].threshold: too large"),
        ("gates.0.samples", 1.5, r"gates\[0\].samples: not a whole number or null"),
        ("gates.0.unit", "ms", r"gates\[0\].unit: not one of"),
        ("gates.0.details.0.name", None, r"gates\[0\].details\[0\].name: not a text"),
        ("defects.0.effect", "none", r"defects\[0\].effect: not one of flatter, worsen, both"),
        ("phases.0.more", "", r"phases\[0\].more: unknown key"),
    ],
)
def test_reading_names_the_place_that_is_wrong(path: str, value: object, message: str) -> None:
    with pytest.raises(VerdictError, match=f"^{message}"):
        read_verdict(changed(path, value))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not JSON"),
        ("[]", "document: not an object"),
        ('{"version": 1, "version": 1}', "not JSON: a key is there twice"),
        ('{"version": NaN}', "not JSON: NaN is no JSON number"),
        ("[" * 100_000, "not JSON"),
        (verdict_text(EXAMPLE)[:-5], "not JSON"),
    ],
)
def test_reading_refuses_what_is_no_document(text: str, message: str) -> None:
    with pytest.raises(VerdictError, match=message):
        read_verdict(text)


def test_infinity_written_as_a_large_number_is_refused() -> None:
    text = verdict_text(EXAMPLE).replace("34.25", "1e999")
    with pytest.raises(VerdictError, match="too large for a number"):
        read_verdict(text)
