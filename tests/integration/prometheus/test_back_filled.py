"""Saved evidence, loaded into a real Prometheus and read back: the same samples, and the same verdict."""

import gzip
from array import array
from collections.abc import Callable, Iterable
from dataclasses import replace
from math import inf, nan
from pathlib import Path
from typing import Any

import pytest

from scaletest.evidence import Evidence, Journal, Metrics, Sample, Series, read_evidence
from scaletest.evidence.reading import read_record
from scaletest.gates.judge import judge
from scaletest.gates.ledger import BINDS
from scaletest.gates.outcomes import Outcome, RunOutcome, Verdict
from scaletest.gates.proof import proof_gate
from scaletest.gates.staging import Scene, staged_evidence, staged_test
from scaletest.plan.gates import Bar
from scaletest.plan.planned import PlannedTest
from scaletest.world.kwok.prometheus import Server, read_samples
from scaletest.world.kwok.recording import record_scrapes

Loaded = Callable[[bytes], Path]
Serving = Callable[..., Server]

_BARS: dict[str, Bar] = {
    "internalBindingLatencyP99Seconds": 30.0,
    "shardCycleDurationP99Seconds": 5.0,
    "operatorRollupP99Seconds": 30.0,
    "operatorAckP99Seconds": 30.0,
    "shardConfigurePhaseP99Seconds": 30.0,
    "operatorNodeStateUpdateP99Seconds": 30.0,
    "bootstrapSuccessRatio": 0.99,
    "maxReclaimActionsDuringSoak": 20,
    "maxRegrettedReclaims": 0,
    "expectPreemptions": "at least one",
    "costRoutingMisroutedMax": 0,
    "maxEngineRssGrowthMebibytes": 64.0,
    "maxFailedMachinesGrowth": 2,
    "engineRestarts": 0,
    "shardsReporting": 1,
}
_TYPES = {
    "actions": "counter",
    "outcomes": "counter",
    "cycle_seconds": "histogram",
    "rollup_seconds": "histogram",
    "process_start_time_seconds": "gauge",
    "up": "gauge",
}


def _test() -> PlannedTest:
    return staged_test(*(proof_gate(name, bar) for name, bar in _BARS.items()))


def _keep(test: PlannedTest) -> frozenset[str]:
    return test.metric_names() | {BINDS}


def _saved(folder: Path, evidence: Evidence) -> bytes:
    """Write evidence through the journal, seal it, and return its metrics as text."""
    with Journal(folder, replace(evidence.record, sealed=False)) as journal:
        journal.types(_TYPES)
        record_scrapes(journal, evidence.metrics)
        for rows in (evidence.requests, evidence.actions, evidence.cycles, evidence.events, evidence.compute):
            for row in rows:
                journal.row(row)
        journal.seal(evidence.record)
    return _metrics_text(folder)


def _metrics_text(folder: Path) -> bytes:
    return gzip.decompress((folder / "evidence" / "metrics.om.gz").read_bytes())


def _read_back(server: Server, names: Iterable[str], like: Metrics) -> Metrics:
    """Read the interval that the given samples span."""
    times = [time for series in like.kept() for time in series.times_ms]
    return read_samples(server, names, start_ms=min(times), end_ms=max(times))


def _samples(metrics: Metrics) -> dict[tuple[str, tuple[tuple[str, str], ...]], list[tuple[int, str]]]:
    """Return all samples in a form that can be compared; NaN is equal to NaN."""
    return {
        (series.name, tuple(sorted(series.labels.items()))): [
            (t, repr(v)) for t, v in zip(series.times_ms, series.values, strict=True)
        ]
        for series in metrics.kept()
    }


def _outcomes(verdict: Verdict) -> dict[str, Outcome]:
    return {gate.name: gate.outcome for gate in verdict.gates}


@pytest.mark.parametrize(
    ("scene", "run_outcome", "telling"),
    [
        pytest.param({}, RunOutcome.PASS, {}, id="a good run"),
        pytest.param(
            {"reclaims": 21}, RunOutcome.FAIL, {"maxReclaimActionsDuringSoak": Outcome.FAIL}, id="too many reclaims"
        ),
        pytest.param(
            {"slow": 10, "slow_s": 31.5, "rollup_s": 31.0},
            RunOutcome.PASS,
            {"internalBindingLatencyP99Seconds": Outcome.MARGINAL, "operatorRollupP99Seconds": Outcome.MARGINAL},
            id="marginal latency",
        ),
        pytest.param({"restarts": 1}, RunOutcome.FAIL, {"engineRestarts": Outcome.FAIL}, id="a restart"),
        pytest.param(
            {"bootstrap_failures": 5}, RunOutcome.FAIL, {"bootstrapSuccessRatio": Outcome.FAIL}, id="failing bootstraps"
        ),
    ],
)
def test_a_run_has_the_same_verdict_from_prometheus_as_from_its_file(
    scene: dict[str, Any],
    run_outcome: RunOutcome,
    telling: dict[str, Outcome],
    *,
    tmp_path: Path,
    loaded: Loaded,
    serving: Serving,
) -> None:
    test = _test()
    text = _saved(tmp_path / "run", staged_evidence(test, Scene(**scene)))
    saved = read_evidence(tmp_path / "run", read_record(tmp_path / "run"), keep=_keep(test))

    metrics = _read_back(serving(loaded(text)), _keep(test), like=saved.metrics)

    assert _samples(metrics) == _samples(saved.metrics)
    from_file, from_prometheus = judge(test, saved), judge(test, replace(saved, metrics=metrics))
    assert [(g.name, g.outcome, g.value, g.samples) for g in from_prometheus.gates] == [
        (g.name, g.outcome, g.value, g.samples) for g in from_file.gates
    ]
    assert from_prometheus == from_file
    assert from_file.outcome is run_outcome
    assert _outcomes(from_file).items() >= telling.items()


