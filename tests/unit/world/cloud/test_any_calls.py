"""Whatever is called, twice, at the wrong time or given up half-way: the records and the Nodes stay right."""

import asyncio
from collections.abc import Coroutine
from dataclasses import replace
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_cloud import CLUSTERS, SECOND, SmallCloud, configured, idle, speculative

from scaletest.model import Machine, MachineState
from scaletest.model.lifecycle import BOUND_STATES
from scaletest.ports.provider import ProviderError
from scaletest.world.cloud.checks import problems_of
from scaletest.world.cloud.register import Register

S = MachineState
FLEET = tuple(f"m-{n}" for n in range(6))


class Step(NamedTuple):
    """A call to a machine; its caller gives up after `patience` seconds, and the next step is `pause` seconds later."""

    call: str
    machine: str
    cluster: str
    grace: float
    patience: float
    busy: float
    pause: float


seconds = st.sampled_from([0.0, 0.004, 0.5, 1.0, 3.0, 6.0, 20.0, 70.0])
steps = st.lists(
    st.builds(
        Step,
        call=st.sampled_from(["create", "configure", "configure", "drain", "delete"]),
        machine=st.sampled_from(FLEET),
        cluster=st.sampled_from(CLUSTERS),
        grace=seconds,
        patience=seconds,
        busy=seconds,
        pause=seconds,
    ),
    max_size=40,
)


def call_of(world: SmallCloud, step: Step) -> Coroutine[Any, Any, Machine]:
    if step.call == "configure":
        return world.configure(step.machine, step.cluster)
    if step.call == "drain":
        return world.drain(step.machine, grace=step.grace)
    return world.create(step.machine) if step.call == "create" else world.delete(step.machine)


async def with_patience(call: Coroutine[Any, Any, Machine], patience: float) -> None:
    try:
        async with asyncio.timeout(patience):
            await call
    except (ProviderError, TimeoutError):
        pass


async def play(world: SmallCloud, plan: list[Step]) -> None:
    callers = []
    for step in plan:
        for nodes in world.nodes.values():
            nodes.busy_until_us |= dict.fromkeys(nodes.standing, world.clock.now_us() + round(step.busy * SECOND))
        callers.append(asyncio.ensure_future(with_patience(call_of(world, step), step.patience)))
        await world.clock.sleep_until(world.clock.now_us() + round(step.pause * SECOND))
        assert world.cloud.check() == ()
        assert_nodes_fit(world)
    await asyncio.gather(*callers)


def assert_nodes_fit(world: SmallCloud) -> None:
    """Every Configured machine has its Node; any other Node belongs to a machine that is on its way, or just lost."""
    bound = {m.id for m in world.cloud._register if m.state in BOUND_STATES}
    for cluster, nodes in world.nodes.items():
        expected = {*world.cloud.nodes_in(cluster)}
        assert expected <= {*nodes.standing}
        for node in {*nodes.standing} - expected:
            name = node.partition(".")[0]
            assert name in bound or world.cloud._register.get(name) is None


@given(plan=steps, acknowledge=st.sampled_from(["done", "staged"]), seed=st.integers(0, 1000))
def test_records_and_nodes_stay_right_whatever_is_called(plan: list[Step], acknowledge: str, seed: int) -> None:
    world = SmallCloud(
        configured("m-0"),
        configured("m-1", "west"),
        idle("m-2"),
        idle("m-3"),
        speculative("m-4"),
        speculative("m-5"),
        even=False,
        seed=seed,
        failure_rate_per_sec=0.005,
        acknowledge=acknowledge,
        errors={"create": 0.2, "configure": 0.2, "drain": 0.2, "delete": 0.2},
        losses=({"atSeconds": 3.0, "everySeconds": 9.0, "repairSeconds": 5.0},),
        stockOuts=({"atSeconds": 30.0, "durationSeconds": 10.0},),
    )
    world.soak(seconds=300)
    world.run(play(world, plan))
    world.wait(1000)

    # Everything has come to rest: no machine is on its way, and Nodes stand for Configured machines and no others.
    assert world.cloud.check() == ()
    assert world.cloud._underway == {}
    for cluster, nodes in world.nodes.items():
        assert sorted(nodes.standing) == sorted(world.cloud.nodes_in(cluster))
    assert len(world.cloud._register) + world.cloud._away == len(FLEET)


def in_state(state: MachineState, **changes: Any) -> Machine:
    return replace(configured("m-2"), state=state, **changes)


@pytest.mark.parametrize(
    ("machines", "underway", "sentence"),
    [
        ([], {}, "1 machines are listed, and 2 must be"),
        ([configured("m-2", "north")], {}, "m-2: there is no cluster north"),
        ([in_state(S.DRAINING)], {}, "m-2: it is Draining, and no operation is under way"),
        (
            [in_state(S.DRAINING)],
            {"m-2": S.CONFIGURING},
            "m-2: it is Draining while an operation leads it through Configuring",
        ),
        ([idle("m-2")], {"m-3": S.CREATING}, "m-3: an operation is under way on a machine that is gone"),
        ([in_state(S.IDLE, attribution=None)], {}, "m-2: it is Idle and its cluster is 'east'"),
        ([in_state(S.IDLE, cluster="")], {}, "m-2: it is Idle and still held for somebody"),
    ],
)
def test_the_check_says_what_is_wrong(
    machines: list[Machine], underway: dict[str, MachineState], sentence: str
) -> None:
    register = Register()
    register.add([idle("m-1"), *machines])

    assert problems_of(register, underway=underway, clusters=CLUSTERS, there=2) == (sentence,)
