"""Counters read at two boundaries: raw differences per series, checked, never extrapolated and never repaired."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import inf, isfinite
from typing import Final

from scaletest.evidence import Series
from scaletest.gates.case import Case, Span
from scaletest.gates.quantiles import HistogramDelta
from scaletest.plan.planned import Role

__all__ = [
    "Boundary",
    "Count",
    "Histograms",
    "Numbers",
    "boundary",
    "count_between",
    "histograms_between",
    "is_run",
    "numbers_between",
    "shards_beside",
    "values_at",
]

_INTERVALS: Final = 2
"""A boundary scrape may come this many intervals after its mark."""
_LARGEST: Final = float(1 << 53)
"""Beyond this a float no longer counts by ones."""


@dataclass(frozen=True, slots=True)
class Boundary:
    """The first good scrape of a target at or after a mark; `missing` says why there is none."""

    time_ms: int = 0
    missing: str = ""


@dataclass(frozen=True, slots=True)
class Count:
    """Events between two boundaries. With `doubt` the number is only what surely happened: a lower bound."""

    number: int
    doubt: str = ""
    ends: dict[str, tuple[int, int]] = field(default_factory=dict)
    """First and last reading by the series' `kind` or `outcome`, for the ledger's cross-check."""


@dataclass(frozen=True, slots=True)
class Histograms:
    """Histogram differences by instance; `doubt` when any of them cannot be trusted."""

    by_instance: dict[str, HistogramDelta]
    doubt: str = ""

    @property
    def total(self) -> int:
        """Return all observations."""
        return sum(delta.total for delta in self.by_instance.values())


def boundary(case: Case, target: str, mark_us: int) -> Boundary:
    """Return the boundary scrape of a target."""
    record = case.evidence.record
    mark_ms = case.time_ms(mark_us)
    latest_ms = mark_ms + _INTERVALS * -(-record.scrape_interval_us // 1000)
    for series in case.evidence.metrics.find("up", target=(target,)):
        if series.conflicts:
            return Boundary(missing=f"{target} was up and down at one instant")
        for time_ms, up in series.between(mark_ms, latest_ms):
            if up == 1:
                return Boundary(time_ms)
    return Boundary(missing=f"{target} was not scraped within {_INTERVALS} intervals of the boundary")


def values_at(case: Case, role: str, mark_us: int) -> tuple[list[tuple[Series, float]], str]:
    """Return the role's series with their values at a boundary, or why they cannot be had."""
    found, doubt = _series(case, role)
    values = []
    for series in found:
        target = series.labels.get("target", "")
        start, at = boundary(case, target, case.soak.start_us), boundary(case, target, mark_us)
        value = None if at.missing else series.at(at.time_ms)
        doubt = doubt or start.missing or at.missing or _restarted(case, target, start.time_ms, at.time_ms)
        if doubt or value is None or not 0 <= value <= _LARGEST or series.conflicts:
            return [], doubt or f"{series.name} has no usable sample at the boundary"
        values.append((series, value))
    return values, doubt


@dataclass(frozen=True, slots=True)
class Numbers:
    """The numbers that a counter gave out between the scrapes at a span's boundaries."""

    given: range
    scraped: Span
    """From scrape to scrape, which may come a little after the marks."""


def numbers_between(case: Case, metric: str, span: Span) -> tuple[Numbers | None, str]:
    """Return the numbers that a single counter series gave out between the boundaries of a span.

    None when several series share the metric: then their numbers say nothing about one ledger.
    """
    found = case.evidence.metrics.find(metric)
    if len(found) != 1:
        return None, "" if found else f"no series of {metric}"
    rise, doubt = _rise(case, found[0], span)
    if doubt:
        return None, doubt
    target, epoch_ms = found[0].labels.get("target", ""), case.evidence.record.epoch_ms
    start_ms, end_ms = (boundary(case, target, mark_us).time_ms for mark_us in (span.start_us, span.end_us))
    base = round(found[0].at(start_ms) or 0)
    scraped = Span((start_ms - epoch_ms) * 1000, (end_ms - epoch_ms) * 1000)
    return Numbers(range(base + 1, base + rise + 1), scraped), ""


def is_run(numbers: Sequence[int], first: int, last: int) -> bool:
    """Say whether sorted numbers are just first to last, each once; a wild counter makes no list of itself."""
    return len(numbers) == max(0, last - first + 1) and all(n == first + k for k, n in enumerate(numbers))


def count_between(case: Case, role: str, span: Span) -> Count:
    """Return how many events a counter role counted between the boundaries of a span."""
    found, doubt = _series(case, role)
    total, ends = 0, dict[str, tuple[int, int]]()
    for series in found:
        rise, unsure = _rise(case, series, span)
        if unsure:
            doubt = doubt or unsure
            total += _surely(series, case.time_ms(span.start_us), case.time_ms(span.end_us))
            continue
        total += rise
        base = round(series.at(boundary(case, series.labels.get("target", ""), span.start_us).time_ms) or 0)
        label = series.labels.get("outcome") or series.labels.get("kind") or ""
        first, last = ends.get(label, (0, 0))
        ends[label] = (first + base, last + base + rise)
    return Count(total, doubt, ends)


