"""The fleet as decisions see it: machines in lots of interchangeable ones, kept up to date change by change.

Only the index is incremental; each cycle decides everything anew.
"""

from bisect import bisect_left, insort
from collections.abc import Iterable
from operator import attrgetter
from typing import Final

from scaletest.engine.decide.admission import Rejection, fault_of
from scaletest.engine.decide.batches import Batch, batched
from scaletest.engine.decide.lots import Cell, Lot, Pool, Shape
from scaletest.engine.decide.matching import PRESENT, presence_of
from scaletest.model import Machine, MachineState
from scaletest.model.demand import ZONE_KEY

__all__ = ["Fleet"]

_SHARED: Final = (MachineState.IDLE, MachineState.SPECULATIVE, MachineState.CREATING)
_SUPPLY: Final = (*_SHARED, MachineState.CONFIGURED, MachineState.CONFIGURING)
_LOT_FIELDS: Final = attrgetter("price_uusd_per_hour", "interruption_ppm", "capacity_type")
_MARK_FIELDS: Final = attrgetter(
    "need_fingerprint", "group", "priority", "interruption_penalty_uusd", "reclamation_penalty_uusd"
)
_ANY_TYPE: Final = ""
_NO_KEYS: Final[frozenset[str]] = frozenset()
_NO_MARK: Final = ("", "", 0, 0, 0)


