"""The ground of a run: clusters, Prometheus and the driver's process, brought up, watched and taken down together."""

import asyncio
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from scaletest.plan.plan import Plan
from scaletest.world.kwok.clock import SystemClock
from scaletest.world.kwok.clusters import KwokCluster, create_cluster
from scaletest.world.kwok.components import CONTROLLER_MANAGER, MetricsPage
from scaletest.world.kwok.controllers import Held, hold_controllers, pause_bystanders, release_controllers
from scaletest.world.kwok.outside_prometheus import OutsidePrometheus
from scaletest.world.kwok.preparing import prepare_cluster
from scaletest.world.kwok.processes import Cost, ProcessId, identify
from scaletest.world.kwok.prometheus import Server
from scaletest.world.kwok.prometheus_server import PrometheusServer, Scraped, control_plane, start_prometheus
from scaletest.world.kwok.runs import LiveRun
from scaletest_runner.running.real.spec import ClusterAccess, RunSpec

__all__ = ["Ground", "GroundLostError", "Outside"]

_STOP_S: Final = 20.0


@dataclass(frozen=True, slots=True)
class Outside:
    """A Prometheus that somebody else runs, and the file in which it looks for our targets."""

    server: Server
    targets_file: Path


class GroundLostError(Exception):
    """A part of the ground died under the run; the sentence names it."""

    def __init__(self, component: str, detail: str) -> None:
        super().__init__(f"{component} died{f': {detail}' if detail else ''}")
        self.component = component


