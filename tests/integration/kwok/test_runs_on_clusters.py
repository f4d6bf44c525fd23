"""Whole runs on a real cluster: to the verdict, and to every other end."""

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from scaletest.world.kwok.processes import processes_naming
from scaletest.world.kwok.runs import RunState, registered_runs

pytestmark = [pytest.mark.real, pytest.mark.timeout(600)]

_SCALETEST = Path(sys.executable).with_name("scaletest")
_PROGRAMS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok-controller", "prometheus")
_SHORT = ("loadProfile.soakSeconds=16", "loadProfile.settleSeconds=6", "slo.internalBindingLatencyP99Seconds=9",
          "slo.endToEndPodBindP50Seconds=9")  # fmt: skip
_PYTHON = Path(sys.executable).name
_PATIENCE_S = 240.0

Started = Callable[..., "Run"]


class Run:
    """A run that goes on beside the test."""

    def __init__(self, base: Path, toolchain: Path, settings: tuple[str, ...]) -> None:
        self.base = base
        options = [each for setting in settings for each in ("--set", setting)]
        self.log = base / "out.txt"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [_SCALETEST, "run", "smoke", "--substrate", "kwok", "--out", base / "runs", *options],
                stdout=log,
                stderr=log,
                env={**os.environ, "SCALETEST_TOOLCHAIN": str(toolchain), "COLUMNS": "160"},
            )

    @property
    def text(self) -> str:
        return self.log.read_text(encoding="utf-8")

    @property
    def folder(self) -> Path:
        (found,) = (self.base / "runs" / "smoke").iterdir()
        return found

    def wait_for(self, phase: str) -> None:
        """Wait until the run has come to a phase."""
        deadline = time.monotonic() + _PATIENCE_S
        while f"  {phase} " not in self.text:
            assert self.process.poll() is None, self.text
            assert time.monotonic() < deadline, self.text
            time.sleep(0.1)

    def ends(self) -> int:
        """Return the exit code."""
        return self.process.wait(_PATIENCE_S)

    def left(self) -> list[int]:
        """Return the processes of the run that are still there."""
        return [each.pid for each in processes_naming(self.folder, [*_PROGRAMS, _PYTHON])]


@pytest.fixture
def started(register: Path, toolchain: Path, tmp_path: Path) -> Iterator[Started]:
    """Start runs of which nothing is left after the test."""
    assert register.is_dir()
    runs: list[Run] = []

    def start(*settings: str) -> Run:
        runs.append(Run(tmp_path, toolchain, settings or _SHORT))
        return runs[-1]

    yield start
    for run in runs:
        if run.process.poll() is None:
            run.process.terminate()
            run.process.wait(60)
    subprocess.run([_SCALETEST, "clusters", "destroy", "--all"], check=False, timeout=60)


def _rows(run: Run) -> list[dict[str, object]]:
    text = gzip.decompress((run.folder / "evidence" / "requests.jsonl.gz").read_bytes())
    return [json.loads(line) for line in text.splitlines()[1:]]


def test_a_run_comes_to_its_verdict_and_leaves_nothing_behind(started: Started) -> None:
    run = started()

    assert run.ends() == 0, run.text
    verdict = json.loads((run.folder / "verdict.json").read_text(encoding="utf-8"))
    assert verdict["outcome"] == "PASS", run.text
    assert not [gate for gate in verdict["gates"] if gate["outcome"] == "UNMEASURED"], run.text
    planned = json.loads((run.folder / "plan.json").read_text(encoding="utf-8"))["load"]["plannedReplacements"]
    assert len([row for row in _rows(run) if row]) >= planned
    assert run.left() == []
    assert not registered_runs()[0]
    # Keys and databases of clusters go with them; what was observed stays.
    assert not list(run.folder.rglob("*.key"))


def test_a_component_that_dies_ends_the_run_and_is_named(started: Started) -> None:
    run = started("loadProfile.soakSeconds=120", "loadProfile.settleSeconds=60")
    run.wait_for("soak")
    (scheduler,) = processes_naming(run.folder, ["kube-scheduler"])
    scheduler.send(signal.SIGKILL)

    assert run.ends() == 3, run.text
    assert "kube-scheduler died" in run.text
    record = json.loads((run.folder / "run.json").read_text(encoding="utf-8"))
    assert record["sealed"]
    assert [part["name"] for part in record["components"] if part["died_us"] is not None] == [
        "cluster-0000/kube-scheduler"
    ]
    assert run.left() == []
    assert (run.folder / "logs" / "cluster-0000").is_dir()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_run_that_is_interrupted_keeps_what_it_saw_and_ends_its_processes(
    started: Started, number: signal.Signals, code: int
) -> None:
    run = started("loadProfile.soakSeconds=120", "loadProfile.settleSeconds=60")
    run.wait_for("soak")
    time.sleep(5)
    run.process.send_signal(number)

    assert run.ends() == code, run.text
    record = json.loads((run.folder / "run.json").read_text(encoding="utf-8"))
    assert record["sealed"]
    assert record["phases"][-1]["outcome"] == "interrupted"
    assert _rows(run)
    assert run.left() == []


def test_what_a_killed_runner_leaves_is_found_and_destroyed(started: Started) -> None:
    run = started("loadProfile.soakSeconds=120", "loadProfile.settleSeconds=60")
    run.wait_for("soak")
    run.process.kill()
    run.process.wait()

    (entry,) = registered_runs()[0]
    assert entry.state() is RunState.LEFT
    subprocess.run([_SCALETEST, "clusters", "destroy"], check=True, timeout=120)
    # Driver and engine have noticed by themselves that nobody is above them.
    deadline = time.monotonic() + 30
    while run.left() and time.monotonic() < deadline:
        time.sleep(0.2)
    assert run.left() == []
    assert not registered_runs()[0]


def test_an_engine_that_dies_fails_the_run(started: Started) -> None:
    run = started("loadProfile.soakSeconds=120", "loadProfile.settleSeconds=60")
    run.wait_for("soak")
    ours = processes_naming(run.folder, [_PYTHON])
    (engine,) = (each for each in ours if any("engine_process" in part for part in each.argv()))
    engine.send(signal.SIGKILL)

    assert run.ends() in {1, 3}, run.text
    assert "the engine ended by itself" in run.text
    assert run.left() == []
