"""What the processes of one run must agree on, as a file in the run's folder."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from scaletest.world.kwok.api import Access

__all__ = ["ClusterAccess", "RunSpec"]


@dataclass(frozen=True, slots=True)
class ClusterAccess:
    """A cluster's name and its way in; credentials stay in their files."""

    name: str
    server: str
    ca: str
    cert: str
    key: str

    @property
    def access(self) -> Access:
        """Return the way in as the world wants it."""
        return Access(self.server, Path(self.ca), Path(self.cert), Path(self.key))


@dataclass(frozen=True, slots=True)
class RunSpec:
    """One run: its folder, the zero of its clock, its clusters and the ports of its processes."""

    folder: str
    zero_ns: int
    clusters: tuple[ClusterAccess, ...]
    driver_port: int
    engine_port: int

    @property
    def driver_url(self) -> str:
        """Return where the driver and the provider answer."""
        return f"http://127.0.0.1:{self.driver_port}"

    @property
    def engine_url(self) -> str:
        """Return where the engine answers."""
        return f"http://127.0.0.1:{self.engine_port}"

    def write(self, path: Path) -> None:
        """Write the file."""
        path.write_text(json.dumps(asdict(self), indent=2) + "\n", encoding="utf-8")

    @classmethod
    def read(cls, path: Path) -> "RunSpec":
        """Read the file."""
        values = json.loads(path.read_text(encoding="utf-8"))
        values["clusters"] = tuple(ClusterAccess(**each) for each in values["clusters"])
        return cls(**values)
