"""Real clusters: the folder of binaries they need, and a register of runs that is the test's own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from real_clusters import toolchain_folder


@pytest.fixture(scope="session")
def toolchain() -> Path:
    """Return the folder that holds all programs."""
    return toolchain_folder("prometheus")


@pytest.fixture(scope="module")
def register(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Keep runs of this module's tests in a register of their own."""
    folder = tmp_path_factory.mktemp("state")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(folder))
        yield folder
