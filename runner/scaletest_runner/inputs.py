"""The four files of a test, read through the strict door, and the machine they would run on."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from scaletest.plan.footprint import HostSize
from scaletest.plan.plan import Inputs
from scaletest.profile import (
    Catalog,
    EngineManifest,
    Problem,
    ProfileError,
    Reading,
    Substrate,
    file_text,
    read_catalog,
    read_engine,
    read_profile,
    read_substrate,
)
from scaletest_runner.locations import beside, profile_path

FileT = TypeVar("FileT", Catalog, EngineManifest, Substrate)

__all__ = ["Loaded", "host_size", "load_inputs"]


@dataclass(frozen=True, slots=True)
class Loaded:
    """The inputs of a plan and what the files' reader warned about."""

    inputs: Inputs
    warnings: tuple[Problem, ...]


def load_inputs(profile: str, *, substrate: str, engine: str | None, seed: int | None) -> Loaded:
    """Read everything a plan needs; raise ProfileError with the problems of all files together."""
    path = profile_path(profile)
    test = read_profile(file_text(path), str(path))
    problems: list[Problem] = []
    catalog = _read(read_catalog, path, "catalogs", test.value.catalog.archetypes, problems=problems)
    manifest = _read(read_engine, path, "engines", engine or test.value.engine, problems=problems)
    ground = _read(read_substrate, path, "substrates", substrate, problems=problems)
    if catalog is None or manifest is None or ground is None:
        raise ProfileError(problems)
    inputs = Inputs(
        profile=test.value,
        catalog=catalog.value,
        engine=manifest.value,
        substrate=ground.value,
        host=host_size(),
        random_seed=test.value.random_seed if seed is None else seed,
    )
    return Loaded(inputs, test.warnings + catalog.warnings + manifest.warnings + ground.warnings)


def _read(
    read: Callable[[str, str], Reading[FileT]], profile: Path, folder: str, name: str, *, problems: list[Problem]
) -> Reading[FileT] | None:
    """Read one file that a profile names; note its problems and go on, so that all files are reported together."""
    try:
        found = beside(profile, folder, name)
        return read(file_text(found), str(found))
    except ProfileError as error:
        problems += error.problems
        return None


def host_size() -> HostSize:
    """Return cores and memory of this machine; a container's memory limit counts where there is one."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limit = Path("/sys/fs/cgroup/memory.max")
    if limit.is_file() and (text := limit.read_text(encoding="ascii").strip()).isdigit():
        memory = min(memory, int(text))
    return HostSize(vcpu=os.cpu_count() or 1, memory_bytes=memory)
