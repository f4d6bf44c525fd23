"""The four files of a test, read through the strict door, and the machine they would run on."""

import os
import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from scaletest.evidence.record import RunRecord
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
from scaletest.profile.proving import Proving
from scaletest_runner.locations import beside, profile_path

FileT = TypeVar("FileT", Catalog, EngineManifest, Substrate)

__all__ = ["Loaded", "host_size", "load_inputs", "saved_inputs", "today"]


@dataclass(frozen=True, slots=True)
class Loaded:
    """The inputs of a plan and what the files' reader warned about."""

    inputs: Inputs
    warnings: tuple[Problem, ...]
    texts: dict[str, str]
    """The files themselves, under the paths that a folder of a profile and its neighbours would give them."""

    def uncalibrated(self) -> "Loaded":
        """Return the inputs without calibrated bars, and without claims about the profile that may name them."""
        profile = self.inputs.profile.model_copy(update={"calibration": None, "proving": Proving()})
        return replace(self, inputs=replace(self.inputs, profile=profile))

    def save(self, folder: Path) -> None:
        """Write the files into a folder, from which the same inputs can be loaded again."""
        for name, text in self.texts.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")


def load_inputs(
    profile: str, *, substrate: str, engine: str | None, seed: int | None, settings: Sequence[str] = ()
) -> Loaded:
    """Read everything a plan needs; raise ProfileError with the problems of all files together."""
    path = profile_path(profile)
    text = file_text(path)
    test = read_profile(text, str(path), settings=settings)
    problems: list[Problem] = []
    texts = {f"{test.value.metadata.name}.yaml": text}
    files = _Neighbours(path, texts, problems)
    catalog = files.read(read_catalog, "catalogs", test.value.catalog.archetypes)
    manifest = files.read(read_engine, "engines", engine or test.value.engine)
    ground = files.read(read_substrate, "substrates", substrate)
    if catalog is None or manifest is None or ground is None:
        raise ProfileError(problems)
    inputs = Inputs(
        profile=test.value,
        catalog=catalog.value,
        engine=manifest.value,
        substrate=ground.value,
        host=host_size(),
        random_seed=test.value.random_seed if seed is None else seed,
        today=today(),
    )
    return Loaded(inputs, test.warnings + catalog.warnings + manifest.warnings + ground.warnings, texts)


def saved_inputs(folder: Path, record: RunRecord) -> Inputs:
    """Return the inputs that a run has saved in its folder, as they were."""
    saved = folder / "inputs"
    substrate = next(iter(sorted((saved / "substrates").glob("*.yaml"))), Path("sim.yaml"))
    engine = next(iter(sorted((saved / "engines").glob("*.yaml"))), Path("reference.yaml"))
    return load_inputs(
        str(saved / f"{record.profile}.yaml"),
        substrate=str(substrate),
        engine=str(engine),
        seed=record.random_seed,
        settings=record.settings,
    ).inputs


@dataclass(frozen=True, slots=True)
class _Neighbours:
    """The files that a profile names; problems of one do not keep the others from being read."""

    profile: Path
    texts: dict[str, str]
    problems: list[Problem]

    def read(self, read: Callable[[str, str], Reading[FileT]], folder: str, name: str) -> Reading[FileT] | None:
        """Read one file and keep its text; note its problems and go on, so that all files are reported together."""
        try:
            found = beside(self.profile, folder, name)
            text = file_text(found)
            self.texts[f"{folder}/{found.name}"] = text
            return read(text, str(found))
        except ProfileError as error:
            self.problems.extend(error.problems)
            return None


def host_size() -> HostSize:
    """Return cores and memory of this machine; a container's memory limit counts where there is one."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limit = Path("/sys/fs/cgroup/memory.max")
    if limit.is_file() and (text := limit.read_text(encoding="ascii").strip()).isdigit():
        memory = min(memory, int(text))
    return HostSize(os.cpu_count() or 1, memory, ".".join(platform.python_version_tuple()[:2]))


def today() -> str:
    """Return the day: the one thing that a plan is told of time."""
    return datetime.now(UTC).date().isoformat()
