"""When the loss of a rule counts as caught, and what a matrix of such cells says."""

from dataclasses import replace

import pytest
from matrix_examples import FLIPS, RECLAIMS, RULE, cell, failed, matrix, passed, run, unjudged, world

from scaletest.gates.matrix import Conclusion, Figure, Finding, Matrix, Rule, Standing, Trials

ALL_FAIL = {seed: failed(seed) for seed in (1, 2, 3)}
ALL_PASS = {seed: passed(seed) for seed in (1, 2, 3)}


def test_a_claimed_gate_that_fails_on_every_seed_catches() -> None:
    found = cell(ALL_FAIL)
    assert (found.finding, found.caught, found.why()) == (Finding.CAUGHT, (1, 2, 3), "")


def test_on_each_seed_another_of_the_claimed_gates_may_fail() -> None:
    found = cell(ALL_FAIL | {2: failed(2, RECLAIMS, 50)}, claimed=(FLIPS, RECLAIMS))
    assert found.finding is Finding.CAUGHT
    assert [figure.failed for figure in found.figures()] == [(1, 3), (2,)]


def test_one_seed_without_a_failure_is_a_miss() -> None:
    found = cell(ALL_FAIL | {2: passed(2), 3: passed(3)})
    assert (found.finding, found.caught) == (Finding.MISSED, (1,))
    assert found.why() == "missed on seeds 2, 3: pass"


def test_a_gate_that_nobody_named_does_not_catch() -> None:
    found = cell(ALL_FAIL | {3: failed(3, RECLAIMS, 50)})
    assert (found.finding, found.why()) == (Finding.MISSED, f"missed on seed 3: failed: {RECLAIMS}")


def test_where_nothing_is_claimed_any_gate_counts() -> None:
    found = cell(ALL_FAIL | {3: failed(3, RECLAIMS, 50)}, claimed=())
    assert found.finding is Finding.CAUGHT
    assert [figure.gate for figure in found.figures()] == [FLIPS, RECLAIMS]


def test_a_complete_engine_that_fails_is_a_false_alarm_whatever_else_is_found() -> None:
    found = cell(ALL_FAIL, complete=ALL_PASS | {2: failed(2, RECLAIMS, 21)})
    assert found.finding is Finding.FALSE_ALARM
    assert found.why() == f"false alarm on seed 2: the complete engine failed: {RECLAIMS}"


@pytest.mark.parametrize("side", ["ablated", "complete", "control"])
def test_a_run_that_cannot_be_judged_proves_nothing(side: str) -> None:
    sides = {"ablated": ALL_FAIL, "complete": ALL_PASS, "control": ALL_PASS}
    sides[side] = sides[side] | {1: unjudged(1)}
    found = cell(sides["ablated"], complete=sides["complete"], control=sides["control"])
    assert (found.finding, found.caught) == (Finding.INCONCLUSIVE, (2, 3))
    assert found.why().startswith("inconclusive on seed 1")


def test_a_failed_gate_in_a_run_that_cannot_be_judged_catches_nothing() -> None:
    odd = run("INCONCLUSIVE", 1, **{FLIPS: ("FAIL", 9.0)})
    assert cell(ALL_FAIL | {1: odd}).finding is Finding.INCONCLUSIVE


def test_a_miss_is_known_even_if_other_seeds_are_not() -> None:
    assert cell({1: failed(1), 2: passed(2), 3: unjudged(3)}).finding is Finding.MISSED


def test_a_cell_without_all_its_runs_is_unfinished() -> None:
    found = cell({1: failed(1)})
    assert (found.finding, found.ended, found.caught) == (Finding.UNFINISHED, False, (1,))
    assert cell(ALL_FAIL).ended


def test_what_fails_without_the_masking_rule_alone_is_not_due_to_the_rule() -> None:
    found = cell(ALL_FAIL, control=ALL_PASS | {2: failed(2)})
    assert (found.finding, found.caught) == (Finding.MISSED, (1, 3))


def test_the_other_side_of_a_masked_rule_may_fail_by_other_gates() -> None:
    found = cell(ALL_FAIL, control={seed: failed(seed, RECLAIMS, 40) for seed in (1, 2, 3)})
    assert found.finding is Finding.CAUGHT
    assert found.repeat(3) == "scaletest run proving/clean-shuffled --seed 3 --ablate AB-16,AB-10"


