"""Gates resolved before the run: which there are, their bars and windows, what is not applicable, what is modelled."""

from dataclasses import replace

import pytest

from sample_plans import SHIPPED, Block, plan_of, profile_of, shipped_engine, shipped_plan
from scaletest.plan.gates import Gate, Kind
from scaletest.plan.plan import Plan
from scaletest.profile import EngineManifest

_ALWAYS = ["steadyReached", "engineRestarts", "shardsReporting"]
_DEFAULTS = ["shardCycleDurationP99Seconds", "operatorRollupP99Seconds", "operatorAckP99Seconds"]
_LADDER = ["shardConfigurePhaseP99Seconds", "operatorNodeStateUpdateP99Seconds", "bootstrapSuccessRatio"]
_BINDING = ["internalBindingLatencyP99Seconds", "endToEndPodBindP50Seconds"]
_RECLAIMS = ["maxReclaimActionsDuringSoak"]
_SERVED = ["boundShare", "excessReturned"]
_UBER = [*_BINDING, *_DEFAULTS, *_LADDER, *_RECLAIMS, "noShortfall", *_SERVED, *_ALWAYS]
_GANGS = ["maxDomainFlipsPerGangMinute", "maxClaimedSetChangesPerGangMinute"]
_LEAKS = ["maxEngineRssGrowthMebibytes", "maxFailedMachinesGrowth", "maxTransitionalMachinesGrowth"]
_EXPECTED = {
    "dev-50": [*_BINDING, *_DEFAULTS, *_LADDER, *_RECLAIMS, *_GANGS, "noShortfall", *_SERVED, *_ALWAYS],
    "dev-50-field": [*_BINDING, *_DEFAULTS, *_LADDER, *_RECLAIMS, *_GANGS, "noShortfall", "boundShare", *_ALWAYS],
    "dev-500": _UBER,
    "uber-5k": _UBER,
    "uber-50k": _UBER,
    "uber-500k": _UBER,
    "spot-churn-50k": _UBER,
    "scarcity-5k": [
        *_DEFAULTS,
        *_LADDER,
        *_RECLAIMS,
        "standingShortfall",
        "shortfallStabilityMax",
        "shortfallConfinedBelowPriorityClass",
        *_ALWAYS,
    ],
    "preemption-5k": [*_DEFAULTS, *_LADDER, *_RECLAIMS, "noShortfall", "expectPreemptions", *_ALWAYS],
    "cost-routing-5k": [
        *_DEFAULTS,
        *_LADDER,
        *_RECLAIMS,
        "noShortfall",
        "expectCostRouting",
        "costRoutingMisroutedMax",
        *_ALWAYS,
    ],
    "reclaim-cycle-5k": [
        *_BINDING,
        *_DEFAULTS,
        *_LADDER,
        *_RECLAIMS,
        "noShortfall",
        "maxDrillSettleSeconds",
        "maxDrillOvershootFraction",
        *_SERVED,
        *_ALWAYS,
    ],
    "oscillation-5k": [
        *_BINDING,
        *_DEFAULTS,
        *_LADDER,
        *_RECLAIMS,
        "noShortfall",
        "maxDrillSettleSeconds",
        "maxDrillOvershootFraction",
        "maxDrillDriftFraction",
        *_SERVED,
        *_ALWAYS,
    ],
    "soak-24h": [*_BINDING, *_DEFAULTS, *_LADDER, *_RECLAIMS, *_GANGS, "noShortfall", *_LEAKS, *_SERVED, *_ALWAYS],
    "smoke": [*_BINDING, *_DEFAULTS, "bootstrapSuccessRatio", *_RECLAIMS, "noShortfall", *_SERVED, *_ALWAYS],
}


def _gates(plan: Plan) -> dict[str, Gate]:
    return {gate.name: gate for gate in plan.gates}


def _small(*, engine: EngineManifest | None = None, settle: int = 0, **slo: object) -> dict[str, Gate]:
    return _gates(plan_of(profile_of(slo=slo, loadProfile={"settleSeconds": settle}), engine=engine))


def _scaled_down(name: str) -> Plan:
    """Return a shipped profile's plan at a hundredth of its machines: the same gates, a moment's work."""
    plan = shipped_plan(name)
    scale = plan.profile.scale
    small = scale.model_copy(update={"machines": min(scale.machines, 500), "pods_per_cluster": 25_000})
    return Plan(replace(plan.inputs, profile=plan.profile.model_copy(update={"scale": small})))


@pytest.mark.parametrize("name", [path.stem for path in sorted(SHIPPED.glob("*.yaml"))])
def test_gates_of_a_shipped_profile_headline_first(name: str) -> None:
    gates = [gate for gate in _scaled_down(name).gates if not gate.calibrated]  # those hold for the whole scale only
    assert [gate.name for gate in gates] == _EXPECTED[name]
    assert not [gate.name for gate in gates if gate.not_applicable]


def test_bars_of_dev_50() -> None:
    gates = _gates(shipped_plan("dev-50"))
    assert {name: gate.bar_text() for name, gate in gates.items() if not gate.calibrated} == {
        "internalBindingLatencyP99Seconds": "<= 30 s",
        "endToEndPodBindP50Seconds": "<= 30 s",
        "shardCycleDurationP99Seconds": "<= 5 s",
        "operatorRollupP99Seconds": "<= 2 s",
        "operatorAckP99Seconds": "<= 30 s",
        "shardConfigurePhaseP99Seconds": "<= 20 s",
        "operatorNodeStateUpdateP99Seconds": "<= 5 s",
        "bootstrapSuccessRatio": ">= 0.99",
        "maxReclaimActionsDuringSoak": "<= 150",
        "maxDomainFlipsPerGangMinute": "<= 1 per gang-minute",
        "maxClaimedSetChangesPerGangMinute": "<= 1 per gang-minute",
        "noShortfall": "none over 5 cycles, 0 at end",
        "boundShare": gates["boundShare"].bar_text(),
        "excessReturned": "<= 609",
        "steadyReached": "in time",
        "engineRestarts": "<= 0",
        "shardsReporting": ">= 1",
    }


