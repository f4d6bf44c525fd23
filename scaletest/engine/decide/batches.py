"""Machines in batches of records that differ in nothing but id, zone and labels, so that one of them speaks for all.

Which labels matter is known only when demand is; until then zone and labels are not even read.
"""

from collections.abc import Sequence
from typing import NamedTuple

from scaletest.engine.decide.lots import NO_MARK, Amounts, Look, Mark, Terms
from scaletest.model import Machine

__all__ = ["Batch", "Listing", "Record", "batched", "look_of", "record_of"]


class Batch(NamedTuple):
    """A record, and the machines that all have it, by id and whole."""

    record: "Record"
    names: list[str]
    machines: list[Machine]


class Listing(NamedTuple):
    """A list of machines by id and in batches. If something is odd about it, neither can be relied on."""

    machines: dict[str, Machine]
    batches: list[Batch]
    odd: bool


Record = tuple[str, Amounts, Terms, str, str, Mark]
"""Instance type and what it offers, terms, state, cluster and mark."""


def record_of(machine: Machine) -> Record:
    """Return a machine's record in the parts that the index tells machines apart by."""
    # Written out, because it is read for every machine of a fleet: `attrgetter` takes half as long again. The plain
    # text of an enum's member hashes in C, the member itself in Python.
    whose = machine.attribution
    return (
        machine.instance_type,
        machine.allocatable.amounts,
        (machine.price_uusd_per_hour, machine.interruption_ppm, machine.capacity_type._value_),
        machine.state._value_,
        machine.cluster,
        NO_MARK
        if whose is None
        else (
            whose.need_fingerprint,
            whose.group,
            whose.priority,
            whose.interruption_penalty_uusd,
            whose.reclamation_penalty_uusd,
        ),
    )


def look_of(machine: Machine) -> Look:
    """Return what requirements could see of a machine if every label were visible, and what it offers."""
    return machine.instance_type, machine.zone, machine.labels, machine.allocatable.amounts


def batched(machines: Sequence[Machine]) -> Listing:
    """Return machines in batches; odd are records that cannot be compared, have no proper id, or share one."""
    listed: dict[str, Machine] = {}
    batches: dict[Record, Batch] = {}
    for machine in machines:
        name = machine.id
        try:
            record = record_of(machine)
            batch = batches.get(record)
        except (AttributeError, TypeError):
            return Listing(listed, [], odd=True)
        if name.__class__ is not str or not name or machine.labels.__class__ is not tuple:
            return Listing(listed, [], odd=True)
        if batch is None:
            batch = batches[record] = Batch(record, [], [])
        listed[name] = machine
        batch[1].append(name)
        batch[2].append(machine)
    return Listing(listed, list(batches.values()), odd=len(listed) != len(machines))
