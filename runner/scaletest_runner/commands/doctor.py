"""`scaletest doctor`: whether real control planes can run on this machine."""

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["doctor"]


def doctor(
    folder: Annotated[
        Path | None,
        typer.Option("--from", help="A folder to look for programs in, before PATH and the cache.", metavar="DIR"),
    ] = None,
) -> None:
    """Show what this machine has for real control planes, what is missing, and the command that fixes it.

    Exits with 0 if runs with kwok are possible, and with 4 if not. The simulated world needs none of this.

    \b
    Example:
      scaletest doctor
    """
    from scaletest_runner.doctor import examine

    raise typer.Exit(examine(folder))
