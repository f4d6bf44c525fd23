"""Staged evidence: a run that nobody made, told by a few numbers. It is what the gates are proved with.

Everything a real run would record is here, in the same types: scrapes with boundaries, rows with their numbers,
counters that agree with the ledgers. Changing one number of the scene changes just what a worse engine would change.
"""

from array import array
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import inf
from typing import Final

from scaletest.evidence import (
    ActionRow,
    CycleRow,
    EventRow,
    Evidence,
    Marks,
    Metrics,
    Phase,
    RequestRow,
    RunRecord,
    Series,
)
from scaletest.evidence.rows import ComputeRow
from scaletest.gates.ledger import BINDS
from scaletest.plan.gates import Gate
from scaletest.plan.planned import PlannedTest, Role

__all__ = ["Scene", "staged_evidence", "staged_test"]

_EPOCH_MS: Final = 1_700_000_000_000
_START_US: Final = 60_000_000
_SCRAPE_US: Final = 15_000_000
_CYCLE_US: Final = 3_300_000
_EDGES: Final = (0.005, 0.05, 0.5, 1.0, 2.0, 5.0, 9.8, 10.0, 12.0, 15.0, 30.0, 31.5, 33.0, 60.0, inf)
_GANGS: Final = 10
_KINDS: Final = ("Bootstrap", "Provision", "Reclaim", "Preempt", "Delete")

_ROLES: Final = {
    "processStart": Role("process_start_time_seconds", "gauge", "seconds", {}),
    "residentMemory": Role("process_resident_memory_bytes", "gauge", "bytes", {}),
    "cycleDuration": Role("cycle_seconds", "histogram", "seconds", {}),
    "reclaimActions": Role("actions_total", "counter", "actions", {"kind": ("Reclaim",)}),
    "acquisitionActions": Role("actions_total", "counter", "actions", {"kind": ("Bootstrap", "Provision")}),
    "preemptActions": Role("actions_total", "counter", "actions", {"kind": ("Preempt",)}),
    "bootstrapOutcomes": Role("outcomes_total", "counter", "actions", {"kind": ("Bootstrap",)}),
    "configureDuration": Role("configure_seconds", "histogram", "seconds", {}),
    "rollupDuration": Role("rollup_seconds", "histogram", "seconds", {}),
    "acknowledgeDuration": Role("acknowledge_seconds", "histogram", "seconds", {}),
    "nodePublishDuration": Role("publish_seconds", "histogram", "seconds", {}),
    "inventory": Role("inventory_machines", "gauge", "machines", {}),
    "shortfall": Role("shortfalls", "gauge", "needs", {}),
    "shortfallByPriority": Role("shortfalls_by_priority", "gauge", "needs", {}),
}


@dataclass(frozen=True, slots=True)
class Scene:
    """A run in numbers; as it stands, a good one."""

    requests: int = 400
    binding_s: float = 1.0
    slow: int = 0
    """Requests, from the last, that took `slow_s` instead."""
    slow_s: float = 100.0
    waiting: int = 0
    """Requests, from the last, that were never bound."""
    new_machines: int = 20
    new_machine_s: float = 8.0
    cycle_s: float = 0.02
    measured_compute: bool = True
    rollup_s: float = 0.2
    acknowledge_s: float = 0.4
    configure_s: float = 4.0
    publish_s: float = 0.2
    reclaims: int = 5
    reclaim_gap_s: float = 200.0
    """Time from each reclaim to an acquisition for the same demand; beyond two minutes nobody regrets it."""
    bootstraps: int = 120
    bootstrap_failures: int = 0
    preemptions: int = 1
    losses: int = 4
    acquisitions: int = 6
    shortfall: int = 0
    shortfall_age: int = 0
    shortfall_wobble: int = 0
    shortfall_above: int = 0
    domain_flips: int = 0
    claimed_set_changes: int = 0
    worst_reclaim_ppm: int = 20_000
    reclaims_before_rollup: int = 0
    torn_gangs: int = 0
    routed: int = 10
    misrouted: int = 0
    rss_growth_mib: float = 1.0
    failed_growth: int = 0
    transitional_growth: int = 0
    settle_s: float = 60.0
    overshoot: float = 0.0
    drift: float = 0.0
    restarts: int = 0
    shards: int = 1
    silent_shards: int = 0
    """Shards whose series stand still."""
    steady: bool = True
    drill: bool = False


