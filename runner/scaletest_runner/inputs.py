"""The four files of a test, read through the strict door, and the machine they would run on."""

import os
from dataclasses import dataclass
from pathlib import Path

from scaletest.plan.footprint import HostSize
from scaletest.plan.plan import Inputs
from scaletest.profile import (
    Problem,
    ProfileError,
    file_text,
    read_catalog,
    read_engine,
    read_profile,
    read_substrate,
)
from scaletest_runner.locations import beside, profile_path

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
    readings = []
    for read, folder, name in (
        (read_catalog, "catalogs", test.value.catalog.archetypes),
        (read_engine, "engines", engine or test.value.engine),
        (read_substrate, "substrates", substrate),
    ):
        try:
            found = beside(path, folder, name)
            readings.append(read(file_text(found), str(found)))
        except ProfileError as error:
            problems += error.problems
    if problems:
        raise ProfileError(problems)
    catalog, manifest, ground = readings
    inputs = Inputs(
        profile=test.value,
        catalog=catalog.value,
        engine=manifest.value,
        substrate=ground.value,
        host=host_size(),
        random_seed=test.value.random_seed if seed is None else seed,
    )
    return Loaded(inputs, tuple(w for reading in (test, *readings) for w in reading.warnings))


def host_size() -> HostSize:
    """Return cores and memory of this machine; a container's memory limit counts where there is one."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limit = Path("/sys/fs/cgroup/memory.max")
    if limit.is_file() and (text := limit.read_text(encoding="ascii").strip()).isdigit():
        memory = min(memory, int(text))
    return HostSize(
        vcpu=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        memory_bytes=memory,
    )
