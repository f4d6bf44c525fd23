"""The reference engine as a process: agents and shard over real API servers, the provider behind a wire."""

import asyncio
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from aiohttp import web

from scaletest.engine.reference import ReferenceEngine, settings_without
from scaletest.evidence import Journal
from scaletest.plan.plan import Plan
from scaletest.plan.planned import planned_test
from scaletest.ports.crew import Crew
from scaletest.world.kwok.api import ApiServer
from scaletest.world.kwok.clock import SystemClock
from scaletest.world.kwok.kube_cluster import KubeCluster
from scaletest.world.kwok.provider_wire import RemoteProvider
from scaletest.world.wires import NoCosts, PlannedWire
from scaletest_runner.inputs import saved_inputs
from scaletest_runner.judging import saved_record
from scaletest_runner.running.bars import edges_by_metric
from scaletest_runner.running.memory import resident_kib
from scaletest_runner.running.real.serving import (
    ProcessCosts,
    failing_loop,
    metrics_route,
    serving,
    until_asked_to_end,
)
from scaletest_runner.running.real.spec import RunSpec
from scaletest_runner.running.recorder import EngineRecorder

__all__ = ["main"]

_FLUSH_S: Final = 1.0
_KIB: Final = 1024


class EngineProcess:
    """The engine with its port: what the driver may ask of it, and what Prometheus reads."""

    def __init__(self, spec: RunSpec, *, epoch: int) -> None:
        folder = Path(spec.folder)
        record = saved_record(folder)
        plan = Plan(saved_inputs(folder, record))
        test = planned_test((folder / "plan.json").read_text(encoding="utf-8"))
        world, seed = plan.profile.world, plan.inputs.random_seed
        names = [each.name for each in spec.clusters]
        self._journal = Journal(folder, record, fresh=False)
        self._recorder = EngineRecorder(
            self._journal, {name: n for n, name in enumerate(names)}, resident_kib=resident_kib
        )
        self._wires = {name: PlannedWire(world, cluster=name, ordinal=n, seed=seed) for n, name in enumerate(names)}
        clock = SystemClock(spec.zero_ns)
        self._provider = RemoteProvider(spec.driver_url)
        self._apis = [ApiServer(each.access) for each in spec.clusters]
        self.engine = ReferenceEngine(
            clock=clock,
            provider=self._provider,
            clusters=[
                KubeCluster(name, api=api, clock=clock, max_pods=plan.max_pods, watches_requests=False)
                for name, api in zip(names, self._apis, strict=True)
            ],
            wires=self._wires,
            costs=NoCosts(),
            recorder=self._recorder,
            settings=settings_without(record.without),
            epoch=epoch,
            compute_ns=time.thread_time_ns,
            resident_bytes=lambda: resident_kib() * _KIB,
            bars=edges_by_metric(test),
        )
        self._ready = False

    def routes(self, costs: ProcessCosts) -> list[web.RouteDef]:
        """Return what the port answers."""
        return [
            metrics_route(lambda: self.engine.registry, costs),
            web.get("/healthz", self._healthz),
            web.get("/readyz", self._readyz),
            web.get("/status", self._status),
            web.post("/demand-ready", self._demand_ready),
            web.post("/soak-start", self._soak_start),
        ]

    async def start(self) -> None:
        """Start the engine; ready once it has listed everything."""
        await self.engine.start()
        self._ready = True

    async def keep_flushing(self) -> None:
        """Hand rows to the operating system every second, so that a crash loses no more."""
        while True:
            await asyncio.sleep(_FLUSH_S)
            self._journal.flush()

    async def stop(self) -> None:
        """Stop, and write what is still open."""
        await self.engine.stop()
        self._recorder.close()
        self._journal.close()
        await self._provider.close()
        for api in self._apis:
            await api.close()

    async def _healthz(self, _: web.Request) -> web.Response:
        return web.Response(text="ok")

    async def _readyz(self, _: web.Request) -> web.Response:
        return web.Response(text="ok") if self._ready else web.Response(status=503, text="starting")

    async def _status(self, _: web.Request) -> web.Response:
        covered: Mapping[str, int] = self.engine.covered()
        return web.json_response(
            {
                "covered": dict(covered),
                "acquisitions": self.engine.acquisitions,
                "reclaims": self.engine.reclaims,
                "last_cycle_us": self.engine.last_cycle_us,
            }
        )

    async def _demand_ready(self, _: web.Request) -> web.Response:
        self.engine.demand_ready()
        return web.Response(text="ok")

    async def _soak_start(self, request: web.Request) -> web.Response:
        at_us = int((await request.json())["at_us"])
        for wire in self._wires.values():
            wire.start_soak(at_us)
        return web.Response(text="ok")


async def _main(spec: RunSpec, epoch: int) -> None:
    asked = until_asked_to_end()
    asyncio.get_running_loop().set_exception_handler(failing_loop(asked))
    process, costs, crew = EngineProcess(spec, epoch=epoch), ProcessCosts(), Crew()
    async with serving(spec.engine_port, process.routes(costs)):
        crew.start(costs.measure(), name="loop lag")
        crew.start(process.keep_flushing(), name="flush")
        try:
            await process.start()
            await asked
        finally:
            await crew.stop()
            await process.stop()


def main() -> None:
    """Run the engine of the spec file named first, as the n-th engine of its run."""
    asyncio.run(_main(RunSpec.read(Path(sys.argv[1])), int(sys.argv[2])))


if __name__ == "__main__":
    main()
