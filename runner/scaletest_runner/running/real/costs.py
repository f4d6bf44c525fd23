"""What every process of a run cost, phase by phase: CPU, memory and how late its loop was."""

import json
from collections.abc import Iterable, Mapping
from itertools import accumulate
from pathlib import Path
from typing import Any, Final

from rich.table import Table

from scaletest.evidence import Series
from scaletest.ports.clock import Clock
from scaletest.world.kwok.processes import Cost
from scaletest_runner.terminal import plain_table

__all__ = ["COSTS", "CostBook"]

COSTS: Final = "costs.json"
_OURS: Final = ("engine", "driver", "runner")
_SOAK: Final = "soak"
_MIB: Final = 1024 * 1024
_COLUMNS: Final = ("CPU before soak", "in soak", "after", "most memory", "worst loop lag")


class CostBook:
    """A file with one entry for each phase that began: when, and what each process had cost until then."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self._path, self._clock = path, clock
        self._entries: list[dict[str, Any]] = []
        self._lags_s: dict[str, float] = {}

    def note(self, phase: str, costs: Mapping[str, Cost]) -> None:
        """Note the costs at the beginning of a phase."""
        processes = {name: {"cpu_us": cost.cpu_us, "rss_bytes": cost.rss_bytes} for name, cost in sorted(costs.items())}
        self._entries.append({"phase": phase, "at_us": self._clock.now_us(), "processes": processes})
        self._write()

    def note_lags(self, worst: Iterable[Series]) -> None:
        """Note by how much the loops of our own processes were late at worst."""
        self._lags_s = {series.labels["target"]: max(series.values) for series in worst if series.values}
        self._write()

    def table(self) -> Table:
        """Return what was spent on what: our own processes one by one, the control planes' by kind."""
        entries = self._entries
        table = plain_table("process", *_COLUMNS, right=_COLUMNS)
        kinds = sorted({_kind(name) for entry in entries for name in entry["processes"]})
        begin, end = _soak(entries)
        for kind in sorted(kinds, key=_OURS.__contains__):
            # A process that has ended costs nothing more; what it had cost stays.
            cpu_s = [cpu_us / 1e6 for cpu_us in accumulate((_sum(entry, kind, "cpu_us") for entry in entries), max)]
            lag = f"{self._lags_s[kind] * 1000:,.0f} ms" if kind in self._lags_s else ""
            parts = (cpu_s[begin], cpu_s[end] - cpu_s[begin], cpu_s[-1] - cpu_s[end])
            memory = max(_sum(entry, kind, "rss_bytes") for entry in entries) / _MIB
            table.add_row(kind, *(f"{part:,.1f} s" for part in parts), f"{memory:,.0f} MiB", lag)
        return table

    def _write(self) -> None:
        document = {"version": 1, "phases": self._entries, "loop_lag_worst_s": self._lags_s}
        self._path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def _kind(process: str) -> str:
    return process.rpartition("/")[2]


def _sum(entry: Mapping[str, Any], kind: str, figure: str) -> int:
    return sum(cost[figure] for name, cost in entry["processes"].items() if _kind(name) == kind)


def _soak(entries: list[dict[str, Any]]) -> tuple[int, int]:
    """Return where the soak begins and where it ends; a run that never came so far has none."""
    last = len(entries) - 1
    begin = next((n for n, entry in enumerate(entries) if entry["phase"] == _SOAK), last)
    return begin, min(begin + 1, last)
