"""Archetypes compiled from files: what a machine offers, how many Pods it holds, under which identity they are seen."""

from fractions import Fraction

import pytest

from sample_plans import archetype, catalog_of, shipped_catalog
from scaletest.catalog import Archetype, archetypes_of
from scaletest.model import Operator, Resources, Spread
from scaletest.model.demand import INSTANCE_TYPE_KEY, RACK_KEY, ZONE_KEY

_GPU = {"cpu": "8", "nvidia.com/gpu": "1"}
_ZONE_SPREAD = {"topologyKey": ZONE_KEY, "maxSkew": 2, "whenUnsatisfiable": "DoNotSchedule"}


def _kind(**keys: object) -> Archetype:
    (kind,) = archetypes_of(catalog_of(archetype(**keys)))
    return kind


@pytest.mark.parametrize(
    ("keys", "per_machine"),
    [({}, 100), ({"podsPerNode": 8}, 8), ({"resources": _GPU}, 1), ({"resources": _GPU, "podsPerNode": 8}, 8)],
)
def test_pods_per_machine_is_stated_or_one_for_devices_or_the_density(
    keys: dict[str, object], per_machine: int
) -> None:
    assert _kind(**keys).pods_per_machine(100) == per_machine


def test_a_machine_offers_density_times_its_size() -> None:
    (kind, *_) = archetypes_of(shipped_catalog("realistic"))
    assert kind.allocatable(size=0, density=100) == Resources.parse({"cpu": "40", "memory": "50000Mi"})
    assert kind.allocatable(size=1, density=100) == Resources.parse({"cpu": "30", "memory": "38400Mi"})


def test_devices_scale_only_where_pods_share_them() -> None:
    assert _kind(resources=_GPU).allocatable(size=0, density=100) == Resources.parse(_GPU)
    shared = _kind(resources=_GPU, podsPerNode=8).allocatable(size=0, density=100)
    assert shared == Resources.parse({"cpu": "64", "nvidia.com/gpu": "8"})


def test_a_gang_shares_the_rack_or_the_zone_it_names() -> None:
    rack = _kind(sameRack=True, groupSizeRange=[2, 8])
    zone = _kind(sameZone=True, groupSizeRange=[4, 8])
    assert rack.need_profile(priority=1, spread=False).same_key == RACK_KEY
    assert zone.need_profile(priority=1, spread=False).same_key == ZONE_KEY


def test_equal_demand_has_one_profile_and_other_demand_another() -> None:
    kind = _kind(labelAxes=[{"key": "example.com/team", "count": 3}])
    wanted = kind.need_profile(priority=1, spread=False, axes=(2,))
    assert kind.need_profile(priority=1, spread=False, axes=(2,)) is wanted
    assert kind.need_profile(priority=2, spread=False, axes=(2,)).priority == 2
    assert kind.need_profile(priority=1, spread=False, axes=(1,)) != wanted


def test_only_a_hard_spread_becomes_demand_and_only_when_drawn() -> None:
    hard = _kind(spreadConstraint=_ZONE_SPREAD, spreadConstraintProb=0.5)
    soft = _kind(spreadConstraint={**_ZONE_SPREAD, "whenUnsatisfiable": "ScheduleAnyway"}, spreadConstraintProb=0.5)
    assert hard.need_profile(priority=1, spread=True).spread == (Spread(ZONE_KEY, 2),)
    assert hard.need_profile(priority=1, spread=False).spread == ()
    assert soft.spread is None


def test_a_pod_asks_for_its_instance_types_its_zones_and_its_label_values() -> None:
    kind = _kind(labelAxes=[{"key": "example.com/team", "count": 3}])
    wanted = kind.need_profile(priority=1, spread=False, axes=(2,)).requirements
    assert [(r.key, r.operator, r.values) for r in wanted] == [
        ("example.com/team", Operator.IN, ("team-2",)),
        (INSTANCE_TYPE_KEY, Operator.IN, ("small",)),
        (ZONE_KEY, Operator.IN, ("a", "b", "c")),
    ]


def test_money_and_time_are_whole_numbers() -> None:
    kind = _kind(interruptionPenalty=0.3, reclamationPenalty=8192, meanLifetimeSeconds=600)
    assert kind.interruption_penalty_uusd == 300_000
    assert kind.reclamation_penalty_uusd == 8_192_000_000
    assert kind.mean_lifetime_us == 600_000_000


def test_weights_of_the_realistic_catalog_follow_from_its_machine_shares() -> None:
    """The calibration's own rule: weight is in proportion to machine share x Pods per machine / mean replicas."""
    kinds = {a.name: a for a in archetypes_of(shipped_catalog("realistic"))}
    tiny, service = kinds["tiny-stateless"], kinds["cpu-service"]
    assert abs(Fraction(tiny.weight, service.weight) - Fraction("66.4") / Fraction("11.4")) < Fraction(1, 50)
