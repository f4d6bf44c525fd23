from scaletest.world.sim.agenda import Agenda
from scaletest.world.sim.loop import VirtualClock, VirtualLoop


class _Stage:
    """An agenda, and at which own and which world's instant its things were done."""

    def __init__(self) -> None:
        self.loop = VirtualLoop()
        self.agenda = Agenda(self.loop)
        self.done: list[tuple[str, int, int]] = []

    def do(self, name: str) -> None:
        self.done.append((name, self.agenda.now_us, self.loop.now_us()))

    def add(self, at_us: int, name: str) -> None:
        self.agenda.add(at_us, self.do, name)

    def pass_time(self, until_us: int) -> None:
        self.loop.run_until_complete(VirtualClock(self.loop).sleep_until(until_us))


def test_what_is_due_is_done_when_somebody_looks_each_thing_at_its_own_instant() -> None:
    stage = _Stage()
    stage.add(20, "second")
    stage.add(10, "first")
    stage.add(20, "third")
    stage.add(101, "not yet")
    stage.pass_time(100)
    assert stage.done == []

    stage.agenda.catch_up()

    assert stage.done == [("first", 10, 100), ("second", 20, 100), ("third", 20, 100)]
    assert stage.agenda.now_us == 100


def test_what_is_due_now_is_done_now_and_so_is_what_comes_of_it() -> None:
    stage = _Stage()
    stage.agenda.add(10, stage.add, 30, "late")
    stage.agenda.add(10, stage.add, 20, "soon")
    stage.pass_time(30)

    stage.agenda.catch_up()

    assert stage.done == [("soon", 20, 30), ("late", 30, 30)]


def test_things_are_done_at_their_instants_while_somebody_waits_for_them() -> None:
    stage = _Stage()
    stage.add(50, "before")
    stage.agenda.wait()
    stage.add(20, "earlier")
    stage.pass_time(60)
    assert stage.done == [("earlier", 20, 20), ("before", 50, 50)]

    stage.agenda.wait_no_more()
    stage.add(70, "unseen")
    stage.pass_time(100)
    assert len(stage.done) == 2

    stage.agenda.wait()
    stage.pass_time(101)
    assert stage.done[2:] == [("unseen", 70, 100)]
