"""The machines as the engine knows them between cycles: the fleet, and on top of it what has changed since.

The provider is the truth. A record of ours differs from what it last said only while an action is in flight on the
machine; an action that ends without an answer puts back what the provider last said.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final, NamedTuple

from scaletest.engine.decide import Fleet
from scaletest.engine.decide.admission import fault_of
from scaletest.engine.metrics import EngineMetrics
from scaletest.model import Attribution, Machine, MachineState
from scaletest.model.attribution import read_attribution
from scaletest.model.lifecycle import BOUND_STATES
from scaletest.ports.provider import Listing

__all__ = ["Inventory", "Moved"]

_MARKED: Final = (MachineState.CREATING, *BOUND_STATES)

Moved = Callable[[Machine | None, Machine | None], None]
"""Told of every change of a record: what it was, what it is."""


class _Said(NamedTuple):
    """A machine as a listing had it, None when it was gone; `anew` when it was gone in between."""

    machine: Machine | None
    metadata: Mapping[str, str]
    anew: bool = False


_GONE: Final = _Said(None, {}, anew=True)


class Inventory:
    """Every machine exactly once, with the provider's state or the one an action in flight is about to bring."""

    def __init__(self, fleet: Fleet, *, metrics: EngineMetrics, moved: Moved) -> None:
        self._fleet = fleet
        self._metrics = metrics
        self._moved = moved
        self._changed: dict[str, Machine] = {}
        self._removed: dict[str, None] = {}
        self._busy: dict[str, Machine | None] = {}
        """Machines with an action in flight, and what the provider last answered or listed before it."""
        self._settled: dict[str, None] = {}
        """Machines whose action ended while a listing was on its way: it may be older than the answer."""
        self._withheld: dict[str, _Said] = {}
        """What listings said about machines while they were busy."""
        self._marks: dict[tuple[tuple[str, str], ...], Attribution] = {}

    def get(self, machine: str) -> Machine | None:
        """Return a machine's record."""
        found = self._changed.get(machine)
        if found is not None or machine in self._removed:
            return found
        return self._fleet.machines.get(machine)

    def put(self, machine: Machine) -> bool:
        """Take over a record; say whether it makes sense. One that does not is refused and counted."""
        fault = fault_of(machine)
        if fault is not None:
            self._metrics.rejected[fault.reason] += 1
            return False
        self._moved(self.get(machine.id), machine)
        self._removed.pop(machine.id, None)
        self._changed[machine.id] = machine
        return True

    def take_changes(self) -> tuple[tuple[Machine, ...], tuple[str, ...]]:
        """Return what changed and what is gone since this was last asked; the fleet must apply it at once."""
        changed, removed = tuple(self._changed.values()), tuple(self._removed)
        self._changed, self._removed = {}, {}
        return changed, removed

    # --- actions

    @property
    def busy(self) -> int:
        """Return how many machines have an action in flight."""
        return len(self._busy)

    def is_busy(self, machine: str) -> bool:
        """Say whether an action is in flight on a machine."""
        return machine in self._busy

    def begin(self, machine: str) -> None:
        """Note that an action is in flight on a machine."""
        self._busy[machine] = self.get(machine)

    def answered(self, machine: Machine) -> bool:
        """Take over what the provider answered to an action in flight; say whether it makes sense."""
        if not self.put(machine):
            return False
        self._busy[machine.id] = machine
        return True

    def end(self, machine: str) -> None:
        """Note that the action in flight on a machine is over."""
        del self._busy[machine]
        self._settled[machine] = None

    def put_back(self, machine: str) -> None:
        """Forget what an action in flight was about to bring: the provider's last word stands."""
        before, said = self._busy[machine], self._withheld.pop(machine, None)
        if said is not None and self._apply(machine, said):
            return
        if before is not None and before != self.get(machine):
            self.put(before)

    # --- listings

    def asked(self) -> None:
        """Note that a listing is on its way."""
        self._settled = {}

    def told(self, listing: Listing, *, full: bool) -> None:
        """Take in a listing; what it says about a machine that is busy waits until that is over."""
        # A withheld record is older than the answer to the action only if a later listing has the machine again, and
        # that later one stands; so the two can be taken in together.
        said = {name: what for name, what in self._withheld.items() if not self._may_be_newer(name)}
        for name in said:
            del self._withheld[name]
        said |= dict.fromkeys(self._missing_from(listing) if full else listing.removed, _GONE)
        for machine in listing.machines:
            name = machine.id
            earlier = said.get(name) or self._withheld.get(name)
            anew = earlier is not None and earlier.anew
            said[name] = _Said(machine, listing.metadata.get(name, {}), anew)
        for name, what in said.items():
            if self._may_be_newer(name):
                self._withheld[name] = what
            else:
                self._apply(name, what)

    def _may_be_newer(self, machine: str) -> bool:
        return machine in self._busy or machine in self._settled

    def _missing_from(self, listing: Listing) -> list[str]:
        listed = {machine.id for machine in listing.machines}
        known = {**self._fleet.machines, **self._changed}
        return [name for name in known if name not in listed and name not in self._removed]

    def _apply(self, name: str, said: _Said) -> bool:
        """Take over what a listing said; say whether it makes sense."""
        local, listed = self.get(name), said.machine
        if listed is None:
            if local is not None:
                self._moved(local, None)
                self._changed.pop(name, None)
                self._removed[name] = None
            return True
        known = None if said.anew else local
        record = replace(listed, attribution=self._attribution(known, listed, said.metadata))
        return record == local or self.put(record)

    def _attribution(self, known: Machine | None, listed: Machine, metadata: Mapping[str, str]) -> Attribution | None:
        """Return whose a listed machine is: as we know it, or as the provider stored it, or nobody's."""
        if listed.state not in _MARKED:
            return None
        if known is not None and known.attribution is not None and known.cluster == listed.cluster:
            return known.attribution
        if not metadata:
            return None
        # A first listing has a whole fleet's, and nearly all of them are alike.
        stored = tuple(metadata.items())
        mark = self._marks.get(stored)
        if mark is None:
            mark = self._marks[stored] = read_attribution(metadata)[0]
        return mark
