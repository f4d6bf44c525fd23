"""Machines in batches of equal records: thousands differ in nothing but their id, so one of them speaks for all."""

from collections.abc import Iterable
from operator import attrgetter
from typing import Final

from scaletest.model import Machine

__all__ = ["Batch", "batched"]

Batch = tuple[Machine, list[str], list[Machine]]
"""One machine that speaks for the batch, and all of them by id and record."""

_FIELDS: Final = attrgetter(
    "state._value_",
    "instance_type",
    "zone",
    "labels",
    "allocatable.amounts",
    "cluster",
    "price_uusd_per_hour",
    "interruption_ppm",
    "capacity_type._value_",
)
_MARK_FIELDS: Final = attrgetter(
    "need_fingerprint", "group", "priority", "interruption_penalty_uusd", "reclamation_penalty_uusd"
)


def batched(machines: Iterable[Machine]) -> list[Batch]:
    """Return machines in batches; a record that cannot be compared, or has no proper id, is a batch of its own."""
    batches: dict[object, Batch] = {}
    odd: list[Batch] = []
    for machine in machines:
        name, mark = machine.id, machine.attribution
        try:
            key = (_FIELDS(machine), mark and _MARK_FIELDS(mark))
            batch = batches.get(key)
        except (AttributeError, TypeError):
            odd.append((machine, [name], [machine]))
            continue
        if batch is None or name.__class__ is not str or not name:
            batch = (machine, [name], [machine])
            if name.__class__ is str and name:
                batches[key] = batch
            else:
                odd.append(batch)
        else:
            batch[1].append(name)
            batch[2].append(machine)
    return [*batches.values(), *odd]
