"""Bars that were found by running: what `scaletest calibrate` writes, and all that says how far they can be trusted."""

from typing import Annotated

from pydantic import Field

from scaletest.profile.blocks import Block, Count, Name, PositiveCount
from scaletest.profile.spellings import DATE, DIGEST

__all__ = ["Calibration", "CalibrationRuns", "MadeWith"]

_Date = Annotated[str, Field(pattern=DATE)]
_Digest = Annotated[str, Field(pattern=DIGEST)]
_Chance = Annotated[float, Field(gt=0, lt=1)]
_Bar = Annotated[float, Field(ge=0, le=10**9)]
_Words = Annotated[str, Field(max_length=200)]


class CalibrationRuns(Block):
    """The runs that the bars come from: seeds repeat them, the digest tells whether they came out the same."""

    first_seed: Count
    """Seed of the first run; the others follow one by one."""
    count: PositiveCount
    """Runs that were made."""
    not_passed: Count = 0
    """Runs that did not pass; each counts as a false alarm."""
    fingerprints: _Digest
    """Digest of the fingerprints of all runs, in the order of their seeds."""


class MadeWith(Block):
    """What the bars hold for: where one of these differs, they say nothing."""

    inputs: _Digest
    """Digest of all that decides how a run goes: profile without its bars, and catalog."""
    engine: Name
    """Engine under test."""
    engine_version: _Words = ""
    """Its version, as the manifest has it."""
    substrate: Name
    """World of the runs."""
    host_class: _Words
    """Cores, memory and Python of the machine; it matters for gates that measure this machine."""


class Calibration(Block):
    """Bars beside those of the slo block; written by `scaletest calibrate --write`."""

    bars: Annotated[dict[str, _Bar], Field(min_length=1)]
    """Bars by the name of their gate under slo."""
    false_alarms_per_run: _Chance
    """Share of runs of the same engine that fail one of these gates, at most."""
    confidence: _Chance
    """How sure that is."""
    runs: CalibrationRuns
    """The runs that the bars come from."""
    made_with: MadeWith
    """What the bars hold for."""
    made_on: _Date
    """Day of the calibration."""
    expires: _Date
    """Last day on which the bars are applied."""
