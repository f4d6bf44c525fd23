"""The judge: every gate evaluated, every defect named, one verdict. A pure function of the plan and the evidence."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

from scaletest.evidence import Defect, Evidence
from scaletest.evidence.reading import Effect
from scaletest.gates import actions, counts, cycles, inventory, latency, requests
from scaletest.gates.case import Case
from scaletest.gates.information import information_of
from scaletest.gates.ledger import BINDS
from scaletest.gates.outcomes import GateResult, Outcome, RunOutcome, Verdict
from scaletest.gates.results import not_applicable, unmeasured
from scaletest.gates.validity import defects_of
from scaletest.plan.gates import Gate
from scaletest.plan.planned import PlannedTest

__all__ = ["EVALUATORS", "evaluated", "judge", "needed_metrics"]

Evaluator = Callable[[Case, Gate], GateResult]

EVALUATORS: Final[dict[str, Evaluator]] = {
    "internalBindingLatencyP99Seconds": latency.binding_latency,
    "newMachineBindingP95Seconds": latency.binding_latency,
    "endToEndPodBindP50Seconds": latency.binding_latency,
    "shardCycleDurationP99Seconds": latency.cycle_duration,
    "operatorRollupP99Seconds": latency.histogram_latency,
    "operatorAckP99Seconds": latency.histogram_latency,
    "shardConfigurePhaseP99Seconds": latency.histogram_latency,
    "operatorNodeStateUpdateP99Seconds": latency.histogram_latency,
    "bootstrapSuccessRatio": counts.bootstrap_success,
    "maxReclaimActionsDuringSoak": counts.reclaim_bound,
    "maxReclaimsPerCycleFraction": cycles.reclaim_cap,
    "maxReclaimsBeforeFirstRollup": cycles.before_first_rollup,
    "maxRegrettedReclaims": actions.regretted,
    "maxAcquisitionsPerLoss": actions.acquisitions_per_loss,
    "maxDomainFlipsPerGangMinute": cycles.domain_flips,
    "maxClaimedSetChangesPerGangMinute": cycles.claimed_set_changes,
    "minGangBindFraction": requests.gang_bind_share,
    "noShortfall": cycles.no_shortfall,
    "standingShortfall": cycles.standing_shortfall,
    "shortfallStabilityMax": cycles.shortfall_stability,
    "shortfallConfinedBelowPriorityClass": cycles.shortfall_confined,
    "expectPreemptions": counts.preemptions,
    "expectCostRouting": inventory.cost_routing,
    "costRoutingMisroutedMax": inventory.cost_misrouted,
    "maxDrillSettleSeconds": cycles.drill,
    "maxDrillOvershootFraction": cycles.drill,
    "maxDrillDriftFraction": cycles.drill,
    "maxEngineRssGrowthMebibytes": inventory.memory_growth,
    "maxFailedMachinesGrowth": inventory.failed_growth,
    "maxTransitionalMachinesGrowth": inventory.transitional_growth,
    "boundShare": requests.bound_share,
    "excessReturned": inventory.excess_returned,
    "steadyReached": requests.steady_reached,
    "engineRestarts": counts.restarts,
    "shardsReporting": counts.shards_reporting,
}

_BEFORE_THE_SOAK: Final = ("steadyReached", "engineRestarts")


def judge(test: PlannedTest, evidence: Evidence, *, strict: bool = False) -> Verdict:
    """Return the verdict; with `strict` a marginal gate fails and a quantile must be shown with 95 % confidence."""
    case = Case(test, evidence, strict)
    gates = tuple(_stricter(gate) if strict else gate for gate in evaluated(case))
    defects = defects_of(case)
    outcome, reason = _outcome(gates, defects)
    return Verdict(
        profile=test.profile,
        world=test.world,
        plan_digest=test.digest,
        outcome=outcome,
        reason=reason,
        strict=strict,
        gates=gates,
        defects=defects,
        information=tuple(information_of(case)),
        phases=tuple((phase.name, phase.outcome, phase.detail) for phase in evidence.record.phases),
    )


def needed_metrics(test: PlannedTest) -> frozenset[str]:
    """Return every metric that judging reads: the engine's, and the driver's own count of binds."""
    return test.metric_names() | {BINDS}


def evaluated(case: Case) -> Iterator[GateResult]:
    """Yield the result of every gate of the plan, in the plan's order."""
    for gate in case.test.gates:
        if gate.not_applicable:
            yield not_applicable(case, gate, gate.not_applicable)
        elif not case.started and gate.rule not in _BEFORE_THE_SOAK:
            yield unmeasured(case, gate, "the soak never started")
        elif gate.rule not in EVALUATORS:
            yield unmeasured(case, gate, "this version does not know the gate")
        else:
            yield EVALUATORS[gate.rule](case, gate)


def _outcome(gates: tuple[GateResult, ...], defects: tuple[Defect, ...]) -> tuple[RunOutcome, str]:
    failed = [gate.name for gate in gates if gate.outcome is Outcome.FAIL]
    unknown = [gate.name for gate in gates if gate.outcome is Outcome.UNMEASURED]
    worsening = [defect for defect in defects if defect.effect is not Effect.FLATTER]
    flattering = [defect for defect in defects if defect.effect is not Effect.WORSEN]
    if failed and not worsening:
        return RunOutcome.FAIL, f"failed: {', '.join(failed)}"
    if failed:
        return RunOutcome.INCONCLUSIVE, f"{', '.join(failed)} failed, but {worsening[0].message}"
    if unknown:
        return RunOutcome.INCONCLUSIVE, f"not measured: {', '.join(unknown)}"
    if flattering:
        return RunOutcome.INCONCLUSIVE, flattering[0].message
    if not any(gate.outcome in {Outcome.PASS, Outcome.MARGINAL} for gate in gates):
        return RunOutcome.INCONCLUSIVE, "no gate was there to pass"
    marginal = [gate.name for gate in gates if gate.outcome is Outcome.MARGINAL]
    return RunOutcome.PASS, f"marginal: {', '.join(marginal)}" if marginal else "every gate passed"


def _stricter(gate: GateResult) -> GateResult:
    if gate.outcome is not Outcome.MARGINAL:
        return gate
    return replace(gate, outcome=Outcome.FAIL, reason=f"{gate.reason} (strict)")
