import pytest

from scaletest.load.slots import NOBODY, SlotTable
from scaletest.ports.cluster import SEATS


def filled(*replicas: int) -> SlotTable:
    table = SlotTable()
    for count in replicas:
        holding = table.add(count)
        for _ in range(count):
            slot = holding.take()
            table.hold(slot, SEATS + slot)
    return table


def test_a_new_owners_pods_take_its_slots_in_order() -> None:
    table = filled(2, 3)

    assert list(table.pod_of) == [SEATS + slot for slot in range(5)]
    assert [table.owner_of(slot) for slot in range(5)] == [0, 0, 1, 1, 1]


def test_the_slot_that_was_vacated_first_is_inherited_first() -> None:
    table = filled(3)
    for slot in (2, 0):
        table.release(slot, table.holdings[0])

    assert [table.holdings[0].take() for _ in range(3)] == [2, 0, NOBODY]


def test_a_pod_that_reuses_a_seat_is_not_taken_for_the_one_before() -> None:
    table = filled(2)
    table.release(1, table.holdings[0])
    table.hold(table.holdings[0].take(), 2 * SEATS + 1)

    assert table.slot_of(SEATS + 1) == NOBODY
    assert table.slot_of(2 * SEATS + 1) == 1


def test_the_check_finds_a_slot_that_nobody_has_and_nobody_waits_for() -> None:
    table = filled(3)
    table.release(1, table.holdings[0])
    table.holdings[0].vacated.clear()

    with pytest.raises(AssertionError):
        table.check()


def test_the_check_finds_a_slot_that_is_held_and_vacated() -> None:
    table = filled(3)
    table.holdings[0].vacated.append(1)

    with pytest.raises(AssertionError):
        table.check()


def test_the_check_finds_a_pod_that_has_lost_its_slot() -> None:
    table = filled(3)
    table._slot_of[0] = 2

    with pytest.raises(AssertionError):
        table.check()
