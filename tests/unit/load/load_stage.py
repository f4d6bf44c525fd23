"""Stages of the load's tests: a whole driver on fake clusters, or one cluster's load with demand written by hand."""

from abc import ABC, abstractmethod
from array import array
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar

from unit.load.fake_cluster import FakeCluster

from sample_plans import catalog_of, plan_of, profile_of
from scaletest.evidence.rows import EventRow, RequestRow
from scaletest.load.demand import Arrivals, ClusterDemand, PlannedOwner, Turn
from scaletest.load.driver import LoadDriver
from scaletest.load.metrics import LoadMetrics
from scaletest.load.one_cluster import ClusterLoad
from scaletest.load.timing import CAUSES, Identity, Ledger
from scaletest.model import Resources
from scaletest.plan.geometry import cluster_name
from scaletest.plan.plan import Plan
from scaletest.ports.cluster import Owner, PodTemplate
from scaletest.ports.crew import Crew
from scaletest.world.sim.loop import VirtualClock, VirtualLoop

SECOND_US = 1_000_000
SOAK_S = 60
Result = TypeVar("Result")


class _Stage(ABC):
    """A loop on which time passes, second by second, and slots are checked as it does."""

    def __init__(self) -> None:
        self.loop = VirtualLoop()
        self.clock = VirtualClock(self.loop)
        self.rows: list[RequestRow] = []
        self.events: list[EventRow] = []
        self.start_us = 0

    @abstractmethod
    def check(self) -> None: ...

    @abstractmethod
    def begin(self, start_us: int) -> None: ...

    def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        return self.loop.run_until_complete(work)

    def soak(self) -> None:
        """Begin the soak now."""

        async def begin() -> None:
            self.start_us = self.clock.now_us()
            self.begin(self.start_us)

        self.run(begin())

    def at(self, seconds: float, act: Callable[[], object]) -> None:
        """Do something so many seconds from now."""
        self.loop.at(self.clock.now_us() + round(seconds * SECOND_US), act)

    def run_for(self, seconds: float) -> None:
        """Let time pass, and check the slots at every whole second of it."""

        async def pass_time() -> None:
            end_us = self.clock.now_us() + round(seconds * SECOND_US)
            while self.clock.now_us() < end_us:
                await self.clock.sleep_until(min(end_us, self.clock.now_us() + SECOND_US))
                self.check()

        self.run(pass_time())


class Stage(_Stage):
    """A whole driver. The clusters have the plan's Nodes, all of them Ready, before anything else."""

    def __init__(self, plan: Plan | None = None, *, edges: Sequence[float] = ()) -> None:
        super().__init__()
        self.plan = plan or plan_of()
        self.clusters = [FakeCluster(cluster_name(n), self.loop) for n in range(self.plan.geometry.clusters)]
        for ordinal, cluster in enumerate(self.clusters):
            for seat in self.plan.cluster(ordinal).seats:
                cluster.add_node(f"node-{seat.machine_id}", seat.machine_id)
        self.driver = LoadDriver(
            plan=self.plan,
            clusters=self.clusters,
            clock=self.clock,
            row=self.rows.append,
            event=self.events.append,
            edges=edges,
        )

    @property
    def cluster(self) -> FakeCluster:
        return self.clusters[0]

    def check(self) -> None:
        self.driver.check()

    def begin(self, start_us: int) -> None:
        self.driver.start_soak(start_us)

    def seed(self) -> None:
        """Seed, and let the watches show it."""
        for ordinal in range(len(self.clusters)):
            self.driver.prepare(self.plan.schedule(ordinal))
        self.run(self.driver.seed())
        self.run_for(1)

    def finish(self) -> list[RequestRow]:
        """End the run and return every row."""
        self.run(self.driver.finish())
        self.check()
        return self.rows

    def whole(self) -> list[RequestRow]:
        """Run from seed to the end of the linger."""
        self.seed()
        self.soak()
        self.run_for((self.plan.profile.soak_us + self.plan.linger_us) / SECOND_US)
        return self.finish()

    def planned(self) -> list[tuple[int, int, int, str]]:
        """Return every planned replacement, the linger's too, as (cluster, slot, instant, cause)."""
        return sorted(
            (ordinal, arrival.slot, self.start_us + arrival.at_us, str(arrival.cause))
            for ordinal in range(len(self.clusters))
            for arrival in self.plan.schedule(ordinal).arrivals()
        )

    def samples(self) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
        """Return what a scrape would read, by name and labels."""
        return {
            (sample.name, tuple(sorted(sample.labels.items()))): sample.value
            for family in self.driver.registry.collect()
            for sample in family.samples
        }


