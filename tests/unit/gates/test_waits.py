"""Waits: gone through once, and every pick and group of them adds up."""

from dataclasses import replace

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


def test_groups_and_picks_hold_the_waits_of_their_own_requests() -> None:
    waits = _waits()
    assert [waits.all.quantile(share).low for share in (0.25, 0.5, 0.75)] == [1.0, 2.0, 3.0]
    assert [waits.by_cluster["cluster 1"].quantile(share).low for share in (0.3, 0.6)] == [2.0, 3.0]
    assert [row.cluster for row in waits.where(lambda row: row.path == "present").rows] == [2, 1]
    assert {path: len(times) for path, times in waits.by_path.items()} == {"present": 2, "new-machine": 1, "": 1}
    assert len(waits.in_tail) == sum(waits.case.tail.holds(row.planned_us) for row in waits.rows)


def test_alike_waits_all_count() -> None:
    waits = all_waits(_case(*[_row(1_000_000)] * 99, _row(5_000_000)))
    assert (len(waits.all), waits.all.over(1.0), waits.all.over(0.5)) == (100, 1, 100)
    assert (waits.all.quantile(0.99).low, waits.all.quantile(0.991).low) == (1.0, 5.0)


def test_one_that_still_waits_has_no_upper_edge() -> None:
    assert _waits().all.quantile(1).high is None
    assert _waits().since_plan.quantile(1).high is None
    assert _waits().all.over(1_000_000) == 1


def test_no_requests_have_no_waits() -> None:
    nobody = _waits().where(lambda _: False)
    assert (len(nobody.all), len(nobody.in_tail), nobody.by_path, nobody.early) == (0, 0, {}, 0)


def test_a_bind_before_its_request_is_counted() -> None:
    assert _waits().early == 1


def test_what_was_found_once_is_not_searched_for_again() -> None:
    case, asked = _case(), []

    def find(case: Case) -> int:
        asked.append(case)
        return 7

    assert (case.once(find), case.once(find), len(asked)) == (7, 7, 1)
    assert all_waits(case) is all_waits(case)
