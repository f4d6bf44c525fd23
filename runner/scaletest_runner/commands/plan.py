"""`scaletest plan`: the whole test as data, with everything that cannot work already refused."""

from typing import Annotated

import typer

from scaletest_runner.completion import complete_profile

__all__ = ["plan"]


def plan(
    profile: Annotated[
        str,
        typer.Argument(help="A profile file, or the name of a shipped profile.", autocompletion=complete_profile),
    ],
    *,
    substrate: Annotated[str, typer.Option(help="Where it would run: sim, kwok, or a substrate file.")] = "sim",
    engine: Annotated[str | None, typer.Option(help="Engine under test: a name or a manifest file.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Root of all randomness; overrides randomSeed.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the plan as JSON.")] = False,
) -> None:
    """Resolve a profile into the test it means, and check it before anything starts.

    \b
    Examples:
      scaletest plan profiles/dev-50.yaml
      scaletest plan uber-5k --substrate kwok
      scaletest plan dev-50 --seed 7 --json | jq .gates
    """
    from scaletest_runner.planning import show_plan

    raise typer.Exit(show_plan(profile, substrate=substrate, engine=engine, seed=seed, as_json=json))
