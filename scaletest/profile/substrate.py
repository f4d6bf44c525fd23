"""The substrate: where a profile runs, how much room is there, and what a run costs in memory and time."""

from typing import Annotated, Literal

from pydantic import Field

from scaletest.profile.blocks import Block, Metadata, PositiveCount, PositiveNumber

__all__ = ["ClusterLimits", "Footprint", "Host", "Substrate"]

_Cost = Annotated[float, Field(ge=0, le=10**9)]


class Host(Block):
    """Size of the machine; what is left out is read from the machine the command runs on."""

    vcpu: Annotated[PositiveCount | None, Field(alias="vCPU")] = None
    """Cores."""
    memory_gibibytes: Annotated[PositiveNumber | None, Field(alias="memoryGiB")] = None
    """Memory."""


class ClusterLimits(Block):
    """What one cluster of this substrate bears."""

    pods_per_cluster: PositiveCount | None = None
    """Ceiling; a profile that wants more Pods per cluster is refused."""
    binds_per_second: PositiveNumber | None = None
    """Binds per second of one cluster, measured; for the time estimate."""


class Footprint(Block):
    """Cost of a run on this substrate; the sums are estimates and are printed as such."""

    base_mebibytes: _Cost
    """Memory before the first cluster."""
    per_cluster_mebibytes: _Cost
    """Memory of an empty cluster."""
    per_pod_kibibytes: _Cost
    """Memory of one Pod with its request."""
    per_machine_kibibytes: _Cost
    """Memory of one machine, all tiers."""
    base_seconds: _Cost
    """Time before the first cluster."""
    per_cluster_seconds: _Cost
    """Time to bring up one cluster."""
    seed_seconds_per_thousand_pods: _Cost
    """Time to seed and pre-bind a thousand Pods, all clusters together."""
    soak_seconds_per_thousand_replacements: _Cost
    """Time to drive a thousand replacements; 0 where the soak runs in real time."""
    real_time: bool
    """The soak takes as long as the profile says (a real cluster) or as long as the work takes (virtual time)."""


class Substrate(Block):
    """Where a profile runs."""

    api_version: Literal["scaletest/v1"]
    """Version of this format."""
    kind: Literal["Substrate"]
    """Kind of file."""
    metadata: Metadata
    """Who this substrate is."""
    world: Literal["sim", "kwok", "k8s"]
    """Which world: simulated on virtual time, kwok clusters as host processes, or an existing Kubernetes."""
    host: Host = Field(default_factory=Host)
    """Size of the machine."""
    cluster: ClusterLimits = Field(default_factory=ClusterLimits)
    """What one cluster bears."""
    footprint: Footprint
    """Cost of a run."""
