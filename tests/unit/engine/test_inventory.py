"""What the engine knows of machines: listings against actions in flight."""

from dataclasses import replace

from loop.engine_cluster import template
from loop.engine_provider import S, machine

from scaletest.engine.decide import Fleet
from scaletest.engine.inventory import Inventory
from scaletest.engine.metrics import EngineMetrics
from scaletest.engine.rows import profile_of
from scaletest.model import Attribution, Machine
from scaletest.model.attribution import attribution_for, attribution_metadata
from scaletest.model.lifecycle import advance
from scaletest.ports.provider import Listing

MARK = attribution_for(profile_of(template()), "c1/gang")
OTHER = Attribution("other")


def inventory_of(*machines: Machine) -> Inventory:
    metrics = EngineMetrics(bars={}, resident_bytes=lambda: 0)
    inventory = Inventory(Fleet(), metrics=metrics, moved=metrics.moved)
    tell(inventory, *machines, full=True)
    return inventory


def tell(
    inventory: Inventory,
    *machines: Machine,
    removed: tuple[str, ...] = (),
    metadata: dict[str, dict[str, str]] | None = None,
    full: bool = False,
) -> None:
    inventory.asked()
    inventory.told(Listing(1, machines, removed, metadata or {}), full=full)


def bound(name: str, mark: Attribution | None = None) -> Machine:
    return replace(machine(name, S.CONFIGURED, cluster="c1"), attribution=mark)


def test_a_machine_that_is_not_known_is_whose_the_provider_stored() -> None:
    inventory = inventory_of()

    tell(inventory, bound("m"), metadata={"m": attribution_metadata(MARK)})

    assert inventory.get("m") == bound("m", MARK)


def test_a_bound_machine_that_is_known_stays_whose_it_is() -> None:
    inventory = inventory_of(bound("m"))
    inventory.put(bound("m", MARK))

    tell(inventory, advance(bound("m"), S.DRAINING), metadata={"m": attribution_metadata(OTHER)})

    assert inventory.get("m") == advance(bound("m", MARK), S.DRAINING)


def test_a_machine_that_was_drained_is_nobodys() -> None:
    inventory = inventory_of(bound("m"))
    inventory.put(bound("m", MARK))

    tell(inventory, machine("m"))

    assert inventory.get("m") == machine("m")


def test_a_listing_does_not_touch_a_busy_machine_but_is_taken_in_afterwards() -> None:
    inventory = inventory_of(machine("m"))
    inventory.begin("m")
    inventory.put(advance(machine("m"), S.CONFIGURING, cluster="c1", attribution=MARK))

    tell(inventory, removed=("m",))
    assert inventory.get("m") is not None
    inventory.end("m")
    tell(inventory)

    assert inventory.get("m") is None


def test_a_listing_that_was_on_its_way_when_an_answer_came_waits_for_the_next_one() -> None:
    inventory = inventory_of(machine("m"))
    inventory.begin("m")
    inventory.asked()
    inventory.answered(bound("m", MARK))
    inventory.end("m")

    inventory.told(Listing(2, (machine("m"),), (), {}), full=False)
    assert inventory.get("m") == bound("m", MARK), "the listing may be older than the answer"
    tell(inventory, bound("m"))

    assert inventory.get("m") == bound("m", MARK), "and it was"


def test_a_listing_that_was_newer_than_the_answer_is_believed_when_the_next_one_does_not_correct_it() -> None:
    inventory = inventory_of(machine("m"))
    inventory.begin("m")
    inventory.asked()
    inventory.answered(bound("m", MARK))
    inventory.end("m")

    inventory.told(Listing(2, (), ("m",), {}), full=False)
    tell(inventory)

    assert inventory.get("m") is None


def test_without_an_answer_a_machine_is_where_the_provider_last_said() -> None:
    inventory = inventory_of(machine("m"), machine("n"))
    for name in ("m", "n"):
        inventory.begin(name)
        inventory.put(advance(machine(name), S.CONFIGURING, cluster="c1", attribution=MARK))
    under_way = replace(machine("n"), state=S.CONFIGURING, cluster="c1")
    tell(inventory, under_way)

    inventory.put_back("m")
    inventory.put_back("n")

    assert inventory.get("m") == machine("m"), "the request was lost"
    assert inventory.get("n") == replace(under_way, attribution=MARK), "only the answer was"


def test_a_full_listing_takes_away_what_it_does_not_have() -> None:
    inventory = inventory_of(machine("m"), machine("n"))

    tell(inventory, machine("n"), full=True)

    assert inventory.get("m") is None
    assert inventory.take_changes() == ((machine("n"),), ("m",))


def test_a_record_that_makes_no_sense_is_counted_and_the_last_good_one_stays() -> None:
    inventory = inventory_of(machine("m"))

    tell(inventory, replace(machine("m"), cluster="c1"), replace(machine("n"), price_uusd_per_hour=-1))

    assert inventory.get("m") == machine("m")
    assert inventory.get("n") is None
    assert inventory._metrics.rejected == {"interruption_probability": 0, "price": 1, "quantity": 0, "structural": 1}


def test_without_an_answer_and_with_a_listing_that_makes_no_sense_the_last_good_record_stands() -> None:
    inventory = inventory_of(machine("m"))
    inventory.begin("m")
    inventory.put(advance(machine("m"), S.CONFIGURING, cluster="c1", attribution=MARK))
    tell(inventory, replace(machine("m"), interruption_ppm=-1))

    inventory.put_back("m")

    assert inventory.get("m") == machine("m")


def test_what_was_known_of_a_machine_that_went_and_came_back_is_void() -> None:
    inventory = inventory_of(bound("m"))
    inventory.put(bound("m", MARK))

    tell(inventory, bound("m"), removed=("m",), metadata={"m": attribution_metadata(OTHER)})

    assert inventory.get("m") == bound("m", OTHER)


def test_a_busy_machine_that_went_and_came_back_is_there_afterwards() -> None:
    inventory = inventory_of(bound("m"))
    inventory.begin("m")
    tell(inventory, removed=("m",))
    tell(inventory, machine("m"))
    inventory.end("m")

    tell(inventory)

    assert inventory.get("m") == machine("m")
