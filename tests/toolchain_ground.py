"""Programs and a Go that are small scripts: what they were asked to do is in a log, and nothing real is built."""

import shlex
import stat
from dataclasses import dataclass
from pathlib import Path

from scaletest.world.kwok.programs import FAMILIES
from scaletest.world.kwok.toolchain import Places

SAID = {
    "kwok": "kwok version v0.8.0 go1.26.8 (linux/amd64)",
    "kwokctl": "kwokctl version v0.8.0 go1.26.8 (linux/amd64)",
    "etcd": "etcd Version: 3.6.16\nGit SHA: none\nGo Version: go1.26.8",
    "etcdctl": "etcdctl version: 3.6.16\nAPI version: 3.6",
    "kube-apiserver": "Kubernetes v1.36.4",
    "kube-controller-manager": "Kubernetes v1.36.4",
    "kube-scheduler": "Kubernetes v1.36.4",
    "kubectl": "Client Version: v1.36.4\nKustomize Version: v5.8.1",
    "prometheus": "prometheus, version 3.11.3 (branch: , revision: unknown)\n  go version: go1.26.8",
    "promtool": "promtool, version 3.11.3 (branch: , revision: unknown)\n  go version: go1.26.8",
}
FAMILY = {family.name: family for family in FAMILIES}


def write_script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


@dataclass(frozen=True)
class Ground:
    """A machine with nothing on it, to which a test adds what it needs."""

    root: Path

    @property
    def cache(self) -> Path:
        return self.root / "cache" / "toolchain"

    @property
    def on_path(self) -> Path:
        return self.root / "bin"

    @property
    def gate(self) -> Path:
        """A pipe: while it exists, building kwok waits until it can read from it."""
        return self.root / "gate"

    def places(self, folder: Path | None = None) -> Places:
        return Places.of(folder, self.environ())

    def environ(self) -> dict[str, str]:
        return {"PATH": str(self.on_path), "SCALETEST_CACHE": str(self.root / "cache"), "HOME": str(self.root)}

    def add(self, folder: Path, *names: str, **said: str) -> None:
        """Put programs into a folder; `said` changes what one tells, with underscores for dashes."""
        for name in names:
            told = shlex.quote(said.get(name.replace("-", "_"), SAID[name]))
            write_script(folder / name, f"echo asked {name} >> {self.root}/log\necho {told}")

    def add_all(self, folder: Path) -> None:
        self.add(folder, *SAID)

    def add_go(self, version: str = "go1.26.8", *, failing: str = "") -> None:
        """Put a Go on PATH; `failing` is a script that runs instead of building kwokctl, the second program."""
        self.add_all(self.root / "made")
        self.log.touch()
        write_script(
            self.on_path / "go",
            f"""
if [ "$1" = env ]; then
  echo '{{"GOVERSION": "{version}", "GOHOSTOS": "linux", "GOHOSTARCH": "amd64"}}'
  exit 0
fi
while [ "$1" != -o ]; do shift; done
name=${{2##*/}}
echo "built $name by $$" >> {self.root}/log
if [ "$name" = kwok ] && [ -p {self.gate} ]; then read line < {self.gate}; fi
if [ "$name" = kwokctl ]; then :
{failing}
fi
/bin/cp {self.root}/made/$name "$2"
""",
        )

    @property
    def log(self) -> Path:
        return self.root / "log"

    def logged(self, verb: str) -> list[str]:
        lines = (line.split() for line in self.log.read_text(encoding="utf-8").splitlines())
        return [name for said, name, *_ in lines if said == verb]

    def builder(self) -> int:
        """Return the process that builds kwok."""
        return int(self.log.read_text(encoding="utf-8").splitlines()[0].split()[-1])

    def cached(self) -> list[str]:
        """Return the families in the cache, and whatever else is there that should not be."""
        found = (path.name for path in self.cache.iterdir() if path.name != ".lock")
        return sorted(name.split("-")[0] for name in found if not name.startswith("bin-"))
