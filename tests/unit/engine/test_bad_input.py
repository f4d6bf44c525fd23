"""Bad input is refused with a count or answered correctly; nothing is raised out of decide, and no machine is lost."""

import math
from dataclasses import replace
from typing import Any, cast

import pytest

from scaletest.engine.decide import NO_RAILS, Demand, Engine, Fleet, Kind, decide
from scaletest.engine.decide.admission import Fault, Rejection, read_machine
from scaletest.model import (
    Attribution,
    CapacityType,
    Machine,
    MachineState,
    Need,
    NeedProfile,
    PenaltyBucket,
    Resources,
)

ONE = Resources.of({"cpu": 1000})
NOTHING = PenaltyBucket(1)
PROFILE = NeedProfile.of(requirements=(), priority=5, interruption=NOTHING, reclamation=NOTHING)
GOOD = Machine(
    id="good",
    state=MachineState.IDLE,
    instance_type="t",
    zone="z",
    capacity_type=CapacityType.BARE_METAL,
    allocatable=ONE,
)
BAD = [
    ("NaN price", {"price_uusd_per_hour": math.nan}, Fault.PRICE),
    ("negative price", {"price_uusd_per_hour": -1}, Fault.PRICE),
    ("impossible probability", {"interruption_ppm": 1_000_001}, Fault.PROBABILITY),
    ("NaN probability", {"interruption_ppm": math.nan}, Fault.PROBABILITY),
    ("unknown state", {"state": "Unspecified"}, Fault.STRUCTURE),
    ("negative resources", {"allocatable": Resources((("cpu", -5),))}, Fault.QUANTITY),
    ("fractional resources", {"allocatable": Resources((("cpu", cast("int", 0.5)),))}, Fault.QUANTITY),
    ("no resources at all", {"allocatable": None}, Fault.QUANTITY),
    ("no id", {"id": ""}, Fault.STRUCTURE),
    ("a number for an id", {"id": 7}, Fault.STRUCTURE),
    ("labels as a list", {"labels": [("a", "b")]}, Fault.STRUCTURE),
    ("unknown capacity type", {"capacity_type": "Borrowed"}, Fault.STRUCTURE),
    ("unknown attribution", {"attribution": "mine"}, Fault.STRUCTURE),
    ("attribution that cannot be compared", {"attribution": Attribution(cast("str", ["x"]))}, Fault.STRUCTURE),
    ("Configured for nobody", {"state": MachineState.CONFIGURED}, Fault.STRUCTURE),
    ("Idle for somebody", {"cluster": "c"}, Fault.STRUCTURE),
]


def demand(units: int) -> Demand:
    return Demand((Need("c", PROFILE, ONE.times(units), ONE),), frozenset({"c"}))


@pytest.mark.parametrize(("changes", "fault"), [pytest.param(c, f, id=name) for name, c, f in BAD])
def test_a_senseless_record_is_refused_and_counted(changes: dict[str, Any], fault: Fault) -> None:
    bad = replace(GOOD, **{"id": "bad", **changes})
    fleet = Fleet([GOOD, bad])

    decisions = Engine(fleet, settings=NO_RAILS).decide(demand(2))

    assert decisions.of_kind(Kind.BOOTSTRAP) == ("good",)
    assert fleet.rejections == {fault: 1}
    assert fleet.rejected[str(bad.id)].reason is fault
    assert fleet.rejected[str(bad.id)].sentence


def test_a_known_machine_keeps_its_last_good_record() -> None:
    fleet = Fleet([GOOD])
    fleet.apply([replace(GOOD, price_uusd_per_hour=cast("int", math.nan))])

    assert fleet.machines["good"] == GOOD
    assert fleet.rejections == {Fault.PRICE: 1}

    fleet.apply([replace(GOOD, price_uusd_per_hour=3)])

    assert fleet.machines["good"].price_uusd_per_hour == 3
    assert not fleet.rejected


def test_a_refused_machine_that_goes_away_is_forgotten() -> None:
    fleet = Fleet([replace(GOOD, interruption_ppm=-1)])
    fleet.apply(removed=["good", "never-there"])

    assert not fleet.rejected
    assert len(fleet) == 0


def test_the_same_id_twice_is_one_machine() -> None:
    fleet = Fleet([GOOD, replace(GOOD, price_uusd_per_hour=7)])

    assert len(fleet) == 1
    assert Engine(fleet, settings=NO_RAILS).decide(demand(2)).of_kind(Kind.BOOTSTRAP) == ("good",)


