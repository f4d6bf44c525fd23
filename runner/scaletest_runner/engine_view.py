"""How the engine's rules and decisions look on a terminal, and as JSON."""

import json
import sys
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from scaletest.engine.decide import ABLATIONS, UnknownAblationError, rules_without
from scaletest_runner.engine_fixtures import Fixture, FixtureError, read_fixture
from scaletest_runner.engine_fixtures.explain import (
    ExplainedAction,
    ExplainedCase,
    ExplainedCycle,
    explained,
    explained_choice,
)

__all__ = ["show_ablations", "show_cycle", "show_explanation"]

_LOG_WIDTH = 160
_REFUSED = 2


def show_ablations(*, as_json: bool) -> None:
    """Print the register of ablations."""
    if as_json:
        rows = [
            {
                "id": a.id,
                "adr": a.adr,
                "removes": a.removes,
                "breaks": a.breaks,
                "gate": a.gate,
                "where": a.where,
                "byRun": a.by_run,
            }
            for a in ABLATIONS.values()
        ]
        sys.stdout.write(json.dumps(rows, indent=2) + "\n")
        return
    table = _table("id", "from", "rule removed", "what breaks", "gate that should see it", "switch")
    for a in ABLATIONS.values():
        table.add_row(a.id, *(escape(text) for text in (a.adr, a.removes, a.breaks, a.gate, a.where)))
    _console().print(table)


def show_explanation(path: Path, *, case: str, without: tuple[str, ...], as_json: bool) -> int:
    """Print what the fixture's cases decide; return the exit code."""
    try:
        fixture = read_fixture(path)
        rules_without(without)
    except (FixtureError, UnknownAblationError, OSError) as error:
        sys.stderr.write(f"scaletest: {error}\n")
        return _REFUSED
    cases = tuple(explained(fixture, name=case, without=without))
    choices = [choice for choice in fixture.choices if case.lower() in choice.name.lower()]
    if not cases and not choices:
        sys.stderr.write(f"scaletest: no case in {path} has {case!r} in its name\n")
        return _REFUSED
    if as_json:
        sys.stdout.write(json.dumps([asdict(one) for one in cases], indent=2) + "\n")
        return 0
    console = _console()
    for one in cases:
        _print_case(console, one)
    _print_choices(console, fixture, case)
    return 0


def show_cycle(cycle: ExplainedCycle, *, as_json: bool) -> None:
    """Print one cycle."""
    if as_json:
        sys.stdout.write(json.dumps(asdict(cycle), indent=2) + "\n")
    else:
        _print_cycle(_console(), cycle)


def _print_case(console: Console, case: ExplainedCase) -> None:
    rules = f"without {' and '.join(case.without)}" if case.without else "complete engine"
    console.print(f"\n[bold]{escape(case.case)}[/bold]  ({rules})")
    if case.about:
        console.print(f"  [dim]{escape(case.about)}[/dim]")
    for cycle in case.cycles:
        _print_cycle(console, cycle)


def _print_cycle(console: Console, cycle: ExplainedCycle) -> None:
    numbers = f"cycle {cycle.first}" if cycle.first == cycle.last else f"cycles {cycle.first}-{cycle.last}"
    quiet = "" if cycle.actions else "  nothing to do"
    console.print(f"  [bold]{numbers}[/bold]{quiet}")
    for need in cycle.needs:
        console.print(f"    {escape(need.need)} [dim]({need.cluster}, wants {need.wants or 'nothing'})[/dim]")
        if need.rule is not None:
            place = escape(need.domain or "no domain")
            console.print(f"      domain {place}: rule {need.rule}, {escape(need.because or '')}")
        console.print(f"      holds {escape(_names(need.claimed))}; acquires {escape(_names(need.acquired))}")
        if need.missing:
            console.print(f"      [yellow]short of {need.missing}[/yellow]: {escape(need.why_missing)}")
    for action in cycle.actions:
        place = f" in {escape(action.domain)}" if action.domain else ""
        console.print(
            f"    [cyan]{action.action}[/cyan] {escape(action.machine)} {_toward(action)} {escape(action.need)}{place}:"
            f" {escape(action.because)} [dim]({action.rule})[/dim]"
        )
    for refusal in cycle.refusals:
        console.print(
            f"    [dim]not done for {refusal.machines} ({escape(refusal.what)}): {escape(refusal.because)}"
            f" ({refusal.rule})[/dim]"
        )


def _print_choices(console: Console, fixture: Fixture, case: str) -> None:
    choices = [choice for choice in fixture.choices if case.lower() in choice.name.lower()]
    if not choices:
        return
    table = _table("choice", "domain", "rule", "because")
    for choice in choices:
        domain, rule = explained_choice(choice)
        table.add_row(escape(choice.name), escape(domain or "-"), rule.value, rule.sentence)
    console.print(table)


def _toward(action: ExplainedAction) -> str:
    return "of" if action.action in {"Reclaim", "Delete"} else "for"


def _names(names: tuple[str, ...]) -> str:
    if len(names) > 8:
        return f"{', '.join(names[:6])} and {len(names) - 6} more"
    return ", ".join(names) or "nothing"


def _console() -> Console:
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=_LOG_WIDTH)


def _table(*headers: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for position, header in enumerate(headers):
        table.add_column(header, overflow="fold", no_wrap=position == 0)
    return table
