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
    fixture: Annotated[Path, typer.Argument(help="An engine fixture: a YAML file of small worlds.")],
    *,
    case: Annotated[str, typer.Option(help="Only cases whose name contains this text.")] = "",
    without: Annotated[
        list[str] | None, typer.Option(help="Play the cases without this rule (repeat for several): AB-16.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the cycles as JSON.")] = False,
) -> None:
    """Play an engine fixture and say, cycle by cycle, what was decided, by which rule, and why.

    \b
    Examples:
      scaletest explain tests/data/engine/ablations.yaml --case AB-05
      scaletest explain tests/data/engine/rules.yaml --case spread --json
      scaletest explain tests/data/engine/ablations.yaml --case AB-18 --without AB-18
    """
    from scaletest_runner.engine_view import show_explanation

    raise typer.Exit(show_explanation(fixture, case=case, without=tuple(without or ()), as_json=json))
