"""Shape errors in our own words: what stands there, what should, and the word that was probably meant."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args, get_origin

from scaletest.profile.blocks import Block
from scaletest.profile.document import Document, Mark
from scaletest.profile.keys import block_at, closest, fields_by_key, suggestion
from scaletest.profile.mismatch import Mismatch
from scaletest.profile.problems import Path, printable, shown
from scaletest.profile.scalars import plain_scalar
from scaletest.profile.spellings import SPELLINGS

__all__ = ["ShapeError", "shape_errors"]

_MOST_KEYS_LISTED: Final = 8
_MOST_GUESSES: Final = 100  # a file with more unknown keys is no file of ours, and each guess takes milliseconds
_LONGEST_SAID: Final = 120
_KEY_STEP: Final = "[key]"  # pydantic's last step for an error of a mapping's key


@dataclass(frozen=True, slots=True)
class ShapeError:
    """A value, key or gap that does not fit its block; `meant` is the path that an unknown key probably stood for."""

    mark: Mark
    path: Path
    message: str
    hint: str = ""
    meant: Path | None = None


def shape_errors(root: type[Block], document: Document, errors: list[Mismatch]) -> list[ShapeError]:
    """Return the errors worth telling: none that only follows from another one or from a value already refused."""
    told = [error for error in errors if not _follows(error)]
    worded = [_worded(root, document, error, guess=place < _MOST_GUESSES) for place, error in enumerate(told)]
    meant = {error.meant for error in worded}
    return [error for error in worded if error.path not in document.unusable and error.path not in meant]


def _follows(error: Mismatch) -> bool:
    """Tell whether a list counts as too short only because its faulty entries were left out."""
    return error.type == "too_short" and len(error.given) >= error.context["min_length"]


def _worded(root: type[Block], document: Document, error: Mismatch, *, guess: bool) -> ShapeError:
    loc = error.path
    of_key = loc[-1:] == (_KEY_STEP,) and loc not in document.keys  # a file may have a key of that very name
    path = loc[:-1] if of_key else loc
    if error.type == "extra_forbidden":
        return _unknown_key(root, document, path, guess=guess)
    if error.type == "missing":
        return ShapeError(document.mark(path), path, *_missing(root, path))
    mark = document.mark(path) if of_key else document.values.get(path) or document.mark(path)
    given = shown(str(path[-1])) if of_key else _given(document, path, error.given)
    message, hint = _WORDS.get(error.type, _other)(given, error)
    return ShapeError(mark, path, message, hint)


def _unknown_key(root: type[Block], document: Document, path: Path, *, guess: bool) -> ShapeError:
    likely = suggestion(root, path) if guess else ""
    meant = None
    if likely:
        hint = f"did you mean {likely}?"
        meant = (*path[:-1], likely)
    else:
        here = block_at(root, path[:-1])
        known = list(fields_by_key(here)) if here else []
        hint = f"known here: {', '.join(known)}" if 0 < len(known) <= _MOST_KEYS_LISTED else "no key is similar"
    return ShapeError(document.mark(path), path, "unknown key", hint, meant)


def _missing(root: type[Block], path: Path) -> tuple[str, str]:
    key = path[-1]
    if isinstance(key, int):
        return "the list is too short", f"give {key + 1} entries"
    here = block_at(root, path[:-1])
    annotation = fields_by_key(here)[key].annotation if here else None
    choices = get_args(annotation) if get_origin(annotation) is Literal else ()
    only = f"write {key}: {choices[0]}" if len(choices) == 1 else "it has no default: give it a value"
    return "the key is missing", only


def _given(document: Document, path: Path, value: Any) -> str:
    if isinstance(value, dict):
        return "a block of keys"
    if isinstance(value, tuple):
        return "a list"
    if value is None:
        return "null"
    text = document.texts.get(path, str(value))
    return shown(text) if isinstance(value, str) else printable(text)


def _kind(noun: str) -> Callable[[str, Mismatch], tuple[str, str]]:
    return lambda given, _: (f"must be {noun}, not {given}", "")


def _text(given: str, error: Mismatch) -> tuple[str, str]:
    scalar = isinstance(error.given, int | float)
    return f"must be a text, not {given}", f'write "{given}" in quotes' if scalar else ""


def _whole(given: str, error: Mismatch) -> tuple[str, str]:
    value = error.given
    round_number = isinstance(value, float) and value.is_integer()
    return f"must be a whole number, not {given}", f"write {int(value)}" if round_number else _unquoted(value)


def _any_number(given: str, error: Mismatch) -> tuple[str, str]:
    return f"must be a number, not {given}", _unquoted(error.given)


def _unquoted(value: object) -> str:
    quoted = isinstance(value, str) and isinstance(plain_scalar(value), int | float)
    return "remove the quotes" if quoted else ""


def _list(given: str, error: Mismatch) -> tuple[str, str]:
    scalar = isinstance(error.given, str | int | float) and not isinstance(error.given, bool)
    return f"must be a list, not {given}", f"write [{given}]" if scalar else ""


def _bound(relation: str, key: str) -> Callable[[str, Mismatch], tuple[str, str]]:
    return lambda given, error: (f"must be {relation} {_number(error.context[key])}, not {given}", "")


def _number(limit: float) -> str:
    return f"{int(limit):,}" if limit == int(limit) else repr(limit)


def _choice(given: str, error: Mismatch) -> tuple[str, str]:
    options = re.findall(r"'([^']*)'", error.context["expected"])
    near = closest(str(error.given), options)
    listed = options[0] if len(options) == 1 else f"one of {', '.join(options)}"
    return f"must be {listed}, not {given}", f"did you mean {near}?" if near else ""


def _spelling(given: str, error: Mismatch) -> tuple[str, str]:
    return f"{given} is not {SPELLINGS[error.context['pattern']]}", ""


def _size(relation: str, key: str) -> Callable[[str, Mismatch], tuple[str, str]]:
    def worded(_: str, error: Mismatch) -> tuple[str, str]:
        limit = error.context[key]
        return f"must have {relation} {limit} {'entry' if limit == 1 else 'entries'}", ""

    return worded


def _long_text(given: str, error: Mismatch) -> tuple[str, str]:
    return f"{given} is longer than {error.context['max_length']} characters", ""


def _said(_: str, error: Mismatch) -> tuple[str, str]:
    message, _, hint = str(error.context["error"]).rpartition("; ")
    return (message if len(message) <= _LONGEST_SAID else message[: _LONGEST_SAID - 1] + "…"), hint


def _other(given: str, _: Mismatch) -> tuple[str, str]:
    return f"{given} cannot stand here", ""


_WORDS: Final[dict[str, Callable[[str, Mismatch], tuple[str, str]]]] = {
    "string_type": _text,
    "int_type": _whole,
    "float_type": _any_number,
    "finite_number": _kind("a finite number"),
    "bool_type": _kind("true or false"),
    "tuple_type": _list,
    "dict_type": _kind("a block of keys"),
    "model_type": _kind("a block of keys"),
    "literal_error": _choice,
    "string_pattern_mismatch": _spelling,
    "string_too_long": _long_text,
    "greater_than": _bound("more than", "gt"),
    "greater_than_equal": _bound("at least", "ge"),
    "less_than": _bound("less than", "lt"),
    "less_than_equal": _bound("at most", "le"),
    "too_short": _size("at least", "min_length"),
    "too_long": _size("at most", "max_length"),
    "value_error": _said,
}
