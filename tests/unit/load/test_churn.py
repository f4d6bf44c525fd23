from unit.load.load_stage import HandStage

from scaletest.ports.cluster import Answer, Gone

MS = 1000


def test_a_planned_replacement_is_one_row_with_all_its_instants() -> None:
    stage = HandStage(3, arrivals=[(5, 1)]).started()
    stage.run_for(20)
    (row,) = stage.finish()
    appeared_us = stage.us(5) + (5 + 700 + 20) * MS  # call, replacement, watch

    assert (row.slot, row.workload, row.cause, row.state, row.path) == (1, "w-0", "churn", "bound", "present")
    assert (row.planned_us, row.sent_us, row.appeared_us) == (stage.us(5), stage.us(5), appeared_us)
    assert (row.requested_us, row.bound_us) == (appeared_us + 100 * MS, appeared_us + 300 * MS)
    assert (row.bound_after_us, row.chosen_us, row.configured_us) == (None, None, None)


def test_replacements_inherit_the_slots_of_their_owner_first_in_first_out() -> None:
    stage = HandStage(3, 3, arrivals=[(5, 2), (5.1, 4), (5.2, 0)]).started()
    before = [stage.pod(slot) for slot in range(6)]
    stage.run_for(20)
    after = [stage.pod(slot) for slot in range(6)]
    rows = stage.finish()

    assert [slot for slot in range(6) if before[slot] != after[slot]] == [0, 2, 4]
    assert after[2] < after[4] < after[0], "Pods are numbered as they are made"
    assert [row.slot for row in rows] == [2, 4, 0]


def test_a_replacement_may_come_before_its_predecessor_is_quite_gone() -> None:
    stage = HandStage(3, arrivals=[(5, 1)])
    stage.cluster.lag_us = -2_000_000
    stage.started().run_for(6)
    (row,) = stage.rows

    assert (row.slot, row.state) == (1, "bound")
    assert len(stage.cluster.pods) == 4
    stage.run_for(10)
    assert (stage.load.live, len(stage.finish())) == (3, 1)


def test_a_slot_that_is_already_empty_makes_a_replacement_void() -> None:
    stage = HandStage(3, arrivals=[(5, 1), (5.003, 1), (5.5, 1)]).started()
    stage.run_for(20)
    rows = stage.finish()

    assert sorted((row.planned_us, row.state) for row in rows) == [
        (stage.us(5), "bound"),
        (stage.us(5.003), "void"),  # sent, and not yet seen to be gone
        (stage.us(5.5), "void"),
    ]
    assert [row.sent_us for row in rows if row.state == "void"] == [None, None]
    assert stage.ledger.void == 2


def test_deleting_a_pod_that_waits_leaves_the_clock_of_its_slot_running() -> None:
    stage = HandStage(2, arrivals=[(5, 1), (8, 1)])
    stage.cluster.place = lambda _pod: ""
    stage.started().run_for(15)
    stage.cluster.bind(stage.pod(1), "old")
    stage.run_for(1)
    first, second = stage.finish()

    assert (first.planned_us, second.planned_us) == (stage.us(5), stage.us(8))
    assert (first.state, second.state) == ("bound", "bound")
    assert first.bound_us == second.bound_us
    assert first.appeared_us is not None
    assert first.appeared_us < stage.us(8) < (second.appeared_us or 0)
    assert (first.obs_seq, second.obs_seq) == (1, 2)


def test_an_eviction_is_a_request_of_its_own_and_no_sample() -> None:
    stage = HandStage(2).started()
    stage.at(3, lambda: stage.cluster.remove(stage.pod(0), Gone.EVICTED))
    stage.run_for(10)
    (row,) = stage.finish()

    assert (row.cause, row.state, row.sent_us) == ("evicted", "bound", None)
    assert row.planned_us == stage.us(3.02)


def test_a_lost_node_is_a_request_for_every_pod_on_it() -> None:
    stage = HandStage(3).started()
    stage.cluster.add_node("new")
    stage.at(3, lambda: stage.cluster.lose_node("old"))
    stage.run_for(3.5)
    assert stage.load.bound_ready == 0
    stage.run_for(10)

    assert [(row.cause, row.slot, row.path) for row in stage.finish()] == [
        ("node-lost", slot, "present") for slot in range(3)
    ]
    assert stage.load.bound_ready == 3


