"""Samples that a server scraped for us, written down scrape by scrape: the same evidence as if we had scraped."""

from scaletest.evidence import Journal, Metrics, Sample
from scaletest.world.kwok.prometheus import PrometheusAnswer

__all__ = ["record_scrapes"]


def record_scrapes(journal: Journal, metrics: Metrics) -> None:
    """Append every scrape to the journal in time order; each is known by its `up`, which the server always writes."""
    scrapes = {
        (time_ms, series.labels.get("target", "")): (up, list[Sample]())
        for series in metrics.find("up")
        for time_ms, up in zip(series.times_ms, series.values, strict=True)
    }
    for series in metrics.kept():
        if series.name == "up":
            continue
        target = series.labels.get("target", "")
        labels = tuple((name, value) for name, value in series.labels.items() if name != "target")
        for time_ms, value in zip(series.times_ms, series.values, strict=True):
            if (time_ms, target) not in scrapes:
                raise PrometheusAnswer(
                    f"a sample of {series.name} cannot be recorded",
                    why=f"{target or 'no target'} was not scraped at its instant, {time_ms} ms",
                    remedy="set honor_timestamps: false for the target, so that samples carry the time of their scrape",
                )
            scrapes[time_ms, target][1].append(Sample(series.name, labels, value))
    for (time_ms, target), (up, samples) in sorted(scrapes.items(), key=lambda each: each[0]):
        journal.scrape(target, time_ms, samples, up=up == 1)
