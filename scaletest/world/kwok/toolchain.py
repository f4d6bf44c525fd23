"""The toolchain: every program of a real control plane, found where it is or built where it is not.

Sources are looked at in order: a folder that the user names, PATH, and our cache of programs built from the Go modules
pinned in `tools/`. A source gives a family whole and in versions that fit (`programs.py`), or not at all, and the next
is looked at; `survey` tells which was taken and why others were not.
"""

import hashlib
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from tempfile import mkdtemp
from typing import Self

from scaletest.world.kwok.building import Go, Moment, Step, Tell, build_all, find_go
from scaletest.world.kwok.builds import Build, Recipe, cache_folder, newest_build, unwritable
from scaletest.world.kwok.programs import (
    FAMILIES,
    BuildFailed,
    Family,
    GoMissing,
    ToolchainError,
    ToolchainMissing,
    Unfit,
    fitting_versions,
)

__all__ = [
    "BuildFailed",
    "Go",
    "GoMissing",
    "Moment",
    "Places",
    "Search",
    "Source",
    "Step",
    "Supply",
    "Toolchain",
    "ToolchainError",
    "ToolchainMissing",
    "find_go",
    "find_toolchain",
    "install_toolchain",
    "survey",
]

_INSTALL = "Run `scaletest toolchain install`, which builds them once with Go (about 12 minutes on 2 cores)"
_REMEDY = f"{_INSTALL}, or name a folder that has them: --from DIR, or SCALETEST_TOOLCHAIN."


class Source(StrEnum):
    """Where programs may come from, in the order of looking."""

    FOLDER = "folder"
    PATH = "PATH"
    CACHE = "cache"


@dataclass(frozen=True, slots=True)
class Places:
    """Where to look."""

    folder: Path | None
    path: str
    cache: Path

    @classmethod
    def of(cls, folder: Path | None = None, environ: Mapping[str, str] = os.environ) -> Self:
        """Return the places of an environment; a folder named here counts before SCALETEST_TOOLCHAIN."""
        named = folder or (Path(environ["SCALETEST_TOOLCHAIN"]) if environ.get("SCALETEST_TOOLCHAIN") else None)
        if named is not None and not named.is_dir():
            what = "the folder named for the programs is not there"
            raise ToolchainMissing(what, why=f"{named} is no folder", remedy="Correct --from or SCALETEST_TOOLCHAIN.")
        return cls(named and named.absolute(), environ.get("PATH", os.defpath), cache_folder(environ))


@dataclass(frozen=True, slots=True)
class Supply:
    """A family as one source has it: whole, and in versions that fit."""

    source: Source
    paths: Mapping[str, Path]
    versions: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Search:
    """What came of looking for a family."""

    family: Family
    supply: Supply | None
    refused: Mapping[Source, str]
    """Why a source that has something of the family could not be used; sources that have nothing are not in here."""

    @property
    def reason(self) -> str:
        """Return why sources were passed over."""
        told = [f"not from {source}, {why}" for source, why in self.refused.items()]
        return "; ".join(told) or "not in a named folder, not on PATH, not built yet"


@dataclass(frozen=True, slots=True)
class Toolchain:
    """Every program of a real control plane, in versions that fit each other."""

    folder: Path
    """Holds a link to every program under its plain name; kwokctl wants it on PATH, where it looks for kubectl."""
    binaries: Mapping[str, Path]
    versions: Mapping[str, str]
    """By program, such as 1.36.4."""

    def binary(self, name: str) -> Path:
        """Return the path of a program."""
        return self.binaries[name]


def survey(places: Places) -> tuple[Search, ...]:
    """Look for every family; nothing is built and nothing written."""
    return tuple(_search(family, places) for family in FAMILIES)


def find_toolchain(places: Places | None = None) -> Toolchain:
    """Return the toolchain; raise ToolchainMissing if a program is missing, with what to do about it."""
    places = places or Places.of()
    searches = survey(places)
    lacking = [search for search in searches if search.supply is None]
    if lacking:
        names = ", ".join(name for search in lacking for name in search.family.names)
        why = "\n  ".join(f"{search.family.name}: {search.reason}" for search in lacking)
        raise ToolchainMissing(f"programs of a real control plane are missing ({names})", why=why, remedy=_REMEDY)
    supplies = [search.supply for search in searches if search.supply is not None]
    binaries = {name: path for supply in supplies for name, path in supply.paths.items()}
    versions = {name: version for supply in supplies for name, version in supply.versions.items()}
    return Toolchain(_linked(binaries, places.cache), binaries, versions)


def install_toolchain(places: Places, tell: Tell) -> Toolchain:
    """Build what neither the named folder nor PATH has, as far as the cache lacks it, and return the toolchain."""
    ours = [search.family for search in survey(places) if search.supply is None or search.supply.source is Source.CACHE]
    build_all([Recipe.of(family) for family in ours], places.cache, path=places.path, tell=tell)
    return find_toolchain(places)


def _search(family: Family, places: Places) -> Search:
    build = newest_build(Recipe.of(family), places.cache)
    refused: dict[Source, str] = {}
    searched = {Source.FOLDER: "" if places.folder is None else str(places.folder), Source.PATH: places.path}
    for source, path in searched.items():
        found = {name: shutil.which(name, path=path) for name in family.names} if path else {}
        paths = {name: Path(place).absolute() for name, place in found.items() if place is not None}
        # Links to the cache are passed over as well: its stamp knows their versions.
        if not paths or (build is not None and _same(paths, build)):
            continue
        try:
            return Search(family, Supply(source, paths, _versions(family, paths)), refused)
        except Unfit as error:
            refused[source] = str(error)
    supply = None if build is None else Supply(Source.CACHE, build.paths, build.versions)
    return Search(family, supply, refused)


def _versions(family: Family, paths: Mapping[str, Path]) -> dict[str, str]:
    """Return the programs' versions; raise Unfit if some are missing, or do not fit."""
    if missing := [name for name in family.names if name not in paths]:
        raise Unfit(f"it has {', '.join(paths)} and lacks {', '.join(missing)}")
    return fitting_versions(family, paths)


def _same(paths: Mapping[str, Path], build: Build) -> bool:
    links = {name: path.resolve() for name, path in paths.items()}
    return links == {name: path.resolve() for name, path in build.paths.items()}


def _linked(binaries: Mapping[str, Path], cache: Path) -> Path:
    """Return the folder of links to these programs, made if it is not there: one folder for each set of programs."""
    listed = "\n".join(f"{name} {path}" for name, path in sorted(binaries.items()))
    folder = cache / f"bin-{hashlib.sha256(listed.encode()).hexdigest()[:16]}"
    if folder.is_dir():
        return folder
    try:
        cache.mkdir(parents=True, exist_ok=True)
        made = Path(mkdtemp(prefix=".linking-", dir=cache))
        for name, path in binaries.items():
            (made / name).symlink_to(path)
        made.chmod(0o755)
        try:
            made.rename(folder)
        except OSError:  # somebody else was faster
            shutil.rmtree(made)
    except OSError as error:
        raise unwritable(cache, error) from error
    return folder
