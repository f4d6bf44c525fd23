"""Bars from runs, for a stated share of false alarms per run; exact, however the gates of a run hang together.

Runs are cut off one by one, each the worst of those left by one gate, the gates taking turns; a gate's bar is the value
of the last run that it cut off. What lies within all bars then holds a share of all runs that is known without
knowing how the values are distributed (statistically equivalent blocks, ADR 0040).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from math import ceil, inf
from statistics import median
from typing import Final, Self

from scaletest.gates.outcomes import Outcome, RunOutcome
from scaletest.gates.trials import Trial
from scaletest.plan.claims import allowed_over
from scaletest.plan.gate_table import Unit
from scaletest.plan.gates import Gate

__all__ = [
    "CONFIDENCE",
    "Proposed",
    "Support",
    "cut_points",
    "cuts_allowed",
    "measured_gates",
    "proposed_bars",
    "trouble_of",
    "written_bar",
]

CONFIDENCE: Final = 0.95
_DIGITS: Final = 2
_LEAST_SECONDS: Final = 0.001
_MOST_RUNS: Final = 1 << 40


def cuts_allowed(runs: int, rate: float) -> int:
    """Return how many runs may be cut off so that, 95 % sure, at most this share of all runs lies beyond the cuts."""
    allowed = allowed_over(runs, 1 - rate)
    return 0 if allowed is None else allowed + 1


@dataclass(frozen=True, slots=True)
class Support:
    """What a number of runs can show for a number of cuts: one for every gate, and one for every run that was bad."""

    runs: int
    cuts: int
    rate: float

    @property
    def enough(self) -> bool:
        """Say whether the rate is shown."""
        return cuts_allowed(self.runs, self.rate) >= self.cuts

    @property
    def runs_needed(self) -> int:
        """Return the fewest runs that show the rate."""
        low, high = 0, 1
        while cuts_allowed(high, self.rate) < self.cuts and high < _MOST_RUNS:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if cuts_allowed(middle, self.rate) >= self.cuts else (middle, high)
        return high

    @property
    def rate_shown(self) -> float | None:
        """Return the lowest rate that these runs show, rounded up; None when they show nothing."""
        low, high = 0.0, 1 - 1e-9
        if cuts_allowed(self.runs, high) < self.cuts:
            return None
        while high - low > 1e-6:
            middle = (low + high) / 2
            low, high = (low, middle) if cuts_allowed(self.runs, middle) >= self.cuts else (middle, high)
        rounded = float(_up(Decimal(repr(high))))
        return rounded if rounded < 1 else None


def cut_points(runs: Sequence[Sequence[float]], cuts: int) -> tuple[float, ...]:
    """Cut off so many runs, each the worst of those left by the next column in turn, and return where each column cut.

    Of equal runs the first goes first: their order must not depend on what was observed.
    """
    left, columns = list(runs), len(runs[0])
    points = [inf] * columns
    for turn in range(cuts):
        column = turn % columns
        worst = max(range(len(left)), key=lambda place: left[place][column])
        points[column] = left.pop(worst)[column]
    return tuple(points)


@dataclass(frozen=True, slots=True)
class Proposed:
    """One gate: what was observed, and the bar that follows."""

    gate: Gate
    lowest: float
    median: float
    highest: float
    measured: int
    """Runs in which there was something to measure."""
    bar: float

    @classmethod
    def of(cls, gate: Gate, values: Sequence[float], cut: float) -> Self:
        """Return the proposal for a gate whose badness was cut at this point."""
        sign = _sign(gate)
        known = [sign * value for value in values if value > -inf]
        worst = cut if cut > -inf else sign * (max(known) if sign > 0 else min(known))
        return cls(gate, min(known), median(known), max(known), len(known), written_bar(sign * worst, gate))

    @property
    def margin(self) -> float | None:
        """Return what the run in the middle leaves to the bar, as a share of it."""
        return _sign(self.gate) * (self.bar - self.median) / self.bar if self.bar else None


def measured_gates(trials: Sequence[Trial], gates: Sequence[Gate]) -> tuple[Gate, ...]:
    """Return the gates that had something to measure in any of these runs."""
    return tuple(gate for gate in gates if any(_badness(trial, gate) > -inf for trial in trials))


def proposed_bars(trials: Sequence[Trial], gates: Sequence[Gate], cuts: int) -> tuple[Proposed, ...]:
    """Return a bar for every gate from runs without trouble, with so many of them cut off."""
    rows = [[_badness(trial, gate) for gate in gates] for trial in trials]
    points = cut_points(rows, cuts)
    columns = zip(*rows, strict=True)
    return tuple(Proposed.of(*each) for each in zip(gates, columns, points, strict=True))


def trouble_of(trial: Trial, gates: Sequence[Gate]) -> str:
    """Return why no bar may come from a run: it did not pass, or a gate's number is not known."""
    if trial.outcome != RunOutcome.PASS:
        return f"{trial.outcome}: {trial.reason}"
    for gate in gates:
        seen = trial.gate(gate.name)
        if seen is None or (seen.worst is None and seen.outcome != Outcome.NOT_APPLICABLE):
            return f"{gate.name} was not measured"
    return ""


def _badness(trial: Trial, gate: Gate) -> float:
    """Return the tightest bar that a run would have passed, greater when worse; a gate without events never alarms."""
    seen = trial.gate(gate.name)
    return -inf if seen is None or seen.worst is None else _sign(gate) * seen.worst


def _sign(gate: Gate) -> int:
    return 1 if gate.comparison == "<=" else -1


def written_bar(value: float, gate: Gate) -> float:
    """Return a bar that lets this value pass, as a person would write it: whole counts, two digits of anything else."""
    if gate.unit is Unit.COUNT:
        return max(0, ceil(value))
    if gate.comparison == ">=":
        return float(1 - _up(1 - Decimal(repr(value))))
    return max(_LEAST_SECONDS if gate.unit is Unit.SECONDS else 0.0, float(_up(Decimal(repr(value)))))


def _up(value: Decimal) -> Decimal:
    """Round up to two digits; never below the value, and never below nothing."""
    if value <= 0:
        return Decimal(0)
    step = value.adjusted() - _DIGITS + 1
    return value.scaleb(-step).to_integral_value(ROUND_CEILING).scaleb(step)
