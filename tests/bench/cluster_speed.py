"""Speed and size of a simulated cluster: 25,000 Pods on full Nodes, 50,000 of them replaced. Only printed."""

import gc
import time
import tracemalloc
from itertools import cycle, islice

from scaletest.model import CapacityType, Machine, MachineState, Operator, Requirement, Resources
from scaletest.model.demand import INSTANCE_TYPE_KEY, RACK_KEY
from scaletest.ports.clock import Clock
from scaletest.ports.cluster import Change, Owner, PodTemplate
from scaletest.ports.crew import Crew
from scaletest.profile.world import Scheduler, World
from scaletest.world.sim.cluster import SimCluster
from scaletest.world.sim.loop import VirtualClock, VirtualLoop

_REPLACE_BAR_US, _POD_BAR_BYTES = 40, 400
_NODES, _PER_NODE, _REPLICAS, _REPLACED = 250, 100, 10, 50_000
_SLICES = 10  # each measured on its own, because a busy machine disturbs some of them
_PODS = _NODES * _PER_NODE
_REQUEST = Resources.of({"cpu": 400, "memory": 500 << 20})


class _Bench:
    """One cluster, a watch that makes requests as the engine's agent does, and one that only looks on."""

    def __init__(self, *, batch: int, every_us: int, waiting: int) -> None:
        self.loop = VirtualLoop()
        self.clock: Clock = VirtualClock(self.loop)
        # Fast enough for what is deleted; the binding order is not what is measured.
        world = World(scheduler=Scheduler(bindsPerSecond=max(100.0, 2e6 * batch / every_us)))
        self.cluster = SimCluster(name="c", ordinal=0, loop=self.loop, world=world, seed=1, max_pods=256)
        self.batch, self.every_us, self.waiting = batch, every_us, waiting
        self.bound = 0
        self.bytes_per_pod = 0.0

    async def fill(self) -> None:
        """Add Nodes, fill them, and add Pods that find no room."""
        gc.collect()
        tracemalloc.start()
        for n in range(_NODES):
            await self.cluster.add_node(f"n-{n:04d}", _machine(n))
        await self.clock.sleep_until(10_000_000)
        names = cycle(f"n-{n:04d}" for n in range(_NODES))
        owners = [_owner(n) for n in range((_PODS + self.waiting) // _REPLICAS)]
        nodes = [list(islice(names, _REPLICAS)) for _ in range(_PODS // _REPLICAS)]
        await self.cluster.create_owners(owners, nodes)
        crew = Crew()
        listed = await self.cluster.list()
        crew.start(self.agent(listed.revision), name="agent")
        crew.start(self.driver(listed.revision), name="driver")
        await self.clock.sleep_until(self.clock.now_us() + 200_000_000)
        del listed, owners, nodes
        gc.collect()
        self.bytes_per_pod = tracemalloc.get_traced_memory()[0] / (_PODS + self.waiting)
        tracemalloc.stop()

    async def agent(self, revision: int) -> None:
        """Request capacity for whatever appears."""
        watch = self.cluster.watch(revision)
        while True:
            batch = await watch.next()
            if pods := [event.pod for event in batch.pods if event.change is Change.ADDED]:
                await self.cluster.create_requests(pods)

    async def driver(self, revision: int) -> None:
        """Count binds."""
        watch = self.cluster.watch(revision)
        while True:
            batch = await watch.next()
            self.bound += sum(event.change is Change.BOUND for event in batch.pods)

    async def replace(self, number: int) -> None:
        """Delete Pods and let them come back, a slice of all that is to be replaced."""
        pods = self.cluster._lives.pods
        size = _REPLACED // _SLICES
        for first in range(number * size, (number + 1) * size, self.batch):
            seats = (seat % _PODS for seat in range(first * 7919, (first + self.batch) * 7919, 7919))
            await self.cluster.delete_pods([pods.ids[seat] for seat in seats])
            await self.clock.sleep_until(self.clock.now_us() + self.every_us)
        await self.clock.sleep_until(self.clock.now_us() + 20_000_000)


def _machine(n: int) -> Machine:
    return Machine(
        id=f"m-{n}",
        state=MachineState.CONFIGURED,
        instance_type="large",
        zone="abc"[n % 3],
        capacity_type=CapacityType.BARE_METAL,
        allocatable=_REQUEST.times(_PER_NODE),
        labels=((RACK_KEY, f"r-{n % 30}"),),
    )


def _owner(n: int) -> Owner:
    test = Requirement(INSTANCE_TYPE_KEY, Operator.IN, ("large",))
    return Owner(n, f"o-{n}", _REPLICAS, PodTemplate(requests=_REQUEST, requirements=(test,), priority=100))


def _measure(what: str, *, batch: int, every_us: int, waiting: int) -> None:
    bench = _Bench(batch=batch, every_us=every_us, waiting=waiting)
    bench.loop.run_until_complete(bench.fill())
    took = []
    for number in range(_SLICES):
        started = time.process_time()
        bench.loop.run_until_complete(bench.replace(number))
        took.append((time.process_time() - started) / (_REPLACED // _SLICES) * 1e6)
    bench.cluster.check()
    print(
        f"{what}: {min(took):.0f} to {max(took):.0f} us per replacement (bar {_REPLACE_BAR_US}), "
        f"{bench.bound:,} bound, "
        f"{bench.bytes_per_pod:.0f} bytes per Pod (bar {_POD_BAR_BYTES})"
    )


def main() -> None:
    """Print the figures."""
    _measure("in batches of 100, 10 a second", batch=100, every_us=100_000, waiting=0)
    _measure("one by one, 12 a second as in uber-5k", batch=1, every_us=80_000, waiting=0)
    _measure("in batches, with 10,000 Pods that find no room", batch=100, every_us=100_000, waiting=10_000)
    _measure("one by one, with 10,000 Pods that find no room", batch=1, every_us=80_000, waiting=10_000)


if __name__ == "__main__":
    main()
