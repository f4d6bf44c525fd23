"""`scaletest toolchain`: the programs that a real control plane is made of."""

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["app"]

app = typer.Typer(
    help="The programs of a real control plane: where they are, and building what is missing.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

_From = Annotated[
    Path | None,
    typer.Option(
        "--from",
        help="A folder to look in before PATH and the cache; overrides SCALETEST_TOOLCHAIN.",
        metavar="DIR",
        show_default=False,
    ),
]


@app.command()
def status(folder: _From = None) -> None:
    """Show every program with its version and source, and why other sources were not used.

    Exits with 0 if all programs are there, and with 4 if not.

    \b
    Example:
      scaletest toolchain status --from ~/kubernetes/server/bin
    """
    from scaletest_runner.toolchains import show_status

    raise typer.Exit(show_status(folder))


@app.command()
def install(folder: _From = None) -> None:
    """Build what neither the folder nor PATH has, from the pinned Go modules, into the cache.

    Needs Go 1.26 or newer, a module proxy and 10 GB of disk; takes about 12 minutes on 2 cores, the first time.

    \b
    Example:
      scaletest toolchain install
    """
    from scaletest_runner.toolchains import install

    install(folder)


@app.command()
def path(folder: _From = None) -> None:
    """Print the folder that has every program under its plain name.

    \b
    Example:
      PATH="$(scaletest toolchain path):$PATH" kwokctl get clusters
    """
    from scaletest_runner.toolchains import show_path

    show_path(folder)
