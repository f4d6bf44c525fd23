"""A machine answers for its topology, its instance type and its labels under one name each."""

import pytest

from scaletest.model import CapacityType, Machine, MachineState, Resources
from scaletest.model.demand import INSTANCE_TYPE_KEY, RACK_KEY, ZONE_KEY


@pytest.mark.parametrize(
    ("key", "value"), [(ZONE_KEY, "a"), (INSTANCE_TYPE_KEY, "m6i.large"), (RACK_KEY, "a-r3"), ("team", None)]
)
def test_label(key: str, value: str | None) -> None:
    machine = Machine(
        id="m-00000001",
        state=MachineState.IDLE,
        instance_type="m6i.large",
        zone="a",
        capacity_type=CapacityType.BARE_METAL,
        allocatable=Resources(),
        labels=((RACK_KEY, "a-r3"),),
    )
    assert machine.label(key) == value
