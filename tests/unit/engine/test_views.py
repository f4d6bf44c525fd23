from scaletest.engine.decide import NO_MEMORY, Demand, Engine, Fleet
from scaletest.model import CapacityType, Machine, MachineState, Need, NeedProfile, PenaltyBucket, Resources

UNIT = Resources.of({"cpu": 1_000})
PROFILE = NeedProfile.of(requirements=(), priority=100, interruption=PenaltyBucket(1), reclamation=PenaltyBucket(1))


def test_what_a_row_asked_for_once_is_not_kept_for_ever() -> None:
    room = Resources.of({"cpu": 4_000})
    machine = Machine("m-1", MachineState.IDLE, "large", "zone-a", CapacityType.BARE_METAL, room)
    engine, memory = Engine(Fleet([machine])), NO_MEMORY

    for pods in range(1, 3_000):
        demand = Demand((Need("c", PROFILE, UNIT.times(pods), UNIT),), frozenset({"c"}))
        memory = engine.decide(demand, memory).memory

    assert len(engine._views._of) < 1_100
