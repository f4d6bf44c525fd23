"""Scrapes written from what a server stored: whole, in time order, and nothing left behind."""

from array import array
from pathlib import Path

import pytest

from scaletest.evidence import Journal, Metrics, RunRecord, Series
from scaletest.world.kwok.prometheus import PrometheusAnswer
from scaletest.world.kwok.recording import record_scrapes

_RECORD = RunRecord(
    profile="p", world="kwok", random_seed=1, plan_digest="d", epoch_ms=0, scrape_interval_us=1, targets=("a", "b")
)


def _series(name: str, target: str, samples: dict[int, float]) -> Series:
    return Series(name, {"target": target}, array("q", samples), array("d", samples.values()))


def _recorded(folder: Path, *series: Series) -> list[str]:
    families: dict[str, list[Series]] = {}
    for each in series:
        families.setdefault(each.name, []).append(each)
    with Journal(folder, _RECORD) as journal:
        record_scrapes(journal, Metrics(families))
    return (folder / "evidence" / "metrics.om").read_text(encoding="utf-8").splitlines()


def test_scrapes_are_written_in_time_order_and_failed_ones_too(tmp_path: Path) -> None:
    lines = _recorded(
        tmp_path,
        _series("up", "b", {1500: 1.0, 3500: 0.0}),
        _series("x", "b", {1500: 7.0}),
        _series("up", "a", {1000: 1.0, 3000: 1.0}),
        _series("x", "a", {1000: 5.0, 3000: 6.0}),
    )

    assert lines == [
        'up{target="a"} 1 1.000',
        'x{target="a"} 5 1.000',
        'up{target="b"} 1 1.500',
        'x{target="b"} 7 1.500',
        'up{target="a"} 1 3.000',
        'x{target="a"} 6 3.000',
        'up{target="b"} 0 3.500',
    ]


@pytest.mark.parametrize("stray", [_series("x", "a", {1001: 5.0}), _series("x", "b", {1000: 5.0})])
def test_a_sample_that_belongs_to_no_scrape_is_refused_and_not_lost(stray: Series, tmp_path: Path) -> None:
    with pytest.raises(PrometheusAnswer, match=r"was not scraped at its instant, .* ms; set honor_timestamps: false"):
        _recorded(tmp_path, _series("up", "a", {1000: 1.0}), stray)
