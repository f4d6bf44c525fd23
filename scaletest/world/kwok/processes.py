"""Processes of this machine, known by pid and start time: a number that was used again is never mistaken.

Everything is read from /proc, costs microseconds, and needs no relation to the process: clusters outlive whoever made
them, and are ended by somebody else.
"""

import asyncio
import os
import signal
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Final

__all__ = [
    "Cost",
    "ProcessId",
    "end_processes",
    "flags_of",
    "identify",
    "machine_identity",
    "own_process",
    "processes_naming",
]

_PROC: Final = Path("/proc")
_GONE_STATES: Final = frozenset("ZX")
"""A zombie has ended: whether anybody reaps it is the machine's business."""
_TICKS_PER_SECOND: Final = os.sysconf("SC_CLK_TCK")
_PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")
_POLL_S: Final = 0.05
_KILL_PATIENCE_S: Final = 10.0


@dataclass(frozen=True, slots=True)
class Cost:
    """What a process has cost so far."""

    cpu_us: int
    rss_bytes: int


@dataclass(frozen=True, slots=True, order=True)
class ProcessId:
    """One process: its number, and the clock tick since boot at which it was started."""

    pid: int
    started_ticks: int

    def alive(self) -> bool:
        """Return whether this very process still runs (or is stopped)."""
        return identify(self.pid) == self

    def send(self, number: signal.Signals) -> bool:
        """Send a signal to this very process; return False when it is gone."""
        try:
            handle = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return False
        try:
            # The handle holds one process: if that is ours now, the signal cannot reach another one later.
            if not self.alive():
                return False
            signal.pidfd_send_signal(handle, number)
        except ProcessLookupError:
            return False
        finally:
            os.close(handle)
        return True

    def cost(self) -> Cost | None:
        """Return CPU time and memory, or None when the process is gone."""
        fields = _stat(self.pid)
        if fields is None or fields[0] in _GONE_STATES or int(fields[19]) != self.started_ticks:
            return None
        ticks = int(fields[11]) + int(fields[12])
        return Cost(ticks * 1_000_000 // _TICKS_PER_SECOND, int(fields[21]) * _PAGE_BYTES)

    def argv(self) -> tuple[str, ...]:
        """Return the command line; empty when the process is gone."""
        argv = _argv(self.pid)
        return argv if self.alive() else ()


def identify(pid: int) -> ProcessId | None:
    """Return the process that has this number now, or None."""
    fields = _stat(pid)
    if fields is None or fields[0] in _GONE_STATES:
        return None
    return ProcessId(pid, int(fields[19]))


def own_process() -> ProcessId:
    """Return the process that asks."""
    process = identify(os.getpid())
    assert process is not None
    return process


def machine_identity() -> str:
    """Return what makes pids comparable: the boot of this machine, and the namespace that counts its processes."""
    boot = (_PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return f"{boot} {(_PROC / 'self/ns/pid').readlink()}"


def processes_naming(folder: Path, programs: Iterable[str]) -> list[ProcessId]:
    """Return our processes of the given programs whose command line names a path inside the folder, in pid order."""
    inside, wanted = f"{folder}/", frozenset(programs)
    found = []
    for entry in _PROC.iterdir():
        if not entry.name.isdecimal() or not _is_mine(entry):
            continue
        process, argv = identify(int(entry.name)), _argv(int(entry.name))
        named = bool(argv) and Path(argv[0]).name in wanted and any(inside in part for part in argv)
        if process is not None and named and process.alive():
            found.append(process)
    return sorted(found)


async def end_processes(processes: Iterable[ProcessId], *, patience_s: float) -> list[ProcessId]:
    """Terminate, wait, then kill; return what is still there, which is nothing unless the machine is in trouble."""
    left = [process for process in processes if process.send(signal.SIGTERM)]
    for process in left:
        process.send(signal.SIGCONT)  # a stopped process would not see that it is to end
    left = await _wait_gone(left, patience_s)
    for process in left:
        process.send(signal.SIGKILL)
    return await _wait_gone(left, _KILL_PATIENCE_S)


async def _wait_gone(processes: list[ProcessId], patience_s: float) -> list[ProcessId]:
    deadline = monotonic() + patience_s
    left = [process for process in processes if process.alive()]
    while left and monotonic() < deadline:
        await asyncio.sleep(_POLL_S)  # not our children: nobody tells us when they end
        left = [process for process in left if process.alive()]
    return left


def _stat(pid: int) -> list[str] | None:
    """Return the fields of /proc/PID/stat from the third (the state) on; the name before may hold anything."""
    try:
        content = (_PROC / str(pid) / "stat").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return content.rpartition(b")")[2].decode("ascii").split()


def _argv(pid: int) -> tuple[str, ...]:
    try:
        content = (_PROC / str(pid) / "cmdline").read_bytes()
    except OSError:
        return ()
    return (
        tuple(part.decode("utf-8", "replace") for part in content.removesuffix(b"\0").split(b"\0")) if content else ()
    )


def _is_mine(entry: Path) -> bool:
    try:
        return entry.stat().st_uid == os.getuid()
    except OSError:
        return False


def flags_of(argv: tuple[str, ...]) -> Mapping[str, str]:
    """Return the flags of a command line (`--name=value`), of each name the last, as the programs read it."""
    pairs = (part[2:].partition("=") for part in argv[1:] if part.startswith("--"))
    return {name: value for name, _, value in pairs}
