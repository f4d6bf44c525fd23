"""Runs on this machine and the homes of their processes: what is ours, who made it, and whether that one still lives.

A run that starts processes is registered in a fixed place of its user before the first of them exists, and every
folder such processes live in (a home) carries a marker. So whatever ends a run, a later command finds what was left
behind, wherever the run's folder is, and touches nothing else.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from importlib.metadata import version
from pathlib import Path
from typing import Any

from scaletest.world.kwok.errors import GroundError
from scaletest.world.kwok.homes import (
    MARKER,
    HomeKind,
    clear_home,
    process_from_json,
    process_json,
    replace_file,
)
from scaletest.world.kwok.ports import PortPool
from scaletest.world.kwok.processes import ProcessId, machine_identity, own_process

__all__ = [
    "LiveRun",
    "RunEntry",
    "RunState",
    "destroy_leftovers",
    "destroy_run",
    "leftovers",
    "register_run",
    "registered_runs",
    "runs_folder",
]


class RunState(StrEnum):
    """What a registered run is to whoever looks at it now."""

    LIVE = "live"
    """Its runner runs."""
    KEPT = "kept"
    """Its runner is gone and left its clusters on purpose."""
    LEFT = "left behind"
    """Its runner is gone and could not clean up."""
    ELSEWHERE = "elsewhere"
    """Registered before the last boot, or in another container: its processes cannot be seen from here."""


@dataclass(frozen=True, slots=True)
class RunEntry:
    """A run in the register."""

    run: str
    folder: Path
    runner: ProcessId
    machine: str
    created: str
    tool: str
    kept: bool = False
    homes: tuple[Path, ...] = ()

    def state(self) -> RunState:
        """Return what has become of the run."""
        if self.machine != machine_identity():
            return RunState.ELSEWHERE
        if self.runner.alive():
            return RunState.LIVE
        return RunState.KEPT if self.kept else RunState.LEFT


class LiveRun:
    """The run of this process: it claims homes, notes their processes, and takes its entry away when none is left."""

    def __init__(self, entry: RunEntry) -> None:
        self.entry = entry
        self.ports = PortPool()

    @property
    def folder(self) -> Path:
        """Return the run's own folder."""
        return self.entry.folder

    def claim(self, home: Path, kind: HomeKind) -> None:
        """Make a home of our own, marked and registered before anything lives in it."""
        home.mkdir(mode=0o700, parents=True)
        self._change(homes=(*self.entry.homes, home))
        self.note(home, kind, {})

    def note(self, home: Path, kind: HomeKind, processes: Mapping[str, ProcessId]) -> None:
        """Write down which processes live in a home."""
        entry = self.entry
        replace_file(
            home / MARKER,
            {
                "tool": entry.tool,
                "run": entry.run,
                "kind": kind.value,
                "runner": process_json(entry.runner),
                "machine": entry.machine,
                "created": datetime.now(UTC).isoformat(timespec="seconds"),
                "folder": str(entry.folder),
                "processes": {name: process_json(each) for name, each in processes.items()},
            },
        )

    def release(self, home: Path) -> None:
        """Give up a home in which nothing lives any more."""
        (home / MARKER).unlink(missing_ok=True)
        self._change(homes=tuple(each for each in self.entry.homes if each != home))

    def keep(self) -> None:
        """Leave everything running when this process ends; only an explicit command ends it."""
        self._change(kept=True)

    def end(self) -> None:
        """Take the entry away, unless something still lives in a home: then it stays, to be found."""
        if not self.entry.homes:
            _entry_path(self.entry.run).unlink(missing_ok=True)

    def _change(self, **values: Any) -> None:
        self.entry = replace(self.entry, **values)
        replace_file(_entry_path(self.entry.run), _entry_json(self.entry))


def runs_folder() -> Path:
    """Return where this user's runs are registered."""
    given = os.environ.get("XDG_STATE_HOME", "")
    base = Path(given) if given.startswith("/") else Path.home() / ".local" / "state"
    return base / "scaletest" / "runs"


def register_run(run: str, folder: Path) -> LiveRun:
    """Register a run of this process. The name must be new, and the folder the run's own."""
    if not Path("/proc/self/stat").exists():
        raise GroundError(
            f"run {run} cannot start",
            why="real clusters are watched through /proc, which this system does not have",
            remedy="use Linux, or --substrate sim",
        )
    path = _entry_path(run)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.parent.chmod(0o700)
    if path.exists():
        raise GroundError(
            f"run {run} cannot start",
            why="a run of this name is registered on this machine",
            remedy=f"see `scaletest clusters list`, then `scaletest clusters destroy {run}`",
        )
    entry = RunEntry(
        run=run,
        folder=folder.resolve(),
        runner=own_process(),
        machine=machine_identity(),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        tool=f"scaletest {version('scaletest')}",
    )
    replace_file(path, _entry_json(entry))
    return LiveRun(entry)


def registered_runs() -> tuple[list[RunEntry], list[Path]]:
    """Return the registered runs by age, and the notes in the register that cannot be read."""
    entries, odd = list[RunEntry](), list[Path]()
    for path in sorted(runs_folder().glob("*.json")):
        try:
            entries.append(_entry(json.loads(path.read_bytes())))
        except FileNotFoundError:  # that run ended while we looked
            continue
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            odd.append(path)
    return sorted(entries, key=lambda each: (each.created, each.run)), odd


def leftovers() -> list[RunEntry]:
    """Return the runs whose runner died without cleaning up."""
    return [entry for entry in registered_runs()[0] if entry.state() is RunState.LEFT]


async def destroy_leftovers() -> list[RunEntry]:
    """End and remove what dead runners left behind; return their runs."""
    found = leftovers()
    for entry in found:
        await destroy_run(entry)
    return found


async def destroy_run(entry: RunEntry) -> None:
    """End every process of a run that is not live, remove its clusters (their logs are saved), forget the run."""
    assert entry.state() is not RunState.LIVE, entry.run
    for home in entry.homes:
        await clear_home(home, run=entry.run, logs=entry.folder / "logs" / home.name)
    _entry_path(entry.run).unlink(missing_ok=True)


def _entry_path(run: str) -> Path:
    if not run or run.startswith(".") or "/" in run or "\0" in run:
        raise ValueError(f"{run!r} cannot name a run")
    return runs_folder() / f"{run}.json"


def _entry_json(entry: RunEntry) -> dict[str, Any]:
    return {
        "tool": entry.tool,
        "run": entry.run,
        "folder": str(entry.folder),
        "runner": process_json(entry.runner),
        "machine": entry.machine,
        "created": entry.created,
        "kept": entry.kept,
        "homes": [str(home) for home in entry.homes],
    }


def _entry(document: dict[str, Any]) -> RunEntry:
    return RunEntry(
        run=str(document["run"]),
        folder=Path(document["folder"]),
        runner=process_from_json(document["runner"]),
        machine=str(document["machine"]),
        created=str(document["created"]),
        tool=str(document["tool"]),
        kept=bool(document["kept"]),
        homes=tuple(Path(home) for home in document["homes"]),
    )
