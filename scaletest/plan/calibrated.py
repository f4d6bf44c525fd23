"""Calibrated bars at plan time: whether they hold for this test, and what to do when they do not (ADR 0040)."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from hashlib import sha256
from typing import Final

from scaletest.plan.gate_table import GATES, Unit
from scaletest.plan.gates import CALIBRATED, Gate, Kind
from scaletest.profile import Catalog, Profile
from scaletest.profile.calibration import Calibration, MadeWith

__all__ = ["calibrated_gates", "doubt_about", "inputs_digest", "is_of_this_machine", "why_not_calibratable"]

_NOT_RUN: Final = frozenset({"metadata", "random_seed", "plan_only", "slo", "proving", "calibration", "ramp_budget"})
"""What changes no run: names, bars and what is claimed of the profile."""
_OF_THE_MACHINE: Final = ("cycleDuration", "residentMemory")
"""What even the simulated world measures on the machine it runs on."""
_SLO_RULES: Final = frozenset(row.name for row in GATES)
_SHOWN: Final = 16


def inputs_digest(profile: Profile, catalog: Catalog) -> str:
    """Return a hash of all that decides how a run goes, but for its seed and the engine."""
    said = profile.model_dump_json(exclude=set(_NOT_RUN)) + profile.slo.judge + catalog.model_dump_json()
    return sha256(said.encode()).hexdigest()[:_SHOWN]


def is_of_this_machine(gate: Gate, world: str) -> bool:
    """Say whether a gate's number depends on the machine that the test runs on."""
    return world != "sim" or gate.role in _OF_THE_MACHINE


def why_not_calibratable(gate: Gate) -> str:
    """Return why no bar can be found for a gate by running; empty when one can."""
    if gate.rule not in _SLO_RULES or gate.unit is Unit.FACT:
        return "its bar is no number that a profile sets"
    if gate.kind is not Kind.MEASURED:
        return f"its number is {gate.kind} in this world"
    if gate.not_applicable:
        return gate.not_applicable
    if float(gate.threshold) == (0 if gate.comparison == "<=" else 1):
        return "its bar is as tight as can be"
    return ""


def calibrated_gates(
    gates: Iterable[Gate], calibration: Calibration | None, *, now: MadeWith, today: str, profile: str
) -> Iterator[Gate]:
    """Yield the gates, each with its calibrated one behind it; where a calibration does not hold, that one says why."""
    bars = {} if calibration is None else calibration.bars
    for gate in gates:
        yield gate
        if calibration is not None and gate.name in bars:
            share, sure = calibration.false_alarms_per_run, calibration.confidence
            doubt = doubt_about(calibration, gate, now=now, today=today)
            yield replace(
                gate,
                name=f"{gate.name}{CALIBRATED}",
                threshold=int(bars[gate.name]) if gate.unit is Unit.COUNT else bars[gate.name],
                claim=f"calibrated: {share:.2%} of runs alarm wrongly at most, {sure:.0%} sure",
                not_applicable=gate.not_applicable
                or (doubt and f"the calibration {doubt}; {_again(calibration, now, profile)}"),
            )


def _again(calibration: Calibration, now: MadeWith, profile: str) -> str:
    place = "" if now.substrate == "sim" else f" --substrate {now.substrate}"
    asked = f"--runs {calibration.runs.count} --false-alarms {calibration.false_alarms_per_run:g}"
    return f"make it again: scaletest calibrate {profile} {asked} --gates {','.join(calibration.bars)}{place} --write"


def doubt_about(calibration: Calibration, gate: Gate, *, now: MadeWith, today: str) -> str:
    """Return why a calibration does not hold here; empty when it does."""
    made = calibration.made_with
    if today > calibration.expires:
        return f"expired on {calibration.expires}"
    if made.substrate != now.substrate:
        return f"is of substrate {made.substrate}, and this is {now.substrate}"
    if made.engine != now.engine:
        return f"is of engine {made.engine}, and this is {now.engine}"
    if made.engine_version != now.engine_version:
        return f"is of version {made.engine_version or '(none)'} of the engine, and this is {now.engine_version}"
    if made.inputs != now.inputs:
        return "is of another test: profile or catalog have changed since"
    if made.host_class != now.host_class and is_of_this_machine(gate, now.substrate):
        return f"is of another class of machine ({made.host_class}), and this is {now.host_class}"
    return ""
