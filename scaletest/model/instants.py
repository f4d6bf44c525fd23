"""Time as whole microseconds; seconds exist only in files that people write and in text that people read."""

from decimal import Decimal
from fractions import Fraction
from typing import Final

__all__ = ["US_PER_SECOND", "exact", "microseconds", "seconds_text"]

US_PER_SECOND: Final = 1_000_000


def exact(number: float) -> Fraction:
    """Return the number a person wrote: 0.024 is 24/1000, not the nearest binary fraction."""
    return Fraction(Decimal(repr(number)))


def microseconds(seconds: float) -> int:
    """Return the nearest whole microsecond of a number of seconds as it was written."""
    return round(exact(seconds) * US_PER_SECOND)


def seconds_text(instant_us: int) -> str:
    """Write microseconds as the shortest exact seconds: 9800000 is `9.8`."""
    whole, part = divmod(abs(instant_us), US_PER_SECOND)
    sign = "-" if instant_us < 0 else ""
    return f"{sign}{whole}.{part:06d}".rstrip("0").rstrip(".")
