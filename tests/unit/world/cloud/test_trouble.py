import asyncio
from collections import Counter
from dataclasses import replace

import pytest
from small_cloud import CLUSTERS, MINE_WRITTEN, NODE_CALL_US, SECOND, SmallCloud, configured, idle, speculative

from scaletest.model import MachineState, Stream
from scaletest.ports.provider import Listing, ProviderError, StockOutError
from scaletest.world.cloud import CloudEvent
from scaletest.world.cloud.cloud import CALL_US, CLEAN_UP_US
from scaletest.world.cloud.losses import poisson

S = MachineState
HOUR = 3600


# Losses.


def test_a_lost_machine_vanishes_with_its_node_and_is_reported_with_whose_it_was() -> None:
    world = SmallCloud(configured("m-1"), losses=({"atSeconds": 30.0},))
    soak_us = world.soak()
    revision = world.run(world.cloud.list(0)).revision
    world.wait(31)

    listing = world.run(world.cloud.list(revision))

    assert (listing.machines, listing.removed) == ((), ("m-1",))
    (gone,) = world.nodes["east"].taken
    assert (gone.node, gone.lost, gone.at_us) == ("m-1.0", True, soak_us + 30 * SECOND + NODE_CALL_US)
    assert world.events == [CloudEvent(soak_us + 30 * SECOND, "loss", "m-1", "east", "f-1", "g-1")]
    with pytest.raises(ProviderError, match="no machine m-1"):
        world.run(world.drain("m-1"))
    world.wait(24 * HOUR)
    assert world.states() == {}
    assert world.cloud.check() == ()


def test_a_lost_machine_that_is_repaired_comes_back_idle_and_is_nobodys() -> None:
    world = SmallCloud(configured("m-1"), losses=({"atSeconds": 30.0, "repairSeconds": 600.0},))
    soak_us = world.soak()
    revision = world.run(world.cloud.list(0)).revision
    world.wait(629.9)
    assert world.states() == {}
    world.wait(1)

    listing = world.run(world.cloud.list(revision))

    # In both: whoever listed before must forget the binding first.
    assert (listing.machines, listing.removed) == ((idle("m-1"),), ("m-1",))
    assert world.events[1] == CloudEvent(soak_us + 630 * SECOND, "repair", "m-1")
    assert world.run(world.configure("m-1")).state is S.CONFIGURED
    assert list(world.nodes["east"].standing) == ["m-1.1"]


