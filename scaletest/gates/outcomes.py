"""The judge's words: outcomes of gates and of runs, results and the verdict. Values only."""

from dataclasses import dataclass
from enum import StrEnum

from scaletest.evidence.reading import Defect
from scaletest.plan.gate_table import Unit
from scaletest.plan.gates import Bar, Kind

__all__ = ["Bracket", "GateResult", "Information", "Outcome", "RunOutcome", "Verdict"]


class Outcome(StrEnum):
    """What became of one gate."""

    PASS = "PASS"
    MARGINAL = "MARGINAL"
    FAIL = "FAIL"
    UNMEASURED = "UNMEASURED"
    NOT_APPLICABLE = "NOT_APPLICABLE"


class RunOutcome(StrEnum):
    """What became of the run."""

    PASS = "PASS"
    FAIL = "FAIL"
    INCONCLUSIVE = "INCONCLUSIVE"


@dataclass(frozen=True, slots=True)
class Bracket:
    """A number known to lie in [low, high]; high is None when nothing bounds it."""

    low: float
    high: float | None

    @property
    def exact(self) -> bool:
        """Say whether both edges are one."""
        return self.low == self.high


@dataclass(frozen=True, slots=True)
class GateResult:
    """One gate, evaluated."""

    name: str
    outcome: Outcome
    value: Bracket | None
    """In the unit of the bar; None when nothing was measured."""
    threshold: Bar
    comparison: str
    unit: Unit
    samples: int | None
    window: str
    source: str
    """The role and the metric or ledger that the value comes from."""
    kind: Kind
    reason: str
    """One sentence: why this outcome."""
    look_at: str = ""
    """On failure: where to look next."""
    details: tuple[tuple[str, str], ...] = ()
    """More figures for a person: the worst cluster, the tail, milestones."""
    tail: Bracket | None = None
    """Latency gates: the same quantile of the tail, which is judged beside the whole."""

    @property
    def worst(self) -> float | None:
        """Return the tightest bar that this run would have passed; None when nothing is known to be enough."""
        seen = [bracket for bracket in (self.value, self.tail) if bracket is not None]
        edges = [bracket.high if self.comparison == "<=" else bracket.low for bracket in seen]
        known = [edge for edge in edges if edge is not None]
        if not known or len(known) < len(edges):
            return None
        return max(known) if self.comparison == "<=" else min(known)

    @property
    def margin(self) -> float | None:
        """Return what is left to the bar as a share of it; negative when over. None without a numeric bar."""
        if self.value is None or isinstance(self.threshold, str) or not self.threshold:
            return None
        worst = self.value.high if self.comparison == "<=" else self.value.low
        if worst is None:
            return None
        left = self.threshold - worst if self.comparison == "<=" else worst - self.threshold
        return left / self.threshold


@dataclass(frozen=True, slots=True)
class Information:
    """A figure that gates nothing."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """The judgement of a run: a pure function of its plan and its evidence."""

    profile: str
    world: str
    plan_digest: str
    outcome: RunOutcome
    reason: str
    strict: bool
    gates: tuple[GateResult, ...]
    defects: tuple[Defect, ...]
    information: tuple[Information, ...]
    phases: tuple[tuple[str, str, str], ...]
    """Name, outcome and detail of every phase of the run."""
    exploratory: bool = False
    """Judged with parameters other than the plan's; never a pass."""
