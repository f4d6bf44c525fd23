"""Machines in batches of equal records: thousands differ in nothing but their id, so one of them speaks for all."""

from collections.abc import Sequence
from typing import NamedTuple

from scaletest.engine.decide.lots import NO_MARK, Look, Mark, Terms
from scaletest.model import Machine

__all__ = ["Batch", "Listing", "Record", "batched", "record_of"]

Record = tuple[Look, Terms, str, str, Mark]
"""Everything in a machine's record but its id: look, terms, state, cluster and mark."""


Batch = tuple[Record, list[str]]
"""A record, and the machines that all have it."""


class Listing(NamedTuple):
    """A list of machines by id and in batches. If something is odd about it, neither can be relied on."""

    machines: dict[str, Machine]
    batches: list[Batch]
    odd: bool


def record_of(machine: Machine) -> Record:
    """Return a machine's record in the parts that the index tells machines apart by."""
    # Written out, because it is read for every machine of a fleet: `attrgetter` takes half as long again. The plain
    # text of an enum's member hashes in C, the member itself in Python.
    whose = machine.attribution
    return (
        (machine.instance_type, machine.zone, machine.labels, machine.allocatable.amounts),
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


def batched(machines: Sequence[Machine]) -> Listing:
    """Return machines in batches; odd are records that cannot be compared, have no proper id, or share one."""
    listed: dict[str, Machine] = {}
    batches: dict[Record, list[str]] = {}
    for machine in machines:
        name = machine.id
        try:
            record = record_of(machine)
            names = batches.get(record)
        except (AttributeError, TypeError):
            return Listing(listed, [], odd=True)
        if name.__class__ is not str or not name:
            return Listing(listed, [], odd=True)
        listed[name] = machine
        if names is None:
            batches[record] = [name]
        else:
            names.append(name)
    return Listing(listed, list(batches.items()), odd=len(listed) != len(machines))
