"""The load of one cluster: seeding, watching, and the turns at which owners come and go."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from itertools import repeat, takewhile
from typing import Final, TypeVar

from scaletest.evidence.rows import EventRow
from scaletest.load.churn import Churn
from scaletest.load.demand import ClusterDemand, PlannedOwner, Turn
from scaletest.load.metrics import Errand
from scaletest.load.nodes import NodeTable
from scaletest.load.slots import SlotTable
from scaletest.load.tenancy import Tenancy, Tenant
from scaletest.load.timing import Ledger, Requests, Why
from scaletest.model import US_PER_SECOND
from scaletest.plan.events import EventKind
from scaletest.ports.clock import Clock
from scaletest.ports.cluster import Answer, Cluster, Owner, Watch, WatchBrokenError, WatchExpiredError
from scaletest.ports.crew import Crew

__all__ = ["ClusterLoad"]

_AGAIN_US: Final = US_PER_SECOND
_GATHER_US: Final = US_PER_SECOND // 5
"""Time in which events gather before they are looked at together; they are stamped when they come in."""
_REOPEN_US: Final = US_PER_SECOND // 10
_DONE: Final = (Answer.OK, Answer.NOT_FOUND)

Item = TypeVar("Item")


class ClusterLoad:
    """Everything the driver does in one cluster."""

    def __init__(
        self, ordinal: int, *, cluster: Cluster, clock: Clock, ledger: Ledger, event: Callable[[EventRow], None]
    ) -> None:
        self._ordinal = ordinal
        self._cluster, self._clock, self._ledger, self._event = cluster, clock, ledger, event
        self._slots = SlotTable()
        self._nodes = NodeTable()
        self._requests = Requests(ordinal, ledger, self._slots.owner_of)
        self._tenancy = Tenancy(slots=self._slots, nodes=self._nodes, requests=self._requests)
        self._churn: Churn | None = None
        self._owners: list[Owner] = []
        self._turns: tuple[Turn, ...] = ()
        self._revision = 0
        self.planned = 0
        """Replacements planned in the soak."""
        self.target = 0
        """Pods there should be now."""

    @property
    def live(self) -> int:
        """Return the Pods there are."""
        return self._tenancy.live

    @property
    def bound_ready(self) -> int:
        """Return the Pods that are bound to a Ready Node."""
        return self._nodes.bound_ready

    def check(self) -> None:
        """Raise AssertionError unless slots are conserved."""
        self._tenancy.check()

    async def open(self, crew: Crew) -> None:
        """List what is there and watch from then on."""
        listed = await self._cluster.list()
        # Pods first: the watch goes on from their revision, and shows again what happened to Nodes since.
        _, nodes = await self._cluster.list_nodes()
        self._tenancy.repair(listed, nodes, self._clock.now_us())
        self._revision = listed.revision
        crew.start(self._watch(self._cluster.watch(self._revision)), name=f"load watch {self._cluster.name}")

    async def seed(self, demand: ClusterDemand, *, soak_us: int) -> None:
        """Create every owner with its Pods, pre-bound where the plan says."""
        self.planned = sum(at_us < soak_us for at_us in demand.arrivals.at_us)
        self._turns = demand.turns
        self._churn = Churn(
            demand.arrivals,
            cluster=self._cluster,
            clock=self._clock,
            slots=self._slots,
            requests=self._requests,
            ledger=self._ledger,
        )
        self._tenancy.follow(self._churn)
        names = self._nodes.names_by_machine()
        places = [_known(names, planned.machines) for planned in demand.owners]
        for planned, nodes in zip(demand.owners, places, strict=True):
            self._expect(planned, pre_bound=len(nodes))
            self.target += planned.owner.replicas
        for planned in demand.bursts:
            self._expect(planned, away=True)
        await self._create([planned.owner for planned in demand.owners], places)
        await self._create(demand.standing)

    def start(self, crew: Crew, start_us: int) -> None:
        """Begin the soak: replacements and turns count from here."""
        assert self._churn is not None, "the cluster was not seeded"
        crew.start(self._churn.run(start_us), name=f"load churn {self._cluster.name}")
        if self._turns:
            crew.start(self._take_turns(start_us), name=f"load turns {self._cluster.name}")

    def finish(self) -> None:
        """Write the rows that are still open."""
        if self._churn is not None:
            self._churn.finish()
        self._tenancy.finish()

    def _expect(self, planned: PlannedOwner, *, pre_bound: int = 0, away: bool = False) -> None:
        holding = self._slots.add(planned.owner.replicas)
        assert holding.owner == planned.owner.id, planned.owner
        holding.away = away
        self._owners.append(planned.owner)
        self._tenancy.expect(Tenant(holding, Why.FILL, self._clock.now_us(), pre_bound), planned.identity)

    async def _watch(self, watch: Watch) -> None:
        while True:
            try:
                batch = await watch.next()
            except (WatchBrokenError, WatchExpiredError) as error:
                watch.close()
                self._ledger.metrics.errors[Errand.WATCH] += 1
                watch = await self._reopened(relist=isinstance(error, WatchExpiredError))
            else:
                self._tenancy.receive(batch)
                self._revision = batch.revision
                await self._clock.sleep_until(self._clock.now_us() + _GATHER_US)

    async def _reopened(self, *, relist: bool) -> Watch:
        if relist:
            listed = await self._cluster.list()
            _, nodes = await self._cluster.list_nodes()
            self._tenancy.repair(listed, nodes, self._clock.now_us())
            self._revision = listed.revision
        else:
            # A connection that breaks as soon as it is made must not stop the clock.
            await self._clock.sleep_until(self._clock.now_us() + _REOPEN_US)
        self._tenancy.reopened_us = self._clock.now_us()
        return self._cluster.watch(self._revision)

    async def _take_turns(self, start_us: int) -> None:
        for turn in self._turns:
            at_us = start_us + turn.at_us
            await self._clock.sleep_until(at_us)
            await self._take(turn, at_us)

    async def _take(self, turn: Turn, at_us: int) -> None:
        """Let owners come and go: those of a burst are made and deleted, all others only scaled."""
        moved = sum(self._owners[number].replicas for number in (*turn.come, *turn.go))
        self._event(EventRow(at_us, str(turn.kind), self._ordinal, number=moved))
        for growth in turn.growth:
            self._event(growth._replace(at_us=at_us))
        for number in turn.go:
            self._tenancy.send_away(number)
            self.target -= self._owners[number].replicas
        for number in turn.come:
            cause = Why.BURST if turn.kind is EventKind.BURST else Why.STEP
            self._tenancy.bring_back(number, cause, at_us)
            self.target += self._owners[number].replicas
        if turn.kind is EventKind.BURST:
            await self._create([self._owners[number] for number in turn.come])
        elif turn.kind is EventKind.BURST_END:
            await self._insist(Errand.DELETE, turn.go, self._cluster.delete_owners)
            self._ledger.metrics.deleted += len(turn.go)
        else:
            replicas = [(n, 0) for n in turn.go] + [(n, self._owners[n].replicas) for n in turn.come]
            await self._insist(Errand.SCALE, replicas, self._scale)

    async def _create(self, owners: Sequence[Owner], places: Iterable[Sequence[str]] = repeat(())) -> None:
        placed = list(zip(owners, places, strict=False))  # without places there are enough of none
        await self._insist(Errand.CREATE, placed, self._create_placed)
        self._ledger.metrics.created += len(owners)

    async def _create_placed(self, placed: Sequence[tuple[Owner, Sequence[str]]]) -> Sequence[Answer]:
        return await self._cluster.create_owners([owner for owner, _ in placed], [nodes for _, nodes in placed])

    async def _scale(self, replicas: Sequence[tuple[int, int]]) -> Sequence[Answer]:
        return await asyncio.gather(*(self._cluster.scale(owner, number) for owner, number in replicas))

    async def _insist(
        self, errand: str, items: Sequence[Item], call: Callable[[Sequence[Item]], Awaitable[Sequence[Answer]]]
    ) -> None:
        """Ask until every item is done: demand that changes late is still the demand of the plan.

        What is there already was made by a call whose answer got lost, and what is not there was deleted by one.
        """
        done = _DONE if errand == Errand.SCALE else (*_DONE, Answer.CONFLICT)
        while items:
            answers = await call(items)
            items = [item for item, answer in zip(items, answers, strict=True) if answer not in done]
            if items:
                self._ledger.metrics.errors[errand] += len(items)
                await self._clock.sleep_until(self._clock.now_us() + _AGAIN_US)


def _known(names: dict[str, str], machines: Sequence[str]) -> list[str]:
    """Return the Nodes of the first machines; a machine without a Node ends them, because places have no gaps."""
    return [names[machine] for machine in takewhile(names.__contains__, machines)]
