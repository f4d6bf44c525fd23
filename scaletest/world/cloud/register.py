"""The cloud's records and what changed in them since a revision, without a scan and without a log that grows."""

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import takewhile
from types import MappingProxyType

from scaletest.model import Attribution, Machine, MachineState
from scaletest.model.attribution import attribution_metadata
from scaletest.ports.provider import Listing

__all__ = ["Register"]


class Register:
    """Machines by id, with their metadata. Every change has a revision of its own.

    The logs hold every id at most once, at its last change, and in order of revision: so they never outgrow the
    fleet, and a listing walks back only as far as something changed.
    """

    def __init__(self) -> None:
        self._machines: dict[str, Machine] = {}
        self._metadata: dict[str, Mapping[str, str]] = {}
        self._changed: dict[str, int] = {}
        self._removed: dict[str, int] = {}
        self._revision = 0
        self._seeded_at = 0
        self.configured = 0
        """How many machines are Configured."""

    def __len__(self) -> int:
        return len(self._machines)

    def __iter__(self) -> Iterator[Machine]:
        return iter(self._machines.values())

    def get(self, machine: str) -> Machine | None:
        """Return a machine's record, or None when there is none."""
        return self._machines.get(machine)

    def metadata(self, machine: Machine) -> Mapping[str, str] | None:
        """Return what is stored beside a machine: what its caller sent, or what a seeded attribution says."""
        if machine.attribution is None:
            return None
        return self._metadata.get(machine.id) or _written(machine.attribution)

    def add(self, machines: Iterable[Machine]) -> None:
        """Add many machines in one revision; whoever listed before will list everything."""
        for machine in machines:
            assert machine.id not in self._machines, machine.id
            self._machines[machine.id] = machine
            self.configured += machine.state is MachineState.CONFIGURED
        self._revision += 1
        self._seeded_at = self._revision

    def put(self, machine: Machine, *, metadata: Mapping[str, str] | None = None) -> None:
        """Write a record; metadata is kept for as long as the machine is attributed."""
        before = self._machines.get(machine.id)
        self._count(before, machine)
        self._machines[machine.id] = machine
        if machine.attribution is None:
            self._metadata.pop(machine.id, None)
        elif metadata:
            self._metadata[machine.id] = MappingProxyType(dict(metadata))
        self._stamp(self._changed, machine.id)

    def remove(self, machine: str) -> None:
        """Drop a record from the listing."""
        self._count(self._machines.pop(machine), None)
        self._metadata.pop(machine, None)
        self._changed.pop(machine, None)
        self._stamp(self._removed, machine)

    def listing(self, after: int) -> Listing:
        """Return what changed after a revision, oldest change first; everything when it is older than the seeding."""
        if after < self._seeded_at:
            machines = tuple(self._machines.values())
        else:
            machines = tuple(self._machines[machine] for machine in _since(self._changed, after))
        found = ((machine.id, self.metadata(machine)) for machine in machines)
        return Listing(
            revision=self._revision,
            machines=machines,
            removed=_since(self._removed, after) if after else (),
            metadata={machine: metadata for machine, metadata in found if metadata},
        )

    def _count(self, before: Machine | None, after: Machine | None) -> None:
        self.configured -= before is not None and before.state is MachineState.CONFIGURED
        self.configured += after is not None and after.state is MachineState.CONFIGURED

    def _stamp(self, log: dict[str, int], machine: str) -> None:
        self._revision += 1
        # Taken out first: a dict keeps the place of a key that it has.
        log.pop(machine, None)
        log[machine] = self._revision


def _since(log: dict[str, int], after: int) -> tuple[str, ...]:
    newest_first = takewhile(lambda machine: log[machine] > after, reversed(log))
    return tuple(newest_first)[::-1]


@lru_cache(maxsize=4096)
def _written(attribution: Attribution) -> Mapping[str, str]:
    """Return a seeded machine's metadata; machines of one workload share it."""
    return MappingProxyType(attribution_metadata(attribution))
