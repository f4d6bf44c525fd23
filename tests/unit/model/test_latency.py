from statistics import quantiles

from scaletest.model import Stream
from scaletest.model.latency import Delay, SignedDelay

STREAM = Stream.of(1, "test")


def test_a_delay_has_the_quantiles_it_was_given() -> None:
    delay = Delay.of(p50_us=3_000_000, p99_us=9_800_000)
    cuts = quantiles([delay.draw(STREAM, n) for n in range(20_000)], n=100)

    assert abs(cuts[49] / 3_000_000 - 1) < 0.03
    assert abs(cuts[98] / 9_800_000 - 1) < 0.05


def test_a_delay_without_spread_is_a_constant() -> None:
    assert {Delay.of(p50_us=700, p99_us=700).draw(STREAM, n) for n in range(10)} == {700}


def test_a_delay_of_nothing_is_zero() -> None:
    assert Delay.of(p50_us=0, p99_us=0).draw(STREAM, 1) == 0


def test_a_signed_delay_may_be_negative_and_keeps_its_median() -> None:
    drawn = sorted(SignedDelay(p50_us=100_000, p99_us=900_000).draw(STREAM, n) for n in range(20_000))

    assert drawn[0] < 0
    assert abs(drawn[10_000] - 100_000) < 10_000
