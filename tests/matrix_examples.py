"""Runs and matrices of runs, made up for tests."""

from collections.abc import Mapping

from scaletest.gates.matrix import Cell, Matrix, Rule, World
from scaletest.gates.trials import GateSeen, Trial

__all__ = ["FLIPS", "RECLAIMS", "RULE", "cell", "failed", "matrix", "passed", "run", "unjudged", "world"]

RULE = Rule("AB-16", "rule 2b", by_run=True)
FLIPS, RECLAIMS = "maxDomainFlipsPerGangMinute", "maxReclaimActionsDuringSoak"
_BARS = {FLIPS: "<= 1 per gang-minute", RECLAIMS: "<= 20"}


def run(outcome: str, seed: int = 1, **gates: tuple[str, float | None]) -> Trial:
    """Return a run with the given outcomes and values of gates."""
    seen = tuple(GateSeen(name, said, value, _BARS.get(name, "<= 5 s")) for name, (said, value) in gates.items())
    reason = "failed: " + ", ".join(gate.name for gate in seen if gate.outcome == "FAIL")
    return Trial(seed=seed, outcome=outcome, reason=reason if outcome == "FAIL" else outcome.lower(), gates=seen)


def passed(seed: int = 1, *, flips: float = 0.0, reclaims: float = 2.0) -> Trial:
    return run("PASS", seed, **{FLIPS: ("PASS", flips), RECLAIMS: ("PASS", reclaims)})


def failed(seed: int = 1, gate: str = FLIPS, value: float = 9.0) -> Trial:
    other = RECLAIMS if gate == FLIPS else FLIPS
    return run("FAIL", seed, **{gate: ("FAIL", value), other: ("PASS", 1.0)})


def unjudged(seed: int = 1) -> Trial:
    return run("INCONCLUSIVE", seed, **{FLIPS: ("UNMEASURED", None), RECLAIMS: ("PASS", 1.0)})


def world(complete: Mapping[int, Trial], seeds: tuple[int, ...] = (1, 2, 3)) -> World:
    return World("proving/clean-shuffled", seeds, complete)


def cell(
    ablated: Mapping[int, Trial],
    *,
    complete: Mapping[int, Trial] | None = None,
    control: Mapping[int, Trial] | None = None,
    claimed: tuple[str, ...] = (FLIPS,),
    rule: Rule = RULE,
) -> Cell:
    """Return a cell over three seeds; the complete engine passes unless said otherwise."""
    passes = {seed: passed(seed) for seed in (1, 2, 3)}
    masked_by = () if control is None else ("AB-10",)
    ground = world(passes if complete is None else complete)
    return Cell(ground, rule, ablated, masked_by=masked_by, control=control, claimed=claimed)


def matrix(*cells: Cell, rules: tuple[Rule, ...] = (RULE,)) -> Matrix:
    worlds = {each.world.profile: each.world for each in cells}
    return Matrix(rules, tuple(worlds.values()), cells)