def test_what_prometheus_scraped_can_be_saved_again_without_a_difference(
    tmp_path: Path, loaded: Loaded, serving: Serving
) -> None:
    test = _test()
    staged = staged_evidence(test, Scene(slow=5))
    text = _saved(tmp_path / "run", staged)

    read = _read_back(serving(loaded(text)), _keep(test), like=staged.metrics)

    assert _saved(tmp_path / "again", replace(staged, metrics=read)) == text


def test_metrics_that_nobody_scraped_are_unmeasured(tmp_path: Path, loaded: Loaded, serving: Serving) -> None:
    test = _test()
    staged = staged_evidence(test, Scene(measured_compute=False))
    server = serving(loaded(_saved(tmp_path / "run", staged)))
    before = staged.record.epoch_ms - 1

    metrics = read_samples(server, _keep(test), start_ms=before - 60_000, end_ms=before)

    assert metrics == Metrics()
    verdict = judge(test, replace(staged, metrics=metrics))
    assert verdict.outcome is RunOutcome.INCONCLUSIVE
    assert set(_outcomes(verdict).values()) == {Outcome.UNMEASURED}
    assert _read_back(server, ["no_such_metric"], like=staged.metrics).families.keys() == {"up"}


@pytest.mark.parametrize("chunk_ms", [1, 2, 7, 600_000])
def test_every_instant_of_the_closed_interval_is_read_once_however_it_is_cut(
    chunk_ms: int, tmp_path: Path, loaded: Loaded, serving: Serving
) -> None:
    times = [1_700_000_000_000 + n for n in range(1000)]
    series = Series("up", {"target": "engine"}, array("q", times), array("d", [float(n % 2) for n in range(1000)]))
    staged = replace(staged_evidence(_test(), Scene()), metrics=Metrics({"up": [series]}))
    server = replace(serving(loaded(_saved(tmp_path / "run", staged))), chunk_ms=chunk_ms)

    (read,) = read_samples(server, [], start_ms=times[57], end_ms=times[157]).find("up")

    assert list(read.times_ms) == times[57:158]
    assert read.values == series.values[57:158]


def test_odd_values_and_labels_survive_the_way_through_promtool(
    tmp_path: Path, loaded: Loaded, serving: Serving
) -> None:
    values = [0.0, -1.5, 1e-7, 1e300, 5e-324, 2.0**53 + 2, 0.1 + 0.2, inf, -inf, nan]
    times = array("q", [1_700_000_000_000 + 15_000 * n for n in range(len(values))])
    odd = {"target": "engine", "text": 'a "quoted" \\ back\\nslash,\nnew line} # é'}
    metrics = Metrics(
        {
            "up": [Series("up", {"target": "engine"}, times, array("d", [1.0] * len(values)))],
            "odd_value": [Series("odd_value", odd, times, array("d", values))],
        }
    )
    text = _saved(tmp_path / "run", replace(staged_evidence(_test(), Scene()), metrics=metrics))

    read = _read_back(serving(loaded(text)), ["odd_value"], like=metrics)

    assert _samples(read) == _samples(metrics)


@pytest.mark.parametrize(
    ("kind", "sample", "labels"),
    [
        pytest.param(
            "gauge", Sample("x", (("target", "own"),), 1.0), {"exported_target": "own"}, id="own target label"
        ),
        pytest.param("untyped", Sample("x", (), 1.0), {}, id="a type of the older text format"),
        pytest.param("counter", Sample("x_total", (), 1.0), {}, id="a counter named by its family"),
        pytest.param("summary", Sample("x", (("quantile", "0.5"),), 1.0), {"quantile": "0.5"}, id="a summary"),
    ],
)
def test_whatever_an_engine_exposes_seals_into_text_that_promtool_takes(
    kind: str, sample: Sample, labels: dict[str, str], *, tmp_path: Path, loaded: Loaded, serving: Serving
) -> None:
    record = staged_evidence(_test(), Scene()).record
    with Journal(tmp_path, record) as journal:
        journal.types({"x": kind})
        journal.scrape("engine", record.epoch_ms, [sample])
        sealed = journal.seal(record)
    saved = read_evidence(tmp_path, sealed, keep=frozenset({sample.name}))

    read = _read_back(serving(loaded(_metrics_text(tmp_path))), [sample.name], like=saved.metrics)

    assert saved.defects == ()
    assert _samples(read) == _samples(saved.metrics)
    assert [series.labels for series in read.find(sample.name)] == [{**labels, "target": "engine"}]
