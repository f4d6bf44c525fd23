"""The load driver: demand as the plan says, on whatever clusters it is given, and the clock of every request.

Open loop: what is planned is sent when it is planned, however slowly clusters answer. All that it knows of Pods and
Nodes it knows from its own watches.
"""

import asyncio
from collections.abc import Callable, Sequence

from prometheus_client import CollectorRegistry

from scaletest.evidence.rows import EventRow, RequestRow
from scaletest.load.demand import ClusterDemand, demand_of
from scaletest.load.metrics import LoadMetrics
from scaletest.load.one_cluster import ClusterLoad
from scaletest.load.templates import Templates
from scaletest.load.timing import Ledger
from scaletest.plan.arrivals import ClusterSchedule
from scaletest.plan.plan import Plan
from scaletest.ports.clock import Clock
from scaletest.ports.cluster import Cluster
from scaletest.ports.crew import Crew

__all__ = ["LoadDriver"]


class LoadDriver:
    """The load of a whole run. Clusters stand in the order of their ordinals; `edges` are more histogram edges."""

    def __init__(
        self,
        *,
        plan: Plan,
        clusters: Sequence[Cluster],
        clock: Clock,
        row: Callable[[RequestRow], None],
        event: Callable[[EventRow], None],
        edges: Sequence[float] = (),
    ) -> None:
        self._plan = plan
        self._templates = Templates(plan.archetypes)
        self._demand: dict[int, ClusterDemand] = {}
        """Of clusters that are prepared and not seeded yet."""
        self._metrics = LoadMetrics(
            started_us=clock.now_us(), edges=edges, active=lambda: self.live, target=lambda: self.target
        )
        self._ledger = Ledger(row, self._metrics)
        self._crew = Crew()
        self._loads = [
            ClusterLoad(ordinal, cluster=cluster, clock=clock, ledger=self._ledger, event=event)
            for ordinal, cluster in enumerate(clusters)
        ]
        self.registry = CollectorRegistry()
        """The driver's metrics, for a scrape."""
        self.registry.register(self._metrics)

    def prepare(self, schedule: ClusterSchedule) -> None:
        """Take in what the plan says of one cluster; each must be prepared before the seed."""
        self._demand[schedule.cluster.ordinal] = demand_of(self._plan, schedule, self._templates)

    async def seed(self) -> None:
        """Open every watch, then create all owners with their Pods, pre-bound where the plan says."""
        await asyncio.gather(*(self._seed(ordinal) for ordinal in range(len(self._loads))))

    def start_soak(self, at_us: int) -> None:
        """Begin the soak: replacements, bursts, scale-downs and steps are planned from this instant on."""
        self._metrics.steady = True
        self._ledger.soak_end_us = at_us + self._plan.profile.soak_us
        for load in self._loads:
            load.start(self._crew, at_us)

    async def finish(self) -> None:
        """Stop, and write the rows of everything that still waits."""
        await self._crew.stop()
        for load in self._loads:
            load.finish()

    def check(self) -> None:
        """Raise AssertionError unless every slot has its one Pod or waits once in its owner's queue."""
        for load in self._loads:
            load.check()

    @property
    def live(self) -> int:
        """Return the Pods there are now, but for the standing demand that nobody expects to bind."""
        return sum(load.live for load in self._loads)

    @property
    def bound_ready(self) -> int:
        """Return how many of them are bound to a Ready Node."""
        return sum(load.bound_ready for load in self._loads)

    @property
    def target(self) -> int:
        """Return the Pods there should be now."""
        return sum(load.target for load in self._loads)

    @property
    def planned(self) -> int:
        """Return the replacements planned in the soak; known once clusters are seeded."""
        return sum(load.planned for load in self._loads)

    @property
    def sent(self) -> int:
        """Return how many of them were sent so far."""
        return self._ledger.sent

    @property
    def bound(self) -> int:
        """Return how many of them are bound."""
        return self._ledger.bound

    @property
    def void(self) -> int:
        """Return how many of them found their slot empty, or lost it."""
        return self._ledger.void

    @property
    def undelivered(self) -> int:
        """Return how many of them no cluster would take."""
        return self._ledger.undelivered

    @property
    def lag_p99_us(self) -> int:
        """Return how late they were sent."""
        return self._ledger.lags.quantile_us(0.99)

    async def _seed(self, ordinal: int) -> None:
        load = self._loads[ordinal]
        await load.open(self._crew)
        await load.seed(self._demand.pop(ordinal), soak_us=self._plan.profile.soak_us)
