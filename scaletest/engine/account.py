"""What a cycle's decisions amount to: orders for the pool, and the figures that a cycle is judged by."""

from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

from scaletest.engine.decide import Action, Decisions, Fleet, Kind, NeedRef, Outcome
from scaletest.engine.decide.matching import matches
from scaletest.engine.execute import Order
from scaletest.engine.metrics import PRIORITY_CLASSES, priority_class
from scaletest.model import MachineState, Need
from scaletest.model.attribution import attribution_for

__all__ = ["Account", "Reclaims", "reclaims_of", "shortfalls_by_class"]

_PPM: Final = 1_000_000
_ACQUIRE: Final = (Kind.BOOTSTRAP, Kind.PROVISION)


class _Held(NamedTuple):
    need: Need
    domain: str | None
    claimed: tuple[str, ...]
    acquired: tuple[str, ...]


class Account:
    """What is remembered from cycle to cycle for the record; no decision reads it."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._held: dict[tuple[str, str], _Held] = {}
        self._units: dict[str, str] = {}
        """For which unit a machine was acquired; its own record does not say."""

    @property
    def gangs(self) -> int:
        """Return how many gangs the last cycle had that did not fold."""
        return len(self._held)

    def orders(self, decisions: Decisions, *, cycle: int) -> list[Order]:
        """Return every action with the stamp for its machine and the unit of its row."""
        if not decisions.actions:
            return []
        acquired = {name: outcome.row.need for outcome in decisions.outcomes for name in outcome.acquired}
        rows = _rows_of(decisions)
        orders = []
        for action in decisions.actions:
            need = acquired.get(action.machine) if action.kind in _ACQUIRE else None
            if need is not None:
                text = self._units[action.machine] = str(need.min_unit)
                orders.append(Order(action, cycle, text, attribution_for(need.profile, need.group)))
            else:
                orders.append(Order(action, cycle, self._unit_of(action, rows.get(action.need, ()))))
        return orders

    def _unit_of(self, action: Action, rows: Sequence[Need]) -> str:
        """Return the unit a machine was acquired for, else of the first row that it can serve, larger units first."""
        if action.kind is Kind.RECLAIM and action.machine in self._units:
            return self._units[action.machine]
        room = self._fleet.machines[action.machine].allocatable
        return next((str(need.min_unit) for need in rows if room.covers(need.min_unit)), "")

    def moves(self, outcomes: Sequence[Outcome]) -> tuple[int, int]:
        """Return how many gangs changed their domain, and how many their machines although their row is the same."""
        before, held = self._held, dict[tuple[str, str], _Held]()
        flips = changes = 0
        for row, _, choice, claimed, acquired, _, _ in outcomes:
            if choice is None:
                continue  # only a gang has a domain to choose
            need = row.need
            key = (need.group, need.profile.fingerprint)
            last, domain = before.get(key), choice.domain
            if last is not None:
                domain = domain or last.domain
                flips += last.domain is not None and domain != last.domain
                changes += (need is last.need or need == last.need) and not _same_machines(last, claimed, acquired)
            held[key] = _Held(need, domain, claimed, acquired)
        self._held = held
        return flips, changes


def _rows_of(decisions: Decisions) -> dict[NeedRef, list[Need]]:
    """Return the rows that drains refer to; folded gangs of several sizes share one reference."""
    rows: dict[NeedRef, list[Need]] = {a.need: [] for a in decisions.actions if a.kind in {Kind.RECLAIM, Kind.PREEMPT}}
    clusters = {ref.cluster for ref in rows}
    for outcome in decisions.outcomes if rows else ():
        need = outcome.row.need
        if need.cluster in clusters:
            found = rows.get(NeedRef(need.cluster, need.profile.fingerprint, need.group))
            if found is not None:
                found.append(need)
    return rows


def _same_machines(last: _Held, claimed: tuple[str, ...], acquired: tuple[str, ...]) -> bool:
    if not acquired and not last.acquired and claimed == last.claimed:
        return True
    # A machine that was acquired is claimed from the next cycle on; that is no change.
    return {*claimed, *acquired} == {*last.claimed, *last.acquired}


class Reclaims(NamedTuple):
    """How a cycle's reclaims look from outside."""

    worst_ppm: int
    before_rollup: int
    of_unsatisfied: int


def reclaims_of(decisions: Decisions, fleet: Fleet, *, heard: frozenset[str]) -> Reclaims:
    """Return what is remarkable about the reclaims of a cycle."""
    reclaims = [action for action in decisions.actions if action.kind is Kind.RECLAIM]
    if not reclaims:
        return Reclaims(0, 0, 0)
    clusters = Counter(action.need.cluster for action in reclaims)
    shares = [
        count * _PPM // max(1, fleet.pool(MachineState.CONFIGURED, cluster).count)
        for cluster, count in clusters.items()
    ]
    early = sum(count for cluster, count in clusters.items() if cluster not in heard)
    short: dict[str, list[Need]] = {}
    for outcome in decisions.outcomes:
        if outcome.reason and outcome.row.need.cluster in clusters:
            short.setdefault(outcome.row.need.cluster, []).append(outcome.row.need)
    wanted = sum(_wanted(action, fleet, short.get(action.need.cluster, ())) for action in reclaims) if short else 0
    return Reclaims(max(shares), early, wanted)


def _wanted(action: Action, fleet: Fleet, short: Sequence[Need]) -> bool:
    machine = fleet.machines[action.machine]
    return any(machine.allocatable.covers(need.min_unit) and matches(need.profile, machine.label) for need in short)


def shortfalls_by_class(decisions: Decisions) -> dict[str, int]:
    """Return how many profiles of each priority class are short; the report itself may be cut."""
    counts = dict.fromkeys(PRIORITY_CLASSES, 0)
    short = decisions.memory.short_cycles
    if short:
        profiles = {o.row.need.profile.fingerprint: o.row.need.profile for o in decisions.outcomes if o.reason}
        for fingerprint in short:
            counts[priority_class(profiles[fingerprint].priority)] += 1
    return counts
