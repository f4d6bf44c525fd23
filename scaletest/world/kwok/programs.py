"""The programs of a real control plane: which they are, which versions fit, how they are asked and how they are built.

Programs come in families, as they are released; a family is always taken whole from one source, so that its parts fit
each other. Whatever is wrong with programs is one of these, and ends a command with the exit code of the environment:

    ToolchainError
      ToolchainMissing   programs are not there, or not in a version that fits
      GoMissing          programs would have to be built, and there is no Go that could
      BuildFailed        Go could not build a program
"""

import re
import subprocess
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple, Self

__all__ = [
    "FAMILIES",
    "BuildFailed",
    "Family",
    "GoMissing",
    "Program",
    "ToolchainError",
    "ToolchainMissing",
    "Unfit",
    "Version",
    "fitting_versions",
]

_ANSWER_S: Final = 20.0
_VERSION: Final = re.compile(r"(?:version|kubernetes)[:,]? v?(\d+\.\d+\.\d+)", re.IGNORECASE)
_FLAG: Final = ("--version",)


class ToolchainError(Exception):
    """The programs of a real control plane cannot be had: what is wrong, why, and what to do about it."""

    def __init__(self, what: str, *, why: str, remedy: str) -> None:
        self.what, self.why, self.remedy = what, why, remedy
        super().__init__(f"{what}\n  {why}\n{remedy}")


class ToolchainMissing(ToolchainError):  # noqa: N818 - the name says what happened
    """Programs are not there, or not in a version that fits."""


class GoMissing(ToolchainError):  # noqa: N818 - the name says what happened
    """Programs would have to be built, and there is no Go that could."""


class BuildFailed(ToolchainError):  # noqa: N818 - the name says what happened
    """Go could not build a program."""


class Unfit(Exception):  # noqa: N818 - a reason, given to whoever looks further
    """Why the programs of one source cannot be used."""


class Version(NamedTuple):
    """A released version."""

    major: int
    minor: int
    patch: int

    @classmethod
    def of(cls, text: str) -> Self:
        """Return the version that a text begins with."""
        major, minor, patch = (int(part) for part in text.split(".")[:3])
        return cls(major, minor, patch)

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}"


@dataclass(frozen=True, slots=True)
class Program:
    """One program."""

    name: str
    package: str
    """The Go package that it is built from."""
    ask: tuple[str, ...] = _FLAG
    """The arguments that make it tell its version and do nothing else."""


