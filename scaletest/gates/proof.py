"""Proof that the gates work: for each, staged evidence that must pass, fail, be marginal, and go unmeasured.

A gate that cannot fail, or that passes when its data is missing, NaN, reset, torn or from a lost target, is an error
of ours and is reported as one. The lists here are data: a new gate needs a row, or the proof itself fails.
"""

from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import nan
from typing import Any, Final

from scaletest.evidence import Evidence, Metrics, Series
from scaletest.gates.judge import EVALUATORS, judge
from scaletest.gates.outcomes import Outcome, RunOutcome, Verdict
from scaletest.gates.staging import Scene, staged_evidence, staged_test
from scaletest.plan.gate_table import GATES, REQUESTS, GateRow, Unit, Window
from scaletest.plan.gates import CALIBRATED, Bar, Gate, Kind
from scaletest.plan.planned import PlannedTest

__all__ = ["DAMAGES", "Finding", "GateProof", "proof_gate", "prove_gates"]

Damage = Callable[[Evidence, PlannedTest], Evidence]


@dataclass(frozen=True, slots=True)
class GateProof:
    """A gate's bar and the scenes around it; a scene is told by what differs from a good run."""

    bar: Bar
    passes: dict[str, Any]
    fails: dict[str, Any]
    marginal: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was tried on a gate; `wrong` says what the gate should have done instead."""

    gate: str
    tried: str
    gate_outcome: Outcome
    run_outcome: RunOutcome
    wrong: str = ""


_DRILLS: Final = ((120_000_000, 0.5), (240_000_000, 1.0), (360_000_000, 0.5), (480_000_000, 1.0))
_SHORT: Final = {"shortfall": 50}

PROOFS: Final[dict[str, GateProof]] = {
    "internalBindingLatencyP99Seconds": GateProof(30.0, {}, {"slow": 10}, {"slow": 10, "slow_s": 31.5}),
    "newMachineBindingP95Seconds": GateProof(20.0, {}, {"new_machine_s": 25.0}, {"new_machine_s": 21.0}),
    "endToEndPodBindP50Seconds": GateProof(30.0, {}, {"binding_s": 60.0}, {"binding_s": 31.0}),
    "shardCycleDurationP99Seconds": GateProof(5.0, {}, {"cycle_s": 6.0}, {"cycle_s": 5.2}),
    "operatorRollupP99Seconds": GateProof(30.0, {}, {"rollup_s": 40.0}, {"rollup_s": 31.0}),
    "operatorAckP99Seconds": GateProof(30.0, {}, {"acknowledge_s": 40.0}, {"acknowledge_s": 31.0}),
    "shardConfigurePhaseP99Seconds": GateProof(30.0, {}, {"configure_s": 40.0}, {"configure_s": 31.0}),
    "operatorNodeStateUpdateP99Seconds": GateProof(30.0, {}, {"publish_s": 40.0}, {"publish_s": 31.0}),
    "bootstrapSuccessRatio": GateProof(
        0.99, {}, {"bootstrap_failures": 5}, {"bootstraps": 50, "bootstrap_failures": 1}
    ),
    "maxReclaimActionsDuringSoak": GateProof(20, {}, {"reclaims": 21}),
    "maxReclaimsPerCycleFraction": GateProof(0.05, {}, {"worst_reclaim_ppm": 60_000}),
    "maxReclaimsBeforeFirstRollup": GateProof(0, {}, {"reclaims_before_rollup": 1}),
    "maxRegrettedReclaims": GateProof(0, {}, {"reclaim_gap_s": 30.0}),
    "maxAcquisitionsPerLoss": GateProof(2.0, {}, {"acquisitions": 30}),
    "maxDomainFlipsPerGangMinute": GateProof(0.2, {}, {"domain_flips": 1}),
    "maxClaimedSetChangesPerGangMinute": GateProof(0.2, {}, {"claimed_set_changes": 1}),
    "minGangBindFraction": GateProof(0.99, {}, {"torn_gangs": 5}),
    "noShortfall": GateProof("none over 5 cycles, 0 at end", {}, {"shortfall": 1, "shortfall_age": 6}),
    "standingShortfall": GateProof("a shortfall stands", _SHORT, {}),
    "shortfallStabilityMax": GateProof(20, _SHORT, {**_SHORT, "shortfall_wobble": 21}),
    "shortfallConfinedBelowPriorityClass": GateProof("none above batch", _SHORT, {**_SHORT, "shortfall_above": 1}),
    "expectPreemptions": GateProof("at least one", {}, {"preemptions": 0}),
    "expectCostRouting": GateProof("each on its cheaper capacity type", {}, {"routed": 0}),
    "costRoutingMisroutedMax": GateProof(0, {}, {"misrouted": 1}),
    "maxDrillSettleSeconds": GateProof(70.0, {}, {"settle_s": 85.0}),
    "maxDrillOvershootFraction": GateProof(0.25, {}, {"overshoot": 0.4}),
    "maxDrillDriftFraction": GateProof(0.1, {}, {"drift": 0.3}),
    "maxEngineRssGrowthMebibytes": GateProof(64.0, {}, {"rss_growth_mib": 80.0}),
    "maxFailedMachinesGrowth": GateProof(2, {}, {"failed_growth": 3}),
    "maxTransitionalMachinesGrowth": GateProof(5, {}, {"transitional_growth": 6}),
    "boundShare": GateProof(0.95, {}, {"slow": 300, "slow_s": 400.0}),
    "excessReturned": GateProof(25, {}, {"routed": 13}),
    "steadyReached": GateProof("in time", {}, {"steady": False}),
    "engineRestarts": GateProof(0, {}, {"restarts": 1}),
    "shardsReporting": GateProof(1, {}, {"shards": 0, "silent_shards": 1}),
}

_ROWS: Final = {row.name: row for row in GATES} | {
    "boundShare": GateRow("boundShare", REQUESTS, Unit.RATIO, comparison=">="),
    "excessReturned": GateRow("excessReturned", "inventory", Unit.COUNT, Window.END, samples=1),
    "steadyReached": GateRow("steadyReached", REQUESTS, Unit.FACT, Window.RUN, samples=1),
    "engineRestarts": GateRow("engineRestarts", "processStart", Unit.COUNT, Window.RUN, samples=2),
    "shardsReporting": GateRow("shardsReporting", "cycleDuration", Unit.COUNT, comparison=">=", samples=1),
}
_SET_BY_PROFILES: Final = frozenset(row.name for row in GATES)
"""Their numbers may also be calibrated, and then stand under a name of their own."""
_SAMPLES: Final = {"requests": 400, "cycles": 180, "settled_cycles": 145, "rollups": 120, "gangs": 100, "losses": 4}


def prove_gates() -> Iterator[Finding]:
    """Yield what every gate does with good, bad, marginal and damaged evidence."""
    for name in sorted({*EVALUATORS, *PROOFS, *_ROWS}):
        if name not in PROOFS or name not in EVALUATORS or name not in _ROWS:
            yield Finding(name, "exists", Outcome.UNMEASURED, RunOutcome.INCONCLUSIVE, "the gate has no proof")
            continue
        yield from _prove(name, PROOFS[name])
        if name in _SET_BY_PROFILES and _ROWS[name].unit is not Unit.FACT:
            yield from _prove(f"{name}{CALIBRATED}", PROOFS[name])


def _prove(name: str, proof: GateProof) -> Iterator[Finding]:
    test = staged_test(proof_gate(name, proof.bar), drills=_DRILLS if "Drill" in name else ())
    for tried, scene, wanted in (
        ("good", proof.passes, Outcome.PASS),
        ("bad", proof.fails, Outcome.FAIL),
        ("marginal", proof.marginal, Outcome.MARGINAL),
    ):
        if scene is not None:
            verdict = judge(test, staged_evidence(test, Scene(**scene)))
            yield _expected(name, tried, verdict, wanted)
    good = staged_evidence(test, Scene(**proof.passes))
    for damage, damaged in DAMAGES.items():
        verdict = judge(test, damaged(good, test))
        wrong = "must not pass" if verdict.outcome is RunOutcome.PASS else ""
        if damage == "empty" and verdict.gates[0].outcome is not Outcome.UNMEASURED:
            wrong = "must be UNMEASURED"
        yield Finding(name, damage, verdict.gates[0].outcome, verdict.outcome, wrong)


def _expected(name: str, tried: str, verdict: Verdict, wanted: Outcome) -> Finding:
    got = verdict.gates[0].outcome
    runs = {Outcome.PASS: RunOutcome.PASS, Outcome.MARGINAL: RunOutcome.PASS, Outcome.FAIL: RunOutcome.FAIL}
    wrong = "" if got is wanted and verdict.outcome is runs[wanted] else f"must be {wanted}"
    return Finding(name, tried, got, verdict.outcome, wrong)


def proof_gate(name: str, bar: Bar) -> Gate:
    """Return a gate of the table with a bar of one's own, for staged evidence."""
    row = _ROWS[name.removesuffix(CALIBRATED)]
    samples = _SAMPLES.get(row.samples) if isinstance(row.samples, str) else row.samples
    return Gate(
        name=name,
        role=row.role,
        threshold=bar,
        comparison=row.comparison,
        unit=row.unit,
        quantile=row.quantile,
        window=row.window,
        start_us=0,
        end_us=600_000_000,
        expected_samples=samples,
        claim="",
        kind=Kind.MEASURED,
    )


