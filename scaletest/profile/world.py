"""The ground a profile runs on: how the cloud behaves (`provider`) and what the clusters do to the engine (`world`)."""

from typing import Annotated, Literal

from pydantic import Field

from scaletest.profile.blocks import Block, Count, Latency, PositiveCount, PositiveNumber, Seconds
from scaletest.profile.spellings import LABEL_VALUE

__all__ = [
    "EmptyRollup",
    "Loss",
    "ModelledCycle",
    "Provider",
    "ProviderErrors",
    "Scheduler",
    "SignedLatency",
    "StockOut",
    "World",
]

_LabelValue = Annotated[str, Field(pattern=LABEL_VALUE)]
_Chance = Annotated[float, Field(ge=0, lt=1)]
_SignedSeconds = Annotated[float, Field(ge=-600, le=600)]


class Loss(Block):
    """Configured machines that vanish at a planned instant."""

    at_seconds: Seconds
    """When, in seconds after soak start."""
    count: PositiveCount = 1
    """How many machines, drawn by the random seed."""
    every_seconds: PositiveNumber | None = None
    """Repeat with this period until soak end."""
    repair_seconds: PositiveNumber | None = None
    """After this long the machine comes back as Idle; left out, it stays gone."""


class StockOut(Block):
    """A time in which Create is refused."""

    at_seconds: Seconds
    """When it begins, in seconds after soak start."""
    duration_seconds: PositiveNumber
    """How long it lasts."""
    instance_types: tuple[_LabelValue, ...] = ()
    """Only these instance types; all when empty."""
    zones: tuple[_LabelValue, ...] = ()
    """Only these zones; all when empty."""


class ProviderErrors(Block):
    """Chance that one call ends in an error."""

    create: _Chance = 0.0
    """Create."""
    configure: _Chance = 0.0
    """Configure."""
    drain: _Chance = 0.0
    """Drain."""
    delete: _Chance = 0.0
    """Delete."""


class Provider(Block):
    """The cloud: latencies are inputs of the test, drawn per machine and operation by the random seed."""

    # Configure's 9.8 s is the field figure of ADR-0051; the others are our study's and provisional.
    create: Latency = Field(default_factory=lambda: Latency(p50Seconds=1.6, p99Seconds=4.0))
    """Speculative to Idle."""
    configure: Latency = Field(default_factory=lambda: Latency(p50Seconds=3.0, p99Seconds=9.8))
    """Idle to Configured."""
    drain: Latency = Field(default_factory=lambda: Latency(p50Seconds=2.0, p99Seconds=5.0))
    """Configured to Idle, after the machine's Pods are gone."""
    delete: Latency = Field(default_factory=lambda: Latency(p50Seconds=1.0, p99Seconds=3.0))
    """Idle to Speculative."""
    acknowledge: Literal["done", "staged"] = "done"
    """When a call answers: once the machine has arrived, or at once, and listings show the rest."""
    losses: tuple[Loss, ...] = ()
    """Planned losses; random ones follow shard.failureRatePerSec."""
    stock_outs: tuple[StockOut, ...] = ()
    """Times in which Create is refused."""
    errors: ProviderErrors = Field(default_factory=ProviderErrors)
    """Random failures of calls."""


class SignedLatency(Block):
    """A delay that may be negative: the replacement Pod can appear before the old one is gone."""

    p50_seconds: _SignedSeconds
    """Median."""
    p99_seconds: _SignedSeconds
    """99th percentile; at least the median."""


class Scheduler(Block):
    """The simulated world's kube-scheduler; the real one is itself."""

    binds_per_second: PositiveNumber = 100.0
    """Binds per second and cluster."""
    backoff_initial_seconds: PositiveNumber = 1.0
    """First wait of a Pod that found no node (kube-scheduler's default)."""
    backoff_max_seconds: PositiveNumber = 10.0
    """Longest wait of such a Pod (kube-scheduler's default)."""


class ModelledCycle(Block):
    """Virtual duration of a decision cycle in the simulated world; compute time is measured apart."""

    base_milliseconds: Annotated[float, Field(ge=0, le=60_000)] = 5.0
    """Fixed part."""
    per_need_microseconds: Annotated[float, Field(ge=0, le=60_000_000)] = 130.0
    """Part per row of demand (ADR-0028 measured about 130)."""


class EmptyRollup(Block):
    """One roll-up that arrives without rows although demand is there."""

    at_seconds: Seconds
    """The first roll-up at or after this instant of the soak is empty."""
    cluster: Count = 0
    """Ordinal of the cluster that sends it."""


class World(Block):
    """What clusters do to the engine."""

    rollup_interval_seconds: PositiveNumber = 10.0
    """Time between two roll-ups of one cluster."""
    rollup_jitter_seconds: Seconds = 0.5
    """Each roll-up is early or late by up to this."""
    row_order: Literal["sorted", "rotated", "shuffled"] = "shuffled"
    """Order of equal rows inside a roll-up; a hash-map walk shuffles."""
    # As on kwok clusters: dev-50, some 500 replacements, p1 -0.1 s and p99 0.04 s. A ReplicaSet does not wait.
    replacement_lag: SignedLatency = Field(default_factory=lambda: SignedLatency(p50Seconds=-0.015, p99Seconds=0.04))
    """From a Pod's end to its replacement's appearance; below zero where the replacement comes first."""
    watch_delay: Latency = Field(default_factory=lambda: Latency(p50Seconds=0.02, p99Seconds=0.1))
    """From a change to the event that tells of it."""
    watch_breaks_per_hour: Annotated[float, Field(ge=0, le=3600)] = 0.0
    """How often a watch ends early; one break in four is too old to go on from."""
    api_latency: Latency = Field(default_factory=lambda: Latency(p50Seconds=0.005, p99Seconds=0.05))
    """Duration of one call to the API server."""
    node_ready: Latency = Field(default_factory=lambda: Latency(p50Seconds=0.1, p99Seconds=0.5))
    """From a Node's creation to its being Ready."""
    scheduler: Scheduler = Field(default_factory=Scheduler)
    """The scheduler model."""
    cycle: ModelledCycle = Field(default_factory=ModelledCycle)
    """Virtual duration of a cycle."""
    late_first_rollup_seconds: Seconds = 0.0
    """How much later than demand-ready the first roll-up is sent."""
    empty_rollups: tuple[EmptyRollup, ...] = ()
    """Roll-ups that arrive empty."""