@dataclass(frozen=True, slots=True)
class Family:
    """Programs that are released together, and the versions of them that fit."""

    name: str
    """Also the folder of its pinned Go module in `tools/`."""
    programs: tuple[Program, ...]
    module: str
    """The Go module whose version is the family's."""
    at_least: tuple[int, int]
    below: tuple[int, int] | None = None
    stamps: tuple[str, ...] = ()
    """Variables that a release sets when it is linked; without them a program tells no version."""
    tags: str = ""
    packed: bool = False
    """The module's minor version is the release's major and minor: Prometheus 3.11.3 is module version 0.311.3."""

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the programs."""
        return tuple(program.name for program in self.programs)

    @property
    def rule(self) -> str:
        """Return which versions fit, in words."""
        low = ">= {}.{}".format(*self.at_least)
        return low if self.below is None else low + ", < {}.{}".format(*self.below)

    def released(self, pinned: Version) -> Version:
        """Return the release that a version of the module is."""
        return Version(pinned.minor // 100, pinned.minor % 100, pinned.patch) if self.packed else pinned

    def fits(self, version: Version) -> bool:
        """Return whether this version may be used."""
        return version[:2] >= self.at_least and (self.below is None or version[:2] < self.below)


_KUBERNETES_STAMPS: Final = (
    "k8s.io/component-base/version.gitVersion=v{0}",
    "k8s.io/component-base/version.gitMajor={0.major}",
    "k8s.io/component-base/version.gitMinor={0.minor}",
    "k8s.io/component-base/version.gitTreeState=clean",
    "k8s.io/client-go/pkg/version.gitVersion=v{0}",
    "k8s.io/client-go/pkg/version.gitMajor={0.major}",
    "k8s.io/client-go/pkg/version.gitMinor={0.minor}",
)

# The one table of what fits. Kubernetes is held to its minor version, because what is measured depends on it; kwokctl
# knows the flags of etcd 3.5 and 3.6; raw samples have been read from Prometheus 2.42 on.
FAMILIES: Final = (
    Family(
        name="kwok",
        programs=(
            Program("kwok", "sigs.k8s.io/kwok/cmd/kwok"),
            Program("kwokctl", "sigs.k8s.io/kwok/cmd/kwokctl"),
        ),
        module="sigs.k8s.io/kwok",
        at_least=(0, 7),
        stamps=("sigs.k8s.io/kwok/pkg/consts.Version=v{0}",),
    ),
    Family(
        name="etcd",
        programs=(
            Program("etcd", "go.etcd.io/etcd/server/v3"),
            Program("etcdctl", "go.etcd.io/etcd/etcdctl/v3", ask=("version",)),
        ),
        module="go.etcd.io/etcd/server/v3",
        at_least=(3, 5),
        below=(3, 7),
    ),
    Family(
        name="kubernetes",
        programs=(
            Program("kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver"),
            Program("kube-controller-manager", "k8s.io/kubernetes/cmd/kube-controller-manager"),
            Program("kube-scheduler", "k8s.io/kubernetes/cmd/kube-scheduler"),
            Program("kubectl", "k8s.io/kubernetes/cmd/kubectl", ask=("version", "--client")),
        ),
        module="k8s.io/kubernetes",
        at_least=(1, 36),
        below=(1, 37),
        stamps=_KUBERNETES_STAMPS,
    ),
    Family(
        name="prometheus",
        programs=(
            Program("prometheus", "github.com/prometheus/prometheus/cmd/prometheus"),
            Program("promtool", "github.com/prometheus/prometheus/cmd/promtool"),
        ),
        module="github.com/prometheus/prometheus",
        at_least=(2, 42),
        stamps=("github.com/prometheus/common/version.Version={0}",),
        # Service discovery of every cloud is two thirds of the program, and we only use static targets.
        tags="netgo,remove_all_sd",
        packed=True,
    ),
)


def fitting_versions(family: Family, paths: Mapping[str, Path]) -> dict[str, str]:
    """Return what the programs say their versions are; raise Unfit with the reason if they cannot be used together."""
    with ThreadPoolExecutor(len(family.programs)) as pool:
        found = list(pool.map(lambda program: _asked(program, paths[program.name]), family.programs))
    for program, version in zip(family.programs, found, strict=True):
        if not family.fits(version):
            raise Unfit(f"{paths[program.name]} is {version}, and {family.rule} is needed")
    if len({version[:2] for version in found}) > 1:
        told = ", ".join(f"{name} {version}" for name, version in zip(family.names, found, strict=True))
        raise Unfit(f"these versions do not belong together: {told}")
    return {name: str(version) for name, version in zip(family.names, found, strict=True)}


def _asked(program: Program, path: Path) -> Version:
    argv = [str(path), *program.ask]
    try:
        done = subprocess.run(  # noqa: S603 - a program that was found by its name, asked for its version
            argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=_ANSWER_S, check=False
        )
    except subprocess.TimeoutExpired:
        raise Unfit(f"{path} did not tell its version within {_ANSWER_S:.0f} s") from None
    except OSError as error:
        raise Unfit(f"{path} cannot be run: {error.strerror}") from error
    told = _VERSION.search((done.stdout + done.stderr).decode(errors="replace"))
    if done.returncode != 0 or told is None:
        raise Unfit(f"`{' '.join(argv)}` tells no version")
    return Version.of(told[1])
