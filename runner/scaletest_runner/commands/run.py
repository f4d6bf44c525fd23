"""`scaletest run` and `scaletest replay`: a profile run to its verdict, and a run repeated."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scaletest_runner.completion import complete_profile

if TYPE_CHECKING:
    from scaletest_runner.running.requested import OutsideServer

__all__ = ["replay", "run"]


def run(
    profile: Annotated[
        str,
        typer.Argument(help="A profile file, or the name of a shipped profile.", autocompletion=complete_profile),
    ],
    *,
    seed: Annotated[int | None, typer.Option(min=0, help="Root of all randomness; overrides randomSeed.")] = None,
    seeds: Annotated[
        str | None, typer.Option(help="Run once for each seed and show every gate's distribution.", metavar="1..50")
    ] = None,
    substrate: Annotated[str, typer.Option(help="Where it runs: sim, kwok, or a substrate file.")] = "sim",
    engine: Annotated[str | None, typer.Option(help="Engine under test: a name or a manifest file.")] = None,
    ablate: Annotated[
        str, typer.Option(help="Take rules from the reference engine: AB-16,AB-18.", metavar="AB-NN,...")
    ] = "",
    setting: Annotated[
        list[str] | None,
        typer.Option("--set", help="Set one value of the profile (repeat for several).", metavar="KEY=VALUE"),
    ] = None,
    out: Annotated[Path, typer.Option(help="Where run folders are made.", metavar="DIR")] = Path("reports"),
    strict: Annotated[
        bool, typer.Option("--strict", help="Fail marginal gates, and ask for 95 % confidence of quantiles.")
    ] = False,
    timeout: Annotated[
        float | None, typer.Option(min=0, help="Most seconds of wall time; what was observed is kept.")
    ] = None,
    keep: Annotated[
        bool, typer.Option("--keep", help="Leave clusters and Prometheus up, and say how to reach them (kwok).")
    ] = False,
    prometheus_url: Annotated[
        str | None, typer.Option(help="Read samples from this Prometheus instead of one of our own (kwok).")
    ] = None,
    prometheus_targets: Annotated[
        Path | None,
        typer.Option(help="Where it looks for its targets: a file of its file_sd_configs.", metavar="FILE"),
    ] = None,
    prometheus_token_file: Annotated[
        Path | None, typer.Option(help="Its bearer token; read when it is needed and kept nowhere.", metavar="FILE")
    ] = None,
    prometheus_ca_file: Annotated[
        Path | None, typer.Option(help="Whom to trust for its https; certificates are always checked.", metavar="FILE")
    ] = None,
    jobs: Annotated[int, typer.Option(min=0, help="Seeds to run at once; 0 means one per core.")] = 0,
) -> None:
    """Run a test from install to verdict: on virtual time (sim), or on real control planes of this machine (kwok).

    \b
    Examples:
      scaletest run dev-50
      scaletest run profiles/dev-50.yaml --seed 7 --ablate AB-16
      scaletest run dev-50 --set loadProfile.soakSeconds=60 --set loadProfile.settleSeconds=30
      scaletest run dev-50 --seeds 1..50
      scaletest run dev-50 --substrate kwok
    """
    from scaletest_runner.running.requested import Requested, run_requested, run_seeds

    requested = Requested(
        profile=profile,
        seed=seed,
        substrate=substrate,
        engine=engine,
        without=tuple(part.strip() for part in ablate.split(",") if part.strip()),
        settings=tuple(setting or ()),
        base=out,
        strict=strict,
        timeout_s=timeout,
        keep=keep,
        prometheus=_outside(prometheus_url, prometheus_targets, prometheus_token_file, prometheus_ca_file, substrate),
    )
    if seeds is None:
        raise typer.Exit(run_requested(requested))
    raise typer.Exit(run_seeds(requested, seeds, jobs=jobs))


def _outside(
    url: str | None, targets: Path | None, token_file: Path | None, ca_file: Path | None, substrate: str
) -> "OutsideServer | None":
    from scaletest_runner.running.requested import OutsideServer

    if url is None and not (targets or token_file or ca_file):
        return None
    if url is None or targets is None:
        raise typer.BadParameter("an outside Prometheus needs --prometheus-url and --prometheus-targets")
    if substrate == "sim":
        raise typer.BadParameter("no Prometheus is asked in the simulated world", param_hint="--prometheus-url")
    return OutsideServer(url, targets, token_file, ca_file)


def replay(
    run: Annotated[Path, typer.Argument(help="Folder of a run of the simulated world.", metavar="RUN")],
    *,
    cycles: Annotated[
        bool, typer.Option("--cycles", help="Only decide every saved cycle again, without running anything.")
    ] = False,
) -> None:
    """Repeat a run from its own folder and check that it comes out the same, to the last byte of evidence.

    \b
    Examples:
      scaletest replay reports/dev-50/20261116T101500Z-1
      scaletest replay RUN --cycles
    """
    from scaletest_runner.running.replaying import replay_cycles, replay_run

    raise typer.Exit(replay_cycles(run) if cycles else replay_run(run))
