"""What a verdict can claim with so many samples, against an exact binomial."""

from fractions import Fraction
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaletest.plan.claims import allowed_over, quantile_claim


def _exact(samples: int, quantile: Fraction) -> int | None:
    over, below, allowed = 1 - quantile, Fraction(0), None
    for k in range(samples + 1):
        below += comb(samples, k) * over**k * quantile ** (samples - k)
        if below > Fraction(1, 20):
            break
        allowed = k
    return allowed


@pytest.mark.parametrize(
    ("samples", "allowed"), [(0, None), (1, None), (298, None), (299, 0), (472, 0), (473, 1), (1_000, 4)]
)
def test_how_many_may_be_over_a_p99_bar(samples: int, allowed: int | None) -> None:
    assert allowed_over(samples, 0.99) == allowed


@given(st.integers(0, 600), st.sampled_from(["0.5", "0.95", "0.99"]))
def test_agrees_with_the_exact_binomial(samples: int, quantile: str) -> None:
    assert allowed_over(samples, float(quantile)) == _exact(samples, Fraction(quantile))


def test_beyond_the_exact_range_the_normal_form_goes_on_without_a_jump() -> None:
    exact, normal = allowed_over(20_000, 0.99), allowed_over(20_001, 0.99)
    assert exact is not None
    assert normal is not None
    assert abs(exact - normal) <= 1


@pytest.mark.parametrize(
    ("samples", "claim"),
    [
        (0, "nothing is planned to measure"),
        (54, "slowest of 54; 95 % confidence needs 299"),
        (100, "rank 99 of 100; 95 % confidence needs 299"),
        (574, "rank 569 of 574; 95 % sure if <= 1 over"),
        (1_000, "rank 990 of 1,000; 95 % sure if <= 4 over"),
    ],
)
def test_the_claim_in_one_sentence(samples: int, claim: str) -> None:
    assert quantile_claim(samples, 0.99) == claim
