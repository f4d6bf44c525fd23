"""The words that every output shares."""

import pytest
from verdict_examples import EXAMPLE, NASTY, gate

from scaletest.gates.outcomes import Bracket, Outcome
from scaletest.plan.gate_table import Unit, Window
from scaletest.plan.gates import Gate, Kind
from scaletest.report.wording import bar_text, margin_text, observed_text, visible, worst_first


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        (Bracket(3.25, 3.25), "3.25 s"),
        (Bracket(3, 4.5), "3 to 4.5 s"),
        (Bracket(3, None), "at least 3 s"),
        (Bracket(1234567, 1234567), "1,234,567 s"),
        (Bracket(1e20, 1e20), "1.00000e+20 s"),
    ],
)
def test_a_value_reads_as_what_is_known_of_it(value: Bracket | None, text: str) -> None:
    assert observed_text(gate(value=value)) == text


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (30.0, "30 s"),
        (30.0000001, "30.0000001 s"),
        (30.000000000001, "30.000000000001 s"),
        (29.9999999, "29.9999999 s"),
    ],
)
def test_a_value_beside_the_bar_is_never_rounded_onto_it(number: float, text: str) -> None:
    assert observed_text(gate(value=Bracket(number, number), threshold=30)) == text


@pytest.mark.parametrize(
    ("threshold", "comparison", "unit"),
    [
        (30.0, "<=", Unit.SECONDS),
        (0.985, ">=", Unit.RATIO),
        (15000, "<=", Unit.COUNT),
        (0, "<=", Unit.COUNT),
        (0.02, "<=", Unit.PER_GANG_MINUTE),
        ("at least one", "<=", Unit.FACT),
    ],
)
def test_the_bar_reads_as_in_the_plan(threshold: float | str, comparison: str, unit: Unit) -> None:
    planned = Gate(
        name="x",
        role="requests",
        threshold=threshold,
        comparison=comparison,
        unit=unit,
        quantile=None,
        window=Window.SOAK,
        start_us=0,
        end_us=1,
        expected_samples=None,
        claim="",
        kind=Kind.MEASURED,
    )
    assert bar_text(gate(threshold=threshold, comparison=comparison, unit=unit)) == planned.bar_text()


@pytest.mark.parametrize(
    ("value", "threshold", "text"),
    [
        (Bracket(4, 4), 5, "20 %"),
        (Bracket(5.12, 5.12), 5, "-2.4 %"),
        (Bracket(46505, 46505), 15000, "-210 %"),
        (Bracket(500, 500), 5, "-9,900 %"),
        (Bracket(4, None), 5, "-"),
        (Bracket(0, 0), 0, "-"),
        (Bracket(1e307, 1e307), 1, "-"),
    ],
)
def test_the_margin_reads_in_per_cent_of_the_bar(value: Bracket, threshold: float, text: str) -> None:
    assert margin_text(gate(value=value, threshold=threshold)) == text


def test_failed_gates_come_first_and_the_rest_keeps_its_order() -> None:
    outcomes = [each.outcome for each in worst_first(EXAMPLE.gates)]
    assert outcomes[:3] == [Outcome.FAIL, Outcome.UNMEASURED, Outcome.MARGINAL]
    assert [each.name for each in worst_first((gate("b"), gate("a")))] == ["b", "a"]


def test_hidden_characters_are_spelled_out() -> None:
    assert visible("a\x00\x1b[31m\u202e\ud800\ufffe\x85\r\n\t") == r"a\x00\x1b[31m\u202e\ud800\ufffe\x85\x0d" + "\n\t"


def test_what_is_visible_stays_as_it_is() -> None:
    assert visible(visible(NASTY)) == visible(NASTY)
    assert visible("p99 <= 30 s, \u00fc \U0001f600") == "p99 <= 30 s, \u00fc \U0001f600"
