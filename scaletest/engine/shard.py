"""The shard: takes roll-ups in and runs cycle after cycle: reconcile, decide on a snapshot, hand actions over."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

from scaletest.engine.account import Account, reclaims_of, shortfalls_by_class
from scaletest.engine.decide import NO_MEMORY, Decisions, Demand, DemandTable, Engine, Fleet, Memory
from scaletest.engine.execute import Order, Pool
from scaletest.engine.facts import CycleFact, CycleInputs, Recorder
from scaletest.engine.inventory import Inventory
from scaletest.engine.metrics import EngineMetrics
from scaletest.engine.settings import EngineSettings
from scaletest.engine.wire import Costs
from scaletest.model import US_PER_SECOND, MachineState, Need
from scaletest.ports.clock import Clock
from scaletest.ports.crew import Crew
from scaletest.ports.provider import Provider, ProviderError

__all__ = ["Shard"]

_LIST_TIMEOUT_US: Final = 120 * US_PER_SECOND
_NS_PER_US: Final = 1000
_TRANSITIONAL: Final = (
    MachineState.CREATING,
    MachineState.CONFIGURING,
    MachineState.DRAINING,
    MachineState.DELETING,
)


class Shard:
    """The loop around the decisions."""

    def __init__(
        self,
        *,
        clock: Clock,
        provider: Provider,
        fleet: Fleet,
        inventory: Inventory,
        pool: Pool,
        costs: Costs,
        metrics: EngineMetrics,
        recorder: Recorder,
        settings: EngineSettings,
        compute_ns: Callable[[], int],
    ) -> None:
        self._clock = clock
        self._provider = provider
        self._fleet = fleet
        self._inventory = inventory
        self._pool = pool
        self._costs = costs
        self._metrics = metrics
        self._recorder = recorder
        self._tick_us = settings.tick_us
        self._compute_ns = compute_ns
        self._engine = Engine(fleet, rules=settings.rules, settings=settings.decide)
        self._table = DemandTable(guarded=settings.guarded_rollups)
        self._memory: Memory = NO_MEMORY
        self._account = Account(fleet)
        self._wake = asyncio.Event()
        self._revision = 0
        self._listed = False
        self._cycles = 0
        self._tick_at_us = 0
        self._rollups: list[tuple[str, tuple[Need, ...]]] = []
        self._heard: frozenset[str] = frozenset()
        self.covered: dict[str, int] = {}
        """Pods in the last accepted roll-up of each cluster."""
        self.last_cycle_us = 0
        self._crew = Crew()

    async def start(self) -> None:
        """List everything once, then cycle."""
        await self._reconcile()
        self._tick_at_us = self._clock.now_us() + self._tick_us
        self._crew.start(self._run(), name="shard")

    async def stop(self) -> None:
        """Stop cycling."""
        await self._crew.stop()

    def receive(self, cluster: str, rows: tuple[Need, ...], pods: int) -> bool:
        """Take a roll-up in; say whether it was accepted. One that is held wakes no cycle."""
        self._table, accepted = self._table.receive(cluster, rows)
        self._metrics.quarantined[cluster] = self._table.held.get(cluster, 0)
        if accepted:
            self._rollups.append((cluster, rows))
            self.covered[cluster] = pods
            self._wake.set()
        return accepted

    async def _run(self) -> None:
        while True:
            await self._until_woken()
            await self._reconcile()
            # Roll-ups that came while the listing was on its way are part of this cycle and need no other.
            self._wake.clear()
            if self._listed:
                await self._cycle()

    async def _until_woken(self) -> None:
        """Wait for a roll-up or for the tick, which comes whatever else wakes the loop; of several missed, one."""
        left_us = self._tick_at_us - self._clock.now_us()
        try:
            async with asyncio.timeout(left_us / US_PER_SECOND):
                await self._wake.wait()
        except TimeoutError:
            self._tick_at_us = max(self._tick_at_us, self._clock.now_us()) + self._tick_us

    async def _reconcile(self) -> None:
        """Take in what the provider says has changed; after a listing that failed, everything."""
        revision, self._revision = self._revision, 0
        self._inventory.asked()
        try:
            async with asyncio.timeout(_LIST_TIMEOUT_US / US_PER_SECOND):
                listing = await self._provider.list(revision)
        except (ProviderError, OSError):
            self._metrics.list_errors += 1
            return
        self._inventory.told(listing, full=revision == 0)
        self._revision = listing.revision
        self._listed = True

    async def _cycle(self) -> None:
        self._cycles += 1
        at_us, demand = self._clock.now_us(), self._table.demand()
        changed, removed = self._inventory.take_changes()

        before_ns = self._compute_ns()
        self._fleet.apply(changed, removed=removed, now_us=at_us)
        decisions = self._engine.decide(demand, self._memory, now_us=at_us)
        compute_us = (self._compute_ns() - before_ns) // _NS_PER_US

        self._memory = decisions.memory
        rollups, self._rollups = tuple(self._rollups), []
        heard, self._heard = tuple(sorted(demand.heard - self._heard)), demand.heard
        inputs = CycleInputs(self._cycles, at_us, changed, removed, rollups, heard, decisions.actions)
        fact = self._fact(at_us, demand, decisions)
        self._show(decisions, fact)
        orders = self._account.orders(decisions, cycle=self._cycles)
        await self._clock.sleep_until(at_us + self._costs.cycle_us(len(demand.rows)))
        self._hand_over(orders, decisions)
        fact = fact._replace(duration_us=self._clock.now_us() - at_us)
        self.last_cycle_us = fact.duration_us
        self._metrics.cycle.observe(fact.duration_us)
        self._recorder.cycle(fact, inputs, compute_us)

    def _hand_over(self, orders: Sequence[Order], decisions: Decisions) -> None:
        for order in orders:
            self._pool.offer(order)
        if decisions.wake:
            self._wake.set()

    def _fact(self, at_us: int, demand: Demand, decisions: Decisions) -> CycleFact:
        flips, changes = self._account.moves(decisions.outcomes)
        reclaims = reclaims_of(decisions, self._fleet, heard=demand.heard)
        classes = shortfalls_by_class(decisions)
        return CycleFact(
            cycle=self._cycles,
            at_us=at_us,
            duration_us=0,
            needs=len(demand.rows),
            gangs=self._account.gangs,
            shortfalls=len(decisions.memory.short_cycles),
            oldest_shortfall_cycles=max(decisions.memory.short_cycles.values(), default=0),
            shortfalls_batch=classes["batch"],
            shortfalls_service=classes["service"],
            shortfalls_critical=classes["critical"],
            domain_flips=flips,
            claimed_set_changes=changes,
            configured=self._metrics.in_state(MachineState.CONFIGURED),
            in_flight=self._metrics.in_state(*_TRANSITIONAL),
            worst_reclaim_ppm=reclaims.worst_ppm,
            reclaims_before_rollup=reclaims.before_rollup,
            reclaims_of_unsatisfied=reclaims.of_unsatisfied,
        )

    def _show(self, decisions: Decisions, fact: CycleFact) -> None:
        metrics = self._metrics
        metrics.outcomes = decisions.outcomes
        metrics.short_ages = tuple(decisions.memory.short_cycles.values())
        metrics.short_classes = {
            "batch": fact.shortfalls_batch,
            "service": fact.shortfalls_service,
            "critical": fact.shortfalls_critical,
        }
        for action in decisions.withheld:
            metrics.withheld[action.kind] += 1
        for refusal in decisions.refusals:
            if refusal.rule == "reclaim-cap":
                metrics.reclaims_capped += refusal.machines
            elif refusal.rule == "max-actions":
                metrics.deferred += refusal.machines
