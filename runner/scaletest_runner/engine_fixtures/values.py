"""What a fixture file says, as typed values. Every part knows its line, so that a failure can point at it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from scaletest.engine.decide import Settings
from scaletest.model import Machine, Need

__all__ = ["Case", "ChoiceCase", "Dwell", "Expected", "Fixture", "RollupCase", "Step", "Variant"]


@dataclass(frozen=True, slots=True)
class Expected:
    """What must hold after a step; None means that the step says nothing about it."""

    line: int
    domains: Mapping[str, str | None] | None = None
    rules: Mapping[str, str] | None = None
    actions: Mapping[str, tuple[str, ...] | int] | None = None
    total: Mapping[str, int] | None = None
    claimed: Mapping[str, tuple[str, ...]] | None = None
    short: tuple[str, ...] | None = None
    parked: tuple[str, ...] | None = None
    refused: Mapping[str, int] | None = None
    folded: int | None = None
    configured: int | None = None
    displacements: int | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """What changes before a cycle, how often the cycle is repeated, and what is expected of it."""

    line: int
    add: tuple[Machine, ...] = ()
    remove: tuple[str, ...] = ()
    needs: Mapping[str, Need | None] = field(default_factory=dict)
    heard: tuple[str, ...] | None = None
    repeat: int = 1
    expected: Expected | None = None


@dataclass(frozen=True, slots=True)
class Variant:
    """One way to play a case: the complete engine, or one without some rules."""

    line: int
    without: tuple[str, ...]
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Dwell:
    """How many cycles each transition takes; 0 is done before the next cycle."""

    create: int = 0
    configure: int = 0
    drain: int = 0
    delete: int = 0


@dataclass(frozen=True, slots=True)
class Case:
    """A fleet, demand, and what happens."""

    name: str
    about: str
    line: int
    machines: tuple[Machine, ...]
    needs: Mapping[str, Need]
    heard: tuple[str, ...]
    settings: Settings
    dwell: Dwell
    variants: tuple[Variant, ...]


@dataclass(frozen=True, slots=True)
class ChoiceCase:
    """One domain choice on bare numbers: (machines, total, creditable, own) per domain."""

    name: str
    line: int
    deficit: tuple[int, ...]
    buckets: Mapping[str, tuple[int, tuple[int, ...], tuple[int, ...], tuple[int, ...]]]
    winner: str
    rule: str
    without: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RollupCase:
    """Roll-ups of one cluster by their number of rows, and which of them are believed."""

    name: str
    line: int
    guarded: bool
    rows: tuple[int, ...]
    accepted: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class Fixture:
    """One file."""

    path: str
    cases: tuple[Case, ...]
    choices: tuple[ChoiceCase, ...]
    rollups: tuple[RollupCase, ...]
