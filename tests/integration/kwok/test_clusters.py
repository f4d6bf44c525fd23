"""Real clusters from the first process to the last."""

import asyncio
import json
import os
import signal
import socket
import ssl
import stat
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from scaletest.world.kwok.clusters import KwokCluster, create_cluster
from scaletest.world.kwok.components import APISERVER, CONTROLLER_MANAGER, ETCD, KWOK_CONTROLLER, SCHEDULER
from scaletest.world.kwok.errors import GroundError
from scaletest.world.kwok.listeners import listeners
from scaletest.world.kwok.processes import ProcessId, processes_naming
from scaletest.world.kwok.runs import LiveRun, register_run, registered_runs

pytestmark = [pytest.mark.real, pytest.mark.timeout(300)]

_NAMES = (ETCD, APISERVER, CONTROLLER_MANAGER, SCHEDULER, KWOK_CONTROLLER)
_PROGRAMS = (*_NAMES, "kwokctl", "prometheus")
_SCALETEST = Path(sys.executable).with_name("scaletest")
_RUNNER = """
import asyncio, sys, time
from pathlib import Path
from scaletest.world.kwok.clusters import create_cluster
from scaletest.world.kwok.runs import register_run
run = register_run("killed-1", Path(sys.argv[1]))
asyncio.run(create_cluster("c1", run=run, binaries=Path(sys.argv[2])))
print("up", flush=True)
time.sleep(600)
"""


@pytest.fixture(scope="module")
def clusters(register: Path, toolchain: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[KwokCluster]]:
    """Return two clusters that were made at the same time."""
    assert register.is_dir()
    run = register_run("shared-1", tmp_path_factory.mktemp("shared"))

    async def created() -> list[KwokCluster]:
        both = [create_cluster(name, run=run, binaries=toolchain) for name in ("c1", "c2")]
        return list(await asyncio.gather(*both))

    made = asyncio.run(created())
    yield made
    for cluster in made:
        asyncio.run(cluster.destroy())
    run.end()


@pytest.fixture(scope="module")
def cluster(clusters: list[KwokCluster]) -> KwokCluster:
    return clusters[0]


def test_two_clusters_made_at_once_both_serve(clusters: list[KwokCluster]) -> None:
    versions = [_get(cluster, "/version")["gitVersion"] for cluster in clusters]

    assert versions == [cluster.kube_version for cluster in clusters]
    assert [cluster.dead() for cluster in clusters] == [(), ()]
    ports = [each.port for cluster in clusters for each in cluster.components]
    assert len(set(ports)) == 10


def test_everything_listens_on_loopback_alone(clusters: list[KwokCluster]) -> None:
    for cluster in clusters:
        found = listeners(each.process.pid for each in cluster.components)
        assert {each.host for each in found} == {"127.0.0.1"}
        assert {each.port for each in found} >= {each.port for each in cluster.components}
        assert len(found) == 6  # one each, and etcd's for its peers


def test_what_is_secret_is_for_this_user_alone(cluster: KwokCluster) -> None:
    files = (cluster.kubeconfig, cluster.credentials.key, cluster.home / "scaletest.json")

    assert [stat.S_IMODE(file.stat().st_mode) for file in files] == [0o600] * 3
    assert stat.S_IMODE(cluster.home.stat().st_mode) == 0o700


def test_no_limit_stands_between_a_client_and_the_cluster(cluster: KwokCluster) -> None:
    flags = {each.name: each.flags for each in cluster.components}

    assert flags[APISERVER]["max-requests-inflight"] == "0"
    assert flags[APISERVER]["max-mutating-requests-inflight"] == "0"
    assert flags[APISERVER]["enable-priority-and-fairness"] == "false"
    for name in (CONTROLLER_MANAGER, SCHEDULER):
        assert flags[name]["kube-api-qps"] == "5000"
        assert flags[name]["kube-api-burst"] == "10000"
        assert flags[name]["leader-elect"] == "false"
    assert flags[ETCD]["unsafe-no-fsync"] == "true"
    assert flags[ETCD]["quota-backend-bytes"] == str(8 * 1024**3)


def test_a_stopped_component_is_not_dead_and_goes_on(cluster: KwokCluster) -> None:
    process = cluster.component(CONTROLLER_MANAGER).process

    process.send(signal.SIGSTOP)
    _wait(lambda: _state(process) == "T")
    assert cluster.dead() == ()

    process.send(signal.SIGCONT)
    _wait(lambda: _state(process) != "T")


def test_every_component_has_a_cost(cluster: KwokCluster) -> None:
    costs = cluster.costs()

    assert tuple(costs) == _NAMES
    assert all(cost is not None and cost.cpu_us > 0 and cost.rss_bytes > 2**20 for cost in costs.values())


def test_a_killed_component_is_named_and_the_rest_is_ended(run: LiveRun, toolchain: Path, tmp_path: Path) -> None:
    cluster = asyncio.run(create_cluster("c3", run=run, binaries=toolchain))
    cluster.component(SCHEDULER).process.send(signal.SIGKILL)
    _wait(lambda: cluster.dead() == (SCHEDULER,))
    assert cluster.costs()[SCHEDULER] is None
    cluster.component(CONTROLLER_MANAGER).process.send(signal.SIGSTOP)

    asyncio.run(cluster.destroy(logs=tmp_path / "logs"))

    assert cluster.dead() == _NAMES
    assert processes_naming(cluster.home, _PROGRAMS) == []
    assert not cluster.home.exists()
    assert (tmp_path / "logs" / "kube-apiserver.log").stat().st_size > 0
    assert cluster.home not in run.entry.homes


