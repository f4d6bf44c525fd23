import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from small_cloud import (
    MINE,
    MINE_WRITTEN,
    NODE_CALL_US,
    SECOND,
    SmallCloud,
    configured,
    idle,
    speculative,
)

from scaletest.model import Machine, MachineState
from scaletest.ports.provider import FencedError, ProviderError, Token
from scaletest.world.cloud.cloud import CALL_US

S = MachineState


def took(world: SmallCloud, call: Coroutine[Any, Any, Machine]) -> tuple[Machine, int]:
    before_us = world.clock.now_us()
    machine = world.run(call)
    return machine, world.clock.now_us() - before_us


def test_a_machine_goes_through_its_whole_life_and_back() -> None:
    world = SmallCloud(speculative("m-1"))

    created, create_us = took(world, world.create("m-1"))
    bound, configure_us = took(world, world.configure("m-1"))
    drained, drain_us = took(world, world.drain("m-1"))
    deleted, delete_us = took(world, world.delete("m-1"))

    assert [m.state for m in (created, bound, drained, deleted)] == [S.IDLE, S.CONFIGURED, S.IDLE, S.SPECULATIVE]
    assert deleted == speculative("m-1")
    assert create_us == CALL_US + 2 * SECOND
    assert configure_us == CALL_US + 3 * SECOND + NODE_CALL_US
    assert drain_us == CALL_US + 4 * SECOND + NODE_CALL_US
    assert delete_us == CALL_US + 1 * SECOND
    assert world.cloud.check() == ()


@pytest.mark.parametrize(
    ("machine", "call", "passing"),
    [
        (speculative("m-1"), SmallCloud.create, S.CREATING),
        (idle("m-1"), SmallCloud.configure, S.CONFIGURING),
        (configured("m-1"), SmallCloud.drain, S.DRAINING),
        (idle("m-1"), SmallCloud.delete, S.DELETING),
    ],
)
def test_a_staged_call_answers_on_the_way_and_listings_show_the_rest(
    machine: Machine, call: Callable[[SmallCloud, str], Coroutine[Any, Any, Machine]], passing: MachineState
) -> None:
    staged, done = SmallCloud(machine, acknowledge="staged"), SmallCloud(machine)

    answer, call_us = took(staged, call(staged, "m-1"))

    assert (answer.state, call_us) == (passing, CALL_US)
    assert staged.states() == {"m-1": passing}
    staged.wait(5)
    assert staged.states() == {"m-1": done.run(call(done, "m-1")).state}
    assert staged.cloud.check() == ()


def test_every_binding_of_a_machine_has_a_node_of_its_own() -> None:
    world = SmallCloud(configured("m-1"))
    nodes = world.nodes["east"].standing
    assert list(nodes) == ["m-1.0"] == [world.cloud.node_of("m-1")]

    world.run(world.drain("m-1"))
    assert nodes == {}
    bound = world.run(world.configure("m-1"))

    assert nodes == {"m-1.1": bound}
    assert world.cloud.nodes_in("east") == ("m-1.1",)
    assert world.cloud.nodes_in("west") == ()


def test_metadata_is_listed_as_it_was_sent_until_the_machine_is_drained() -> None:
    sent = {**MINE_WRITTEN, "unknown": "x", "bigfleet.lucy.sh/assigned-priority": "unreadable"}
    world = SmallCloud(idle("m-1"), acknowledge="staged")

    on_its_way = world.run(world.configure("m-1", metadata=sent))
    sent["unknown"] = "changed by the caller later"

    assert on_its_way.attribution is not None
    assert (on_its_way.attribution.need_fingerprint, on_its_way.attribution.priority) == ("f-1", 0)
    for _ in range(2):
        assert world.run(world.cloud.list(0)).metadata["m-1"]["unknown"] == "x"
        world.wait(4)
    world.run(world.drain("m-1"))
    world.wait(5)
    listing = world.run(world.cloud.list(0))
    assert (listing.metadata, listing.machines) == ({}, (idle("m-1"),))


