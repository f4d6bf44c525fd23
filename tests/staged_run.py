"""A staged run in a real folder, taken apart so that it can be damaged, and put together again to be judged."""

import gzip
import json
from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass, field, replace
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import Any, Final

from scaletest.evidence import Evidence, Journal, Metrics, Sample
from scaletest.evidence.journal import gzipped
from scaletest.evidence.reading import read_evidence, read_record
from scaletest.evidence.record import RecordError
from scaletest.evidence.rows import Row
from scaletest.gates.judge import judge
from scaletest.gates.ledger import BINDS
from scaletest.gates.outcomes import Verdict
from scaletest.gates.proof import _DRILLS, PROOFS, proof_gate
from scaletest.gates.staging import Scene, staged_evidence, staged_test
from scaletest.plan.gates import Gate
from scaletest.plan.planned import PlannedTest, PlannedTestError, planned_test

_EDGES: Final = ("1.0", "5.0", "30.0", "33.0", "+Inf")
METRICS: Final = "metrics.om.gz"
LEDGERS: Final = ("requests", "actions", "cycles", "events", "measured")
FILES: Final = (METRICS, *(f"{name}.jsonl.gz" for name in LEDGERS))

# A shortfall that stands contradicts one that must not; all other gates hold in one good run.
_ALL: Final = tuple(proof_gate(name, proof.bar) for name, proof in PROOFS.items() if name != "standingShortfall")
GATES: Final = tuple(replace(g, expected_samples=200) if g.expected_samples == 400 else g for g in _ALL)
TEST: Final = replace(staged_test(*GATES, drills=_DRILLS), planned_replacements=200)


def plan_json(test: PlannedTest) -> str:
    """Return a plan.json with just what a judge reads."""
    document = {
        "version": 1,
        "profile": test.profile,
        "world": test.world,
        "digest": test.digest,
        "geometry": {"clusters": test.clusters, "shards": test.shards},
        "load": {
            "pods": test.pods,
            "soak_us": test.soak_us,
            "settle_us": test.settle_us,
            "linger_us": test.linger_us,
            "plannedReplacements": test.planned_replacements,
            "drills": [{"at_us": at, "multiplier": share} for at, share in test.drills],
        },
        "judge": {
            "latency": "tail" if test.judge_tail else "soak",
            "tolerantPenaltyBucket": test.tolerant_bucket,
            "sensitivePenaltyBucket": test.sensitive_bucket,
            "rollupInterval_us": test.rollup_interval_us,
        },
        "contract": {
            "ledger": test.ledger,
            "roles": {
                name: {"metric": r.metric, "type": r.type, "unit": r.unit, "labels": r.labels}
                for name, r in test.roles.items()
            },
        },
        "gates": [_gate_document(gate) for gate in test.gates],
    }
    return json.dumps(document, indent=1, sort_keys=True)


def _gate_document(gate: Gate) -> dict[str, Any]:
    return {
        "name": gate.name,
        "role": gate.role,
        "threshold": gate.threshold,
        "comparison": gate.comparison,
        "unit": gate.unit,
        "quantile": gate.quantile,
        "window": {"name": gate.window, "start_us": gate.start_us, "end_us": gate.end_us},
        "expectedSamples": gate.expected_samples,
        "claim": gate.claim,
        "kind": gate.kind,
        "notApplicable": gate.not_applicable,
    }


