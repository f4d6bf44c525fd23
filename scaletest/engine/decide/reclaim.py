"""Phase 3: give back what no row claimed. Bound excess is reclaimed in keep order; Idle machines past their hold go.

Reclaim reads the claimed-set and does no arithmetic of its own, so the phases cannot disagree. A cluster that has not
been heard since the engine started is left alone: silence is not an empty demand.
"""

from collections.abc import Mapping, Sequence

from scaletest.engine.decide.fleet import Fleet
from scaletest.engine.decide.lots import Lot, Pool
from scaletest.engine.decide.turns import Turn
from scaletest.engine.decide.values import Action, Kind, NeedRef, Refusal, Settings
from scaletest.engine.decide.views import keep_rank
from scaletest.model import US_PER_SECOND, MachineState

__all__ = ["reclaim", "release"]

_GRACE_US = 600 * US_PER_SECOND
_NOBODY = NeedRef("", "", "")


def reclaim(
    fleet: Fleet, turns: Sequence[Turn], *, heard: frozenset[str] | None, gone: frozenset[str]
) -> tuple[list[Action], list[Refusal]]:
    """Return a reclaim for every Configured machine that nobody claimed and that is not `gone` already.

    `heard` are the clusters that may be reclaimed from; None means all.
    """
    actions: list[Action] = []
    refusals: list[Refusal] = []
    rows: dict[tuple[str, str, str], Turn] | None = None
    for pool in fleet.pools(MachineState.CONFIGURED):
        if pool.count == pool.taken:
            continue
        excess = _excess(pool, gone)
        if heard is not None and pool.cluster not in heard:
            if excess:
                reason = f"{pool.cluster} has not sent a roll-up since the engine started"
                refusals.append(Refusal(pool.cluster, "first-roll-up", reason, len(excess)))
            continue
        if rows is None:
            rows = {turn.line.key: turn for turn in turns}
        actions.extend(_reclamation(machine, lot, rows) for machine, lot in excess)
    return actions, refusals


def _excess(pool: Pool, gone: frozenset[str]) -> list[tuple[str, Lot]]:
    lots = [lot for lot in pool.lots() if lot.count > lot.taken]
    left = [(keep_rank(lot), machine, lot) for lot in lots for machine in lot.ids[lot.taken :]]
    left.sort(key=lambda entry: entry[:2])
    return [(machine, lot) for _, machine, lot in left if machine not in gone]


def _reclamation(machine: str, lot: Lot, rows: Mapping[tuple[str, str, str], Turn]) -> Action:
    ref = NeedRef(lot.cell.pool.cluster, lot.fingerprint, lot.group)
    turn = rows.get(ref)
    domain = turn.domain if turn is not None else None
    return Action(Kind.RECLAIM, machine, ref, domain, "phase3.excess", _why(lot, turn), _GRACE_US)


def _why(lot: Lot, turn: Turn | None) -> str:
    if turn is None:
        return "no row claims it, and the demand it was configured for is gone"
    place = turn.view.place(lot.cell.shape)
    if turn.gang and place is not None and place[1] != turn.domain:
        return f"its gang belongs in {turn.domain} this cycle and this machine is in {place[1]}"
    return "the demand it was configured for is covered without it"


def release(
    fleet: Fleet, *, settings: Settings, now_us: int, claimed: frozenset[str]
) -> tuple[list[Action], list[Refusal]]:
    """Return a deletion for every Idle machine whose hold is over, `claimed` ones excepted."""
    actions: list[Action] = []
    held: dict[str, int] = {}
    for lot in fleet.pool(MachineState.IDLE).lots():
        hold_us = settings.holds_us.get(lot.capacity_type)
        kind = str(lot.capacity_type)
        if hold_us is None:
            kept = lot.count - lot.taken if claimed else lot.count
            reason = f"{kind} is kept for ever"
            held[reason] = held.get(reason, 0) + kept
            continue
        for machine in lot.ids:
            if machine in claimed:
                continue
            since_us = fleet.idle_since_us.get(machine)
            if since_us is None or now_us - since_us < hold_us:
                reason = f"{kind} is held for {hold_us // US_PER_SECOND} s after it became Idle"
                held[reason] = held.get(reason, 0) + 1
            else:
                reason = f"{kind}, Idle for longer than {hold_us // US_PER_SECOND} s, and nobody wants it"
                actions.append(Action(Kind.DELETE, machine, _NOBODY, None, "phase3.release", reason))
    actions.sort(key=lambda action: action.machine)
    return actions, [Refusal("Idle", "idle-hold", reason, count) for reason, count in sorted(held.items()) if count]
