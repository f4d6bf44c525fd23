"""`scaletest clusters` as a user runs it, on runs whose processes are sleepers of this test."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from scaletest.world.kwok.errors import GroundError
from scaletest.world.kwok.homes import HomeKind
from scaletest.world.kwok.processes import ProcessId, identify
from scaletest.world.kwok.runs import register_run, runs_folder
from scaletest_runner.exits import Exit
from scaletest_runner.failures import reported

_SCALETEST = Path(sys.executable).with_name("scaletest")
_Left = Callable[..., ProcessId]


@pytest.fixture
def left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[_Left]:
    """Return what registers a run with one process, and makes its runner one that is gone unless it is to be live."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with ExitStack() as stack:

        def leave(name: str, *, kept: bool = False, live: bool = False) -> ProcessId:
            child = stack.enter_context(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]))
            stack.callback(child.kill)
            process = identify(child.pid)
            assert process is not None
            run = register_run(name, tmp_path / name)
            run.claim(tmp_path / name / "clusters" / "c1", HomeKind.CLUSTER)
            run.note(tmp_path / name / "clusters" / "c1", HomeKind.CLUSTER, {"etcd": process})
            if kept:
                run.keep()
            if not live:
                path = runs_folder() / f"{name}.json"
                document = json.loads(path.read_bytes())
                document["runner"]["startedTicks"] -= 1
                path.write_text(json.dumps(document), encoding="utf-8")
            return process

        yield leave


def _clusters(*argv: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [_SCALETEST, "clusters", *argv],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        stdin=subprocess.DEVNULL,
    )


def test_runs_are_listed_with_what_became_of_them(left: _Left, tmp_path: Path) -> None:
    left("a-live", live=True)
    left("b-kept", kept=True)
    left("c-left")

    table, listed = _clusters("list"), json.loads(_clusters("list", "--json").stdout)

    assert [(each["run"], each["state"]) for each in listed] == [
        ("a-live", "live"),
        ("b-kept", "kept"),
        ("c-left", "left behind"),
    ]
    assert listed[2]["folder"] == str(tmp_path / "c-left")
    assert table.stdout.splitlines()[3].split()[:3] == ["c-left", "left", "behind"]


def test_without_a_name_only_what_was_left_behind_is_destroyed(left: _Left) -> None:
    live, kept, lost = left("a-live", live=True), left("b-kept", kept=True), left("c-left")

    done = _clusters("destroy")

    assert (done.returncode, done.stdout.startswith("destroyed c-left;")) == (0, True)
    assert (live.alive(), kept.alive(), lost.alive()) == (True, True, False)
    assert _clusters("destroy").stdout == "nothing was left behind\n"


def test_all_means_kept_runs_too_but_never_a_live_one(left: _Left) -> None:
    live, kept, lost = left("a-live", live=True), left("b-kept", kept=True), left("c-left")

    assert _clusters("destroy", "--all").returncode == 0

    assert (live.alive(), kept.alive(), lost.alive()) == (True, False, False)


def test_a_named_run_is_destroyed_alone(left: _Left) -> None:
    kept, lost = left("b-kept", kept=True), left("c-left")

    assert _clusters("destroy", "b-kept").returncode == 0

    assert (kept.alive(), lost.alive()) == (False, True)


def test_a_live_run_and_a_misspelt_one_are_refused(left: _Left) -> None:
    live = left("a-live", live=True)

    refused, unknown = _clusters("destroy", "a-live"), _clusters("destroy", "a-liv")

    assert (refused.returncode, unknown.returncode) == (2, 2)
    assert "this run is live" in refused.stderr
    assert "did you mean a-live?" in unknown.stderr
    assert live.alive()
    assert _clusters("destroy", "a-live", "--all").returncode == 2


def test_a_note_that_cannot_be_read_is_named(left: _Left) -> None:
    left("c-left")
    (runs_folder() / "odd.json").write_text("{", encoding="utf-8")

    done = _clusters("list")

    assert done.returncode == 0
    assert "c-left" in done.stdout
    assert "odd.json cannot be read" in done.stderr


def test_trouble_with_the_ground_is_exit_4(capsys: pytest.CaptureFixture[str]) -> None:
    def fail() -> None:
        raise GroundError(
            "cluster c1 did not come up", why="etcd ended\n  etcd: \x1b[31mno space", remedy="see the logs"
        )

    assert reported(fail) == Exit.ENVIRONMENT

    expected = "scaletest: cluster c1 did not come up: etcd ended\n  etcd: \\x1b[31mno space\n  see the logs\n"
    assert capsys.readouterr().err == expected
