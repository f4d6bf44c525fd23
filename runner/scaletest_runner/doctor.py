"""Whether real control planes can run on this machine: a list of checks, on one screen."""

import platform
import resource
import shutil
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from rich.text import Text

from scaletest.world.kwok.toolchain import GoMissing, Places, Search, find_go, survey
from scaletest_runner.exits import Exit
from scaletest_runner.inputs import host_size
from scaletest_runner.terminal import out, plain_table
from scaletest_runner.toolchains import INSTALL, remarks, where

__all__ = ["Check", "State", "examine"]

_GIB: Final = 1024**3
_CORES_MIN: Final = 2
# Two clusters of dev-50 with their Prometheus take about 2.5 GiB.
_MEMORY_MIN: Final = 4 * _GIB
_RUN_DISK_MIN: Final = 2 * _GIB
# Go keeps the modules (2.6 GB) and what it compiled (6.2 GB).
_BUILD_DISK_MIN: Final = 10 * _GIB
_FILES_MIN: Final = 4096
# A control plane listens on about eight; a handful of them must fit.
_PORTS: Final = 64
_BROWSERS: Final = ("chromium", "chromium-browser", "google-chrome")


class State(StrEnum):
    """What a check came to."""

    OK = "ok"
    LOW = "low"
    """Runs are possible, if small."""
    ABSENT = "absent"
    """And not needed."""
    MISSING = "missing"
    """No run is possible."""


_STYLES: Final = {State.OK: "green", State.LOW: "yellow", State.ABSENT: "dim", State.MISSING: "bold red"}


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at."""

    what: str
    state: State
    found: str
    remark: str = ""


def examine(folder: Path | None) -> int:
    """Print every check and what to do; return the exit code."""
    places = Places.of(folder)
    searches = survey(places)
    complete = all(search.supply for search in searches)
    checks = [
        *_machine(places, building=not complete),
        _go(places, needed=not complete),
        *_programs(searches),
        _browser(),
    ]
    console = out()
    table = plain_table("", "state", "found", "remark")
    for check in checks:
        state = Text(check.state, style=_STYLES[check.state])
        table.add_row(check.what, state, Text(check.found), Text(check.remark, style="dim"))
    console.print(table)
    for line in remarks(searches):
        console.print(Text(line, style="dim"), soft_wrap=True)
    missing = [check.what for check in checks if check.state is State.MISSING]
    if not missing:
        console.print("\nRuns on real control planes are possible here.")
        return Exit.PASS
    console.print(f"\nRuns on real control planes are not possible here: {', '.join(missing)}.", markup=False)
    console.print(_fix(missing), markup=False)
    return Exit.ENVIRONMENT


def _fix(missing: list[str]) -> str:
    if "loopback" in missing:
        return "Allow this process to listen on 127.0.0.1."
    if "Go" in missing:
        return f"Install Go 1.26 or newer, then run: {INSTALL}"
    return f"To fix it: {INSTALL}"


def _machine(places: Places, *, building: bool) -> Iterator[Check]:
    host = host_size()
    yield Check("Python", State.OK, platform.python_version())
    yield _enough("cores", host.vcpu, _CORES_MIN, str(host.vcpu), f"at least {_CORES_MIN}")
    yield _enough("memory", host.memory_bytes, _MEMORY_MIN, _gib(host.memory_bytes), f"at least {_gib(_MEMORY_MIN)}")
    free, needed = _free(places.cache), _BUILD_DISK_MIN if building else _RUN_DISK_MIN
    yield _enough("disk", free, needed, f"{_gib(free)} free", f"at least {_gib(needed)}; {places.cache}")
    yield _open_files()
    yield _loopback()


def _enough(what: str, have: int, needed: int, found: str, remark: str) -> Check:
    return Check(what, State.OK if have >= needed else State.LOW, found, remark)


def _free(path: Path) -> int:
    there = next(folder for folder in (path, *path.parents) if folder.is_dir())
    return shutil.disk_usage(there).free


def _gib(amount: int) -> str:
    return f"{amount / _GIB:,.0f} GiB"


def _open_files() -> Check:
    # Programs written in Go raise their own limit to the hard one when they start.
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = 2**63 if hard == resource.RLIM_INFINITY else hard
    shown = " / ".join("unlimited" if limit == resource.RLIM_INFINITY else f"{limit:,}" for limit in (soft, hard))
    return _enough("open files", most, _FILES_MIN, shown, f"soft / hard limit; hard at least {_FILES_MIN:,}")


def _loopback() -> Check:
    try:
        with ExitStack() as stack:
            for _ in range(_PORTS):
                stack.enter_context(socket.create_server(("127.0.0.1", 0)))
    except OSError as error:
        return Check("loopback", State.MISSING, error.strerror or str(error), f"{_PORTS} free ports of 127.0.0.1")
    return Check("loopback", State.OK, f"{_PORTS} free ports", "127.0.0.1; nothing listens anywhere else")


def _go(places: Places, *, needed: bool) -> Check:
    try:
        go = find_go(places.path)
    except GoMissing as error:
        state = State.MISSING if needed else State.ABSENT
        return Check("Go", state, "-", error.why if needed else "only needed to build programs")
    return Check("Go", State.OK, go.version.removeprefix("go"), str(go.path))


def _programs(searches: tuple[Search, ...]) -> Iterator[Check]:
    for search in searches:
        for name in search.family.names:
            version, path = where(search, name)
            if search.supply:
                yield Check(name, State.OK, version, f"{search.supply.source}: {path}")
            else:
                yield Check(name, State.MISSING, version, f"needs {search.family.rule}")


def _browser() -> Check:
    found = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if found is None:
        return Check("Chromium", State.ABSENT, "-", "only needed to test reports")
    return Check("Chromium", State.OK, Path(found).name, found)