class Ground:
    """Everything a run on real clusters stands on."""

    def __init__(
        self, plan: Plan, run: LiveRun, binaries: Path, clock: SystemClock, outside: Outside | None = None
    ) -> None:
        self._plan, self._run, self._binaries, self._clock = plan, run, binaries, clock
        self._outside = outside
        self.clusters: list[KwokCluster] = []
        self.prometheus: PrometheusServer | OutsidePrometheus | None = None
        self.driver: asyncio.subprocess.Process | None = None
        self._driver_id: ProcessId | None = None
        self._engine_id: ProcessId | None = None
        self._held: dict[str, Held | None] = {}
        """Clusters whose controllers are held back, and how to start them again once they have ended."""
        driver_port, engine_port = run.ports.take(2)
        self._ports = {"driver": driver_port, "engine": engine_port}

    async def raise_clusters(self, names: list[str]) -> None:
        """Bring up all clusters and make them fit for the load; controllers wait until it stands."""
        made = await asyncio.gather(
            *(create_cluster(name, run=self._run, binaries=self._binaries) for name in names), return_exceptions=True
        )
        self.clusters = [each for each in made if isinstance(each, KwokCluster)]
        if failed := [each for each in made if isinstance(each, BaseException)]:
            raise failed[0]
        priorities = {p for kind in self._plan.archetypes for p in kind.priorities}
        await asyncio.gather(*(self._prepare(cluster, priorities) for cluster in self.clusters))

    async def _prepare(self, cluster: KwokCluster, priorities: set[int]) -> None:
        await asyncio.to_thread(prepare_cluster, cluster.kubeconfig, priorities)
        self._held[cluster.name] = None  # from here on nobody misses them
        self._held[cluster.name] = await hold_controllers(cluster)

    async def start_prometheus(self) -> None:
        """Start Prometheus on driver and engine; control planes come later, rendering their pages costs them."""
        pages = [Scraped(name, MetricsPage(f"127.0.0.1:{port}", "http")) for name, port in self._ports.items()]
        if self._outside is not None:
            self.prometheus = OutsidePrometheus(self._outside.server, self._outside.targets_file, pages)
        else:
            self.prometheus = await start_prometheus(self._run, self._binaries, pages)

    async def until_scraped(self) -> None:
        """Wait until Prometheus looks for driver and engine: a soak before that lacks its beginning."""
        assert self.prometheus is not None
        await self.prometheus.scraping()

    async def start_driver(self) -> asyncio.StreamReader:
        """Start the driver's process; return what it tells."""
        folder = self._run.folder
        spec = RunSpec(
            folder=str(folder),
            zero_ns=self._clock.zero_ns,
            clusters=tuple(_access(cluster) for cluster in self.clusters),
            driver_port=self._ports["driver"],
            engine_port=self._ports["engine"],
        )
        path = folder / "spec.json"
        spec.write(path)
        logs = folder / "logs"
        logs.mkdir(exist_ok=True)
        with (logs / "driver.log").open("ab") as log:
            self.driver = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "scaletest_runner.running.real.driver_process", str(path),
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=log, start_new_session=True,
            )  # fmt: skip
        self._driver_id = identify(self.driver.pid)
        assert self.driver.stdout is not None
        return self.driver.stdout

    def make_room(self) -> None:
        """Leave the machine to those who fill the clusters."""
        for cluster in self.clusters:
            pause_bystanders(cluster)

    async def release_controllers(self) -> None:
        """Let everybody work from now on, and scrape control planes."""
        await self._release()
        assert self.prometheus is not None
        if isinstance(self.prometheus, OutsidePrometheus):
            await self.prometheus.check()
        await self.prometheus.scrape([page for cluster in self.clusters for page in control_plane(cluster)])

    async def _release(self) -> None:
        for n, cluster in enumerate(self.clusters):
            if (held := self._held.pop(cluster.name, None)) is not None:
                self.clusters[n] = await release_controllers(cluster, held)

    def check(self) -> None:
        """Raise GroundLostError when a part is gone that should be there."""
        for cluster in self.clusters:
            for name in cluster.dead():
                if name != CONTROLLER_MANAGER or cluster.name not in self._held:
                    raise GroundLostError(f"{cluster.name}/{name}", " / ".join(cluster.last_words(name)[-2:]))
        if self.prometheus is not None and self.prometheus.dead():
            raise GroundLostError("prometheus", "")

    def note_engine(self, pid: int | None) -> None:
        """Learn which process is the engine, for its costs."""
        self._engine_id = identify(pid) if pid else None

    def components(self) -> Iterator[str]:
        """Yield the names of all parts."""
        for cluster in self.clusters:
            yield from (f"{cluster.name}/{each.name}" for each in cluster.components)
        yield "prometheus"

    def costs(self) -> Mapping[str, Cost]:
        """Return what each process has cost so far."""
        found: dict[str, Cost | None] = {}
        for cluster in self.clusters:
            found.update({f"{cluster.name}/{name}": cost for name, cost in cluster.costs().items()})
        found["prometheus"] = self.prometheus.cost() if self.prometheus else None
        found["engine"] = self._engine_id.cost() if self._engine_id else None
        found["driver"] = self._driver_id.cost() if self._driver_id else None
        runner = identify(os.getpid())
        found["runner"] = runner.cost() if runner else None
        return {name: cost for name, cost in found.items() if cost is not None}

    async def stop_driver(self) -> None:
        """Ask the driver to end, with what it has; kill it if it does not."""
        if self.driver is None or self.driver.returncode is not None:
            return
        self.driver.terminate()
        try:
            await asyncio.wait_for(self.driver.wait(), _STOP_S)
        except TimeoutError:
            self.driver.kill()
            await self.driver.wait()

    async def take_down(self, *, keep: bool, logs: bool) -> None:
        """End everything, or leave clusters and Prometheus standing if they are to be kept."""
        await self.stop_driver()
        if keep:
            await self._release()  # a run that ended while it filled its clusters leaves some that work
            self._run.keep()
            return
        folder = self._run.folder / "logs"
        await asyncio.gather(
            *(cluster.destroy(logs=folder / cluster.name if logs else None) for cluster in self.clusters)
        )
        if self.prometheus is not None:
            await self.prometheus.stop()
        self._run.end()

    def reached_by(self) -> Iterator[str]:
        """Yield how what was kept can be reached, and how it is ended."""
        for cluster in self.clusters:
            yield f"{cluster.name}: kubectl --kubeconfig {cluster.kubeconfig} get pods"
        if self.prometheus is not None:
            yield f"Prometheus: {self.prometheus.server.url}"
        yield f"end them: scaletest clusters destroy {self._run.entry.run}"


def _access(cluster: KwokCluster) -> ClusterAccess:
    shown = cluster.credentials
    return ClusterAccess(cluster.name, cluster.server, str(shown.ca), str(shown.cert), str(shown.key))
