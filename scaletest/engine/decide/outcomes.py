"""From turns to values: what each row got and why it got no more, and the actions that acquire for it."""

from scaletest.engine.decide.turns import Turn
from scaletest.engine.decide.values import Action, Kind, Outcome, ref_of
from scaletest.engine.decide.walk import claimed_ids
from scaletest.model import MachineState, Resources

__all__ = ["acquisitions", "outcome_of"]

_NOTHING = Resources()


def outcome_of(turn: Turn) -> Outcome:
    """Return what a row got, as a value."""
    if turn.outcome is not None:
        return turn.outcome
    short = any(turn.wanted)
    turn.outcome = Outcome(
        turn.line.row,
        turn.parked,
        turn.choice,
        claimed_ids(turn.claims) if turn.names is None else turn.names,
        claimed_ids(turn.acquired) if turn.acquired else (),
        turn.deficit() if short else _NOTHING,
        _why_short(turn) if short else "",
    )
    return turn.outcome


def _why_short(turn: Turn) -> str:
    if turn.parked:
        return "parked: no domain can hold the gang, so it keeps what it has and acquires nothing"
    if turn.gang:
        return _why_gang_short(turn)
    if not turn.claims and not turn.acquired:
        return "no free machine matches it and holds one of its units"
    if turn.need.profile.spread:
        return "no further machine matches it within its spread"
    return "every machine that matches it is taken"


def _why_gang_short(turn: Turn) -> str:
    if turn.domain is None:
        return "no domain has a free machine that matches it and holds one of its units"
    if turn.choice is not None and not turn.choice.satisfiable:
        return f"{turn.domain} covers most of it, and no domain can hold it whole"
    return f"{turn.domain} could hold it, but others took machines there first"


def acquisitions(turns: list[Turn]) -> list[Action]:
    """Return the actions that bring every acquired machine in, cheapest first inside a row."""
    return [action for turn in turns if turn.acquired for action in _acquired_by(turn)]


def _acquired_by(turn: Turn) -> list[Action]:
    entries = []
    for lot, start, stop in turn.acquired:
        state = lot.cell.pool.state
        order = (state is MachineState.SPECULATIVE, turn.view.rank(state)(lot))
        domain = place[1] if turn.gang and (place := turn.view.place(lot.cell.shape)) is not None else None
        entries += [(order, machine, domain) for machine in lot.ids[start:stop]]
    entries.sort(key=lambda entry: entry[:2])
    ref, reason = ref_of(turn.need), _why_acquired(turn)
    return [
        Action(Kind.PROVISION, machine, ref, domain, "acquire.speculative", f"{reason}; no Idle machine is left for it")
        if order[0]
        else Action(Kind.BOOTSTRAP, machine, ref, domain, "acquire.idle", reason)
        for order, machine, domain in entries
    ]


def _why_acquired(turn: Turn) -> str:
    if turn.domain is not None:
        return f"bound machines do not cover the gang, which belongs in {turn.domain}"
    return "bound machines do not cover the row"
