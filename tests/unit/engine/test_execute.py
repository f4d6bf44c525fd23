"""The execute pool: what it accepts, what it does, what it calls the result, and where it leaves the machine."""

import asyncio

import pytest
from loop.engine_cluster import MS, SECOND, template
from loop.engine_ground import Ground
from loop.engine_provider import Fault, S, machine

from scaletest.engine.decide import Action, Kind, NeedRef
from scaletest.engine.execute import Order, Pool
from scaletest.engine.inventory import Inventory
from scaletest.engine.reference import EngineSettings
from scaletest.engine.rows import profile_of
from scaletest.model import Machine, MachineState
from scaletest.model.attribution import attribution_for

PROFILE = profile_of(template())
MARK = attribution_for(PROFILE, "")
REF = NeedRef("c1", PROFILE.fingerprint, "")


def order(kind: Kind, name: str, *, ref: NeedRef = REF, grace_us: int = 0) -> Order:
    mark = MARK if kind in {Kind.BOOTSTRAP, Kind.PROVISION} else None
    return Order(Action(kind, name, ref, None, "rule", "why", grace_us), cycle=1, min_unit="cpu=1", mark=mark)


class Bench:
    """An engine whose shard never cycles: orders are offered by hand."""

    def __init__(self, *machines: Machine, concurrency: int = 4) -> None:
        settings = EngineSettings(concurrency=concurrency, tick_us=10_000 * SECOND)
        self.ground = Ground(machines, settings=settings)
        self.engine = self.ground.new_engine()
        self.pool: Pool = self.engine._pool
        self.inventory: Inventory = self.engine._shard._inventory

    def play(self, *orders: Order, until_us: int = 100 * SECOND, list_again: bool = False) -> list[bool]:
        accepted: list[bool] = []

        async def work() -> None:
            await self.engine.start()
            accepted.extend(self.pool.offer(found) for found in orders)
            await self.ground.until(until_us)
            if list_again:
                await self.engine._shard._reconcile()

        self.ground.run(work())
        return accepted

    def state(self, name: str) -> tuple[MachineState, str] | None:
        found = self.inventory.get(name)
        return None if found is None else (found.state, found.cluster)

    @property
    def results(self) -> list[tuple[str, str]]:
        return [(kind, outcome) for kind, _, outcome, _ in self.ground.notes.outcomes]


def test_only_a_machine_in_the_right_state_is_accepted() -> None:
    bench = Bench(machine("idle"), machine("spec", S.SPECULATIVE), machine("conf", S.CONFIGURED, cluster="c1"))
    wrong = [
        order(Kind.BOOTSTRAP, "spec"),
        order(Kind.PROVISION, "idle"),
        order(Kind.RECLAIM, "idle"),
        order(Kind.PREEMPT, "spec"),
        order(Kind.DELETE, "conf"),
    ]

    assert bench.play(*wrong) == [False] * 5
    assert bench.ground.sample("bigfleet_shard_actions_deduped_total") == 5
    assert bench.ground.notes.actions == []
    assert bench.ground.provider.calls == []


def test_a_busy_machine_takes_no_second_action_until_the_first_is_over() -> None:
    bench = Bench(machine("m"))

    assert bench.play(order(Kind.DELETE, "m"), order(Kind.BOOTSTRAP, "m")) == [True, False]
    assert bench.results == [("Delete", "success")]
    assert bench.inventory.busy == 0


def test_what_does_not_fit_the_queue_is_dropped_and_counted() -> None:
    machines = [machine(f"m{n}") for n in range(6)]
    bench = Bench(*machines, concurrency=2)

    accepted = bench.play(*[order(Kind.BOOTSTRAP, m.id) for m in machines])

    assert accepted == [True] * 4 + [False] * 2
    assert bench.ground.sample("bigfleet_shard_actions_dropped_total") == 2
    assert bench.ground.sample("bigfleet_shard_actions_total", kind="Bootstrap") == 4


def test_no_more_actions_run_at_a_time_than_there_are_workers() -> None:
    machines = [machine(f"m{n}") for n in range(4)]
    bench = Bench(*machines, concurrency=2)
    bench.ground.provider.fault = lambda *_: Fault(work_us=10 * SECOND)
    bench.play(*[order(Kind.BOOTSTRAP, m.id) for m in machines], until_us=5 * SECOND)

    assert len(bench.ground.provider.calls) == 2
    assert bench.ground.sample("bigfleet_shard_execute_inflight") == 2
    assert bench.ground.sample("bigfleet_shard_action_queue_depth") == 2


