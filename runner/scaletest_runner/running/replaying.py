"""A run repeated from its own folder: the whole of it on virtual time, or only its decisions."""

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from rich.text import Text

from scaletest.engine.decide import Decisions
from scaletest.engine.facts import CycleInputs
from scaletest.engine.reference import settings_without
from scaletest.engine.saved import read_cycles, replayed
from scaletest.evidence.reading import read_decisions
from scaletest.evidence.record import RunRecord
from scaletest.plan.plan import Plan
from scaletest.plan.preflight import preflight
from scaletest.profile import Problem, ProfileError
from scaletest_runner.exits import Exit
from scaletest_runner.inputs import saved_inputs
from scaletest_runner.judging import saved_record
from scaletest_runner.running.run import run_plan
from scaletest_runner.terminal import out, warn

__all__ = ["decided_again", "replay_cycles", "replay_run"]


def replay_run(folder: Path) -> Exit:
    """Run the folder's own inputs again and compare the evidence, file by file."""
    record = _simulated(folder)
    plan = Plan(saved_inputs(folder, record))
    with tempfile.TemporaryDirectory() as again:
        ended = run_plan(
            plan,
            preflight(plan),
            folder=Path(again),
            engine=settings_without(record.without),
            without=record.without,
            settings=record.settings,
            console=warn(),
        )
    return _compare(record, ended.record)


def _compare(first: RunRecord, second: RunRecord) -> Exit:
    console = out()
    console.print(Text(f"first   {first.fingerprint}\nreplay  {second.fingerprint}"))
    if first.fingerprint == second.fingerprint:
        console.print(Text("the same evidence, to the last byte", style="green"))
        return Exit.PASS
    if first.plan_digest != second.plan_digest:
        console.print(Text("the plan itself differs: another version of scaletest, or changed inputs", style="red"))
    for name in sorted(first.hashes):
        if name.endswith(".gz") and first.hashes[name] != second.hashes.get(name) and not name.startswith("measured."):
            console.print(Text(f"evidence/{name} differs", style="red"))
    return Exit.INCONCLUSIVE


def replay_cycles(folder: Path) -> Exit:
    """Decide every saved cycle again and compare the actions."""
    cycles = wrong = 0
    for cycle, decisions in decided_again(folder):
        cycles += 1
        if cycle.actions != decisions.actions:
            wrong += 1
            sys.stdout.write(f"cycle {cycle.cycle} decides something else now\n")
    out().print(Text(f"{cycles:,} cycles decided again, {wrong:,} of them differently"))
    return Exit.INCONCLUSIVE if wrong or not cycles else Exit.PASS


def decided_again(folder: Path) -> Iterator[tuple[CycleInputs, Decisions]]:
    """Yield every saved cycle with what the same rules decide on it now."""
    record = _simulated(folder)
    settings = settings_without(record.without)
    cycles = read_cycles(read_decisions(folder, record))
    return replayed(cycles, rules=settings.rules, settings=settings.decide)


def _simulated(folder: Path) -> RunRecord:
    record = saved_record(folder)
    if record.world != "sim" or not record.sealed:
        message = "this run cannot be repeated: it is not a finished run of the simulated world"
        raise ProfileError([Problem(str(folder), 0, 0, "", message, "only virtual time repeats itself")])
    return record
