"""The matrix on a terminal of 120 columns: nothing cut, the reason beside what does not hold, the conclusion last."""

from io import StringIO

from matrix_examples import FLIPS, RULE, cell, failed, matrix, passed
from rich.console import Console

from scaletest.gates.matrix import Matrix, Rule
from scaletest_runner.proof_view import cell_line, print_matrix

FAILS, PASSES = {s: failed(s, value=s + 1.5) for s in (1, 2, 3)}, {s: passed(s) for s in (1, 2, 3)}
WORDY = Rule("AB-05", "one domain choice per gang and cycle, however the rest of the fleet may look", by_run=True)


def shown(matrix_: Matrix, note: str = "") -> str:
    text = StringIO()
    print_matrix(matrix_, note=note, console=Console(file=text, width=120))
    return text.getvalue()


def test_a_claim_stands_with_its_gate_and_both_sides_of_the_comparison() -> None:
    text = shown(matrix(cell(FAILS), cell(FAILS, rule=WORDY), rules=(RULE, WORDY)))
    assert f"{FLIPS} <= 1 per gang-minute" in text
    assert "2.5 to 4.5 without the rule, 0 with it" in text
    assert "3/3" in text
    assert max(map(len, text.splitlines())) <= 120
    assert text.splitlines()[-1].startswith("PROVEN: every claim holds")
    assert text.splitlines()[-1].endswith("(2 proven)")


def test_what_does_not_hold_comes_with_its_reason_and_the_command_that_repeats_it() -> None:
    text = shown(matrix(cell(FAILS | {2: passed(2)})))
    assert "missed on seed 2" in text
    assert "scaletest run proving/clean-shuffled --seed 2 --ablate AB-16" in text
    assert text.splitlines()[-1].startswith("CONTRADICTED")


def test_a_false_alarm_is_told_once_with_its_command() -> None:
    alarm = PASSES | {3: failed(3)}
    text = shown(matrix(cell(FAILS, complete=alarm), cell(FAILS, complete=alarm, rule=WORDY), rules=(RULE, WORDY)))
    assert text.count("false alarm: the complete engine in proving/clean-shuffled") == 1
    assert "scaletest run proving/clean-shuffled --seed 3\n" in text


def test_an_interrupt_shows_what_is_known() -> None:
    text = shown(matrix(cell({1: failed(1)})), note="ended by SIGINT")
    assert "ended by SIGINT; what ended until then is shown" in text
    assert "1/3" in text
    assert text.splitlines()[-1].startswith("UNFINISHED")


def test_rules_without_a_claim_are_listed_with_what_holds_them() -> None:
    text = shown(matrix(cell(FAILS), rules=(RULE, WORDY)))
    assert "AB-05" in text
    assert "no profile claims to" in text


def test_a_cell_is_a_line_of_a_log() -> None:
    assert cell_line(cell(FAILS)).plain == "proving/clean-shuffled  AB-16  caught on 3 of 3 seeds"
    assert cell_line(cell(PASSES)).plain.startswith("proving/clean-shuffled  AB-16  missed on seeds 1, 2, 3")
