"""Runs with processes on this machine, as a list, and their removal."""

import asyncio
import json
import sys
from difflib import get_close_matches

from rich.text import Text

from scaletest.profile import Problem, ProfileError
from scaletest.world.kwok.runs import RunEntry, RunState, destroy_run, registered_runs
from scaletest_runner.terminal import out, plain_table, warn

__all__ = ["destroy_runs", "show_runs"]


def show_runs(*, as_json: bool) -> None:
    """Print every registered run with what has become of it."""
    entries = _entries()
    if as_json:
        sys.stdout.write(json.dumps([_document(entry) for entry in entries], indent=2) + "\n")
        return
    if not entries:
        out().print("no run has clusters on this machine")
        return
    table = plain_table("run", "state", "since", "clusters and servers", "folder")
    for entry in entries:
        homes = ", ".join(home.name for home in entry.homes) or "none"
        table.add_row(entry.run, entry.state().value, entry.created, Text(homes), Text(str(entry.folder)))
    out().print(table)


def destroy_runs(run: str | None, *, kept_too: bool) -> None:
    """Destroy one run, or all that were left behind (and those that were kept), and say which."""
    entries = _entries()
    if run is not None:
        chosen = [_named(run, entries)]
    else:
        states = {RunState.LEFT, RunState.KEPT} if kept_too else {RunState.LEFT}
        chosen = [entry for entry in entries if entry.state() in states]
    for entry in chosen:
        asyncio.run(destroy_run(entry))
        out().print(Text(f"destroyed {entry.run}; its logs and evidence are in {entry.folder}"))
    if not chosen:
        out().print("nothing was left behind")


def _named(run: str, entries: list[RunEntry]) -> RunEntry:
    named = {entry.run: entry for entry in entries}
    if run not in named:
        near = get_close_matches(run, named, n=1)
        hint = f"did you mean {near[0]}?" if near else "see `scaletest clusters list`"
        raise ProfileError([Problem(run, 0, 0, "", "there is no run of this name on this machine", hint)])
    if named[run].state() is RunState.LIVE:
        hint = f"end it first: its runner is process {named[run].runner.pid}"
        raise ProfileError([Problem(run, 0, 0, "", "this run is live", hint)])
    return named[run]


def _entries() -> list[RunEntry]:
    entries, odd = registered_runs()
    for path in odd:
        warn().print(Text(f"{path} cannot be read; look at it, then remove it"))
    return entries


def _document(entry: RunEntry) -> dict[str, object]:
    return {
        "run": entry.run,
        "state": entry.state().value,
        "created": entry.created,
        "folder": str(entry.folder),
        "homes": [str(home) for home in entry.homes],
        "runnerPid": entry.runner.pid,
    }
