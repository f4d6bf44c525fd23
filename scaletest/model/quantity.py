"""Kubernetes quantities as exact fractions: `400m`, `500Mi`, `4`, `1.5Gi`, `2e3`."""

import re
from fractions import Fraction
from typing import Final

__all__ = ["QuantityError", "parse_quantity"]

_SUFFIXES: Final = {
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 10**3),
    "": Fraction(1),
    **{letter: Fraction(1000**power) for power, letter in enumerate("kMGTPE", start=1)},
    **{f"{letter}i": Fraction(1024**power) for power, letter in enumerate("KMGTPE", start=1)},
}
_GRAMMAR: Final = re.compile(
    r"(?P<number>[0-9]{1,18}(?:\.[0-9]{0,18})?|\.[0-9]{1,18})"
    r"(?:(?P<suffix>[numkMGTPE]|[KMGTPE]i)|[eE](?P<exponent>[+-]?[0-9]{1,2}))?",
    re.ASCII,
)


class QuantityError(ValueError):
    """A text that Kubernetes would not accept as a non-negative quantity."""


def parse_quantity(text: str) -> Fraction:
    """Return the exact value of a non-negative Kubernetes quantity; raise QuantityError otherwise."""
    match = _GRAMMAR.fullmatch(text)
    if match is None:
        raise QuantityError(f"{text!r} is not a Kubernetes quantity; write it like 400m, 2, 500Mi or 16Gi")
    number = Fraction(match["number"].removesuffix(".") or "0")
    if match["exponent"] is not None:
        return number * Fraction(10) ** int(match["exponent"])
    return number * _SUFFIXES[match["suffix"] or ""]
