"""Speed of reading evidence back: a million samples against their bar, and the ledgers beside it. Only printed."""

import resource
import tempfile
import time
from pathlib import Path

from scaletest.evidence import Journal, RequestRow, RunRecord, Sample, read_evidence
from scaletest.evidence.reading import read_record

_SAMPLES_BAR_S = 10.0
_SCRAPES, _SERIES, _ROWS = 1_000, 1_000, 200_000
_EPOCH_MS = 1_700_000_000_000


def _written(folder: Path) -> None:
    record = RunRecord(
        profile="bench",
        world="sim",
        random_seed=1,
        plan_digest="",
        epoch_ms=_EPOCH_MS,
        scrape_interval_us=15_000_000,
        targets=("engine",),
    )
    samples = [Sample("bench_seconds_bucket", (("le", str(n)),), float(n)) for n in range(_SERIES)]
    with Journal(folder, record) as journal:
        journal.types({"bench_seconds": "histogram"})
        for n in range(_SCRAPES):
            journal.scrape("engine", _EPOCH_MS + n * 15_000, samples)
        for n in range(_ROWS):
            journal.row(_row(n))
        journal.seal(record)


def _row(n: int) -> RequestRow:
    return RequestRow(
        cluster=n % 20,
        slot=n,
        workload="tiny-stateless-17",
        archetype="tiny-stateless",
        priority=100,
        fingerprint="0123456789abcdef01234567",
        group="",
        cause="churn",
        state="bound",
        planned_us=n * 100,
        sent_us=n * 100,
        appeared_us=n * 100 + 7,
        requested_us=n * 100 + 9,
        bound_us=n * 100 + 50,
        path="present",
        obs_seq=n + 1,
    )


def main() -> None:
    """Write, read back, and print."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        started = time.process_time()
        _written(folder)
        written = time.process_time()
        evidence = read_evidence(folder, read_record(folder), keep=frozenset({"bench_seconds_bucket"}))
        read = time.process_time()
    samples = sum(len(series.values) for series in evidence.metrics.kept())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"write and seal {samples:,} samples and {_ROWS:,} rows: {written - started:.1f} CPU s")
    print(
        f"read them back: {read - written:.1f} CPU s (bar {_SAMPLES_BAR_S:.0f} s for the samples), {peak:,} MiB at most"
    )


if __name__ == "__main__":
    main()
