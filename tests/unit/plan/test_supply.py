"""Demand against supply when priority is the only throttle."""

from sample_plans import archetype, catalog_of, plan_of, profile_of
from scaletest.plan.inventory import Inventory
from scaletest.plan.supply import Claim, Gap, gaps

_SEED = {"configuredFraction": 1.0, "speculativeMultiplier": 0, "idleHeadroomFraction": 0}


def _inventory(*archetypes: dict[str, object]) -> Inventory:
    kinds = [archetype(podsPerNode=10, **keys) for keys in archetypes]
    return plan_of(profile_of(seed=_SEED), catalog_of(*kinds)).inventory


def test_demand_that_fits_leaves_no_gap() -> None:
    inventory = _inventory({"name": "web"})
    assert inventory.machines == 4
    assert gaps(inventory, [Claim(0, 40, priority=1)]) == []
    assert gaps(inventory, [Claim(0, 41, priority=1)]) == [Gap(Claim(0, 41, priority=1), 1)]


def test_the_lower_priority_goes_short() -> None:
    inventory = _inventory({"name": "web"})
    low, high = Claim(0, 30, priority=1), Claim(0, 30, priority=2)
    assert gaps(inventory, [low, high]) == [Gap(low, 20)]


def test_machines_of_others_serve_when_their_type_is_acceptable() -> None:
    shared = _inventory({"name": "x"}, {"name": "y"})
    apart = _inventory({"name": "x"}, {"name": "y", "instanceTypes": ["other"]})
    claim = Claim(0, 40, priority=1)
    assert gaps(shared, [claim]) == []
    assert gaps(apart, [claim]) == [Gap(claim, 20)]


def test_own_machines_are_taken_first() -> None:
    inventory = _inventory({"name": "x"}, {"name": "y"})
    assert gaps(inventory, [Claim(1, 20, priority=2), Claim(0, 20, priority=1)]) == []
