"""The switches: one frozen value says which form of every rule an engine is built with. The default is complete.

Each field is read in exactly one module, which maps its value to a function when the engine is built; no rule asks
"is this ablated?" while it works.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from scaletest.engine.decide.values import Rule
from scaletest.model import MachineState

__all__ = [
    "COMPLETE",
    "COMPLETE_CRITERIA",
    "ClaimOrder",
    "Counting",
    "CreditScope",
    "Criterion",
    "Displacement",
    "Fold",
    "GangDomain",
    "KeepSet",
    "Own",
    "Parking",
    "RowOrder",
    "Rules",
    "VictimPriority",
    "VictimScope",
]


class RowOrder(StrEnum):
    """In which order rows of equal precedence take their turn."""

    CANONICAL = "canonical"
    AS_RECEIVED = "as received"


class Fold(StrEnum):
    """Which gangs become plain demand."""

    SUB_MACHINE = "sub-machine gangs"
    NEVER = "never"


class Criterion(StrEnum):
    """One step of the domain order; see `buckets` for what each compares."""

    SATISFIABLE = "satisfiable"
    CREDITABLE_COVERAGE = "creditable coverage"
    CREDITABLE_PRESENCE = "creditable presence"
    OWN_COVERAGE = "own coverage"
    TIGHTEST_ASSEMBLY = "tightest assembly"
    LEAST_OVERCOMMITTED = "least over-committed"
    MOST_COVERING = "most covering"
    STICKY_COVERAGE = "sticky coverage"
    COUNT = "count"
    VALUE = "value"


COMPLETE_CRITERIA: Final = (
    (Criterion.SATISFIABLE, Rule.SATISFIABLE),
    (Criterion.CREDITABLE_COVERAGE, Rule.CREDITABLE),
    (Criterion.OWN_COVERAGE, Rule.OWN),
    (Criterion.LEAST_OVERCOMMITTED, Rule.LEAST_OVERCOMMITTED),
    (Criterion.MOST_COVERING, Rule.MOST_COVERING),
    (Criterion.STICKY_COVERAGE, Rule.STICKY),
    (Criterion.COUNT, Rule.COUNT),
    (Criterion.VALUE, Rule.VALUE),
)


class Own(StrEnum):
    """When a bound machine is the gang's own."""

    GROUP_AND_FINGERPRINT = "group and fingerprint"
    FINGERPRINT = "fingerprint"


class CreditScope(StrEnum):
    """Where a gang's bound machines count."""

    CHOSEN_DOMAIN = "chosen domain"
    ANYWHERE = "anywhere"


class ClaimOrder(StrEnum):
    """Which of a domain's bound machines a gang claims first."""

    INCUMBENT_FIRST = "incumbent first, keep order inside"
    INCUMBENT_BY_ID = "incumbent first, by id"
    KEEP_ORDER = "keep order"


class GangDomain(StrEnum):
    """In which domain a gang acquires."""

    CHOSEN_ONCE = "chosen once"
    CHOSEN_AGAIN = "chosen again"


class Counting(StrEnum):
    """What a claimed machine counts for."""

    WHOLE_MACHINE = "whole machine"
    WHOLE_UNITS = "whole units"


class Displacement(StrEnum):
    """Who may take a machine that another row holds this cycle."""

    HIGHER = "strictly higher precedence"
    EQUAL_TOO = "equal precedence too"


class VictimScope(StrEnum):
    """Which machines preemption may look at."""

    USABLE = "usable by the preemptor"
    ANY = "any match"


class VictimPriority(StrEnum):
    """How much lower a victim's priority must be."""

    LOWER = "strictly lower"
    LOWER_OR_EQUAL = "lower or equal"


class KeepSet(StrEnum):
    """What reclaim keeps."""

    CLAIMED = "the claimed-set"
    OWN_WALK = "a walk of its own"
    ACROSS_DOMAINS = "a walk of its own that ignores domains"


@dataclass(frozen=True, slots=True)
class Parking:
    """When a gang that cannot be held stops acquiring, and how often it tries again (0 is never)."""

    after_cycles: int = 8
    reprobe_every_cycles: int = 32
    only_when_hopeless: bool = True


@dataclass(frozen=True, slots=True)
class Rules:
    """Which form of every rule is in force."""

    acts: bool = True
    order: RowOrder = RowOrder.CANONICAL
    served_first: bool = True
    fold: Fold = Fold.SUB_MACHINE
    criteria: tuple[tuple[Criterion, Rule], ...] = COMPLETE_CRITERIA
    own: Own = Own.GROUP_AND_FINGERPRINT
    credited: tuple[MachineState, ...] = (MachineState.CONFIGURED, MachineState.CONFIGURING, MachineState.CREATING)
    credit_scope: CreditScope = CreditScope.CHOSEN_DOMAIN
    claim_order: ClaimOrder = ClaimOrder.INCUMBENT_FIRST
    consumes_virtually: bool = True
    gang_domain: GangDomain = GangDomain.CHOSEN_ONCE
    unit_floor: bool = True
    counting: Counting = Counting.WHOLE_MACHINE
    displacement: Displacement = Displacement.HIGHER
    parking: Parking | None = field(default_factory=Parking)
    victim_scope: VictimScope = VictimScope.USABLE
    victim_priority: VictimPriority = VictimPriority.LOWER
    keep_set: KeepSet = KeepSet.CLAIMED
    first_rollup_gate: bool = True
    reclaim_cap: bool = True
    release_shield: bool = True

    @property
    def own_settles(self) -> bool:
        """Say whether a domain that a gang's own machines cover cannot be beaten, only tied by another such domain.

        Then no other domain needs to be looked at, which is the normal case of a gang that is served.
        """
        start = (Criterion.SATISFIABLE, Criterion.CREDITABLE_COVERAGE, Criterion.OWN_COVERAGE)
        return tuple(criterion for criterion, _ in self.criteria[:3]) == start

    @property
    def serving_first(self) -> bool:
        """Say whether a domain that serves always beats one that does not, among those that hold the gang.

        Then domains without bound machines need not be ranked once a serving one can hold the gang.
        """
        serving = (Criterion.CREDITABLE_COVERAGE, Criterion.CREDITABLE_PRESENCE)
        return self.criteria[0][0] is Criterion.SATISFIABLE and self.criteria[1][0] in serving


COMPLETE: Final = Rules()
