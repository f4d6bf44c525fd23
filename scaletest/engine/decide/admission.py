"""What a machine's record must satisfy before it counts: bad records are refused one by one, with a reason."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from math import isfinite
from typing import Final, NamedTuple

from scaletest.model import (
    Attribution,
    CapacityType,
    Machine,
    MachineState,
    QuantityError,
    Resources,
    micro_usd,
)
from scaletest.model.attribution import read_attribution

__all__ = ["Fault", "Rejection", "fault_of", "read_machine"]

_PPM: Final = 1_000_000


class Fault(StrEnum):
    """Why a record was refused, as the rejection counter labels it."""

    PRICE = "price"
    PROBABILITY = "interruption_probability"
    QUANTITY = "quantity"
    STRUCTURE = "structural"


class Rejection(NamedTuple):
    """A refused record: the counter's label, and a sentence for people."""

    reason: Fault
    sentence: str


# A wrong type is as possible as a wrong value: records come from outside.
def _whole(value: object) -> bool:
    return type(value) is int


def fault_of(machine: Machine) -> Rejection | None:
    """Return what is wrong with a record, or None. Never raises."""
    price, chance, state = machine.price_uusd_per_hour, machine.interruption_ppm, machine.state
    # The good case is one expression: every record of the fleet goes through it.
    if (
        type(price) is int
        and price >= 0
        and type(chance) is int
        and 0 <= chance <= _PPM
        and type(state) is MachineState
        and bool(machine.cluster) is _BINDS[state]
        and machine.id.__class__ is str
        and machine.id
        and machine.labels.__class__ is tuple
        and type(machine.capacity_type) is CapacityType
        and (machine.attribution is None or machine.attribution.__class__ is Attribution)
        and _offers(machine.allocatable)
    ):
        return None
    return next((fault for check in _CHECKS if (fault := check(machine)) is not None), None)


_BINDS: Final = {
    state: state in {MachineState.CONFIGURING, MachineState.CONFIGURED, MachineState.DRAINING} for state in MachineState
}


def _offers(allocatable: object) -> bool:
    if type(allocatable) is not Resources:
        return False
    # A plain loop: every record of the fleet goes through it.
    for _, amount in allocatable.amounts:  # noqa: SIM110
        if type(amount) is not int or amount < 0:
            return False
    return True


def _bad_identity(machine: Machine) -> Rejection | None:
    if machine.id.__class__ is not str or not machine.id:
        return Rejection(Fault.STRUCTURE, "the record has no id")
    if machine.labels.__class__ is not tuple:
        return Rejection(Fault.STRUCTURE, f"{machine.labels!r} are not labels")
    if type(machine.capacity_type) is not CapacityType:
        return Rejection(Fault.STRUCTURE, f"{machine.capacity_type!r} is not a capacity type")
    if machine.attribution is not None and machine.attribution.__class__ is not Attribution:
        return Rejection(Fault.STRUCTURE, f"{machine.attribution!r} is not an attribution")
    if type(machine.state) is not MachineState:
        return Rejection(Fault.STRUCTURE, f"{machine.state!r} is not a state of a machine")
    return None


def _bad_price(machine: Machine) -> Rejection | None:
    if _whole(machine.price_uusd_per_hour) and machine.price_uusd_per_hour >= 0:
        return None
    return Rejection(Fault.PRICE, f"{machine.price_uusd_per_hour!r} is not a price of 0 or more")


def _bad_probability(machine: Machine) -> Rejection | None:
    if _whole(machine.interruption_ppm) and 0 <= machine.interruption_ppm <= _PPM:
        return None
    return Rejection(Fault.PROBABILITY, f"{machine.interruption_ppm!r} is not a probability in parts per million")


def _bad_amounts(machine: Machine) -> Rejection | None:
    if _offers(machine.allocatable):
        return None
    return Rejection(Fault.QUANTITY, f"{machine.allocatable!r} is not a vector of amounts of 0 or more")


def _bad_binding(machine: Machine) -> Rejection | None:
    if machine.state is MachineState.FAILED or bool(machine.cluster) is _BINDS[machine.state]:
        return None
    wrong = "belongs to no cluster" if _BINDS[machine.state] else f"belongs to {machine.cluster}"
    return Rejection(Fault.STRUCTURE, f"a machine in {machine.state} that {wrong}")


_CHECKS: Final[tuple[Callable[[Machine], Rejection | None], ...]] = (
    _bad_identity,
    _bad_price,
    _bad_probability,
    _bad_amounts,
    _bad_binding,
)


def read_machine(record: Mapping[str, object]) -> Machine | Rejection:
    """Read a record as a provider lists it: quantities as texts, dollars and probability as numbers. Never raises."""
    try:
        return _machine(record)
    except QuantityError as error:
        return Rejection(Fault.QUANTITY, str(error))
    except _PriceError:
        return Rejection(Fault.PRICE, f"{record.get('pricePerHour')!r} is not a price of 0 or more")
    except _ProbabilityError:
        return Rejection(Fault.PROBABILITY, f"{record.get('interruptionProbability')!r} is not in [0, 1]")
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        return Rejection(Fault.STRUCTURE, f"{type(error).__name__}: {error}")


class _PriceError(ValueError):
    pass


class _ProbabilityError(ValueError):
    pass


def _machine(record: Mapping[str, object]) -> Machine:
    metadata, resources, labels = (_texts(record, key) for key in ("shardMetadata", "resources", "labels"))
    machine = Machine(
        id=str(record["id"]),
        state=MachineState(str(record["state"])),
        instance_type=str(record.get("instanceType", "")),
        zone=str(record.get("zone", "")),
        capacity_type=CapacityType(str(record.get("capacityType", CapacityType.BARE_METAL))),
        allocatable=Resources.parse(resources),
        labels=tuple(sorted(labels.items())),
        price_uusd_per_hour=_number(record, "pricePerHour", _PriceError),
        interruption_ppm=_number(record, "interruptionProbability", _ProbabilityError),
        cluster=str(record.get("cluster", "")),
        attribution=_mark(metadata),
    )
    if (fault := fault_of(machine)) is not None:
        raise ValueError(fault.sentence)
    return machine


def _mark(metadata: Mapping[str, str]) -> Attribution | None:
    return read_attribution(metadata)[0] if metadata else None


def _texts(record: Mapping[str, object], key: str) -> dict[str, str]:
    found = record.get(key) or {}
    if not isinstance(found, Mapping):
        raise TypeError(f"{key} is not a map")
    return {str(name): str(value) for name, value in found.items()}


def _number(record: Mapping[str, object], key: str, error: type[ValueError]) -> int:
    value = record.get(key, 0)
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value) or value < 0:
        raise error(key)
    if error is _ProbabilityError and value > 1:
        raise error(key)
    # Dollars become micro-dollars and a probability parts per million by the same factor.
    return micro_usd(value)