def _empty(evidence: Evidence, _: PlannedTest) -> Evidence:
    """Record nothing but the run itself; its phases are part of what is missing."""
    bare = _without_phases(evidence)
    return replace(bare, metrics=Metrics(), requests=(), actions=(), cycles=(), events=(), compute=())


def _nan(evidence: Evidence, _: PlannedTest) -> Evidence:
    """Turn every number into NaN; ledgers cannot hold one, so their instants are gone."""
    metrics = _mapped(evidence, lambda s: _copy(s, [nan for _ in s.values]))
    requests = tuple(row._replace(appeared_us=None, bound_us=None, obs_seq=None) for row in evidence.requests)
    bare = _without_phases(evidence)
    return replace(bare, metrics=metrics, requests=requests, cycles=(), actions=(), compute=())


def _reset(evidence: Evidence, _: PlannedTest) -> Evidence:
    """Restart the engine in the middle: counters begin anew, and so do the numbers in the ledgers."""
    half = len(next(iter(evidence.metrics.kept())).values) // 2

    def restarted(series: Series) -> Series:
        if series.name == "up":
            return series
        offset = -1.0 if series.name.startswith("process_start") else series.values[half]
        return _copy(series, [*series.values[:half], *(value - offset for value in series.values[half:])])

    return replace(
        _without_phases(evidence),
        metrics=_mapped(evidence, restarted),
        cycles=tuple(row._replace(cycle=row.cycle % 90) for row in evidence.cycles),
        actions=tuple(row._replace(seq=max(1, row.seq - 103)) for row in evidence.actions),
        requests=tuple(r._replace(obs_seq=None if r.obs_seq is None else r.obs_seq % 200) for r in evidence.requests),
    )


