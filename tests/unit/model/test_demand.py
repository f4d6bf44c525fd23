"""The identity of demand: one canonical form, equal fingerprints for equal demand, groups that name a cluster."""

from dataclasses import replace
from itertools import permutations

import pytest

from scaletest.model import NeedProfile, Operator, PenaltyBucket, Requirement, Spread, group_name
from scaletest.model.demand import INSTANCE_TYPE_KEY, RACK_KEY, ZONE_KEY

_TYPES = Requirement(INSTANCE_TYPE_KEY, Operator.IN, ("m6i.large", "m6i.xlarge"))
_ZONES = Requirement(ZONE_KEY, Operator.IN, ("a", "b", "c"))
_RACK = Requirement(RACK_KEY, Operator.SAME)
_SPREADS = (Spread(RACK_KEY, 2), Spread(ZONE_KEY, 1))


def _profile(
    *requirements: Requirement,
    spread: tuple[Spread, ...] = (),
    priority: int = 100,
    penalties: tuple[int, int] = (7, 8),
) -> NeedProfile:
    interruption, reclamation = penalties
    return NeedProfile.of(
        requirements=requirements,
        spread=spread,
        priority=priority,
        interruption=PenaltyBucket(interruption),
        reclamation=PenaltyBucket(reclamation),
    )


def test_the_order_in_which_demand_is_written_does_not_matter() -> None:
    fingerprints = {_profile(*order, spread=_SPREADS).fingerprint for order in permutations([_TYPES, _ZONES, _RACK])}
    fingerprints |= {_profile(_TYPES, _ZONES, _RACK, spread=_SPREADS[::-1]).fingerprint}
    assert len(fingerprints) == 1


def test_values_are_sorted_and_listed_once() -> None:
    shuffled = Requirement(ZONE_KEY, Operator.IN, ("c", "a", "b", "a"))
    assert _profile(shuffled) == _profile(_ZONES)
    assert _profile(shuffled).requirements[0].values == ("a", "b", "c")


@pytest.mark.parametrize(
    "other",
    [
        _profile(_TYPES, _ZONES, priority=1000),
        _profile(_TYPES, _ZONES, penalties=(8, 8)),
        _profile(_TYPES, _ZONES, penalties=(7, 9)),
        _profile(_TYPES, _ZONES, penalties=(8, 7)),
        _profile(_TYPES, _ZONES, _RACK),
        _profile(_TYPES),
        _profile(_TYPES, replace(_ZONES, operator=Operator.NOT_IN)),
        _profile(_TYPES, replace(_ZONES, values=("a", "b"))),
        _profile(_TYPES, replace(_ZONES, values=("a", "b,c"))),
        _profile(_TYPES, _ZONES, spread=(Spread(ZONE_KEY, 1),)),
        _profile(_TYPES, _ZONES, spread=(Spread(ZONE_KEY, 2),)),
        _profile(_TYPES, _ZONES, spread=(Spread(RACK_KEY, 1),)),
    ],
)
def test_unequal_demand_has_unequal_fingerprints(other: NeedProfile) -> None:
    assert other.fingerprint != _profile(_TYPES, _ZONES).fingerprint


def test_a_fingerprint_fits_a_label_value_and_never_changes() -> None:
    fingerprint = _profile(_TYPES, _ZONES, _RACK, spread=_SPREADS).fingerprint
    assert fingerprint == "12dced7434c4a6299c7eb8f5"


def test_without_its_same_requirement_a_gang_is_plain_demand() -> None:
    gang = _profile(_TYPES, _ZONES, _RACK)
    assert gang.same_key == RACK_KEY
    assert gang.without_same.same_key is None
    assert gang.without_same.fingerprint == _profile(_TYPES, _ZONES).fingerprint
    assert gang.without_same.without_same == gang.without_same


def test_two_same_requirements_are_refused() -> None:
    with pytest.raises(ValueError, match="at most one Same requirement"):
        _profile(_RACK, Requirement(ZONE_KEY, Operator.SAME))


def test_gangs_of_two_clusters_never_share_a_group() -> None:
    assert group_name("cluster-0001", "gpu-training-small-7") == "cluster-0001/gpu-training-small-7"
    assert group_name("cluster-0001", "w-1") != group_name("cluster-0002", "w-1")
