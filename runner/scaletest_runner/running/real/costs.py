"""What every process of a run cost, phase by phase: CPU and memory, for the table beside the verdict."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scaletest.ports.clock import Clock
from scaletest.world.kwok.processes import Cost

__all__ = ["CostBook"]


class CostBook:
    """A file with one entry for each phase that began: when, and what each process had cost until then."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self._path, self._clock = path, clock
        self._entries: list[dict[str, Any]] = []

    def note(self, phase: str, costs: Mapping[str, Cost]) -> None:
        """Note the costs at the beginning of a phase."""
        processes = {name: {"cpu_us": cost.cpu_us, "rss_bytes": cost.rss_bytes} for name, cost in sorted(costs.items())}
        self._entries.append({"phase": phase, "at_us": self._clock.now_us(), "processes": processes})
        self._path.write_text(json.dumps({"version": 1, "phases": self._entries}, indent=1) + "\n", encoding="utf-8")
