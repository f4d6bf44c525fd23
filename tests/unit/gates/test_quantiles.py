"""The statistics of the gates, by hand-checked numbers."""

from math import inf

import pytest

from scaletest.gates.outcomes import Bracket
from scaletest.gates.quantiles import HistogramDelta, Spread, histogram_quantile, nearest_rank


@pytest.mark.parametrize(
    ("samples", "share", "rank"),
    [(1, 0.99, 1), (99, 0.99, 99), (100, 0.99, 99), (101, 0.99, 100), (200, 0.99, 198), (1000, 0.99, 990), (4, 0.5, 2)],
)
def test_the_nearest_rank_is_exact(samples: int, share: float, rank: int) -> None:
    assert nearest_rank(samples, share) == rank


def test_a_sample_that_still_waits_makes_the_upper_edge_unknown() -> None:
    assert Spread.of([(1.0, 1.0), (2.0, inf)]).quantile(0.99) == Bracket(2.0, None)
    assert Spread.of([(1.0, 1.0), (2.0, inf)]).quantile(0.5) == Bracket(1.0, 1.0)
    assert Spread.of([(1.0, 1.0), (2.0, inf), (3.0, 3.0)]).over(2.5) == 2


@pytest.mark.parametrize(
    ("counts", "share", "bracket"),
    [
        (((1.0, 99), (5.0, 1), (inf, 0)), 0.99, Bracket(0.0, 1.0)),
        (((1.0, 98), (5.0, 2), (inf, 0)), 0.99, Bracket(1.0, 5.0)),
        (((1.0, 98), (5.0, 0), (inf, 2)), 0.99, Bracket(5.0, None)),
        (((inf, 7),), 0.5, Bracket(0.0, None)),
    ],
)
def test_a_histogram_gives_the_edges_of_the_bucket(
    counts: tuple[tuple[float, int], ...], share: float, bracket: Bracket
) -> None:
    assert histogram_quantile(HistogramDelta(counts), share) == bracket
