"""Runs in the register: who is live, who left something behind, and what is touched when that is removed."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scaletest.world.kwok.errors import GroundError
from scaletest.world.kwok.homes import MARKER, HomeKind, read_marker
from scaletest.world.kwok.processes import ProcessId, identify
from scaletest.world.kwok.runs import (
    LiveRun,
    RunState,
    destroy_leftovers,
    destroy_run,
    leftovers,
    register_run,
    registered_runs,
    runs_folder,
)

_Sleeper = Callable[..., ProcessId]


@pytest.fixture(autouse=True)
def _own_register(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def sleeper() -> Iterator[_Sleeper]:
    """Return what starts a child that sleeps under a name of our choice; all are killed after the test."""
    with ExitStack() as stack:

        def start(name: str = "sleeper", *argv: str) -> ProcessId:
            command = [name, "-c", "import time; time.sleep(60)", *argv]
            child = stack.enter_context(subprocess.Popen(command, executable=sys.executable))
            stack.callback(child.kill)
            process = identify(child.pid)
            assert process is not None
            return process

        yield start


def _orphaned(run: LiveRun, **changes: Any) -> None:
    """Make the register say that the run's runner was a process that is gone."""
    path = runs_folder() / f"{run.entry.run}.json"
    document = json.loads(path.read_bytes())
    document["runner"]["startedTicks"] -= 1  # the number is in use, by a process that began later
    path.write_text(json.dumps({**document, **changes}), encoding="utf-8")


def _with_cluster(run: LiveRun, processes: dict[str, ProcessId], name: str = "c1") -> Path:
    home = run.folder / "clusters" / name
    run.claim(home, HomeKind.CLUSTER)
    (home / "logs").mkdir()
    (home / "logs" / "etcd.log").write_text("it said this\n", encoding="utf-8")
    run.note(home, HomeKind.CLUSTER, processes)
    return home


def test_a_registered_run_is_live_while_its_runner_lives(tmp_path: Path) -> None:
    run = register_run("dev-50-1", tmp_path / "run")

    (entry,), odd = registered_runs()
    assert entry == run.entry
    assert entry.state() is RunState.LIVE
    assert odd == []
    assert leftovers() == []


def test_the_register_is_for_its_user_alone(tmp_path: Path) -> None:
    run = register_run("dev-50-1", tmp_path / "run")
    home = _with_cluster(run, {})

    assert runs_folder() == tmp_path / "state" / "scaletest" / "runs"
    assert runs_folder().stat().st_mode & 0o777 == 0o700
    assert (runs_folder() / "dev-50-1.json").stat().st_mode & 0o777 == 0o600
    assert home.stat().st_mode & 0o777 == 0o700
    assert (home / MARKER).stat().st_mode & 0o777 == 0o600


def test_a_marker_says_whose_the_home_is(tmp_path: Path, sleeper: _Sleeper) -> None:
    run, process = register_run("dev-50-1", tmp_path / "run"), sleeper()
    home = _with_cluster(run, {"etcd": process})

    written = json.loads((home / MARKER).read_bytes())
    assert written["tool"].startswith("scaletest ")
    assert written["run"] == "dev-50-1"
    assert written["folder"] == str(tmp_path / "run")
    assert written["runner"] == {"pid": run.entry.runner.pid, "startedTicks": run.entry.runner.started_ticks}
    marker = read_marker(home)
    assert marker is not None
    assert marker.processes == {"etcd": process}


def test_a_name_in_use_is_refused(tmp_path: Path) -> None:
    register_run("dev-50-1", tmp_path / "run")

    with pytest.raises(GroundError, match="scaletest clusters destroy dev-50-1"):
        register_run("dev-50-1", tmp_path / "other")


@pytest.mark.parametrize("name", ["", "../x", ".hidden", "a/b"])
def test_a_name_that_leaves_the_register_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="cannot name a run"):
        register_run(name, tmp_path)


def test_what_a_dead_runner_left_is_found_and_removed(tmp_path: Path, sleeper: _Sleeper) -> None:
    run = register_run("dev-50-1", tmp_path / "run")
    noted = sleeper()
    home = _with_cluster(run, {"kube-scheduler": noted})
    never_noted = sleeper("etcd", f"--data-dir={home}/etcd")
    (run.folder / "evidence").mkdir()
    _orphaned(run)

    assert [entry.run for entry in leftovers()] == ["dev-50-1"]
    assert [entry.run for entry in asyncio.run(destroy_leftovers())] == ["dev-50-1"]

    assert not noted.alive()
    assert not never_noted.alive()
    assert not home.exists()
    assert (run.folder / "logs" / "c1" / "etcd.log").read_text(encoding="utf-8") == "it said this\n"
    assert (run.folder / "evidence").is_dir()
    assert registered_runs() == ([], [])


