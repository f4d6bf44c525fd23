"""Whole runs of the simulated world, for tests: in this process, with invariants looked at every virtual second."""

import asyncio
import io
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from scaletest.engine.reference import settings_without
from scaletest.evidence.record import RunRecord
from scaletest.gates.outcomes import Verdict
from scaletest.plan.plan import Plan
from scaletest.plan.preflight import preflight
from scaletest_runner.inputs import load_inputs
from scaletest_runner.running.run import run_plan
from scaletest_runner.running.simulated import SimulatedStage

__all__ = ["Played", "play_profile"]


@dataclass(frozen=True)
class Played:
    """A run that was played."""

    folder: Path
    verdict: Verdict
    record: RunRecord
    checks: int
    """How often the invariants were looked at."""


def play_profile(
    folder: Path,
    profile: str = "smoke",
    *,
    seed: int = 1,
    without: tuple[str, ...] = (),
    settings: tuple[str, ...] = (),
) -> Played:
    """Run a profile and look at the world's invariants every virtual second of it."""
    loaded = load_inputs(profile, substrate="sim", engine=None, seed=seed, settings=settings)
    loaded.save(folder / "inputs")
    plan = Plan(loaded.inputs)
    checks = 0

    async def watch(stage: SimulatedStage) -> None:
        nonlocal checks
        while True:
            await asyncio.sleep(1)
            stage.check()
            checks += 1

    ended = run_plan(
        plan,
        preflight(plan),
        folder=folder,
        engine=settings_without(without),
        without=without,
        settings=settings,
        console=Console(file=io.StringIO()),
        beside=watch,
    )
    return Played(folder, ended.verdict, ended.record, checks)
