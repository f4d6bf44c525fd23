"""Real clusters: the folder of binaries they need, and a register of runs that is the test's own."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from scaletest.world.kwok.kwokctl import PROGRAMS


@pytest.fixture(scope="session")
def toolchain() -> Path:
    """Return the folder of SCALETEST_TOOLCHAIN, or the one on PATH that holds kwokctl, if all programs are in it."""
    given, found = os.environ.get("SCALETEST_TOOLCHAIN"), shutil.which("kwokctl")
    if not given and found is None:
        pytest.skip("no toolchain: set SCALETEST_TOOLCHAIN to a folder with kwok, Kubernetes, etcd and Prometheus")
    folder = Path(given) if given else Path(str(found)).parent
    if missing := [name for name in (*PROGRAMS, "prometheus") if not os.access(folder / name, os.X_OK)]:
        pytest.skip(f"the toolchain in {folder} lacks {', '.join(missing)}")
    return folder


@pytest.fixture(scope="module")
def register(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Keep runs of this module's tests in a register of their own."""
    folder = tmp_path_factory.mktemp("state")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(folder))
        yield folder
