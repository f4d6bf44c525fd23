"""One run from plan to verdict. Whatever happens on the way, what was observed is sealed before anybody judges it."""

import gc
import platform
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from signal import Signals
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from scaletest.engine.reference import EngineSettings
from scaletest.evidence import Journal, RunRecord, read_evidence
from scaletest.gates.judge import judge, needed_metrics
from scaletest.gates.outcomes import Verdict
from scaletest.model.findings import Finding
from scaletest.plan.document import plan_document
from scaletest.plan.plan import Plan
from scaletest.plan.planned import PlannedTest, planned_test
from scaletest.ports.crew import Crew
from scaletest.report.canonical import canonical_text
from scaletest.world.sim.loop import StalledError, VirtualLoop
from scaletest_runner.exits import Exit
from scaletest_runner.judging import exit_of, write_reports
from scaletest_runner.running.bars import edges_by_metric
from scaletest_runner.running.memory import give_back
from scaletest_runner.running.phases import play
from scaletest_runner.running.progress import Progress, Reading
from scaletest_runner.running.scraper import SCRAPE_INTERVAL_US
from scaletest_runner.running.simulated import EPOCH_MS, SimulatedStage
from scaletest_runner.signals import ENDS, caught_signals

__all__ = ["Ended", "StoppedError", "fresh_folder", "judged", "record_of", "run_plan", "title_of", "write_plan"]

_COLLECT_EVERY: Final = 1_000_000

Beside = Callable[[SimulatedStage], Coroutine[Any, Any, None]]


class StoppedError(Exception):
    """The run was ended from outside: by a signal, or because its time was up."""

    def __init__(self, reason: str, code: Exit) -> None:
        super().__init__(reason)
        self.code = code


@dataclass(frozen=True, slots=True)
class Ended:
    """A run that was judged, and how its command should end."""

    folder: Path
    record: RunRecord
    verdict: Verdict
    code: Exit
    note: str = ""
    """Why it ended before its time, if it did."""
    kept: tuple[str, ...] = ()
    """How to reach what was left standing."""
    costs: Table | None = None
    """What the processes of a run on real clusters cost."""


def run_plan(
    plan: Plan,
    findings: tuple[Finding, ...],
    *,
    folder: Path,
    engine: EngineSettings,
    without: tuple[str, ...] = (),
    settings: tuple[str, ...] = (),
    strict: bool = False,
    timeout_s: float | None = None,
    console: Console,
    beside: Beside | None = None,
) -> Ended:
    """Run a plan in the simulated world, judge it and write its reports. `beside` is work that goes on meanwhile."""
    test = write_plan(plan, findings, folder)
    record = replace(
        record_of(plan, epoch_ms=EPOCH_MS, scrape_interval_us=SCRAPE_INTERVAL_US), without=without, settings=settings
    )
    record, stopped = _played(plan, test, record, folder, engine, timeout_s=timeout_s, console=console, beside=beside)
    return judged(folder, record, test, strict=strict, stopped=stopped)


def _played(
    plan: Plan,
    test: PlannedTest,
    record: RunRecord,
    folder: Path,
    engine: EngineSettings,
    *,
    timeout_s: float | None,
    console: Console,
    beside: Beside | None,
) -> tuple[RunRecord, StoppedError | None]:
    """Play a plan in the simulated world and seal what was observed; the world ends with this call."""
    loop = VirtualLoop(hook=lambda _: hook())
    progress = Progress(console, title_of(plan), now_us=loop.now_us)
    with Journal(folder, record) as journal, caught_signals() as caught, _seldom_collected(), progress:
        simulated = SimulatedStage(
            plan, loop=loop, journal=journal, record=record, settings=engine, edges=edges_by_metric(test)
        )
        progress.reading = lambda: Reading.of(simulated.stage)

        def hook() -> None:
            progress.tick()
            _stop_if_asked(caught, progress, timeout_s)

        stopped = _play(loop, simulated, progress.entered, beside)
        simulated.close()
        return simulated.book.seal(), stopped


def write_plan(plan: Plan, findings: tuple[Finding, ...], folder: Path) -> PlannedTest:
    """Write the plan into a run's folder, and return it as a judge will read it."""
    folder.mkdir(parents=True, exist_ok=True)
    text = canonical_text(plan_document(plan, findings))
    (folder / "plan.json").write_text(text, encoding="utf-8", newline="\n")
    return planned_test(text)


def judged(folder: Path, record: RunRecord, test: PlannedTest, *, strict: bool, stopped: StoppedError | None) -> Ended:
    """Judge what was sealed and write the reports; a run that was ended from outside keeps its own exit code."""
    give_back()  # what played the run is not needed any more, and the rows take as much room again
    with _seldom_collected():
        verdict = judge(test, read_evidence(folder, record, keep=needed_metrics(test)), strict=strict)
    write_reports(folder, verdict, record)
    if stopped is not None:
        return Ended(folder, record, verdict, stopped.code, str(stopped))
    return Ended(folder, record, verdict, exit_of(verdict))


def title_of(plan: Plan) -> str:
    """Return what a run is called while it runs."""
    return f"{plan.profile.metadata.name} seed {plan.inputs.random_seed}"


def _play(
    loop: VirtualLoop, simulated: SimulatedStage, entered: Callable[[str], None], beside: Beside | None
) -> StoppedError | None:
    """Play the phases; a world that cannot go on and a signal end them, and leave what was observed."""

    async def main() -> None:
        crew = Crew()
        if beside is not None:
            crew.start(beside(simulated), name="beside")
        await play(simulated.stage, entered=entered)
        await crew.stop()

    try:
        loop.run_until_complete(main())
    except StalledError as error:
        simulated.book.break_off("failed", str(error))
    except StoppedError as error:
        simulated.book.break_off("interrupted", str(error))
        return error
    finally:
        loop.close()
    return None


@contextmanager
def _seldom_collected() -> Iterator[None]:
    """Collect garbage seldom: runs and judges make hardly any cycles, and looking for them takes a fifth of a run."""
    before = gc.get_threshold()
    gc.set_threshold(_COLLECT_EVERY, 10, 10)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


def _stop_if_asked(caught: list[Signals], progress: Progress, timeout_s: float | None) -> None:
    if caught:
        raise StoppedError(f"ended by {caught[0].name}", ENDS[caught[0]])
    if timeout_s is not None and progress.wall_s > timeout_s:
        raise StoppedError(f"--timeout of {timeout_s:g} s is over", Exit.ENVIRONMENT)


def record_of(plan: Plan, *, epoch_ms: int, scrape_interval_us: int) -> RunRecord:
    """Return the record of a run that is about to begin."""
    return RunRecord(
        profile=plan.profile.metadata.name,
        world=plan.inputs.substrate.world,
        random_seed=plan.inputs.random_seed,
        plan_digest=plan.digest,
        epoch_ms=epoch_ms,
        scrape_interval_us=scrape_interval_us,
        targets=("engine", "driver"),
        versions={"scaletest": version("scaletest"), "python": platform.python_version()},
        host={"machine": platform.machine(), "system": platform.system(), "started": _stamp()},
        argv=tuple(sys.argv[1:]),
    )


def _stamp() -> str:
    return datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")


def fresh_folder(base: Path, profile: str, seed: int) -> Path:
    """Return a folder for a new run that is nobody else's."""
    stem = f"{_stamp()}-{seed}"
    for suffix in ("", *(f"-{n}" for n in range(2, 1000))):
        folder = base / profile / f"{stem}{suffix}"
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            continue
        return folder
    raise FileExistsError(f"too many runs of this second in {base / profile}")
