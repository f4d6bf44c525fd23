"""The cloud itself: it takes orders, carries them out in its own time, and loses machines. It outlives the engine."""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final

from scaletest.model import US_PER_SECOND, Attribution, CapacityType, Machine, MachineState, microseconds
from scaletest.model.instants import exact
from scaletest.model.lifecycle import advance
from scaletest.ports.clock import Clock
from scaletest.ports.cluster import Nodes
from scaletest.ports.crew import Crew
from scaletest.ports.provider import Listing, ProviderError, StockOutError, Token
from scaletest.profile.world import Provider, StockOut
from scaletest.world.cloud.checks import problems_of
from scaletest.world.cloud.events import CloudEvent, CloudEventKind
from scaletest.world.cloud.fence import Fence
from scaletest.world.cloud.losses import Losses
from scaletest.world.cloud.operations import Call, Draw, Operation, Order, Pace
from scaletest.world.cloud.register import Register

__all__ = ["CALL_US", "CLEAN_UP_US", "Cloud"]

CALL_US: Final = 5_000
"""The way to the cloud and back, on top of what an operation takes: a call to a nearby API, never free."""

CLEAN_UP_US: Final = 60 * US_PER_SECOND
"""How long a Failed machine is shown. Several decision cycles see it, and a fleet with errors does not wear out."""

_JOINING_AT_ONCE: Final = 256