def write_run(folder: Path, test: PlannedTest, evidence: Evidence, *, seal: bool = True) -> None:
    """Write evidence as a run would: scrape by scrape, row by row, then sealed."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "plan.json").write_text(plan_json(test), encoding="utf-8")
    with Journal(folder, replace(evidence.record, sealed=False)) as journal:
        ledgers: tuple[tuple[Row, ...], ...] = (evidence.requests, evidence.actions, evidence.cycles)
        for row in chain(*ledgers, evidence.events, evidence.compute):
            journal.row(row)
        for time_ms, samples in _scrapes(evidence):
            journal.scrape("engine", time_ms, samples)
        if seal:
            journal.seal(replace(evidence.record, sealed=False))


def _scrapes(evidence: Evidence) -> Iterable[tuple[int, list[Sample]]]:
    scrapes: dict[int, list[Sample]] = {}
    for series in evidence.metrics.kept():
        labels = tuple((name, value) for name, value in series.labels.items() if name != "target")
        for time_ms, value in zip(series.times_ms, series.values, strict=True):
            found = scrapes.setdefault(time_ms, [])
            if series.name != "up":
                found.append(Sample(series.name, labels, value))
    return sorted(scrapes.items())


@dataclass(slots=True)
class Bundle:
    """A run taken apart. `raw` replaces compressed bytes; a file that is None is missing."""

    lines: dict[str, list[str]]
    run: dict[str, Any]
    plan: dict[str, Any]
    raw: dict[str, bytes | None] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    """Whole texts that stand in for run.json or plan.json."""
    changed: set[str] = field(default_factory=set)

    def copy(self) -> "Bundle":
        return Bundle(
            {name: list(lines) for name, lines in self.lines.items()}, deepcopy(self.run), deepcopy(self.plan)
        )

    def rows(self, ledger: str) -> list[str]:
        """Return the lines of a ledger to be changed; the first is its header."""
        return self.lines[self.touch(f"{ledger}.jsonl.gz")]

    def samples(self) -> list[str]:
        """Return the lines of the metrics to be changed; the last is the end mark."""
        return self.lines[self.touch(METRICS)]

    def touch(self, name: str) -> str:
        self.changed.add(name)
        return name


def taken_apart(folder: Path) -> Bundle:
    """Read a sealed run as lines."""
    lines = {
        name: gzip.decompress((folder / "evidence" / name).read_bytes()).decode().split("\n")[:-1] for name in FILES
    }
    run, plan = (json.loads((folder / name).read_text(encoding="utf-8")) for name in ("run.json", "plan.json"))
    return Bundle(lines, run, plan)


def put_together(bundle: Bundle, good: Path, folder: Path, *, forged: bool) -> None:
    """Write a damaged run; files that were not touched are the good run's own. A forger renews every hash."""
    (folder / "evidence").mkdir(parents=True, exist_ok=True)
    for name in FILES:
        _place(bundle, name, good, folder, forged=forged)
    plan = bundle.texts.get("plan.json", json.dumps(bundle.plan, indent=1, sort_keys=True))
    (folder / "plan.json").write_text(plan, encoding="utf-8")
    if forged:
        bundle.run["hashes"] = bundle.run.get("hashes") or {}
        bundle.run["hashes"]["plan.json"] = sha256(plan.encode()).hexdigest()
        said = {name: value for name, value in bundle.run.items() if name != "sha256"}
        bundle.run["sha256"] = sha256(json.dumps(said, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
    run = bundle.texts.get("run.json", json.dumps(bundle.run, indent=2, sort_keys=True))
    (folder / "run.json").write_text(run, encoding="utf-8")


def _place(bundle: Bundle, name: str, good: Path, folder: Path, *, forged: bool) -> None:
    path = folder / "evidence" / name
    path.unlink(missing_ok=True)
    if name in bundle.raw:
        raw = bundle.raw[name]
        if raw is not None:
            path.write_bytes(raw)
            content = _decompressed(raw)
            if forged and content is not None:
                bundle.run["hashes"][name] = sha256(content).hexdigest()
    elif name in bundle.changed:
        content = "".join(f"{line}\n" for line in bundle.lines[name]).encode("utf-8", "surrogateescape")
        path.write_bytes(gzip.compress(content, compresslevel=1, mtime=0))
        if forged and isinstance(bundle.run.get("hashes"), dict):
            bundle.run["hashes"][name] = sha256(content).hexdigest()
    else:
        path.hardlink_to(good / "evidence" / name)


def _decompressed(raw: bytes) -> bytes | None:
    try:
        return gzip.decompress(raw)
    except Exception:  # noqa: BLE001 - damage may break gzip in any way
        return None


def judged_folder(folder: Path) -> Verdict | None:
    """Judge a folder as the command does; None when run.json or plan.json is refused."""
    try:
        record = read_record(folder)
        test = planned_test((folder / "plan.json").read_text(encoding="utf-8"))
    except (RecordError, PlannedTestError):
        return None
    return judge(test, read_evidence(folder, record, keep=test.metric_names() | {BINDS}))


def _coarser(evidence: Evidence) -> Evidence:
    """Leave out buckets and sums that no bar needs: thousands of these runs are read."""
    families = {
        name: [s for s in found if s.labels.get("le", "+Inf") in _EDGES]
        for name, found in evidence.metrics.families.items()
        if not name.endswith("_sum")
    }
    return replace(evidence, metrics=Metrics(families))


def staged_folder(folder: Path, **scene: Any) -> Bundle:
    """Write a staged run and return its parts."""
    write_run(folder, TEST, _coarser(staged_evidence(TEST, Scene(**{"requests": 200, **scene}))))
    return taken_apart(folder)


def recompressed(lines: list[str]) -> bytes:
    """Return lines as the journal compresses them."""
    return gzipped("".join(f"{line}\n" for line in lines).encode())
