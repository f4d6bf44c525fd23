"""A verdict as a person reads it: what failed and where to look, every gate, defects, and the outcome last."""

from collections.abc import Iterator
from typing import Final

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from scaletest.gates.outcomes import GateResult, Outcome, RunOutcome, Verdict
from scaletest.report.wording import (
    bar_text,
    defect_text,
    figures,
    margin_text,
    observed_text,
    outcome_text,
    samples_text,
    visible,
    worst_first,
)
from scaletest_runner.terminal import out, plain_table

__all__ = ["print_verdict"]

_STYLES: Final = {
    "PASS": "green",
    "MARGINAL": "yellow",
    "FAIL": "bold red",
    "UNMEASURED": "bold magenta",
    "INCONCLUSIVE": "bold magenta",
    "NOT_APPLICABLE": "dim",
}
_CONCERNS: Final = frozenset({Outcome.FAIL, Outcome.UNMEASURED, Outcome.MARGINAL})
_RIGHT: Final = ("observed", "margin", "n")
_COLUMNS: Final = ("gate", "outcome", "observed", "bar", "margin", "n", "window", "kind", "why")
_COLUMNS_BY_WIDTH: Final = ((140, 9), (115, 8), (78, 4), (0, 2))
"""The first columns that a window of at least this width can show without breaking words."""


def print_verdict(verdict: Verdict, console: Console | None = None) -> None:
    """Print the whole verdict; the last line is the outcome."""
    console = console or out()
    console.print(_plain(f"{verdict.profile} in {verdict.world}, plan {verdict.plan_digest[:16]}", "bold"))
    columns = next(count for width, count in _COLUMNS_BY_WIDTH if console.width >= width)
    for part in (*_gates(verdict, columns), *_concerns(verdict, columns), *_lists(verdict)):
        console.print(part)
    console.print(_outcome(verdict))


def _plain(text: str, style: str = "") -> Text:
    """Return text that neither terminal nor markup interprets, on one line: none may pose as a line of ours."""
    return Text(visible(text).replace("\n", "\\n"), style=style)


def _word(outcome: Outcome | RunOutcome) -> Text:
    return Text(outcome_text(outcome), style=_STYLES[outcome])


def _gates(verdict: Verdict, columns: int) -> Iterator[RenderableType]:
    yield Text("\nGates", style="bold")
    table = plain_table(*_COLUMNS[:columns], right=_RIGHT)
    for gate in worst_first(verdict.gates):
        table.add_row(*_cells(gate)[:columns], style="dim" if gate.outcome is Outcome.NOT_APPLICABLE else "")
    yield table


def _cells(gate: GateResult) -> tuple[Text, ...]:
    return (
        _plain(gate.name),
        _word(gate.outcome),
        _plain(observed_text(gate)),
        _plain(bar_text(gate)),
        _plain(margin_text(gate)),
        _plain(samples_text(gate)),
        _plain(gate.window),
        _plain(gate.kind),
        _plain(gate.reason),
    )


def _concerns(verdict: Verdict, columns: int) -> Iterator[RenderableType]:
    """Yield, for each gate that did not pass cleanly, why and what to look at; and what the table had no room for."""
    concerns = [gate for gate in worst_first(verdict.gates) if gate.outcome in _CONCERNS]
    if concerns:
        yield Text("\nWhat to look at", style="bold")
    for gate in concerns:
        yield Text.assemble(_word(gate.outcome), "  ", _plain(gate.name, "bold"), "  ", _plain(gate.reason))
        facts = [(name, text) for name, text in figures(gate) if name not in _COLUMNS[:columns] and text]
        yield Padding(_pairs(iter(facts)), (0, 0, 0, 2))


def _lists(verdict: Verdict) -> Iterator[RenderableType]:
    if verdict.defects:
        yield Text("\nDefects of ground, harness or evidence", style="bold")
        yield from (_plain(defect_text(defect), "yellow") for defect in verdict.defects)
    if verdict.phases:
        yield Text("\nPhases", style="bold")
        yield _pairs((name, f"{outcome}: {detail}" if detail else outcome) for name, outcome, detail in verdict.phases)
    if verdict.information:
        yield Text("\nInformation", style="bold")
        yield _pairs((each.name, each.text) for each in verdict.information)


def _pairs(rows: Iterator[tuple[str, str]]) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(overflow="fold")
    table.add_column(overflow="fold")
    for name, text in rows:
        table.add_row(_plain(name, "dim"), _plain(text))
    return table


def _outcome(verdict: Verdict) -> Text:
    stamps = [name for name, holds in (("strict", verdict.strict), ("exploratory", verdict.exploratory)) if holds]
    stamp = f" ({', '.join(stamps)})" if stamps else ""
    return Text.assemble("\n", _word(verdict.outcome), f"{stamp}: ", _plain(verdict.reason))
