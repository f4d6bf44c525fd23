from scaletest.load.lags import Lags


def test_no_lag_is_no_lag() -> None:
    assert Lags().quantile_us(0.99) == 0


def test_a_quantile_is_never_below_the_true_one_and_little_above_it() -> None:
    lags = Lags()
    for lag_us in range(0, 1_000_000, 997):
        lags.add(lag_us)
    true_us = sorted(range(0, 1_000_000, 997))[-(-99 * 1004 // 100) - 1]

    assert true_us <= lags.quantile_us(0.99) <= 1.07 * true_us


def test_small_lags_are_exact() -> None:
    lags = Lags()
    for lag_us in (0, 0, 0, 17):
        lags.add(lag_us)

    assert (lags.quantile_us(0.75), lags.quantile_us(0.99)) == (0, 17)