class Fleet:
    """Every machine the provider lists, and the index over those that count as supply.

    The index is built by the first `refresh`, when it is known what profiles look at.

    A machine whose record makes no sense is refused with a reason; if a good record of it is known, that one stays.
    """

    def __init__(self, machines: Iterable[Machine] = (), *, now_us: int = 0) -> None:
        self.machines: dict[str, Machine] = {}
        self.idle_since_us: dict[str, int] = {}
        self.rejected: dict[str, Rejection] = {}
        self.rejections: dict[str, int] = {}
        self.shapes: dict[tuple[object, ...], Shape] = {}
        self.generation = 0
        """Changes when the whole index is built anew, so that whoever remembers pools or shapes forgets them."""
        self._places: dict[str, Lot] = {}
        self._pools: dict[tuple[str, str], Pool] = {}
        self._held: dict[str, tuple[Pool, Pool, Pool]] = {}
        self._visible: dict[str, frozenset[str]] = {}
        self._stale = {_ANY_TYPE}
        self._batches: list[Batch] = []
        """What was loaded at once, until the first change: the index is then built from a few hundred batches."""
        self._load(machines, now_us)

    def __len__(self) -> int:
        return len(self.machines)

    def pool(self, state: MachineState, cluster: str = "") -> Pool:
        """Return the pool of a state; a cluster is needed exactly for bound states."""
        # The plain text of a state hashes in C; the member itself hashes in Python, and this is asked constantly.
        key = (state._value_, cluster)
        found = self._pools.get(key)
        if found is None:
            found = self._pools[key] = Pool(state, cluster)
        return found

    def held(self, cluster: str) -> tuple[Pool, Pool, Pool]:
        """Return the pools that can be credited to a cluster: its Configured, its Configuring, and all Creating."""
        found = self._held.get(cluster)
        if found is None:
            configured, configuring = MachineState.CONFIGURED, MachineState.CONFIGURING
            found = self._held[cluster] = (
                self.pool(configured, cluster),
                self.pool(configuring, cluster),
                self.pool(MachineState.CREATING),
            )
        return found

    def pools(self, state: MachineState) -> list[Pool]:
        """Return every pool of a state, sorted by cluster."""
        return sorted((p for p in self._pools.values() if p.state is state), key=lambda pool: pool.cluster)

    def untake(self, states: tuple[MachineState, ...] = _SUPPLY) -> None:
        """Forget the claims of the cycle in some states."""
        for pool in self._pools.values():
            if pool.taken and pool.state in states:
                pool.untake()

    def apply(self, changed: Iterable[Machine] = (), *, removed: Iterable[str] = (), now_us: int = 0) -> None:
        """Take over changed and removed records; a machine that enters Idle is stamped with this instant."""
        self._batches = []
        for machine_id in removed:
            self._forget(machine_id)
        for machine in changed:
            if self._admitted(machine):
                self._unplace(machine.id)
                self._store(machine, now_us)
                lot = None if self._stale_for(machine) else self._lot_of(machine)
                if lot is not None:
                    insort(lot.ids, machine.id)
                    self._count(lot, machine.id)

    def see(self, types: Iterable[str] | None, keys: frozenset[str]) -> None:
        """Make label keys visible on some instance types, or on all. Only visible labels tell machines apart."""
        for kind in (_ANY_TYPE,) if types is None else types:
            known = self._visible.get(kind, _NO_KEYS)
            if not keys <= known:
                self._visible[kind] = known | keys
                self._stale.add(kind)

    def refresh(self) -> None:
        """Index what is not indexed yet, or shows more than it did: the machines of some types, or all."""
        if not self._stale:
            return
        self.generation += 1
        batches = self._batches or batched(self.machines.values())
        if _ANY_TYPE in self._stale:
            self.shapes.clear()
            self._pools.clear()
            self._held.clear()
            self._places.clear()
        else:
            batches = [batch for batch in batches if batch[0].instance_type in self._stale]
            self._take_out(self._stale)
        self._stale = set()
        self._place_all(batches)

    def _take_out(self, types: set[str]) -> None:
        """Empty the index of all machines of some types."""
        self.shapes = {key: shape for key, shape in self.shapes.items() if shape.instance_type not in types}
        for pool in self._pools.values():
            for shape in [shape for shape in pool.cells if shape.instance_type in types]:
                cell = pool.cells.pop(shape)
                pool.count -= cell.count
                for lot in tuple(cell.lots.values()):
                    self._disown(lot)

    def _load(self, machines: Iterable[Machine], now_us: int) -> None:
        """Take in a whole fleet at once; one record of a batch is checked for all of them."""
        total = 0
        for batch in batched(machines):
            first, names, members = batch[0], batch[1], batch[2]
            if fault_of(first) is None:
                self.machines.update(zip(names, members, strict=True))
                total += len(names)
                if first.state is MachineState.IDLE:
                    self.idle_since_us.update(dict.fromkeys(names, now_us))
                self._batches.append(batch)
            else:
                for machine in members:
                    self._admitted(machine)
        if total != len(self.machines):
            # An id was listed twice: the last record stands, and batches are made from what was kept.
            kept, self._batches = list(self.machines.values()), []
            self.idle_since_us = {m.id: now_us for m in kept if m.state is MachineState.IDLE}

    def _place_all(self, batches: Iterable[Batch]) -> None:
        lots: list[Lot] = []
        for machine, names, _ in batches:
            lot = self._lot_of(machine)
            if lot is not None:
                lot.ids += names
                lots.append(lot)
        for lot in dict.fromkeys(lots):
            lot.ids.sort()
            lot.cell.count += len(lot.ids)
            lot.cell.pool.count += len(lot.ids)
            self._places.update(dict.fromkeys(lot.ids, lot))

    def _count(self, lot: Lot, machine_id: str) -> None:
        self._places[machine_id] = lot
        lot.holding.viewer = None
        lot.cell.count += 1
        lot.cell.pool.count += 1

    def _admitted(self, machine: Machine) -> bool:
        fault = fault_of(machine)
        if fault is None:
            if self.rejected:
                self.rejected.pop(machine.id, None)
            return True
        self.rejected[str(machine.id)] = fault
        self.rejections[fault.reason] = self.rejections.get(fault.reason, 0) + 1
        return False

    def _store(self, machine: Machine, now_us: int) -> None:
        if machine.state is MachineState.IDLE:
            before = self.machines.get(machine.id)
            if before is None or before.state is not MachineState.IDLE:
                self.idle_since_us[machine.id] = now_us
        else:
            self.idle_since_us.pop(machine.id, None)
        self.machines[machine.id] = machine

    def _forget(self, machine_id: str) -> None:
        self.rejected.pop(machine_id, None)
        if self.machines.pop(machine_id, None) is not None:
            self.idle_since_us.pop(machine_id, None)
            self._unplace(machine_id)

    def _unplace(self, machine_id: str) -> None:
        lot = self._places.pop(machine_id, None)
        if lot is None:
            return
        del lot.ids[bisect_left(lot.ids, machine_id)]
        lot.holding.viewer = None
        lot.cell.count -= 1
        lot.cell.pool.count -= 1
        if not lot.ids:
            self._drop(lot)

    def _lot_of(self, machine: Machine) -> Lot | None:
        state = machine.state
        if state not in _SUPPLY:
            return None
        # What an unbound machine was once used for must not tell it from its neighbours.
        marked = machine.attribution is not None and state not in {MachineState.IDLE, MachineState.SPECULATIVE}
        mark = _MARK_FIELDS(machine.attribution) if marked else _NO_MARK
        pool = self.pool(state, "" if state in _SHARED else machine.cluster)
        cell = self._cell(pool, self._shape_of(machine))
        terms = _LOT_FIELDS(machine)
        lot = cell.lots.get((terms, mark))
        if lot is None:
            lot = cell.lots[terms, mark] = Lot(cell, terms, mark)
        return lot

    def _cell(self, pool: Pool, shape: Shape) -> Cell:
        cell = pool.cells.get(shape)
        if cell is None:
            cell = pool.cells[shape] = Cell(pool, shape)
            pool.version += 1
        return cell

    def _drop(self, lot: Lot) -> None:
        mark = (lot.fingerprint, lot.group, lot.priority, lot.interruption_uusd, lot.reclamation_uusd)
        del lot.cell.lots[(lot.price_uusd, lot.interruption_ppm, lot.capacity_type), mark]
        self._disown(lot)

    def _disown(self, lot: Lot) -> None:
        holding = lot.holding
        holding.viewer = None
        holding.taken -= lot.taken
        if lot.fingerprint:
            holding.lots.remove(lot)
            if not holding.lots:
                del holding.pool.owners[lot.fingerprint][lot.group]

    def _stale_for(self, machine: Machine) -> bool:
        return bool(self._stale) and (_ANY_TYPE in self._stale or machine.instance_type in self._stale)

    def _shape_of(self, machine: Machine) -> Shape:
        seen = self._visible.get(machine.instance_type, _NO_KEYS) | self._visible.get(_ANY_TYPE, _NO_KEYS)
        labels = tuple(
            [
                pair if pair[0] in seen else (pair[0], PRESENT)
                for pair in machine.labels
                if pair[0] in seen or presence_of(pair[0]) in seen
            ]
        )
        zone = machine.zone if ZONE_KEY in seen else ""
        key = (machine.instance_type, zone, labels, machine.allocatable.amounts)
        shape = self.shapes.get(key)
        if shape is None:
            shape = self.shapes[key] = Shape(
                instance_type=machine.instance_type,
                zone=zone,
                labels=labels,
                allocatable=machine.allocatable,
            )
        return shape
