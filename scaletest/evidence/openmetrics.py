"""The sealed form of the metrics: OpenMetrics text grouped by family, which promtool loads into a real Prometheus."""

from collections.abc import Iterable, Iterator

__all__ = ["sealed_lines"]

_SUFFIXES = {
    "counter": ("_total", "_created"),
    "histogram": ("_bucket", "_count", "_sum", "_created"),
    "summary": ("", "_count", "_sum", "_created"),
}

_KINDS = frozenset({*_SUFFIXES, "gauge", "gaugehistogram", "info", "stateset", "unknown"})
"""All that OpenMetrics knows; the `untyped` of older expositions is refused by every strict reader."""


def sealed_lines(journal: Iterable[str]) -> Iterator[str]:
    """Yield the journal's samples by family, then series, then time, and the end mark; each line ends in a newline."""
    types: dict[str, str] = {}
    series: dict[str, list[tuple[float, str]]] = {}
    for line in journal:
        if line.startswith("# TYPE "):
            _, _, family, kind = line.split(" ", 3)
            types.setdefault(family, kind if kind in _KINDS else "unknown")
        elif line and not line.startswith("#"):
            key, _, time = line.rpartition(" ")
            series.setdefault(key.rpartition(" ")[0], []).append((float(time), line))
    families: dict[str, list[str]] = {}
    for key in series:
        families.setdefault(_family(key.partition("{")[0], types), []).append(key)
    for family in sorted(families):
        yield f"# TYPE {family} {types.get(family, 'unknown')}\n"
        for key in sorted(families[family]):
            yield from (f"{line}\n" for _, line in sorted(series[key]))
    yield "# EOF\n"


def _family(name: str, types: dict[str, str]) -> str:
    for kind, suffixes in _SUFFIXES.items():
        for suffix in suffixes:
            base = name.removesuffix(suffix)
            if name.endswith(suffix) and types.get(base) == kind:
                return base
    return name
