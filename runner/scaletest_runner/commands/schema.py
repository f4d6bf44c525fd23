"""`scaletest schema`: the JSON Schema of a kind of file, printed, or all of them written to a folder."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

__all__ = ["Kind", "schema"]


class Kind(StrEnum):
    """A kind of file, as the command line spells it."""

    PROFILE = "profile"
    CATALOG = "catalog"
    ENGINE = "engine"
    SUBSTRATE = "substrate"


def schema(
    kind: Annotated[Kind, typer.Argument(help="Which kind of file to describe.", case_sensitive=False)] = Kind.PROFILE,
    *,
    write: Annotated[
        Path | None,
        typer.Option(
            "--write", metavar="DIR", help="Write the schemas of all kinds into this folder.", file_okay=False
        ),
    ] = None,
    reference: Annotated[
        Path | None,
        typer.Option("--reference", metavar="FILE", help="Write the field reference as Markdown.", dir_okay=False),
    ] = None,
) -> None:
    """Print the JSON Schema of one kind of file, for editors and for other checkers.

    Examples: `scaletest schema catalog`, `scaletest schema --write profiles/schema`.
    """
    # Imported here: the schema generator reads sources and is no other command's business.
    from scaletest.profile.json_schema import SCHEMA_FILES, reference_markdown, schema_text

    if write is not None:
        write.mkdir(parents=True, exist_ok=True)
        for each, name in SCHEMA_FILES.items():
            (write / name).write_text(schema_text(each), encoding="utf-8")
    if reference is not None:
        reference.parent.mkdir(parents=True, exist_ok=True)
        reference.write_text(reference_markdown(), encoding="utf-8")
    if write is None and reference is None:
        typer.echo(schema_text(kind.value.capitalize()), nl=False)