class Cloud:
    """All machines, as the Provider port shows them.

    A call reaches the cloud after CALL_US; a caller that gives up later changes nothing any more. Two calls that send
    a machine to the same place are one operation. The first one's metadata and grace stand.

    A call that fails leaves the machine Failed, without binding and Node. No move leads out of Failed, so after
    CLEAN_UP_US the record is dropped and a fresh one with the same id is listed as the tier it came from: Idle for
    owned machines (BareMetal), Speculative for all others. A listing shows that as removed and listed again.
    """

    def __init__(
        self,
        *,
        clock: Clock,
        nodes: Mapping[str, Nodes],
        settings: Provider,
        failure_rate_per_sec: float,
        seed: int,
        events: Callable[[CloudEvent], None],
    ) -> None:
        self._clock = clock
        self._nodes = nodes
        self._settings = settings
        self._failure_rate_per_sec = failure_rate_per_sec
        self._seed = seed
        self._events = events
        self._register = Register()
        self._fence = Fence()
        self._pace = Pace(settings, seed=seed)
        self._crew = Crew()
        self._underway: dict[str, Operation] = {}
        self._to_join: dict[str, list[str]] = {}
        self._soak_us: int | None = None
        self._seeded = 0
        self._away = 0
        self._withdrawn = 0

    # What the run does with it.

    def seed(self, machines: Iterable[Machine]) -> None:
        """Take over machines, before the soak; they are at rest, and Configured ones have a Node once they join."""
        assert self._soak_us is None, "machines are seeded before the soak"
        self._register.add(self._taken_over(machines))

    async def join(self, cluster: str) -> None:
        """Add the Nodes of the machines that were seeded Configured for a cluster."""
        names = self._to_join.pop(cluster, [])
        for first in range(0, len(names), _JOINING_AT_ONCE):
            machines = map(self._record, names[first : first + _JOINING_AT_ONCE])
            await asyncio.gather(*(self._nodes[cluster].add_node(self.node_of(m.id), m) for m in machines))

    def start_soak(self, at_us: int, *, until_us: int) -> None:
        """Anchor stock-outs and losses to soak start; losses end with the soak."""
        assert self._soak_us is None, "a soak starts once"
        self._soak_us = at_us
        losses = Losses(clock=self._clock, register=self._register, seed=self._seed, lose=self._lose)
        for number, loss in enumerate(self._settings.losses):
            planned = losses.planned(number, loss, at_us=at_us, until_us=until_us)
            self._crew.start(planned, name=f"losses {number}")
        if self._failure_rate_per_sec:
            failures = losses.random(self._failure_rate_per_sec, at_us=at_us, until_us=until_us)
            self._crew.start(failures, name="failures")

    def shrink(self, fraction: float) -> int:
        """Keep this fraction of the Speculative machines, rounded down; the highest ids go. Return how many went."""
        spare = sorted(machine.id for machine in self._register if machine.state is MachineState.SPECULATIVE)
        gone = spare[int(len(spare) * exact(fraction)) :]
        for machine in gone:
            self._register.remove(machine)
        self._withdrawn += len(gone)
        return len(gone)

    def node_of(self, machine: str) -> str:
        """Return the name of a machine's Node; every Configure gives it a new one, 0 is the seeded one."""
        return f"{machine}.{self._pace.count(Call.CONFIGURE, machine)}"

    def nodes_in(self, cluster: str) -> tuple[str, ...]:
        """Return the Nodes that must stand in a cluster: one for each of its Configured machines."""
        configured = (m for m in self._register if m.state is MachineState.CONFIGURED and m.cluster == cluster)
        return tuple(self.node_of(machine.id) for machine in configured)

    def check(self) -> tuple[str, ...]:
        """Return one sentence for each thing that must hold and does not; it looks at every machine."""
        underway = {machine: operation.order.move.passing for machine, operation in self._underway.items()}
        there = self._seeded - self._away - self._withdrawn
        return problems_of(self._register, underway=underway, clusters=self._nodes, there=there)

    async def stop(self) -> None:
        """Stop whatever is under way, and let those who wait for it go; machines stay where they are."""
        await self._crew.stop()
        for operation in self._underway.values():
            operation.end()

    # The Provider port.

    async def create(self, machine: str, *, token: Token, metadata: Mapping[str, str]) -> Machine:
        """Bring a Speculative machine to Idle; it is attributed until it gets there."""
        return await self._send(Order(Call.CREATE, machine, metadata=metadata), token)

    async def configure(self, machine: str, *, cluster: str, token: Token, metadata: Mapping[str, str]) -> Machine:
        """Bring an Idle machine into a cluster."""
        return await self._send(Order(Call.CONFIGURE, machine, cluster=cluster, metadata=metadata), token)

    async def drain(self, machine: str, *, grace_us: int, token: Token) -> Machine:
        """Take a Configured machine out of its cluster."""
        return await self._send(Order(Call.DRAIN, machine, grace_us=grace_us), token)

    async def delete(self, machine: str, *, token: Token) -> Machine:
        """Give an Idle machine back."""
        return await self._send(Order(Call.DELETE, machine), token)

    async def list(self, after: int) -> Listing:
        """List what changed after a revision."""
        await self._wait(CALL_US)
        return self._register.listing(after)

    # Orders.

    async def _send(self, order: Order, token: Token) -> Machine:
        await self._wait(CALL_US)
        self._fence.admit(order.machine, token)
        machine = self._record(order.machine)
        if order.is_met_by(machine):
            return machine
        operation = self._underway.get(machine.id)
        if operation is None or not operation.order.same_as(order):
            operation = self._begin(order, machine)
        if self._settings.acknowledge == "staged":
            return self._record(order.machine)
        return await operation.outcome()

    def _begin(self, order: Order, machine: Machine) -> Operation:
        if machine.state is not order.move.source:
            raise ProviderError(f"{order.call} {machine.id}: it is {machine.state}")
        if order.cluster and order.cluster not in self._nodes:
            raise ProviderError(f"{order.call} {machine.id}: there is no cluster {order.cluster}")
        if order.call is Call.CREATE and self._is_out_of_stock(machine):
            self._report("stock-out", machine, order.attribution)
            raise StockOutError(f"create {machine.id}: no {machine.instance_type} in {machine.zone} now")
        draw = self._pace.next(order.call, machine.id)
        moving = advance(machine, order.move.passing, cluster=order.cluster, attribution=order.attribution)
        self._register.put(moving, metadata=order.metadata)
        operation = self._underway[machine.id] = Operation(order)
        self._crew.start(self._carry_out(operation, draw), name=f"{order.call} {machine.id}")
        return operation

    async def _carry_out(self, operation: Operation, draw: Draw) -> None:
        order = operation.order
        if order.call is Call.DRAIN:
            await self._take_out(order, draw.latency_us)
        else:
            await self._wait(draw.latency_us)
        if draw.fails:
            self._fail(operation)
        else:
            await self._arrive(operation)
        del self._underway[order.machine]
        operation.end()

    async def _take_out(self, order: Order, latency_us: int) -> None:
        """Remove a Node: when it is empty, at the end of the drain; otherwise when the grace is over, with its Pods."""
        nodes, node = self._nodes[self._record(order.machine).cluster], self.node_of(order.machine)
        empty = await nodes.drained(node, until_us=self._clock.now_us() + order.grace_us)
        if not empty:
            await nodes.remove_node(node)
        await self._wait(latency_us)
        if empty:
            await nodes.remove_node(node)

    async def _arrive(self, operation: Operation) -> None:
        order = operation.order
        arrived = advance(self._record(order.machine), order.move.target)
        if order.call is Call.CONFIGURE:
            await self._nodes[order.cluster].add_node(self.node_of(order.machine), arrived)
        self._register.put(arrived)
        operation.machine = arrived

    def _fail(self, operation: Operation) -> None:
        machine = self._record(operation.order.machine)
        operation.failure = f"it failed while {machine.state}"
        self._report("error", machine, machine.attribution)
        self._register.put(advance(machine, MachineState.FAILED))
        self._crew.start(self._clean_up(machine), name=f"clean up {machine.id}")

    async def _clean_up(self, machine: Machine) -> None:
        await self._wait(CLEAN_UP_US)
        owned = machine.capacity_type is CapacityType.BARE_METAL
        self._register.remove(machine.id)
        self._bring_back(machine, MachineState.IDLE if owned else MachineState.SPECULATIVE)

    # Losses and stock.

    def _lose(self, machine: Machine, repair_us: int | None) -> None:
        self._report("loss", machine, machine.attribution)
        self._register.remove(machine.id)
        self._away += 1
        self._crew.start(self._be_lost(machine, repair_us), name=f"loss of {machine.id}")

    async def _be_lost(self, machine: Machine, repair_us: int | None) -> None:
        lost_us = self._clock.now_us()
        await self._nodes[machine.cluster].remove_node(self.node_of(machine.id), lost=True)
        if repair_us is not None:
            await self._clock.sleep_until(lost_us + repair_us)
            self._away -= 1
            self._bring_back(machine, MachineState.IDLE)

    def _bring_back(self, machine: Machine, state: MachineState) -> None:
        fresh = replace(machine, state=state, cluster="", attribution=None)
        self._register.put(fresh)
        self._report("repair", fresh, fresh.attribution)

    def _is_out_of_stock(self, machine: Machine) -> bool:
        if self._soak_us is None:
            return False
        since_us = self._clock.now_us() - self._soak_us
        return any(_refuses(out, machine, since_us) for out in self._settings.stock_outs)

    # Small things.

    def _taken_over(self, machines: Iterable[Machine]) -> Iterator[Machine]:
        for machine in machines:
            if machine.state is MachineState.CONFIGURED:
                self._to_join.setdefault(machine.cluster, []).append(machine.id)
            self._seeded += 1
            yield machine

    def _record(self, machine: str) -> Machine:
        found = self._register.get(machine)
        if found is None:
            raise ProviderError(f"there is no machine {machine}")
        return found

    def _report(self, kind: CloudEventKind, machine: Machine, held_for: Attribution | None) -> None:
        whose = (held_for.need_fingerprint, held_for.group) if held_for else ("", "")
        self._events(CloudEvent(self._clock.now_us(), kind, machine.id, machine.cluster, *whose))

    async def _wait(self, delay_us: int) -> None:
        await self._clock.sleep_until(self._clock.now_us() + delay_us)


def _refuses(out: StockOut, machine: Machine, since_us: int) -> bool:
    """Say whether a stock-out holds at an instant after soak start and for a machine of this type and zone."""
    begin_us = microseconds(out.at_seconds)
    return (
        begin_us <= since_us < begin_us + microseconds(out.duration_seconds)
        and (not out.instance_types or machine.instance_type in out.instance_types)
        and (not out.zones or machine.zone in out.zones)
    )
