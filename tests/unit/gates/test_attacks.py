"""Attacks on the judge: plausible data that is wrong. Nearly all of these passed once, and none may again."""

from array import array
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from scaletest.evidence import EventRow, Evidence, Metrics, Phase, Series
from scaletest.gates.information import settle_adequacy
from scaletest.gates.judge import judge
from scaletest.gates.outcomes import Outcome, RunOutcome
from scaletest.gates.proof import PROOFS, proof_gate
from scaletest.gates.staging import Scene, staged_evidence, staged_test
from scaletest.plan.planned import PlannedTest

Attack = Callable[[Evidence], Evidence]


def _test(gate: str) -> PlannedTest:
    return staged_test(proof_gate(gate, PROOFS[gate].bar))


def _without(**labels: str) -> Attack:
    """Lose every series with such a label."""

    def attack(evidence: Evidence) -> Evidence:
        families = {
            name: [s for s in found if not all(s.labels.get(key) == value for key, value in labels.items())]
            for name, found in evidence.metrics.families.items()
        }
        return replace(evidence, metrics=Metrics(families))

    return attack


def _valued(name: str, value: float, **labels: str) -> Attack:
    """Let the last samples of a metric show another value."""

    def changed(series: Series) -> Series:
        if not all(series.labels.get(key) == wanted for key, wanted in labels.items()):
            return series
        half = len(series.values) // 2
        return Series(
            series.name,
            series.labels,
            series.times_ms,
            series.values[:half] + array("d", [value] * (len(series.values) - half)),
        )

    def attack(evidence: Evidence) -> Evidence:
        families = {**evidence.metrics.families, name: [changed(s) for s in evidence.metrics.families[name]]}
        return replace(evidence, metrics=Metrics(families))

    return attack


def _requests(number: int, **fields: Any) -> Attack:
    def attack(evidence: Evidence) -> Evidence:
        rows = [row._replace(**fields) if n < number else row for n, row in enumerate(evidence.requests)]
        return replace(evidence, requests=tuple(rows))

    return attack


def _record(**fields: Any) -> Attack:
    return lambda evidence: replace(evidence, record=replace(evidence.record, **fields))


def _marks(**marks: int) -> Attack:
    return lambda evidence: replace(
        evidence, record=replace(evidence.record, marks=replace(evidence.record.marks, **marks))
    )


def _drop_requests(evidence: Evidence) -> Evidence:
    return replace(evidence, requests=evidence.requests[:-2])


def _drop_cycle_and_compute(evidence: Evidence) -> Evidence:
    return replace(
        evidence,
        cycles=tuple(row for row in evidence.cycles if row.cycle != 100),
        compute=tuple(row for row in evidence.compute if row.cycle != 100),
    )


def _shard(*names: str) -> Attack:
    """Add a second shard of which only some metrics are known."""

    def attack(evidence: Evidence) -> Evidence:
        families = {
            name: [*found, *(replace(s, labels={**s.labels, "target": "engine-2"}) for s in found if name in names)]
            for name, found in evidence.metrics.families.items()
        }
        return replace(evidence, metrics=Metrics(families))

    return attack


def _one_process_start(evidence: Evidence) -> Evidence:
    name = "process_start_time_seconds"
    (starts,) = evidence.metrics.families[name]
    short = Series(name, starts.labels, starts.times_ms[:2], starts.values[:2])
    return replace(evidence, metrics=Metrics({**evidence.metrics.families, name: [short]}))


def _loss_twice(evidence: Evidence) -> Evidence:
    return replace(evidence, events=(*evidence.events, *evidence.events))


def _late_acquisitions_cut(evidence: Evidence) -> Evidence:
    last = max(row.seq for row in evidence.actions if row.kind == "Bootstrap")
    return replace(evidence, actions=tuple(r for r in evidence.actions if (r.kind, r.seq) != ("Bootstrap", last)))


def _shifted_epoch(evidence: Evidence) -> Evidence:
    return replace(evidence, record=replace(evidence.record, epoch_ms=evidence.record.epoch_ms + 15_000))


def _engine_stops(evidence: Evidence) -> Evidence:
    """Run no cycle in the last fifth of the soak: what was short at its end, nobody knows."""
    kept = 160
    cut = {
        name: [Series(s.name, s.labels, s.times_ms, array("d", [min(v, kept) for v in s.values])) for s in found]
        if name.startswith("cycle_seconds_")
        else found
        for name, found in evidence.metrics.families.items()
    }
    return replace(evidence, cycles=evidence.cycles[:kept], compute=evidence.compute[:kept], metrics=Metrics(cut))