@pytest.mark.parametrize("amount", [-1, 0, 0.5, math.nan])
def test_a_row_with_senseless_amounts_is_refused_and_counted(amount: float) -> None:
    bad = Need("c", PROFILE, Resources((("cpu", cast("int", amount)),)), ONE, "x")
    good = demand(1)

    decisions = decide([GOOD], replace(good, rows=(*good.rows, bad)), settings=NO_RAILS)

    assert decisions.of_kind(Kind.BOOTSTRAP) == ("good",)
    assert [(refusal.rule, refusal.machines) for refusal in decisions.refusals if refusal.rule == "bad-row"] == [
        ("bad-row", 1)
    ]


def test_a_senseless_row_is_refused_in_every_cycle_that_brings_it() -> None:
    bad = Need("c", PROFILE, Resources((("cpu", 0),)), ONE, "x")
    engine = Engine(Fleet([GOOD]), settings=NO_RAILS)
    rows = replace(demand(1), rows=(*demand(1).rows, bad))

    refused = [[refusal.rule for refusal in engine.decide(rows).refusals].count("bad-row") for _ in range(3)]

    assert refused == [1, 1, 1]


def test_a_row_that_asks_for_nothing_gets_nothing_and_is_not_short() -> None:
    decisions = decide([GOOD], Demand((Need("c", PROFILE, Resources(), Resources()),)), settings=NO_RAILS)

    assert decisions.actions == ()
    assert not decisions.outcomes[0].deficit


def test_a_resource_no_machine_has_is_a_shortfall() -> None:
    gpu = Resources.of({"nvidia.com/gpu": 8})
    decisions = decide([GOOD], Demand((Need("c", PROFILE, gpu, Resources()),)), settings=NO_RAILS)

    # With no unit to hold, the machine suits; it is taken and does not help.
    assert decisions.shortfalls[0].missing == gpu


def test_the_same_row_in_another_cycle_is_read_the_same() -> None:
    machines = [replace(GOOD, id=f"m{n}") for n in range(5)]
    engine = Engine(Fleet(machines), settings=NO_RAILS)
    one, two = demand(1), demand(2)

    taken = [
        len(engine.decide(rows).of_kind(Kind.BOOTSTRAP)) for rows in (one, two, one, Demand((*one.rows, *two.rows)))
    ]

    assert taken == [1, 2, 1, 3]


def test_rows_of_one_key_are_added_up() -> None:
    row = demand(1).rows[0]
    machines = [replace(GOOD, id=f"m{n}") for n in range(5)]

    decisions = decide(machines, Demand((row, row, row)), settings=NO_RAILS)

    assert len(decisions.outcomes) == 1
    assert len(decisions.of_kind(Kind.BOOTSTRAP)) == 3


RECORD: dict[str, object] = {
    "id": "m1",
    "state": "Configured",
    "instanceType": "t",
    "zone": "z",
    "capacityType": "Spot",
    "resources": {"cpu": "400m", "memory": "1Gi"},
    "labels": {"b": "2", "a": "1"},
    "pricePerHour": 0.25,
    "interruptionProbability": 0.05,
    "cluster": "c",
    "shardMetadata": {"bigfleet.lucy.sh/assigned-group": "c/g", "bigfleet.lucy.sh/assigned-priority": "7"},
}


def test_a_listed_record_is_read_exactly() -> None:
    machine = read_machine(RECORD)

    assert isinstance(machine, Machine)
    assert machine.allocatable == Resources.of({"cpu": 400, "memory": 1 << 30})
    assert machine.labels == (("a", "1"), ("b", "2"))
    assert (machine.price_uusd_per_hour, machine.interruption_ppm) == (250_000, 50_000)
    assert machine.attribution is not None
    assert (machine.attribution.group, machine.attribution.priority) == ("c/g", 7)


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"resources": {"cpu": "4 cores"}}, Fault.QUANTITY),
        ({"resources": {"cpu": "-4"}}, Fault.QUANTITY),
        ({"resources": "lots"}, Fault.STRUCTURE),
        ({"pricePerHour": math.nan}, Fault.PRICE),
        ({"pricePerHour": -1}, Fault.PRICE),
        ({"pricePerHour": "free"}, Fault.PRICE),
        ({"interruptionProbability": 1.5}, Fault.PROBABILITY),
        ({"state": "Unspecified"}, Fault.STRUCTURE),
        ({"capacityType": "Borrowed"}, Fault.STRUCTURE),
        ({"cluster": ""}, Fault.STRUCTURE),
        ({"id": None, "state": None}, Fault.STRUCTURE),
    ],
)
def test_an_unreadable_record_is_refused_with_a_reason(changes: dict[str, object], fault: Fault) -> None:
    refusal = read_machine({**RECORD, **changes})

    assert isinstance(refusal, Rejection)
    assert refusal.reason is fault
    assert refusal.sentence
