"""The register of ablations: each removes one rule, so that a gate can be shown to notice.

An ablation is chosen when an engine is built and nowhere else. Those of the agent and of the loop around the decisions
are listed here too, so that there is one list; their switch is where their rule is.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Final

from scaletest.engine.decide.rules import (
    COMPLETE,
    ClaimOrder,
    Counting,
    CreditScope,
    Criterion,
    Displacement,
    Fold,
    GangDomain,
    KeepSet,
    Own,
    Parking,
    RowOrder,
    Rules,
    VictimPriority,
    VictimScope,
)
from scaletest.engine.decide.values import Rule
from scaletest.model import MachineState

__all__ = ["ABLATIONS", "Ablation", "UnknownAblationError", "rules_without"]

Change = Callable[[Rules], Rules]


class UnknownAblationError(ValueError):
    """An ablation that is not in the register, or that the decisions alone cannot make."""


@dataclass(frozen=True, slots=True)
class Ablation:
    """One rule taken away: where the rule comes from, what breaks without it, and which gate should see that."""

    id: str
    adr: str
    removes: str
    breaks: str
    gate: str
    where: str = "decide"
    change: Change | None = None
    by_run: bool = True
    """Whether a gate of a whole run must notice. Otherwise only its case in the engine's fixtures shows what breaks."""


def _with(**fields: object) -> Change:
    return lambda rules: replace(rules, **fields)  # type: ignore[arg-type]  # the register's own test covers each


def _without_criterion(criterion: Criterion) -> Change:
    return lambda rules: replace(rules, criteria=tuple(c for c in rules.criteria if c[0] is not criterion))


def _presence(rules: Rules) -> Rules:
    presence = (Criterion.CREDITABLE_PRESENCE, Rule.CREDITABLE)
    criteria = tuple(presence if c[0] is Criterion.CREDITABLE_COVERAGE else c for c in rules.criteria)
    return replace(rules, criteria=criteria)


def _tightest(rules: Rules) -> Rules:
    at = next(i for i, c in enumerate(rules.criteria) if c[1] is Rule.CREDITABLE) + 1
    tightest = (Criterion.TIGHTEST_ASSEMBLY, Rule.TIGHTEST)
    return replace(rules, criteria=(*rules.criteria[:at], tightest, *rules.criteria[at:]))


def _own_first(rules: Rules) -> Rules:
    own = next(c for c in COMPLETE.criteria if c[0] is Criterion.OWN_COVERAGE)
    others = [c for c in rules.criteria if c[0] is not Criterion.OWN_COVERAGE]
    at = next((i for i, c in enumerate(others) if c[1] is Rule.CREDITABLE), 1)
    return replace(rules, criteria=(*others[:at], own, *others[at:]))


def _not_credited(state: MachineState) -> Change:
    return lambda rules: replace(rules, credited=tuple(s for s in rules.credited if s is not state))


def _parking(**fields: object) -> Change:
    def change(rules: Rules) -> Rules:
        parking = rules.parking or Parking()
        return replace(rules, parking=replace(parking, **fields))  # type: ignore[arg-type]  # see _with

    return change