def _gap(evidence: Evidence, test: PlannedTest) -> Evidence:
    """Lose the middle third of everything, and the boundary scrapes with it."""
    record = evidence.record
    start, end = record.marks.soak_start_us or 0, record.marks.soak_end_us or 0
    marks = {start, end, start + test.settle_us, start + test.tail_us}
    missing = {record.epoch_ms + at // 1000 + late for at in marks for late in range(0, 30_001, 1)}
    third = (start + (end - start) // 3, start + 2 * (end - start) // 3)

    def torn(series: Series) -> Series:
        kept = [(t, v) for t, v in zip(series.times_ms, series.values, strict=True) if t not in missing]
        return Series(series.name, series.labels, array("q", [t for t, _ in kept]), array("d", [v for _, v in kept]))

    return replace(
        _without_phases(evidence),
        metrics=_mapped(evidence, torn),
        requests=tuple(row for row in evidence.requests if not third[0] <= row.planned_us < third[1]),
        cycles=tuple(row for row in evidence.cycles if not third[0] <= row.at_us < third[1]),
        actions=evidence.actions[::2],
        events=(),
    )


def _lost_target(evidence: Evidence, _: PlannedTest) -> Evidence:
    """Stop answering scrapes in the middle of the soak."""
    half = len(next(iter(evidence.metrics.kept())).values) // 2

    def silent(series: Series) -> Series:
        if series.name == "up":
            return _copy(series, [*series.values[:half], *(0.0 for _ in series.values[half:])])
        return Series(series.name, series.labels, series.times_ms[:half], series.values[:half])

    return replace(evidence, metrics=_mapped(evidence, silent))


def _without_phases(evidence: Evidence) -> Evidence:
    return replace(evidence, record=replace(evidence.record, phases=()))


def _mapped(evidence: Evidence, change: Callable[[Series], Series]) -> Metrics:
    return Metrics({name: [change(s) for s in series] for name, series in evidence.metrics.families.items()})


def _copy(series: Series, values: list[float]) -> Series:
    return Series(series.name, series.labels, series.times_ms, array("d", values))


DAMAGES: Final[dict[str, Damage]] = {
    "empty": _empty,
    "NaN": _nan,
    "reset": _reset,
    "gap": _gap,
    "lost target": _lost_target,
}
