"""The profile: what to test. Names are ADR-0035's; times of the soak count from soak start."""

from typing import Annotated, Literal

from pydantic import Field

from scaletest.profile.blocks import Block, Count, Metadata, Name, PositiveCount, PositiveNumber, Share
from scaletest.profile.calibration import Calibration
from scaletest.profile.load import Load, LoadProfile, RunnerAction
from scaletest.profile.proving import Proving
from scaletest.profile.slo import Slo
from scaletest.profile.world import Provider, World

__all__ = ["CatalogChoice", "Profile", "Scale", "Seed", "Shard", "Steady", "Topology"]

_Density = Annotated[int, Field(ge=1, le=1000)]
_Multiplier = Annotated[int, Field(ge=0, le=100)]
_Headroom = Annotated[float, Field(ge=0, le=100)]
_Racks = Annotated[int, Field(ge=1, le=10_000)]
_Machines = Annotated[int, Field(ge=1, le=10**7)]


class Scale(Block):
    """How big the test is: demand is machines times density, on every substrate."""

    machines: _Machines
    """Nominal machines; demand = machines x density Pods."""
    density: _Density
    """Pods per nominal machine."""
    pods_per_cluster: PositiveCount | None = None
    """Pods of one cluster; the last cluster holds what remains. A substrate may set a ceiling, never a target."""


class CatalogChoice(Block):
    """Which workloads exist."""

    archetypes: Name = "realistic"
    """Name of a catalog beside the profile, in catalogs/."""


class Seed(Block):
    """The inventory at install time, matched to the catalog's distribution."""

    configured_fraction: Share = 0.0
    """Machines already bound to clusters, as a share of the effective machines."""
    speculative_multiplier: _Multiplier = 0
    """Elastic machines, as a multiple of the effective machines."""
    speculative_count: Count | None = None
    """Elastic machines per shard as an absolute number; excludes speculativeMultiplier."""
    spot_count: Count = 0
    """Elastic Spot machines per shard."""
    idle_headroom_fraction: _Headroom = 0.0
    """Owned idle machines, as a share of the effective machines; may exceed 1."""
    racks_per_zone: _Racks = 10
    """Racks in every zone; fewer make them larger."""
    rack_block: PositiveCount | None = None
    """Machines of a rack gang's kind that are set down in one rack before the next one's turn; left out, as many as \
its largest gang, so that a rack can hold it. Fewer scatter them: gangs must be assembled, or fit no rack at all."""
    pre_bind_fraction: Share = 1.0
    """Share of the Pods that are bound at install; 0 lets the engine fill from empty."""


class Steady(Block):
    """What must hold before the soak starts."""

    bound_fraction: Share = 0.99
    """Share of the Pods on a Ready node."""
    rollup_fraction: Share = 0.999
    """Share of the live Pods covered by an accepted roll-up, in every cluster."""
    within_seconds: PositiveNumber = 300
    """Deadline, from the end of seeding."""
    acquisitions_flat_seconds: Annotated[float, Field(ge=0, le=3600)] = 0
    """No acquisition for this long; for profiles that fill from empty or stay short by design."""


class Topology(Block):
    """Shards and coordinators of the engine."""

    shard_replicas: PositiveCount | None = None
    """Shards; left out, one for every 500,000 machines."""
    coordinator_replicas: PositiveCount = 1
    """Coordinators, for engines that have one."""


class Shard(Block):
    """Random machine failures."""

    failure_rate_per_sec: Annotated[float, Field(ge=0, le=1)] = 1.16e-7
    """Failures per second and Configured machine; the default is about one percent a day."""


class Profile(Block):
    """A test: how big, which workloads, what is there at the start, how it moves, and what passes."""

    api_version: Literal["scaletest/v1"]
    """Version of this format."""
    kind: Literal["Profile"]
    """Kind of file."""
    metadata: Metadata
    """Who this profile is."""
    engine: Name = "reference"
    """Engine under test: name of a manifest in engines/ beside the profile; --engine overrides it."""
    random_seed: Annotated[int, Field(ge=0, lt=2**63)] = 1
    """Root of all randomness; --seed overrides it."""
    plan_only: bool = False
    """The profile is to be planned and looked at; `scaletest run` refuses it."""
    scale: Scale
    """How big the test is."""
    catalog: CatalogChoice = Field(default_factory=CatalogChoice)
    """Which workloads exist."""
    seed: Seed = Field(default_factory=Seed)
    """The inventory at install time."""
    steady: Steady = Field(default_factory=Steady)
    """What must hold before the soak starts."""
    load: Load = Field(default_factory=Load)
    """What the demand is made of."""
    load_profile: LoadProfile = Field(default_factory=LoadProfile)
    """How demand moves."""
    slo: Slo = Field(default_factory=Slo)
    """What passes."""
    provider: Provider = Field(default_factory=Provider)
    """How the cloud behaves."""
    world: World = Field(default_factory=World)
    """What clusters do to the engine."""
    shard: Shard = Field(default_factory=Shard)
    """Random machine failures."""
    topology: Topology = Field(default_factory=Topology)
    """Shards and coordinators."""
    runner_actions: tuple[RunnerAction, ...] = ()
    """What the runner does to the engine during the soak."""
    proving: Proving = Field(default_factory=Proving)
    """What this profile is made to show; it changes nothing in a run."""
    calibration: Calibration | None = None
    """Bars found by running, which stand beside those under slo."""
    ramp_budget: str | None = None
    """Deprecated: ramp gates nothing (ADR-0035); still read so that old profiles load."""

    @property
    def pods_per_cluster(self) -> int:
        """Return the Pods of one cluster, under whichever name they were given."""
        given = self.scale.pods_per_cluster or self.load_profile.target
        if given is None:
            raise ValueError("a profile without Pods per cluster was not read through the door")
        return given

    @property
    def soak_us(self) -> int:
        """Return the length of the soak in microseconds."""
        return self.load_profile.soak_us

    @property
    def settle_us(self) -> int:
        """Return the settle mark in microseconds after soak start; 0 when it would leave nothing of the soak."""
        return self.load_profile.settle_us
