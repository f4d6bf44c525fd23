"""The catalog: which workloads exist, how often, how big, and on what machines."""

from typing import Annotated, Literal

from pydantic import Field

from scaletest.profile.blocks import Block, Count, Metadata, Name, PositiveCount, Quantity, Share
from scaletest.profile.spellings import LABEL_KEY, LABEL_VALUE, RESOURCE_NAME

__all__ = ["Archetype", "Catalog", "InstanceType", "LabelAxis", "SizeBucket", "SpreadConstraint"]

_Dollars = Annotated[float, Field(ge=0, le=10**9)]
_Priority = Annotated[int, Field(ge=-(2**31), lt=2**31)]
_ResourceName = Annotated[str, Field(pattern=RESOURCE_NAME)]
_LabelKey = Annotated[str, Field(pattern=LABEL_KEY)]
_LabelValue = Annotated[str, Field(pattern=LABEL_VALUE)]
_Resources = Annotated[dict[_ResourceName, Quantity], Field(min_length=1)]


class SizeBucket(Block):
    """One size that Pods of an archetype come in."""

    weight: PositiveCount = 1
    """Relative frequency among the archetype's workloads."""
    resources: _Resources
    """Requests of one Pod; limits are equal."""


class LabelAxis(Block):
    """A label on which Pods pin themselves, with evenly drawn values."""

    key: _LabelKey
    """Label key."""
    count: PositiveCount
    """Number of values."""


class SpreadConstraint(Block):
    """A topology spread over all Pods of the archetype in the cluster."""

    topology_key: _LabelKey
    """Label whose values are balanced."""
    max_skew: PositiveCount
    """Largest allowed difference."""
    when_unsatisfiable: Literal["DoNotSchedule", "ScheduleAnyway"]
    """Hard or soft; soft spreads never become demand."""


class Archetype(Block):
    """A kind of workload."""

    name: Name
    """Name, unique in the catalog."""
    weight: PositiveCount = 1
    """Relative frequency of workload objects (not of Pods or machines)."""
    controller: Literal["Deployment", "StatefulSet"] = "Deployment"
    """Which controller owns the Pods; a StatefulSet that is not a gang has at most 25 replicas."""
    instance_types: Annotated[tuple[_LabelValue, ...], Field(min_length=1)]
    """Instance types the Pods accept."""
    zones: Annotated[tuple[_LabelValue, ...], Field(min_length=1)]
    """Zones the Pods accept."""
    resources: _Resources | None = None
    """Requests of one Pod, when there is one size only."""
    size_buckets: tuple[SizeBucket, ...] = ()
    """Sizes that Pods come in; excludes resources."""
    pods_per_node: PositiveCount | None = None
    """Pods of this kind that one machine holds; left out, 1 for Pods with a device and the density otherwise."""
    priority_classes: Annotated[tuple[_Priority, ...], Field(min_length=1)] = (1000,)
    """Priorities, drawn evenly per workload."""
    interruption_penalty: _Dollars = 0.0
    """Cost of losing a Pod to an interruption, in dollars."""
    reclamation_penalty: _Dollars = 0.0
    """Cost of moving a Pod, in dollars."""
    mean_lifetime_seconds: Count = 0
    """Mean life of a Pod; 0 means it ends only by churn."""
    same_rack: bool = False
    """The workload is a gang that must share one rack."""
    same_zone: bool = False
    """The workload is a gang that must share one zone."""
    group_size_range: tuple[PositiveCount, PositiveCount] | None = None
    """Smallest and largest gang, drawn evenly."""
    allow_partial: bool = False
    """The gang is co-located but may start in parts."""
    burst_only: bool = False
    """Appears only in bursts: no steady demand and no seeded machines."""
    label_axes: Annotated[tuple[LabelAxis, ...], Field(max_length=8)] = ()
    """Labels on which Pods pin themselves."""
    spread_constraint_prob: Share = 0.0
    """Chance that a workload carries the spread constraint."""
    spread_constraint: SpreadConstraint | None = None
    """The spread constraint."""


class InstanceType(Block):
    """What a machine of this type has in reality, to check demand against and to print beside the scaled figure."""

    resources: _Resources
    """As the vendor states them."""


class Catalog(Block):
    """The workloads that exist."""

    api_version: Literal["scaletest/v1"]
    """Version of this format."""
    kind: Literal["Catalog"]
    """Kind of file."""
    metadata: Metadata
    """Who this catalog is."""
    instance_types: dict[_LabelValue, InstanceType] = Field(default_factory=dict)
    """Real shapes of the instance types that archetypes name."""
    archetypes: Annotated[tuple[Archetype, ...], Field(min_length=1)]
    """Kinds of workload."""