_ALL: Final = (
    Ablation(
        "AB-00", "-", "acting", "the engine cycles and never acts", "bound share, shortfalls", change=_with(acts=False)
    ),
    Ablation(
        "AB-01",
        "ADR-0036",
        "the first-roll-up gate",
        "a cluster that has not spoken yet loses every machine it has",
        "reclaims before the first roll-up",
        change=_with(first_rollup_gate=False),
    ),
    Ablation(
        "AB-03",
        "ADR-0039",
        "a request for every live Pod",
        "bound Pods are invisible, so their machines look like surplus and are reclaimed and acquired for ever",
        "reclaims, acquisitions",
        where="agent",
    ),
    Ablation(
        "AB-04",
        "ADR-0040",
        "domain-aware crediting",
        "a gang counts as served across domains while its Pods cannot share one",
        "gang bind share",
        change=_with(credit_scope=CreditScope.ANYWHERE),
    ),
    Ablation(
        "AB-04P3",
        "ADR-0040",
        "the same crediting in both phases (reclaim keeps a walk that ignores domains)",
        "one phase acquires toward gangs that the other takes apart",
        "reclaims",
        change=_with(keep_set=KeepSet.ACROSS_DOMAINS),
        by_run=False,
    ),
    Ablation(
        "AB-05",
        "ADR-0040 addendum",
        "one domain choice per gang and cycle",
        "acquisition assembles a gang across domains and the next cycle reclaims the half that does not match",
        "reclaims",
        change=_with(gang_domain=GangDomain.CHOSEN_AGAIN),
    ),
    Ablation(
        "AB-06",
        "ADR-0041",
        "folding of gangs that fit on one machine",
        "every small gang claims a whole machine: standing shortfall, inflated fleet",
        "shortfalls, inflation",
        change=_with(fold=Fold.NEVER),
    ),
    Ablation(
        "AB-07",
        "ADR-0041",
        "virtual consumption of what a gang is going to acquire",
        "every gang ranks the same fresh domain best and all but one end up with nothing",
        "reclaims per loss",
        change=_with(consumes_virtually=False),
        by_run=False,
    ),
    Ablation(
        "AB-08",
        "ADR-0041, rule 2",
        "the preference for domains that serve",
        "a healthy gang moves to a fresh domain that merely fits tighter",
        "domain flips",
        change=_without_criterion(Criterion.CREDITABLE_COVERAGE),
        by_run=False,
    ),
    Ablation(
        "AB-09",
        "ADR-0042, rule 5",
        "stickiness among domains that cannot hold the gang",
        "oversize gangs wander between identical racks",
        "domain flips, reclaims per loss",
        change=_without_criterion(Criterion.STICKY_COVERAGE),
    ),
    Ablation(
        "AB-10",
        "ADR-0042 addendum",
        "parking",
        "a gang nothing can hold keeps acquiring and moving on every small change of supply",
        "reclaims per loss",
        change=_with(parking=None),
    ),
    Ablation(
        "AB-11",
        "ADR-0042 addendum",
        "the re-probe of parked gangs",
        "a parked gang never notices that supply came",
        "shortfalls",
        change=_parking(reprobe_every_cycles=0),
        by_run=False,
    ),
    Ablation(
        "AB-12",
        "ADR-0042 addendum",
        "the conditions under which a gang ages",
        "a gang that is still being assembled is parked half-way",
        "shortfalls",
        change=_parking(only_when_hopeless=False),
        by_run=False,
    ),
    Ablation(
        "AB-13",
        "ADR-0045",
        "the single attribution (reclaim derives a keep-set of its own)",
        "machines that one phase counts on are reclaimed by another at unchanged demand",
        "reclaims",
        change=_with(keep_set=KeepSet.OWN_WALK),
    ),
    Ablation(
        "AB-14",
        "ADR-0045",
        "bound counts whole (a packing model counts whole units only)",
        "machines are acquired although bound capacity covers the demand",
        "acquisitions",
        change=_with(counting=Counting.WHOLE_UNITS),
        by_run=False,
    ),
    Ablation(
        "AB-15",
        "ADR-0045, M77f",
        "rule 2 as coverage (any bound machine counts as presence)",
        "a gang leaves the domain that holds most of it for one that holds a little and fits tighter",
        "reclaims, domain flips",
        change=_presence,
        by_run=False,
    ),
    Ablation(
        "AB-16",
        "ADR-0051, M77g",
        "rule 2b: the gang's own machines break coverage ties",
        "two gangs of one profile trade domains while machines configure",
        "domain flips, reclaims",
        change=_without_criterion(Criterion.OWN_COVERAGE),
    ),
    Ablation(
        "AB-17",
        "ADR-0051",
        "the group in the own predicate (fingerprint only)",
        "gangs of one profile take each other's domain",
        "domain flips",
        change=_with(own=Own.FINGERPRINT),
    ),
    Ablation(
        "AB-18",
        "ADR-0051 addendum, M77h",
        "incumbents first",
        "a neighbour that matures pushes a serving machine out of the claimed-set",
        "claimed-set changes, reclaims",
        change=_with(claim_order=ClaimOrder.KEEP_ORDER),
    ),
    Ablation(
        "AB-19",
        "ADR-0051 addendum",
        "the keep order among incumbents",
        "a gang with too many machines of its own sheds the wrong ones",
        "claimed-set changes",
        change=_with(claim_order=ClaimOrder.INCUMBENT_BY_ID),
        by_run=False,
    ),
    Ablation(
        "AB-20",
        "ADR-0052",
        "credit for machines being created for the row",
        "one loss is replaced once per cycle until the first replacement arrives",
        "acquisitions per loss",
        change=_not_credited(MachineState.CREATING),
    ),
    Ablation(
        "AB-21",
        "ADR-0045",
        "a binding counts from the moment of Configure",
        "a machine being configured is acquired again every cycle",
        "acquisitions per loss",
        change=_not_credited(MachineState.CONFIGURING),
    ),
    Ablation(
        "AB-22",
        "M77f, a variant tried upstream",
        "nothing; adds `tightest assembly` after rule 2",
        "a gang prefers a rack holding exactly its size of somebody else's machines: a two-cycle steal loop",
        "domain flips",
        change=_tightest,
        by_run=False,
    ),
    Ablation(
        "AB-23",
        "ADR-0046",
        "the reclaim cap",
        "wiped demand drains a whole cluster in one cycle",
        "reclaims in one cycle",
        change=_with(reclaim_cap=False),
    ),
    Ablation(
        "AB-24",
        "ADR-0046",
        "the empty-roll-up guard",
        "one empty roll-up turns a whole cluster into excess",
        "reclaims after one empty roll-up",
        where="loop",
    ),
    Ablation(
        "AB-33",
        "ADR-0049",
        "the shield of claimed Idle machines",
        "one machine is bootstrapped and deleted in the same cycle",
        "actions per machine and cycle",
        change=_with(release_shield=False),
        by_run=False,
    ),
    Ablation(
        "AB-37",
        "ADR-0027",
        "the unit floor",
        "machines too small for one unit count as supply",
        "bound share",
        change=_with(unit_floor=False),
        by_run=False,
    ),
    Ablation(
        "AB-38",
        "M68",
        "the scope of preemption",
        "machines are drained that the preemptor can never use, and its shortfall is hidden",
        "preemptions outside the chosen domain",
        change=_with(victim_scope=VictimScope.ANY),
        by_run=False,
    ),
    Ablation(
        "AB-39",
        "phase 2",
        "strictly lower priority of victims",
        "equals drain each other for ever",
        "preemptions among equals",
        change=_with(victim_priority=VictimPriority.LOWER_OR_EQUAL),
        by_run=False,
    ),
    Ablation(
        "AB-40",
        "ADR-0029",
        "equals never displace",
        "equal rows take one machine from each other until their retries are spent",
        "displacements",
        change=_with(displacement=Displacement.EQUAL_TOO),
        by_run=False,
    ),
    Ablation(
        "AB-ROWS",
        "our own: canonical row order",
        "the canonical order of rows",
        "the order of a roll-up decides who gets what, so gangs oscillate when it changes",
        "domain flips, claimed-set changes",
        change=_with(order=RowOrder.AS_RECEIVED),
    ),
    Ablation(
        "AB-OWN",
        "our own: a variant, see ADR 0039",
        "nothing; asks for own coverage (2b) before creditable coverage (2)",
        "a gang stays with a part that is its own where another domain's bound machines would serve it whole",
        "acquisitions per loss",
        by_run=False,
        change=_own_first,
    ),
    Ablation(
        "AB-SERVED",
        "our own: served gangs first",
        "the turn of served gangs before their peers",
        "a gang that lacks one machine takes a neighbour's on paper, the neighbour the next one's, and Pods wait where "
        "no machine comes",
        "binding latency, domain flips",
        change=_with(served_first=False),
        by_run=False,
    ),
)

ABLATIONS: Final = {ablation.id: ablation for ablation in _ALL}


def rules_without(names: Iterable[str], *, rules: Rules = COMPLETE) -> Rules:
    """Return the rules with every named ablation made; raise UnknownAblationError for one that cannot be made here."""
    for name in names:
        ablation = ABLATIONS.get(name)
        if ablation is None:
            raise UnknownAblationError(f"there is no ablation {name!r}; known: {', '.join(sorted(ABLATIONS))}")
        if ablation.change is None:
            raise UnknownAblationError(f"{name} belongs to the {ablation.where}, not to the decisions")
        rules = ablation.change(rules)
    return rules
