"""What a run will cost in memory and time on a substrate: estimates, printed as such."""

from dataclasses import dataclass
from math import log2

from scaletest.profile.substrate import Substrate

__all__ = ["Footprint", "HostSize", "footprint_of"]

_MIB = 1024 * 1024
_KIB = 1024


@dataclass(frozen=True, slots=True)
class HostSize:
    """The machine that a run would use."""

    vcpu: int
    memory_bytes: int
    python: str = ""

    @property
    def host_class(self) -> str:
        """Return what machines have in common that measure alike: cores, memory to a power of two, Python."""
        gibibytes = 1 << max(0, round(log2(max(1, self.memory_bytes) / (1024 * _MIB))))
        return f"{self.vcpu} cores, {gibibytes} GiB, Python {self.python or 'unknown'}"


@dataclass(frozen=True, slots=True)
class Footprint:
    """Estimated cost of a run."""

    memory_bytes: int
    setup_seconds: float
    soak_seconds: float
    host: HostSize

    @property
    def fits(self) -> bool:
        """Say whether the estimate is within the host's memory."""
        return self.memory_bytes <= self.host.memory_bytes


def footprint_of(
    substrate: Substrate, *, host: HostSize, clusters: int, pods: int, machines: int, replacements: int, span_us: int
) -> Footprint:
    """Estimate a run of so many clusters, Pods, machines and replacements; `span_us` is soak and linger."""
    cost = substrate.footprint
    memory = (
        cost.base_mebibytes * _MIB
        + cost.per_cluster_mebibytes * _MIB * clusters
        + cost.per_pod_kibibytes * _KIB * pods
        + cost.per_machine_kibibytes * _KIB * machines
    )
    work = cost.soak_seconds_per_thousand_replacements * replacements / 1000
    return Footprint(
        memory_bytes=round(memory),
        setup_seconds=cost.base_seconds
        + cost.per_cluster_seconds * clusters
        + cost.seed_seconds_per_thousand_pods * pods / 1000,
        soak_seconds=max(work, span_us / 1_000_000) if cost.real_time else work,
        host=HostSize(
            vcpu=substrate.host.vcpu or host.vcpu,
            memory_bytes=round(substrate.host.memory_gibibytes * 1024 * _MIB)
            if substrate.host.memory_gibibytes
            else host.memory_bytes,
        ),
    )
