"""Verdicts in, proof out: whether the loss of a rule turns a gate red in a world that the complete engine passes.

A cell is one rule in one world over some seeds. Its runs are paired: with the same seed they draw the same, so they
differ by what the rule does and by nothing else.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from scaletest.gates.outcomes import Outcome, RunOutcome
from scaletest.gates.trials import Trial

__all__ = ["Cell", "Conclusion", "Figure", "Finding", "Matrix", "Rule", "Standing", "Trials", "World"]

Trials = Mapping[int, Trial]
"""Runs by seed."""

_JUDGED: Final = frozenset({RunOutcome.PASS, RunOutcome.FAIL})
_BLIND: Final = frozenset({Outcome.FAIL, Outcome.UNMEASURED})


class Finding(StrEnum):
    """What became of a cell; the first that holds for any seed."""

    FALSE_ALARM = "false alarm"
    """The complete engine fails."""
    MISSED = "missed"
    """Without the rule no gate fails that should."""
    INCONCLUSIVE = "inconclusive"
    """A run could not be judged."""
    UNFINISHED = "unfinished"
    """A run has not ended."""
    CAUGHT = "caught"
    """On every seed a gate fails without the rule and does not fail with it."""


class Standing(StrEnum):
    """How a rule stands in the end."""

    PROVEN = "proven"
    NOT_CAUGHT = "not caught"
    INCONCLUSIVE = "inconclusive"
    UNFINISHED = "unfinished"
    BY_CASE = "by its case"
    """Nobody claims that a run shows its loss: a case of the engine's own fixtures holds it."""
    OPEN = "open"
    """A run should show its loss, and no profile claims to."""
    TRIED = "tried"
    """Some worlds were asked for, and none of these claims to show its loss."""


