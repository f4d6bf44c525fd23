"""Time: what a person wrote becomes whole microseconds, and is written back as short as it is exact."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaletest.model import microseconds, seconds_text
from scaletest.model.instants import exact


@pytest.mark.parametrize(
    ("seconds", "us"),
    [
        (0, 0),
        (9.8, 9_800_000),
        (0.1, 100_000),
        (1e-6, 1),
        (4e-7, 0),
        (6e-7, 1),
        (86400, 86_400_000_000),
        (-0.5, -500_000),
    ],
)
def test_seconds_become_the_nearest_microsecond(seconds: float, us: int) -> None:
    assert microseconds(seconds) == us


@pytest.mark.parametrize(
    ("us", "text"),
    [(0, "0"), (9_800_000, "9.8"), (180_000_000, "180"), (1, "0.000001"), (-500_000, "-0.5"), (10_000_000, "10")],
)
def test_an_instant_is_written_as_its_shortest_exact_seconds(us: int, text: str) -> None:
    assert seconds_text(us) == text


@given(st.integers(-(10**12), 10**12))
def test_written_instants_read_back(us: int) -> None:
    assert Fraction(seconds_text(us)) * 10**6 == us


def test_a_written_number_is_exact() -> None:
    assert exact(0.024) == Fraction(24, 1000)
    assert exact(5.8e-6) == Fraction(58, 10**7)
    assert exact(3) == 3
