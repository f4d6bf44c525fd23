"""The journal: readable after a crash, the same after sealing, and honest about what is not as it was written."""

import gzip
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaletest.evidence import Evidence, Journal, Sample
from scaletest.evidence.reading import read_evidence, read_record
from scaletest.evidence.record import RecordError
from scaletest.evidence.rows import ComputeRow
from scaletest.evidence.samples import MetricsReader, format_sample, label_text, parse_labels
from scaletest.gates.staging import Scene, staged_evidence, staged_test

RECORD = replace(staged_evidence(staged_test(), Scene()).record, sealed=False)
KEEP = frozenset({"ticks_total"})


def _write(folder: Path, *, seal: bool) -> None:
    with Journal(folder, RECORD) as journal:
        journal.types({"ticks": "counter"})
        for n in range(5):
            journal.row(ComputeRow(cycle=n, compute_us=n * n))
            journal.scrape("engine", 1000 + n, [Sample("ticks_total", (("shard", 'a"\\\n'),), float(n))], up=n != 3)
        if seal:
            journal.seal(RECORD)


def _read(folder: Path) -> Evidence:
    return read_evidence(folder, read_record(folder), keep=KEEP)


@pytest.mark.parametrize("seal", [True, False])
def test_what_was_written_comes_back_sealed_or_not(tmp_path: Path, *, seal: bool) -> None:
    _write(tmp_path, seal=seal)
    evidence = _read(tmp_path)
    (ticks,), (up,) = evidence.metrics.families["ticks_total"], evidence.metrics.families["up"]
    assert ticks.labels == {"shard": 'a"\\\n', "target": "engine"}
    assert ticks.between(1001, 1003) == [(1001, 1.0), (1002, 2.0), (1003, 3.0)]
    assert (ticks.at(1004), ticks.at(1005), up.at(1003)) == (4.0, None, 0.0)
    assert [row.compute_us for row in evidence.compute] == [0, 1, 4, 9, 16]
    assert bool(evidence.defects) is not seal


def test_a_crash_loses_the_torn_line_and_says_so(tmp_path: Path) -> None:
    _write(tmp_path, seal=False)
    for name in ("measured.jsonl", "metrics.om"):
        path = tmp_path / "evidence" / name
        path.write_bytes(path.read_bytes()[:-4])
    evidence = _read(tmp_path)
    assert [row.cycle for row in evidence.compute] == [0, 1, 2, 3]
    assert list(evidence.metrics.families["ticks_total"][0].values) == [0, 1, 2, 3]
    assert "not sealed" in evidence.defects[0].message


def test_a_file_that_is_not_the_sealed_one_is_let_go(tmp_path: Path) -> None:
    _write(tmp_path, seal=True)
    path = tmp_path / "evidence" / "measured.jsonl.gz"
    path.write_bytes(gzip.compress(gzip.decompress(path.read_bytes()).replace(b"16", b"17")))
    evidence = _read(tmp_path)
    assert evidence.compute == ()
    assert [defect.message for defect in evidence.defects] == [
        "measured.jsonl.gz is not the file that was sealed: its hash differs"
    ]


def test_the_plan_is_sealed_with_the_evidence(tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_text("{}", encoding="utf-8")
    _write(tmp_path, seal=True)
    assert not _read(tmp_path).defects
    (tmp_path / "plan.json").write_text("{ }", encoding="utf-8")
    assert "not the plan that was sealed" in _read(tmp_path).defects[0].message
    (tmp_path / "plan.json").unlink()
    assert "plan.json cannot be read" in _read(tmp_path).defects[0].message


def test_a_missing_run_json_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match=r"run\.json cannot be read"):
        read_record(tmp_path)


labels = st.dictionaries(st.from_regex(r"[a-z_][a-z0-9_]{0,8}", fullmatch=True), st.text(max_size=12), max_size=4)


@given(labels)
def test_labels_survive_being_written(wanted: dict[str, str]) -> None:
    text = label_text(wanted.items())
    assert "\n" not in text
    assert parse_labels(text.removeprefix("{").removesuffix("}")) == wanted


@given(labels, st.floats(allow_nan=False), st.integers(0, 2**50))
def test_a_sample_survives_being_written(wanted: dict[str, str], value: float, time_ms: int) -> None:
    reader = MetricsReader()
    for line in format_sample(Sample("m", tuple(wanted.items()), value), time_ms).split("\n"):
        reader.line(line)
    (series,) = reader.metrics().families["m"]
    assert (series.labels, list(series.times_ms), list(series.values)) == (wanted, [time_ms], [value])
    assert not reader.bad_lines


@pytest.mark.parametrize(
    "line",
    [
        "m",
        "m 1",
        "m x 1.000",
        "m 1 x",
        "m 1_0 1.000",
        "m 1 1_0.000",
        "m \u0661 1.000",
        "m 1 " + "9" * 30,
        'm{a="b" 1 1.000',
    ],
)
def test_a_line_that_is_no_sample_is_counted_and_not_guessed_at(line: str) -> None:
    reader = MetricsReader()
    reader.line(line)
    assert reader.bad_lines == 1
    assert not any(list(series.values) for series in reader.metrics().kept())


def test_order_and_repeats_do_not_matter_but_conflicts_do() -> None:
    lines = ["m 1 1.000", "m 2 2.000", "m 3 3.000", "m 2 2.000"]
    forward, backward = MetricsReader(), MetricsReader()
    for line in lines:
        forward.line(line)
    for line in reversed(lines):
        backward.line(line)
    assert forward.metrics() == backward.metrics()
    backward.line("m 4 2.000")
    (series,) = backward.metrics().families["m"]
    assert series.conflicts == 1
