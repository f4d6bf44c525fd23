"""Delays as two quantiles people know, drawn by key: lognormal where they cannot be negative, normal where they can."""

from dataclasses import dataclass
from math import exp, log
from statistics import NormalDist
from typing import Final, Self

from scaletest.model.draws import Stream

__all__ = ["Delay", "SignedDelay"]

_NORMAL: Final = NormalDist()
_Z99: Final = _NORMAL.inv_cdf(0.99)
_TINY: Final = 2.0**-60


def _standard(stream: Stream, ordinal: int) -> float:
    """Return a standard normal draw; a uniform draw of exactly zero stands for the smallest number there is."""
    return _NORMAL.inv_cdf(stream.unit(ordinal) or _TINY)


@dataclass(frozen=True, slots=True)
class Delay:
    """A lognormal delay, given by median and 99th percentile; equal ones make it a constant."""

    mu: float
    sigma: float

    @classmethod
    def of(cls, *, p50_us: int, p99_us: int) -> Self:
        """Return the delay with these quantiles; a median of zero is no delay at all."""
        if p50_us <= 0:
            return cls(float("-inf"), 0.0)
        return cls(log(p50_us), log(p99_us / p50_us) / _Z99)

    def draw(self, stream: Stream, ordinal: int) -> int:
        """Return the delay of one occasion, in whole microseconds."""
        if self.sigma == 0:
            return round(exp(self.mu))
        return round(exp(self.mu + self.sigma * _standard(stream, ordinal)))


@dataclass(frozen=True, slots=True)
class SignedDelay:
    """A normal delay, given by median and 99th percentile; it may be negative."""

    p50_us: int
    p99_us: int

    def draw(self, stream: Stream, ordinal: int) -> int:
        """Return the delay of one occasion, in whole microseconds."""
        return round(self.p50_us + (self.p99_us - self.p50_us) / _Z99 * _standard(stream, ordinal))
