"""What must be equal between the engine and its twin: everything but the sentences."""

from twin.plain_engine import plain_decide
from twin.states import State

from scaletest.engine.decide import Decisions, Engine, Fleet


def facts(decisions: Decisions) -> dict[str, object]:
    return {
        "actions": [action._replace(reason="", domain=None) for action in decisions.actions],
        "withheld": [action._replace(reason="", domain=None) for action in decisions.withheld],
        "outcomes": [
            (o.row, o.parked, o.choice, tuple(sorted(o.claimed)), tuple(sorted(o.acquired)), o.deficit)
            for o in decisions.outcomes
        ],
        "refusals": _by_rule(decisions),
        "shortfalls": decisions.shortfalls,
        "memory": (dict(decisions.memory.stalled_cycles), dict(decisions.memory.short_cycles)),
        "counts": (decisions.folded_rows, decisions.displacements, decisions.wake),
    }


def _by_rule(decisions: Decisions) -> dict[str, int]:
    counts: dict[str, int] = {}
    for refusal in decisions.refusals:
        counts[refusal.rule] = counts.get(refusal.rule, 0) + refusal.machines
    return counts


def engine_decisions(state: State, fleet: Fleet | None = None) -> Decisions:
    fleet = fleet or Fleet(state.machines)
    fleet.idle_since_us.update(state.idle_since_us)
    engine = Engine(fleet, rules=state.rules, settings=state.settings)
    return engine.decide(state.demand, state.memory, now_us=state.now_us)


def twin_decisions(state: State) -> Decisions:
    return plain_decide(
        state.machines,
        state.demand,
        state.memory,
        idle_since_us=state.idle_since_us,
        now_us=state.now_us,
        rules=state.rules,
        settings=state.settings,
    )
