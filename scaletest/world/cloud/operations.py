"""The four calls: from where to where they take a machine, how long that takes, and whether it goes wrong."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Final, NamedTuple

from scaletest.model import Attribution, Machine, MachineState, Stream, microseconds
from scaletest.model.attribution import read_attribution
from scaletest.model.latency import Delay
from scaletest.ports.provider import ProviderError
from scaletest.profile.blocks import Latency
from scaletest.profile.world import Provider

__all__ = ["MOVES", "Call", "Draw", "Move", "Operation", "Order", "Pace"]

_S = MachineState


class Call(StrEnum):
    """What can be asked for."""

    CREATE = "create"
    CONFIGURE = "configure"
    DRAIN = "drain"
    DELETE = "delete"


class Move(NamedTuple):
    """The state a call starts from, the one it passes through and the one it ends in."""

    source: MachineState
    passing: MachineState
    target: MachineState


MOVES: Final = MappingProxyType(
    {
        Call.CREATE: Move(_S.SPECULATIVE, _S.CREATING, _S.IDLE),
        Call.CONFIGURE: Move(_S.IDLE, _S.CONFIGURING, _S.CONFIGURED),
        Call.DRAIN: Move(_S.CONFIGURED, _S.DRAINING, _S.IDLE),
        Call.DELETE: Move(_S.IDLE, _S.DELETING, _S.SPECULATIVE),
    }
)


@dataclass(frozen=True, slots=True)
class Order:
    """One call with its arguments. Two are the same when they send the same machine to the same place."""

    call: Call
    machine: str
    cluster: str = ""
    grace_us: int = 0
    metadata: Mapping[str, str] | None = None

    @property
    def move(self) -> Move:
        """Return the states it goes through."""
        return MOVES[self.call]

    @property
    def attribution(self) -> Attribution | None:
        """Return for whom the machine will be held, as far as the metadata can be read."""
        return read_attribution(self.metadata)[0] if self.metadata else None

    def is_met_by(self, machine: Machine) -> bool:
        """Say whether the machine already is where it is sent."""
        return machine.state is self.move.target and machine.cluster == self.cluster

    def same_as(self, other: "Order") -> bool:
        """Say whether another call asks for the same."""
        return (self.call, self.machine, self.cluster) == (other.call, other.machine, other.cluster)


@dataclass(slots=True, eq=False)
class Operation:
    """A call that is being carried out. It goes on whether or not anybody still waits for it."""

    order: Order
    machine: Machine | None = None
    failure: str = "the cloud has stopped"
    _over: asyncio.Event = field(default_factory=asyncio.Event)

    def end(self) -> None:
        """Let everybody who waits go on."""
        self._over.set()

    async def outcome(self) -> Machine:
        """Return the machine as it arrived; raise ProviderError when it did not."""
        await self._over.wait()
        if self.machine is None:
            raise ProviderError(f"{self.order.call} {self.order.machine}: {self.failure}")
        return self.machine


class Draw(NamedTuple):
    """What the seed says about one operation."""

    latency_us: int
    fails: bool


class Pace:
    """Latencies and errors, keyed by machine and by how often this was done to it: nothing else moves them."""

    def __init__(self, settings: Provider, *, seed: int) -> None:
        self._seed = seed
        self._delays = {call: _delay(getattr(settings, call)) for call in Call}
        self._chances: dict[Call, float] = {call: getattr(settings.errors, call) for call in Call}
        self._done: dict[Call, dict[str, int]] = {call: {} for call in Call}

    def count(self, call: Call, machine: str) -> int:
        """Return how often a machine went through an operation, or began to."""
        return self._done[call].get(machine, 0)

    def next(self, call: Call, machine: str) -> Draw:
        """Count one more operation, and return how it will go."""
        ordinal = self.count(call, machine)
        self._done[call][machine] = ordinal + 1
        return Draw(
            latency_us=self._delays[call].draw(Stream.of(self._seed, call, machine), ordinal),
            fails=Stream.of(self._seed, f"{call}-error", machine).chance(self._chances[call], ordinal),
        )


def _delay(latency: Latency) -> Delay:
    return Delay.of(p50_us=microseconds(latency.p50_seconds), p99_us=microseconds(latency.p99_seconds))