def test_the_number_of_an_action_is_its_counter_after_the_increment() -> None:
    bench = Bench(machine("a"), machine("b"), machine("c", S.SPECULATIVE))
    bench.play(order(Kind.BOOTSTRAP, "a"), order(Kind.PROVISION, "c"), order(Kind.BOOTSTRAP, "b"))

    assert [(fact.action.kind.value, fact.seq, fact.min_unit) for fact in bench.ground.notes.actions] == [
        ("Bootstrap", 1, "cpu=1"),
        ("Provision", 1, "cpu=1"),
        ("Bootstrap", 2, "cpu=1"),
    ]
    assert bench.ground.sample("bigfleet_shard_actions_total", kind="Bootstrap") == 2


def test_a_provision_goes_on_into_bootstrap_when_the_machine_is_there_at_once() -> None:
    bench = Bench(machine("m", S.SPECULATIVE))
    bench.play(order(Kind.PROVISION, "m"))

    assert [call for call, _, _ in bench.ground.provider.calls] == ["create", "configure"]
    assert [token.sequence for _, _, token in bench.ground.provider.calls] == [1, 2]
    assert bench.results == [("Provision", "success")]
    assert bench.state("m") == (S.CONFIGURED, "c1")
    assert bench.ground.sample("bigfleet_shard_configure_phase_seconds_count") == 1
    assert bench.ground.sample("bigfleet_shard_actions_total", kind="Bootstrap") == 0


def test_a_provision_that_is_answered_early_ends_there_and_the_listing_brings_the_machine() -> None:
    bench = Bench(machine("m", S.SPECULATIVE))
    bench.ground.provider.fault = lambda *_: Fault(staged=True)
    bench.play(order(Kind.PROVISION, "m"), list_again=True)

    assert [call for call, _, _ in bench.ground.provider.calls] == ["create"]
    assert bench.state("m") == (S.IDLE, "")


def test_configuring_that_is_answered_early_is_timed_when_a_listing_shows_it_done() -> None:
    bench = Bench(machine("m"))
    bench.ground.provider.fault = lambda *_: Fault(staged=True, work_us=7 * SECOND)
    bench.play(order(Kind.BOOTSTRAP, "m"), until_us=9 * SECOND, list_again=True)

    assert bench.results == [("Bootstrap", "success")]
    assert bench.state("m") == (S.CONFIGURED, "c1")
    assert bench.ground.sample("bigfleet_shard_configure_phase_seconds_sum") > 7


def test_a_drain_that_is_answered_early_keeps_its_cluster_until_a_listing_shows_it_idle() -> None:
    bench = Bench(machine("m", S.CONFIGURED, cluster="c1"))
    bench.ground.provider.fault = lambda *_: Fault(staged=True, work_us=7 * SECOND)
    bench.play(order(Kind.RECLAIM, "m"), until_us=5 * SECOND)
    assert bench.state("m") == (S.DRAINING, "c1")

    async def more() -> None:
        await bench.ground.until(9 * SECOND)
        await bench.engine._shard._reconcile()

    bench.ground.run(more())
    assert bench.state("m") == (S.IDLE, "")


OUTCOMES = [
    (Fault(), "success", S.CONFIGURED),
    (Fault(request_lost=True), "ctx_canceled", S.IDLE),
    (Fault(answer_lost=True), "ctx_canceled", S.CONFIGURED),
    (Fault(work_us=50 * SECOND), "ctx_canceled", S.CONFIGURED),
    (Fault(answer_us=50 * SECOND), "ctx_canceled", S.CONFIGURED),
    (Fault(refused=True), "provider_error", S.IDLE),
    (Fault(fails=True), "provider_error", S.FAILED),
    (Fault(twice=True), "provider_error", S.CONFIGURED),
]


@pytest.mark.parametrize(("fault", "outcome", "state"), OUTCOMES)
def test_every_end_has_its_name_and_leaves_the_machine_where_the_provider_has_it(
    fault: Fault, outcome: str, state: MachineState
) -> None:
    bench = Bench(machine("m"))
    bench.ground.provider.fault = lambda *_: fault
    bench.play(order(Kind.BOOTSTRAP, "m"), list_again=True)

    assert bench.results == [("Bootstrap", outcome)]
    assert bench.state("m") == (state, "c1" if state is S.CONFIGURED else "")
    assert bench.inventory.busy == 0
    labels = {"kind": "Bootstrap", "outcome": outcome}
    assert bench.ground.sample("bigfleet_shard_action_execute_outcomes_total", **labels) == 1
    assert bench.ground.sample("bigfleet_shard_configure_phase_seconds_count") == (outcome == "success")


