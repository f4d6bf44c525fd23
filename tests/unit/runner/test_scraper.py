from pathlib import Path

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from scaletest.evidence import Journal, RunRecord
from scaletest.evidence.samples import MetricsReader, Sample
from scaletest.world.sim.loop import VirtualClock, VirtualLoop
from scaletest_runner.running.scraper import SCRAPE_INTERVAL_US, Scraper, samples_of

EPOCH_MS = 1_000_000


def _registry() -> CollectorRegistry:
    registry = CollectorRegistry()
    actions = Counter("actions", "Actions.", ["kind"], registry=registry)
    for kind in ("Reclaim", "Bootstrap"):
        actions.labels(kind)
    actions.labels("Reclaim").inc(3)
    Histogram("cycle_seconds", "Cycles.", buckets=(0.1, 1.0), registry=registry).observe(0.5)
    Gauge("shortfalls", 'A "gauge"\n.', registry=registry).set(2.5)
    return registry


def _journal(folder: Path) -> Journal:
    return Journal(folder, RunRecord("p", "sim", 1, "d", EPOCH_MS, SCRAPE_INTERVAL_US, ("engine",)))


def test_a_scrape_shows_what_the_text_of_the_page_shows() -> None:
    registry = _registry()
    types, samples = samples_of(registry)
    page = text_string_to_metric_families(generate_latest(registry).decode())
    shown = [Sample(s.name, tuple(sorted(s.labels.items())), s.value) for family in page for s in family.samples]

    assert samples == sorted(shown)
    assert types["cycle_seconds"] == "histogram"


def test_a_value_that_did_not_change_is_left_out_unless_everything_is_asked_for(tmp_path: Path) -> None:
    loop = VirtualLoop()
    clock = VirtualClock(loop)
    registry = CollectorRegistry()
    still, moving = Gauge("still", ".", registry=registry), Gauge("moving", ".", registry=registry)
    still.set(7)
    with _journal(tmp_path) as journal:
        scraper = Scraper(journal, clock, epoch_ms=EPOCH_MS)
        scraper.point({"engine": registry})

        async def main() -> None:
            for minute in range(4):
                moving.set(minute)
                await scraper.pass_time(minute * SCRAPE_INTERVAL_US + 1)
            scraper.scrape(whole=True)

        loop.run_until_complete(main())
    reader = MetricsReader()
    for line in (tmp_path / "evidence" / "metrics.om").read_text(encoding="utf-8").splitlines():
        reader.line(line)
    lengths = {series.name: len(series.times_ms) for series in reader.metrics().kept()}

    assert lengths == {"up": 5, "still": 2, "moving": 5}


def test_scrapes_are_stamped_with_the_millisecond_at_or_after_them(tmp_path: Path) -> None:
    loop = VirtualLoop()
    clock = VirtualClock(loop)
    with _journal(tmp_path) as journal:
        scraper = Scraper(journal, clock, epoch_ms=EPOCH_MS)
        scraper.point({"engine": CollectorRegistry()})
        loop.run_until_complete(clock.sleep_until(1_500_001))
        scraper.scrape()

    assert (tmp_path / "evidence" / "metrics.om").read_text(encoding="utf-8") == 'up{target="engine"} 1 1001.501\n'


def test_samples_are_sorted_so_that_equal_runs_write_equal_lines() -> None:
    _, samples = samples_of(_registry())

    assert samples == sorted(samples)
    assert Sample("actions_total", (("kind", "Bootstrap"),), 0.0) in samples
