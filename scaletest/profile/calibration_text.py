"""The calibration block of a profile's text: put in or exchanged, with every other line left as it is.

The block begins with its key and ends with its last value; comments between that and the next key belong to what
follows. Whatever comes of it is read again by the strict reader before anybody sees it.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Final

from scaletest.profile.calibration import Calibration
from scaletest.profile.document import Document, parse_document
from scaletest.profile.problems import Problem, ProfileError
from scaletest.profile.reading import read_profile
from scaletest.profile.scalars import written_scalar

__all__ = ["calibration_text", "with_calibration"]

_KEY: Final = "calibration"
_NOTE: Final = (
    "  # Written by `scaletest calibrate`; docs/calibration.md says what it means. To renew it, run that again."
)


def calibration_text(calibration: Calibration) -> str:
    """Return the block as a profile holds it."""
    values = calibration.model_dump(mode="json", by_alias=True)
    return "\n".join([f"{_KEY}:", _NOTE, *_lines(values, "  "), ""])


def _lines(values: Mapping[str, object], indent: str) -> Iterator[str]:
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield f"{indent}{key}:"
            yield from _lines(value, indent + "  ")
        else:
            assert isinstance(value, str | int | float), key
            yield f"{indent}{key}: {json.dumps(value) if isinstance(value, str) else written_scalar(value)}"


def with_calibration(text: str, file: str, calibration: Calibration) -> str:
    """Return a profile's text with this calibration; raise ProfileError when the file does not allow it."""
    before, after = _around(text, file)
    newline = "\r\n" if "\r\n" in text else "\n"
    if before and not before[-1].endswith(("\n", "\r")):
        before[-1] += newline
    if before and before[-1].strip():
        before.append(newline)
    block = calibration_text(calibration).replace("\n", newline)
    changed = "".join([*before, block, *after])
    _check(text, changed, file, calibration)
    return changed


def _around(text: str, file: str) -> tuple[list[str], list[str]]:
    """Return the lines before the block and those after it; without a block, all lines and none."""
    document = parse_document(text)
    if document.faults:
        raise _refused(file, f"the file is not in order: {document.faults[0].message}")
    lines = text.splitlines(keepends=True)  # the parser ends its lines where Python does: what differs is refused
    mark = document.keys.get((_KEY,))
    if mark is None:
        return lines, []
    if mark.column != 1:
        raise _refused(file, "the calibration block does not begin at the left edge of a line")
    starts = sorted(place.line for path, place in document.keys.items() if len(path) == 1)
    end = next((line - 1 for line in starts if line > mark.line), len(lines))
    while end > mark.line and _is_between(lines[end - 1]):
        end -= 1
    return lines[: mark.line - 1], lines[end:]


def _is_between(line: str) -> bool:
    return line.startswith("...") or not line.strip() or line.lstrip().startswith("#")


def _check(text: str, changed: str, file: str, calibration: Calibration) -> None:
    """See to it that nothing but the block is different, and that it says what was meant."""
    try:
        read = read_profile(changed, file).value
    except ProfileError as error:
        raise _refused(file, f"with the block in it the file could not be read: {error.problems[0].text}") from error
    if _rest(parse_document(text)) != _rest(parse_document(changed)) or read.calibration != calibration:
        raise _refused(file, "with the block in it the file would say something else")


def _rest(document: Document) -> object:
    values = document.value
    return {key: value for key, value in values.items() if key != _KEY} if isinstance(values, dict) else values


def _refused(file: str, why: str) -> ProfileError:
    hint = "put the block in by hand, as a block of its own at the end of the file"
    return ProfileError([Problem(file, 0, 0, _KEY, f"nothing was written: {why}", hint)])
