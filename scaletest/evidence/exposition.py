"""One page of `/metrics`: the types it declares and the series it shows, as a scrape without timestamps."""

from dataclasses import dataclass

from scaletest.evidence.samples import parse_labels

__all__ = ["Page", "read_page"]


@dataclass(frozen=True, slots=True)
class Page:
    """What an engine shows right now."""

    types: dict[str, str]
    series: tuple[tuple[str, dict[str, str]], ...]
    """Name and labels of every series."""

    def named(self, name: str) -> list[dict[str, str]]:
        """Return the label sets of a metric."""
        return [labels for series, labels in self.series if series == name]


def read_page(text: str) -> Page:
    """Read a page in Prometheus or OpenMetrics text; lines that are neither sample nor type are passed over."""
    types: dict[str, str] = {}
    series: list[tuple[str, dict[str, str]]] = []
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            words = line.split()
            if len(words) == 4:
                types[words[2]] = words[3]
        elif line and not line.startswith("#"):
            name, labels = _series(line)
            if labels is not None:
                series.append((name, labels))
    return Page(types, tuple(series))


def _series(line: str) -> tuple[str, dict[str, str] | None]:
    brace = line.find("{")
    if brace < 0:
        return line.split(" ", 1)[0], {}
    end = line.rfind("}")
    return line[:brace], parse_labels(line[brace + 1 : end].removesuffix(","))
