"""A profile calibrated: many seeds run, bars proposed for a stated share of false alarms, and written if asked to."""

import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from difflib import get_close_matches
from hashlib import sha256
from pathlib import Path

from scaletest.gates.calibrating import (
    CONFIDENCE,
    Proposed,
    Support,
    cuts_allowed,
    measured_gates,
    proposed_bars,
    trouble_of,
)
from scaletest.gates.outcomes import RunOutcome
from scaletest.plan.calibrated import inputs_digest, is_of_this_machine, why_not_calibratable
from scaletest.plan.gates import Gate
from scaletest.plan.plan import Plan
from scaletest.profile import Problem, ProfileError, file_text, read_profile
from scaletest.profile.calibration import Calibration, CalibrationRuns
from scaletest.profile.calibration_text import calibration_text, with_calibration
from scaletest_runner.calibration_view import show_calibration, show_shortage, show_troubles
from scaletest_runner.exits import Exit
from scaletest_runner.locations import profile_path
from scaletest_runner.running.requested import Requested, looked_over, run_quietly
from scaletest_runner.running.run import StoppedError
from scaletest_runner.running.sweep import SweptRun, swept
from scaletest_runner.signals import ENDS
from scaletest_runner.terminal import out, warn

__all__ = ["Asked", "calibrate_profile"]


@dataclass(frozen=True, slots=True)
class Asked:
    """What a person typed."""

    profile: str
    runs: int
    first_seed: int
    rate: float
    gates: tuple[str, ...]
    substrate: str
    write: bool
    expires_days: int
    jobs: int
    base: Path

    @property
    def seeds(self) -> range:
        """Return the seeds to run."""
        return range(self.first_seed, self.first_seed + self.runs)

    def requested(self) -> Requested:
        """Return the run that is made on every seed."""
        return Requested(
            profile=self.profile,
            seed=None,
            substrate=self.substrate,
            engine=None,
            without=(),
            settings=(),
            base=self.base,
            strict=False,
            timeout_s=None,
            uncalibrated=True,
        )


def calibrate_profile(asked: Asked) -> Exit:
    """Run, propose, show, and write if asked to. Whatever is in doubt ends without a proposal."""
    requested = asked.requested()
    loaded = requested.load()
    for problem in loaded.warnings:
        sys.stderr.write(f"{problem}\n")
    plan = Plan(loaded.inputs)
    if looked_over(plan) is None:
        return Exit.REFUSED
    gates = _chosen(plan, asked.gates)
    _affordable(asked, len(gates))
    try:
        runs = _made(asked, requested, jobs=asked.jobs if plan.inputs.substrate.world == "sim" else 1)
    except StoppedError as end:
        out().print(f"{end}: nothing was calibrated", style="bold magenta")
        return end.code
    troubles = {run.seed: why for run in runs if (why := trouble_of(run, gates))}
    show_troubles(runs, troubles, requested.command)
    sound = [run for run in runs if run.seed not in troubles]
    measured = measured_gates(sound, gates)
    support = Support(len(runs), len(measured) + len(troubles), asked.rate)
    if not measured or not support.enough:
        show_shortage(support, gates=len(measured), troubles=len(troubles))
        return Exit.INCONCLUSIVE
    proposed = proposed_bars(sound, measured, cuts_allowed(len(runs), asked.rate) - len(troubles))
    calibration = _calibration(asked, plan, runs, len(troubles), proposed)
    show_calibration(proposed, calibration, unmeasured=[gate.name for gate in gates if gate not in measured])
    if asked.write:
        path = _written(asked, plan, calibration)
        out().print(f"\nWritten into {path}")
    else:
        out().print(f"\n{calibration_text(calibration)}", markup=False)
    return Exit.PASS


def _chosen(plan: Plan, names: Sequence[str]) -> tuple[Gate, ...]:
    """Return the gates to calibrate: those that were named, or those that the profile sets and can have a bar."""
    known = {gate.name: gate for gate in plan.gates}
    if not names:
        world, given = plan.inputs.substrate.world, plan.profile.slo.model_dump(by_alias=True, exclude_unset=True)
        free = [gate for name, gate in known.items() if name in given and not why_not_calibratable(gate)]
        chosen = tuple(gate for gate in free if world != "sim" or not is_of_this_machine(gate, world))
        if not chosen:
            raise _usage("PROFILE", "it sets no gate that can be calibrated here", "set bars under slo, or use --gates")
        return chosen
    for name in names:
        if name not in known:
            near = get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]}?" if near else f"it has {', '.join(known)}"
            raise _usage("--gates", f"{name} is no gate of this profile", hint)
        if why := why_not_calibratable(known[name]):
            raise _usage("--gates", f"{name} cannot be calibrated: {why}", "leave it out")
    return tuple(known[name] for name in dict.fromkeys(names))


