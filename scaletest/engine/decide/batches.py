"""Machines in batches of records that differ in nothing but id, zone and labels, so that one of them speaks for all.

Which labels matter is known only when demand is; until then zone and labels are not even read.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from scaletest.engine.decide.lots import NO_MARK, Amounts
from scaletest.model import Machine

__all__ = ["Batch", "Listing", "Record", "batched", "record_of"]


class Batch(NamedTuple):
    """A record, and the machines that all have it."""

    record: "Record"
    machines: list[Machine]

    def names(self) -> list[str]:
        """Return the machines' ids."""
        return [machine.id for machine in self.machines]


class Listing(NamedTuple):
    """A list of machines by id and in batches. If something is odd about it, neither can be relied on."""

    machines: dict[str, Machine]
    batches: list[Batch]
    odd: bool


Record = tuple[str, Amounts, str, str, int, int, str, str, str, int, int, int]
"""Instance type and what it offers, state, cluster, the three terms and the five parts of the mark."""


def record_of(machine: Machine) -> Record:
    """Return a machine's record in the parts that the index tells machines apart by."""
    # Flat and written out, because it is read for every machine of a fleet: terms and mark as tuples of their own take
    # a third longer, `attrgetter` half as long again. The plain text of an enum's member hashes in C, the member itself
    # in Python.
    whose = machine.attribution
    if whose is None:
        return (
            machine.instance_type,
            machine.allocatable.amounts,
            machine.state._value_,
            machine.cluster,
            machine.price_uusd_per_hour,
            machine.interruption_ppm,
            machine.capacity_type._value_,
            *NO_MARK,
        )
    return (
        machine.instance_type,
        machine.allocatable.amounts,
        machine.state._value_,
        machine.cluster,
        machine.price_uusd_per_hour,
        machine.interruption_ppm,
        machine.capacity_type._value_,
        whose.need_fingerprint,
        whose.group,
        whose.priority,
        whose.interruption_penalty_uusd,
        whose.reclamation_penalty_uusd,
    )


def batched(machines: Sequence[Machine]) -> Listing:
    """Return machines in batches; odd are records that cannot be compared, have no proper id, or share one."""
    listed: dict[str, Machine] = {}
    batches: dict[Record, list[Machine]] = defaultdict(list)
    # One walk per question: a walk that asks everything at once takes half as long again, for want of cache.
    try:
        listed = {machine.id: machine for machine in machines}
        for machine in machines:
            batches[record_of(machine)].append(machine)
        labelled = {type(machine.labels) for machine in machines}
    except (AttributeError, TypeError):
        return Listing(listed, [], odd=True)
    odd = len(listed) != len(machines) or "" in listed or not {*map(type, listed)} <= {str} or not labelled <= {tuple}
    return Listing(listed, [Batch(record, found) for record, found in batches.items()], odd=odd)