def test_a_live_run_is_left_alone(tmp_path: Path, sleeper: _Sleeper) -> None:
    process = sleeper()
    home = _with_cluster(register_run("dev-50-1", tmp_path / "run"), {"etcd": process})

    assert asyncio.run(destroy_leftovers()) == []
    with pytest.raises(AssertionError):
        asyncio.run(destroy_run(registered_runs()[0][0]))

    assert process.alive()
    assert home.is_dir()


def test_a_kept_run_is_removed_only_on_demand(tmp_path: Path, sleeper: _Sleeper) -> None:
    run, process = register_run("dev-50-1", tmp_path / "run"), sleeper()
    _with_cluster(run, {"etcd": process})
    run.keep()
    run.end()
    _orphaned(run)

    assert asyncio.run(destroy_leftovers()) == []
    ((kept,), _) = registered_runs()
    assert kept.state() is RunState.KEPT
    assert process.alive()

    asyncio.run(destroy_run(kept))
    assert not process.alive()


def test_a_process_whose_number_was_used_again_is_not_touched(tmp_path: Path, sleeper: _Sleeper) -> None:
    run, stranger = register_run("dev-50-1", tmp_path / "run"), sleeper()
    home = _with_cluster(run, {"etcd": replace(stranger, started_ticks=stranger.started_ticks - 1)})
    _orphaned(run)

    asyncio.run(destroy_leftovers())

    assert stranger.alive()
    assert not home.exists()


def test_processes_of_another_boot_are_not_looked_for_by_number(tmp_path: Path, sleeper: _Sleeper) -> None:
    run, stranger = register_run("dev-50-1", tmp_path / "run"), sleeper()
    run.entry = replace(run.entry, machine="another boot")
    home = _with_cluster(run, {"etcd": stranger})

    ((entry,), _) = registered_runs()
    assert entry.state() is RunState.ELSEWHERE
    assert leftovers() == []

    asyncio.run(destroy_run(entry))
    assert stranger.alive()
    assert not home.exists()


def test_a_folder_without_our_marker_is_not_removed(tmp_path: Path, sleeper: _Sleeper) -> None:
    run, process = register_run("dev-50-1", tmp_path / "run"), sleeper()
    ours, unmarked, of_another = (_with_cluster(run, {"etcd": process}, name) for name in ("c1", "c2", "c3"))
    (unmarked / MARKER).unlink()
    marker = json.loads((of_another / MARKER).read_bytes())
    (of_another / MARKER).write_text(json.dumps({**marker, "run": "another"}), encoding="utf-8")
    _orphaned(run)

    asyncio.run(destroy_leftovers())

    assert [home.exists() for home in (ours, unmarked, of_another)] == [False, True, True]


def test_processes_are_ended_even_if_somebody_removed_the_folder(tmp_path: Path, sleeper: _Sleeper) -> None:
    run = register_run("dev-50-1", tmp_path / "run")
    home = _with_cluster(run, {})
    process = sleeper("kube-apiserver", f"--tls-cert-file={home}/pki/admin.crt")
    for path in sorted(home.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    home.rmdir()
    _orphaned(run)

    asyncio.run(destroy_leftovers())

    assert not process.alive()
    assert registered_runs() == ([], [])


def test_what_a_server_wrote_stays_when_it_is_ended(tmp_path: Path, sleeper: _Sleeper) -> None:
    run, process = register_run("dev-50-1", tmp_path / "run"), sleeper()
    home = run.folder / "prometheus"
    run.claim(home, HomeKind.PROCESS)
    run.note(home, HomeKind.PROCESS, {"prometheus": process})
    (home / "data").mkdir()
    _orphaned(run)

    asyncio.run(destroy_leftovers())

    assert not process.alive()
    assert (home / "data").is_dir()


def test_an_ended_run_is_forgotten_only_when_nothing_lives_in_its_homes(tmp_path: Path) -> None:
    run = register_run("dev-50-1", tmp_path / "run")
    home = _with_cluster(run, {})

    run.end()
    assert len(registered_runs()[0]) == 1

    run.release(home)
    run.end()
    assert registered_runs() == ([], [])


def test_a_note_that_cannot_be_read_is_named_and_hides_nothing(tmp_path: Path) -> None:
    register_run("dev-50-1", tmp_path / "run")
    odd = runs_folder() / "odd.json"
    odd.write_text('{"run": 1}', encoding="utf-8")

    entries, unread = registered_runs()

    assert [entry.run for entry in entries] == ["dev-50-1"]
    assert unread == [odd]
