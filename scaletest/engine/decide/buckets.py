"""ChooseSameBucket: the total order by which a gang's topology domain is chosen, in exact whole numbers.

Coverage is a sum of ratios supply / deficit over the dimensions the gang asks for. Instead of dividing, every ratio is
multiplied by the least common multiple of the deficits, so that a full ratio is that multiple and ties are real ties.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import lcm
from operator import mul
from types import MappingProxyType
from typing import Final, NamedTuple

from scaletest.engine.decide.rules import Criterion
from scaletest.engine.decide.values import Choice, Rule

__all__ = ["Bucket", "Chooser", "Measured", "Yardstick", "chooser", "yardstick"]


class Bucket(NamedTuple):
    """One domain's supply for one gang: all of it, the part already bound, and the gang's own part of that."""

    value: str
    machines: int
    total: Sequence[int]
    creditable: Sequence[int]
    own: Sequence[int]


class Measured(NamedTuple):
    """A bucket weighed against the deficit; every number is a whole multiple of the yardstick's unit."""

    satisfiable: bool
    creditable: int
    own: int
    joint: int
    assembly: int
    machines: int
    value: str


@dataclass(frozen=True, slots=True)
class Yardstick:
    """The deficit as weights: `unit` is a full ratio, and `weights[i] * amount` a ratio in dimension i."""

    deficit: tuple[int, ...]
    unit: int
    weights: tuple[int, ...]

    def capped(self, amounts: Sequence[int]) -> int:
        """Return the coverage with every dimension cut off at full: a surplus in one hides no hole in another."""
        unit = self.unit
        return sum([min(unit, amount * weight) for amount, weight in zip(amounts, self.weights, strict=True)])

    def uncapped(self, amounts: Sequence[int]) -> int:
        """Return the coverage with surplus counted."""
        return sum(map(mul, amounts, self.weights))

    def holds(self, amounts: Sequence[int]) -> bool:
        """Say whether every dimension is covered."""
        return all(amount >= wanted for amount, wanted in zip(amounts, self.deficit, strict=True))

    def measure(self, bucket: Bucket) -> Measured:
        """Weigh a bucket."""
        satisfiable = self.holds(bucket.total)
        return Measured(
            satisfiable,
            self.capped(bucket.creditable),
            self.capped(bucket.own),
            self.uncapped(bucket.total) if satisfiable else self.capped(bucket.total),
            self.uncapped(bucket.creditable),
            bucket.machines,
            bucket.value,
        )


@lru_cache(maxsize=65_536)
def yardstick(deficit: tuple[int, ...]) -> Yardstick:
    """Return the weights of a deficit whose every dimension is positive."""
    unit = lcm(*deficit)
    return Yardstick(deficit, unit, tuple(unit // wanted for wanted in deficit))


# Each criterion is smaller-is-better. A criterion that belongs to one regime is constant in the other, so that the
# whole order is one tuple comparison: rule 1 has already told the regimes apart.
_KEYS: Final = MappingProxyType[Criterion, Callable[[Measured], int | str]](
    {
        Criterion.SATISFIABLE: lambda m: 0 if m.satisfiable else 1,
        Criterion.CREDITABLE_COVERAGE: lambda m: -m.creditable if m.satisfiable else 0,
        Criterion.CREDITABLE_PRESENCE: lambda m: -1 if m.satisfiable and m.creditable else 0,
        Criterion.OWN_COVERAGE: lambda m: -m.own if m.satisfiable else 0,
        Criterion.TIGHTEST_ASSEMBLY: lambda m: m.assembly if m.satisfiable else 0,
        Criterion.LEAST_OVERCOMMITTED: lambda m: m.joint if m.satisfiable else 0,
        Criterion.MOST_COVERING: lambda m: 0 if m.satisfiable else -m.joint,
        Criterion.STICKY_COVERAGE: lambda m: 0 if m.satisfiable else -m.creditable,
        Criterion.COUNT: lambda m: -m.machines,
        Criterion.VALUE: lambda m: m.value,
    }
)


@dataclass(frozen=True, slots=True)
class Chooser:
    """A domain order, ready to choose."""

    rules: tuple[Rule, ...]
    keys: tuple[Callable[[Measured], int | str], ...]
    serving_first: bool

    def choose(self, buckets: Sequence[Measured]) -> Choice:
        """Return the best bucket and the first rule that told it from its closest rival."""
        if not buckets:
            return Choice(None, Rule.NO_SUPPLY, satisfiable=False)
        ranked = sorted((self._rank(bucket), bucket) for bucket in buckets)
        (first, best), rivals = ranked[0], ranked[1:]
        if self.serving_first and best.satisfiable and best.creditable:
            # Rule 2 is named unless a rival serves as much: which other domains could hold the gang was not asked.
            rivals = [rival for rival in rivals if rival[0][:2] == first[:2]]
        if not rivals:
            serves = self.serving_first and best.satisfiable and best.creditable > 0
            return Choice(best.value, Rule.CREDITABLE if serves else Rule.ONLY, best.satisfiable)
        rule = next(rule for rule, mine, other in zip(self.rules, first, rivals[0][0], strict=True) if mine != other)
        return Choice(best.value, rule, best.satisfiable)

    def _rank(self, bucket: Measured) -> tuple[int | str, ...]:
        return tuple(key(bucket) for key in self.keys)


def chooser(criteria: tuple[tuple[Criterion, Rule], ...], *, serving_first: bool) -> Chooser:
    """Build the chooser of an order of criteria."""
    keys = tuple(_KEYS[criterion] for criterion, _ in criteria)
    return Chooser(tuple(rule for _, rule in criteria), keys, serving_first)