def test_clusters_of_a_runner_that_was_killed_are_found_and_removed(
    register: Path, toolchain: Path, tmp_path: Path
) -> None:
    environment = {**os.environ, "XDG_STATE_HOME": str(register)}
    folder = tmp_path / "run"
    with subprocess.Popen(
        [sys.executable, "-c", _RUNNER, folder, toolchain], stdout=subprocess.PIPE, text=True, env=environment
    ) as runner:
        assert runner.stdout is not None
        assert runner.stdout.readline() == "up\n"
        assert _listed(environment)["killed-1"] == "live"
        refused = _scaletest("clusters", "destroy", "killed-1", env=environment)
        assert (refused.returncode, "this run is live" in refused.stderr) == (2, True)
        runner.kill()
    assert len(processes_naming(folder / "clusters" / "c1", _PROGRAMS)) == 5
    assert _listed(environment)["killed-1"] == "left behind"

    done = _scaletest("clusters", "destroy", env=environment)

    assert done.returncode == 0, done.stderr
    assert "destroyed killed-1" in done.stdout
    assert processes_naming(folder / "clusters" / "c1", _PROGRAMS) == []
    assert not (folder / "clusters" / "c1").exists()
    assert (folder / "logs" / "c1" / "etcd.log").is_file()
    assert "killed-1" not in {entry.run for entry in registered_runs()[0]}


def test_a_runner_killed_while_its_cluster_starts_leaves_nothing_that_goes_on_starting(
    register: Path, toolchain: Path, tmp_path: Path
) -> None:
    environment = {**os.environ, "XDG_STATE_HOME": str(register)}
    home = tmp_path / "run" / "clusters" / "c1"
    with subprocess.Popen([sys.executable, "-c", _RUNNER, tmp_path / "run", toolchain], env=environment) as runner:
        _wait((home / "pids" / "etcd.pid").exists)
        runner.kill()
    assert processes_naming(home, ("kwokctl",)) != []

    assert _scaletest("clusters", "destroy", env=environment).returncode == 0

    assert processes_naming(home, _PROGRAMS) == []
    assert not home.exists()


def test_an_api_server_that_starts_slowly_does_not_cost_the_cluster_a_component(
    run: LiveRun, toolchain: Path, tmp_path: Path
) -> None:
    binaries = tmp_path / "bin"
    binaries.mkdir()
    for program in toolchain.iterdir():
        (binaries / program.name).symlink_to(program)
    slow, real = binaries / APISERVER, toolchain.absolute() / APISERVER
    slow.unlink()
    # The controller-manager gives up after ten seconds.
    slow.write_text(f'#!/bin/sh\n[ "$1" = --version ] || sleep 12\nexec {real} "$@"\n', encoding="utf-8")
    slow.chmod(0o755)

    cluster = asyncio.run(create_cluster("c1", run=run, binaries=binaries))

    assert cluster.dead() == ()
    kwokctl = (cluster.home / "logs" / "kwokctl.log").read_text(encoding="utf-8")
    assert "Cluster already exists" in kwokctl  # it was called a second time


@pytest.mark.parametrize("component", [APISERVER, SCHEDULER])
def test_a_port_that_somebody_took_is_said_to_be_taken(
    run: LiveRun, toolchain: Path, component: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ports = run.ports.take(6)
    monkeypatch.setattr(run.ports, "take", lambda count: ports[:count])
    with (
        socket.create_server(("127.0.0.1", ports[_NAMES.index(component)])),
        pytest.raises(GroundError, match="address already in use") as caught,
    ):
        asyncio.run(create_cluster("c1", run=run, binaries=toolchain))

    assert caught.value.remedy.startswith("another program took the port meanwhile: run again")
    assert f"\n  {component}: " in caught.value.why
    assert run.entry.homes == ()
    assert processes_naming(run.folder, _PROGRAMS) == []


def _scaletest(*argv: str, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [_SCALETEST, *argv], capture_output=True, text=True, timeout=60, check=False, stdin=subprocess.DEVNULL, env=env
    )


def _listed(env: dict[str, str]) -> dict[str, str]:
    done = _scaletest("clusters", "list", "--json", env=env)
    assert done.returncode == 0, done.stderr
    return {each["run"]: each["state"] for each in json.loads(done.stdout)}


def _get(cluster: KwokCluster, path: str) -> dict[str, Any]:
    context = ssl.create_default_context(cafile=str(cluster.credentials.ca))
    context.load_cert_chain(cluster.credentials.cert, cluster.credentials.key)
    with urllib.request.urlopen(cluster.server + path, timeout=10, context=context) as answer:  # noqa: S310 - ours
        document: dict[str, Any] = json.load(answer)
        return document


def _wait(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def _state(process: ProcessId) -> str:
    return Path(f"/proc/{process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
