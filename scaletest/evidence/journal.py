"""Writing evidence: a journal that grows during the run, so that a crash loses seconds, sealed at its end."""

import gzip
import io
from collections.abc import Iterable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Final, Self, TextIO

from scaletest.evidence.openmetrics import sealed_lines
from scaletest.evidence.record import RunRecord
from scaletest.evidence.rows import LEDGER_OF, LEDGERS, Row, encode, header
from scaletest.evidence.samples import Sample, format_sample

__all__ = ["DECISIONS", "EVIDENCE", "METRICS", "PLAN", "Journal", "gzipped"]

PLAN: Final = "plan.json"
EVIDENCE: Final = "evidence"
METRICS: Final = "metrics.om"
DECISIONS: Final = "decisions.jsonl"
"""What an engine saw and decided in each cycle, in a form of its own; sealed like all else, and read by no judge."""

_CHUNK: Final = 1 << 20


class Journal:
    """The evidence of one run, being written.

    Rows and scrapes are appended to plain files and flushed at every scrape. `seal` groups the metrics by family,
    compresses everything and notes the hashes in run.json; only then are the plain files removed.

    Several processes may write one run's evidence, each its own ledgers: the first begins the files, and the others
    open it not `fresh` and append.
    """

    def __init__(self, folder: Path, record: RunRecord, *, fresh: bool = True) -> None:
        self._folder = folder
        self._fresh = fresh
        (folder / EVIDENCE).mkdir(parents=True, exist_ok=True)
        self._types: dict[str, str] = {}
        self._files: dict[str, TextIO] = {name: self._open(f"{name}.jsonl") for name in LEDGERS}
        self._metrics = self._open(METRICS)
        self._decisions = self._open(DECISIONS)
        if fresh:
            for name, file in self._files.items():
                file.write(header(name) + "\n")
            self.record(record)
            self.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def record(self, record: RunRecord) -> None:
        """Write run.json anew; the old one stays until the new one is whole."""
        path = self._folder / "run.json"
        fresh = path.with_suffix(".json.part")
        fresh.write_text(record.to_json(), encoding="utf-8")
        fresh.replace(path)

    def types(self, types: dict[str, str]) -> None:
        """Note the types of metric families, as scrapes first show them."""
        for family, kind in sorted(types.items()):
            if family not in self._types:
                self._types[family] = kind
                self._metrics.write(f"# TYPE {family} {kind}\n")

    def scrape(self, target: str, time_ms: int, samples: Iterable[Sample], *, up: bool = True) -> None:
        """Append one scrape of one target; a scrape that failed is evidence too."""
        labels = (("target", target),)
        self._metrics.write(format_sample(Sample("up", labels, float(up)), time_ms) + "\n")
        for sample in samples:
            line = Sample(sample.name, (*_set_aside(sample.labels), *labels), sample.value)
            self._metrics.write(format_sample(line, time_ms) + "\n")
        self.flush()

    def row(self, row: Row) -> None:
        """Append one row to its ledger."""
        self._files[LEDGER_OF[type(row)]].write(encode(row) + "\n")

    def decision(self, line: str) -> None:
        """Append one line of the engine's own account of a cycle."""
        self._decisions.write(line + "\n")

    def flush(self) -> None:
        """Hand everything written so far to the operating system."""
        for file in (self._metrics, self._decisions, *self._files.values()):
            file.flush()

    def close(self) -> None:
        """Close the files, sealed or not."""
        for file in (self._metrics, self._decisions, *self._files.values()):
            file.close()

    def seal(self, record: RunRecord) -> RunRecord:
        """Compress everything, note the hashes, and return the sealed record."""
        self.close()
        folder = self._folder / EVIDENCE
        hashes = {f"{METRICS}.gz": _pack(folder / METRICS, sealed_lines(_lines(folder / METRICS)))}
        ledgers = (*(f"{name}.jsonl" for name in LEDGERS), DECISIONS)
        for name in ledgers:
            hashes[f"{name}.gz"] = _pack(folder / name, _chunks(folder / name))
        # The bars stand in the plan, so it is sealed with what was measured.
        if (self._folder / PLAN).exists():
            hashes[PLAN] = sha256((self._folder / PLAN).read_bytes()).hexdigest()
        sealed = replace(record, hashes=hashes, sealed=True)
        self.record(sealed)
        for plain in (METRICS, *ledgers):
            (folder / plain).unlink()
        return sealed

    def _open(self, name: str) -> TextIO:
        path = self._folder / EVIDENCE / name
        if self._fresh:
            path.write_bytes(b"")
        return path.open("a", encoding="utf-8", newline="\n")


def _set_aside(labels: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """Return an engine's own labels; one that is called as ours makes room, under the name that Prometheus gives it."""
    if all(name != "target" for name, _ in labels):
        return labels
    return tuple(("exported_target" if name == "target" else name, value) for name, value in labels)


def _lines(path: Path) -> Iterable[str]:
    with path.open(encoding="utf-8", newline="\n") as file:
        yield from (line.rstrip("\n") for line in file)


def _chunks(path: Path) -> Iterable[str]:
    with path.open(encoding="utf-8", newline="\n") as file:
        while chunk := file.read(_CHUNK):
            yield chunk


def _pack(path: Path, content: Iterable[str]) -> str:
    """Write the content compressed beside its plain file, piece by piece, and return the hash of what went in."""
    digest = sha256()
    with path.with_name(f"{path.name}.gz").open("wb") as target, _gzip(target) as packed:
        for piece in content:
            raw = piece.encode()
            digest.update(raw)
            packed.write(raw)
    return digest.hexdigest()


def gzipped(content: bytes) -> bytes:
    """Return the content compressed as evidence is."""
    buffer = io.BytesIO()
    with _gzip(buffer) as file:
        file.write(content)
    return buffer.getvalue()


def _gzip(target: BinaryIO) -> gzip.GzipFile:
    """Open a compressed stream without time or name: equal content gives equal bytes. Quick matters more than small."""
    return gzip.GzipFile(fileobj=target, mode="wb", mtime=0, filename="", compresslevel=1)
