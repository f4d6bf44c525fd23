"""The stage of a run: what the phases may touch. Each world sets up its own; the phases are the same."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from prometheus_client import CollectorRegistry

from scaletest.load.driver import LoadDriver
from scaletest.plan.plan import Plan
from scaletest.ports.clock import Clock
from scaletest.world.cloud import Cloud
from scaletest_runner.running.book import Book

__all__ = ["EngineUnderTest", "Scrapes", "Stage"]


class EngineUnderTest(Protocol):
    """An engine as the run sees it."""

    registry: CollectorRegistry

    async def start(self) -> None:
        """Start it, and return when it is ready."""

    def demand_ready(self) -> None:
        """Let the first roll-ups go."""

    async def stop(self) -> None:
        """Stop it."""

    def covered(self) -> Mapping[str, int]:
        """Return the Pods that each cluster's accepted roll-up covers."""

    @property
    def last_cycle_us(self) -> int:
        """Return how long its last cycle took."""

    @property
    def acquisitions(self) -> int:
        """Return how many acquisitions it has begun."""

    @property
    def reclaims(self) -> int:
        """Return how many reclaims it has begun."""


class Scrapes(Protocol):
    """How metrics come to be evidence: read here, or by a server beside the run."""

    def point(self, registries: Mapping[str, CollectorRegistry]) -> None:
        """Say which registry answers for which target."""

    async def pass_time(self, until_us: int) -> None:
        """Let time pass up to an instant, scraping as often as is due."""

    def scrape(self, *, whole: bool = False) -> None:
        """Scrape now, where that is ours to do."""

    async def last(self) -> None:
        """See to it that what has happened so far is scraped."""


@dataclass
class Stage:
    """Everything the phases play with. `new_engine` builds the engine anew, as a restart does."""

    plan: Plan
    clock: Clock
    cloud: Cloud
    driver: LoadDriver
    scraper: Scrapes
    book: Book
    new_engine: Callable[[], EngineUnderTest]
    soak_starts: Callable[[int], None]
    """Tells the ground when the soak starts: planned disturbances count from there."""
    seeded: Callable[[], None]
    """Called when the inventory stands and every Pod is there."""
    engine: EngineUnderTest
    reclaims_at_settle: int | None = None

    async def restart_engine(self) -> None:
        """Stop the engine and start another over the same cloud and clusters."""
        await self.engine.stop()
        self.engine = self.new_engine()
        self.scraper.point({"engine": self.engine.registry})
        await self.engine.start()
        self.engine.demand_ready()
