"""The engine's own numbers, under the names that upstream gives them, as one collector of a registry.

They are plain numbers until somebody scrapes. The client library's own metric objects would stamp each series with the
wall clock, which a run on virtual time must not see.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import accumulate
from typing import Final

from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector, CollectorRegistry

from scaletest.engine.decide import Kind, Outcome
from scaletest.model import US_PER_SECOND, CapacityType, Machine, MachineState, penalty_bucket

__all__ = ["PHASES", "PRIORITY_CLASSES", "EngineMetrics", "Histogram", "Result", "priority_class"]

_EDGES_S: Final = (*(step * 10.0**power for power in range(-3, 3) for step in (1, 1.5, 2, 3, 4, 5, 6, 8)), 1000.0)
_AGES: Final = (("1-9", 1), ("10-59", 10), ("60-299", 60), ("300+", 300))
_CLASS_FLOORS: Final = (("critical", 1_000_000), ("service", 1_000))
PRIORITY_CLASSES: Final = ("batch", "service", "critical")
PHASES: Final = ("Registered", "Ready", "Draining", "Drained", "Failed")
"""What a cluster is told about a machine that is, or was, its own."""


class Result(StrEnum):
    """What became of an action, as its counter labels it."""

    SUCCESS = "success"
    CANCELED = "ctx_canceled"
    NO_SESSION = "no_session"
    TRANSITION_ERROR = "transition_error"
    PROVIDER_ERROR = "provider_error"
    STALE_STATE = "stale_state"
    INVENTORY_MISS = "inventory_miss"
    FENCED = "fenced"


def priority_class(priority: int) -> str:
    """Return the class that a priority is reported under."""
    return next((name for name, floor in _CLASS_FLOORS if priority >= floor), "batch")


class Histogram:
    """Durations in buckets whose edges are whole microseconds."""

    __slots__ = ("_counts", "_edges_us", "_names", "_sum_us")

    def __init__(self, extra_s: Iterable[float] = ()) -> None:
        edges = {round(edge * US_PER_SECOND): edge for edge in (*_EDGES_S, *extra_s)}
        self._edges_us = sorted(edges)
        self._names = [*(repr(round(float(edges[us]), 9)) for us in self._edges_us), "+Inf"]
        self._counts = [0] * len(self._names)
        self._sum_us = 0

    def observe(self, duration_us: int, count: int = 1) -> None:
        """Count a duration, once or as often as it was measured."""
        self._counts[bisect_left(self._edges_us, duration_us)] += count
        self._sum_us += duration_us * count

    @property
    def count(self) -> int:
        """Return how many were observed."""
        return sum(self._counts)

    def show(self, family: HistogramMetricFamily, labels: Sequence[str] = ()) -> None:
        """Add the cumulated buckets to a family."""
        buckets = [(name, float(count)) for name, count in zip(self._names, accumulate(self._counts), strict=True)]
        family.add_metric(labels, buckets, self._sum_us / US_PER_SECOND)


class EngineMetrics(Collector):
    """All numbers of one engine; every series that a gate reads is there from the start, at zero."""

    def __init__(self, *, bars: Mapping[str, Sequence[float]], resident_bytes: Callable[[], int]) -> None:
        self.registry = CollectorRegistry()
        self.started_us = 0
        self._resident_bytes = resident_bytes
        self.actions = dict.fromkeys(Kind, 0)
        self.results = {(kind, result): 0 for kind in Kind for result in Result}
        self.withheld = dict.fromkeys(Kind, 0)
        self.deduped = self.dropped = self.deferred = self.reclaims_capped = self.idle_releases = 0
        self.rejected = dict.fromkeys(("interruption_probability", "price", "quantity", "structural"), 0)
        self.list_errors = 0
        self.queue_depth = self.executing = 0
        self.short_ages: Sequence[int] = ()
        self.short_classes = dict.fromkeys(PRIORITY_CLASSES, 0)
        self.quarantined: dict[str, int] = {}
        self.outcomes: Sequence[Outcome] = ()
        """Of the last cycle; what they add up to is only asked when somebody scrapes."""
        self._machines: dict[tuple[str, str, str], int] = {}
        self._buckets = {0: "0"}
        self.cycle = Histogram(bars.get("bigfleet_shard_cycle_duration_seconds", ()))
        self.configure = Histogram(bars.get("bigfleet_shard_configure_phase_seconds", ()))
        self.rollup = Histogram(bars.get("bigfleet_operator_rollup_duration_seconds", ()))
        self.acknowledge = Histogram(bars.get("bigfleet_operator_acknowledge_duration_seconds", ()))
        publish = bars.get("bigfleet_operator_node_state_update_duration_seconds", ())
        self.publish = {phase: Histogram(publish) for phase in PHASES}
        self.registry.register(self)

    def moved(self, before: Machine | None, after: Machine | None) -> None:
        """Move a machine from the series it was in to the one it is in."""
        if before is not None:
            self._machines[self._series(before)] -= 1
        if after is not None:
            series = self._series(after)
            self._machines[series] = self._machines.get(series, 0) + 1

    def in_state(self, *states: MachineState) -> int:
        """Return how many machines are in some states."""
        names = {state.value for state in states}
        return sum(count for (state, _, _), count in self._machines.items() if state in names)

    def _series(self, machine: Machine) -> tuple[str, str, str]:
        mark = machine.attribution
        amount = 0 if mark is None else mark.interruption_penalty_uusd
        bucket = self._buckets.get(amount)
        if bucket is None:
            bucket = self._buckets[amount] = penalty_bucket(amount).label
        # The plain texts of states and types hash in C; the members hash in Python, and a fleet is large.
        return machine.state._value_, machine.capacity_type._value_, bucket

    def collect(self) -> Iterator[Metric]:
        """Yield every family, in a fixed order and with sorted series."""
        yield from self._process()
        yield from self._durations()
        yield from self._counters()
        yield from self._gauges()

    def _process(self) -> Iterator[Metric]:
        started = self.started_us / US_PER_SECOND
        yield GaugeMetricFamily("process_start_time_seconds", "When the engine started, on the run's clock.", started)
        resident = self._resident_bytes()
        yield GaugeMetricFamily("process_resident_memory_bytes", "Resident memory.", resident)

    def _durations(self) -> Iterator[Metric]:
        for name, text, histogram in (
            ("bigfleet_shard_cycle_duration_seconds", "One decision cycle, snapshot to hand-over.", self.cycle),
            ("bigfleet_shard_configure_phase_seconds", "Configuring one machine, successes only.", self.configure),
            ("bigfleet_operator_rollup_duration_seconds", "Building and sending one roll-up.", self.rollup),
            ("bigfleet_operator_acknowledge_duration_seconds", "Request made to acknowledged.", self.acknowledge),
        ):
            family = HistogramMetricFamily(name, text)
            histogram.show(family)
            yield family
        name, text = "bigfleet_operator_node_state_update_duration_seconds", "Publishing one machine's state."
        family = HistogramMetricFamily(name, text, labels=("phase",))
        for phase, histogram in sorted(self.publish.items()):
            histogram.show(family, (phase,))
        yield family

    def _counters(self) -> Iterator[Metric]:
        yield _labelled("bigfleet_shard_actions", "Actions that the pool accepted.", "kind", self.actions)
        name, text = "bigfleet_shard_action_execute_outcomes", "What became of accepted actions."
        outcomes = CounterMetricFamily(name, text, labels=("kind", "outcome"))
        for (kind, result), count in sorted(self.results.items()):
            outcomes.add_metric((kind.value, result.value), count)
        yield outcomes
        yield _labelled("bigfleet_shard_actions_suppressed", "Actions withheld by posture.", "kind", self.withheld)
        yield _labelled("bigfleet_shard_machines_rejected", "Records that make no sense.", "reason", self.rejected)
        for name, text, count in (
            ("actions_deduped", "Actions on a machine that is busy or no longer in the state for it.", self.deduped),
            ("actions_dropped", "Actions that found the queue full.", self.dropped),
            ("actions_deferred", "Actions beyond the limit of a cycle.", self.deferred),
            ("reclaims_capped", "Reclaims beyond the cap of a cycle.", self.reclaims_capped),
            ("idle_releases", "Idle machines given back.", self.idle_releases),
            ("list_errors", "Listings that failed.", self.list_errors),
        ):
            yield CounterMetricFamily(f"bigfleet_shard_{name}", text, count)

    def _gauges(self) -> Iterator[Metric]:
        yield GaugeMetricFamily("bigfleet_shard_shortfalls", "Profiles that are short.", len(self.short_ages))
        aged = GaugeMetricFamily("bigfleet_shard_shortfalls_aged", "Shortfalls by age in cycles.", labels=("bucket",))
        for (bucket, floor), (_, above) in zip(_AGES, (*_AGES[1:], ("", 1 << 62)), strict=True):
            aged.add_metric((bucket,), sum(floor <= age < above for age in self.short_ages))
        yield aged
        name, text = "bigfleet_shard_shortfalls_by_priority", "Profiles that are short, by priority class."
        yield _gauge(name, text, ("priority_class",), _keyed(self.short_classes))
        demand = self._demand()
        name, text = "bigfleet_shard_demand_machines", "Machines that rows hold or are about to get."
        yield _gauge(name, text, ("interruption_penalty_bucket",), _keyed(demand))
        name, text = "bigfleet_shard_inventory_machines", "Machines."
        labels = ("state", "capacity_type", "interruption_penalty_bucket")
        yield _gauge(name, text, labels, self._inventory(demand))
        yield GaugeMetricFamily("bigfleet_shard_action_queue_depth", "Actions that wait.", self.queue_depth)
        yield GaugeMetricFamily("bigfleet_shard_execute_inflight", "Actions being carried out.", self.executing)
        held = _keyed(self.quarantined)
        yield _gauge("bigfleet_shard_rollup_quarantined", "Roll-ups held in a row.", ("cluster",), held)

    def _demand(self) -> dict[str, int]:
        machines = {"0": 0}
        for outcome in self.outcomes:
            label = outcome.row.need.profile.interruption.label
            machines[label] = machines.get(label, 0) + len(outcome.claimed) + len(outcome.acquired)
        return machines

    def _inventory(self, demand: Mapping[str, int]) -> dict[tuple[str, ...], int]:
        """Return the machines of every series: all states and types, for each bucket that occurs anywhere."""
        buckets = sorted({*demand, *self._buckets.values()})
        shown: dict[tuple[str, ...], int] = {
            (state.value, kind.value, bucket): 0
            for state in MachineState
            for kind in CapacityType
            for bucket in buckets
        }
        return shown | self._machines


def _labelled(name: str, text: str, label: str, counts: Mapping[Kind, int] | Mapping[str, int]) -> Metric:
    family = CounterMetricFamily(name, text, labels=(label,))
    for value, count in sorted(counts.items()):
        family.add_metric((str(value),), count)
    return family


def _keyed(values: Mapping[str, int]) -> dict[tuple[str, ...], int]:
    return {(key,): value for key, value in values.items()}


def _gauge(name: str, text: str, labels: Sequence[str], values: Mapping[tuple[str, ...], int]) -> Metric:
    family = GaugeMetricFamily(name, text, labels=labels)
    for key, value in sorted(values.items()):
        family.add_metric(key, value)
    return family
