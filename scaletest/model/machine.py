"""A machine as the provider lists it: what it is, in which state, for which cluster and for whose demand."""

from dataclasses import dataclass, field
from enum import StrEnum

from scaletest.model.demand import INSTANCE_TYPE_KEY, ZONE_KEY
from scaletest.model.resources import Resources

__all__ = ["Attribution", "CapacityType", "Machine", "MachineState"]


class MachineState(StrEnum):
    """Where a machine is in its life; the four -ing states are transitional."""

    SPECULATIVE = "Speculative"
    CREATING = "Creating"
    IDLE = "Idle"
    CONFIGURING = "Configuring"
    CONFIGURED = "Configured"
    DRAINING = "Draining"
    DELETING = "Deleting"
    FAILED = "Failed"


class CapacityType(StrEnum):
    """How a machine is paid for, and so how long it may idle."""

    BARE_METAL = "BareMetal"
    RESERVED = "Reserved"
    ON_DEMAND = "OnDemand"
    SPOT = "Spot"


@dataclass(frozen=True, slots=True)
class Attribution:
    """Whose demand a machine was configured for; the provider stores it and echoes it verbatim."""

    need_fingerprint: str
    group: str = ""
    priority: int = 0
    interruption_penalty_uusd: int = 0
    reclamation_penalty_uusd: int = 0


@dataclass(frozen=True, slots=True)
class Machine:
    """One machine; `id` is stable through its whole life. Unbound machines have no cluster and no attribution."""

    id: str
    state: MachineState
    instance_type: str
    zone: str
    capacity_type: CapacityType
    allocatable: Resources
    labels: tuple[tuple[str, str], ...] = ()
    price_uusd_per_hour: int = 0
    interruption_ppm: int = 0
    cluster: str = ""
    attribution: Attribution | None = field(default=None)

    def label(self, key: str) -> str | None:
        """Return the machine's value of a label or topology key, or None."""
        if key == ZONE_KEY:
            return self.zone
        if key == INSTANCE_TYPE_KEY:
            return self.instance_type
        return next((value for name, value in self.labels if name == key), None)
