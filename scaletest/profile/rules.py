"""Contradictions inside a profile: each rule looks at a few values and yields what does not go together.

The tables at the end are the list of all rules. A rule may trust shapes and ranges; it never sees a faulty value.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Final, TypeAlias

from scaletest.model.instants import microseconds, seconds_text
from scaletest.model.money import PINNED, PenaltyBucket
from scaletest.profile.blocks import Latency
from scaletest.profile.findings import Finding, Rule, missing_switch
from scaletest.profile.keys import closest
from scaletest.profile.load import Burst, DemandStep, RunnerAction, ScaleDown
from scaletest.profile.problems import Path
from scaletest.profile.profile import Profile
from scaletest.profile.slo import Slo
from scaletest.profile.world import EmptyRollup, Loss, SignedLatency, StockOut

__all__ = ["PROFILE_RULES"]

_Event: TypeAlias = Burst | ScaleDown | DemandStep | RunnerAction | Loss | StockOut | EmptyRollup

_SLO_KEYS: Final = {name: info.alias or name for name, info in Slo.model_fields.items()}
_BUCKETS: Final = tuple(PenaltyBucket(ordinal).label for ordinal in range(1, PINNED + 1))


def _pods_per_cluster_is_given(profile: Profile) -> Iterator[Finding]:
    if profile.scale.pods_per_cluster is None and profile.load_profile.target is None:
        yield Finding.error(
            "scale.podsPerCluster loadProfile.target", "the key is missing", "say how many Pods one cluster holds"
        )


def _target_agrees_with_pods_per_cluster(profile: Profile) -> Iterator[Finding]:
    new, legacy = profile.scale.pods_per_cluster, profile.load_profile.target
    if new is not None and legacy is not None and new != legacy:
        message = f"says {legacy} where scale.podsPerCluster says {new}"
        yield Finding.error("loadProfile.target scale.podsPerCluster", message, "it is the legacy name: remove it")


def _duration_agrees_with_soak(profile: Profile) -> Iterator[Finding]:
    load = profile.load_profile
    both = load.duration_seconds is not None and "soak_seconds" in load.model_fields_set
    if both and load.duration_seconds != load.soak_seconds:
        message = f"says {load.duration_seconds:g} where soakSeconds says {load.soak_seconds:g}"
        reads = "loadProfile.durationSeconds loadProfile.soakSeconds"
        yield Finding.error(reads, message, "it is the legacy name: remove it")


def _settle_ends_before_the_soak(profile: Profile) -> Iterator[Finding]:
    load = profile.load_profile
    if load.settle_seconds and load.settle_us == 0:
        soak = seconds_text(load.soak_us)
        message = f"is not shorter than the soak of {soak} s, so the reclaim baseline is read at soak start"
        reads = "loadProfile.settleSeconds loadProfile.soakSeconds loadProfile.durationSeconds"
        yield Finding.warning(reads, message, "settle for less, or soak longer")


def _ramp_budget_is_deprecated(profile: Profile) -> Iterator[Finding]:
    if profile.ramp_budget is not None:
        yield Finding.warning(
            "rampBudget", "is deprecated and gates nothing (ADR-0035)", "remove it; see steady.withinSeconds"
        )


def _speculative_tier_is_given_once(profile: Profile) -> Iterator[Finding]:
    if profile.seed.speculative_count is not None and profile.seed.speculative_multiplier:
        reads = "seed.speculativeCount seed.speculativeMultiplier"
        yield Finding.error(reads, "excludes speculativeMultiplier", "keep one of the two")


def _something_to_bind_to(profile: Profile) -> Iterator[Finding]:
    if profile.seed.configured_fraction == 0 and profile.seed.pre_bind_fraction > 0:
        message = "Pods are to be bound at install, and there is no Configured machine to bind them to"
        hint = "set preBindFraction: 0 to fill from empty, or a configuredFraction"
        yield Finding.error("seed.preBindFraction seed.configuredFraction", message, hint)


def _steady_is_stated(profile: Profile) -> Iterator[Finding]:
    if profile.seed.pre_bind_fraction < 1 and "steady" not in profile.model_fields_set:
        message = f"only a share of {profile.seed.pre_bind_fraction:g} is bound at install, and steady is not stated"
        hint = "add a steady block that says when the soak may start"
        yield Finding.warning("seed.preBindFraction steady", message, hint)


def _headline_is_gated(profile: Profile) -> Iterator[Finding]:
    slo = profile.slo
    inverted = slo.expect_standing_shortfall or slo.expect_preemptions or slo.expect_cost_routing
    about_something_else = inverted or bool(profile.proving.catches)
    if slo.internal_binding_latency_p99_seconds is None and not about_something_else:
        message = "the headline, binding latency, is not gated"
        yield Finding.warning(
            "slo.internalBindingLatencyP99Seconds", message, "set slo.internalBindingLatencyP99Seconds"
        )


def _latencies_rise(profile: Profile) -> Iterator[Finding]:
    provider, world = profile.provider, profile.world
    latencies: dict[str, Latency | SignedLatency] = {
        "provider.create": provider.create,
        "provider.configure": provider.configure,
        "provider.drain": provider.drain,
        "provider.delete": provider.delete,
        "world.replacementLag": world.replacement_lag,
        "world.watchDelay": world.watch_delay,
    }
    for path, latency in latencies.items():
        if latency.p99_seconds < latency.p50_seconds:
            message = f"is {latency.p99_seconds:g}, less than the median of {latency.p50_seconds:g}"
            yield Finding.error(f"{path}.p99Seconds {path}.p50Seconds", message, "raise it, or lower the median")


def _backoff_rises(profile: Profile) -> Iterator[Finding]:
    scheduler = profile.world.scheduler
    if scheduler.backoff_max_seconds < scheduler.backoff_initial_seconds:
        reads = "world.scheduler.backoffMaxSeconds world.scheduler.backoffInitialSeconds"
        message = f"is less than the first back-off of {scheduler.backoff_initial_seconds:g} s"
        yield Finding.error(reads, message, "raise it, or lower the first")


def _rollups_stay_in_order(profile: Profile) -> Iterator[Finding]:
    if profile.world.rollup_jitter_seconds * 2 >= profile.world.rollup_interval_seconds:
        message = f"lets two roll-ups that are {profile.world.rollup_interval_seconds:g} s apart change places"
        reads = "world.rollupJitterSeconds world.rollupIntervalSeconds"
        yield Finding.error(reads, message, "keep it below half of rollupIntervalSeconds")


def _events(profile: Profile) -> Iterator[tuple[str, float]]:
    """Yield every event of the soak with the path of its instant."""
    load, provider = profile.load_profile, profile.provider
    lists: dict[str, tuple[_Event, ...]] = {
        "loadProfile.bursts": load.bursts,
        "loadProfile.scaleDowns": load.scale_downs,
        "loadProfile.demandSteps": load.demand_steps,
        "provider.losses": provider.losses,
        "provider.stockOuts": provider.stock_outs,
        "world.emptyRollups": profile.world.empty_rollups,
        "runnerActions": profile.runner_actions,
    }
    for path, events in lists.items():
        for place, event in enumerate(events):
            yield f"{path}.{place}.atSeconds", event.at_seconds


def _events_happen(profile: Profile) -> Iterator[Finding]:
    soak = profile.soak_us
    for path, at_seconds in _events(profile):
        if microseconds(at_seconds) >= soak:
            message = f"{at_seconds:g} is not before the soak's end at {seconds_text(soak)} s, so it never happens"
            reads = f"{path} loadProfile.soakSeconds loadProfile.durationSeconds"
            yield Finding.error(reads, message, "move it forward, or soak longer")


def _empty_rollups_have_a_cluster(profile: Profile) -> Iterator[Finding]:
    scale = profile.scale
    per_cluster = scale.pods_per_cluster or profile.load_profile.target or 1
    clusters = -(-scale.machines * scale.density // per_cluster)
    for place, rollup in enumerate(profile.world.empty_rollups):
        if rollup.cluster >= clusters:
            path = f"world.emptyRollups.{place}.cluster"
            message = f"there is no cluster {rollup.cluster}: the last of {clusters} is {clusters - 1}"
            reads = f"{path} scale.machines scale.density scale.podsPerCluster loadProfile.target"
            yield Finding.error(reads, message, "clusters count from 0")


def _changes_are_in_order(profile: Profile) -> Iterator[Finding]:
    load = profile.load_profile
    lists: dict[str, tuple[_Event, ...]] = {
        "scaleDowns": load.scale_downs,
        "demandSteps": load.demand_steps,
    }
    for key, changes in lists.items():
        for place, (before, after) in enumerate(pairwise(changes), start=1):
            if after.at_seconds <= before.at_seconds:
                path = f"loadProfile.{key}"
                message = f"{after.at_seconds:g} does not come after the entry before it ({before.at_seconds:g})"
                reads = f"{path}.{place}.atSeconds {path}.{place - 1}.atSeconds"
                yield Finding.error(reads, message, "put the entries in rising order")


def _one_kind_of_change(profile: Profile) -> Iterator[Finding]:
    if profile.load_profile.scale_downs and profile.load_profile.demand_steps:
        message = "cannot be mixed with scaleDowns: one shrinks the elastic tier, the other keeps it"
        yield Finding.error("loadProfile.demandSteps loadProfile.scaleDowns", message, "keep one of the two")


def _shortfall_bars_have_their_switch(profile: Profile) -> Iterator[Finding]:
    bars = ("shortfall_stability_max", "shortfall_confined_below_priority_class")
    return missing_switch(profile.slo, around="slo", switch="expect_standing_shortfall", fields=bars)


def _some_class_may_not_go_short(profile: Profile) -> Iterator[Finding]:
    if profile.slo.shortfall_confined_below_priority_class == "critical":
        message = "no class lies above critical, so the gate could never fail"
        hint = "name the highest class that may go short: batch or service"
        yield Finding.error("slo.shortfallConfinedBelowPriorityClass", message, hint)


def _cost_routing_bars_have_their_switch(profile: Profile) -> Iterator[Finding]:
    buckets = ("cost_routing_tolerant_penalty_bucket", "cost_routing_sensitive_penalty_bucket")
    bars = (*buckets, "cost_routing_misrouted_max")
    return missing_switch(profile.slo, around="slo", switch="expect_cost_routing", fields=bars)


def _cost_routing_has_two_buckets(profile: Profile) -> Iterator[Finding]:
    slo = profile.slo
    if not slo.expect_cost_routing:
        return
    tolerant, sensitive = slo.cost_routing_tolerant_penalty_bucket, slo.cost_routing_sensitive_penalty_bucket
    keys = ("costRoutingTolerantPenaltyBucket", "costRoutingSensitivePenaltyBucket")
    for key, bucket in zip(keys, (tolerant, sensitive), strict=True):
        if bucket is None:
            yield Finding.error(
                f"slo.{key} slo.expectCostRouting", "expectCostRouting needs it", 'name a bucket such as "8"'
            )
        elif bucket not in _BUCKETS:
            message = f"no penalty bucket is called {bucket!r}"
            yield Finding.error(f"slo.{key}", message, f"buckets are {', '.join(_BUCKETS[:6])}, … {_BUCKETS[-1]}")
    if tolerant is not None and tolerant == sensitive:
        message = "is the same bucket as the tolerant demand's"
        yield Finding.error(
            f"slo.{keys[1]} slo.{keys[0]}", message, "routing needs two different buckets to tell apart"
        )


def _cost_routing_has_two_tiers(profile: Profile) -> Iterator[Finding]:
    if not profile.slo.expect_cost_routing:
        return
    seed = profile.seed
    if seed.spot_count == 0:
        yield Finding.error(
            "slo.expectCostRouting seed.spotCount", "there is no Spot tier to route to", "set seed.spotCount"
        )
    if not seed.speculative_count and not seed.speculative_multiplier:
        reads = "slo.expectCostRouting seed.speculativeCount seed.speculativeMultiplier"
        hint = "set seed.speculativeCount or seed.speculativeMultiplier"
        yield Finding.error(reads, "there is no OnDemand tier to route to", hint)


def _drill_bars_have_a_drill(profile: Profile) -> Iterator[Finding]:
    load, slo = profile.load_profile, profile.slo
    bars = {
        "maxDrillSettleSeconds": slo.max_drill_settle_seconds,
        "maxDrillOvershootFraction": slo.max_drill_overshoot_fraction,
        "maxDrillDriftFraction": slo.max_drill_drift_fraction,
    }
    for key, bar in bars.items():
        if bar is not None and not load.scale_downs and not load.demand_steps:
            reads = f"slo.{key} loadProfile.scaleDowns loadProfile.demandSteps"
            yield Finding.error(
                reads, "demand never changes, so there is no drill to judge", "add demandSteps or scaleDowns"
            )


def _drift_has_a_level_to_return_to(profile: Profile) -> Iterator[Finding]:
    load = profile.load_profile
    levels = [step.target_multiplier for step in load.demand_steps]
    levels += [cut.target_multiplier for cut in load.scale_downs]
    if profile.slo.max_drill_drift_fraction is not None and levels and len(set(levels)) == len(levels):
        message = "no two steps have the same level, so there is no drift to judge"
        reads = "slo.maxDrillDriftFraction loadProfile.demandSteps loadProfile.scaleDowns"
        yield Finding.error(reads, message, "return to an earlier targetMultiplier, or remove it")


def _losses_happen(profile: Profile) -> Iterator[Finding]:
    bar = profile.slo.max_acquisitions_per_loss
    if bar is not None and not profile.provider.losses and profile.shard.failure_rate_per_sec == 0:
        reads = "slo.maxAcquisitionsPerLoss provider.losses shard.failureRatePerSec"
        hint = "add provider.losses or a shard.failureRatePerSec"
        yield Finding.error(reads, "no machine is ever lost, so there is nothing to judge", hint)


def _a_catch_takes_one_rule_away(profile: Profile) -> Iterator[Finding]:
    for place, catch in enumerate(profile.proving.catches):
        if catch.without in catch.masked_by:
            path = f"proving.catches.{place}"
            message = f"{catch.without} cannot mask itself: both sides of the comparison would be the same"
            yield Finding.error(f"{path}.maskedBy {path}.without", message, "name the other rule")


def _catches_are_listed_once(profile: Profile) -> Iterator[Finding]:
    first: dict[str, int] = {}
    for place, catch in enumerate(profile.proving.catches):
        before = first.setdefault(catch.without, place)
        if before != place:
            reads = f"proving.catches.{place}.without proving.catches.{before}.without"
            yield Finding.error(reads, f"{catch.without} is listed twice", "put all its gates into one entry")


def _calibrated_bars_stand_beside_a_bar(profile: Profile) -> Iterator[Finding]:
    if profile.calibration is None:
        return
    slo = {key: getattr(profile.slo, name) for name, key in _SLO_KEYS.items()}
    for name in profile.calibration.bars:
        read: Path = ("calibration", "bars", name)
        near = closest(name, list(slo))
        if name not in slo or isinstance(slo[name], bool | str):
            hint = f"did you mean {near}?" if near and near != name else "make the calibration again"
            yield Finding((read,), "no number under slo has this name", hint)
        elif slo[name] is None:
            hint = f"set slo.{name}, or make the calibration again"
            yield Finding((read, ("slo", name)), f"stands beside slo.{name}, which is not set", hint)


def _calibration_expires_after_it_was_made(profile: Profile) -> Iterator[Finding]:
    if profile.calibration is not None and profile.calibration.expires < profile.calibration.made_on:
        reads = "calibration.expires calibration.madeOn"
        yield Finding.error(reads, f"is before madeOn, {profile.calibration.made_on}", "make the calibration again")


PROFILE_RULES: Final[tuple[Rule[Profile], ...]] = (
    _pods_per_cluster_is_given,
    _target_agrees_with_pods_per_cluster,
    _duration_agrees_with_soak,
    _settle_ends_before_the_soak,
    _ramp_budget_is_deprecated,
    _speculative_tier_is_given_once,
    _something_to_bind_to,
    _steady_is_stated,
    _headline_is_gated,
    _latencies_rise,
    _backoff_rises,
    _rollups_stay_in_order,
    _events_happen,
    _empty_rollups_have_a_cluster,
    _changes_are_in_order,
    _one_kind_of_change,
    _shortfall_bars_have_their_switch,
    _some_class_may_not_go_short,
    _cost_routing_bars_have_their_switch,
    _cost_routing_has_two_buckets,
    _cost_routing_has_two_tiers,
    _drill_bars_have_a_drill,
    _drift_has_a_level_to_return_to,
    _losses_happen,
    _a_catch_takes_one_rule_away,
    _catches_are_listed_once,
    _calibrated_bars_stand_beside_a_bar,
    _calibration_expires_after_it_was_made,
)
