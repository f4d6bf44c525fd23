"""Laws of the request ledger, over seeds and with everything that can go wrong."""

from collections import Counter
from itertools import pairwise

import pytest
from unit.load.fake_cluster import FakeCluster
from unit.load.load_stage import SECOND_US, Stage

from sample_plans import archetype, catalog_of, plan_of, profile_of
from scaletest.gates.ledger import _contradicts_itself, _out_of_order
from scaletest.model import Stream
from scaletest.plan.plan import Plan
from scaletest.ports.cluster import Answer, Gone

PLANNED = ("churn", "micro-burst", "lifetime")
LOAD = {
    "soakSeconds": 90,
    "churnPerMinute": 2.0,
    "microBurstRatePerMinute": 6.0,
    "demandSteps": [{"atSeconds": 30, "targetMultiplier": 0.5}, {"atSeconds": 60, "targetMultiplier": 1.0}],
    "bursts": [{"atSeconds": 20, "archetype": "batch", "extraTarget": 7, "durationSeconds": 25, "selectivity": 0.7}],
}


def eventful_plan(seed: int) -> Plan:
    profile = profile_of(
        scale={"machines": 6, "density": 10, "podsPerCluster": 25},
        seed={"preBindFraction": 0.8},
        loadProfile=LOAD,
        slo={"internalBindingLatencyP99Seconds": 5},
    )
    batch = archetype(name="batch", meanLifetimeSeconds=40)
    return plan_of(profile, catalog_of(archetype(), batch), seed=seed)


class Trouble:
    """What goes wrong in one cluster, drawn by key: evictions, lost Nodes, watches that end, calls that fail."""

    def __init__(self, stage: Stage, cluster: FakeCluster, seed: int) -> None:
        self.stage, self.cluster = stage, cluster
        self.draws = Stream.of(seed, "trouble", cluster.name)
        self.asked = self.placed = 0
        cluster.answer = self.answer
        cluster.place = self.place
        cluster.lag_us = self.draws.between(-900_000, 900_000, 1)
        for second in range(1, 100):
            stage.at(second + self.draws.unit(1000 + second), lambda second=second: self.act(second))  # type: ignore[misc]

    def answer(self, _call: str, _item: int) -> Answer:
        self.asked += 1
        broken = self.draws.chance(0.25, 10_000 + self.asked) or self.stage.clock.now_us() % 40_000_000 < 7_000_000
        return Answer.UNAVAILABLE if broken else Answer.OK

    def place(self, _pod: int) -> str:
        self.placed += 1
        nodes = list(self.cluster.nodes)
        waits = self.draws.chance(0.2, 20_000 + self.placed)
        return "" if waits else nodes[self.draws.below(len(nodes), 30_000 + self.placed)]

    def act(self, second: int) -> None:
        draw = self.draws.below(6, 2000 + second)
        pods = [pod.id for pod in self.cluster.pods.values() if pod.node]
        if draw == 0:
            self.cluster.end_watches()
        elif draw == 1:
            self.cluster.end_watches(expired=True)
        elif draw == 2 and len(self.cluster.nodes) > 1:
            self.cluster.lose_node(next(iter(self.cluster.nodes)))
            self.cluster.add_node(f"fresh-{second}")
        elif draw == 3 and pods:
            self.cluster.remove(pods[self.draws.below(len(pods), 3000 + second)], Gone.EVICTED)


@pytest.mark.parametrize("seed", range(20))
def test_every_planned_replacement_has_exactly_one_row_whatever_goes_wrong(seed: int) -> None:
    stage = Stage(eventful_plan(seed))
    stage.seed()
    for cluster in stage.clusters:
        Trouble(stage, cluster, seed)
    stage.soak()
    stage.run_for((stage.plan.profile.soak_us + stage.plan.linger_us) / SECOND_US)
    rows = stage.finish()
    end_us = stage.clock.now_us()

    found = sorted((r.cluster, r.slot, r.planned_us, r.cause) for r in rows if r.cause in PLANNED)
    assert found == stage.planned()
    assert not [row for row in rows if _contradicts_itself(row)]
    assert not [row for row in rows if _out_of_order(row, end_us)]
    seen = [(row.obs_seq, row.bound_us) for row in rows if row.state == "bound"]
    assert [number for number, _ in seen] == list(range(1, len(seen) + 1))
    bound_us = [bound for _, bound in seen if bound is not None]
    assert all(later > earlier - SECOND_US for earlier, later in pairwise(bound_us)), "numbered as they are looked at"

    driver, soak_end_us = stage.driver, stage.start_us + stage.plan.profile.soak_us
    states = Counter(row.state for row in rows if row.cause in PLANNED and row.planned_us < soak_end_us)
    assert (driver.bound, driver.void, driver.undelivered) == (
        states["bound"],
        states["void"],
        states["undelivered"],
    )
    assert driver.planned == states.total() == stage.plan.totals.planned_replacements


def test_trouble_leaves_no_cause_and_no_state_out() -> None:
    rows = []
    for seed in range(6):
        stage = Stage(eventful_plan(seed))
        stage.seed()
        for cluster in stage.clusters:
            Trouble(stage, cluster, seed)
        stage.soak()
        stage.run_for(110)
        rows += stage.finish()

    assert {row.state for row in rows} == {"bound", "waiting", "void", "undelivered"}
    assert {row.cause for row in rows} == {*PLANNED, "evicted", "node-lost", "fill", "burst", "step"}
    assert {row.path for row in rows} == {"", "present", "new-machine"}
    assert any(row.bound_after_us is not None for row in rows)


def test_the_lingers_requests_are_rows_too_and_not_counted() -> None:
    stage = Stage(plan_of())
    rows = stage.whole()
    soak_end_us = stage.start_us + stage.plan.profile.soak_us
    late = [row for row in rows if row.planned_us >= soak_end_us]

    assert len(late) == stage.plan.totals.linger_replacements > 0
    assert stage.driver.planned == stage.driver.bound + stage.driver.void == len(rows) - len(late)


def test_the_same_plan_and_seed_write_the_same_rows() -> None:
    def rows() -> list[object]:
        stage = Stage(eventful_plan(3))
        stage.seed()
        for cluster in stage.clusters:
            Trouble(stage, cluster, 3)
        stage.soak()
        stage.run_for(110)
        return [*stage.finish(), *stage.events]

    assert rows() == rows()
