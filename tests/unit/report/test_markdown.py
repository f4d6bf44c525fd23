"""The step summary: what it shows, what it escapes and what it leaves out."""

import pytest
from verdict_examples import EXAMPLE, gate, verdict

from scaletest.gates.outcomes import Information, Outcome, RunOutcome
from scaletest.report.markdown import CAP_BYTES, markdown_text


def test_the_outcome_comes_first() -> None:
    assert markdown_text(EXAMPLE).startswith("## \u2753 **INCONCLUSIVE**: dev-50\n\n**Why:** a gate failed, but")


def test_failed_gates_lead_the_table() -> None:
    rows = [line for line in markdown_text(EXAMPLE).splitlines() if line.startswith("| ")]
    assert rows[1].startswith("| internalBindingLatencyP99Seconds | \u274c **FAIL** | at least 34.25 s | &lt;= 30 s |")
    assert len(rows) == 1 + len(EXAMPLE.gates)


def test_an_exploratory_verdict_says_so() -> None:
    assert "**exploratory:" in markdown_text(verdict(outcome=RunOutcome.INCONCLUSIVE, exploratory=True))


def test_what_markdown_would_interpret_is_escaped() -> None:
    shown = markdown_text(verdict(gate(reason="a|b `c` <i>d</i>\n*e* [f](g) \\h")))
    assert r"a&#124;b &#96;c&#96; &lt;i&gt;d&lt;/i&gt;<br>\*e\* \[f\](g) \\h" in shown


def test_empty_parts_are_not_shown() -> None:
    shown = markdown_text(verdict(gate()))
    assert "Defects" not in shown
    assert "Information" not in shown


def test_a_text_that_nobody_would_read_to_the_end_is_clipped() -> None:
    assert "x... (3,000 more characters)" in markdown_text(verdict(gate(reason="x" * 5000)))


def test_rows_beyond_the_cap_are_left_out_from_the_end_and_counted() -> None:
    gates = [gate(f"g{place}", reason="r" * 1000) for place in range(1500)]
    shown = markdown_text(verdict(gate("bad", Outcome.FAIL), *gates))
    kept = shown.count("\n| g") - 1  # the heading is a row too
    assert len(shown.encode()) <= CAP_BYTES
    assert f"_{1500 - kept:,} of 1,501 gates left out to keep this summary small: see verdict.json._" in shown
    assert "| bad |" in shown
    assert "of 1,501 gates in detail left out" in shown


def test_one_byte_less_than_the_whole_leaves_something_out() -> None:
    whole = markdown_text(EXAMPLE)
    # Room is kept for the notes themselves, so the whole fits exactly only with some spare.
    assert markdown_text(EXAMPLE, cap_bytes=len(whole.encode()) + 1000) == whole
    assert "left out" in markdown_text(EXAMPLE, cap_bytes=len(whole.encode()) - 1)


def test_a_cap_too_small_for_the_frame_still_shows_the_outcome() -> None:
    shown = markdown_text(verdict(outcome=RunOutcome.FAIL, reason="\u20ac" * 2000), cap_bytes=1024)
    assert shown == "## \u274c **FAIL**\n\n_Too long to show within 1,024 bytes: see verdict.json._\n"


@pytest.mark.parametrize("cap", [2000, 3000, 5000])
def test_the_frame_of_folded_parts_is_always_closed(cap: int) -> None:
    many = tuple(Information(f"i{place}", "x" * 50) for place in range(200))
    shown = markdown_text(verdict(gate(), information=many), cap_bytes=cap)
    assert shown.count("<details>") == shown.count("</details>")
    assert len(shown.encode()) <= cap
