"""`scaletest ablations` and `scaletest explain`: what the reference engine's rules are, and what they decide."""

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["ablations", "explain"]


def ablations(
    *,
    json: Annotated[bool, typer.Option("--json", help="Print the list as JSON.")] = False,
) -> None:
    """List the rules of the reference engine that can be taken away, and which gate should notice.

    \b
    Examples:
      scaletest ablations
      scaletest ablations --json | jq -r '.[].id'
    """
    from scaletest_runner.engine_view import show_ablations

    show_ablations(as_json=json)


def explain(
    what: Annotated[
        Path, typer.Argument(help="An engine fixture (a YAML file of small worlds), or a run's folder.", metavar="WHAT")
    ],
    *,
    case: Annotated[str, typer.Option(help="Only cases (of a run: rows) whose name contains this text.")] = "",
    cycle: Annotated[int | None, typer.Option(min=1, help="Of a run: the cycle to decide again.")] = None,
    without: Annotated[
        list[str] | None, typer.Option(help="Play the cases without this rule (repeat for several): AB-16.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the cycles as JSON.")] = False,
) -> None:
    """Say what the engine decided, by which rule, and why: in a fixture cycle by cycle, or in one cycle of a run.

    \b
    Examples:
      scaletest explain tests/data/engine/ablations.yaml --case AB-05
      scaletest explain tests/data/engine/rules.yaml --case spread --json
      scaletest explain tests/data/engine/ablations.yaml --case AB-18 --without AB-18
      scaletest explain reports/dev-50/20261116T101500Z-1 --cycle 12
    """
    if what.is_dir():
        from scaletest_runner.running.explaining import explain_cycle

        raise typer.Exit(explain_cycle(what, cycle, only=case, as_json=json))
    from scaletest_runner.engine_view import show_explanation

    raise typer.Exit(show_explanation(what, case=case, without=tuple(without or ()), as_json=json))
