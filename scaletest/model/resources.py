"""Resource vectors in whole numbers: cpu in millicores, every other resource in its own unit (bytes, devices)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Self

from scaletest.model.quantity import QuantityError, parse_quantity

__all__ = ["COMMON_RESOURCES", "Resources"]

COMMON_RESOURCES: Final = ("cpu", "memory", "ephemeral-storage")
"""What every machine has; anything else is an extended resource (a GPU, say)."""

_MILLI: Final = 1000


@dataclass(frozen=True, slots=True)
class Resources:
    """A non-negative vector; `amounts` is sorted by name and holds no zero, so equal vectors compare equal.

    A dimension that is not named reads as zero.
    """

    amounts: tuple[tuple[str, int], ...] = ()

    @classmethod
    def of(cls, amounts: Mapping[str, int]) -> Self:
        """Build a vector from whole amounts; zero dimensions are dropped."""
        if negative := [name for name, amount in amounts.items() if amount < 0]:
            raise ValueError(f"negative amount of {', '.join(sorted(negative))}")
        return cls(tuple(sorted((name, amount) for name, amount in amounts.items() if amount)))

    @classmethod
    def parse(cls, quantities: Mapping[str, str]) -> Self:
        """Build a vector from Kubernetes quantities.

        Parts of a millicore or of a byte round up, as the API server does; parts of a device are refused.
        """
        return cls.of({name: _whole(name, text) for name, text in quantities.items()})

    def __iter__(self) -> Iterator[tuple[str, int]]:
        return iter(self.amounts)

    def __bool__(self) -> bool:
        return bool(self.amounts)

    def __str__(self) -> str:
        return " ".join(f"{name}={amount}" for name, amount in self.amounts)

    def __getitem__(self, name: str) -> int:
        for key, amount in self.amounts:
            if key == name:
                return amount
        return 0

    def __add__(self, other: Self) -> Self:
        total = dict(self.amounts)
        for name, amount in other.amounts:
            total[name] = total.get(name, 0) + amount
        return type(self).of(total)

    def minus(self, other: Self) -> Self:
        """Subtract per dimension; what would go below zero is zero."""
        return type(self).of({name: max(0, amount - other[name]) for name, amount in self.amounts})

    def times(self, count: int) -> Self:
        """Return `count` of this vector."""
        return type(self).of({name: amount * count for name, amount in self.amounts})

    def peak(self, other: Self) -> Self:
        """Return the larger amount in every dimension."""
        largest = dict(self.amounts)
        for name, amount in other.amounts:
            largest[name] = max(amount, largest.get(name, 0))
        return type(self).of(largest)

    def covers(self, wanted: Self) -> bool:
        """Say whether every dimension that `wanted` names is met; dimensions it does not name are ignored."""
        return all(self[name] >= amount for name, amount in wanted.amounts)

    def how_many(self, each: Self) -> int | None:
        """Return how many of `each` fit, or None when `each` asks for nothing."""
        return min((self[name] // amount for name, amount in each.amounts), default=None)

    def names(self) -> tuple[str, ...]:
        """Return the named dimensions, sorted."""
        return tuple(name for name, _ in self.amounts)


def _whole(name: str, text: str) -> int:
    value = parse_quantity(text)
    if name == "cpu":
        value *= _MILLI
    elif name not in COMMON_RESOURCES and value.denominator != 1:
        raise QuantityError(f"{text!r} of {name}: only whole devices can be requested")
    return -(-value.numerator // value.denominator)
