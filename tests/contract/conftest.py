"""Every test of this folder is played twice: in memory, and on a real cluster that is raised once."""

from collections.abc import Iterator

import pytest

from contract.grounds import Ground, KubeGround, SimGround
from real_clusters import raised_cluster, toolchain_folder
from scaletest.world.kwok.runs import register_run


@pytest.fixture(scope="session")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KubeGround]:
    """Raise a cluster for all stories, in a register of its own."""
    binaries = toolchain_folder()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        run = register_run("contract-1", tmp_path_factory.mktemp("contract"))
        with raised_cluster("contract", run=run, binaries=binaries) as cluster:
            yield KubeGround(cluster)
        run.end()


@pytest.fixture(params=["sim", pytest.param("kwok", marks=pytest.mark.real)])
def ground(request: pytest.FixtureRequest) -> Ground:
    """Return a world to play in."""
    if request.param == "sim":
        return SimGround()
    real: KubeGround = request.getfixturevalue("real")
    return real