def histograms_between(case: Case, role: str, span: Span) -> Histograms:
    """Return a histogram role's observations between the boundaries of a span, by instance."""
    if role not in case.test.roles:
        return Histograms({}, f"the engine has no {role}")
    where = case.test.roles[role]
    edges: dict[str, dict[float, int]] = {}
    for series in case.evidence.metrics.find(f"{where.metric}_bucket", **where.labels):
        edge = _edge(series.labels.get("le", ""))
        rise, doubt = _rise(case, series, span)
        known = edges.setdefault(_instance(series), {})
        if doubt or edge is None or edge in known:
            return Histograms({}, doubt or f"{series.name} has a bucket without an edge of its own")
        known[edge] = rise
    totals: dict[str, int] = {}
    counts = case.evidence.metrics.find(f"{where.metric}_count", **where.labels)
    if doubt := _incomplete(case, where, counts):
        return Histograms({}, doubt)
    for series in counts:
        rise, doubt = _rise(case, series, span)
        if doubt:
            return Histograms({}, doubt)
        totals[_instance(series)] = rise
    if not totals:
        return Histograms({}, f"no series of {case.role_text(role)}")
    if totals != {instance: counts.get(inf, -1) for instance, counts in edges.items()}:
        return Histograms({}, f"the buckets of {where.metric} do not add up to its count")
    return _deltas(edges)


def _rise(case: Case, series: Series, span: Span) -> tuple[int, str]:
    """Return by how much a counter series rose between the boundaries of a span, or why that cannot be said."""
    target = series.labels.get("target", "")
    first, last = boundary(case, target, span.start_us), boundary(case, target, span.end_us)
    doubt = first.missing or last.missing
    doubt = doubt or _restarted(case, target, first.time_ms, last.time_ms)
    doubt = doubt or _unfit(series, first.time_ms, last.time_ms)
    if doubt:
        return 0, doubt
    return round((series.at(last.time_ms) or 0) - (series.at(first.time_ms) or 0)), ""


def _deltas(edges: dict[str, dict[float, int]]) -> Histograms:
    by_instance = {}
    for instance, cumulated in sorted(edges.items()):
        counts, before = [], 0
        for edge in sorted(cumulated):
            if cumulated[edge] < before:
                return Histograms({}, f"the buckets of {instance or 'the histogram'} contradict each other")
            counts.append((edge, cumulated[edge] - before))
            before = cumulated[edge]
        by_instance[instance] = HistogramDelta(tuple(counts))
    return Histograms(by_instance)


def _series(case: Case, role: str) -> tuple[list[Series], str]:
    """Return the role's series; every label value that the manifest names must be there, at zero if need be."""
    if role not in case.test.roles:
        return [], f"the engine has no {role}"
    where = case.test.roles[role]
    found = case.evidence.metrics.find(where.metric, **where.labels)
    return found, _incomplete(case, where, found) if found else f"no series of {case.role_text(role)}"


def _incomplete(case: Case, where: Role, found: list[Series]) -> str:
    """Return which series is missing: each target must show every label value, and each shard what its peers show."""
    targets = {series.labels.get("target", "") for series in found}
    for target in sorted(targets | shards_beside(case, targets)):
        own = [series.labels for series in found if series.labels.get("target", "") == target]
        if not own:
            return f"no series of {where.metric} from {target}, although other shards have it"
        for name, values in sorted(where.labels.items()):
            if absent := [value for value in values if not any(labels.get(name) == value for labels in own)]:
                return f"no series of {where.metric} with {name}={absent[0]} from {target}"
    return ""


def shards_beside(case: Case, targets: set[str]) -> set[str]:
    """Return all targets that run cycles if some of these do: shards are alike, so one that is silent was lost."""
    role = case.test.roles.get("cycleDuration")
    running = case.evidence.metrics.find(f"{role.metric}_count", **role.labels) if role else []
    shards = {series.labels.get("target", "") for series in running}
    return shards if shards & targets else set()


def _unfit(series: Series, first_ms: int, last_ms: int) -> str:
    """Return why a series cannot be subtracted: missing, NaN, fractional, conflicting or falling samples."""
    between = series.between(first_ms, last_ms)
    values = [value for _, value in between]
    if not between or between[0][0] != first_ms or between[-1][0] != last_ms:
        return f"{series.name} has no sample at a boundary"
    if series.conflicts:
        return f"{series.name} has two values for one instant"
    if not all(0 <= value <= _LARGEST and value == int(value) for value in values):
        return f"{series.name} is not a count"
    if any(b < a for a, b in pairwise(values)):
        return f"{series.name} was reset"
    return ""


def _restarted(case: Case, target: str, first_ms: int, last_ms: int) -> str:
    """Return a sentence when a target's process changed, or when that cannot be known."""
    if "processStart" not in case.test.roles:
        return ""
    starts = case.evidence.metrics.find(case.test.roles["processStart"].metric, target=(target,))
    values = {value for series in starts for _, value in series.between(first_ms, last_ms)}
    ends = [series.at(instant) for series in starts for instant in (first_ms, last_ms)]
    if not ends or any(value is None or not isfinite(value) for value in ends):
        return f"{target} did not say when it started"
    alone = len(values) == 1 and not any(series.conflicts for series in starts)
    return "" if alone else f"{target} was restarted"


def _surely(series: Series, first_ms: int, last_ms: int) -> int:
    """Return the increments that were seen whatever happened in between: a lower bound."""
    values = [value for _, value in series.between(first_ms, last_ms) if 0 <= value <= _LARGEST]
    rises = [b - a if b >= a else b for a, b in pairwise(values)]
    return int(sum(rises))


def _instance(series: Series) -> str:
    return ", ".join(f"{name}={value}" for name, value in sorted(series.labels.items()) if name != "le")


def _edge(text: str) -> float | None:
    try:
        edge = float(text)
    except ValueError:
        return None
    return edge if edge == inf or isfinite(edge) else None
