"""Small simulated clusters for tests: constant delays, so that every instant can be named."""

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from scaletest.model import CapacityType, Machine, MachineState, Operator, Requirement, Resources, Spread
from scaletest.model.demand import INSTANCE_TYPE_KEY, RACK_KEY
from scaletest.ports.cluster import Change, NodeEvent, Owner, PodEvent, PodTemplate
from scaletest.profile.blocks import Latency
from scaletest.profile.world import Scheduler, SignedLatency, World
from scaletest.world.sim.cluster import SimCluster
from scaletest.world.sim.loop import VirtualClock, VirtualLoop

T = TypeVar("T")

API_US, ITEM_US, WATCH_US, READY_US, BIND_US = 5_000, 100, 20_000, 100_000, 10_000
SECOND_US = 1_000_000


def constant(seconds: float) -> Latency:
    return Latency(p50Seconds=seconds, p99Seconds=seconds)


def world(*, lag: float = 0.7, **changes: Any) -> World:
    """Return a world without randomness: call 5 ms, watch 20 ms, Ready after 100 ms, 100 binds a second."""
    blocks: dict[str, Any] = {
        "replacement_lag": SignedLatency(p50Seconds=lag, p99Seconds=lag),
        "watch_delay": constant(0.02),
        "api_latency": constant(0.005),
        "node_ready": constant(0.1),
        "scheduler": Scheduler(bindsPerSecond=100.0),
    }
    return World().model_copy(update=blocks | changes)


def machine(name: str, *, pods: int = 10, zone: str = "a", rack: str = "r-1", instance_type: str = "large") -> Machine:
    """Return a machine for so many Pods of 1 cpu."""
    return Machine(
        id=f"m-{name}",
        state=MachineState.CONFIGURED,
        instance_type=instance_type,
        zone=zone,
        capacity_type=CapacityType.BARE_METAL,
        allocatable=Resources.of({"cpu": 1000 * pods}),
        labels=((RACK_KEY, rack),),
    )


def owner(
    number: int,
    replicas: int,
    *,
    cpu: int = 1000,
    priority: int = 0,
    types: tuple[str, ...] = ("large",),
    spread: tuple[Spread, ...] = (),
    colocation_key: str | None = None,
) -> Owner:
    tests = (Requirement(INSTANCE_TYPE_KEY, Operator.IN, types),)
    template = PodTemplate(Resources.of({"cpu": cpu}), tests, priority, spread, colocation_key)
    return Owner(number, f"owner-{number}", replicas, template)


class Stage:
    """A loop, a cluster on it, and everything its first watch has shown."""

    def __init__(self, setting: World | None = None, *, seed: int = 1, max_pods: int = 110) -> None:
        self.loop = VirtualLoop()
        self.clock = VirtualClock(self.loop)
        self.cluster = SimCluster(
            name="c", ordinal=0, loop=self.loop, world=setting or world(), seed=seed, max_pods=max_pods
        )

    def run(self, work: Callable[[], Awaitable[T]]) -> T:
        async def main() -> T:
            return await work()

        result = self.loop.run_until_complete(main())
        self.cluster.check()
        return result

    async def sleep(self, seconds: float) -> None:
        await self.clock.sleep_until(self.loop.now_us() + round(seconds * SECOND_US))

    async def add_nodes(self, *machines: Machine) -> None:
        """Add Nodes named as their machines, without the m-, and wait until they are Ready."""
        for each in machines:
            await self.cluster.add_node(each.id.removeprefix("m-"), each)
        await self.sleep(0.1)

    def events(self) -> list[PodEvent | NodeEvent]:
        self.cluster.check()  # whoever looks at a cluster makes it do what is due
        return list(self.cluster._log._events)

    def pod_events(self, *changes: Change) -> list[PodEvent]:
        return [e for e in self.events() if isinstance(e, PodEvent) and (not changes or e.change in changes)]

    def bound(self) -> dict[int, str]:
        """Return the Node of every Pod that is on one."""
        self.cluster.check()
        pods = self.cluster._lives.pods
        return {pods.ids[seat]: node.name for seat in pods.seats() if (node := pods.node_of[seat]) is not None}

    def pods(self) -> list[int]:
        self.cluster.check()
        return [self.cluster._lives.pods.ids[seat] for seat in self.cluster._lives.pods.seats()]
