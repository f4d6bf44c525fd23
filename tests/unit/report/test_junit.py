"""junit.xml, read back with a reader that is not ours."""

from dataclasses import replace

import pytest
from junitparser import Error, Failure, JUnitXml, Skipped, TestCase
from verdict_examples import EXAMPLE, PASSED, RECORD, gate, nasty_verdict, verdict

from scaletest.evidence.reading import Defect, Effect
from scaletest.gates.outcomes import Outcome, RunOutcome, Verdict
from scaletest.report.junit import junit_text
from scaletest.report.wording import visible

DEFECT = Defect("lost target", Effect.FLATTER, "agent-3 is gone")


def suite_of(each: Verdict) -> dict[str, TestCase]:
    (suite,) = JUnitXml.fromstring(junit_text(each, RECORD))
    return {f"{case.classname}.{case.name}": case for case in suite}


def gate_case(outcome: Outcome, *, strict: bool = False) -> TestCase:
    return suite_of(verdict(gate("g", outcome, look_at="the ledger"), strict=strict))["dev-50.gate.g"]


@pytest.mark.parametrize(
    ("outcome", "element"), [(Outcome.FAIL, Failure), (Outcome.UNMEASURED, Error), (Outcome.NOT_APPLICABLE, Skipped)]
)
def test_each_outcome_has_its_element(outcome: Outcome, element: type[Failure | Error | Skipped]) -> None:
    (result,) = gate_case(outcome).result
    assert isinstance(result, element)
    assert result.type == outcome


def test_a_passed_gate_is_a_bare_case() -> None:
    case = gate_case(Outcome.PASS)
    assert case.is_passed
    assert case.system_out is None


def test_a_marginal_gate_passes_with_a_warning() -> None:
    case = gate_case(Outcome.MARGINAL)
    assert case.is_passed
    assert case.system_out.startswith("warning: MARGINAL: p99 of the soak")


def test_a_marginal_gate_fails_under_strict() -> None:
    (result,) = gate_case(Outcome.MARGINAL, strict=True).result
    assert isinstance(result, Failure)
    assert result.type == "MARGINAL"


def test_a_failure_says_observed_bar_window_source_and_where_to_look() -> None:
    (result,) = gate_case(Outcome.FAIL).result
    assert result.message == "3.3 s, bar <= 5 s: p99 of the soak is under the bar"
    for line in ("observed: 3.3 s", "bar: <= 5 s", "window: soak", "source: cycleDuration:", "look at: the ledger"):
        assert f"\n{line}" in result.text


def test_there_is_one_case_per_gate_and_per_phase_and_one_for_validity() -> None:
    expected = [f"dev-50.gate.{each.name}" for each in EXAMPLE.gates]
    expected += [f"dev-50.phase.{name}" for name, _, _ in EXAMPLE.phases]
    assert list(suite_of(EXAMPLE)) == [*expected, "dev-50.validity.validity"]


def test_phases_take_their_time_from_the_record_and_a_bad_end_is_an_error() -> None:
    cases = suite_of(EXAMPLE)
    assert cases["dev-50.phase.steady"].time == 33.0
    (result,) = cases["dev-50.phase.collect"].result
    assert isinstance(result, Error)
    assert result.message == "interrupted: the disk was full"


def test_a_phase_that_the_record_does_not_know_takes_no_time() -> None:
    phases = (("other", "ok", ""), *EXAMPLE.phases[1:], ("more", "ok", ""))
    cases = suite_of(replace(EXAMPLE, phases=phases))
    assert (cases["dev-50.phase.other"].time, cases["dev-50.phase.more"].time) == (0.0, 0.0)


def test_totals_are_those_of_the_example() -> None:
    whole = JUnitXml.fromstring(junit_text(EXAMPLE, RECORD))
    for each in (whole, *whole):
        assert (each.tests, each.failures, each.errors, each.skipped, each.time) == (12, 1, 3, 1, 225.5)


def test_defects_of_an_inconclusive_run_are_an_error() -> None:
    case = suite_of(verdict(gate(), outcome=RunOutcome.INCONCLUSIVE, reason="flattered", defects=(DEFECT,)))
    (result,) = case["dev-50.validity.validity"].result
    assert isinstance(result, Error)
    assert result.text == "flattered\nlost target (could flatter a number): agent-3 is gone"


def test_defects_that_a_pass_survives_are_shown_without_failing_it() -> None:
    case = suite_of(verdict(gate(), defects=(DEFECT,)))["dev-50.validity.validity"]
    assert case.is_passed
    assert "agent-3 is gone" in case.system_out


def test_an_unmeasured_gate_alone_is_one_error() -> None:
    unmeasured = verdict(gate("g", Outcome.UNMEASURED), outcome=RunOutcome.INCONCLUSIVE, phases=())
    (suite,) = JUnitXml.fromstring(junit_text(unmeasured, RECORD))
    assert suite.errors == 1


def test_an_exploratory_run_is_an_error() -> None:
    case = suite_of(replace(PASSED, outcome=RunOutcome.INCONCLUSIVE, exploratory=True))["dev-50.validity.validity"]
    assert "exploratory" in case.result[0].text


@pytest.mark.parametrize("outcome", [RunOutcome.FAIL, RunOutcome.INCONCLUSIVE])
def test_a_run_that_did_not_pass_is_never_green(outcome: RunOutcome) -> None:
    (suite,) = JUnitXml.fromstring(junit_text(verdict(gate(), outcome=outcome, phases=()), RECORD))
    assert (suite.failures, suite.errors) == ((1, 0) if outcome is RunOutcome.FAIL else (0, 1))


def test_any_text_survives() -> None:
    nasty = nasty_verdict()
    (suite,) = JUnitXml.fromstring(junit_text(nasty, RECORD))
    assert suite.name == visible(nasty.profile)
    assert next(case.name for case in suite) == visible(nasty.gates[0].name)
