"""`scaletest gate`: a saved run judged, anywhere and as often as one likes."""

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["contract", "gate"]


def gate(
    run: Annotated[Path, typer.Argument(help="Folder of a run: plan.json, run.json and evidence/.", metavar="RUN")],
    *,
    strict: Annotated[
        bool, typer.Option("--strict", help="Fail marginal gates, and ask for 95 % confidence of quantiles.")
    ] = False,
    bar: Annotated[
        list[str] | None,
        typer.Option(help="Judge with another bar (GATE=NUMBER); stamped exploratory, never a pass.", metavar="GATE=N"),
    ] = None,
    write: Annotated[bool, typer.Option(help="Write verdict, summary, JUnit and Markdown beside the evidence.")] = True,
) -> None:
    """Judge a run from its evidence.

    \b
    Examples:
      scaletest gate reports/dev-50/20261116T101500Z-1
      scaletest gate RUN --strict
      scaletest gate RUN --bar maxReclaimActionsDuringSoak=20
    """
    from scaletest_runner.judging import judge_folder

    raise typer.Exit(judge_folder(run, strict=strict, bars=bar or [], write=write))


def contract(
    profile: Annotated[str, typer.Argument(help="A profile file, or the name of a shipped profile.")],
    page: Annotated[Path, typer.Argument(help="A saved /metrics page of the engine, or - for standard input.")],
    *,
    engine: Annotated[str | None, typer.Option(help="Engine under test: a name or a manifest file.")] = None,
) -> None:
    """Check before any load that an engine shows what its manifest promises, in a form the gates can judge.

    \b
    Example:
      curl -s 127.0.0.1:8780/metrics | scaletest contract dev-50 -
    """
    from scaletest_runner.judging import check_contract

    raise typer.Exit(check_contract(profile, page, engine=engine))
