"""One run on real clusters, from an empty folder to a verdict and back to an empty machine."""

import asyncio
import json
import time
from dataclasses import dataclass, replace
from pathlib import Path
from signal import Signals
from typing import Any, Final

from rich.console import Console

from scaletest.evidence import Journal, RunRecord
from scaletest.evidence.record import Component
from scaletest.gates.judge import needed_metrics
from scaletest.model import US_PER_SECOND
from scaletest.model.findings import Finding
from scaletest.plan.geometry import cluster_name
from scaletest.plan.plan import Plan
from scaletest.plan.planned import PlannedTest
from scaletest.world.kwok.clock import SystemClock
from scaletest.world.kwok.prometheus import PrometheusError, read_samples
from scaletest.world.kwok.recording import record_scrapes
from scaletest.world.kwok.runs import destroy_leftovers, register_run
from scaletest_runner.exits import Exit
from scaletest_runner.judging import saved_record
from scaletest_runner.running.book import Book
from scaletest_runner.running.progress import Progress, Reading
from scaletest_runner.running.real.costs import COSTS, CostBook
from scaletest_runner.running.real.driver_process import SCRAPE_INTERVAL_US
from scaletest_runner.running.real.ground import Ground, GroundLostError, Outside
from scaletest_runner.running.run import Ended, StoppedError, judged, record_of, title_of, write_plan
from scaletest_runner.signals import ENDS

__all__ = ["Asked", "run_on_clusters"]

_LOOK_S: Final = 0.5
_US_PER_MS: Final = 1000
_CREATING: Final = 0.4
"""Of the time it takes to fill clusters: Pods are created; the rest is waiting until all is acknowledged."""
_WORST_LAG: Final = "scaletest_loop_lag_worst_seconds"
_BESIDE: Final = ("process_cpu_seconds_total", "scaletest_loop_lag_seconds_total", _WORST_LAG)
"""Read along with what gates need: what the harness itself cost, and how late it was."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What was asked for beside the plan."""

    folder: Path
    binaries: Path
    versions: dict[str, str]
    without: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    strict: bool = False
    timeout_s: float | None = None
    keep: bool = False
    outside: Outside | None = None


def run_on_clusters(plan: Plan, findings: tuple[Finding, ...], asked: Asked, console: Console) -> Ended:
    """Run a plan on clusters of this machine, judge it and write its reports."""
    return asyncio.run(_RealRun(plan, findings, asked, console).run())


