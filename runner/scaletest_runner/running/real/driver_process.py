"""The driver as a process: it plays the phases, drives the load, and is the cloud. The runner stands above it."""

import asyncio
import gc
import json
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from aiohttp import web
from prometheus_client import CollectorRegistry

from scaletest.evidence import Journal
from scaletest.gates.ledger import BINDS
from scaletest.load.driver import LoadDriver
from scaletest.model import US_PER_SECOND
from scaletest.plan.plan import Plan
from scaletest.plan.planned import planned_test
from scaletest.ports.crew import Crew
from scaletest.world.cloud import Cloud, CloudEvent
from scaletest.world.kwok.api import ApiServer
from scaletest.world.kwok.clock import SystemClock
from scaletest.world.kwok.kube_cluster import KubeCluster
from scaletest.world.kwok.provider_wire import provider_routes
from scaletest_runner.inputs import saved_inputs
from scaletest_runner.judging import saved_record
from scaletest_runner.running.bars import edges_by_metric
from scaletest_runner.running.book import Book
from scaletest_runner.running.phases import collect, play
from scaletest_runner.running.real.engine_proxy import EngineDiedError, EngineProxy
from scaletest_runner.running.real.serving import (
    ProcessCosts,
    failing_loop,
    metrics_route,
    serving,
    until_asked_to_end,
)
from scaletest_runner.running.real.spec import RunSpec
from scaletest_runner.running.recorder import event_row
from scaletest_runner.running.stage import EngineUnderTest, Stage

__all__ = ["SCRAPE_INTERVAL_US", "main"]

SCRAPE_INTERVAL_US: Final = 2 * US_PER_SECOND
"""How often Prometheus scrapes driver and engine."""
_TELL_S: Final = 0.5


class ServerScrapes:
    """Time passes; a Prometheus server beside the run scrapes by itself."""

    def __init__(self, clock: SystemClock) -> None:
        self._clock = clock

    def point(self, registries: Mapping[str, CollectorRegistry]) -> None:
        """Do nothing: the server knows its targets."""

    async def pass_time(self, until_us: int) -> None:
        """Let time pass."""
        await self._clock.sleep_until(until_us)

    def scrape(self, *, whole: bool = False) -> None:
        """Do nothing: the next scrape is at most an interval away."""

    async def last(self) -> None:
        """Wait until the server has scraped once more, and has stored it."""
        await self._clock.sleep_until(self._clock.now_us() + 2 * SCRAPE_INTERVAL_US)


