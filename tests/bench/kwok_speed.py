"""2,500 Pods through a real scheduler, every bind stamped, beside `kubectl create -f` on the same cluster.

Rounds alternate, each on an emptied cluster; medians are compared. The bar is 0.70 of kubectl's time and 3 CPU seconds.
"""

import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from scaletest.model import CapacityType, Machine, MachineState, Resources
from scaletest.ports.cluster import Change, Owner, PodTemplate, WatchBrokenError
from scaletest.world.kwok.api import Access, ApiServer, Call
from scaletest.world.kwok.clock import SystemClock
from scaletest.world.kwok.clusters import KwokCluster, create_cluster
from scaletest.world.kwok.kube_cluster import KubeCluster
from scaletest.world.kwok.objects import NAMESPACE, pod
from scaletest.world.kwok.preparing import prepare_cluster
from scaletest.world.kwok.runs import register_run
from scaletest.world.kwok.toolchain import find_toolchain

_PODS: Final = 2_500
_NODES: Final = 100
_ROUNDS: Final = 3
_PATH: Final = f"/api/v1/namespaces/{NAMESPACE}/pods"
_OWNER: Final = Owner(1, "bench", _PODS, PodTemplate(Resources.of({"cpu": 100, "memory": 1 << 26}), (), 0))


class Bench:
    """One cluster, filled and emptied again and again."""

    def __init__(self, cluster: KwokCluster, kubectl: Path) -> None:
        self._cluster, self._kubectl = cluster, kubectl
        shown = cluster.credentials
        self._api = ApiServer(Access(cluster.server, shown.ca, shown.cert, shown.key))
        self._clock = SystemClock.starting_now()
        self._view = KubeCluster(cluster.name, api=self._api, clock=self._clock, max_pods=50)

    async def add_nodes(self) -> None:
        room = Resources.of({"cpu": 32_000, "memory": 1 << 37})
        for n in range(_NODES):
            machine = Machine(f"m-{n}", MachineState.CONFIGURED, "large", "z1", CapacityType.ON_DEMAND, room)
            await self._view.add_node(f"m-{n}.0", machine)

    async def round(self, name: str, create: str) -> tuple[float, float, int]:
        """Return seconds to the last bind, our CPU seconds, and how many binds were stamped as they happened."""
        names = [f"{name}-{n}" for n in range(_PODS)]
        manifests = [pod(_OWNER, each) for each in names]
        listing = await self._view.list()
        watch, revision, blind = self._view.watch(listing.revision), listing.revision, False
        cpu_s, begun_us = time.process_time(), self._clock.now_us()
        creating = asyncio.create_task(getattr(self, create)(manifests))
        bound_us: dict[int, int] = {}
        inexact = 0
        while len(bound_us) < _PODS:
            try:
                batch = await watch.next()
            except WatchBrokenError:  # a server that cannot get rid of its events ends the watch
                watch, blind = self._view.watch(revision), True
                continue
            binds = {
                event.pod: at_us
                for event, at_us in zip(batch.pods, batch.pods_us, strict=True)
                if event.change is Change.BOUND
            }
            bound_us |= binds
            inexact += len(binds) if blind else 0
            revision, blind = batch.revision, False
            await asyncio.sleep(0.05)
        spent_s = time.process_time() - cpu_s
        await creating
        watch.close()
        await self._empty(names)
        return (max(bound_us.values()) - begun_us) / 1e6, spent_s, len(bound_us) - inexact

    async def ours(self, manifests: list[bytes]) -> None:
        answers = await self._api.send_all([Call("POST", _PATH, body) for body in manifests])
        assert not any(answers), answers

    async def theirs(self, manifests: list[bytes]) -> None:
        items = [json.loads(body) for body in manifests]
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump({"apiVersion": "v1", "kind": "List", "items": items}, file)
            file.flush()
            argv = [str(self._kubectl), "--kubeconfig", str(self._cluster.kubeconfig), "create", "-f", file.name]
            process = await asyncio.create_subprocess_exec(*argv, stdout=subprocess.DEVNULL)
            assert await process.wait() == 0

    async def _empty(self, names: list[str]) -> None:
        await self._api.send_all([Call("DELETE", f"{_PATH}/{name}", b'{"gracePeriodSeconds":0}') for name in names])
        while (await self._view.list()).pods:  # noqa: ASYNC110 - the server is asked
            await asyncio.sleep(0.5)

    async def close(self) -> None:
        await self._api.close()


async def _main() -> None:
    tools = find_toolchain()
    with tempfile.TemporaryDirectory() as folder:
        run = register_run(f"bench-{os.getpid()}", Path(folder))
        cluster = await create_cluster("bench", run=run, binaries=tools.folder)
        bench = Bench(cluster, tools.binary("kubectl"))
        try:
            await asyncio.to_thread(prepare_cluster, cluster.kubeconfig, [0])
            await bench.add_nodes()
            found: dict[str, list[tuple[float, float, int]]] = {"ours": [], "theirs": []}
            for n in range(_ROUNDS):
                for who in ("ours", "theirs"):
                    found[who].append(await bench.round(f"{who}-{n}", who))
                    wall_s, cpu_s, exact = found[who][-1]
                    sys.stdout.write(
                        f"{who:7} {wall_s:6.1f} s to the last bind, {cpu_s:4.1f} CPU s, {exact:,} stamped\n"
                    )
        finally:
            await bench.close()
            await cluster.destroy()
            run.end()
    ours = statistics.median(each[0] for each in found["ours"])
    theirs = statistics.median(each[0] for each in found["theirs"])
    cpu_s = statistics.median(each[1] for each in found["ours"])
    sys.stdout.write(
        f"{_PODS:,} Pods: {ours:.1f} s against {theirs:.1f} s of kubectl, ratio {ours / theirs:.2f} (bar 0.70); "
        f"{cpu_s:.1f} CPU s (bar 3)\n"
    )


if __name__ == "__main__":
    asyncio.run(_main())
