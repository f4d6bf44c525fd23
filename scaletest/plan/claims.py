"""What a verdict can claim with so many samples: nearest-rank quantiles and how sure they are."""

from functools import cache
from math import ceil, exp, floor, lgamma, log, log1p, sqrt
from typing import Final

__all__ = ["allowed_over", "quantile_claim"]

_CONFIDENCE: Final = 0.95
_Z: Final = 1.6448536269514722
_EXACT_UP_TO: Final = 20_000


@cache
def allowed_over(samples: int, quantile: float) -> int | None:
    """Return how many samples may be over a bar while "quantile <= bar" still holds with 95 % confidence.

    None: so few samples that not even zero would show it. Exact binomial up to 20,000 samples, normal beyond.
    """
    over = 1 - quantile
    if samples > _EXACT_UP_TO:
        return floor(samples * over - _Z * sqrt(samples * over * quantile) - 0.5)
    below, allowed = 0.0, -1
    for k in range(samples + 1):
        choose = lgamma(samples + 1) - lgamma(k + 1) - lgamma(samples - k + 1)
        below += exp(choose + k * log(over) + (samples - k) * log1p(-over))
        if below > 1 - _CONFIDENCE:
            break
        allowed = k
    return None if allowed < 0 else allowed


def quantile_claim(samples: int, quantile: float) -> str:
    """Say in one sentence what a quantile over so many samples will mean."""
    if samples == 0:
        return "nothing is planned to measure"
    rank = ceil(samples * quantile)
    meaning = f"slowest of {samples:,}" if rank == samples else f"rank {rank:,} of {samples:,}"
    allowed = allowed_over(samples, quantile)
    if allowed is None:
        return f"{meaning}; 95 % confidence needs {ceil(log(1 - _CONFIDENCE) / log(quantile))}"
    return f"{meaning}; 95 % sure if <= {allowed:,} over"
