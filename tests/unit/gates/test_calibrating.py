"""Bars from runs: numbers from the binomial tables, cuts by hand, and bars as a person writes them."""

from math import inf

import pytest
from verdict_examples import gate as gate_result

from scaletest.gates.calibrating import (
    Support,
    cut_points,
    cuts_allowed,
    measured_gates,
    proposed_bars,
    trouble_of,
    written_bar,
)
from scaletest.gates.outcomes import Bracket
from scaletest.gates.proof import proof_gate
from scaletest.gates.trials import GateSeen, Trial

RECLAIMS = proof_gate("maxReclaimActionsDuringSoak", 150)
FLIPS = proof_gate("maxDomainFlipsPerGangMinute", 1.0)
BINDING = proof_gate("internalBindingLatencyP99Seconds", 30.0)
SUCCESS = proof_gate("bootstrapSuccessRatio", 0.9)


def trial(seed: int, outcome: str = "PASS", **worst: float | None) -> Trial:
    gates = [
        GateSeen(name, "PASS" if value is not None else "NOT_APPLICABLE", value, "", value)
        for name, value in worst.items()
    ]
    return Trial(seed=seed, outcome=outcome, reason="as told", gates=tuple(gates))


def reclaims(*counts: int) -> list[Trial]:
    return [trial(n, maxReclaimActionsDuringSoak=count) for n, count in enumerate(counts)]


@pytest.mark.parametrize(
    ("runs", "cuts"), [(1, 0), (298, 0), (299, 1), (472, 1), (473, 2), (627, 2), (628, 3), (1000, 5)]
)
def test_as_many_runs_are_cut_off_as_the_binomial_distribution_allows(runs: int, cuts: int) -> None:
    assert cuts_allowed(runs, 0.01) == cuts


@pytest.mark.parametrize(("cuts", "needed"), [(1, 299), (2, 473), (3, 628)])
def test_the_fewest_runs_that_show_a_rate_are_found(cuts: int, needed: int) -> None:
    support = Support(runs=100, cuts=cuts, rate=0.01)

    assert not support.enough
    assert support.runs_needed == needed


def test_too_few_runs_say_which_rate_they_can_show() -> None:
    shown = Support(runs=100, cuts=2, rate=0.01).rate_shown

    assert shown == 0.047  # 1 - 0.047 holds with two of a hundred beyond: P(Bin(100, 0.047) <= 1) = 0.048
    assert Support(runs=100, cuts=2, rate=shown).enough
    assert Support(runs=2, cuts=3, rate=0.01).rate_shown is None


def test_each_gate_in_turn_cuts_off_its_worst_run_of_those_left() -> None:
    runs = [(9, 1), (8, 9), (7, 8), (6, 7)]

    assert cut_points(runs, 0) == (inf, inf)
    assert cut_points(runs, 2) == (9, 9)
    assert cut_points(runs, 4) == (7, 7)


def test_a_run_that_is_worst_by_two_gates_is_cut_off_once() -> None:
    assert cut_points([(9, 9), (2, 3), (1, 2)], 2) == (9, 3)


def test_the_worst_of_the_runs_becomes_the_bar() -> None:
    (row,) = proposed_bars(reclaims(12, 31, 18, 22), [RECLAIMS], 1)

    assert (row.lowest, row.median, row.highest, row.measured, row.bar) == (12, 20, 31, 4, 31)
    assert row.margin == pytest.approx(11 / 31)


def test_more_runs_than_needed_make_the_bar_tighter() -> None:
    (row,) = proposed_bars(reclaims(12, 31, 18, 22), [RECLAIMS], 2)

    assert row.bar == 22


def test_lower_bounds_are_cut_from_below() -> None:
    trials = [trial(n, bootstrapSuccessRatio=value) for n, value in enumerate((1.0, 0.98765, 0.995))]
    (row,) = proposed_bars(trials, [SUCCESS], 1)

    assert (row.lowest, row.highest, row.bar) == (0.98765, 1.0, 0.987)


def test_a_run_in_which_nothing_happened_neither_alarms_nor_counts_as_measured() -> None:
    trials = [trial(1, maxDomainFlipsPerGangMinute=None), trial(2, maxDomainFlipsPerGangMinute=0.0123)]
    (row,) = proposed_bars(trials, [FLIPS], 2)

    assert (row.measured, row.bar) == (1, 0.013)
    assert measured_gates(trials[:1], [FLIPS]) == ()


@pytest.mark.parametrize(
    ("run", "why"),
    [
        (trial(1, maxReclaimActionsDuringSoak=3), ""),
        (trial(1, maxReclaimActionsDuringSoak=None), ""),
        (trial(1), "maxReclaimActionsDuringSoak was not measured"),
        (trial(1, "FAIL", maxReclaimActionsDuringSoak=3), "FAIL: as told"),
        (trial(1, "INCONCLUSIVE", maxReclaimActionsDuringSoak=3), "INCONCLUSIVE: as told"),
        (trial(1, "REFUSED"), "REFUSED: as told"),
    ],
)
def test_no_bar_comes_from_a_run_in_doubt(run: Trial, why: str) -> None:
    assert trouble_of(run, [RECLAIMS]) == why


@pytest.mark.parametrize(
    ("gate", "value", "bar"),
    [
        (RECLAIMS, 31, 31),
        (RECLAIMS, -4, 0),
        (BINDING, 12.34, 13),
        (BINDING, 13.0, 13),
        (BINDING, 123.4, 130),
        (BINDING, 0.1, 0.1),
        (BINDING, 0.0451, 0.046),
        (BINDING, 0.0, 0.001),
        (FLIPS, 0.0, 0),
        (FLIPS, 0.01111, 0.012),
        (SUCCESS, 1.0, 1),
        (SUCCESS, 0.9, 0.9),
    ],
)
def test_a_bar_is_written_as_a_person_would(gate: object, value: float, bar: float) -> None:
    written = written_bar(value, gate)  # type: ignore[arg-type]  # parametrized

    assert written == bar


@pytest.mark.parametrize(
    ("value", "tail", "comparison", "worst"),
    [
        (Bracket(3, 3), None, "<=", 3),
        (Bracket(3, 4), Bracket(2, 6), "<=", 6),
        (Bracket(3, 4), Bracket(2, None), "<=", None),
        (Bracket(3, None), Bracket(2, 6), "<=", None),
        (Bracket(0.9, 1.0), None, ">=", 0.9),
        (None, None, "<=", None),
    ],
)
def test_the_tightest_bar_that_a_run_would_have_passed_counts_its_tail(
    value: Bracket | None, tail: Bracket | None, comparison: str, worst: float | None
) -> None:
    assert gate_result(value=value, tail=tail, comparison=comparison).worst == worst
