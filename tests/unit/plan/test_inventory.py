"""The seeded machines: where they stand, what they are built for, what they cost, in which order they are kept."""

from collections import Counter
from fractions import Fraction

import pytest

from sample_plans import archetype, catalog_of, plan_of, profile_of, shipped_plan
from scaletest.catalog.sizing import apportion
from scaletest.model import CapacityType, Machine, MachineState
from scaletest.model.demand import RACK_KEY
from scaletest.plan.inventory import Inventory, Seat, Tier

_SEED = {"configuredFraction": 1.0, "speculativeMultiplier": 2, "idleHeadroomFraction": 0.5, "spotCount": 7}


def _dev() -> Inventory:
    return shipped_plan("dev-50").inventory


def _seats(name: str, *, cluster: int = 0) -> list[Seat]:
    inventory = _dev()
    at = [a.name for a in inventory.sizing.archetypes].index(name)
    return [seat for seat in inventory.configured_seats(cluster) if seat.archetype == at]


def test_ordinals_run_through_configured_by_cluster_then_idle_speculative_and_spot() -> None:
    inventory = plan_of(profile_of(seed=_SEED)).inventory
    tiers = [
        *(machine for n in range(2) for machine in inventory.configured_seats(n)),
        *inventory.shared_seats(Tier.IDLE),
        *inventory.shared_seats(Tier.SPECULATIVE),
        *inventory.shared_seats(Tier.SPOT),
    ]
    assert [seat.ordinal for seat in tiers] == list(range(inventory.machines))
    assert [seat.machine_id for seat in tiers] == sorted(seat.machine_id for seat in tiers)


@pytest.mark.parametrize(
    ("tier", "terms"),
    [
        (Tier.CONFIGURED, (MachineState.CONFIGURED, CapacityType.BARE_METAL, 0, 0)),
        (Tier.IDLE, (MachineState.IDLE, CapacityType.BARE_METAL, 0, 0)),
        (Tier.SPECULATIVE, (MachineState.SPECULATIVE, CapacityType.ON_DEMAND, 1_000_000, 50_000)),
        (Tier.SPOT, (MachineState.SPECULATIVE, CapacityType.SPOT, 300_000, 300_000)),
    ],
)
def test_price_and_risk_of_a_tier(tier: Tier, terms: tuple[MachineState, CapacityType, int, int]) -> None:
    plan = plan_of(profile_of(seed=_SEED))
    machines: list[Machine] = list(plan.cluster(0).machines())
    if tier is not Tier.CONFIGURED:
        machines = [plan.inventory.machine(seat, tier) for seat in plan.inventory.shared_seats(tier)]
    assert machines
    assert {(m.state, m.capacity_type, m.price_uusd_per_hour, m.interruption_ppm) for m in machines} == {terms}


def test_routing_flips_at_two_dollars_eighty() -> None:
    on_demand, spot = (1_000_000, 50_000), (300_000, 300_000)  # price and parts per million, as above
    cost = [price + 2.8e6 * ppm / 1e6 for price, ppm in (on_demand, spot)]
    assert cost[0] == pytest.approx(cost[1])


def test_only_configured_machines_have_a_cluster_and_an_attribution() -> None:
    plan = shipped_plan("dev-50")
    assert all(m.cluster == "cluster-0001" and m.attribution for m in plan.cluster(1).machines())
    shared = list(plan.inventory.shared_machines())
    assert len(shared) == 760 + 3_070
    assert not any(m.cluster or m.attribution for m in shared)


@pytest.mark.parametrize("name", ["tiny-stateless", "cpu-service", "cpu-batch"])
def test_the_size_mix_of_a_cluster_is_the_catalogs_exactly(name: str) -> None:
    kind = next(a for a in _dev().sizing.archetypes if a.name == name)
    for cluster in range(2):
        sizes = Counter(seat.size for seat in _seats(name, cluster=cluster))
        wanted = apportion(sizes.total(), [Fraction(size.weight) for size in kind.sizes])
        assert [sizes[n] for n in range(len(wanted))] == wanted


