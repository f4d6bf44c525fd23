"""Machines that vanish during the soak: planned losses, and random failures at a rate per Configured machine."""

from collections.abc import Callable, Iterator
from itertools import count, takewhile
from math import ceil, exp
from typing import Final

from scaletest.model import US_PER_SECOND, Machine, MachineState, Stream, microseconds
from scaletest.ports.clock import Clock
from scaletest.profile.world import Loss
from scaletest.world.cloud.register import Register

__all__ = ["Losses", "poisson"]

_LARGEST_MEAN: Final = 32
"""Inverting a Poisson distribution starts at e to the minus mean, which is zero to a computer for large means."""


class Losses:
    """Chooses who is lost, from the machines that were there when the soak began; `lose` does the losing at once.

    A place in the sorted fleet is drawn until a Configured machine stands there. That is uniform over the Configured
    machines, and another run whose fleet differs little loses mostly the same machines at the same instants.
    """

    def __init__(
        self, *, clock: Clock, register: Register, seed: int, lose: Callable[[Machine, int | None], None]
    ) -> None:
        self._clock = clock
        self._register = register
        self._seed = seed
        self._lose = lose
        self._fleet = sorted(machine.id for machine in register)

    async def planned(self, number: int, loss: Loss, *, at_us: int, until_us: int) -> None:
        """Carry out one block of planned losses for a soak."""
        repair_us = None if loss.repair_seconds is None else microseconds(loss.repair_seconds)
        for occasion, instant_us in enumerate(_instants(loss, at_us=at_us, until_us=until_us)):
            await self._clock.sleep_until(instant_us)
            self._strike(Stream.of(self._seed, "loss", number, occasion), loss.count, repair_us)

    async def random(self, rate_per_sec: float, *, at_us: int, until_us: int) -> None:
        """Draw once a second how many machines fail; nobody repairs them."""
        for second in count(1):
            instant_us = at_us + second * US_PER_SECOND
            if instant_us >= until_us:
                return
            await self._clock.sleep_until(instant_us)
            number = poisson(rate_per_sec * self._register.configured, Stream.of(self._seed, "failures", second))
            if number:
                self._strike(Stream.of(self._seed, "failure", second), number, None)

    def _strike(self, stream: Stream, number: int, repair_us: int | None) -> None:
        number = min(number, self._register.configured)
        draws = (self._fleet[stream.below(len(self._fleet), ordinal)] for ordinal in count())
        while number:
            machine = self._register.get(next(draws))
            if machine is not None and machine.state is MachineState.CONFIGURED:
                self._lose(machine, repair_us)
                number -= 1


def poisson(mean: float, stream: Stream) -> int:
    """Return a Poisson draw; a large mean is drawn in parts, which add up to the same distribution."""
    parts = max(1, ceil(mean / _LARGEST_MEAN))
    return sum(_inverse_poisson(mean / parts, stream.unit(part)) for part in range(parts))


def _inverse_poisson(mean: float, share: float) -> int:
    """Return the least number whose cumulative probability exceeds a share."""
    number, probability = 0, exp(-mean)
    below = probability
    while below <= share and probability > 0:
        number += 1
        probability *= mean / number
        below += probability
    return number


def _instants(loss: Loss, *, at_us: int, until_us: int) -> Iterator[int]:
    """Return when a block of losses strikes, with the rule that the plan announces them by."""
    first_us = at_us + microseconds(loss.at_seconds)
    every_us = microseconds(loss.every_seconds) if loss.every_seconds else until_us - at_us
    return takewhile(lambda instant_us: instant_us < until_us, count(first_us, every_us))
