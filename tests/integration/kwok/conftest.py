"""Real clusters: the folder of binaries they need, and runs in a register that is the tests' own."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from contract.grounds import KubeGround
from real_clusters import raised_cluster, toolchain_folder
from scaletest.world.kwok.homes import clear_home
from scaletest.world.kwok.runs import LiveRun, register_run


@pytest.fixture(scope="session")
def toolchain() -> Path:
    """Return the folder that holds all programs."""
    return toolchain_folder("prometheus")


@pytest.fixture(scope="module")
def register(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Keep the runs of a module's tests in a register of their own."""
    folder = tmp_path_factory.mktemp("state")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(folder))
        yield folder


@pytest.fixture
def run(register: Path, tmp_path: Path) -> Iterator[LiveRun]:
    """Return a run of which nothing is left after the test, however that ends."""
    made = register_run("tested-1", tmp_path / "run")
    yield made
    for home in made.entry.homes:
        asyncio.run(clear_home(home, run="tested-1", logs=None))
        made.release(home)
    made.end()
    assert not (register / "scaletest" / "runs" / "tested-1.json").exists()


@pytest.fixture
def ground(run: LiveRun, toolchain: Path) -> Iterator[KubeGround]:
    """Return a world to play in: one cluster that is ready for load."""
    with raised_cluster("c1", run=run, binaries=toolchain) as cluster:
        yield KubeGround(cluster)
