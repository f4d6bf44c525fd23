"""A machine with nothing on it, and a build that waits."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from toolchain_ground import Ground


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    made = Ground(tmp_path)
    made.on_path.mkdir()
    return made


@pytest.fixture
def closed_gate(ground: Ground) -> Callable[[], int]:
    """Make building kwok wait; return what waits until it does, and gives the end of the pipe that lets it go on."""
    os.mkfifo(ground.gate)
    return lambda: os.open(ground.gate, os.O_WRONLY)
