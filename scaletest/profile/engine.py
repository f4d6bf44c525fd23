"""The engine manifest: what is under test, how to start it, and where its numbers are.

Gates speak of roles, never of an engine's metric names. A role that a manifest leaves out makes its gates not
applicable, which the plan says before the run; a role that is promised and not delivered is unmeasured.
"""

from typing import Annotated, Literal

from pydantic import Field

from scaletest.profile.blocks import Block, Metadata, Name, PositiveNumber
from scaletest.profile.spellings import LABEL_NAME, METRIC_NAME, RELATIVE_PATH, URL_PATH

__all__ = ["Chart", "Command", "EngineManifest", "InProcess", "Metric", "Ready", "Roles", "Start"]

_MetricName = Annotated[str, Field(pattern=METRIC_NAME)]
_RelativePath = Annotated[str, Field(pattern=RELATIVE_PATH, max_length=255)]
_UrlPath = Annotated[str, Field(pattern=URL_PATH, max_length=255)]
_LabelName = Annotated[str, Field(pattern=LABEL_NAME)]


class Metric(Block):
    """Where one role's number is found."""

    metric: _MetricName
    """Name of the metric, without the _bucket, _sum or _count of a histogram."""
    type: Literal["counter", "gauge", "histogram"]
    """Type of the metric."""
    unit: Literal["seconds", "bytes", "machines", "actions", "needs", "events", "ratio"]
    """What one counts or measures."""
    labels: dict[_LabelName, tuple[str, ...]] = Field(default_factory=dict)
    """Only series whose label has one of these values."""
    by: tuple[_LabelName, ...] = ()
    """Labels that tell the parts of this role apart."""


class Roles(Block):
    """The roles that gates speak of."""

    process_start: Metric | None = None
    """Start time of the engine's process; detects restarts."""
    resident_memory: Metric | None = None
    """Resident memory of the engine's process."""
    cycle_duration: Metric | None = None
    """Duration of a decision cycle."""
    reclaim_actions: Metric | None = None
    """Reclaims accepted for execution."""
    acquisition_actions: Metric | None = None
    """Bootstraps and provisions accepted for execution."""
    preempt_actions: Metric | None = None
    """Preemptions accepted for execution."""
    bootstrap_outcomes: Metric | None = None
    """Ended bootstraps by outcome."""
    configure_duration: Metric | None = None
    """Configuring one machine."""
    shortfall: Metric | None = None
    """Rows of demand that could not be covered."""
    shortfall_by_priority: Metric | None = None
    """The same by priority class."""
    demand: Metric | None = None
    """Demand known to the engine."""
    inventory: Metric | None = None
    """Machines by state, capacity type and penalty bucket."""
    rollup_duration: Metric | None = None
    """Building and sending one roll-up."""
    acknowledge_duration: Metric | None = None
    """From a request's creation to its acknowledgement."""
    node_publish_duration: Metric | None = None
    """Publishing one machine's state to its cluster."""


class InProcess(Block):
    """The engine runs inside the program that runs the test."""

    adapter: Name
    """Name of the built-in engine."""


class Command(Block):
    """The engine is a process."""

    argv: Annotated[tuple[str, ...], Field(min_length=1)]
    """Program and arguments; `{kubeconfig}`, `{metricsPort}` and `{runFolder}` are filled in."""
    environment: dict[str, str] = Field(default_factory=dict)
    """Variables added to its environment."""


class Chart(Block):
    """The engine is a chart on a Kubernetes cluster."""

    path: _RelativePath
    """Folder of the chart, relative to the manifest."""


class Start(Block):
    """How the engine is started: exactly one of the three."""

    in_process: InProcess | None = None
    """Inside the program."""
    command: Command | None = None
    """As a process."""
    chart: Chart | None = None
    """As a chart."""


class Ready(Block):
    """How to know that the engine is up."""

    path: _UrlPath = "/readyz"
    """Path that answers 200 when the engine is ready."""
    within_seconds: PositiveNumber = 60
    """How long that may take."""


class EngineManifest(Block):
    """An engine under test."""

    api_version: Literal["scaletest/v1"]
    """Version of this format."""
    kind: Literal["Engine"]
    """Kind of file."""
    metadata: Metadata
    """Who this engine is."""
    version: Annotated[str, Field(max_length=200)] = ""
    """What tells its releases apart; bars that were calibrated with another one are not applied."""
    start: Start
    """How it is started."""
    apply: tuple[_RelativePath, ...] = ()
    """Files with objects to apply first, relative to the manifest."""
    ready: Ready = Field(default_factory=Ready)
    """How to know that it is up."""
    seeding: tuple[Literal["configured", "idle", "speculative", "spot", "attribution"], ...] = ()
    """Which parts of a seeded inventory it can take over."""
    ledger: bool = False
    """It writes the action ledger, so that counters can be checked row by row."""
    actions: tuple[Name, ...] = ()
    """What the runner can do to it during the soak."""
    roles: Roles
    """Where its numbers are."""
