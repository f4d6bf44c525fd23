"""The gates of a profile. A gate that is left out is not applied; a missing measurement never passes."""

from typing import Annotated, Literal

from pydantic import Field

from scaletest.profile.blocks import Block, Count, PositiveNumber

__all__ = ["PriorityClass", "Slo"]

PriorityClass = Literal["batch", "service", "critical"]

_Ratio = Annotated[float, Field(gt=0, le=1)]
_Rate = Annotated[float, Field(ge=0, le=10**6)]


class Slo(Block):
    """Bars of the gates; latency bars are upper bounds in seconds, `min…` and `…Ratio` are lower bounds."""

    judge: Literal["soak", "tail"] = "soak"
    """Which part decides a latency gate whose whole soak is over the bar while its settled tail is clean."""

    internal_binding_latency_p99_seconds: PositiveNumber | None = None
    """Headline: 99 of 100 replacements bind within this, from the Pod's appearance to its binding."""
    new_machine_binding_p95_seconds: PositiveNumber | None = None
    """The same at 95 of 100, only for replacements that needed a machine which was not there."""
    end_to_end_pod_bind_p50_seconds: PositiveNumber | None = None
    """A loose liveness bar on the median binding."""

    shard_cycle_duration_p99_seconds: PositiveNumber = 5.0
    """Decision cycle, 99th percentile of the worst shard."""
    operator_rollup_p99_seconds: PositiveNumber = 1.0
    """Building and sending one roll-up."""
    operator_ack_p99_seconds: PositiveNumber = 12.0
    """From a request's creation to its acknowledgement."""
    shard_configure_phase_p99_seconds: PositiveNumber | None = None
    """Configuring one machine."""
    operator_node_state_update_p99_seconds: PositiveNumber | None = None
    """Publishing one machine's state to its cluster."""
    bootstrap_success_ratio: _Ratio | None = None
    """Share of bootstraps that succeed, at least."""

    max_reclaim_actions_during_soak: Count = 0
    """Reclaims allowed between the settle mark and soak end; 0 allows none."""
    max_reclaims_per_cycle_fraction: _Ratio | None = None
    """Largest share of one cluster's Configured machines reclaimed in one cycle."""
    max_reclaims_before_first_rollup: Count | None = None
    """Reclaims of a cluster's machines before its first roll-up arrived."""
    max_regretted_reclaims: Count | None = None
    """Reclaims followed within two minutes by an acquisition for the same demand."""
    max_acquisitions_per_loss: _Rate | None = None
    """Machines acquired for every machine lost."""

    max_domain_flips_per_gang_minute: _Rate | None = None
    """How often a gang's chosen rack or zone changes."""
    max_claimed_set_changes_per_gang_minute: _Rate | None = None
    """How often the set of machines claimed for a gang changes."""
    min_gang_bind_fraction: _Ratio | None = None
    """Share of gangs that are bound whole."""

    expect_standing_shortfall: bool = False
    """Inverted: supply is short by design, so a run without a shortfall fails."""
    shortfall_stability_max: Count = 0
    """With expectStandingShortfall: by how much the shortfall may move over the tail."""
    shortfall_confined_below_priority_class: PriorityClass | None = None
    """With expectStandingShortfall: no shortfall in any class above this one."""
    expect_preemptions: bool = False
    """Inverted: at least one preemption must happen during the soak."""
    expect_cost_routing: bool = False
    """Inverted: demand must land on the capacity type its interruption penalty makes cheapest."""
    cost_routing_tolerant_penalty_bucket: str | None = None
    """With expectCostRouting: penalty bucket of the demand that belongs on Spot."""
    cost_routing_sensitive_penalty_bucket: str | None = None
    """With expectCostRouting: penalty bucket of the demand that belongs on OnDemand."""
    cost_routing_misrouted_max: Count = 0
    """With expectCostRouting: machines allowed on the wrong capacity type."""

    max_drill_settle_seconds: PositiveNumber | None = None
    """Longest time from a demand change until the fleet stops moving."""
    max_drill_overshoot_fraction: _Rate | None = None
    """How far Configured machines may pass their new level, as a share of the change."""
    max_drill_drift_fraction: _Rate | None = None
    """How far the levels of equal steps may differ from each other."""

    max_engine_rss_growth_mebibytes: PositiveNumber | None = None
    """Growth of the engine's resident memory from the settle mark to soak end."""
    max_failed_machines_growth: Count | None = None
    """Growth of the number of Failed machines over the same time."""
    max_transitional_machines_growth: Count | None = None
    """Growth of the number of machines in a transitional state over the same time."""