class _RealRun:
    """The runner: it raises the ground, follows the driver, watches, collects, judges, and takes all down again."""

    def __init__(self, plan: Plan, findings: tuple[Finding, ...], asked: Asked, console: Console) -> None:
        self._plan, self._asked = plan, asked
        self._test: PlannedTest = write_plan(plan, findings, asked.folder)
        self._clock = SystemClock.starting_now()
        self._epoch_ms = time.time_ns() // 1_000_000
        self._progress = Progress(console, title_of(plan))
        self._caught: list[Signals] = []
        self._lost: GroundLostError | None = None
        self._phase = ""
        self._told: dict[str, Any] = {}
        self._costs = CostBook(asked.folder / COSTS, self._clock)
        self._clock_step_us = 0

    async def run(self) -> Ended:
        loop = asyncio.get_running_loop()
        for number in ENDS:
            loop.add_signal_handler(number, self._caught.append, number)
        await destroy_leftovers()
        folder = self._asked.folder
        live = register_run(f"{self._plan.profile.metadata.name}-{folder.name}", folder)
        Journal(folder, self._record()).close()
        ground = Ground(self._plan, live, self._asked.binaries, self._clock, self._asked.outside)
        with self._progress:
            try:
                stopped = await self._play(ground)
                self._enter("collect")
                record, unread = await self._collect(ground)
                stopped = stopped or unread
                ended = judged(folder, record, self._test, strict=self._asked.strict, stopped=stopped)
            except BaseException:
                await self._take_down(ground, well=False)
                raise
            self._enter("destroy")
            await self._take_down(ground, well=ended.code is Exit.PASS)
        return replace(
            ended,
            kept=tuple(ground.reached_by()) if self._asked.keep else (),
            costs=self._costs.table(),
        )

    async def _play(self, ground: Ground) -> StoppedError | None:
        """Raise the ground and follow the driver to its end; say what ended it before its time."""
        book = Book(Journal(self._asked.folder, self._record(), fresh=False), self._record(), self._clock)
        try:
            with book.phase("clusters"):
                self._enter("clusters")
                await self._while_watched(ground, self._raise(ground))
            book.journal.close()
            await self._follow(ground)
        except GroundLostError as error:
            self._lost = error
            await ground.stop_driver()
            return StoppedError(str(error), Exit.ENVIRONMENT if ground.driver is None else Exit.INCONCLUSIVE)
        except StoppedError as error:
            await ground.stop_driver()
            return error
        return None

    async def _raise(self, ground: Ground) -> None:
        names = [cluster_name(ordinal) for ordinal in range(self._plan.geometry.clusters)]
        await ground.start_prometheus()
        await ground.raise_clusters(names)
        await ground.until_scraped()

    async def _while_watched(self, ground: Ground, work: Any) -> None:
        """Wait for work, and look at signals and the ground meanwhile."""
        task = asyncio.create_task(work)
        try:
            while not task.done():
                await asyncio.sleep(_LOOK_S / 5)
                self._look(ground)
        finally:
            if not task.done():
                task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        task.result()

    async def _follow(self, ground: Ground) -> None:
        """Follow the driver: show what it tells, let controllers go when the load stands, watch the ground."""
        lines = await ground.start_driver()
        self._progress.reading = self._reading
        while True:
            try:
                line = await asyncio.wait_for(lines.readline(), _LOOK_S)
            except TimeoutError:
                line = None
            if line == b"":
                break
            if line:
                self._told = json.loads(line)
                ground.note_engine(self._told["engine_pid"])
                await self._entered(ground, self._told["phase"])
            self._look(ground)
        assert ground.driver is not None
        if (code := await ground.driver.wait()) != 0:
            tail = (self._asked.folder / "logs" / "driver.log").read_text(encoding="utf-8").splitlines()[-3:]
            raise StoppedError(f"the driver failed with {code}: {' / '.join(tail)}", Exit.BUG)

    async def _entered(self, ground: Ground, phase: str) -> None:
        if phase in {"", self._phase}:
            return
        if phase == "seed":
            ground.make_room()
        if phase == "steady":
            await ground.release_controllers()
        self._enter(phase)
        self._costs.note(phase, ground.costs())

    def _enter(self, phase: str) -> None:
        self._phase = phase
        self._progress.entered(phase, expected_s=self._expected_s(phase))

    def _expected_s(self, phase: str) -> float | None:
        """Return how long a phase takes by plan, or by what the substrate was seen to take."""
        plan, cost = self._plan, self._plan.inputs.substrate.footprint
        filling_s = cost.seed_seconds_per_thousand_pods * plan.geometry.pods / 1000
        return {
            "clusters": cost.per_cluster_seconds * plan.geometry.clusters,
            "install": cost.base_seconds,
            "seed": filling_s * _CREATING,
            "steady": filling_s * (1 - _CREATING),
            "soak": plan.profile.soak_us / US_PER_SECOND,
            "linger": plan.linger_us / US_PER_SECOND,
        }.get(phase)

    def _reading(self) -> Reading:
        return Reading(**{name: value for name, value in self._told.items() if name in Reading.__slots__})

    def _look(self, ground: Ground) -> None:
        """Show progress; raise what ends the run."""
        self._progress.tick()
        drift_us = (time.time_ns() // 1_000_000 - self._epoch_ms) * _US_PER_MS - self._clock.now_us()
        self._clock_step_us = max(self._clock_step_us, abs(drift_us))
        if self._caught:
            raise StoppedError(f"ended by {self._caught[0].name}", ENDS[self._caught[0]])
        if self._asked.timeout_s is not None and self._progress.wall_s > self._asked.timeout_s:
            raise StoppedError(f"--timeout of {self._asked.timeout_s:g} s is over", Exit.ENVIRONMENT)
        ground.check()

    async def _collect(self, ground: Ground) -> tuple[RunRecord, StoppedError | None]:
        """Read what Prometheus has stored, note what became of the ground, and seal; say if it could not be read."""
        folder, now_us = self._asked.folder, self._clock.now_us()
        record = saved_record(folder)
        journal = Journal(folder, record, fresh=False)
        # What is scraped after the last mark finds nobody at home, and says nothing about the run.
        unread = await self._read_samples(ground, journal, end_us=record.marks.linger_end_us or now_us)
        self._costs.note("end", ground.costs())
        lost = self._lost.component if self._lost else ""
        parts = tuple(
            Component(name, "substrate", died_us=now_us if name == lost else None) for name in ground.components()
        )
        return journal.seal(replace(record, components=parts, clock_step_us=self._clock_step_us)), unread

    async def _read_samples(self, ground: Ground, journal: Journal, *, end_us: int) -> StoppedError | None:
        if ground.prometheus is None or ground.prometheus.dead():
            return None
        try:
            metrics = await asyncio.to_thread(
                read_samples,
                ground.prometheus.server,
                needed_metrics(self._test) | {*_BESIDE},
                start_ms=self._epoch_ms,
                end_ms=self._epoch_ms + end_us // _US_PER_MS,
                targets=ground.prometheus.targets,
            )
            record_scrapes(journal, metrics)
            self._costs.note_lags(metrics.find(_WORST_LAG))
        except PrometheusError as error:
            return StoppedError(str(error), Exit.INCONCLUSIVE)
        return None

    async def _take_down(self, ground: Ground, *, well: bool) -> None:
        await ground.take_down(keep=self._asked.keep, logs=not well)

    def _record(self) -> RunRecord:
        fresh = record_of(self._plan, epoch_ms=self._epoch_ms, scrape_interval_us=SCRAPE_INTERVAL_US)
        return replace(
            fresh,
            without=self._asked.without,
            settings=self._asked.settings,
            versions={**fresh.versions, **self._asked.versions},
        )