def _affordable(asked: Asked, gates: int) -> None:
    """Refuse beforehand what so many runs could not show however they come out."""
    if not 0 < asked.rate < 1:
        raise _usage("--false-alarms", f"{asked.rate:g} is no share of runs", "write a number like 0.01")
    support = Support(asked.runs, gates, asked.rate)
    if not support.enough:
        shown = support.rate_shown
        other = f", or --false-alarms {shown:g}, which {asked.runs:,} runs can show" if shown else ""
        message = f"{asked.runs:,} runs cannot show {asked.rate:.3g} false alarms a run for {gates} gates"
        raise _usage("--runs", message, f"use --runs {support.runs_needed}{other}, or fewer --gates")


def _usage(option: str, message: str, hint: str) -> ProfileError:
    return ProfileError([Problem(option, 0, 0, "", message, hint)])


def _made(asked: Asked, requested: Requested, *, jobs: int) -> list[SweptRun]:
    """Run every seed; raise StoppedError when somebody asks for an end."""
    runs: list[SweptRun] = []
    with warn().status("running") as status:
        for run in swept(_run_once, [replace(requested, seed=seed) for seed in asked.seeds], jobs=jobs):
            if run.code in ENDS.values():
                raise StoppedError("a run was ended from outside", run.code)
            runs.append(run)
            failed = sum(each.outcome != RunOutcome.PASS for each in runs)
            status.update(f"{len(runs):,} of {asked.runs:,} runs, {failed:,} did not pass")
    return sorted(runs, key=lambda run: run.seed)


def _run_once(requested: Requested) -> SweptRun:
    """Run one seed; a run that passed is not kept, because its seed repeats it."""
    run = run_quietly(requested)
    if run.folder and run.outcome == RunOutcome.PASS:
        shutil.rmtree(run.folder, ignore_errors=True)
    return run


def _calibration(
    asked: Asked, plan: Plan, runs: Sequence[SweptRun], not_passed: int, proposed: Sequence[Proposed]
) -> Calibration:
    prints = "\n".join(run.fingerprint for run in runs)
    made_on = date.fromisoformat(plan.inputs.today)
    return Calibration(
        bars={each.gate.name: each.bar for each in proposed},
        falseAlarmsPerRun=asked.rate,
        confidence=CONFIDENCE,
        runs=CalibrationRuns(
            firstSeed=asked.first_seed,
            count=len(runs),
            notPassed=not_passed,
            fingerprints=sha256(prints.encode()).hexdigest()[:16],
        ),
        madeWith=plan.circumstances,
        madeOn=made_on.isoformat(),
        expires=(made_on + timedelta(days=asked.expires_days)).isoformat(),
    )


def _written(asked: Asked, plan: Plan, calibration: Calibration) -> Path:
    """Put the calibration into the file as it is now; it may have been changed while the runs were made."""
    path = profile_path(asked.profile)
    text = file_text(path)
    now = read_profile(text, str(path)).value
    if inputs_digest(now, plan.inputs.catalog) != calibration.made_with.inputs:
        message = "nothing was written: the profile was changed while the runs were made"
        raise ProfileError([Problem(str(path), 0, 0, "", message, "calibrate it as it is now")])
    _replace_text(path, with_calibration(text, str(path), calibration))
    return path


def _replace_text(path: Path, text: str) -> None:
    """Exchange a file's text at once: whoever reads it meanwhile sees the old or the new one."""
    target = path.resolve()
    beside = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        beside.write_bytes(text.encode())
        shutil.copymode(target, beside)
        beside.replace(target)
    except OSError as error:
        beside.unlink(missing_ok=True)
        hint = "print the block without --write, and put it in by hand"
        raise ProfileError([Problem(str(path), 0, 0, "", f"nothing was written: {error}", hint)]) from error
