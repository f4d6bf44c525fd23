"""What a plain scalar means, accepted only when YAML 1.1 and the YAML 1.2 core schema agree on it.

PyYAML reads YAML 1.1, most newer tools read 1.2, and people know neither by heart: `no` is a boolean to one and a word
to the other, `017` is 15 or 17. Where the two differ the scalar is refused, and the message says how to write either.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

__all__ = ["Refusal", "Scalar", "plain_scalar", "written_scalar"]

Scalar: TypeAlias = str | int | float | bool | None

# Python refuses to convert very long digit strings; no count in our files needs more than 19 digits.
_MOST_DIGITS: Final = 40
_EXACT_FLOAT: Final = 2**53


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a scalar is refused, and how to write what may have been meant."""

    message: str
    hint: str


@dataclass(frozen=True, slots=True)
class _Form:
    """One form of a scalar in one version of YAML: its grammar and its value."""

    noun: str
    grammar: re.Pattern[str]
    value: Callable[[str], Scalar]

    def says(self, text: str) -> str:
        """Describe the reading as a message does: `the number 15`, `a date`."""
        if self.noun not in {"number", "boolean"}:
            return f"a {self.noun}"
        value = self.value(text)
        return f"the {self.noun} {str(value).lower() if isinstance(value, bool) else value}"


def _form(noun: str, grammar: str, value: Callable[[str], Scalar]) -> _Form:
    return _Form(noun, re.compile(grammar, re.ASCII | re.VERBOSE), value)


def _boolean(text: str) -> bool:
    return text.lower() in {"true", "yes", "on"}


def _sexagesimal(text: str) -> float:
    value = 0.0
    for part in text.replace("_", "").lstrip("+-").split(":"):
        value = value * 60 + float(part)
    return -value if text.startswith("-") else value


def _whole_sexagesimal(text: str) -> int:
    return int(_sexagesimal(text))


def _radix(base: int) -> Callable[[str], int]:
    return lambda text: int(text.replace("_", ""), base)


def _decimal(text: str) -> float:
    return float(text.replace("_", ""))


def _special(text: str) -> float:
    return float(text.lower().replace(".", ""))


def _itself(text: str) -> str:
    return text


_NULL: Final = _form("null", r"~ | null | Null | NULL |", lambda _: None)
_SPECIAL: Final = _form("number", r"[-+]?\.(inf|Inf|INF) | \.(nan|NaN|NAN)", _special)

# The forms that PyYAML resolves, in its order of trial (yaml/resolver.py).
_YAML_1_1: Final = (
    _NULL,
    _form("boolean", r"(?i:yes|no|true|false|on|off)", _boolean),
    _form("number", r"[-+]?0b[01_]+", _radix(2)),
    _form("number", r"[-+]?0[0-7_]+", _radix(8)),
    _form("number", r"[-+]?(0|[1-9][0-9_]*)", _radix(10)),
    _form("number", r"[-+]?0x[0-9a-fA-F_]+", _radix(16)),
    _form("number", r"[-+]?[1-9][0-9_]*(:[0-5]?[0-9])+", _whole_sexagesimal),
    _form("number", r"[-+]?[0-9][0-9_]*\.[0-9_]*([eE][-+][0-9]+)? | \.[0-9][0-9_]*([eE][-+][0-9]+)?", _decimal),
    _form("number", r"[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+\.[0-9_]*", _sexagesimal),
    _SPECIAL,
    _form("date", r"\d{4}-\d{2}-\d{2} | \d{4}-\d\d?-\d\d?([Tt]|[ \t]+)\d\d?:\d\d:\d\d(\.\d*)?.*", _itself),
    _form("merge key", r"<<", _itself),
    _form("default value", r"=", _itself),
)
_YAML_1_2: Final = (
    _NULL,
    _form("boolean", r"true|True|TRUE|false|False|FALSE", _boolean),
    _form("number", r"[-+]?[0-9]+", int),
    _form("number", r"0o[0-7]+", lambda text: int(text, 8)),
    _form("number", r"0x[0-9a-fA-F]+", lambda text: int(text, 16)),
    _form("number", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", float),
    _SPECIAL,
)
_TEXT: Final = _Form("text", re.compile(""), _itself)


def _reading(text: str, forms: tuple[_Form, ...]) -> _Form:
    return next((form for form in forms if form.grammar.fullmatch(text)), _TEXT)


def plain_scalar(text: str) -> Scalar | Refusal:
    """Return the value that both versions of YAML give a plain scalar, or why there is no such value."""
    if sum(map(str.isdigit, text)) > _MOST_DIGITS and text[:1] in "+-.0123456789":
        return Refusal(f"has more than {_MOST_DIGITS} digits", "write fewer digits, or quote it if it is a text")
    older, newer = _reading(text, _YAML_1_1), _reading(text, _YAML_1_2)
    try:
        value = older.value(text)
    except ValueError:  # `0b_` and `0x_` match PyYAML's grammar and crash its constructor
        readings = "means a number without digits in YAML 1.1 and a text in YAML 1.2"
        return Refusal(readings, f'write "{text}" in quotes for the text')
    agreed = older.noun == newer.noun and _same(value, newer.value(text))
    return value if agreed else _disagreement(text, older, newer)


def _same(older: Scalar, newer: Scalar) -> bool:
    # repr compares NaN with itself and tells 1 from 1.0 and True.
    return repr(older) == repr(newer)


def _disagreement(text: str, older: _Form, newer: _Form) -> Refusal:
    readings = f"means {older.says(text)} in YAML 1.1 and {newer.says(text)} in YAML 1.2"
    intentions = [written_scalar(form.value(text)) for form in (older, newer) if form.noun in {"number", "boolean"}]
    # A text is always a possible intention, and quoting is the only way to say it.
    choices = [*dict.fromkeys(intentions), f'"{text}" in quotes for the text']
    return Refusal(readings, "write " + " or ".join(choices))


def written_scalar(value: Scalar) -> str:
    """Write a value in the one form that both versions read alike."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT_FLOAT:
        return str(int(value))
    text = repr(value).replace("inf", ".inf")
    # PyYAML wants a point and a signed exponent: 1e+16 would be a text to it.
    return text.replace("e", ".0e") if "e" in text and "." not in text else text