class DriverProcess:
    """The stage of a run on real clusters."""

    def __init__(self, spec: RunSpec, spec_path: Path) -> None:
        self._spec, self._spec_path = spec, spec_path
        self._folder = folder = Path(spec.folder)
        record = saved_record(folder)
        plan = Plan(saved_inputs(folder, record))
        edges = edges_by_metric(planned_test((folder / "plan.json").read_text(encoding="utf-8")))
        names = [each.name for each in spec.clusters]
        self._ordinals = {name: n for n, name in enumerate(names)}
        self._journal = Journal(folder, record, fresh=False)
        self._engines = 0
        self._apis = [ApiServer(each.access) for each in spec.clusters]
        clock = SystemClock(spec.zero_ns)
        self._clusters = clusters = [
            KubeCluster(name, api=api, clock=clock, max_pods=plan.max_pods)
            for name, api in zip(names, self._apis, strict=True)
        ]
        self.cloud = Cloud(
            clock=clock,
            nodes=dict(zip(names, clusters, strict=True)),
            settings=plan.profile.provider,
            failure_rate_per_sec=plan.profile.shard.failure_rate_per_sec,
            seed=plan.inputs.random_seed,
            events=self._cloud_event,
        )
        self.stage = Stage(
            plan=plan,
            clock=clock,
            cloud=self.cloud,
            driver=LoadDriver(
                plan=plan,
                clusters=clusters,
                clock=clock,
                row=self._journal.row,
                event=self._journal.row,
                edges=edges.get(BINDS.removesuffix("_count"), ()),
            ),
            scraper=ServerScrapes(clock),
            book=Book(self._journal, record, clock),
            new_engine=self._new_engine,
            soak_starts=self._soak_starts,
            seeded=_settle_heap,
            engine=self._new_engine(),
        )
        self._phase = ""

    def routes(self, costs: ProcessCosts) -> list[web.RouteDef]:
        """Return what the port answers: the provider's calls, metrics and health."""

        async def healthz(_: web.Request) -> web.Response:
            return web.Response(text="ok")

        return [
            *provider_routes(self.cloud),
            metrics_route(lambda: self.stage.driver.registry, costs),
            web.get("/healthz", healthz),
        ]

    async def play(self) -> None:
        """Play the phases to their end."""
        await play(self.stage, entered=self._entered)

    async def break_off(self, outcome: str, reason: str) -> None:
        """End before the end: note it, and write down what is open."""
        self.stage.book.break_off(outcome, reason)
        self._entered("collect")
        await collect(self.stage)

    async def close(self) -> None:
        """Close files and connections; note how this ground behaved."""
        now_us = self.stage.clock.now_us()
        lags = {cluster.name: cluster.lags.summary() for cluster in self._clusters}
        stranded = {cluster.name: cluster.stranded.longest_us(now_us) for cluster in self._clusters}
        text = json.dumps({"version": 1, "replacementLag": lags, "stranded_us": stranded}, indent=1)
        (self._folder / "ground.json").write_text(text + "\n", encoding="utf-8")
        self.stage.book.note(stranded_us=max(stranded.values()))
        self._journal.close()
        for api in self._apis:
            await api.close()

    async def keep_telling(self) -> None:
        """Tell the runner where the run is, and hand rows to the operating system."""
        while True:
            await asyncio.sleep(_TELL_S)
            self._journal.flush()
            self._tell()

    def _entered(self, phase: str) -> None:
        self._phase = phase
        self._tell()

    def _tell(self) -> None:
        driver, engine, settled = self.stage.driver, self.stage.engine, self.stage.reclaims_at_settle
        told = {
            "phase": self._phase,
            "bound": driver.bound_ready,
            "sent": driver.sent,
            "planned": driver.planned,
            "reclaims": engine.reclaims,
            "since_settle": None if settled is None else engine.reclaims - settled,
            "cycle_us": engine.last_cycle_us,
            "engine_pid": engine.pid if isinstance(engine, EngineProxy) else None,
        }
        with suppress(BrokenPipeError):  # a runner that was killed hears nothing; what was seen is kept all the same
            sys.stdout.write(json.dumps(told) + "\n")
            sys.stdout.flush()

    def _new_engine(self) -> EngineUnderTest:
        self._engines += 1
        log = self._folder / "logs" / "engine.log"
        return EngineProxy(self._spec, self._spec_path, epoch=self._engines, log=log)

    def _soak_starts(self, at_us: int) -> None:
        for cluster in self._clusters:
            cluster.lags.start()
        engine = self.stage.engine
        assert isinstance(engine, EngineProxy)
        engine.soak_starts(at_us)

    def _cloud_event(self, event: CloudEvent) -> None:
        self._journal.row(event_row(event, self._ordinals))


def _settle_heap() -> None:
    """Leave what was seeded out of garbage collection: it stays to the end."""
    gc.collect()
    gc.freeze()


async def _main(spec: RunSpec, spec_path: Path) -> None:
    asked = until_asked_to_end()
    asyncio.get_running_loop().set_exception_handler(failing_loop(asked))
    process, costs, crew = DriverProcess(spec, spec_path), ProcessCosts(), Crew()
    async with serving(spec.driver_port, process.routes(costs)):
        crew.start(costs.measure(), name="loop lag")
        crew.start(process.keep_telling(), name="progress")
        playing = asyncio.create_task(process.play(), name="phases")
        asked.add_done_callback(_canceller(playing))
        try:
            await playing
        except asyncio.CancelledError:
            failure = asked.exception() if asked.done() else None
            if isinstance(failure, EngineDiedError):
                await process.break_off("failed", str(failure))
            elif failure is not None:
                await process.break_off("failed", f"a part of the harness failed: {failure!r}")
                raise failure from None
            else:
                await process.break_off("interrupted", f"ended by {asked.result()}")
        finally:
            await crew.stop()
            await process.close()


def _canceller(task: "asyncio.Task[None]") -> Callable[[object], None]:
    def cancel(_: object) -> None:
        task.cancel()

    return cancel


def main() -> None:
    """Run the driver of the spec file named first."""
    path = Path(sys.argv[1])
    asyncio.run(_main(RunSpec.read(path), path))


if __name__ == "__main__":
    main()
