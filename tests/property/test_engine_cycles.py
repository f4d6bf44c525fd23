"""An engine that lives through many cycles decides in each what one that starts with that cycle decides."""

from dataclasses import replace
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st
from twin.compare import facts
from twin.states import Dice, State, random_state

from scaletest.engine.decide import Decisions, Engine, Fleet
from scaletest.model import Machine, MachineState, Need
from scaletest.model.lifecycle import BOUND_STATES

CYCLES = 8
SEEDS = st.integers(min_value=0, max_value=10**9)


def changed_rows(dice: Dice, rows: tuple[Need, ...]) -> tuple[Need, ...]:
    """Return rows most of which are the very same objects, as roll-ups have them."""
    found = []
    for row in rows:
        if dice.chance(90):
            found.append(row)
        elif dice.chance(80):
            found.append(modest(dice, row))
    return tuple(dice.shuffled(found))


def modest(dice: Dice, row: Need) -> Need:
    """Return a row that a few machines cover: clusters that want more than they have never settle."""
    return replace(row, aggregate=row.min_unit.times(1 + dice.below(4)))


def changed_machines(dice: Dice, machines: dict[str, Machine]) -> tuple[list[Machine], list[str]]:
    """Return some machines in another state, and some that are lost."""
    names = sorted(machines)
    moved = [_moved(dice, machines[dice.pick(names)]) for _ in range(dice.below(2)) if names]
    lost = [dice.pick(names)] if names and dice.chance(15) else []
    return [machine for machine in moved if machine.id not in lost], lost


def _moved(dice: Dice, machine: Machine) -> Machine:
    state = dice.pick(tuple(MachineState))
    bound = state in BOUND_STATES
    cluster = (machine.cluster or dice.pick(("c1", "c2", "c3"))) if bound else ""
    keeps_mark = bound or state is MachineState.CREATING
    return replace(machine, state=state, cluster=cluster, attribution=machine.attribution if keeps_mark else None)


def lived(state: State, dice: Dice) -> list[tuple[Decisions, Decisions]]:
    """Return what the old engine and a new one decide, cycle by cycle."""
    fleet = Fleet(state.machines, now_us=state.now_us)
    engine = Engine(fleet, rules=state.rules, settings=state.settings)
    demand = replace(state.demand, rows=tuple(modest(dice, row) for row in state.demand.rows))
    memory, pairs = state.memory, []
    for _ in range(CYCLES):
        again = Fleet(fleet.machines.values())
        again.idle_since_us.update(fleet.idle_since_us)
        fresh = Engine(again, rules=state.rules, settings=state.settings)
        now = engine.decide(demand, memory, now_us=state.now_us)
        pairs.append((now, fresh.decide(demand, memory, now_us=state.now_us)))
        memory = now.memory
        demand = replace(demand, rows=changed_rows(dice, demand.rows))
        moved, lost = changed_machines(dice, fleet.machines)
        fleet.apply(moved, removed=lost, now_us=state.now_us)
    return pairs


@given(seed=SEEDS)
@settings(max_examples=300, deadline=None)
def test_a_cycle_after_others_decides_what_a_first_one_does(seed: int) -> None:
    for old, new in lived(random_state(seed), Dice(seed + 1)):
        assert facts(old) == facts(new)


def test_random_lives_leave_some_clusters_as_they_were() -> None:
    kept = 0
    for seed in range(50):
        pairs = lived(random_state(seed), Dice(seed + 1))
        for (before, _), (after, _) in pairwise(pairs):
            known = {id(outcome) for outcome in before.outcomes}
            kept += sum(id(outcome) in known for outcome in after.outcomes)

    assert kept > 50