def test_an_action_on_a_machine_that_is_gone_misses_it() -> None:
    bench = Bench()
    bench.play(order(Kind.BOOTSTRAP, "m"))

    assert bench.results == [("Bootstrap", "inventory_miss")]
    assert bench.inventory.busy == 0


def test_an_action_whose_machine_moved_on_while_it_waited_is_stale() -> None:
    bench = Bench(machine("a"), machine("b"), concurrency=1)

    async def work() -> None:
        await bench.engine.start()
        bench.pool.offer(order(Kind.BOOTSTRAP, "a"))
        bench.pool.offer(order(Kind.DELETE, "b"))
        bench.inventory.put(machine("b", S.SPECULATIVE))
        await bench.ground.until(SECOND)

    bench.ground.run(work())
    assert bench.results == [("Bootstrap", "success"), ("Delete", "stale_state")]


def test_a_bootstrap_for_a_cluster_without_an_agent_touches_nothing() -> None:
    bench = Bench(machine("m"))
    bench.play(order(Kind.BOOTSTRAP, "m", ref=REF._replace(cluster="nowhere")))

    assert bench.results == [("Bootstrap", "no_session")]
    assert bench.state("m") == (S.IDLE, "")
    assert bench.ground.provider.calls == []


def test_an_engine_that_was_replaced_is_fenced() -> None:
    bench = Bench(machine("m"))
    bench.ground.provider._epoch = 9
    bench.play(order(Kind.BOOTSTRAP, "m"))

    assert bench.results == [("Bootstrap", "fenced")]
    assert bench.state("m") == (S.IDLE, "")


def test_an_answer_that_the_machines_life_does_not_have_is_a_transition_error() -> None:
    bench = Bench(machine("m", S.CONFIGURED, cluster="c1"), machine("n"))
    provider = bench.ground.provider

    async def wrong(name: str, **_: object) -> Machine:
        await asyncio.sleep(0)
        return machine(name, S.SPECULATIVE)

    provider.drain = provider.configure = wrong  # type: ignore[method-assign,assignment]
    bench.play(order(Kind.RECLAIM, "m"), order(Kind.BOOTSTRAP, "n"))

    assert sorted(bench.results) == [("Bootstrap", "transition_error"), ("Reclaim", "transition_error")]
    assert bench.state("m") == (S.CONFIGURED, "c1")
    assert bench.state("n") == (S.IDLE, "")


def test_a_drain_may_take_its_grace_on_top_of_the_time_limit() -> None:
    bench = Bench(machine("m", S.CONFIGURED, cluster="c1"), machine("n", S.CONFIGURED, cluster="c1"))
    bench.ground.provider.fault = lambda *_: Fault(work_us=60 * SECOND)
    bench.play(order(Kind.RECLAIM, "m"), order(Kind.RECLAIM, "n", grace_us=40 * SECOND))

    assert sorted(bench.ground.notes.outcomes) == [("Reclaim", 1, "ctx_canceled", 0), ("Reclaim", 2, "success", 0)]


def test_moves_of_a_clusters_machines_are_published_by_phase() -> None:
    bench = Bench(machine("m"))
    bench.ground.costs.publish = 30 * MS

    async def work() -> None:
        await bench.engine.start()
        bench.pool.offer(order(Kind.BOOTSTRAP, "m"))
        await bench.ground.until(5 * SECOND)
        bench.pool.offer(order(Kind.RECLAIM, "m"))
        await bench.ground.until(20 * SECOND)
        bench.pool.offer(order(Kind.DELETE, "m"))
        await bench.ground.until(30 * SECOND)

    bench.ground.run(work())
    name = "bigfleet_operator_node_state_update_duration_seconds"
    phases = ("Registered", "Ready", "Draining", "Drained", "Failed")
    assert [bench.ground.sample(f"{name}_count", phase=phase) for phase in phases] == [1, 1, 1, 1, 0]
    assert bench.ground.sample(f"{name}_sum", phase="Ready") == 0.03
    assert bench.ground.sample("bigfleet_shard_idle_releases_total") == 1
