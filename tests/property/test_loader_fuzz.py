"""Whatever a file holds, reading it gives a value or a ProfileError, and a slip is reported on its own line."""

import random
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from scaletest.profile import ProfileError, file_text, read_any

_FILES = sorted((Path(__file__).parents[2] / "profiles").rglob("*.yaml"))
_TEXTS = {path.name: file_text(path) for path in _FILES}
_KEY = re.compile(r"(?<![\w\"'.$/-])(?:[a-z][A-Za-z0-9]*)(?=: |:\n)")
_RETYPED = (
    "on",
    "017",
    "-1",
    "1e3",
    '"x"',
    "[]",
    "{}",
    "null",
    "",
    "1.5",
    ".nan",
    "{a: b}",
    "[1, [2]]",
    "*x",
    "!!t x",
    "&a 1",
)

_scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
_words = st.sampled_from(sorted({match.group() for text in _TEXTS.values() for match in _KEY.finditer(text)}))
_values = st.recursive(
    _scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_words | st.text(max_size=5), inner, max_size=5),
    max_leaves=20,
)


def _reads_or_refuses(text: str, file: str = "fuzz.yaml") -> tuple[int, ...]:
    """Return the lines that problems are reported on; anything but a value or a ProfileError is a bug."""
    try:
        reading = read_any(text, file)
    except ProfileError as error:
        problems = error.problems
    else:
        problems = reading.warnings
    assert all(str(problem).isprintable() for problem in problems)
    return tuple(problem.line for problem in problems)


@given(st.text(max_size=200))
def test_arbitrary_text(text: str) -> None:
    _reads_or_refuses(text)


@given(st.text("{}[]:,-?&*!|>'\"%@` \n\tab1.~<=#\\eud", max_size=60))
def test_text_that_looks_like_yaml(text: str) -> None:
    _reads_or_refuses(text)


@given(_values)
def test_arbitrary_values(value: object) -> None:
    _reads_or_refuses(yaml.safe_dump(value))


@given(st.sampled_from(["Profile", "Catalog", "Engine", "Substrate"]), st.dictionaries(_words, _values, max_size=6))
def test_arbitrary_blocks_of_each_kind(kind: str, blocks: dict[str, object]) -> None:
    _reads_or_refuses(
        yaml.safe_dump({"apiVersion": "scaletest/v1", "kind": kind, "metadata": {"name": "fuzz"}, **blocks})
    )


@given(st.sampled_from(sorted(_TEXTS)), st.data())
def test_shipped_files_with_characters_changed(name: str, data: st.DataObject) -> None:
    text = _TEXTS[name]
    start = data.draw(st.integers(0, len(text)))
    stop = data.draw(st.integers(start, min(len(text), start + 20)))
    _reads_or_refuses(text[:start] + data.draw(st.text(max_size=10)) + text[stop:], name)


def _keys(text: str) -> Iterator[tuple[int, int]]:
    """Yield where each key that we define starts and ends: no comment, and no label of an engine's metric."""
    offset = 0
    for line in text.splitlines(keepends=True):
        written = "" if line.lstrip().startswith("#") else re.split(r" #|\{", line)[0] if "labels:" in line else line
        written = written.partition(" #")[0] + "\n"
        for match in _KEY.finditer(written):
            yield offset + match.start(), offset + match.end()
        offset += len(line)


def _misspelt(key: str, chance: random.Random) -> str:
    """Return the key with two letters swapped, one doubled or one left out, as fingers do."""
    place = chance.randrange(len(key))
    left_out = key[:place] + key[place + 1 :]
    doubled = key[:place] + key[place] + key[place:]
    swapped = key[:place] + key[place : place + 2][::-1] + key[place + 2 :]
    return chance.choice([each for each in (left_out, doubled, swapped) if each not in {key, ""}] or [key + "x"])


@pytest.mark.parametrize("name", sorted(_TEXTS))
def test_every_misspelt_key_is_reported_on_its_line(name: str) -> None:
    text, chance = _TEXTS[name], random.Random(name)  # noqa: S311 (a fixed sequence, not a secret)
    for start, stop in _keys(text):
        slip = _misspelt(text[start:stop], chance)
        line = text.count("\n", 0, start) + 1
        lines = _reads_or_refuses(text[:start] + slip + text[stop:], name)
        assert line in lines, f"{name}:{line}: {slip} is not reported"


@pytest.mark.parametrize("name", sorted(_TEXTS))
def test_every_doubled_key_is_reported_on_its_line(name: str) -> None:
    lines = _TEXTS[name].splitlines(keepends=True)
    for place, line in enumerate(lines):
        if re.match(r" *[a-z]\w*: +[^ #\n{\[]", line):
            doubled = "".join([*lines[: place + 1], line, *lines[place + 1 :]])
            assert place + 2 in _reads_or_refuses(doubled, name), f"{name}:{place + 2}: {line.strip()}"


@pytest.mark.parametrize("name", sorted(_TEXTS))
def test_single_lines_deleted(name: str) -> None:
    lines = _TEXTS[name].splitlines(keepends=True)
    for place in range(len(lines)):
        _reads_or_refuses("".join(lines[:place] + lines[place + 1 :]), name)


@given(st.sampled_from(sorted(_TEXTS)), st.sampled_from(_RETYPED), st.data())
def test_single_values_retyped(name: str, retyped: str, data: st.DataObject) -> None:
    text = _TEXTS[name]
    _, stop = data.draw(st.sampled_from(list(_keys(text))))
    end = min(found for mark in (",", "}", "\n") if (found := text.find(mark, stop)) >= 0)
    _reads_or_refuses(f"{text[:stop]}: {retyped}{text[end:]}", name)
