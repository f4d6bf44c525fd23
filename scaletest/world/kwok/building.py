"""Building programs from their pinned Go modules into the cache: once, by one process, all or nothing."""

import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path
from tempfile import mkdtemp
from time import monotonic, sleep
from typing import BinaryIO, Final

from scaletest.profile.problems import printable
from scaletest.world.kwok.builds import STAMP, Recipe, built, newest_build, unwritable
from scaletest.world.kwok.programs import BuildFailed, GoMissing, Unfit, fitting_versions

__all__ = ["GO_AT_LEAST", "Go", "Moment", "Step", "Tell", "build_all", "find_go"]

GO_AT_LEAST: Final = (1, 26)
_ANSWER_S: Final = 20.0
_TICK_S: Final = 0.25
_LONGEST_S: Final = 3600.0
_END_S: Final = 10.0
_LAST_LINES: Final = 12
_CHANGES_BUILDS: Final = frozenset({"GO111MODULE", "GOAMD64", "GOARM64", "GOEXPERIMENT"})
_UNFINISHED: Final = ".building-"
_FOLDER: Final = "or name a folder that has the programs (--from DIR, or SCALETEST_TOOLCHAIN)"
_NETWORK: Final = re.compile(r"dial tcp|no such host|i/o timeout|TLS handshake|proxy|unexpected EOF", re.IGNORECASE)


class Moment(Enum):
    """What there is to tell of an installation."""

    WAITING = auto()
    """Another process is installing."""
    BUILDING = auto()
    """A program is being built."""
    BUILT = auto()


@dataclass(frozen=True, slots=True)
class Step:
    """Where an installation is."""

    moment: Moment
    program: str = ""
    position: int = 0
    programs: int = 0
    elapsed_s: float = 0.0


Tell = Callable[[Step], None]
"""Is called several times a second for as long as an installation takes, and may end it by raising."""


@dataclass(frozen=True, slots=True)
class Go:
    """A Go that can build the programs."""

    path: Path
    version: str
    host_os: str
    host_arch: str

    def environ(self, work: Path) -> dict[str, str]:
        """Return the environment of a build: the user's, without what would change what is built."""
        kept = {name: value for name, value in os.environ.items() if name not in _CHANGES_BUILDS}
        # GOFLAGS is set and not unset: `go env -w` may hold one, which only a value replaces.
        fixed = {"GOTOOLCHAIN": "local", "CGO_ENABLED": "0", "GOFLAGS": "-mod=readonly", "GOWORK": "off"}
        return kept | fixed | {"GOOS": self.host_os, "GOARCH": self.host_arch, "GOTMPDIR": str(work)}


