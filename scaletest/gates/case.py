"""One case before the judge: the plan, the evidence, and the instants that both agree on."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, TypeVar

from scaletest.evidence import CycleRow, Evidence, RequestRow
from scaletest.plan.planned import PlannedTest

__all__ = ["PLANNED_CAUSES", "Case", "Span"]

PLANNED_CAUSES: Final = ("churn", "micro-burst", "lifetime")

FoundT = TypeVar("FoundT")


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of the run's clock, in microseconds; both ends count for marks, the end does not for rows."""

    start_us: int
    end_us: int

    def holds(self, instant_us: int) -> bool:
        """Say whether a row of this instant belongs to the span."""
        return self.start_us <= instant_us < self.end_us


@dataclass(frozen=True)
class Case:
    """What the judge looks at."""

    test: PlannedTest
    evidence: Evidence
    strict: bool = False
    """A quantile within its bar must also be shown with 95 % confidence."""
    _found: dict[Callable[..., Any], Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def once(self, find: Callable[["Case"], FoundT]) -> FoundT:
        """Return what a function finds in this case; many gates may ask, and it goes through the rows only once."""
        if find not in self._found:
            self._found[find] = find(self)
        found: FoundT = self._found[find]
        return found

    @property
    def started(self) -> bool:
        """Say whether the soak ever started."""
        return self.evidence.record.marks.soak_start_us is not None

    @cached_property
    def soak(self) -> Span:
        """Return the soak; a run that was cut off is judged as far as it was to go, so that nothing is left out."""
        start = self.evidence.record.marks.soak_start_us or 0
        return Span(start, start + self.test.soak_us)

    @cached_property
    def settled(self) -> Span:
        """Return the settled part of the soak."""
        return Span(self.soak.start_us + self.test.settle_us, self.soak.end_us)

    @cached_property
    def tail(self) -> Span:
        """Return the tail that latency gates look at twice."""
        return Span(self.soak.start_us + self.test.tail_us, self.soak.end_us)

    @cached_property
    def end_us(self) -> int:
        """Return the instant up to which requests were watched."""
        return self.evidence.record.marks.linger_end_us or self.soak.end_us

    def time_ms(self, instant_us: int) -> int:
        """Return a run instant as a metric timestamp, rounded up: a mark lies at or before its scrape."""
        return self.evidence.record.epoch_ms - (-instant_us // 1000)

    @cached_property
    def planned_rows(self) -> tuple[RequestRow, ...]:
        """Return every row of the soak's schedule, whatever became of it."""
        start, end = self.soak.start_us, self.soak.end_us
        rows = self.evidence.requests
        return tuple([row for row in rows if row.cause in PLANNED_CAUSES and start <= row.planned_us < end])

    @cached_property
    def samples(self) -> tuple[RequestRow, ...]:
        """Return the requests of the soak that are SLO samples: planned, sent, and not void."""
        return tuple([row for row in self.planned_rows if row.state in {"bound", "waiting"}])

    def cycles(self, span: Span) -> list[CycleRow]:
        """Return the cycles of a span, in order."""
        return sorted(row for row in self.evidence.cycles if span.holds(row.at_us))

    def role_text(self, role: str) -> str:
        """Return a role with its metric, as reports show it."""
        found = self.test.roles.get(role)
        return f"{role} ({found.metric})" if found else role
