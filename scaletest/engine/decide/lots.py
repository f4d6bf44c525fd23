"""Machines in lots of interchangeable ones: the pieces of the fleet's index.

A lot holds machines that no live profile, price or attribution can tell apart, sorted by id. Every walk of the rules
takes machines of a lot in id order, so what is claimed of a lot is always a prefix, and one number (`taken`) stands
for the claims of a cycle.
"""

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from scaletest.engine.decide.values import Choice
from scaletest.engine.decide.vectors import Place
from scaletest.model import CapacityType, MachineState, Resources
from scaletest.model.demand import INSTANCE_TYPE_KEY, ZONE_KEY

__all__ = [
    "NO_MARK",
    "Amounts",
    "Cell",
    "Claim",
    "Holding",
    "Labels",
    "Look",
    "Lot",
    "Make",
    "Mark",
    "Pool",
    "Shape",
    "Sight",
    "Terms",
]

Labels = tuple[tuple[str, str], ...]
Amounts = tuple[tuple[str, int], ...]
Make = tuple[str, Amounts]
"""Instance type and what it offers."""
Look = tuple[str, Labels]
"""Zone and labels."""
Terms = tuple[int, int, str]
"""Price, risk and how it is paid for."""
Mark = tuple[str, str, int, int, int]
"""Whose machine it is: fingerprint, group, priority and the two penalties."""
NO_MARK: Final[Mark] = ("", "", 0, 0, 0)


class Shape:
    """What requirements can see of a machine, and what it offers."""

    __slots__ = ("allocatable", "instance_type", "labels", "zone")

    def __init__(self, make: Make, look: Look) -> None:
        self.instance_type, amounts = make
        self.zone, self.labels = look
        self.allocatable = Resources(amounts)

    def label(self, key: str) -> str | None:
        """Return the value of a label or topology key, or None."""
        if key == ZONE_KEY:
            return self.zone
        if key == INSTANCE_TYPE_KEY:
            return self.instance_type
        return next((value for name, value in self.labels if name == key), None)


class Lot:
    """Interchangeable machines of one cell: same price, same risk, same attribution."""

    __slots__ = (
        "_ids", "_sorted", "cell", "count", "fingerprint", "group", "holding", "interruption_ppm", "interruption_uusd",
        "keep", "mark", "price_uusd", "priority", "reclamation_uusd", "taken", "terms",
    )  # fmt: skip

    def __init__(self, cell: "Cell", terms: Terms, mark: Mark) -> None:
        self.cell = cell
        self.terms, self.mark = terms, mark
        self.price_uusd, self.interruption_ppm, _ = terms
        self.fingerprint, self.group, self.priority, self.interruption_uusd, self.reclamation_uusd = mark
        self.keep = (self.price_uusd, -self.reclamation_uusd)
        self.holding = cell.pool.holding(self.fingerprint, self.group)
        if self.fingerprint:
            self.holding.lots.append(self)
        self.count = 0
        self.taken = 0
        self._ids: list[str] = []
        self._sorted = True

    @property
    def capacity_type(self) -> CapacityType:
        """Return how its machines are paid for."""
        return CapacityType(self.terms[2])

    @property
    def ids(self) -> list[str]:
        """Return the machines, sorted."""
        if not self._sorted:
            self._ids.sort()
            self._sorted = True
        return self._ids

    def fill(self, names: list[str]) -> None:
        """Add many machines; they are sorted when somebody looks, because most of a fleet is not looked at."""
        self._ids += names
        self._sorted = False
        self._grow(len(names))

    def add(self, name: str) -> None:
        """Add one machine."""
        insort(self.ids, name)
        self._grow(1)

    def remove(self, name: str) -> None:
        """Remove one machine, which is there."""
        del self.ids[bisect_left(self.ids, name)]
        self._grow(-1)

    def _grow(self, machines: int) -> None:
        self.count += machines
        self.cell.count += machines
        pool = self.cell.pool
        pool.count += machines
        pool.changes += 1
        self.holding.viewer = None

    def take(self, count: int) -> None:
        """Claim the next `count` machines for this cycle."""
        cell = self.cell
        self.taken += count
        self.holding.taken += count
        cell.taken += count
        cell.pool.taken += count


