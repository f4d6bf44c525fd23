"""Homes: folders in which processes of a run live, each with a marker that says whose it is."""

import asyncio
import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from scaletest.world.kwok.errors import GroundError
from scaletest.world.kwok.processes import ProcessId, end_processes, machine_identity, processes_naming

__all__ = [
    "MARKER",
    "HomeKind",
    "Marker",
    "clear_home",
    "process_from_json",
    "process_json",
    "read_marker",
    "replace_file",
]

MARKER: Final = "scaletest.json"
_STARTERS: Final = ("kwokctl",)
"""Ended first, or they would go on starting what is being ended."""
_PROGRAMS: Final = (
    "etcd",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kwok-controller",
    "prometheus",
)
_PATIENCE_S: Final = 3.0
"""Nothing in a home is worth a longer goodbye; an apiserver with open watches would take a minute."""
_ROUNDS_MAX: Final = 5


class HomeKind(StrEnum):
    """What lives in a home."""

    CLUSTER = "cluster"
    """Removed with its processes: keys and a database that nobody needs."""
    PROCESS = "process"
    """Only its processes are ended; what they wrote is the run's."""


@dataclass(frozen=True, slots=True)
class Marker:
    """What a home says about itself."""

    run: str
    kind: HomeKind
    machine: str
    processes: Mapping[str, ProcessId]

    def noted(self) -> list[ProcessId]:
        """Return the processes that were written down, if their numbers mean anything here and now."""
        return sorted(self.processes.values()) if self.machine == machine_identity() else []


def read_marker(home: Path) -> Marker | None:
    """Return what a home says about itself; None when it is not one of ours."""
    try:
        document = json.loads((home / MARKER).read_bytes())
        processes = {name: process_from_json(each) for name, each in document["processes"].items()}
        return Marker(document["run"], HomeKind(document["kind"]), document["machine"], processes)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


async def clear_home(home: Path, *, run: str, logs: Path | None) -> None:
    """End whatever lives in a home, then remove it if it is a cluster's and carries this run's marker.

    Processes are found twice: by the identities that were noted, and by command lines that name the home, because a
    runner may have died between starting one and noting it. The logs of a cluster are moved to `logs` first.
    """
    marker = read_marker(home)
    ours = marker if marker is not None and marker.run == run else None
    await _end_all(home, ours.noted() if ours else [])
    if ours is None:
        return
    if ours.kind is HomeKind.CLUSTER:
        await asyncio.to_thread(_remove, home, logs)
    else:
        (home / MARKER).unlink()


def _remove(home: Path, logs: Path | None) -> None:
    if logs is not None and (home / "logs").is_dir() and not logs.exists():
        logs.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(home / "logs", logs)
    shutil.rmtree(home)


async def _end_all(home: Path, noted: list[ProcessId]) -> None:
    left = list[ProcessId]()
    for _ in range(_ROUNDS_MAX):  # a starter that is being ended may have started one more
        await end_processes(processes_naming(home, _STARTERS), patience_s=_PATIENCE_S)
        found = {*noted, *processes_naming(home, _PROGRAMS)}
        left = sorted(process for process in found if process.alive())
        if not left:
            return
        await end_processes(left, patience_s=_PATIENCE_S)
    raise GroundError(
        f"the processes in {home} cannot be ended",
        why=f"they were killed and are still there: {', '.join(str(each.pid) for each in left)}",
        remedy="see what holds them (a debugger, a stuck disk), then run `scaletest clusters destroy`",
    )


def replace_file(path: Path, document: object, *, mode: int = 0o600) -> None:
    """Replace a small file at once: a reader sees the old or the new one, never a part."""
    draft = path.with_name(f".{path.name}.new")
    draft.touch()
    draft.chmod(mode)
    draft.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    draft.replace(path)


def process_json(process: ProcessId) -> dict[str, int]:
    """Return a process as it is written down."""
    return {"pid": process.pid, "startedTicks": process.started_ticks}


def process_from_json(document: dict[str, Any]) -> ProcessId:
    """Return a process that was written down; raise KeyError, TypeError or ValueError for anything else."""
    return ProcessId(int(document["pid"]), int(document["startedTicks"]))
