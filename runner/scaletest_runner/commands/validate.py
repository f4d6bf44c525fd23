"""`scaletest validate`: every problem of every file, in one go."""

from typing import Annotated

import typer

__all__ = ["validate"]


def validate(
    files: Annotated[
        list[str], typer.Argument(help="Profiles, catalogs, engine manifests or substrates.", metavar="FILE...")
    ],
) -> None:
    """Check files and report every problem with file:line:column.

    \b
    Examples:
      scaletest validate my-profile.yaml
      scaletest validate profiles/*.yaml profiles/*/*.yaml
    """
    from scaletest_runner.validation import check_files

    raise typer.Exit(check_files(files))