def find_go(path: str) -> Go:
    """Return the Go on a search path; raise GoMissing if there is none that can build the programs."""
    remedy = f"Install Go {_dotted(GO_AT_LEAST)} or newer and put it on PATH, {_FOLDER}."
    found = shutil.which("go", path=path)
    if found is None:
        raise GoMissing("programs must be built, and Go is not there", why="there is no `go` on PATH", remedy=remedy)
    try:
        done = subprocess.run(  # noqa: S603 - found by its name, asked what it is
            [found, "env", "-json", "GOVERSION", "GOHOSTOS", "GOHOSTARCH"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_ANSWER_S,
            check=True,
            env=os.environ | {"GOTOOLCHAIN": "local"},
        )
        told = json.loads(done.stdout)
        go = Go(Path(found), str(told["GOVERSION"]), str(told["GOHOSTOS"]), str(told["GOHOSTARCH"]))
    except (OSError, subprocess.SubprocessError, ValueError, KeyError, TypeError) as error:
        why = f"`{found} env` failed: {printable(str(error))}"
        raise GoMissing("programs must be built, and Go does not work", why=why, remedy=remedy) from error
    numbers = tuple(int(part) for part in re.findall(r"\d+", go.version)[:2])
    if numbers < GO_AT_LEAST:
        why = f"{found} is {printable(go.version)}, and {_dotted(GO_AT_LEAST)} is needed"
        raise GoMissing("programs must be built, and Go is too old", why=why, remedy=remedy)
    return go


def build_all(recipes: Iterable[Recipe], cache: Path, *, path: str, tell: Tell) -> None:
    """Build what the cache lacks; return when it is all there. One process builds at a time, the others wait for it.

    Without a Go, builds by whatever Go there once was will do.
    """
    wanted = list(recipes)
    try:
        go = find_go(path)
    except GoMissing:
        if all(newest_build(recipe, cache) for recipe in wanted):
            return
        raise
    if not _lacking(wanted, cache, go):
        return
    with _alone(cache, tell):
        lacking = _lacking(wanted, cache, go)  # whoever we waited for may have built it
        teller = _Teller(tell, programs=sum(len(recipe.family.programs) for recipe in lacking))
        for recipe in lacking:
            _build(recipe, cache, go, teller)


def _lacking(recipes: list[Recipe], cache: Path, go: Go) -> list[Recipe]:
    return [recipe for recipe in recipes if not built(recipe, recipe.folder(cache, go.version))]


class _Teller:
    """Tells which program is being built, how many there are, and for how long it has been."""

    def __init__(self, tell: Tell, *, programs: int) -> None:
        self._tell, self._programs = tell, programs
        self._position, self._program, self._began_s = 0, "", 0.0

    def begin(self, program: str) -> None:
        self._position += 1
        self._program, self._began_s = program, monotonic()
        self.tell(Moment.BUILDING)

    def tell(self, moment: Moment) -> None:
        self._tell(Step(moment, self._program, self._position, self._programs, self.elapsed_s))

    @property
    def elapsed_s(self) -> float:
        return monotonic() - self._began_s


@contextmanager
def _alone(cache: Path, tell: Tell) -> Iterator[None]:
    """Hold the cache's lock; the system gives it up for a process that dies."""
    with _writing(cache):
        cache.mkdir(parents=True, exist_ok=True)
        lock = (cache / ".lock").open("ab")
    with lock:
        while not _locked(lock):
            tell(Step(Moment.WAITING))
            sleep(_TICK_S)
        for left in cache.glob(f"{_UNFINISHED}*"):  # by a process that was killed: we hold the lock, it is nobody's
            shutil.rmtree(left, ignore_errors=True)
        yield


def _locked(lock: BinaryIO) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _build(recipe: Recipe, cache: Path, go: Go, teller: _Teller) -> None:
    """Build a family beside its place, and move it there when it is whole."""
    with _writing(cache):
        work = Path(mkdtemp(prefix=_UNFINISHED, dir=cache))
    try:
        whole = work / "whole"
        with _writing(cache):
            whole.mkdir()
            # What was hashed is what is built, whatever happens to the files meanwhile.
            (work / "go.mod").write_bytes(recipe.go_mod)
            (work / "go.sum").write_bytes(recipe.go_sum)
        for program in recipe.family.programs:
            teller.begin(program.name)
            _go_build(go, recipe.argv(program, whole), program.name, work, teller)
            teller.tell(Moment.BUILT)
        stamp = _stamp(recipe, whole, go)
        with _writing(cache):
            (whole / STAMP).write_text(stamp, encoding="utf-8")
            place = recipe.folder(cache, go.version)
            shutil.rmtree(place, ignore_errors=True)  # a damaged build, or it would not be built again
            whole.rename(place)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _go_build(go: Go, argv: tuple[str, ...], program: str, work: Path, teller: _Teller) -> None:
    log = work / "go.log"
    # A session of its own: when we are interrupted, the compilers that Go started have to end as well.
    with log.open("wb") as out, _started([str(go.path), *argv], work, go.environ(work), out) as process:
        while process.poll() is None:
            if teller.elapsed_s > _LONGEST_S:
                why = f"it was not done after {_LONGEST_S / 60:.0f} minutes"
                raise BuildFailed(
                    f"{program} could not be built", why=why, remedy=f"Try again on a free machine, {_FOLDER}."
                )
            with suppress(subprocess.TimeoutExpired):
                process.wait(_TICK_S)
            teller.tell(Moment.BUILDING)
    if process.returncode != 0:
        raise _failure(program, log.read_text(encoding="utf-8", errors="replace"))


@contextmanager
def _started(argv: list[str], cwd: Path, environ: dict[str, str], out: BinaryIO) -> Iterator["subprocess.Popen[bytes]"]:
    """Start a process; however the block is left, it and what it started are over afterwards."""
    process = subprocess.Popen(  # noqa: S603 - our Go, our arguments
        argv, cwd=cwd, env=environ, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGTERM)
            try:
                process.wait(_END_S)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def _failure(program: str, log: str) -> BuildFailed:
    lines = [printable(line) for line in log.splitlines() if line.strip()]
    told = "\n  ".join(lines[-_LAST_LINES:]) or "(Go said nothing)"
    if _NETWORK.search("\n".join(lines[-_LAST_LINES:])):
        remedy = f"Go could not fetch modules: check the network and `go env GOPROXY`, {_FOLDER}."
    else:
        remedy = f"See what Go said last, above; then run `scaletest toolchain install` again, {_FOLDER}."
    return BuildFailed(f"{program} could not be built", why=told, remedy=remedy)


def _stamp(recipe: Recipe, folder: Path, go: Go) -> str:
    """Return what a later look into the cache needs to know; the programs are asked now, and never again."""
    try:
        versions = fitting_versions(recipe.family, {name: folder / name for name in recipe.family.names})
    except Unfit as error:
        remedy = "This is a fault of the pinned modules, please report it."
        raise BuildFailed(
            f"{recipe.family.name} was built and cannot be used", why=str(error), remedy=remedy
        ) from error
    programs = {name: {"version": told, "bytes": (folder / name).stat().st_size} for name, told in versions.items()}
    return json.dumps({"sources": recipe.sources, "go": go.version, "programs": programs}, indent=2) + "\n"


@contextmanager
def _writing(cache: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise unwritable(cache, error) from error


def _dotted(version: tuple[int, int]) -> str:
    return ".".join(str(part) for part in version)