def test_losses_repeat_until_the_soak_ends() -> None:
    fleet = [configured(f"m-{n:02}") for n in range(50)]
    world = SmallCloud(*fleet, losses=({"atSeconds": 10.0, "everySeconds": 20.0, "count": 3},))
    soak_us = world.soak(seconds=70)
    world.wait(HOUR)

    instants = Counter((event.at_us - soak_us) // SECOND for event in world.events)

    assert instants == {10: 3, 30: 3, 50: 3}
    assert len({event.machine for event in world.events}) == 9
    assert len(world.states()) == 41


def test_only_machines_that_are_plainly_configured_are_lost() -> None:
    fleet = [configured(f"m-{n}") for n in range(8)]
    world = SmallCloud(*fleet, idle("m-8"), acknowledge="staged", losses=({"atSeconds": 5.0, "count": 9},))
    for machine in fleet[1:]:
        world.nodes["east"].busy_until_us[world.cloud.node_of(machine.id)] = 3600 * SECOND
        world.run(world.drain(machine.id, grace=20))
    world.soak()
    world.wait(60)

    assert [event.machine for event in world.events] == ["m-0"]
    assert world.states() == dict.fromkeys((f"m-{n}" for n in range(1, 9)), S.IDLE)


def test_who_is_lost_follows_the_seed_and_hardly_the_rest_of_the_fleet() -> None:
    def lost(seed: int, *others: str) -> list[str]:
        fleet = [configured(f"m-{n:03}") for n in range(200)]
        spares = [idle(f"m-{n:03}") for n in range(200, 300)]
        world = SmallCloud(*fleet, *spares, seed=seed, losses=({"atSeconds": 60.0, "count": 20},))
        world.soak()
        for other in others:
            world.run(world.configure(other))
        world.wait(60)
        return [event.machine for event in world.events]

    assert lost(1) == lost(1)
    assert lost(1) != lost(2)
    assert len({*lost(1)} & {*lost(1, "m-250")}) >= 19


def test_every_configured_machine_is_lost_as_often() -> None:
    losses = Counter[str]()
    for seed in range(400):
        fleet = [configured(f"m-{n}") for n in range(4)] + [idle(f"m-{n}") for n in range(4, 12)]
        world = SmallCloud(*fleet, seed=seed, losses=({"atSeconds": 1.0},))
        world.soak()
        world.wait(2)
        losses.update(event.machine for event in world.events)

    assert sorted(losses) == ["m-0", "m-1", "m-2", "m-3"]
    assert all(70 <= number <= 130 for number in losses.values())


def test_random_failures_come_at_their_rate_and_end_with_the_soak() -> None:
    fleet = [configured(f"m-{n:04}", CLUSTERS[n % 2]) for n in range(1000)]
    world = SmallCloud(*fleet, failure_rate_per_sec=1e-4)
    soak_us = world.soak(seconds=1000)
    world.wait(2 * HOUR)

    # 1,000 machines for 1,000 s at 1e-4, fewer as they go: 95 are expected, with a standard deviation near 10.
    assert 65 <= len(world.events) <= 125
    assert all(event.at_us < soak_us + 1000 * SECOND for event in world.events)
    assert len({event.machine for event in world.events}) == len(world.events) == 1000 - len(world.states())
    assert world.cloud.check() == ()


def test_a_fleet_without_failures_is_left_alone() -> None:
    world = SmallCloud(configured("m-1"))
    world.soak()
    world.wait(24 * HOUR)

    assert world.events == []


@pytest.mark.parametrize("mean", [0.0, 0.3, 5.0, 31.0, 100.0, 2000.0])
def test_a_poisson_draw_has_the_mean_and_variance_it_should(mean: float) -> None:
    draws = [poisson(mean, Stream.of(1, "test", n)) for n in range(2000)]

    average = sum(draws) / len(draws)
    variance = sum((draw - average) ** 2 for draw in draws) / len(draws)

    assert average == pytest.approx(mean, abs=0.1 * mean**0.5)
    assert variance == pytest.approx(mean, rel=0.15)


# Stock-outs.


def outcome_of_create(world: SmallCloud, machine: str) -> str:
    try:
        return world.run(world.create(machine)).state
    except StockOutError:
        return "out of stock"


@pytest.mark.parametrize(
    ("where", "refused"),
    [
        ({}, ["m-1", "m-2", "m-3"]),
        ({"instanceTypes": ("big",)}, ["m-1", "m-2"]),
        ({"zones": ("zone-b",)}, ["m-2", "m-3"]),
        ({"instanceTypes": ("big",), "zones": ("zone-b",)}, ["m-2"]),
        ({"zones": ("zone-z",)}, []),
    ],
)
def test_a_stock_out_refuses_what_it_names(where: dict[str, tuple[str, ...]], refused: list[str]) -> None:
    fleet = (
        speculative("m-1", instance_type="big"),
        speculative("m-2", instance_type="big", zone="zone-b"),
        speculative("m-3", zone="zone-b"),
    )
    world = SmallCloud(*fleet, stockOuts=({"atSeconds": 0.0, "durationSeconds": 60.0, **where},))
    world.soak()

    outcomes = {machine.id: outcome_of_create(world, machine.id) for machine in fleet}

    assert [machine for machine, outcome in outcomes.items() if outcome == "out of stock"] == refused
    assert [(event.machine, event.kind, event.fingerprint) for event in world.events] == [
        (machine, "stock-out", "f-1") for machine in refused
    ]


def test_a_refused_machine_stays_speculative_and_was_never_anything_else() -> None:
    world = SmallCloud(speculative("m-1"), stockOuts=({"atSeconds": 0.0, "durationSeconds": 60.0},))
    world.soak()
    before = world.run(world.cloud.list(0))

    with pytest.raises(StockOutError, match=r"no m6i\.large in zone-a now"):
        world.run(world.create("m-1"))

    assert world.run(world.cloud.list(before.revision)).machines == ()


def test_a_stock_out_begins_and_ends_on_the_microsecond() -> None:
    fleet = [speculative(f"m-{n}") for n in range(4)]
    world = SmallCloud(*fleet, acknowledge="staged", stockOuts=({"atSeconds": 10.0, "durationSeconds": 5.0},))
    at_us = world.soak()

    async def create_at(machine: str, instant_us: int) -> bool:
        await world.clock.sleep_until(at_us + instant_us - CALL_US)
        try:
            return bool(await world.create(machine))
        except StockOutError:
            return False

    async def create_all() -> list[bool]:
        instants = (9_999_999, 10_000_000, 14_999_999, 15_000_000)
        calls = (create_at(machine.id, instant_us) for machine, instant_us in zip(fleet, instants, strict=True))
        return await asyncio.gather(*calls)

    assert world.run(create_all()) == [True, False, False, True]


def test_there_is_no_stock_out_before_the_soak() -> None:
    world = SmallCloud(speculative("m-1"), stockOuts=({"atSeconds": 0.0, "durationSeconds": 600.0},))

    assert outcome_of_create(world, "m-1") == "Idle"


# Errors.


def doomed(*machines: str, call: str, seed: int = 7) -> SmallCloud:
    """Return a cloud in which nearly every call of a kind fails."""
    start = configured if call == "drain" else speculative if call == "create" else idle
    return SmallCloud(*map(start, machines), seed=seed, errors={call: 0.999_999})


@pytest.mark.parametrize("call", ["create", "configure", "drain", "delete"])
def test_a_call_that_fails_says_so_when_its_time_is_over_and_leaves_the_machine_failed(call: str) -> None:
    world = doomed("m-1", call=call)
    begun_us = world.clock.now_us()

    with pytest.raises(ProviderError, match=f"{call} m-1: it failed while"):
        world.run(getattr(world, call)("m-1"))

    assert world.clock.now_us() - begun_us >= SECOND
    (failed,) = world.run(world.cloud.list(0)).machines
    assert (failed.state, failed.cluster, failed.attribution) == (S.FAILED, "", None)
    assert world.nodes["east"].standing == {}
    assert world.kinds() == ["error"]
    assert world.cloud.check() == ()


def test_an_error_is_reported_with_whose_machine_it_was() -> None:
    world = doomed("m-1", call="configure")
    with pytest.raises(ProviderError):
        world.run(world.configure("m-1", "west"))

    assert world.events == [CloudEvent(world.clock.now_us(), "error", "m-1", "west", "f-1", "g-1")]


@pytest.mark.parametrize(
    ("call", "state"), [("create", S.SPECULATIVE), ("configure", S.IDLE), ("drain", S.IDLE), ("delete", S.IDLE)]
)
def test_a_failed_machine_is_replaced_by_a_fresh_one_of_its_tier(call: str, state: MachineState) -> None:
    world = doomed("m-1", call=call)
    with pytest.raises(ProviderError):
        world.run(getattr(world, call)("m-1"))
    failed = world.run(world.cloud.list(0))
    world.wait(CLEAN_UP_US / SECOND - 1)
    assert world.states() == {"m-1": S.FAILED}
    world.wait(1)

    listing = world.run(world.cloud.list(failed.revision))

    (fresh,) = listing.machines
    assert fresh == replace(failed.machines[0], state=state)
    assert listing.removed == ("m-1",)
    assert world.kinds() == ["error", "repair"]
    assert world.cloud.check() == ()


def test_a_failed_elastic_machine_goes_back_to_the_elastic_tier() -> None:
    world = SmallCloud(speculative("m-1"), errors={"configure": 0.999_999})
    world.run(world.create("m-1"))
    with pytest.raises(ProviderError):
        world.run(world.configure("m-1"))
    world.wait(61)

    assert world.run(world.cloud.list(0)).machines == (speculative("m-1"),)


def test_a_staged_call_that_fails_is_seen_in_the_listing_only() -> None:
    world = SmallCloud(idle("m-1"), acknowledge="staged", errors={"configure": 0.999_999})

    assert world.run(world.configure("m-1")).state is S.CONFIGURING
    world.wait(4)
    assert world.states() == {"m-1": S.FAILED}


def test_errors_come_as_often_as_they_should_and_by_machine() -> None:
    def failing(*machines: str) -> list[str]:
        world = SmallCloud(*map(idle, machines), acknowledge="staged", errors={"configure": 0.1})
        for machine in machines:
            world.run(world.configure(machine))
        world.wait(10)
        return [event.machine for event in world.events]

    fleet = [f"m-{n:04}" for n in range(1000)]
    failed = failing(*fleet)

    assert 70 <= len(failed) <= 130
    assert failing(*fleet[::2]) == [machine for machine in failed if machine in fleet[::2]]


# The elastic tier on scale-downs.


def test_shrinking_keeps_the_lowest_ids_of_the_elastic_tier() -> None:
    world = SmallCloud(configured("m-0"), idle("m-1"), *(speculative(f"m-{n}") for n in range(2, 9)))
    world.run(world.create("m-8"))
    before = world.run(world.cloud.list(0))

    gone = world.cloud.shrink(0.5)

    listing = world.run(world.cloud.list(before.revision))
    assert (gone, listing.machines, listing.removed) == (3, (), ("m-5", "m-6", "m-7"))
    assert sorted(world.states()) == ["m-0", "m-1", "m-2", "m-3", "m-4", "m-8"]
    assert world.cloud.check() == ()


def test_a_stage_with_every_kind_of_trouble_goes_the_same_way_twice() -> None:
    def play() -> tuple[list[CloudEvent], Listing]:
        world = SmallCloud(
            *(configured(f"m-{n:02}", CLUSTERS[n % 2]) for n in range(40)),
            *(speculative(f"m-{n:02}") for n in range(40, 80)),
            even=False,
            failure_rate_per_sec=1e-3,
            acknowledge="staged",
            errors={"create": 0.1, "configure": 0.1, "drain": 0.1},
            losses=({"atSeconds": 5.0, "everySeconds": 7.0, "repairSeconds": 20.0},),
            stockOuts=({"atSeconds": 20.0, "durationSeconds": 5.0},),
        )
        world.soak(seconds=100)
        for n in range(40, 80):
            outcome_of_create(world, f"m-{n:02}")
            world.wait(1)
        world.wait(200)
        return world.events, world.run(world.cloud.list(0))

    events, listing = play()
    assert (events, listing) == play()
    assert {*(event.kind for event in events)} == {"loss", "repair", "stock-out", "error"}
    assert MINE_WRITTEN in listing.metadata.values()