def test_windows() -> None:
    gates = _gates(shipped_plan("dev-50"))
    assert gates["internalBindingLatencyP99Seconds"].window_text() == "soak"
    assert gates["maxReclaimActionsDuringSoak"].window_text() == "settled 90-180 s"
    assert _small(minGangBindFraction=0.9)["minGangBindFraction"].window_text() == "at 600 s"
    settled = _small(settle=600)["maxReclaimActionsDuringSoak"]
    assert (settled.start_us, settled.end_us) == (0, 600_000_000), "a settle time that leaves nothing counts as none"


def test_expected_samples() -> None:
    plan = shipped_plan("dev-50")
    gates = _gates(plan)
    assert gates["internalBindingLatencyP99Seconds"].expected_samples == plan.totals.planned_replacements
    assert gates["operatorRollupP99Seconds"].expected_samples == 2 * 18
    # Two clusters wake the engine every ten seconds each, and so does its own tick: every 3.3 s.
    assert gates["shardCycleDurationP99Seconds"].expected_samples == 54
    assert gates["maxDomainFlipsPerGangMinute"].expected_samples == 27
    assert gates["shardConfigurePhaseP99Seconds"].expected_samples is None
    assert plan.cycle_interval_us == 3_333_333


def test_a_modelled_cycle_longer_than_the_wakes_makes_fewer_cycles() -> None:
    plan = plan_of(profile_of(world={"cycle": {"baseMilliseconds": 20_000, "perNeedMicroseconds": 0}}))
    assert plan.cycle_interval_us == 20_000_000


def test_a_profile_without_a_headline_has_no_bound_share() -> None:
    assert "boundShare" not in _small(internalBindingLatencyP99Seconds=None)


def test_the_bound_share_is_one_minus_the_busiest_stretch_over_the_pods() -> None:
    plan = shipped_plan("dev-50")
    assert _gates(plan)["boundShare"].threshold == 1 - plan.totals.busiest / 5_000


def test_a_burst_or_a_step_up_waits_all_at_once() -> None:
    quiet: Block = {"churnPerMinute": 0.1, "microBurstRatePerMinute": 0, "jitteredChurn": False, "soakSeconds": 600}
    burst = {"atSeconds": 9, "archetype": "web", "extraTarget": 3, "durationSeconds": 9, "selectivity": 1.0}
    plain, bursting = (plan_of(profile_of(loadProfile={**quiet, **more})) for more in ({}, {"bursts": [burst]}))
    # Three Pods more in each of two clusters, against 40 Pods in all.
    (before, after) = (_gates(plan)["boundShare"].threshold for plan in (plain, bursting))
    assert isinstance(before, float)
    assert after == pytest.approx(before - 6 / 40)


@pytest.mark.parametrize(
    ("role", "gate"),
    [
        ("cycle_duration", "shardCycleDurationP99Seconds"),
        ("reclaim_actions", "maxReclaimActionsDuringSoak"),
        ("shortfall", "noShortfall"),
        ("process_start", "engineRestarts"),
    ],
)
def test_a_role_that_the_manifest_lacks_makes_its_gate_not_applicable(role: str, gate: str) -> None:
    engine = shipped_engine()
    without = engine.model_copy(update={"roles": engine.roles.model_copy(update={role: None})})
    found = _small(engine=without)[gate]
    assert found.not_applicable == f"the engine reference has no {found.role}"
    assert _small()[gate].not_applicable == ""


def test_an_engine_without_a_ledger_has_no_gates_on_rows() -> None:
    without = shipped_engine().model_copy(update={"ledger": False})
    gates = _small(engine=without, maxDomainFlipsPerGangMinute=0.2)
    missing = {name for name, gate in gates.items() if gate.not_applicable}
    assert missing == {"maxDomainFlipsPerGangMinute"}
    assert gates["maxDomainFlipsPerGangMinute"].not_applicable == "the engine reference writes no action ledger"


def test_what_a_world_models_or_was_given_is_not_measured() -> None:
    sim, kwok = _gates(shipped_plan("dev-50")), _gates(shipped_plan("dev-50", substrate="kwok"))
    assert (sim["operatorRollupP99Seconds"].kind, kwok["operatorRollupP99Seconds"].kind) == (
        Kind.MODELLED,
        Kind.MEASURED,
    )
    assert sim["shardConfigurePhaseP99Seconds"].kind is kwok["shardConfigurePhaseP99Seconds"].kind is Kind.INPUT
    assert sim["internalBindingLatencyP99Seconds"].kind is Kind.MEASURED


def test_random_and_planned_losses_are_expected_losses() -> None:
    profile = profile_of(
        slo={"maxAcquisitionsPerLoss": 2},
        provider={"losses": [{"atSeconds": 10, "count": 2, "everySeconds": 200}]},
        shard={"failureRatePerSec": 0.001},
    )
    # Three times two planned, and 4 Configured machines x 0.001 x 600 s at random.
    assert _gates(plan_of(profile))["maxAcquisitionsPerLoss"].expected_samples == 6 + 2
