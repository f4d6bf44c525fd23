from dataclasses import replace

from scaletest.gates.case import Case, Span
from scaletest.gates.cycles import cycle_rows
from scaletest.gates.judge import judge
from scaletest.gates.outcomes import Outcome
from scaletest.gates.proof import proof_gate
from scaletest.gates.staging import Scene, staged_evidence, staged_test


def _outcome(expected: int) -> Outcome:
    """Judge a standing shortfall over the tail of a soak without settle time: its last third."""
    gate = replace(
        proof_gate("standingShortfall", "a shortfall stands"), start_us=0, end_us=600_000_000, expected_samples=expected
    )
    test = replace(staged_test(gate), settle_us=0)
    return judge(test, staged_evidence(test, Scene(shortfall=50))).gates[0].outcome


def test_a_part_of_the_window_is_asked_for_its_part_of_the_cycles() -> None:
    assert _outcome(expected=181) is Outcome.PASS


def test_a_part_with_less_than_half_of_its_cycles_is_not_measured() -> None:
    assert _outcome(expected=400) is Outcome.UNMEASURED


def test_a_window_begins_and_ends_with_its_scrapes_and_not_with_its_marks() -> None:
    gate = replace(proof_gate("noShortfall", "none"), start_us=0, end_us=600_000_000, expected_samples=20)
    test = replace(staged_test(gate), rollup_interval_us=3_000_000)
    case = Case(test, staged_evidence(test, Scene()))
    # Scrapes come every 15 s: the first after this span's start is 14 s late, and cycles before it do not count.
    rows, doubt = cycle_rows(case, Span(61_000_000, 121_000_000), gate)
    assert doubt == ""
    assert rows[0].at_us + rows[0].duration_us > 75_000_000
    assert 121_000_000 < rows[-1].at_us <= 135_000_000
