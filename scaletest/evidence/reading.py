"""Reading evidence back: whatever is there, and a defect for whatever is not as it should be. Nothing is repaired."""

import gzip
import io
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO, Final, TypeVar, cast

from scaletest.evidence.journal import DECISIONS, EVIDENCE, METRICS, PLAN
from scaletest.evidence.record import RecordError, RunRecord
from scaletest.evidence.rows import (
    LEDGER_OF,
    ActionRow,
    ComputeRow,
    CycleRow,
    EventRow,
    RequestRow,
    RowError,
    decode,
    decode_header,
)
from scaletest.evidence.samples import Metrics, MetricsReader

__all__ = ["Defect", "Effect", "Evidence", "read_decisions", "read_evidence", "read_record"]

_LONGEST_LINE: Final = 1 << 20

RowT = TypeVar("RowT", RequestRow, ActionRow, CycleRow, EventRow, ComputeRow)


class Effect(StrEnum):
    """What a defect could do to a number: make it look better, make it look worse, or either."""

    FLATTER = "flatter"
    WORSEN = "worsen"
    BOTH = "both"


@dataclass(frozen=True, slots=True)
class Defect:
    """Something wrong with the ground, the harness or the evidence; never the engine's fault."""

    what: str
    effect: Effect
    message: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that a judge may know about a run."""

    record: RunRecord
    metrics: Metrics
    requests: tuple[RequestRow, ...]
    actions: tuple[ActionRow, ...]
    cycles: tuple[CycleRow, ...]
    events: tuple[EventRow, ...]
    compute: tuple[ComputeRow, ...]
    defects: tuple[Defect, ...] = ()


def read_record(folder: Path) -> RunRecord:
    """Return run.json; raise RecordError when there is none that can be read."""
    try:
        return RunRecord.from_json((folder / "run.json").read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise RecordError(f"run.json cannot be read: {error}") from None


def read_evidence(folder: Path, record: RunRecord, *, keep: frozenset[str]) -> Evidence:
    """Read a run's evidence, sealed or left behind by a crash; `keep` names the metrics to hold in memory."""
    reader = _Reader(folder / EVIDENCE, record)
    reader.plan(folder / PLAN)
    return Evidence(
        record=record,
        metrics=reader.metrics(keep | {"up"}),
        requests=reader.rows(RequestRow),
        actions=reader.rows(ActionRow),
        cycles=reader.rows(CycleRow),
        events=reader.rows(EventRow),
        compute=reader.rows(ComputeRow),
        defects=tuple(reader.defects),
    )


def read_decisions(folder: Path, record: RunRecord) -> Iterator[str]:
    """Yield the engine's own account of its cycles, line by line; raise RecordError when it is not what was sealed."""
    reader = _Reader(folder / EVIDENCE, record)
    before = len(reader.defects)
    yield from reader.lines(DECISIONS)
    if len(reader.defects) > before:
        raise RecordError(reader.defects[-1].message)


class _Reader:
    """Reads files line by line, hashing as it goes; what turns out not to be the sealed content is let go again."""

    def __init__(self, folder: Path, record: RunRecord) -> None:
        self._folder = folder
        self._record = record
        self.defects: list[Defect] = []
        if not record.sealed:
            # What a crash lost can only have been more of everything: a fail stands, a pass does not.
            message = "the run was not sealed: it crashed or is still going; the last seconds are missing"
            self.defects.append(Defect("evidence", Effect.FLATTER, message))

    def plan(self, path: Path) -> None:
        """Check that the plan is the sealed one; evidence without a plan is the caller's business."""
        if not self._record.sealed or not (path.exists() or PLAN in self._record.hashes):
            return
        try:
            same = sha256(path.read_bytes()).hexdigest() == self._record.hashes.get(PLAN)
        except OSError as error:
            self._defect(f"{PLAN} cannot be read: {error}")
        else:
            if not same:
                self._defect(f"{PLAN} is not the plan that was sealed: its hash differs")

    def metrics(self, keep: frozenset[str]) -> Metrics:
        reader = MetricsReader(keep)
        source = self._open(METRICS)
        for line in source:
            reader.line(line)
        if reader.bad_lines:
            self._defect(f"{METRICS}: {reader.bad_lines} lines are not samples")
        if self._record.sealed and not reader.ended:
            self._defect(f"{METRICS}: the end mark is missing")
        return reader.metrics() if source.trusted else Metrics()

    def rows(self, kind: type[RowT]) -> tuple[RowT, ...]:
        ledger = LEDGER_OF[kind]
        source = self._open(f"{ledger}.jsonl")
        lines = iter(source)
        rows: list[RowT] = []
        try:
            decode_header(ledger, next(lines, ""))
            rows.extend(decode(kind, line) for line in lines)
        except RowError as error:
            self._defect(f"{ledger}: row {len(rows) + 1}: {error}")
            for _ in lines:  # to the end, so that the hash is checked all the same
                pass
        return tuple(rows) if source.trusted else ()

    def lines(self, name: str) -> Iterator[str]:
        """Yield the lines of a file that has no form of ours."""
        return iter(self._open(name))

    def _open(self, name: str) -> "_Source":
        if self._record.sealed:
            return _Source(self._folder / f"{name}.gz", self._record.hashes.get(f"{name}.gz", ""), self._defect)
        return _Source(self._folder / name, None, self._defect)

    def _defect(self, message: str) -> None:
        self.defects.append(Defect("evidence", Effect.BOTH, message))


class _Source:
    """The lines of one file. `trusted` is known after the last line: read to the end, and its hash is the sealed one.

    A plain file has no hash: a crash left it behind, and only its torn last line is not read.
    """

    def __init__(self, path: Path, sealed_hash: str | None, defect: Callable[[str], None]) -> None:
        self._path = path
        self._sealed_hash = sealed_hash
        self._defect = defect
        self.trusted = False

    def __iter__(self) -> Iterator[str]:
        name = self._path.name
        digest = sha256()
        try:
            with self._opened() as file:
                while raw := file.readline(_LONGEST_LINE):
                    digest.update(raw)
                    if raw.endswith(b"\n"):
                        yield raw[:-1].decode("utf-8")
                    elif self._sealed_hash is not None:
                        raise EOFError("a line is cut off or longer than a mebibyte")
        except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
            self._defect(f"{name} cannot be read: {error}")
            return
        if self._sealed_hash not in {None, digest.hexdigest()}:
            self._defect(f"{name} is not the file that was sealed: its hash differs")
            return
        self.trusted = True

    def _opened(self) -> BinaryIO:
        if self._sealed_hash is None:
            return self._path.open("rb")
        # GzipFile reads lines in Python; a buffer around it reads them in C.
        return cast("BinaryIO", io.BufferedReader(gzip.GzipFile(self._path, "rb"), _LONGEST_LINE))
