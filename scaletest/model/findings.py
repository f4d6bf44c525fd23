"""What a check found before anything started: a value with a severity, never an exception."""

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["Finding", "Severity"]


class Severity(StrEnum):
    """How much a finding matters: a refusal stops the run, a warning and a note are printed."""

    REFUSE = "refuse"
    WARN = "warn"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding: which check, about what, what is the matter and what to do about it."""

    severity: Severity
    check: str
    subject: str
    message: str

    def __str__(self) -> str:
        return f"{self.subject}: {self.message}"
