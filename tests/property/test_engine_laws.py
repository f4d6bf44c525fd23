"""Laws of the decisions, on random states drawn by hypothesis."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st
from twin.compare import engine_decisions, facts
from twin.states import State, random_state

from scaletest.engine.decide import (
    COMPLETE,
    NO_RAILS,
    Decisions,
    Demand,
    Engine,
    Fleet,
    Kind,
    Memory,
    Rule,
    Settings,
    decide,
)
from scaletest.model import (
    Attribution,
    Machine,
    MachineState,
    Need,
    NeedProfile,
    Operator,
    PenaltyBucket,
    Requirement,
    Resources,
)
from scaletest.model.demand import RACK_KEY, ZONE_KEY

SEEDS = st.integers(min_value=0, max_value=10**9)
EXAMPLES = settings(max_examples=150, deadline=None)
HERE = Path(__file__).resolve().parents[1]


def complete(seed: int) -> State:
    """Return a random state under the complete rules with nothing capped, paused or cut."""
    state = random_state(seed, ablate=False)
    return replace(state, settings=NO_RAILS, demand=replace(state.demand, heard=frozenset({"c1", "c2", "c3"})))


@given(seed=SEEDS, order=st.randoms(use_true_random=False))
@EXAMPLES
def test_the_order_of_the_input_never_matters(seed: int, order: Random) -> None:
    state = complete(seed)
    machines, rows = list(state.machines), list(state.demand.rows)
    order.shuffle(machines)
    order.shuffle(rows)
    shuffled = replace(state, machines=tuple(machines), demand=replace(state.demand, rows=tuple(rows)))

    assert engine_decisions(state) == engine_decisions(shuffled)


@given(seed=SEEDS)
@EXAMPLES
def test_no_machine_is_claimed_twice_or_acted_on_twice(seed: int) -> None:
    decisions = engine_decisions(complete(seed))

    held = [name for outcome in decisions.outcomes for name in (*outcome.claimed, *outcome.acquired)]
    named = [action.machine for action in decisions.actions]
    assert len(held) == len(set(held))
    assert len(named) == len(set(named))


@given(seed=SEEDS)
@EXAMPLES
def test_machines_are_conserved(seed: int) -> None:
    state = complete(seed)
    fleet = Fleet(state.machines)
    engine_decisions(state, fleet)

    listed = {machine.id for machine in state.machines}
    assert set(fleet.machines) | set(fleet.rejected) == listed
    assert {m.id: m.state for m in state.machines} == {m.id: m.state for m in fleet.machines.values()}


@given(seed=SEEDS)
@EXAMPLES
def test_every_configured_machine_is_claimed_preempted_or_reclaimed(seed: int) -> None:
    state = complete(seed)
    decisions = engine_decisions(state)

    configured = {machine.id for machine in state.machines if machine.state is MachineState.CONFIGURED}
    claimed = {name for outcome in decisions.outcomes for name in outcome.claimed} & configured
    gone = set(decisions.of_kind(Kind.RECLAIM)) | set(decisions.of_kind(Kind.PREEMPT))
    assert configured == claimed | gone
    assert not claimed & set(decisions.of_kind(Kind.RECLAIM))


@given(seed=SEEDS)
@EXAMPLES
def test_gangs_hold_and_acquire_inside_the_chosen_domain_only(seed: int) -> None:
    state = complete(seed)
    by_id = {machine.id: machine for machine in state.machines}

    for outcome in engine_decisions(state).outcomes:
        key = outcome.row.need.profile.same_key
        if key is not None:
            assert outcome.choice is not None
            values = {by_id[name].label(key) for name in (*outcome.claimed, *outcome.acquired)}
            assert values <= {outcome.choice.domain}


@given(random=st.randoms(use_true_random=False))
@EXAMPLES
def test_a_gang_that_its_own_machines_cover_keeps_them_whatever_its_peers_lack(random: Random) -> None:
    machines, gangs = _crowded_racks(random)

    decisions = decide(machines, Demand(tuple(need for need, _ in gangs), frozenset({"c1"})), settings=NO_RAILS)

    claimed = {outcome.row.need.group: set(outcome.claimed) for outcome in decisions.outcomes}
    for need, own in gangs:
        if len(own) * _UNIT["cpu"] == need.aggregate["cpu"]:
            assert claimed[need.group] == own


_UNIT = Resources.of({"cpu": 2000})


def _crowded_racks(random: Random) -> tuple[list[Machine], list[tuple[Need, set[str]]]]:
    """Return gangs of racks and zones side by side on machines of their own, some of which lack one, and free ones."""
    model = next(machine for machine in random_state(3, ablate=False).machines if machine.instance_type == "small")
    machines: list[Machine] = []
    gangs: list[tuple[Need, set[str]]] = []
    for number in range(random.randint(2, 8)):
        penalty = PenaltyBucket(random.choice((1, 8)))
        key = random.choice((RACK_KEY, ZONE_KEY))
        same = Requirement(key, Operator.SAME)
        profile = NeedProfile.of(requirements=(same,), priority=5, interruption=penalty, reclamation=penalty)
        size, lacks, home = random.randint(2, 4), random.random() < 0.3, random.randint(0, 5)
        need = Need("c1", profile, _UNIT.times(size), _UNIT, f"c1/g{number}")
        racks = [home if key == RACK_KEY else home % 2 + 2 * random.randint(0, 2) for _ in range(size - lacks)]
        attribution = Attribution(profile.fingerprint, need.group, 5, random.randint(0, 9), random.randint(0, 9))
        own = [
            replace(_at(model, f"m{random.randint(0, 99)}-{number}-{n}", rack), cluster="c1", attribution=attribution)
            for n, rack in enumerate(racks)
        ]
        machines += own
        gangs.append((need, {machine.id for machine in own}))
    free = [_at(model, f"i{n}", random.randint(0, 5)) for n in range(random.randint(0, 12))]
    return [*machines, *(replace(machine, state=MachineState.IDLE) for machine in free)], gangs


def _at(model: Machine, name: str, rack: int) -> Machine:
    """Return an unbound machine of one unit; even racks stand in zone 0, odd ones in zone 1."""
    return replace(
        model, id=name, state=MachineState.CONFIGURED, cluster="", zone=f"z{rack % 2}", allocatable=_UNIT,
        labels=((RACK_KEY, f"r{rack}"),), attribution=None,
    )  # fmt: skip


@given(seed=SEEDS)
@EXAMPLES
def test_a_row_that_bound_machines_cover_acquires_nothing(seed: int) -> None:
    state = complete(seed)
    by_id = {machine.id: machine for machine in state.machines}

    for outcome in engine_decisions(state).outcomes:
        bound = sum((by_id[name].allocatable for name in outcome.claimed), start=Resources())
        if bound.covers(outcome.row.need.aggregate):
            assert not outcome.acquired
            assert not outcome.deficit


@given(seed=SEEDS)
@EXAMPLES
def test_every_claimed_machine_was_still_needed_when_it_was_claimed(seed: int) -> None:
    """Stop when covered: without the last claimed machine in keep order the row would not be covered."""
    state = complete(seed)
    by_id = {machine.id: machine for machine in state.machines}

    for outcome in engine_decisions(state).outcomes:
        need = outcome.row.need
        if need.profile.same_key is None and outcome.claimed:
            walked = sorted((by_id[name] for name in outcome.claimed), key=_keep)
            before = sum((machine.allocatable for machine in walked[:-1]), start=Resources())
            assert not before.covers(need.aggregate)


@given(seed=SEEDS)
@EXAMPLES
def test_stop_when_covered_sheds_exactly_the_tail_of_the_keep_order(seed: int) -> None:
    """One plain row that every machine suits: what is claimed is a prefix of the keep order, and the rest goes."""
    state = complete(seed)
    one = Resources.of({"cpu": 1000})
    nothing = PenaltyBucket(1)
    profile = NeedProfile.of(requirements=(), priority=5, interruption=nothing, reclamation=nothing)
    bound = [m for m in state.machines if m.state is MachineState.CONFIGURED and m.cluster == "c1"]
    demand = Demand((Need("c1", profile, one.times(1 + seed % 60), one),), frozenset({"c1"}))

    decisions = decide(bound, demand, settings=NO_RAILS)

    order = [machine.id for machine in sorted(bound, key=_keep)]
    claimed = decisions.outcomes[0].claimed
    assert sorted(claimed) == sorted(order[: len(claimed)])
    assert list(decisions.of_kind(Kind.RECLAIM)) == order[len(claimed) :]


_BY_SPARE_SUPPLY = (Rule.LEAST_OVERCOMMITTED, Rule.COUNT)


@given(seed=SEEDS)
@EXAMPLES
def test_unchanged_demand_that_is_covered_reclaims_nothing_more(seed: int) -> None:
    """Carry the reclaims out, decide again: a covered fleet is at its fixed point."""
    state = complete(seed)
    first = engine_decisions(state)
    if any(outcome.deficit or outcome.acquired for outcome in first.outcomes):
        return
    # A gang without machines of its own is placed by what a domain has to spare, and the reclaims take that away.
    if any(outcome.choice is not None and outcome.choice.rule in _BY_SPARE_SUPPLY for outcome in first.outcomes):
        return
    gone = set(first.of_kind(Kind.RECLAIM)) | set(first.of_kind(Kind.DELETE))
    kept = tuple(machine for machine in state.machines if machine.id not in gone)
    again = engine_decisions(replace(state, machines=kept))
    if again.folded_rows != first.folded_rows:
        return

    assert again.of_kind(Kind.RECLAIM) == ()
    assert [o.claimed for o in again.outcomes] == [o.claimed for o in first.outcomes]


@given(seed=SEEDS, other=SEEDS)
@EXAMPLES
def test_an_index_kept_up_to_date_decides_like_one_built_anew(seed: int, other: int) -> None:
    before, after = complete(seed), complete(other)
    fleet = Fleet(before.machines)
    engine_decisions(before, fleet)
    gone = {machine.id for machine in before.machines} - {machine.id for machine in after.machines}
    fleet.apply(after.machines, removed=sorted(gone), now_us=5)

    assert engine_decisions(after, fleet) == engine_decisions(after)


@given(seed=SEEDS, cap=st.integers(min_value=1, max_value=1_000_000))
@EXAMPLES
def test_the_reclaim_cap_holds_per_cluster(seed: int, cap: int) -> None:
    state = replace(complete(seed), settings=Settings(reclaim_cap_ppm=cap))
    decisions = engine_decisions(state)

    for cluster in ("c1", "c2", "c3"):
        configured = sum(m.state is MachineState.CONFIGURED and m.cluster == cluster for m in state.machines)
        reclaimed = sum(a.kind is Kind.RECLAIM and a.need.cluster == cluster for a in decisions.actions)
        assert reclaimed <= max(1, configured * cap // 1_000_000)


@given(seed=SEEDS)
@EXAMPLES
def test_every_action_and_every_short_row_says_why(seed: int) -> None:
    decisions = engine_decisions(complete(seed))

    assert all(action.rule and action.reason for action in decisions.actions)
    assert all(outcome.reason for outcome in decisions.outcomes if outcome.deficit)
    assert all(refusal.rule and refusal.reason and refusal.machines > 0 for refusal in decisions.refusals)


def test_decisions_are_the_same_in_every_process_and_under_every_hash_seed() -> None:
    outputs = {_in_process(hash_seed) for hash_seed in ("0", "1", "4242")}

    assert len(outputs) == 1
    assert outputs.pop().count("[") > 200


def _in_process(hash_seed: str) -> str:
    script = "import sys; from property.test_engine_laws import dump; sys.stdout.write(dump())"
    env = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(HERE)}
    done = subprocess.run([sys.executable, "-c", script], env=env, cwd=HERE, capture_output=True, text=True, check=True)
    return done.stdout


def dump() -> str:
    """Write what 60 states decide, order included."""
    return json.dumps([_plain(engine_decisions(random_state(seed))) for seed in range(60)])


def _plain(decisions: Decisions) -> list[object]:
    return [
        [list(map(str, action)) for action in decisions.actions],
        [[str(o.choice), list(o.claimed), list(o.acquired), str(o.deficit)] for o in decisions.outcomes],
        [list(map(str, refusal)) for refusal in decisions.refusals],
    ]


def _keep(machine: Machine) -> tuple[int, int, int, str]:
    order = (MachineState.CONFIGURED, MachineState.CONFIGURING, MachineState.CREATING)
    penalty = machine.attribution.reclamation_penalty_uusd if machine.attribution else 0
    return (order.index(machine.state), machine.price_uusd_per_hour, -penalty, machine.id)


def test_ten_thousand_identical_racks_get_a_correct_answer() -> None:
    state = random_state(3, ablate=False)
    model = next(machine for machine in state.machines if machine.instance_type == "small")
    racks = [
        replace(model, id=f"m{n:05d}", state=MachineState.IDLE, cluster="", labels=((RACK_KEY, f"r{n // 2:05d}"),))
        for n in range(20_000)
    ]
    gang = _gang(size=3)

    decisions = decide(racks, Demand((gang,), frozenset({"c1"})), settings=NO_RAILS)

    assert decisions.outcomes[0].choice is not None
    assert decisions.outcomes[0].choice.domain == "r00000"
    assert decisions.of_kind(Kind.BOOTSTRAP) == ("m00000", "m00001")


def _gang(*, size: int) -> Need:
    nothing = PenaltyBucket(1)
    same = Requirement(RACK_KEY, Operator.SAME)
    profile = NeedProfile.of(requirements=(same,), priority=5, interruption=nothing, reclamation=nothing)
    unit = Resources.of({"cpu": 2000})
    return Need("c1", profile, unit.times(size), unit, "c1/g")


def test_a_snapshot_can_be_decided_without_an_engine_of_ones_own() -> None:
    state = complete(11)

    alone = decide(state.machines, state.demand, state.memory, now_us=state.now_us, settings=NO_RAILS)
    engine = Engine(Fleet(state.machines, now_us=state.now_us), rules=COMPLETE, settings=NO_RAILS)

    assert facts(alone) == facts(engine.decide(state.demand, state.memory, now_us=state.now_us))
    assert isinstance(alone.memory, Memory)