def test_a_gate_that_was_not_measured_with_the_rule_does_not_catch() -> None:
    blind = {seed: run("FAIL", seed, **{FLIPS: ("UNMEASURED", None), "x": ("FAIL", 1.0)}) for seed in (1, 2, 3)}
    assert cell(ALL_FAIL, control=blind).finding is Finding.MISSED


def test_figures_are_the_extremes_of_both_sides() -> None:
    ablated = {1: failed(1, value=4.5), 2: failed(2, value=2.5), 3: failed(3, value=9.0)}
    complete = ALL_PASS | {2: passed(2, flips=0.02)}
    (figure,) = cell(ablated, complete=complete).figures()
    assert figure == Figure(FLIPS, "<= 1 per gang-minute", (1, 2, 3), (2.5, 9.0), (0.0, 0.02))


def test_a_gate_that_observed_nothing_has_no_range() -> None:
    missed = {seed: run("FAIL", seed, **{FLIPS: ("FAIL", None)}) for seed in (1, 2, 3)}
    (figure,) = cell(missed).figures()
    assert (figure.without, figure.failed) == (None, (1, 2, 3))


BY_CASE = Rule("AB-07", "virtual consumption", by_run=False)
OPEN = Rule("AB-20", "credit for machines being created", by_run=True)


@pytest.mark.parametrize(
    ("ablated", "standing", "conclusion"),
    [
        (ALL_FAIL, Standing.PROVEN, Conclusion.PROVEN),
        (ALL_FAIL | {1: passed(1)}, Standing.NOT_CAUGHT, Conclusion.CONTRADICTED),
        (ALL_FAIL | {1: unjudged(1)}, Standing.INCONCLUSIVE, Conclusion.INCONCLUSIVE),
        ({1: failed(1)}, Standing.UNFINISHED, Conclusion.UNFINISHED),
    ],
)
def test_a_rule_stands_as_its_claim_does(ablated: Trials, standing: Standing, conclusion: Conclusion) -> None:
    whole = matrix(cell(ablated))
    assert (whole.standing(RULE), whole.conclusion) == (standing, conclusion)


def test_every_claim_about_a_rule_must_hold() -> None:
    elsewhere = replace(cell(ALL_PASS), world=replace(world(ALL_PASS), profile="dev-50"))
    assert matrix(cell(ALL_FAIL), elsewhere).standing(RULE) is Standing.NOT_CAUGHT


def test_what_nobody_claims_decides_nothing() -> None:
    unclaimed = replace(cell(ALL_PASS, claimed=()), world=replace(world(ALL_PASS), profile="dev-50"))
    whole = matrix(cell(ALL_FAIL), unclaimed)
    assert (whole.standing(RULE), whole.conclusion) == (Standing.PROVEN, Conclusion.PROVEN)


def test_a_rule_that_no_profile_claims_is_open_unless_its_case_holds_it() -> None:
    whole = matrix(cell(ALL_FAIL), rules=(RULE, BY_CASE))
    assert (whole.standing(BY_CASE), whole.conclusion) == (Standing.BY_CASE, Conclusion.PROVEN)
    whole = matrix(cell(ALL_FAIL), rules=(RULE, OPEN))
    assert (whole.standing(OPEN), whole.conclusion) == (Standing.OPEN, Conclusion.INCONCLUSIVE)


def test_a_rule_without_a_claim_in_some_worlds_may_be_claimed_in_others() -> None:
    whole = replace(matrix(cell(ALL_PASS, claimed=())), every_world=False)
    assert (whole.standing(RULE), whole.conclusion) == (Standing.TRIED, Conclusion.PROVEN)


def test_what_nobody_claims_must_end_all_the_same() -> None:
    assert matrix(cell(ALL_FAIL), cell({}, claimed=())).conclusion is Conclusion.UNFINISHED


def test_the_complete_engine_must_pass_even_where_nothing_is_claimed() -> None:
    assert Matrix((), (world(ALL_PASS | {3: failed(3)}),), ()).conclusion is Conclusion.CONTRADICTED
    assert Matrix((), (world(ALL_PASS | {3: unjudged(3)}),), ()).conclusion is Conclusion.INCONCLUSIVE
    assert Matrix((), (world({1: passed(1)}),), ()).conclusion is Conclusion.UNFINISHED
    assert Matrix((), (world(ALL_PASS),), ()).conclusion is Conclusion.PROVEN