@pytest.mark.parametrize("name", [a.name for a in shipped_plan("dev-50").archetypes if a.gang is None])
def test_zones_are_even_in_number_and_in_size(name: str) -> None:
    zones = Counter(seat.zone for seat in _seats(name))
    assert max(zones.values()) - min(zones[zone] for zone in "abc") <= 1
    offered = {zone: sum(s.allocatable["cpu"] for s in _seats(name) if s.zone == zone) for zone in zones}
    largest = max(s.allocatable["cpu"] for s in _seats(name))
    assert max(offered.values()) - min(offered.values()) <= largest


def test_every_zone_sees_every_instance_type() -> None:
    seen = {(seat.zone, seat.instance_type) for seat in _seats("gpu-inference")}
    assert len(seen) == 3 * 2


def test_rack_gangs_stand_in_contiguous_blocks_of_their_largest_gang() -> None:
    seats = _seats("gpu-training-small")
    blocks = [seats[start : start + 4] for start in range(0, len(seats), 4)]
    assert all(len({seat.rack for seat in block}) == 1 for block in blocks)
    assert [block[0].zone for block in blocks[:4]] == ["a", "b", "c", "a"]
    assert [block[0].rack for block in blocks[:4]] == ["a-r0", "b-r0", "c-r0", "a-r1"]


def test_zone_gangs_and_plain_machines_go_round_zones_and_ten_racks() -> None:
    seats = _seats("gpu-inference")
    assert [seat.rack for seat in seats[:4]] == ["a-r0", "b-r0", "c-r0", "a-r1"]
    assert len({seat.rack for seat in seats}) == 30
    assert {seat.zone for seat in _seats("gpu-training-medium")} == {"a", "b", "c"}


def test_clusters_with_fewer_machines_than_zones_do_not_all_leave_out_the_same_zone() -> None:
    zones = {seat.zone for cluster in range(2) for seat in _seats("critical-realtime", cluster=cluster)}
    assert len(_seats("critical-realtime")) == 1
    assert len(zones) == 2


def test_drawn_sizes_are_random_and_dealt_ones_are_not() -> None:
    dealt = [[s.size for s in shipped_plan("dev-50", seed=n).inventory.configured_seats(0)] for n in (1, 2)]
    drawn = [[s.size for s in shipped_plan("dev-50-field", seed=n).inventory.configured_seats(0)] for n in (1, 2)]
    assert dealt[0] == dealt[1]
    assert drawn[0] != drawn[1]


def test_a_last_cluster_that_is_smaller_has_fewer_machines() -> None:
    profile = profile_of(scale={"machines": 10, "density": 10, "podsPerCluster": 60})
    inventory = plan_of(profile, catalog_of(archetype(podsPerNode=1))).inventory
    assert (inventory.configured(0), inventory.configured(1)) == ((60,), (40,))
    assert inventory.configured_total == (100,)
    assert [seat.ordinal for seat in inventory.configured_seats(1)] == list(range(60, 100))


def test_label_values_are_drawn_for_every_machine() -> None:
    plan = plan_of(
        profile_of(seed=_SEED), catalog_of(archetype(podsPerNode=1, labelAxes=[{"key": "x/team", "count": 3}]))
    )
    machines = list(plan.cluster(0).machines())
    assert {machine.label("x/team") for machine in machines} == {"team-0", "team-1", "team-2"}
    assert all(machine.label(RACK_KEY) for machine in machines)


def test_an_absolute_count_replaces_the_multiplier() -> None:
    seed = {"speculativeMultiplier": 0, "speculativeCount": 11}
    assert plan_of(profile_of(seed=seed)).inventory.speculative == (11,)


def _racks(**seed: object) -> Counter[str]:
    kind = archetype(name="gang", sameRack=True, groupSizeRange=[4, 4], zones=["a"])
    plan = plan_of(profile_of(seed={"configuredFraction": 1.0, **seed}), catalog_of(kind))
    return Counter(seat.rack for seat in plan.inventory.configured_seats(0))


def test_a_rack_holds_the_largest_gang_unless_the_profile_scatters_its_machines() -> None:
    assert set(_racks().values()) == {4}
    assert max(_racks(rackBlock=1, racksPerZone=100).values()) == 1


def test_machines_go_round_the_racks_of_a_zone() -> None:
    assert set(_racks(rackBlock=1, racksPerZone=2)) == {"a-r0", "a-r1"}