class Conclusion(StrEnum):
    """What the whole matrix says."""

    PROVEN = "PROVEN"
    CONTRADICTED = "CONTRADICTED"
    INCONCLUSIVE = "INCONCLUSIVE"
    UNFINISHED = "UNFINISHED"


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of the engine that can be taken away."""

    ablation: str
    removes: str
    by_run: bool
    """Whether a run must show its loss."""


@dataclass(frozen=True, slots=True)
class Figure:
    """What one gate observed without a rule and with it, lowest and highest."""

    gate: str
    bar: str
    failed: tuple[int, ...]
    """Seeds on which it failed without the rule and did not with it."""
    without: tuple[float, float] | None
    with_rule: tuple[float, float] | None


@dataclass(frozen=True, slots=True)
class World:
    """The complete engine in one world."""

    profile: str
    seeds: tuple[int, ...]
    complete: Trials

    @property
    def alarms(self) -> tuple[Trial, ...]:
        """Return the runs that failed with nothing to find."""
        return tuple(trial for trial in self.complete.values() if trial.outcome == RunOutcome.FAIL)


@dataclass(frozen=True, slots=True)
class Cell:
    """One rule in one world."""

    world: World
    rule: Rule
    ablated: Trials = field(repr=False)
    masked_by: tuple[str, ...] = ()
    """Ablations that are made on both sides, because their rules would hide the loss."""
    control: Trials | None = field(default=None, repr=False)
    """Runs with `masked_by` alone; None where nothing masks, and the complete engine is the other side."""
    claimed: tuple[str, ...] = ()
    """Gates that the profile claims will fail; none where it claims nothing and any gate counts."""

    @property
    def finding(self) -> Finding:
        """Return the worst finding of any seed."""
        return min((self._at(seed) for seed in self.world.seeds), key=list(Finding).index)

    @property
    def caught(self) -> tuple[int, ...]:
        """Return the seeds on which the loss showed."""
        return tuple(seed for seed in self.world.seeds if self._at(seed) is Finding.CAUGHT)

    @property
    def ended(self) -> bool:
        """Say whether every run has ended."""
        sides = (self.world.complete, self._with_rule, self.ablated)
        return all(seed in side for side in sides for seed in self.world.seeds)

    @property
    def without(self) -> tuple[str, ...]:
        """Return every ablation that is made, in the order of a command."""
        return (self.rule.ablation, *self.masked_by)

    def why(self) -> str:
        """Return which seeds are to blame for the finding, and why; empty when it was caught."""
        finding = self.finding
        if finding is Finding.CAUGHT:
            return ""
        seeds = [seed for seed in self.world.seeds if self._at(seed) is finding]
        said = f"{finding} on seed{'s' * (len(seeds) > 1)} {', '.join(map(str, seeds))}"
        reasons = dict.fromkeys(reason for seed in seeds if (reason := self._reason(seed)))
        return ": ".join([said, *list(reasons)[:1]])

    def repeat(self, seed: int) -> str:
        """Return the one command that repeats a run without the rule."""
        return f"scaletest run {self.world.profile} --seed {seed} --ablate {','.join(self.without)}"

    def figures(self) -> Iterator[Figure]:
        """Yield what the gates observed: those claimed, or all that ever failed."""
        trials = [self.ablated[seed] for seed in self.world.seeds if seed in self.ablated]
        names = self.claimed or dict.fromkeys(name for seed in self.world.seeds for name in self._red(seed))
        for name in names:
            bars = list(dict.fromkeys(gate.bar for trial in trials if (gate := trial.gate(name))))
            yield Figure(
                gate=name,
                bar=bars[0] if len(bars) == 1 else " or ".join(bars[:2]),
                failed=tuple(seed for seed in self.world.seeds if name in self._red(seed)),
                without=_range(name, self.ablated),
                with_rule=_range(name, self._with_rule),
            )

    @property
    def _with_rule(self) -> Trials:
        return self.world.complete if self.control is None else self.control

    def _at(self, seed: int) -> Finding:
        complete, other, ablated = (side.get(seed) for side in (self.world.complete, self._with_rule, self.ablated))
        if complete is not None and complete.outcome == RunOutcome.FAIL:
            return Finding.FALSE_ALARM
        if complete is None or other is None or ablated is None:
            return Finding.UNFINISHED
        if any(trial.outcome not in _JUDGED for trial in (complete, other, ablated)):
            return Finding.INCONCLUSIVE
        return Finding.CAUGHT if self._red(seed) else Finding.MISSED

    def _red(self, seed: int) -> tuple[str, ...]:
        """Return the gates that fail without the rule and not with it; those claimed, or any."""
        ablated, other = self.ablated.get(seed), self._with_rule.get(seed)
        if ablated is None or other is None or ablated.outcome != RunOutcome.FAIL:
            return ()
        failed = [gate.name for gate in ablated.gates if gate.outcome == Outcome.FAIL]
        sound = [gate.name for gate in other.gates if gate.outcome not in _BLIND]
        return tuple(name for name in failed if name in sound and (not self.claimed or name in self.claimed))

    def _reason(self, seed: int) -> str:
        """Return what the run that decided said about itself."""
        complete, other, ablated = (side.get(seed) for side in (self.world.complete, self._with_rule, self.ablated))
        if complete is not None and complete.outcome != RunOutcome.PASS:
            return f"the complete engine {complete.reason}"
        if other is not None and other.outcome not in _JUDGED:
            return f"without {','.join(self.masked_by)} alone: {other.reason}"
        return ablated.reason if ablated is not None else ""


def _range(gate: str, trials: Trials) -> tuple[float, float] | None:
    seen = [trial.gate(gate) for trial in trials.values()]
    values = [each.value for each in seen if each is not None and each.value is not None]
    return (min(values), max(values)) if values else None


@dataclass(frozen=True, slots=True)
class Matrix:
    """All that was tried."""

    rules: tuple[Rule, ...]
    worlds: tuple[World, ...]
    cells: tuple[Cell, ...]
    every_world: bool = True
    """Whether every profile with a claim was looked at; otherwise what nobody claims here may be claimed elsewhere."""

    def claims(self, rule: Rule) -> tuple[Cell, ...]:
        """Return the cells in which a profile claims to show the loss of a rule."""
        return tuple(cell for cell in self.cells if cell.rule == rule and cell.claimed)

    def standing(self, rule: Rule) -> Standing:
        """Return how a rule stands: every claim about it must hold, and one must be there if a run is to show it."""
        found = {cell.finding for cell in self.claims(rule)}
        if found & {Finding.FALSE_ALARM, Finding.MISSED}:
            return Standing.NOT_CAUGHT
        if Finding.UNFINISHED in found:
            return Standing.UNFINISHED
        if Finding.INCONCLUSIVE in found:
            return Standing.INCONCLUSIVE
        if found:
            return Standing.PROVEN
        if not self.every_world:
            return Standing.TRIED
        return Standing.OPEN if rule.by_run else Standing.BY_CASE

    @property
    def conclusion(self) -> Conclusion:
        """Return what all of it says; a contradiction outweighs whatever is not known."""
        standings = {self.standing(rule) for rule in self.rules}
        outcomes = [trial.outcome for world in self.worlds for trial in world.complete.values()]
        if Standing.NOT_CAUGHT in standings or RunOutcome.FAIL in outcomes:
            return Conclusion.CONTRADICTED
        if not all(cell.ended for cell in self.cells) or len(outcomes) < sum(len(each.seeds) for each in self.worlds):
            return Conclusion.UNFINISHED
        unknown = {Standing.INCONCLUSIVE, Standing.OPEN} & standings
        return Conclusion.INCONCLUSIVE if unknown or set(outcomes) - _JUDGED else Conclusion.PROVEN
