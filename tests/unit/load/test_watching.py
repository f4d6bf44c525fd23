from unit.load.load_stage import HandStage

from scaletest.ports.cluster import Gone

MS = 1000


def test_a_watch_that_breaks_is_resumed_and_its_binds_become_intervals() -> None:
    stage = HandStage(3, arrivals=[(5, 1), (20, 1)]).started()
    stage.at(5.9, stage.cluster.end_watches)  # after the replacement appeared, before its bind is seen
    stage.run_for(30)
    first, second = stage.finish()
    appeared_us = stage.us(5) + 725 * MS

    assert (first.appeared_us, first.bound_us) == (appeared_us, stage.us(5) + 1025 * MS)
    assert first.bound_after_us is not None
    assert appeared_us - 20 * MS <= first.bound_after_us < stage.us(5.9), "from when the Pod appeared, unseen yet"
    assert second.bound_after_us is None, "a watch that goes on as ever leaves no doubt"
    assert stage.metrics.errors["watch"] == 1


def test_a_pod_that_came_and_was_bound_unseen_may_have_waited_for_the_whole_gap() -> None:
    stage = HandStage(3, arrivals=[(5, 1)]).started()
    stage.at(4, lambda: setattr(stage.cluster, "watch_us", 3_600_000_000))  # nothing is shown any more
    stage.at(9, lambda: setattr(stage.cluster, "watch_us", 20_000))
    stage.at(9, stage.cluster.end_watches)
    stage.run_for(20)
    (row,) = stage.finish()

    assert (row.appeared_us, row.bound_us) == (stage.us(5), stage.us(9.1)), "not before it was sent"
    assert row.bound_after_us is not None
    assert row.bound_after_us < stage.us(5)


def test_a_watch_that_expired_is_replaced_by_a_listing_that_repairs_the_slots() -> None:
    stage = HandStage(6, arrivals=[(5, 1), (5, 2)]).started()
    before = [stage.pod(slot) for slot in range(6)]
    stage.at(4, lambda: setattr(stage.cluster, "watch_us", 3_600_000_000))  # nothing is shown any more
    stage.at(4.5, lambda: stage.cluster.remove(before[4], Gone.EVICTED))
    stage.at(10, lambda: setattr(stage.cluster, "watch_us", 20_000))
    stage.at(10, lambda: stage.cluster.end_watches(expired=True))
    stage.run_for(20)
    after = [stage.pod(slot) for slot in range(6)]
    rows = {row.slot: row for row in stage.finish()}

    assert [slot for slot in range(6) if before[slot] != after[slot]] == [1, 2, 4]
    assert {slot: (row.cause, row.state) for slot, row in rows.items()} == {
        1: ("churn", "bound"),
        2: ("churn", "bound"),
        4: ("evicted", "bound"),
    }
    assert rows[1].bound_us == stage.us(10) + 10 * MS, "two listings after the watch ended"
    assert rows[1].bound_after_us is not None
    assert rows[1].bound_after_us < stage.us(4)
    assert stage.load.live == stage.load.bound_ready == 6


def test_a_listing_shows_pods_that_wait_and_those_lost_with_their_node() -> None:
    stage = HandStage(4).started()
    stage.cluster.place = lambda _pod: ""
    stage.at(4, lambda: setattr(stage.cluster, "watch_us", 3_600_000_000))
    stage.at(5, lambda: stage.cluster.lose_node("old"))
    stage.at(10, lambda: setattr(stage.cluster, "watch_us", 20_000))
    stage.at(10, lambda: stage.cluster.end_watches(expired=True))
    stage.run_for(12)
    assert (stage.load.live, stage.load.bound_ready) == (4, 0)

    rows = stage.finish()
    assert [(row.cause, row.state) for row in rows] == [("node-lost", "waiting")] * 4
    assert {row.requested_us for row in rows} == {stage.us(10) + 10 * MS}


def test_a_listed_pod_that_is_on_its_way_out_holds_no_slot() -> None:
    stage = HandStage(2, arrivals=[(5, 1)])
    stage.cluster.lag_us = -20_000_000
    stage.started().run_for(6)
    stage.cluster.end_watches(expired=True)
    stage.run_for(2)

    assert len(stage.cluster.pods) == 3
    assert stage.load.live == 2
    assert len(stage.finish()) == 1


def test_a_watch_that_breaks_again_and_again_does_not_stop_the_clock() -> None:
    stage = HandStage(3, arrivals=[(5, 1)]).started()
    for n in range(200):
        stage.at(5 + n / 20, stage.cluster.end_watches)
    stage.run_for(20)

    assert [row.state for row in stage.finish()] == ["bound"]
