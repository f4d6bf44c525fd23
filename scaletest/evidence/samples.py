"""Raw samples: lines of OpenMetrics text with timestamps, read into columns.

Reading is a line reader of our own: the text was written by us or by a Prometheus export, and a general parser costs
twenty times as much per sample. Only metrics that somebody asks for are kept.
"""

import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from math import isfinite
from operator import lt
from typing import Final, NamedTuple

__all__ = ["Metrics", "MetricsReader", "Sample", "Series", "format_sample", "label_text", "parse_labels"]

_LABEL: Final = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"')
_ESCAPES: Final = {"\\\\": "\\", '\\"': '"', "\\n": "\n"}


class Sample(NamedTuple):
    """One value of one series."""

    name: str
    labels: tuple[tuple[str, str], ...]
    value: float


@dataclass(slots=True)
class Series:
    """The samples of one series by rising time, in whole milliseconds."""

    name: str
    labels: dict[str, str]
    times_ms: "array[int]" = field(default_factory=lambda: array("q"))
    values: "array[float]" = field(default_factory=lambda: array("d"))
    conflicts: int = 0
    """Instants for which two different values were recorded."""

    def at(self, time_ms: int) -> float | None:
        """Return the value recorded at just this instant, or None."""
        position = bisect_left(self.times_ms, time_ms)
        found = position < len(self.times_ms) and self.times_ms[position] == time_ms
        return self.values[position] if found else None

    def between(self, start_ms: int, end_ms: int) -> list[tuple[int, float]]:
        """Return the samples of a closed interval."""
        inside = slice(bisect_left(self.times_ms, start_ms), bisect_right(self.times_ms, end_ms))
        return list(zip(self.times_ms[inside], self.values[inside], strict=True))

    def settled(self) -> "Series":
        """Return the same samples sorted, equal ones merged; different values at one instant are counted."""
        if all(map(lt, self.times_ms, self.times_ms[1:])):
            return self
        rows = sorted(set(zip(self.times_ms, self.values, strict=True)), key=lambda row: (row[0], repr(row[1])))
        result = Series(self.name, self.labels)
        for time_ms, value in rows:
            if result.times_ms and result.times_ms[-1] == time_ms:
                same = result.values[-1] == value or (value != value and result.values[-1] != result.values[-1])  # noqa: PLR0124 - NaN is NaN
                result.conflicts += not same
                continue
            result.times_ms.append(time_ms)
            result.values.append(value)
        return result


@dataclass(slots=True)
class Metrics:
    """Series by metric name."""

    families: dict[str, list[Series]] = field(default_factory=dict)

    def find(self, name: str, **labels: Iterable[str]) -> list[Series]:
        """Return the series of a metric whose labels have one of the given values, in label order."""
        wanted = {key: frozenset(values) for key, values in labels.items()}
        found = [
            s for s in self.families.get(name, ()) if all(s.labels.get(key) in values for key, values in wanted.items())
        ]
        return sorted(found, key=lambda s: sorted(s.labels.items()))

    def kept(self) -> Iterator[Series]:
        """Yield every series."""
        for name in sorted(self.families):
            yield from self.families[name]


class MetricsReader:
    """Collects lines into series; lines that are not samples are counted, never guessed at."""

    def __init__(self, keep: frozenset[str] | None = None) -> None:
        self._keep = keep
        self._series: dict[str, Series | None] = {}
        self.bad_lines = 0
        self.ended = False

    def line(self, line: str) -> None:
        """Take one line of text."""
        if not line or line[0] == "#":
            self.ended = self.ended or line == "# EOF"
            return
        key, _, rest = line.rpartition(" ")
        key, _, value = key.rpartition(" ")
        if not key:
            self.bad_lines += 1  # a torn line: without a name, a value or an instant nobody knows whose it was
            return
        if key not in self._series:
            self._series[key] = self._opened(key)
        series = self._series[key]
        if series is None:
            return
        try:
            # The usual form, seconds with three decimals, is worth a shortcut: this runs once per sample.
            time_ms = int(rest[:-4] + rest[-3:]) if rest[-4:-3] == "." else _milliseconds(rest)
            number = float(value)
            if "_" in value or "_" in rest or not (value.isascii() and rest.isascii()):
                raise ValueError(line)  # Python reads 1_000 and other scripts' digits as numbers; nobody else does
            series.times_ms.append(time_ms)
        except (ValueError, OverflowError):
            self.bad_lines += 1
            return
        series.values.append(number)

    def metrics(self) -> Metrics:
        """Return what was read, each series in order."""
        families: dict[str, list[Series]] = {}
        for series in self._series.values():
            if series is not None:
                families.setdefault(series.name, []).append(series.settled())
        return Metrics(families)

    def _opened(self, key: str) -> Series | None:
        name, brace, rest = key.partition("{")
        if self._keep is not None and name not in self._keep:
            return None
        labels = parse_labels(rest.removesuffix("}")) if brace else {}
        if labels is None or not name or (brace and not rest.endswith("}")):
            self.bad_lines += 1
            return None
        return Series(name, labels)


def parse_labels(text: str) -> dict[str, str] | None:
    """Return the labels of `a="b",c="d"`, or None when the text is not that."""
    labels: dict[str, str] = {}
    at = 0
    while at < len(text):
        match = _LABEL.match(text, at)
        if match is None or match[1] in labels:
            return None
        labels[match[1]] = re.sub(r'\\[\\"n]', lambda m: _ESCAPES[m[0]], match[2])
        at = match.end()
        if at < len(text):
            if text[at] != "," or at + 1 == len(text):
                return None
            at += 1
    return labels


def label_text(labels: Iterable[tuple[str, str]]) -> str:
    """Return labels as text, sorted by name; empty for none."""
    parts = [f'{name}="{_escaped(value)}"' for name, value in sorted(labels)]
    return "{" + ",".join(parts) + "}" if parts else ""


def format_sample(sample: Sample, time_ms: int) -> str:
    """Return one line of OpenMetrics text."""
    value = sample.value
    number = repr(int(value)) if isfinite(value) and value == int(value) and abs(value) < 2**53 else _number(value)
    return f"{sample.name}{label_text(sample.labels)} {number} {time_ms // 1000}.{time_ms % 1000:03d}"


def _number(value: float) -> str:
    return {"nan": "NaN", "inf": "+Inf", "-inf": "-Inf"}.get(repr(value), repr(value))


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _milliseconds(text: str) -> int:
    seconds, _, part = text.partition(".")
    if not seconds.isdigit() or (part and not part.isdigit()):
        raise ValueError(text)
    return int(seconds) * 1000 + int(part[:3].ljust(3, "0")) if part else int(seconds) * 1000
