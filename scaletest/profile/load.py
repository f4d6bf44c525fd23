"""The load part of a profile: how demand is drawn, and how it moves over the soak."""

from typing import Annotated, Literal

from pydantic import Field

from scaletest.model.instants import microseconds
from scaletest.profile.blocks import Block, Name, PositiveCount, PositiveNumber, Seconds, Share

__all__ = ["Burst", "DemandStep", "Load", "LoadProfile", "RunnerAction", "ScaleDown"]


class Load(Block):
    """What the demand is made of."""

    demand_draw: Literal["quota", "free"] = "quota"
    """`quota` fixes the Pods of every archetype and cluster and draws what can be pre-bound; `free` draws workloads \
until the target is reached, whatever that leaves unplaceable, as the field does."""


class Burst(Block):
    """Extra Pods of one archetype that come and go as one."""

    at_seconds: Seconds
    """When the Pods appear, in seconds after soak start."""
    archetype: Name
    """Which archetype of the catalog bursts."""
    extra_target: PositiveCount
    """Pods added in every participating cluster; for a gang archetype, gangs are never cut short."""
    duration_seconds: PositiveNumber
    """How long they stay."""
    selectivity: Share
    """Share of the clusters that take part; 1.0 means every cluster, which multiplies the burst by their number."""


class ScaleDown(Block):
    """A lasting cut of demand; the elastic tier shrinks with it."""

    at_seconds: Seconds
    """When demand falls, in seconds after soak start."""
    target_multiplier: Annotated[float, Field(gt=0, lt=1)]
    """What remains, as a share of the original Pods."""


class DemandStep(Block):
    """A change of demand in either direction; the elastic tier stays as it is."""

    at_seconds: Seconds
    """When demand changes, in seconds after soak start."""
    target_multiplier: Annotated[float, Field(gt=0, le=1)]
    """The new demand, as a share of the original Pods; growth beyond them is what bursts are for."""


class LoadProfile(Block):
    """How demand moves during the run."""

    soak_seconds: PositiveNumber = 600
    """Length of the soak, the part of the run that is judged."""
    settle_seconds: Seconds = 0
    """How long after soak start the reclaim baseline is read; 0 reads it at soak start."""
    churn_per_minute: Annotated[float, Field(ge=0, le=10)] = 0.02
    """Share of the Pods replaced per minute."""
    jittered_churn: bool = True
    """Replacements at random instants (true) or evenly spaced (false); their number is the same."""
    micro_burst_rate_per_minute: Annotated[float, Field(ge=0, le=60)] = 1.0
    """How often, per cluster, one second's churn is multiplied."""
    micro_burst_factor: Annotated[float, Field(ge=1, le=1000)] = 5.0
    """By how much."""
    ramp_seconds: PositiveNumber | None = None
    """Time allowed for a fill from empty; information only, ramp gates nothing."""
    open_loop_demand_multiplier: Annotated[float, Field(ge=1, le=10)] = 1.0
    """Extra Pods that are never expected to bind, so that demand stays above supply."""
    bursts: tuple[Burst, ...] = ()
    """Extra Pods that come and go."""
    scale_downs: tuple[ScaleDown, ...] = ()
    """Lasting cuts of demand."""
    demand_steps: tuple[DemandStep, ...] = ()
    """Changes of demand in either direction."""
    target: PositiveCount | None = None
    """Legacy name of scale.podsPerCluster."""
    duration_seconds: PositiveNumber | None = None
    """Legacy name of loadProfile.soakSeconds."""

    @property
    def soak_us(self) -> int:
        """Return the soak in microseconds, under whichever name it was given."""
        legacy = None if "soak_seconds" in self.model_fields_set else self.duration_seconds
        return microseconds(self.soak_seconds if legacy is None else legacy)

    @property
    def settle_us(self) -> int:
        """Return how long after soak start the reclaim baseline is read, in microseconds.

        A settle time that leaves nothing of the soak counts as none (ADR-0035, amendment).
        """
        settle_us = microseconds(self.settle_seconds)
        return settle_us if settle_us < self.soak_us else 0


class RunnerAction(Block):
    """Something the runner does to the engine during the soak."""

    at_seconds: Seconds
    """When, in seconds after soak start."""
    action: Name
    """One of the actions that the engine's manifest lists."""