def test_creating_is_attributed_and_idle_is_not() -> None:
    world = SmallCloud(speculative("m-1"), acknowledge="staged")

    creating = world.run(world.create("m-1"))

    assert (creating.attribution, creating.cluster) == (MINE, "")
    assert world.run(world.cloud.list(0)).metadata == {"m-1": MINE_WRITTEN}
    world.wait(3)
    listing = world.run(world.cloud.list(0))
    assert (listing.machines[0].attribution, listing.metadata) == (None, {})


def test_a_seeded_machine_is_listed_with_metadata_that_says_its_attribution() -> None:
    world = SmallCloud(configured("m-1"), idle("m-2"))

    assert world.run(world.cloud.list(0)).metadata == {"m-1": MINE_WRITTEN}


def test_two_calls_for_the_same_place_are_one_operation() -> None:
    world = SmallCloud(idle("m-1"))

    async def twice() -> tuple[tuple[Machine, Machine], int]:
        first = asyncio.ensure_future(world.configure("m-1"))
        await world.clock.sleep_until(world.clock.now_us() + SECOND)
        answers = await asyncio.gather(first, world.configure("m-1", metadata={"other": "metadata"}))
        return answers, world.clock.now_us()

    begun_us = world.clock.now_us()
    (first, second), ended_us = world.run(twice())

    assert first == second
    assert first.attribution == MINE
    assert ended_us - begun_us == CALL_US + 3 * SECOND + NODE_CALL_US
    assert list(world.nodes["east"].standing) == ["m-1.1"]


@pytest.mark.parametrize(
    ("machine", "call"),
    [
        (idle("m-1"), SmallCloud.create),
        (configured("m-1"), SmallCloud.configure),
        (idle("m-1"), SmallCloud.drain),
        (speculative("m-1"), SmallCloud.delete),
    ],
)
def test_a_machine_that_is_there_already_answers_at_once(
    machine: Machine, call: Callable[[SmallCloud, str], Coroutine[Any, Any, Machine]]
) -> None:
    world = SmallCloud(machine)
    revision = world.run(world.cloud.list(0)).revision

    assert took(world, call(world, "m-1")) == (machine, CALL_US)
    assert world.run(world.cloud.list(revision)).machines == ()


@pytest.mark.parametrize(
    ("machine", "call"),
    [
        (speculative("m-1"), SmallCloud.drain),
        (speculative("m-1"), SmallCloud.configure),
        (configured("m-1"), SmallCloud.delete),
        (configured("m-1"), SmallCloud.create),
        (configured("m-1", "west"), SmallCloud.configure),
    ],
)
def test_an_illegal_call_is_refused_and_changes_nothing(
    machine: Machine, call: Callable[[SmallCloud, str], Coroutine[Any, Any, Machine]]
) -> None:
    world = SmallCloud(machine)

    with pytest.raises(ProviderError, match=f"m-1: it is {machine.state}"):
        world.run(call(world, "m-1"))
    listing = world.run(world.cloud.list(0))
    assert listing.machines == (machine,)
    assert world.cloud.check() == ()


def test_a_machine_on_its_way_takes_no_other_order() -> None:
    world = SmallCloud(idle("m-1"), acknowledge="staged")
    world.run(world.configure("m-1", "east"))

    for call in (world.configure("m-1", "west"), world.drain("m-1"), world.delete("m-1")):
        with pytest.raises(ProviderError, match="m-1: it is Configuring"):
            world.run(call)
    world.wait(4)
    assert list(world.nodes["east"].standing) == ["m-1.1"]
    assert world.nodes["west"].standing == {}


def test_what_is_not_there_cannot_be_ordered() -> None:
    world = SmallCloud(idle("m-1"))

    with pytest.raises(ProviderError, match="no machine m-2"):
        world.run(world.create("m-2"))
    with pytest.raises(ProviderError, match="no cluster north"):
        world.run(world.configure("m-1", "north"))


def test_an_older_engine_is_fenced_off_once_a_newer_one_has_called() -> None:
    world = SmallCloud(idle("m-1"), idle("m-2"))
    cloud = world.cloud
    world.run(cloud.configure("m-1", cluster="east", token=Token(4, 100), metadata={}))

    with pytest.raises(FencedError, match="epoch 3 was replaced by epoch 4"):
        world.run(cloud.configure("m-2", cluster="east", token=Token(3, 101), metadata={}))
    assert world.states() == {"m-1": S.CONFIGURED, "m-2": S.IDLE}

    world.run(cloud.drain("m-1", grace_us=0, token=Token(5, 1)))
    assert world.states() == {"m-1": S.IDLE, "m-2": S.IDLE}