def staged_test(*gates: Gate, drills: tuple[tuple[int, float], ...] = ()) -> PlannedTest:
    """Return a plan with just these gates."""
    return PlannedTest(
        profile="staged",
        world="sim",
        digest="staged",
        clusters=2,
        pods=5000,
        shards=1,
        soak_us=600_000_000,
        settle_us=120_000_000,
        linger_us=33_000_000,
        planned_replacements=400,
        judge_tail=False,
        rollup_interval_us=10_000_000,
        tolerant_bucket="0",
        sensitive_bucket="8",
        ledger=True,
        roles=dict(_ROLES),
        gates=gates,
        drills=drills,
    )


def staged_evidence(test: PlannedTest, scene: Scene) -> Evidence:
    """Return what such a run would have recorded."""
    stage = _Stage(test, scene)
    return Evidence(
        record=stage.record(),
        metrics=stage.metrics(),
        requests=tuple(stage.requests()),
        actions=tuple(stage.actions),
        cycles=tuple(stage.cycles()),
        events=tuple(stage.events()),
        compute=tuple(stage.compute()) if scene.measured_compute else (),
    )


@dataclass
class _Stage:
    test: PlannedTest
    scene: Scene
    actions: list[ActionRow] = field(init=False)

    def __post_init__(self) -> None:
        self.start = _START_US
        self.settled = self.start + self.test.settle_us
        self.end = self.start + self.test.soak_us
        self.last = self.end + self.test.linger_us
        self.actions = list(self._actions())

    def record(self) -> RunRecord:
        steady = Phase(
            "steady",
            30_000_000,
            self.start,
            "ok" if self.scene.steady else "failed",
            "" if self.scene.steady else "97 % bound",
        )
        marks = Marks(self.start, self.end, self.last) if self.scene.steady else Marks()
        return RunRecord(
            profile="staged",
            world="sim",
            random_seed=1,
            plan_digest=self.test.digest,
            epoch_ms=_EPOCH_MS,
            scrape_interval_us=_SCRAPE_US,
            targets=("engine",),
            marks=marks,
            phases=(Phase("install", 0, 30_000_000, "ok"), steady, Phase("soak", self.start, self.end, "ok")),
            sealed=True,
        )

    def requests(self) -> list[RequestRow]:
        """Return the rows as planned, with their binds numbered in the order in which they were observed."""
        rows = list(self._requests())
        bound = sorted((row.bound_us, n) for n, row in enumerate(rows) if row.bound_us is not None)
        numbers = {n: number for number, (_, n) in enumerate(bound, start=1)}
        return [row._replace(obs_seq=numbers.get(n)) for n, row in enumerate(rows)]

    def _requests(self) -> Iterator[RequestRow]:
        scene, step = self.scene, self.test.soak_us // self.scene.requests
        torn = scene.torn_gangs
        for n in range(scene.requests):
            from_end = scene.requests - n
            new = n % 20 == 0 and n // 20 < scene.new_machines
            wait = scene.slow_s if from_end <= scene.slow else scene.new_machine_s if new else scene.binding_s
            planned = self.start + n * step
            bound = None if from_end <= scene.waiting or from_end <= torn else planned + 100_000 + round(wait * 1e6)
            if bound is not None and bound > self.last:
                bound = None
            yield RequestRow(
                cluster=n % 2,
                slot=n,
                workload=f"w-{n}",
                archetype="tiny" if n % 3 else "service",
                priority=100 if n % 3 else 1000,
                fingerprint="f-tiny" if n % 3 else "f-service",
                group="",
                cause=("churn", "micro-burst", "lifetime")[n % 3],
                state="waiting" if bound is None else "bound",
                planned_us=planned,
                sent_us=planned,
                appeared_us=planned + 100_000,
                requested_us=planned + 200_000,
                bound_us=bound,
                path="new-machine" if new else "present",
                gang=from_end <= torn,
            )

    def cycles(self) -> Iterator[CycleRow]:
        scene = self.scene
        ticks = self.last // _CYCLE_US + 1 if scene.shards else 0
        for n in range(ticks):
            at = n * _CYCLE_US
            settled = at >= self.settled
            wobble = scene.shortfall_wobble if n % 2 else 0
            yield CycleRow(
                cycle=n + 1,
                at_us=at,
                inputs_hash=f"h{n}",
                duration_us=20_000,
                needs=100,
                gangs=_GANGS,
                shortfalls=scene.shortfall + wobble,
                oldest_shortfall_cycles=scene.shortfall_age,
                shortfalls_batch=scene.shortfall,
                shortfalls_service=scene.shortfall_above,
                domain_flips=scene.domain_flips if settled else 0,
                claimed_set_changes=scene.claimed_set_changes if settled else 0,
                configured=self._configured(at),
                in_flight=3,
                worst_reclaim_ppm=scene.worst_reclaim_ppm if n == ticks // 2 else 0,
                reclaims_before_rollup=scene.reclaims_before_rollup if n == 0 else 0,
            )

    def _configured(self, at: int) -> int:
        """Return the machines at an instant: levels that follow the drills, with the scene's flaws."""
        level, since, before, seen = 1000.0, self.start, 1000.0, 0
        for drill_us, multiplier in self.test.drills:
            if at >= self.start + drill_us:
                seen += 1
                before, level, since = level, 1000.0 * multiplier, self.start + drill_us
                level *= 1 + self.scene.drift * (seen // 2)
        if at - since < self.scene.settle_s * 1e6 and since > self.start:
            return round(level + (before - level) * 0.5)
        if self.scene.overshoot and since > self.start and at - since < (self.scene.settle_s + 10) * 1e6:
            return round(level + (level - before) * self.scene.overshoot)
        return round(level)

    def compute(self) -> Iterator[ComputeRow]:
        for row in self.cycles():
            grown_mib = self.scene.rss_growth_mib if row.at_us > self.settled + 30_000_000 else 0
            yield ComputeRow(row.cycle, round(self.scene.cycle_s * 1e6), round((100 + grown_mib) * 1024))

    def events(self) -> Iterator[EventRow]:
        for n in range(self.scene.losses):
            yield EventRow(
                at_us=self.settled + n * 1_000_000, kind="loss", cluster=0, fingerprint="f-lost", machine=f"m-{n}"
            )

    def _actions(self) -> Iterator[ActionRow]:
        """Yield actions in time order; numbers continue from what the counters showed before the soak."""
        scene, planned = self.scene, list[tuple[int, str, str]]()
        for n in range(scene.reclaims):
            at = self.settled + 1_000_000 + n * 500_000
            planned += [(at, "Reclaim", f"f-{n}"), (at + round(scene.reclaim_gap_s * 1e6), "Bootstrap", f"f-{n}")]
        planned += [(self.settled + 2_000_000 + n * 10_000, "Preempt", "f-p") for n in range(scene.preemptions)]
        extra = max(0, scene.acquisitions - scene.reclaims)
        planned += [(self.settled + 3_000_000 + n * 10_000, "Provision", "f-lost") for n in range(extra)]
        numbers = dict.fromkeys(_KINDS, 100)
        for at, kind, fingerprint in sorted(planned):
            numbers[kind] += 1
            yield ActionRow(
                seq=numbers[kind], at_us=at, kind=kind, machine="m", cluster=0, fingerprint=fingerprint, group=""
            )

    def metrics(self) -> Metrics:
        families: dict[str, list[Series]] = {}
        for name, labels, values in self._families():
            families.setdefault(name, []).append(self._series(name, labels, values))
        return Metrics(families)

    def scrapes(self) -> list[int]:
        """Return the scrape instants: every interval, and forced at the marks."""
        regular = range(0, self.last + 1, _SCRAPE_US)
        return sorted({*regular, self.start, self.settled, self.end, self.start + self.test.tail_us})

    def _series(self, name: str, labels: dict[str, str], values: list[float]) -> Series:
        times = array("q", [_EPOCH_MS + at // 1000 for at in self.scrapes()])
        return Series(name, {**labels, "target": "engine"}, times, array("d", values))

    def _families(self) -> Iterator[tuple[str, dict[str, str], list[float]]]:
        scene, scrapes = self.scene, self.scrapes()
        yield "up", {}, [1.0 for _ in scrapes]
        restart = self.settled + 30_000_000
        yield "process_start_time_seconds", {}, [1.0 + (scene.restarts if at > restart else 0) for at in scrapes]
        growth = scene.rss_growth_mib * 1024 * 1024
        yield "process_resident_memory_bytes", {}, [1e8 + (growth if at > self.settled else 0) for at in scrapes]
        for kind in _KINDS:
            rows = [row.at_us for row in self.actions if row.kind == kind]
            yield "actions_total", {"kind": kind}, [100.0 + sum(row <= at for row in rows) for at in scrapes]
        good = scene.bootstraps - scene.bootstrap_failures
        for outcome, number in (("success", good), ("error", scene.bootstrap_failures)):
            yield "outcomes_total", {"kind": "Bootstrap", "outcome": outcome}, self._ramp(number)
        yield from self._inventory()
        for name, seconds, number in (
            ("configure_seconds", scene.configure_s, scene.bootstraps),
            ("rollup_seconds", scene.rollup_s, 2 * (self.test.soak_us // self.test.rollup_interval_us)),
            ("acknowledge_seconds", scene.acknowledge_s, scene.requests),
            ("publish_seconds", scene.publish_s, scene.bootstraps),
        ):
            yield from self._histogram(name, seconds, self._ramp(number))
        ticks = [float(at // _CYCLE_US + 1) for at in scrapes]
        still = [0.0 for _ in scrapes]
        for shard in range(scene.shards + scene.silent_shards):
            alive = ticks if shard < scene.shards else still
            yield from self._histogram("cycle_seconds", scene.cycle_s, alive, {"shard": str(shard)})
        binds = sorted(row.bound_us for row in self.requests() if row.bound_us is not None)
        yield BINDS, {}, [float(bisect_right(binds, at)) for at in scrapes]

    def _ramp(self, number: int) -> list[float]:
        """Return a counter that rises evenly from soak start to soak end."""
        span = self.end - self.start
        return [float(number * min(max(at - self.start, 0), span) // span) for at in self.scrapes()]

    def _histogram(
        self, name: str, seconds: float, ramp: list[float], labels: dict[str, str] | None = None
    ) -> Iterator[tuple[str, dict[str, str], list[float]]]:
        labels = labels or {}
        for edge in _EDGES:
            text = "+Inf" if edge == inf else str(edge)  # 1.0, not 1: as OpenMetrics has it, and Prometheus 3 stores it
            yield f"{name}_bucket", {**labels, "le": text}, [value if seconds <= edge else 0.0 for value in ramp]
        yield f"{name}_count", labels, ramp
        yield f"{name}_sum", labels, [value * seconds for value in ramp]

    def _inventory(self) -> Iterator[tuple[str, dict[str, str], list[float]]]:
        scene, scrapes = self.scene, self.scrapes()
        for state, kind, bucket, number, growth in (
            ("Configured", "Spot", "0", scene.routed, 0),
            ("Configured", "OnDemand", "8", scene.routed, 0),
            ("Configured", "OnDemand", "0", scene.misrouted, 0),
            ("Configured", "Spot", "8", 0, 0),
            ("Failed", "OnDemand", "0", 0, scene.failed_growth),
            ("Creating", "OnDemand", "0", 0, 0),
            ("Draining", "OnDemand", "0", 0, 0),
            ("Deleting", "OnDemand", "0", 0, 0),
            ("Configuring", "OnDemand", "0", 3, scene.transitional_growth),
        ):
            labels = {"state": state, "capacity_type": kind, "interruption_penalty_bucket": bucket}
            yield "inventory_machines", labels, [number + (growth if at > self.settled else 0) for at in scrapes]
