"""The programs of a real control plane on a terminal: what is there, and how building the rest gets on."""

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from signal import Signals
from typing import Final, Self

from rich.console import Console
from rich.live import Live
from rich.text import Text

from scaletest.world.kwok.toolchain import (
    Moment,
    Places,
    Search,
    Step,
    Toolchain,
    find_toolchain,
    install_toolchain,
    survey,
)
from scaletest_runner.exits import Exit
from scaletest_runner.signals import ENDS, caught_signals
from scaletest_runner.terminal import out, plain_table, warn

__all__ = ["INSTALL", "install", "remarks", "show_path", "show_status", "where"]

INSTALL: Final = "scaletest toolchain install"
_LOG_EVERY_S: Final = 60.0


def show_path(folder: Path | None) -> None:
    """Print the folder of links to all programs."""
    sys.stdout.write(f"{find_toolchain(Places.of(folder)).folder}\n")


def show_status(folder: Path | None) -> int:
    """Print every program, and why sources were passed over; return the exit code."""
    places = Places.of(folder)
    searches = survey(places)
    console = out()
    table = plain_table("program", "version", "fits", "source", "where")
    for search in searches:
        for name in search.family.names:
            table.add_row(name, *_row(search, name), style="" if search.supply else "yellow")
    console.print(table)
    for line in remarks(searches):
        console.print(Text(line, style="dim"), soft_wrap=True)
    lacking = [search.family.name for search in searches if search.supply is None]
    if not lacking:
        console.print(f"All programs are there. Cache: {places.cache}", markup=False)
        return Exit.PASS
    console.print(f"Missing: {', '.join(lacking)}. To build them: {INSTALL}", markup=False)
    return Exit.ENVIRONMENT


def install(folder: Path | None) -> None:
    """Build what is missing, with progress, and say where everything is."""
    console = warn()
    began_s = time.monotonic()
    with caught_signals() as caught, _Building(console, caught) as building:
        toolchain = install_toolchain(Places.of(folder), building.tell)
    out().print(_installed(toolchain, building.built, time.monotonic() - began_s), markup=False, soft_wrap=True)


def where(search: Search, name: str) -> tuple[str, str]:
    """Return a program's version and path; two dashes if it is missing."""
    if search.supply is None:
        return "-", "-"
    return search.supply.versions[name], str(search.supply.paths[name])


def remarks(searches: tuple[Search, ...]) -> Iterator[str]:
    """Yield why sources were passed over that have something of a family."""
    for search in searches:
        if search.refused:
            yield f"{search.family.name}: {search.reason}"
    there = {search.family.name for search in searches if search.supply}
    if "kwok" in there and not {"kubernetes", "etcd"} <= there:
        yield (
            "kwokctl is there and could download the rest of a control plane by itself; scaletest does not let it: "
            "what is measured depends on versions, which must be known and checked beforehand."
        )


def _row(search: Search, name: str) -> tuple[Text, ...]:
    version, path = where(search, name)
    source = search.supply.source if search.supply else "missing"
    return tuple(Text(cell) for cell in (version, search.family.rule, source, path))


def _installed(toolchain: Toolchain, built: int, elapsed_s: float) -> str:
    done = f"{built} programs built in {_duration(elapsed_s)}" if built else "nothing to build"
    return f"{done}; all {len(toolchain.binaries)} programs are in {toolchain.folder}"


class _Building:
    """Shows which program is being built: a line that changes on a terminal, lines that follow each other in a log."""

    def __init__(self, console: Console, caught: list[Signals]) -> None:
        self._console, self._caught = console, caught
        self._live = Live(console=console, auto_refresh=False, transient=True) if console.is_terminal else None
        self._program, self._log_at_s = "", 0.0
        self._waiting = False
        self.built = 0

    def __enter__(self) -> Self:
        if self._live:
            self._live.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live:
            self._live.__exit__(None, None, None)

    def tell(self, step: Step) -> None:
        """Show a step; end the installation if a signal asked for it.

        Here and nowhere else: in the middle of starting Go it would leave compilers behind that nobody knows of.
        """
        if self._caught:
            sys.exit(ENDS[self._caught[0]])
        if step.moment is Moment.WAITING:
            if not self._waiting:
                self._console.print("another process is installing programs; waiting for it")
            self._waiting = True
            return
        head = f"{step.program} ({step.position} of {step.programs})"
        if step.moment is Moment.BUILT:
            self.built += 1
            self._console.print(f"{head} built in {_duration(step.elapsed_s)}", markup=False)
        elif self._live:
            self._live.update(Text(f"building {head}  {_duration(step.elapsed_s)}"), refresh=True)
        elif step.program != self._program:
            self._program, self._log_at_s = step.program, _LOG_EVERY_S
            self._console.print(f"building {head}", markup=False)
        elif step.elapsed_s >= self._log_at_s:
            self._log_at_s += _LOG_EVERY_S
            self._console.print(f"building {head}, {_duration(step.elapsed_s)} so far", markup=False)


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02} s" if minutes else f"{rest} s"
