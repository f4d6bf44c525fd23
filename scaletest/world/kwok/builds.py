"""The cache of built programs: one folder per family and content, whole or not there at all.

A folder is named by the hash of everything that decides what is in it: the pinned module (go.mod and go.sum), the
flags, the version of Go and the platform. Its stamp, written before the folder gets its name, says which versions were
built, so looking into the cache starts no program.
"""

import hashlib
import json
import os
import platform
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final, Self

from scaletest.world.kwok.programs import Family, Program, ToolchainError, Version

__all__ = ["STAMP", "Build", "Recipe", "built", "cache_folder", "newest_build", "unwritable"]

STAMP: Final = "stamp.json"
_KEY_LENGTH: Final = 16


def cache_folder(environ: Mapping[str, str]) -> Path:
    """Return where built programs are kept: outside of any repository, and free to be deleted."""
    if own := environ.get("SCALETEST_CACHE"):
        return Path(own).absolute() / "toolchain"
    shared = Path(environ.get("XDG_CACHE_HOME", ""))
    base = shared if shared.is_absolute() else Path.home() / ".cache"
    return base / "scaletest" / "toolchain"


def unwritable(cache: Path, error: OSError) -> ToolchainError:
    """Return the error of a cache that cannot be written."""
    why = f"{error.filename or cache}: {error.strerror}"
    return ToolchainError(
        "the cache of programs cannot be written",
        why=why,
        remedy="Set SCALETEST_CACHE to a folder that can be, with 10 GB free.",
    )


@dataclass(frozen=True)
class Recipe:
    """All that decides what a family's programs will be, but for the Go that builds them."""

    family: Family
    go_mod: bytes
    go_sum: bytes

    @classmethod
    def of(cls, family: Family, modules: Path | None = None) -> Self:
        """Return the recipe of a family, from its pinned module."""
        folder = (modules or _modules()) / family.name
        return cls(family, (folder / "go.mod").read_bytes(), (folder / "go.sum").read_bytes())

    @cached_property
    def version(self) -> Version:
        """Return the version that is pinned."""
        pinned = re.search(rf"^\s*{re.escape(self.family.module)} v([\d.]+)", self.go_mod.decode(), re.MULTILINE)
        assert pinned is not None, self.family.module
        return self.family.released(Version.of(pinned[1]))

    @property
    def flags(self) -> tuple[str, ...]:
        """Return the flags of `go build`."""
        stamps = " ".join(f"-X {stamp.format(self.version)}" for stamp in self.family.stamps)
        tags = ("-tags", self.family.tags) if self.family.tags else ()
        return ("-mod=readonly", "-trimpath", "-buildvcs=false", *tags, "-ldflags", f"-s -w {stamps}".rstrip())

    def argv(self, program: Program, folder: Path) -> tuple[str, ...]:
        """Return the arguments of Go that build one program into a folder."""
        return ("build", *self.flags, "-o", str(folder / program.name), program.package)

    @cached_property
    def sources(self) -> str:
        """Return the hash of all this, and of the platform."""
        packages = [f"{program.name}={program.package}" for program in self.family.programs]
        parts = [sys.platform, platform.machine(), *packages, *self.flags]
        return _digest(*(part.encode() for part in parts), self.go_mod, self.go_sum)

    def folder(self, cache: Path, go_version: str) -> Path:
        """Return where the programs are, or will be, as this Go builds them."""
        key = _digest(self.sources.encode(), go_version.encode())[:_KEY_LENGTH]
        return cache / f"{self.family.name}-{self.version}-{key}"


@dataclass(frozen=True, slots=True)
class Build:
    """A family as it was built: where it is and what it told of itself then."""

    paths: dict[str, Path]
    versions: dict[str, str]
    go_version: str


def built(recipe: Recipe, folder: Path) -> Build | None:
    """Return the build in a folder, if it is there, whole and of this recipe."""
    try:
        stamp = json.loads((folder / STAMP).read_bytes())
        if stamp["sources"] != recipe.sources:
            return None
        programs = {name: stamp["programs"][name] for name in recipe.family.names}
        whole = all(_is_program(folder / name, told["bytes"]) for name, told in programs.items())
        if not whole:
            return None
        paths = {name: folder / name for name in programs}
        return Build(paths, {name: str(told["version"]) for name, told in programs.items()}, str(stamp["go"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None  # not there, or damaged: the same to whoever needs the programs


def newest_build(recipe: Recipe, cache: Path) -> Build | None:
    """Return the build of a recipe by the newest Go; running programs needs no Go at all."""
    builds = (built(recipe, folder) for folder in sorted(cache.glob(f"{recipe.family.name}-*")))
    return max((build for build in builds if build), key=lambda build: _numbers(build.go_version), default=None)


def _modules() -> Path:
    """Return the folder of the pinned modules: inside the package when installed, in the repository otherwise."""
    packaged = Path(__file__).parent / "tools"
    return packaged if packaged.is_dir() else Path(__file__).parents[3] / "tools"


def _is_program(path: Path, size: int) -> bool:
    return path.stat().st_size == size and os.access(path, os.X_OK)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version))


def _digest(*parts: bytes) -> str:
    """Return one hash of parts that cannot be told apart otherwise: each is preceded by its length."""
    whole = hashlib.sha256()
    for part in parts:
        whole.update(f"{len(part)}:".encode())
        whole.update(part)
    return whole.hexdigest()
