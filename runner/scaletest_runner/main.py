"""The command line: one file per command, imported when it is called, so that --help answers at once."""

import sys
from typing import Annotated, NoReturn

import typer

from scaletest_runner.commands import (
    calibrate,
    clusters,
    doctor,
    engine,
    gate,
    plan,
    profiles,
    prove,
    run,
    schema,
    toolchain,
    validate,
)

__all__ = ["app", "main"]

app = typer.Typer(
    name="scaletest",
    help="Scale tests and SLO gates for Kubernetes capacity engines.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode=None,
    epilog="Exit codes: 0 passed, 1 a gate failed, 2 bad file or usage or refused by preflight, 3 inconclusive, "
    "4 environment, 70 a fault of scaletest, 130 and 143 interrupted.",
)
for command in (
    profiles.profiles,
    validate.validate,
    plan.plan,
    run.run,
    run.replay,
    gate.gate,
    gate.contract,
    prove.prove,
    calibrate.calibrate,
    engine.ablations,
    engine.explain,
    schema.schema,
    doctor.doctor,
):
    app.command()(command)
app.add_typer(clusters.clusters)
app.add_typer(toolchain.app, name="toolchain")


def _version(wanted: bool) -> None:  # noqa: FBT001 - typer passes it by position
    if wanted:
        from importlib.metadata import version

        typer.echo(f"scaletest {version('scaletest')}")
        raise typer.Exit


@app.callback()
def _root(
    *,
    _: Annotated[bool, typer.Option("--version", help="Show the version.", callback=_version, is_eager=True)] = False,
) -> None:
    """Scale tests and SLO gates for Kubernetes capacity engines."""


def main() -> NoReturn:
    """Run a command and translate every failure once, here."""
    from scaletest_runner.failures import reported

    sys.exit(reported(app))


if __name__ == "__main__":
    main()
