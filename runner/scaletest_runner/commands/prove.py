"""`scaletest prove`: the gates shown to work, each alone and all together on an engine that lacks a rule."""

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["prove"]


def prove(
    *,
    gates: Annotated[
        bool, typer.Option("--gates", help="Instead of running anything, prove every gate with staged evidence.")
    ] = False,
    ablation: Annotated[
        list[str] | None,
        typer.Option(help="Only this rule (repeat for several); see `scaletest ablations`.", metavar="AB-NN"),
    ] = None,
    profile: Annotated[
        list[str] | None,
        typer.Option(help="Only this world (repeat for several): a shipped name, or a file.", metavar="PROFILE"),
    ] = None,
    seeds: Annotated[str, typer.Option(help="How many seeds from 1 on, or which.", metavar="N|A..B")] = "5",
    jobs: Annotated[int, typer.Option(min=0, help="Runs at once; 0 means one per core.")] = 0,
    full: Annotated[
        bool, typer.Option("--full", help="Every rule in every world; what no profile claims, on one seed.")
    ] = False,
    json: Annotated[
        Path | None, typer.Option("--json", help="Write the matrix as JSON.", metavar="FILE", dir_okay=False)
    ] = None,
    markdown: Annotated[
        Path | None, typer.Option("--markdown", help="Write it as Markdown.", metavar="FILE", dir_okay=False)
    ] = None,
) -> None:
    """Show that the gates work: a rule taken from the engine turns a gate red, in a world that the whole engine passes.

    Exits with 0 if every claim holds, with 1 if one does not or the complete engine fails, and with 3 if a run cannot
    be judged or no profile claims a rule that needs one.

    \b
    Examples:
      scaletest prove
      scaletest prove --ablation AB-16 --seeds 20
      scaletest prove --profile clean-shuffled --full
      scaletest prove --profile my-world.yaml --ablation AB-16
      scaletest prove --gates
    """
    if gates:
        if ablation or profile or full or json or markdown:
            raise typer.BadParameter("--gates stages its evidence: it takes no other option")
        from scaletest_runner.judging import show_proof

        raise typer.Exit(show_proof())
    from scaletest_runner.running.proving import Asked, prove_rules

    asked = Asked(
        ablations=tuple(ablation or ()),
        profiles=tuple(profile or ()),
        seeds=seeds,
        jobs=jobs,
        full=full,
        json=json,
        markdown=markdown,
    )
    raise typer.Exit(prove_rules(asked))
