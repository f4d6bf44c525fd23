"""What is kept of a run that is one of many: its verdict, gate by gate, in a few words."""

from dataclasses import dataclass
from typing import NamedTuple

__all__ = ["GateSeen", "Trial"]


class GateSeen(NamedTuple):
    """One gate of one run."""

    name: str
    outcome: str
    value: float | None
    """What was observed, its worse edge; None where nothing was measured, or where nothing bounds it."""
    bar: str
    worst: float | None = None
    """The tightest bar that the run would have passed; for a latency, its tail counts too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One run of many; small, because it travels between processes."""

    seed: int
    outcome: str
    """The run's outcome; REFUSED when preflight let nothing start."""
    reason: str
    gates: tuple[GateSeen, ...] = ()

    def gate(self, name: str) -> GateSeen | None:
        """Return one gate, or None when the run was not judged by it."""
        return next((gate for gate in self.gates if gate.name == name), None)