def quiet_stage(**load: object) -> Stage:
    """Return a stage of one cluster of 20 Pods in which nothing is planned but what is given."""
    profile = profile_of(
        scale={"machines": 2, "density": 10, "podsPerCluster": 20},
        loadProfile={"soakSeconds": SOAK_S, "churnPerMinute": 0, "microBurstRatePerMinute": 0, **load},
    )
    return Stage(plan_of(profile, catalog_of()))


class HandStage(_Stage):
    """One cluster with owners of so many replicas, pre-bound to Node `old` unless told otherwise.

    Arrivals are (seconds after soak start, slot). The soak begins at once.
    """

    def __init__(
        self,
        *replicas: int,
        arrivals: Sequence[tuple[float, int]] = (),
        turns: Sequence[Turn] = (),
        bursts: Sequence[int] = (),
        pre_bound: bool = True,
    ) -> None:
        super().__init__()
        self.cluster = FakeCluster("cluster-0000", self.loop)
        self.cluster.add_node("old")
        self.metrics = LoadMetrics(started_us=0, edges=(), active=lambda: 0, target=lambda: 0)
        self.ledger = Ledger(self.rows.append, self.metrics)
        self.load = ClusterLoad(0, cluster=self.cluster, clock=self.clock, ledger=self.ledger, event=self.events.append)
        self._crew = Crew()
        owners = tuple(_owner(n, count, pre_bound=pre_bound) for n, count in enumerate(replicas))
        extra = tuple(_owner(len(owners) + n, count, pre_bound=False) for n, count in enumerate(bursts))
        self._demand = ClusterDemand(owners, extra, (), _arrivals(arrivals), tuple(turns))

    def check(self) -> None:
        self.load.check()

    def begin(self, start_us: int) -> None:
        self.ledger.soak_end_us = start_us + SOAK_S * SECOND_US
        self.load.start(self._crew, start_us)

    def started(self) -> "HandStage":
        """Seed, let the watch show it, and begin the soak."""

        async def seed() -> None:
            await self.load.open(self._crew)
            await self.load.seed(self._demand, soak_us=SOAK_S * SECOND_US)

        self.run(seed())
        self.run_for(1)
        self.soak()
        return self

    def finish(self) -> list[RequestRow]:
        """End the run and return every row."""
        self.run(self._crew.stop())
        self.load.finish()
        self.check()
        return self.rows

    def pod(self, slot: int) -> int:
        """Return the Pod that holds a slot, as the driver knows it."""
        return self.load._slots.pod_of[slot]

    def us(self, seconds: float) -> int:
        """Return an instant so many seconds after soak start."""
        return self.start_us + round(seconds * SECOND_US)


def _owner(number: int, replicas: int, *, pre_bound: bool) -> PlannedOwner:
    template = PodTemplate(Resources.of({"cpu": 1000}), (), 0)
    identity = Identity(f"w-{number}", "web", 0, f"f-{number}", "", gang=False)
    machines = ("old",) * replicas if pre_bound else ()
    return PlannedOwner(Owner(number, f"w-{number}", replicas, template), identity, machines)


def _arrivals(given: Sequence[tuple[float, int]]) -> Arrivals:
    instants = array("q", [round(seconds * SECOND_US) for seconds, _ in given])
    churn = CAUSES.index("churn")
    return Arrivals(instants, array("i", [slot for _, slot in given]), array("b", [churn] * len(given)))
