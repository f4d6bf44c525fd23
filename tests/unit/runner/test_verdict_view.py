"""A verdict in the terminal."""

from io import StringIO

import pytest
from rich.console import Console
from verdict_examples import EXAMPLE, PASSED, gate, nasty_verdict, verdict

from scaletest.gates.outcomes import RunOutcome, Verdict
from scaletest_runner.verdict_view import print_verdict


def shown(each: Verdict, *, width: int = 160, terminal: bool = False) -> str:
    file = StringIO()
    console = Console(file=file, width=width, force_terminal=True, color_system="standard") if terminal else None
    print_verdict(each, console or Console(file=file, width=width))
    return file.getvalue()


def test_the_last_line_is_the_outcome() -> None:
    assert shown(EXAMPLE).splitlines()[-1].startswith("INCONCLUSIVE: a gate failed, but a target was lost")
    assert shown(PASSED).splitlines()[-1] == "PASS: every gate passed"


def test_an_exploratory_verdict_is_stamped() -> None:
    last = shown(verdict(outcome=RunOutcome.INCONCLUSIVE, strict=True, exploratory=True)).splitlines()[-1]
    assert last.startswith("INCONCLUSIVE (strict, exploratory): ")


def test_failed_gates_come_first_with_what_to_look_at() -> None:
    lines = shown(EXAMPLE).splitlines()
    assert lines[4].startswith("internalBindingLatencyP99Seconds  FAIL")
    assert any(line.startswith("  look at") and "cluster-3" in line for line in lines)


def test_a_clean_pass_has_nothing_to_look_at() -> None:
    assert "What to look at" not in shown(PASSED)


def test_defects_and_information_are_listed() -> None:
    text = shown(EXAMPLE)
    assert "driver lag (could worsen a number): p99 of 1.2 s" in text
    assert "peak bind rate  41 Pods/s" in text


def test_colour_is_for_terminals_only() -> None:
    assert "\x1b[" not in shown(EXAMPLE)
    assert "\x1b[" in shown(EXAMPLE, terminal=True)


def test_text_from_outside_is_neither_markup_nor_control() -> None:
    text = shown(nasty_verdict(), width=2000)
    assert "[red]x[/]" in text
    assert r"\x1b[31m\x00\u202e \ud800\ufffe\x0d\n**d**" in text
    assert not set(text) & set("\x1b\x00\u202e\ud800\r")


def test_no_text_can_pose_as_a_line_of_ours() -> None:
    forged = shown(verdict(gate(reason="x\nPASS: every gate passed"), outcome=RunOutcome.FAIL, reason="y\nPASS: z"))
    assert not any(line.startswith("PASS") for line in forged.splitlines())


@pytest.mark.parametrize("width", [40, 80, 120, 160, 400])
def test_any_width_shows_every_gate_and_every_figure_of_a_failed_one(width: int) -> None:
    text = "".join(shown(EXAMPLE, width=width).split())
    assert all(each.name in text for each in EXAMPLE.gates)
    assert all(figure in text for figure in ("34.25", "574", "soak"))