def test_a_replacement_that_an_eviction_forestalls_is_void() -> None:
    stage = HandStage(2, arrivals=[(5, 1)]).started()
    stage.at(4.99, lambda: stage.cluster.remove(stage.pod(1), Gone.EVICTED))  # seen only after the call is sent
    stage.run_for(20)

    assert [(row.cause, row.state) for row in stage.finish()] == [("churn", "void"), ("evicted", "bound")]


def test_a_pod_that_binds_to_a_machine_made_for_it_takes_the_path_of_a_new_machine() -> None:
    stage = HandStage(2, arrivals=[(5, 1)])
    stage.cluster.place = lambda _pod: ""
    stage.started().run_for(8)
    stage.cluster.add_node("new", ready=False)
    stage.run_for(1)
    stage.cluster.make_ready("new")
    stage.run_for(1)
    stage.cluster.bind(stage.pod(1), "new")
    stage.run_for(1)
    (row,) = stage.finish()

    assert (row.path, row.configured_us) == ("new-machine", stage.us(9) + 20 * MS)


def test_a_slow_api_delays_the_load_and_never_thins_it() -> None:
    stage = HandStage(50, arrivals=[(1 + n / 10, n) for n in range(50)])
    stage.cluster.api_us = 2_000_000
    stage.started().run_for(30)
    rows = stage.finish()

    assert sorted(row.slot for row in rows) == list(range(50))
    assert {row.state for row in rows} == {"bound"}
    assert [len(batch) for batch in stage.cluster.deleted] == [1, 20, 20, 9]
    assert stage.ledger.lags.quantile_us(0.99) >= 1_900_000


def test_trouble_that_passes_delays_a_replacement() -> None:
    stage = HandStage(2, arrivals=[(5, 1)]).started()
    stage.cluster.answer = lambda _call, _pod: Answer.UNAVAILABLE
    stage.at(6.5, lambda: setattr(stage.cluster, "answer", lambda _call, _pod: Answer.OK))
    stage.run_for(20)
    (row,) = stage.finish()

    assert row.state == "bound"
    assert stage.us(6.5) < (row.sent_us or 0) < stage.us(8)
    assert stage.metrics.errors["delete"] == 2


def test_a_replacement_that_no_call_brings_through_is_undelivered_and_its_pod_stays() -> None:
    stage = HandStage(2, arrivals=[(5, 1), (30, 1)]).started()
    stage.cluster.answer = lambda _call, _pod: Answer.UNAVAILABLE
    stage.at(20, lambda: setattr(stage.cluster, "answer", lambda _call, _pod: Answer.OK))
    stage.run_for(40)
    rows = stage.finish()

    assert [(row.planned_us, row.state, row.sent_us) for row in rows] == [
        (stage.us(5), "undelivered", None),
        (stage.us(30), "bound", stage.us(30)),
    ]
    assert (stage.ledger.undelivered, stage.ledger.bound) == (1, 1)


def test_a_call_that_timed_out_but_worked_counts_as_delivered() -> None:
    stage = HandStage(2, arrivals=[(5, 1)]).started()

    def works_and_times_out(_call: str, pod: int) -> Answer:
        stage.cluster.remove(pod)
        return Answer.TIMEOUT

    stage.cluster.answer = works_and_times_out
    stage.run_for(20)

    assert [(row.state, row.sent_us) for row in stage.finish()] == [("bound", stage.us(5))]
    assert len(stage.cluster.deleted) == 1, "nothing is left to try again"


def test_what_is_still_under_way_at_the_end_waits() -> None:
    stage = HandStage(3, arrivals=[(5, 0), (6, 1), (9.999, 2)])
    stage.cluster.keeps = False
    stage.started().run_for(10)
    rows = stage.finish()

    assert [(row.slot, row.state, row.appeared_us) for row in sorted(rows)] == [
        (slot, "waiting", None) for slot in range(3)
    ]


def test_what_came_due_and_never_went_is_undelivered_at_the_end() -> None:
    stage = HandStage(3, arrivals=[(5, 0), (6, 1), (30, 2)])
    stage.started()
    stage.cluster.api_us = 60_000_000
    stage.run_for(10)

    assert [(row.slot, row.state) for row in sorted(stage.finish())] == [(0, "waiting"), (1, "undelivered")]
