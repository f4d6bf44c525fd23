"""What goes into a cycle and what comes out: demand, settings, memory, rows, outcomes, actions, refusals."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Final, NamedTuple

from scaletest.model import US_PER_SECOND, CapacityType, Need, Resources

__all__ = [
    "DEFAULT_HOLDS_US",
    "NO_MEMORY",
    "NO_RAILS",
    "Action",
    "Choice",
    "ClassKey",
    "Decisions",
    "Demand",
    "Kind",
    "Memory",
    "NeedRef",
    "Outcome",
    "Refusal",
    "Row",
    "Rule",
    "Settings",
    "Shortfall",
    "ref_of",
]


class Rule(StrEnum):
    """The rule that settled a domain choice: the first of the order that left one domain standing."""

    NO_SUPPLY = "none"
    ONLY = "only"
    SATISFIABLE = "1"
    CREDITABLE = "2"
    OWN = "2b"
    TIGHTEST = "2x"
    LEAST_OVERCOMMITTED = "3"
    MOST_COVERING = "4"
    STICKY = "5"
    COUNT = "6"
    VALUE = "7"

    @property
    def sentence(self) -> str:
        """Return the rule as a person would say it."""
        return _SENTENCES[self]


_SENTENCES: Final = MappingProxyType(
    {
        Rule.NO_SUPPLY: "no domain holds a machine that matches",
        Rule.ONLY: "it is the only domain with supply",
        Rule.SATISFIABLE: "it can hold the whole gang",
        Rule.CREDITABLE: "it holds most of what the cluster already has bound",
        Rule.OWN: "it holds most of this gang's own machines",
        Rule.TIGHTEST: "it holds the smallest bound assembly",
        Rule.LEAST_OVERCOMMITTED: "it covers the gang with the least to spare",
        Rule.MOST_COVERING: "none can hold the gang and it covers most",
        Rule.STICKY: "none can hold the gang, coverage ties, and it holds most of what is bound",
        Rule.COUNT: "all else is equal and it has more machines",
        Rule.VALUE: "all else is equal and its name sorts first",
    }
)


class Kind(StrEnum):
    """What the engine can ask for."""

    BOOTSTRAP = "Bootstrap"
    PROVISION = "Provision"
    PREEMPT = "Preempt"
    RECLAIM = "Reclaim"
    DELETE = "Delete"


class NeedRef(NamedTuple):
    """Whose demand an action serves or served."""

    cluster: str
    fingerprint: str
    group: str


class ClassKey(NamedTuple):
    """What parking counts: one gang of one profile in one cluster."""

    cluster: str
    group: str
    fingerprint: str


# The results of a cycle are made by the ten thousand, so the small ones are named tuples: three times cheaper to
# build than frozen dataclasses, and as immutable.
class Row(NamedTuple):
    """One demand row as the phases see it; `gangs` is how many gangs were folded into it, 0 for an untouched row."""

    need: Need
    gangs: int = 0


class Choice(NamedTuple):
    """Where a gang belongs this cycle, and which rule said so."""

    domain: str | None
    rule: Rule
    satisfiable: bool


class Outcome(NamedTuple):
    """What one row got: the machines that count for it, those acquired for it, and what is still missing."""

    row: Row
    parked: bool
    choice: Choice | None
    claimed: tuple[str, ...]
    acquired: tuple[str, ...]
    deficit: Resources
    reason: str


class Action(NamedTuple):
    """One thing to do to one machine, for whom, in which domain, by which rule and why."""

    kind: Kind
    machine: str
    need: NeedRef
    domain: str | None
    rule: str
    reason: str
    grace_us: int = 0
    preemptor_priority: int | None = None


class Refusal(NamedTuple):
    """Something the engine looked at and did not do: what, by which rule, why, and for how many machines."""

    subject: str
    rule: str
    reason: str
    machines: int


class Shortfall(NamedTuple):
    """Demand of one profile that nothing covers or is planned to cover, and for how many cycles in a row."""

    fingerprint: str
    priority: int
    missing: Resources
    age_cycles: int


@dataclass(frozen=True, slots=True)
class Demand:
    """All rows of all clusters, and the clusters that have sent a roll-up since the engine started."""

    rows: tuple[Need, ...] = ()
    heard: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Memory:
    """All that a cycle hands to the next: how long gangs have stalled, and how long profiles have been short."""

    stalled_cycles: Mapping[ClassKey, int] = field(default_factory=dict)
    short_cycles: Mapping[str, int] = field(default_factory=dict)


NO_MEMORY: Final = Memory()

DEFAULT_HOLDS_US: Final[Mapping[CapacityType, int]] = MappingProxyType(
    {CapacityType.ON_DEMAND: 600 * US_PER_SECOND, CapacityType.SPOT: 60 * US_PER_SECOND}
)
"""How long an Idle machine is kept before it is given back; a type that is not listed is kept for ever."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Posture, not rules: what a person running the engine may set. A cap of 0 and 0 actions mean no limit."""

    reclaim_cap_ppm: int = 50_000
    max_actions: int = 0
    paused: bool = False
    dry_run: bool = False
    holds_us: Mapping[CapacityType, int] = field(default_factory=lambda: DEFAULT_HOLDS_US)
    reported_shortfalls: int = 100


NO_RAILS: Final = Settings(reclaim_cap_ppm=0)


@dataclass(frozen=True, slots=True)
class Decisions:
    """All that one cycle decided. `withheld` are actions that pause or dry run kept from being carried out."""

    actions: tuple[Action, ...]
    withheld: tuple[Action, ...]
    outcomes: tuple[Outcome, ...]
    refusals: tuple[Refusal, ...]
    shortfalls: tuple[Shortfall, ...]
    memory: Memory
    folded_rows: int
    displacements: int
    wake: bool

    def of_kind(self, kind: Kind) -> tuple[str, ...]:
        """Return the machines that actions of one kind name, in order."""
        return tuple(action.machine for action in self.actions if action.kind is kind)


def ref_of(need: Need) -> NeedRef:
    """Return the short name of a row."""
    return NeedRef(need.cluster, need.profile.fingerprint, need.group)
