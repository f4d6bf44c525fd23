"""`scaletest calibrate`: bars found by running, for a stated share of false alarms."""

from pathlib import Path
from typing import Annotated

import typer

from scaletest_runner.completion import complete_profile

__all__ = ["calibrate"]


def calibrate(
    profile: Annotated[
        str,
        typer.Argument(help="A profile file, or the name of a shipped profile.", autocompletion=complete_profile),
    ],
    *,
    runs: Annotated[int, typer.Option(min=1, max=20_000, help="How many seeds to run.")],
    first_seed: Annotated[int, typer.Option(min=0, help="The first seed; take seeds that no bar was found with.")] = (
        10_001
    ),
    false_alarms: Annotated[
        float, typer.Option(help="Share of runs that may fail a calibrated gate by chance, all gates together.")
    ] = 0.01,
    gates: Annotated[
        str, typer.Option(help="Gates to calibrate; else those that the profile sets.", metavar="GATE,...")
    ] = "",
    substrate: Annotated[str, typer.Option(help="Where it runs: sim, kwok, or a substrate file.")] = "sim",
    write: Annotated[bool, typer.Option("--write", help="Write the calibration into the profile's file.")] = False,
    expires_days: Annotated[int, typer.Option(min=1, max=3650, help="Days for which the bars are applied.")] = 90,
    jobs: Annotated[int, typer.Option(min=0, help="Runs at once; 0 means one per core. On kwok always one.")] = 0,
    out: Annotated[Path, typer.Option(help="Where runs that did not pass are kept.", metavar="DIR")] = Path("reports"),
) -> None:
    """Run the complete engine on fresh seeds and propose a bar for every gate.

    The bars are such that, 95 % sure, at most the stated share of runs fails any of them by chance.

    \b
    Examples:
      scaletest calibrate dev-50 --runs 650 --gates maxReclaimActionsDuringSoak
      scaletest calibrate mine.yaml --runs 1100 --write
      scaletest calibrate mine.yaml --runs 120 --false-alarms 0.05 --substrate kwok
    """
    from scaletest_runner.running.calibrating import Asked, calibrate_profile

    asked = Asked(
        profile=profile,
        runs=runs,
        first_seed=first_seed,
        rate=false_alarms,
        gates=tuple(part.strip() for part in gates.split(",") if part.strip()),
        substrate=substrate,
        write=write,
        expires_days=expires_days,
        jobs=jobs,
        base=out,
    )
    raise typer.Exit(calibrate_profile(asked))
