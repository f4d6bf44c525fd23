"""JSON as one sequence of bytes: equal values give equal text, whoever wrote them and in whatever order."""

import json
from typing import Any

__all__ = ["canonical_number", "canonical_text"]


def canonical_text(document: Any) -> str:
    """Return plain values as JSON text: sorted keys, ASCII, a newline at the end; NaN and infinity are refused."""
    return json.dumps(_plain(document), indent=2, sort_keys=True, allow_nan=False) + "\n"


def canonical_number(number: float) -> float:
    """Return the one spelling of a number: 30 and 30.0 are equal, so they must not differ in a file."""
    return number if number % 1 else int(number)  # what is not finite leaves no zero either, and stays


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return canonical_number(value) if isinstance(value, float) else value