@pytest.mark.parametrize("sequence", [9, 10])
def test_a_call_that_was_overtaken_is_fenced_off_for_its_machine_only(sequence: int) -> None:
    world = SmallCloud(idle("m-1"), idle("m-2"))
    cloud = world.cloud
    world.run(cloud.configure("m-1", cluster="east", token=Token(1, 10), metadata={}))

    with pytest.raises(FencedError, match=f"call {sequence} comes after call 10"):
        world.run(cloud.drain("m-1", grace_us=0, token=Token(1, sequence)))
    world.run(cloud.configure("m-2", cluster="east", token=Token(1, sequence), metadata={}))

    assert world.states() == {"m-1": S.CONFIGURED, "m-2": S.CONFIGURED}


def test_a_caller_that_gives_up_does_not_stop_what_the_cloud_began() -> None:
    world = SmallCloud(idle("m-1"))

    async def give_up() -> None:
        async with asyncio.timeout(1):
            await world.configure("m-1")

    with pytest.raises(TimeoutError):
        world.run(give_up())

    assert world.states() == {"m-1": S.CONFIGURING}
    world.wait(3)
    assert world.states() == {"m-1": S.CONFIGURED}


def test_a_drain_waits_for_the_pods_then_takes_its_own_time() -> None:
    world = SmallCloud(configured("m-1"))
    node, begun_us = world.cloud.node_of("m-1"), world.clock.now_us()
    world.nodes["east"].busy_until_us[node] = begun_us + 6 * SECOND

    _, drain_us = took(world, world.drain("m-1", grace=10))

    assert drain_us == (6 + 4) * SECOND + NODE_CALL_US
    assert [(gone.node, gone.lost, gone.with_pods) for gone in world.nodes["east"].taken] == [("m-1.0", False, False)]


def test_pods_that_stay_go_with_their_node_when_the_grace_is_over() -> None:
    world = SmallCloud(configured("m-1"))
    node, begun_us = world.cloud.node_of("m-1"), world.clock.now_us()
    world.nodes["east"].busy_until_us[node] = begun_us + 3600 * SECOND

    drained, drain_us = took(world, world.drain("m-1", grace=10))

    (gone,) = world.nodes["east"].taken
    assert (gone.at_us - begun_us, gone.with_pods) == (CALL_US + 10 * SECOND + NODE_CALL_US, True)
    assert drain_us == CALL_US + (10 + 4) * SECOND + NODE_CALL_US
    assert drained == idle("m-1")


def latencies(world: SmallCloud, machine: str) -> list[int]:
    """Configure and drain a machine three times; return how long each took."""
    found = []
    for _ in range(3):
        found += [took(world, world.configure(machine))[1], took(world, world.drain(machine))[1]]
    return found


def test_a_machines_nth_operation_takes_as_long_whatever_else_happens() -> None:
    alone = latencies(SmallCloud(idle("m-1"), even=False), "m-1")

    crowd = SmallCloud(*(idle(f"m-{n}") for n in range(5)), speculative("m-9"), even=False)
    crowd.run(crowd.create("m-9"))
    for other in ("m-0", "m-2", "m-3"):
        latencies(crowd, other)

    assert latencies(crowd, "m-1") == alone
    assert len({*alone}) == 6
    assert latencies(SmallCloud(idle("m-1"), even=False, seed=8), "m-1") != alone


def test_stopping_lets_waiting_callers_go_and_leaves_machines_where_they_are() -> None:
    world = SmallCloud(idle("m-1"))

    async def stop_half_way() -> None:
        call = asyncio.ensure_future(world.configure("m-1"))
        await world.clock.sleep_until(world.clock.now_us() + SECOND)
        await world.cloud.stop()
        with pytest.raises(ProviderError, match="the cloud has stopped"):
            await call

    world.run(stop_half_way())

    assert world.states() == {"m-1": S.CONFIGURING}
    assert world.cloud.check() == ()
