"""Real clusters for tests: where the programs are, a cluster from raising to removal, and a way in."""

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import pytest

from scaletest.ports.clock import Clock
from scaletest.world.kwok.api import Access, ApiServer
from scaletest.world.kwok.clock import SystemClock
from scaletest.world.kwok.clusters import KwokCluster, create_cluster
from scaletest.world.kwok.kube_cluster import KubeCluster
from scaletest.world.kwok.kwokctl import PROGRAMS
from scaletest.world.kwok.preparing import prepare_cluster
from scaletest.world.kwok.runs import LiveRun

PRIORITIES = (-5, 0, 100)


def toolchain_folder(*more: str) -> Path:
    """Return the folder of SCALETEST_TOOLCHAIN, or the one on PATH that holds kwokctl, if all programs are in it."""
    given, found = os.environ.get("SCALETEST_TOOLCHAIN"), shutil.which("kwokctl")
    if not given and found is None:
        pytest.skip("no toolchain: set SCALETEST_TOOLCHAIN to a folder with kwok, Kubernetes, etcd and Prometheus")
    folder = Path(given) if given else Path(str(found)).parent
    if missing := [name for name in (*PROGRAMS, *more) if not os.access(folder / name, os.X_OK)]:
        pytest.skip(f"the toolchain in {folder} lacks {', '.join(missing)}")
    return folder


@contextmanager
def raised_cluster(name: str, *, run: LiveRun, binaries: Path) -> Iterator[KwokCluster]:
    """Raise a cluster that is ready for load, and remove it in the end."""

    async def created() -> KwokCluster:
        cluster = await create_cluster(name, run=run, binaries=binaries)
        await asyncio.to_thread(prepare_cluster, cluster.kubeconfig, PRIORITIES)
        return cluster

    cluster = asyncio.run(created())
    try:
        yield cluster
    finally:
        asyncio.run(cluster.destroy())


@asynccontextmanager
async def session(cluster: KwokCluster) -> AsyncIterator[ApiServer]:
    """Open a session with a cluster's API server."""
    files = cluster.credentials
    api = ApiServer(Access(cluster.server, files.ca, files.cert, files.key))
    try:
        yield api
    finally:
        await api.close()


def reader_of(cluster: KwokCluster, api: ApiServer, *, clock: Clock | None = None, max_pods: int = 20) -> KubeCluster:
    """Return the port's view of a cluster, as a process of its own would have it."""
    return KubeCluster(cluster.name, api=api, clock=clock or SystemClock.starting_now(), max_pods=max_pods)
