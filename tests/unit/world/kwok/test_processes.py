"""Processes by pid and start time: ended when they should be, and never mistaken for another."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from scaletest.world.kwok.listeners import Listener, listeners, open_to_others
from scaletest.world.kwok.ports import PortPool
from scaletest.world.kwok.processes import (
    ProcessId,
    end_processes,
    flags_of,
    identify,
    own_process,
    processes_naming,
)

_Started = Callable[..., ProcessId]
_STUBBORN = (
    "import signal, sys, time; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
    "sys.stdout.write('x'); sys.stdout.flush(); time.sleep(60)"
)


@pytest.fixture
def started() -> Iterator[_Started]:
    """Return what starts a child that sleeps; all are killed after the test."""
    with ExitStack() as stack:

        def start(code: str = "import time; time.sleep(60)", *argv: str, name: str = "") -> ProcessId:
            child = stack.enter_context(
                subprocess.Popen([name or sys.executable, "-c", code, *argv], executable=sys.executable, stdout=-1)
            )
            stack.callback(child.kill)
            if "stdout" in code:
                assert child.stdout is not None
                child.stdout.read(1)
            process = identify(child.pid)
            assert process is not None
            return process

        yield start


def test_a_process_is_alive_until_it_has_ended_even_if_nobody_reaps_it(started: _Started) -> None:
    process = started()
    assert process.alive()

    process.send(signal.SIGKILL)

    _wait(lambda: not process.alive())
    assert Path(f"/proc/{process.pid}/stat").exists()  # a zombie: its parent, this test, has not looked
    assert not process.send(signal.SIGKILL)
    assert process.cost() is None


def test_a_number_used_again_is_another_process(started: _Started) -> None:
    process = started()
    earlier = replace(process, started_ticks=process.started_ticks - 1)

    assert not earlier.alive()
    assert not earlier.send(signal.SIGKILL)
    assert earlier.cost() is None
    assert process.alive()


def test_a_number_of_nobody_is_no_process() -> None:
    assert identify(2**22 + 1) is None
    assert not ProcessId(2**22 + 1, 1).send(signal.SIGTERM)


def test_a_stopped_process_is_alive_and_can_be_ended(started: _Started) -> None:
    process = started()
    process.send(signal.SIGSTOP)
    _wait(lambda: _state(process) == "T")
    assert process.alive()

    assert asyncio.run(end_processes([process], patience_s=10)) == []

    assert not process.alive()


def test_a_process_that_ignores_the_request_is_killed(started: _Started) -> None:
    process = started(_STUBBORN)

    assert asyncio.run(end_processes([process], patience_s=0.2)) == []

    assert not process.alive()


def test_the_cost_of_a_process_grows_with_its_work() -> None:
    before = own_process().cost()
    ended = time.process_time() + 0.1
    while time.process_time() < ended:
        pass
    after = own_process().cost()

    assert before is not None
    assert after is not None
    assert after.cpu_us - before.cpu_us >= 80_000
    assert after.rss_bytes > 5_000_000


def test_only_the_named_programs_that_name_the_folder_are_found(started: _Started, tmp_path: Path) -> None:
    home = tmp_path / "c1"
    wanted = started("import time; time.sleep(60)", f"--data-dir={home}/etcd", name="/somewhere/etcd")
    started("import time; time.sleep(60)", f"--data-dir={home}-2/etcd", name="/somewhere/etcd")  # a neighbour
    started("import time; time.sleep(60)", f"--data-dir={home}/etcd", name="/somewhere/vim")  # somebody who looks
    started("import time; time.sleep(60)", name="/somewhere/etcd")  # somebody else's

    assert processes_naming(home, ("etcd", "kwokctl")) == [wanted]


def test_flags_are_read_as_the_programs_read_them() -> None:
    argv = ("prog", "--a=1", "--b", "word", "--a=2", "--c=x=y")

    assert flags_of(argv) == {"a": "2", "b": "", "c": "x=y"}


def test_listeners_are_found_with_their_address() -> None:
    with socket.create_server(("127.0.0.1", 0)) as near, socket.create_server(("", 0)) as far:
        ports = [server.getsockname()[1] for server in (near, far)]
        found = [each for each in listeners([os.getpid()]) if each.port in ports]

    assert {each.port: each.host for each in found} == {ports[0]: "127.0.0.1", ports[1]: "0.0.0.0"}  # noqa: S104
    assert open_to_others(found) == [Listener(os.getpid(), "0.0.0.0", ports[1])]  # noqa: S104


def test_ports_are_free_and_handed_out_once() -> None:
    pool = PortPool()
    (first,) = pool.take(1)
    with socket.create_server(("127.0.0.1", first + 1)):
        ports = pool.take(6)

    assert len({first, *ports}) == 7
    assert first + 1 not in ports
    ephemeral = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text(encoding="ascii").split()[0])
    assert max(ports) < ephemeral


def _wait(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def _state(process: ProcessId) -> str:
    return Path(f"/proc/{process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