Claim = tuple[Lot, int, int]
"""Machines of a lot, from one place in it up to another."""


class Sight(NamedTuple):
    """What one view sees in a holding whose machines are all of one kind and in one domain."""

    place: Place
    machines: int
    claims: list[Claim]
    names: tuple[str, ...]
    choice: Choice


class Holding:
    """A pool's machines that were configured for one row. What is configured for nobody is not listed."""

    __slots__ = ("lots", "pool", "seen", "taken", "viewer")

    def __init__(self, pool: "Pool") -> None:
        self.pool = pool
        self.lots: list[Lot] = []
        self.taken = 0
        self.viewer: object = None
        """Who looked last, until a machine comes or goes."""
        self.seen: Sight | None = None

    def take_all(self) -> None:
        """Claim every machine, none of which is claimed yet."""
        for lot in self.lots:
            count = lot.taken = lot.count
            lot.cell.taken += count
            self.taken += count
        self.pool.taken += self.taken


class Cell:
    """All machines of one shape in one pool."""

    __slots__ = ("count", "lots", "pool", "shape", "taken")

    def __init__(self, pool: "Pool", shape: Shape) -> None:
        self.pool = pool
        self.shape = shape
        self.lots: dict[tuple[Terms, Mark], Lot] = {}
        self.count = 0
        self.taken = 0


class Pool:
    """All machines in one state: of one cluster if the state binds them, of the whole fleet if it does not."""

    __slots__ = (
        "cells", "cells_by_type", "changes", "cluster", "count", "owners", "state", "taken", "version",
    )  # fmt: skip

    def __init__(self, state: MachineState, cluster: str) -> None:
        self.state = state
        self.cluster = cluster
        self.cells: dict[Shape, Cell] = {}
        self.cells_by_type: dict[str, list[Cell]] = {}
        self.owners: dict[str, dict[str, Holding]] = {}
        self.count = 0
        self.taken = 0
        self.changes = 0
        """How often machines have come or gone."""
        self.version = 0
        """Changes when a cell is added: what a profile can see of this pool must be looked up again."""

    def lot(self, shape: Shape, terms: Terms, mark: Mark) -> Lot:
        """Return the lot of a shape, terms and mark, an empty one if need be."""
        cell = self.cells.get(shape) or self._new_cell(shape)
        lot = cell.lots.get((terms, mark))
        if lot is None:
            lot = cell.lots[terms, mark] = Lot(cell, terms, mark)
        return lot

    def _new_cell(self, shape: Shape) -> Cell:
        cell = self.cells[shape] = Cell(self, shape)
        self.cells_by_type.setdefault(shape.instance_type, []).append(cell)
        self.version += 1
        return cell

    def without(self, types: Iterable[str]) -> list[Cell]:
        """Drop the cells of some instance types, and return them."""
        cells = [cell for kind in types for cell in self.cells_by_type.pop(kind, ())]
        for cell in cells:
            del self.cells[cell.shape]
        return cells

    def holding(self, fingerprint: str, group: str) -> Holding:
        """Return what was configured for one row."""
        groups = self.owners.setdefault(fingerprint, {})
        found = groups.get(group)
        if found is None:
            found = groups[group] = Holding(self)
        return found

    def lots(self) -> Iterator[Lot]:
        """Walk every lot that has machines."""
        return (lot for cell in self.cells.values() for lot in cell.lots.values())

    def untake(self) -> None:
        """Forget the claims of the cycle."""
        self.taken = 0
        for cell in self.cells.values():
            if cell.taken:
                cell.taken = 0
                for lot in cell.lots.values():
                    lot.taken = lot.holding.taken = 0
