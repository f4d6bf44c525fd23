"""Scrapes of in-process targets: what their registries collect, written as Prometheus would have stored it."""

from collections.abc import Iterable, Mapping
from typing import Final

from prometheus_client import CollectorRegistry

from scaletest.evidence import Journal, Sample
from scaletest.ports.clock import Clock

__all__ = ["SCRAPE_INTERVAL_US", "Scraper", "samples_of"]

SCRAPE_INTERVAL_US: Final = 15_000_000


def samples_of(registry: CollectorRegistry) -> tuple[dict[str, str], list[Sample]]:
    """Return the types and samples that a scrape of the registry would show, sorted by series."""
    types: dict[str, str] = {}
    samples = []
    for family in registry.collect():
        types[family.name] = family.type
        samples += [Sample(s.name, tuple(sorted(s.labels.items())), float(s.value)) for s in family.samples]
    return types, sorted(samples)


class Scraper:
    """Scrapes all targets together. Values that did not change are left out, except where everything is asked for."""

    def __init__(self, journal: Journal, clock: Clock, *, epoch_ms: int) -> None:
        self._journal = journal
        self._clock = clock
        self._epoch_ms = epoch_ms
        self._registries: dict[str, CollectorRegistry] = {}
        self._last: dict[tuple[str, str, tuple[tuple[str, str], ...]], float] = {}
        self._next_us = 0

    def point(self, registries: Mapping[str, CollectorRegistry]) -> None:
        """Say which registry answers for which target; a restarted engine has a new one."""
        self._registries.update(registries)

    async def pass_time(self, until_us: int) -> None:
        """Let time pass up to an instant, scraping as often as is due."""
        while self._next_us < until_us:
            await self._clock.sleep_until(self._next_us)
            self.scrape()
        await self._clock.sleep_until(until_us)

    async def last(self) -> None:
        """Scrape once more, everything."""
        self.scrape(whole=True)

    def scrape(self, *, whole: bool = False) -> None:
        """Scrape now; `whole` writes every value, as the boundaries of a window need."""
        now_us = self._clock.now_us()
        self._next_us = (now_us // SCRAPE_INTERVAL_US + 1) * SCRAPE_INTERVAL_US
        time_ms = self._epoch_ms - (-now_us // 1000)
        for target, registry in self._registries.items():
            types, samples = samples_of(registry)
            self._journal.types(types)
            self._journal.scrape(target, time_ms, samples if whole else self._changed(target, samples))

    def _changed(self, target: str, samples: Iterable[Sample]) -> list[Sample]:
        changed = []
        for sample in samples:
            key = (target, sample.name, sample.labels)
            if self._last.get(key) != sample.value:
                self._last[key] = sample.value
                changed.append(sample)
        return changed
