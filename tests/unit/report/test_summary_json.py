"""summary.json: one page of a run."""

from dataclasses import replace

import pytest
from verdict_examples import EXAMPLE, RECORD, gate, verdict

from scaletest.evidence.record import Phase
from scaletest.gates.outcomes import Outcome
from scaletest.plan.gates import Kind
from scaletest.report.summary_json import headline, phase_duration_us, summary_document, summary_text


def test_gates_are_counted_by_outcome_and_none_is_left_out() -> None:
    counts = summary_document(EXAMPLE, RECORD)["gateOutcomes"]
    assert counts == {"PASS": 3, "MARGINAL": 1, "FAIL": 1, "UNMEASURED": 1, "NOT_APPLICABLE": 1}


def test_failed_and_unmeasured_gates_are_named() -> None:
    document = summary_document(EXAMPLE, RECORD)
    assert document["failed"] == ["internalBindingLatencyP99Seconds"]
    assert document["unmeasured"] == ["operatorAckP99Seconds"]


def test_the_record_says_how_the_run_went() -> None:
    document = summary_document(EXAMPLE, RECORD)
    assert (document["randomSeed"], document["hashes"], document["versions"]) == (7, RECORD.hashes, RECORD.versions)
    assert [phase["duration_us"] for phase in document["phases"]] == [12_500_000, 33_000_000, 180_000_000, None]
    assert document["duration_us"] == 225_500_000


def test_the_headline_is_the_first_gate_that_applies_and_is_measured() -> None:
    given = gate("given", kind=Kind.INPUT)
    absent = gate("absent", Outcome.NOT_APPLICABLE)
    first = gate("first", Outcome.UNMEASURED, value=None)
    assert headline(verdict(given, absent, first, gate("second"))) == first


def test_a_run_of_modelled_numbers_has_no_headline() -> None:
    assert summary_document(verdict(gate(kind=Kind.MODELLED)), RECORD)["headline"] is None


@pytest.mark.parametrize(("end_us", "duration_us"), [(None, None), (30, 20), (5, 0)])
def test_a_phase_never_takes_less_than_no_time(end_us: int | None, duration_us: int | None) -> None:
    assert phase_duration_us(Phase("soak", 10, end_us, "ok")) == duration_us


def test_the_same_run_gives_the_same_bytes() -> None:
    shuffled = replace(RECORD, hashes=dict(reversed(RECORD.hashes.items())))
    assert summary_text(EXAMPLE, RECORD) == summary_text(EXAMPLE, shuffled)
