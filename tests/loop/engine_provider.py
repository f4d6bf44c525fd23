"""A provider in memory, true to its port, with faults on demand.

What a call does goes on when its caller has given up, as a cloud's work does.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from loop.engine_cluster import KIND, MS, FakeCluster

from scaletest.model import CapacityType, Machine, MachineState, Resources
from scaletest.model.demand import RACK_KEY
from scaletest.model.lifecycle import advance
from scaletest.ports.crew import Crew
from scaletest.ports.provider import FencedError, Listing, ProviderError, StockOutError, Token
from scaletest.world.sim.loop import VirtualClock

S = MachineState


def machine(
    name: str, state: MachineState = S.IDLE, *, rack: str = "r1", cluster: str = "", cpu: int = 4_000
) -> Machine:
    return Machine(
        id=name,
        state=state,
        instance_type=KIND,
        zone="z1",
        capacity_type=CapacityType.BARE_METAL,
        allocatable=Resources.of({"cpu": cpu}),
        labels=((RACK_KEY, rack),),
        cluster=cluster,
    )


@dataclass(frozen=True)
class Fault:
    """How one call goes. A request that is lost is never carried out; an answer that is lost never comes."""

    before_us: int = 0
    work_us: int = 100 * MS
    answer_us: int = 0
    request_lost: bool = False
    answer_lost: bool = False
    refused: bool = False
    fails: bool = False
    staged: bool = False
    twice: bool = False


_WAY = {
    "create": (S.SPECULATIVE, S.CREATING, S.IDLE),
    "configure": (S.IDLE, S.CONFIGURING, S.CONFIGURED),
    "drain": (S.CONFIGURED, S.DRAINING, S.IDLE),
    "delete": (S.IDLE, S.DELETING, S.SPECULATIVE),
}


@dataclass(frozen=True)
class Call:
    kind: str
    machine: str
    token: Token
    fault: Fault
    answer: "asyncio.Future[Machine]"
    cluster: str = ""
    metadata: Mapping[str, str] | None = None
    grace_us: int = 0


class FakeProvider:
    """All machines, a log of changes, and calls that go as `fault` says."""

    def __init__(self, machines: Sequence[Machine], clock: VirtualClock, clusters: Mapping[str, FakeCluster]) -> None:
        self.machines = {m.id: m for m in machines}
        self.metadata: dict[str, dict[str, str]] = {}
        self.clock = clock
        self.fault: Callable[[str, str, int], Fault] = lambda _call, _machine, _ordinal: Fault()
        self.list_fault: Callable[[int], Exception | None] = lambda _ordinal: None
        self.list_us = 10 * MS
        self.list_answer_us = 0
        self.revision = 1
        self.calls: list[tuple[str, str, Token]] = []
        self.lists: list[int] = []
        self._clusters = clusters
        self._changed = dict.fromkeys(self.machines, 1)
        self._removed: dict[str, int] = {}
        self._generation: dict[str, int] = {}
        self._node: dict[str, str] = {}
        self._epoch = 0
        self._crew = Crew()
        for found in machines:
            if found.state is S.CONFIGURED:
                self._join(found)

    def set(self, found: Machine) -> None:
        self.revision += 1
        self.machines[found.id] = found
        self._changed[found.id] = self.revision

    def remove(self, name: str) -> None:
        self.revision += 1
        found = self.machines.pop(name)
        self.metadata.pop(name, None)
        del self._changed[name]
        self._removed[name] = self.revision
        self._leave(found)

    def _join(self, found: Machine) -> None:
        cluster = self._clusters.get(found.cluster)
        if cluster is not None:
            generation = self._generation[found.id] = self._generation.get(found.id, 0) + 1
            name = self._node[found.id] = f"{found.id}.{generation}"
            cluster.add_node(name, found)

    def _leave(self, found: Machine) -> None:
        node = self._node.pop(found.id, None)
        if node is not None:
            self._clusters[found.cluster].remove_node(node)

    # --- the port

    async def create(self, machine: str, *, token: Token, metadata: Mapping[str, str]) -> Machine:
        return await self._call(self._new("create", machine, token, metadata=metadata))

    async def configure(self, machine: str, *, cluster: str, token: Token, metadata: Mapping[str, str]) -> Machine:
        return await self._call(self._new("configure", machine, token, cluster=cluster, metadata=metadata))

    async def drain(self, machine: str, *, grace_us: int, token: Token) -> Machine:
        return await self._call(self._new("drain", machine, token, grace_us=grace_us))

    async def delete(self, machine: str, *, token: Token) -> Machine:
        return await self._call(self._new("delete", machine, token))

    async def list(self, after: int) -> Listing:
        self.lists.append(after)
        await self._wait(self.list_us)
        error = self.list_fault(len(self.lists))
        if error is not None:
            raise error
        changed = [name for name, revision in self._changed.items() if revision > after]
        listing = Listing(
            self.revision,
            tuple(replace(self.machines[name], attribution=None) for name in changed),
            tuple(name for name, revision in self._removed.items() if revision > after > 0),
            {name: self.metadata[name] for name in changed if name in self.metadata},
        )
        await self._wait(self.list_answer_us)
        return listing

    def _new(
        self,
        kind: str,
        machine: str,
        token: Token,
        *,
        cluster: str = "",
        metadata: Mapping[str, str] | None = None,
        grace_us: int = 0,
    ) -> Call:
        fault = self.fault(kind, machine, len(self.calls))
        self.calls.append((kind, machine, token))
        answer: asyncio.Future[Machine] = asyncio.get_running_loop().create_future()
        return Call(kind, machine, token, fault, answer, cluster, metadata, grace_us)

    async def _call(self, call: Call) -> Machine:
        for _ in range(2 if call.fault.twice else 1):
            self._crew.start(self._work(call), name=f"{call.kind} {call.machine}")
        return await asyncio.shield(call.answer)

    async def _work(self, call: Call) -> None:
        if call.fault.request_lost:
            return
        await self._wait(call.fault.before_us)
        try:
            result: Machine | ProviderError = await self._do(call)
        except ProviderError as error:
            result = error
        if call.fault.answer_lost:
            return
        await self._wait(call.fault.answer_us)
        if call.answer.done():
            return
        if isinstance(result, ProviderError):
            call.answer.set_exception(result)
            call.answer.exception()  # nobody may be there to take it
        else:
            call.answer.set_result(result)

    async def _do(self, call: Call) -> Machine:
        name, fault = call.machine, call.fault
        start, way, end = _WAY[call.kind]
        self._admit(call, start)
        self.set(advance(self.machines[name], way, cluster=call.cluster))
        if call.metadata:
            self.metadata[name] = dict(call.metadata)
        if fault.staged and not call.answer.done():
            call.answer.set_result(self.machines[name])
        await self._empty(call)
        await self._wait(fault.work_us)
        found = self.machines.get(name)
        if found is None or found.state is not way:
            raise ProviderError(f"{name} is gone")
        if call.kind != "configure" or fault.fails:
            self._leave(found)
            self.metadata.pop(name, None)
        self.set(advance(found, S.FAILED if fault.fails else end))
        if fault.fails:
            raise ProviderError(f"{name} failed")
        if call.kind == "configure":
            self._join(self.machines[name])
        return self.machines[name]

    def _admit(self, call: Call, start: MachineState) -> None:
        if call.token.epoch < self._epoch:
            raise FencedError(call.machine)
        self._epoch = call.token.epoch
        found = self.machines.get(call.machine)
        if found is None or found.state is not start:
            # Asked for twice, or overtaken: that is no move, so the machine stays as it is.
            raise ProviderError(f"{call.kind} {call.machine}: it is {found and found.state}")
        if call.fault.refused:
            raise StockOutError(call.machine)

    async def _empty(self, call: Call) -> None:
        if call.kind != "drain":
            return
        until_us, node = self.clock.now_us() + call.grace_us, self._node.get(call.machine)
        cluster = self._clusters[self.machines[call.machine].cluster]
        while self.clock.now_us() < until_us and any(pod.node == node for pod in cluster.pods.values()):
            await self._wait(100 * MS)

    async def _wait(self, duration_us: int) -> None:
        if duration_us:
            await self.clock.sleep_until(self.clock.now_us() + duration_us)
