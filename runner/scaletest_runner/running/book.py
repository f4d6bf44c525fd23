"""The run's book: evidence as it comes in, and run.json renewed whenever a phase begins or ends."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from scaletest.evidence import Journal, Marks, Phase, RunRecord
from scaletest.model import seconds_text
from scaletest.ports.clock import Clock

__all__ = ["Book", "PhaseFailedError"]


class PhaseFailedError(Exception):
    """A phase did not come to its end; the sentence says why. What was observed until then is kept and judged."""


class Book:
    """Journal and record of one run."""

    def __init__(self, journal: Journal, record: RunRecord, clock: Clock) -> None:
        self.journal = journal
        self.record = record
        self._clock = clock

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Keep the record of one phase, however it ends."""
        start_us = self._clock.now_us()
        self._note(Phase(name, start_us, None, "failed", "it did not come to its end"))
        try:
            yield
        except PhaseFailedError as error:
            self._note(Phase(name, start_us, self._clock.now_us(), "failed", str(error)))
            raise
        except TimeoutError as error:
            detail = f"over its deadline at {seconds_text(self._clock.now_us())} s"
            self._note(Phase(name, start_us, self._clock.now_us(), "failed", detail))
            raise PhaseFailedError(f"{name} was {detail}") from error
        self._note(Phase(name, start_us, self._clock.now_us(), "ok"))

    def break_off(self, outcome: str, detail: str) -> None:
        """Note that the phase under way was ended from outside, as `interrupted` or `failed`."""
        now_us = self._clock.now_us()
        *before, last = self.record.phases or (Phase("install", now_us, None, outcome),)
        self._keep(phases=(*before, replace(last, end_us=now_us, outcome=outcome, detail=detail)))

    def mark(self, **marks: int) -> None:
        """Note instants of the run."""
        self._keep(marks=replace(self.record.marks, **marks))

    def note(self, **values: object) -> None:
        """Note other facts of the record."""
        self._keep(**values)

    @property
    def marks(self) -> Marks:
        """Return the instants noted so far."""
        return self.record.marks

    def seal(self) -> RunRecord:
        """Seal the evidence."""
        self.record = self.journal.seal(self.record)
        return self.record

    def _note(self, phase: Phase) -> None:
        others = tuple(each for each in self.record.phases if each.name != phase.name)
        self._keep(phases=(*others, phase))

    def _keep(self, **values: object) -> None:
        self.record = replace(self.record, **values)  # type: ignore[arg-type]  # callers name fields of RunRecord
        self.journal.record(self.record)
