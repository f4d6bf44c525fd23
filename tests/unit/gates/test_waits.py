"""Waits: sorted once, and still sorted in whatever is picked from them."""

from dataclasses import replace
from math import inf

from scaletest.evidence import RequestRow
from scaletest.gates.case import Case
from scaletest.gates.staging import Scene, staged_evidence, staged_test
from scaletest.gates.waits import Waits, all_waits


def _case(*rows: RequestRow) -> Case:
    test = staged_test()
    return Case(test, replace(staged_evidence(test, Scene()), requests=rows))


def _row(waited_us: int | None, *, cluster: int = 0, path: str = "present", requested_us: int = 0) -> RequestRow:
    row = next(row for row in _STAGED.samples if row.state == "bound")
    state = "waiting" if waited_us is None else "bound"
    start = row.planned_us
    bound = None if waited_us is None else start + waited_us
    return row._replace(
        cluster=cluster, path=path, state=state, appeared_us=start, bound_us=bound, requested_us=start + requested_us
    )


_STAGED = Case(staged_test(), staged_evidence(staged_test(), Scene()))


def _waits() -> Waits:
    return all_waits(
        _case(
            _row(3_000_000, cluster=1, path="new-machine"),
            _row(1_000_000, cluster=2),
            _row(None, cluster=1, path=""),
            _row(2_000_000, cluster=1, requested_us=2_000_001),
        )
    )


def test_groups_and_picks_keep_the_order_of_the_whole() -> None:
    waits = _waits()
    assert [low for low, _ in waits.times[:3]] == [1.0, 2.0, 3.0]
    assert [low for low, _ in waits.by_cluster["cluster 1"][:2]] == [2.0, 3.0]
    assert [row.cluster for row in waits.where(lambda row: row.path == "present").rows] == [2, 1]
    assert {path: len(times) for path, times in waits.by_path.items()} == {"present": 2, "new-machine": 1, "": 1}


def test_one_that_still_waits_has_no_upper_edge() -> None:
    assert _waits().times[-1][1] == inf
    assert _waits().since_plan[-1][1] == inf


def test_a_bind_before_its_request_is_counted() -> None:
    assert _waits().early == 1


def test_what_was_found_once_is_not_searched_for_again() -> None:
    case, asked = _case(), []

    def find(case: Case) -> int:
        asked.append(case)
        return 7

    assert (case.once(find), case.once(find), len(asked)) == (7, 7, 1)
    assert all_waits(case) is all_waits(case)
