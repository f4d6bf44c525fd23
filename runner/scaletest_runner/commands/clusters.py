"""`scaletest clusters`: what runs on real clusters left on this machine, and its removal."""

from typing import Annotated

import typer

__all__ = ["clusters"]

clusters = typer.Typer(
    name="clusters",
    help="List and remove clusters of runs whose runner is gone.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@clusters.command("list")
def list_runs(
    *,
    json: Annotated[bool, typer.Option("--json", help="Print the list as JSON.")] = False,
) -> None:
    """List the runs that have clusters or processes on this machine: live, kept on purpose, or left behind.

    \b
    Examples:
      scaletest clusters list
      scaletest clusters list --json | jq -r '.[] | select(.state == "left behind") | .run'
    """
    from scaletest_runner.clusters_view import show_runs

    show_runs(as_json=json)


@clusters.command()
def destroy(
    run: Annotated[
        str | None, typer.Argument(help="A run from the list; without it, all that were left behind.", metavar="RUN")
    ] = None,
    *,
    everything: Annotated[bool, typer.Option("--all", help="Kept runs as well.")] = False,
) -> None:
    """End the processes of runs that are over and remove their clusters. Runs that are live are never touched.

    \b
    Examples:
      scaletest clusters destroy
      scaletest clusters destroy dev-50-20261116T101500Z-1
      scaletest clusters destroy --all
    """
    from scaletest_runner.clusters_view import destroy_runs

    if run is not None and everything:
        raise typer.BadParameter("name a run, or say --all")
    destroy_runs(run, kept_too=everything)