ATTACKS: dict[str, tuple[str, Attack]] = {
    "the failure series is missing": ("bootstrapSuccessRatio", _without(outcome="error")),
    "the Failed series is missing": ("maxFailedMachinesGrowth", _without(state="Failed")),
    "a transitional state is missing": ("maxTransitionalMachinesGrowth", _without(state="Draining")),
    "the misrouted series is missing": (
        "costRoutingMisroutedMax",
        _without(state="Configured", capacity_type="OnDemand", interruption_penalty_bucket="0"),
    ),
    "a gauge is negative": ("maxFailedMachinesGrowth", _valued("inventory_machines", -9.0, state="Failed")),
    "a counter is beyond counting": ("maxReclaimActionsDuringSoak", _valued("actions_total", 4e15, kind="Reclaim")),
    "a counter would overflow": ("maxReclaimActionsDuringSoak", _valued("actions_total", 1e308, kind="Reclaim")),
    "requests are unknown states": ("internalBindingLatencyP99Seconds", _requests(5, state="gone")),
    "bound requests say void": ("internalBindingLatencyP99Seconds", _requests(5, state="void")),
    "requests have no path": ("newMachineBindingP95Seconds", _requests(5, path="")),
    "requests are of another cause": ("internalBindingLatencyP99Seconds", _requests(2, cause="evicted")),
    "binds lie after the run": ("internalBindingLatencyP99Seconds", _requests(1, bound_us=10**15)),
    "the bind interval is reversed": ("internalBindingLatencyP99Seconds", _requests(1, bound_after_us=10**15)),
    "two rows are missing at the tail": ("internalBindingLatencyP99Seconds", _drop_requests),
    "a cycle and its compute time are missing": ("shardCycleDurationP99Seconds", _drop_cycle_and_compute),
    "no compute time is there": ("shardCycleDurationP99Seconds", lambda evidence: replace(evidence, compute=())),
    "the engine stops before the end": ("noShortfall", _engine_stops),
    "a second shard says nothing of actions": (
        "maxReclaimActionsDuringSoak",
        _shard("up", "cycle_seconds_count", "cycle_seconds_bucket", "process_start_time_seconds"),
    ),
    "a second shard does not say when it started": (
        "engineRestarts",
        _shard("up", "cycle_seconds_count", "cycle_seconds_bucket"),
    ),
    "a start is known only before the soak": ("engineRestarts", _one_process_start),
    "a loss is there twice": ("maxAcquisitionsPerLoss", _loss_twice),
    "the last acquisition is missing": ("maxRegrettedReclaims", _late_acquisitions_cut),
    "the epoch is off by a scrape": ("maxReclaimActionsDuringSoak", _shifted_epoch),
    "no target is named": ("maxReclaimActionsDuringSoak", _record(targets=())),
    "the soak phase failed": (
        "steadyReached",
        _record(phases=(Phase("steady", 0, 1, "ok"), Phase("soak", 1, 2, "failed"))),
    ),
    "the soak ended early": ("steadyReached", _marks(soak_end_us=659_999_999)),
    "the linger ended early": ("steadyReached", _marks(linger_end_us=692_999_999)),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_wrong_data_never_passes_however_plausible(name: str) -> None:
    gate, attack = ATTACKS[name]
    test = _test(gate)
    evidence = staged_evidence(test, Scene())
    assert judge(test, evidence).outcome is RunOutcome.PASS
    assert judge(test, attack(evidence)).outcome is not RunOutcome.PASS


def test_a_restart_fails_even_where_its_end_is_not_known() -> None:
    test = _test("engineRestarts")
    evidence = staged_evidence(test, Scene(restarts=1))
    cut = {
        name: [Series(s.name, s.labels, s.times_ms[:-8], s.values[:-8]) for s in found]
        for name, found in evidence.metrics.families.items()
    }
    assert judge(test, replace(evidence, metrics=Metrics(cut))).gates[0].outcome is Outcome.FAIL


def test_a_growth_event_excuses_only_its_own_demand() -> None:
    test = _test("maxRegrettedReclaims")
    evidence = staged_evidence(test, Scene(reclaim_gap_s=30.0))
    growth = EventRow(at_us=200_000_000, kind="growth", cluster=1, fingerprint="f-0", number=99)
    assert judge(test, replace(evidence, events=(growth,))).outcome is RunOutcome.FAIL


def test_settle_adequacy_of_tens_of_thousands_takes_no_time() -> None:
    assert settle_adequacy(24_000, 22_505).endswith("still settling (p = 0.000)")
    assert settle_adequacy(12, 9) == "12 then 9 reclaims: level (p = 0.664)"
