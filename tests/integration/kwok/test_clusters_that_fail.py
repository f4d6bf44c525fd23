"""A cluster that does not come up says why, and leaves nothing but its logs. kwokctl is a script of ours here."""

import asyncio
from pathlib import Path

import pytest

from scaletest.world.kwok.clusters import create_cluster
from scaletest.world.kwok.errors import GroundError
from scaletest.world.kwok.kwokctl import PROGRAMS
from scaletest.world.kwok.processes import identify
from scaletest.world.kwok.runs import LiveRun, registered_runs

_COMPONENT = """#!/bin/sh
# A component that says one thing and lives on, or not.
echo 'I1116 10:00:00.000000 1 main.go:1] starting'
exec sleep 60
"""


def _binaries(folder: Path, kwokctl: str) -> Path:
    folder.mkdir()
    scripts = {"kwokctl": f"#!/bin/sh\n{kwokctl}", "kube-apiserver": "#!/bin/sh\necho Kubernetes v1.36.4\n"}
    for name in PROGRAMS:
        (folder / name).write_text(scripts.get(name, _COMPONENT), encoding="utf-8")
        (folder / name).chmod(0o755)
    return folder


def _failure(run: LiveRun, binaries: Path, *, patience_s: float = 30) -> GroundError:
    with pytest.raises(GroundError) as caught:
        asyncio.run(create_cluster("c1", run=run, binaries=binaries, patience_s=patience_s))
    assert not (run.folder / "clusters" / "c1").exists()
    run.end()
    assert registered_runs() == ([], [])
    return caught.value


def test_missing_programs_are_all_named(run: LiveRun, tmp_path: Path) -> None:
    binaries = _binaries(tmp_path / "bin", "exit 0")
    (binaries / "etcd").unlink()
    (binaries / "kubectl").chmod(0o644)

    with pytest.raises(GroundError, match="does not hold etcd, kubectl"):
        asyncio.run(create_cluster("c1", run=run, binaries=binaries))

    assert run.entry.homes == ()


def test_a_kwokctl_that_fails_is_quoted_and_its_log_kept(run: LiveRun, tmp_path: Path) -> None:
    said = '{"level":"ERROR","msg":"Failed to setup config","err":"no space left"}'
    error = _failure(run, _binaries(tmp_path / "bin", f"echo '{said}'; exit 1"))

    assert error.what == "cluster c1 did not come up"
    assert error.why == "kwokctl ended with 1\n  kwokctl: Failed to setup config: no space left"
    assert str(run.folder / "logs" / "c1") in error.remedy
    assert said in (run.folder / "logs" / "c1" / "kwokctl.log").read_text(encoding="utf-8")


def test_a_kwokctl_that_hangs_is_ended_in_time(run: LiveRun, tmp_path: Path) -> None:
    note = tmp_path / "pid"
    error = _failure(run, _binaries(tmp_path / "bin", f"echo $$ >{note}; exec sleep 60"), patience_s=2)

    assert error.why.startswith("it was not ready in time")
    assert identify(int(note.read_text(encoding="ascii"))) is None


def test_a_port_that_was_taken_meanwhile_is_said_at_once(run: LiveRun, tmp_path: Path) -> None:
    kwokctl = """
echo '{"level":"INFO","msg":"Cluster is starting"}'
mkdir pids
echo '{"level":"fatal","msg":"discovery failed","error":"listen tcp 127.0.0.1:20000: bind: address already in use"}' \\
  >logs/etcd.log
sh -c 'exit 1' & echo $! >pids/etcd.pid
exec sleep 60
"""
    error = _failure(run, _binaries(tmp_path / "bin", kwokctl))

    assert error.why.startswith("etcd ended\n  etcd: discovery failed: listen tcp 127.0.0.1:20000: bind")
    assert error.remedy.startswith("another program took the port meanwhile: run again")


def test_an_api_server_without_a_version_is_named(run: LiveRun, tmp_path: Path) -> None:
    binaries = _binaries(tmp_path / "bin", "exit 0")
    (binaries / "kube-apiserver").write_text("#!/bin/sh\necho hello\n", encoding="utf-8")

    assert _failure(run, binaries).what == f"{binaries / 'kube-apiserver'} does not tell its version"


def test_a_creation_that_is_cancelled_leaves_nothing(run: LiveRun, tmp_path: Path) -> None:
    note = tmp_path / "pid"
    binaries = _binaries(tmp_path / "bin", f"echo $$ >{note}; exec sleep 60")

    async def cancelled() -> None:
        birth = asyncio.create_task(create_cluster("c1", run=run, binaries=binaries))
        while not note.exists() or not note.read_text(encoding="ascii"):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        birth.cancel()
        await birth

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancelled())

    assert identify(int(note.read_text(encoding="ascii"))) is None
    assert not (run.folder / "clusters" / "c1").exists()
    assert run.entry.homes == ()


def test_variables_of_the_environment_do_not_change_a_cluster(
    run: LiveRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KWOK_KUBE_VERSION", "v1.2.3")
    monkeypatch.setenv("KUBECONFIG", "/somewhere")
    note = tmp_path / "environment"
    _failure(run, _binaries(tmp_path / "bin", f"env >{note}; umask >>{note}; exit 1"))

    seen = note.read_text(encoding="utf-8").splitlines()
    assert f"KWOK_WORKDIR={run.folder}" in seen
    assert not [line for line in seen if line.startswith(("KWOK_KUBE_VERSION", "KUBECONFIG"))]
    assert seen[-1] == "0077"
