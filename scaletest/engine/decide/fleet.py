"""The fleet as decisions see it: machines in lots of interchangeable ones, kept up to date change by change.

Only the index is incremental; what a cycle may keep of the last one is said in `settled.py`.
"""

from collections import defaultdict
from collections.abc import Container, Iterable
from typing import Final

from scaletest.engine.decide.admission import Fault, Rejection, fault_of
from scaletest.engine.decide.batches import Batch, Record, batched, record_of
from scaletest.engine.decide.lots import NO_MARK, Look, Lot, Make, Mark, Pool, Shape, Terms
from scaletest.engine.decide.matching import PRESENT, presence_of
from scaletest.model import Machine, MachineState, Resources
from scaletest.model.demand import INSTANCE_TYPE_KEY, ZONE_KEY

__all__ = ["Fleet"]

_SUPPLY: Final = (
    MachineState.IDLE,
    MachineState.SPECULATIVE,
    MachineState.CREATING,
    MachineState.CONFIGURED,
    MachineState.CONFIGURING,
)
_ANY_TYPE: Final = ""
_NO_KEYS: Final[frozenset[str]] = frozenset()
_TYPE_ONLY: Final = frozenset({INSTANCE_TYPE_KEY})
# The plain text of a state hashes in C; the member itself hashes in Python, and this is asked constantly.
_SUPPLY_TEXTS: Final = frozenset(state._value_ for state in _SUPPLY)
_UNBOUND: Final = frozenset({MachineState.IDLE._value_, MachineState.SPECULATIVE._value_})
_MOST_LOOKS: Final = 65_536


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
        self.shapes: dict[tuple[Make, Look], Shape] = {}
        """By what is visible of a look."""
        self.generation = 0
        """Changes when the whole index is built anew, so that whoever remembers pools or shapes forgets them."""
        self.untaken = 0
        """How often claims were forgotten, so that whoever keeps some notices others who claim."""
        self._looks: dict[Make, dict[Look, Shape]] = defaultdict(dict)
        self._pools: dict[tuple[str, str], Pool] = {}
        self._held: dict[str, tuple[Pool, Pool, Pool]] = {}
        self._visible: dict[str, frozenset[str]] = {}
        self._stale = {_ANY_TYPE}
        self._batches: list[Batch] = []
        """What was loaded at once, until the first change: the index is then built from batches."""
        self._sizes: dict[Make, Resources] = {}
        """What machines of a type have ever been seen to offer."""
        self._load(machines, now_us)

    def __len__(self) -> int:
        return len(self.machines)

    def pool(self, state: MachineState, cluster: str = "") -> Pool:
        """Return the pool of a state; a cluster is needed exactly for bound states."""
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

    def untake(self, states: tuple[MachineState, ...] = _SUPPLY, *, but: Container[str] = ()) -> None:
        """Forget the claims of the cycle in some states, `but` those on machines of some clusters."""
        self.untaken += 1
        for pool in self._pools.values():
            if pool.taken and pool.state in states and pool.cluster not in but:
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
                self._place(machine)

    def makes_holding(self, amounts: Resources) -> frozenset[Make]:
        """Return the makes, of all that were ever seen, of which one machine is large enough."""
        return frozenset(make for make, size in self._sizes.items() if size.covers(amounts))

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
        batches = self._batches or batched(tuple(self.machines.values())).batches
        if _ANY_TYPE in self._stale:
            self.shapes.clear()
            self._pools.clear()
            self._held.clear()
        else:
            batches = [batch for batch in batches if batch.record[0] in self._stale]
            self._take_out(self._stale)
        self._looks.clear()
        self._stale = set()
        self._place_all(batches)

    def _take_out(self, types: set[str]) -> None:
        """Empty the index of all machines of some types."""
        self.shapes = {key: shape for key, shape in self.shapes.items() if shape.instance_type not in types}
        for pool in self._pools.values():
            for cell in pool.without(sorted(types)):
                pool.count -= cell.count
                for lot in tuple(cell.lots.values()):
                    self._disown(lot)

    def _load(self, machines: Iterable[Machine], now_us: int) -> None:
        """Take in a whole fleet at once; one record of a batch is checked for all of them."""
        listed = tuple(machines)
        listing = batched(listed)
        if listing.odd:
            # Rare enough to look at every record: refuse what makes no sense, and let the last good one of an id stand.
            good = {machine.id: machine for machine in listed if self._admitted(machine)}
            listing = batched(tuple(good.values()))
        self.machines = listing.machines
        for batch in listing.batches:
            first = batch.machines[0]
            if fault_of(first) is None:
                self._batches.append(batch)
                self._sizes[first.instance_type, first.allocatable.amounts] = first.allocatable
                if first.state is MachineState.IDLE:
                    self.idle_since_us.update(dict.fromkeys(batch.names(), now_us))
            else:
                for machine in batch.machines:
                    del self.machines[machine.id]
                    self._admitted(machine)

    def _place_all(self, batches: Iterable[Batch]) -> None:
        for batch in batches:
            if batch.record[2] in _SUPPLY_TEXTS:
                pool, terms, mark = self._home_of(batch.record)
                for shape, names in self._by_shape(batch):
                    pool.lot(shape, terms, mark).fill(names)

    def _by_shape(self, batch: Batch) -> Iterable[tuple[Shape, list[str]]]:
        """Return a batch's machines by what shows of them."""
        make = batch.record[:2]
        if self._seen(make[0]) <= _TYPE_ONLY:
            return ((self._shape_of(make, ("", ())), batch.names()),)
        looks = self._looks[make]
        parts: dict[Shape, list[str]] = defaultdict(list)
        for machine in batch.machines:
            look = (machine.zone, machine.labels)
            parts[looks.get(look) or self._shape_of(make, look)].append(machine.id)
        return parts.items()

    def _place(self, machine: Machine) -> None:
        lot = self._lot_for(machine)
        if lot is not None:
            lot.add(machine.id)

    def _unplace(self, machine_id: str) -> None:
        """Take a machine out of the lot that its last record put it in."""
        machine = self.machines.get(machine_id)
        lot = None if machine is None else self._lot_for(machine)
        if lot is not None:
            lot.remove(machine_id)
            if not lot.count:
                self._drop(lot)

    def _lot_for(self, machine: Machine) -> Lot | None:
        """Return the lot of a machine; None if it is no supply, or its type is going to be indexed anew."""
        if machine.state._value_ not in _SUPPLY_TEXTS or self._stale_for(machine):
            return None
        record = record_of(machine)
        pool, terms, mark = self._home_of(record)
        return pool.lot(self._shape_of(record[:2], (machine.zone, machine.labels)), terms, mark)

    def _admitted(self, machine: Machine) -> bool:
        fault = fault_of(machine) or _incomparable(machine)
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
        self._sizes[machine.instance_type, machine.allocatable.amounts] = machine.allocatable

    def _forget(self, machine_id: str) -> None:
        self.rejected.pop(machine_id, None)
        self._unplace(machine_id)
        if self.machines.pop(machine_id, None) is not None:
            self.idle_since_us.pop(machine_id, None)

    def _home_of(self, record: Record) -> tuple[Pool, Terms, Mark]:
        """Return where machines of a record belong, whatever their shape."""
        state, cluster = record[2], record[3] or ""
        pool = self._pools.get((state, cluster)) or self.pool(MachineState(state), cluster)
        # What an unbound machine was once used for must not tell it from its neighbours.
        return pool, record[4:7], NO_MARK if state in _UNBOUND else record[7:]

    def _drop(self, lot: Lot) -> None:
        del lot.cell.lots[lot.terms, lot.mark]
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

    def _shape_of(self, make: Make, look: Look) -> Shape:
        """Return the shape that shows of a look."""
        looks = self._looks[make]
        known = looks.get(look)
        if known is not None:
            return known
        zone, labels = look
        seen = self._seen(make[0])
        shown = tuple(
            [
                pair if pair[0] in seen else (pair[0], PRESENT)
                for pair in labels
                if pair[0] in seen or presence_of(pair[0]) in seen
            ]
        )
        visible = (make, (zone if ZONE_KEY in seen else "", shown))
        shape = self.shapes.get(visible)
        if shape is None:
            shape = self.shapes[visible] = Shape(*visible)
        if len(looks) >= _MOST_LOOKS:
            looks.clear()
        looks[look] = shape
        return shape

    def _seen(self, instance_type: str) -> frozenset[str]:
        return self._visible.get(instance_type, _NO_KEYS) | self._visible.get(_ANY_TYPE, _NO_KEYS)


def _incomparable(machine: Machine) -> Rejection | None:
    try:
        hash((record_of(machine), machine.labels))
    except TypeError:
        return Rejection(Fault.STRUCTURE, "the record holds something that cannot be compared")
    return None
