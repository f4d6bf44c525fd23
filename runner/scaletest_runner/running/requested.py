"""A run as it was asked for: files read, refused or run, shown to the person who asked."""

import os
import shlex
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console
from rich.text import Text

from scaletest.engine.decide import UnknownAblationError
from scaletest.engine.reference import settings_without
from scaletest.model.findings import Finding, Severity
from scaletest.plan.plan import Plan
from scaletest.plan.preflight import preflight, refused
from scaletest.profile import Problem, ProfileError
from scaletest_runner.exits import Exit
from scaletest_runner.inputs import Loaded, load_inputs
from scaletest_runner.plan_view import print_findings
from scaletest_runner.running.run import Ended, StoppedError, fresh_folder, run_plan
from scaletest_runner.running.sweep import SweptRun, seeds_of, show_sweep, swept
from scaletest_runner.terminal import out, warn
from scaletest_runner.verdict_view import print_verdict

__all__ = ["OutsideServer", "Requested", "looked_over", "run_quietly", "run_requested", "run_seeds"]


@dataclass(frozen=True, slots=True)
class OutsideServer:
    """A Prometheus that somebody else runs, as it was typed."""

    url: str
    targets_file: Path
    token_file: Path | None = None
    ca_file: Path | None = None


@dataclass(frozen=True, slots=True)
class Requested:
    """What a person typed."""

    profile: str
    seed: int | None
    substrate: str
    engine: str | None
    without: tuple[str, ...]
    settings: tuple[str, ...]
    base: Path
    strict: bool
    timeout_s: float | None
    keep: bool = False
    """Leave clusters standing; only where there are any."""
    uncalibrated: bool = False
    """Judge by the bars under slo alone, as if nobody had calibrated the profile."""
    prometheus: OutsideServer | None = None
    """Who scrapes, if it is not to be a server of ours."""

    def command(self, seed: int) -> str:
        """Return the one command that repeats the run."""
        parts = ["scaletest", "run", self.profile, "--seed", str(seed)]
        if self.substrate != "sim":
            parts += ["--substrate", self.substrate]
        if self.engine:
            parts += ["--engine", self.engine]
        if self.without:
            parts += ["--ablate", ",".join(self.without)]
        for setting in self.settings:
            parts += ["--set", setting]
        return shlex.join([*parts, *(["--strict"] if self.strict else [])])

    def load(self) -> Loaded:
        """Read the files; raise ProfileError for whatever cannot be run."""
        loaded = load_inputs(
            self.profile, substrate=self.substrate, engine=self.engine, seed=self.seed, settings=self.settings
        )
        if self.uncalibrated:
            loaded = loaded.uncalibrated()
        if complaint := _not_runnable(loaded):
            raise ProfileError([Problem(self.profile, 0, 0, "", *complaint)])
        try:
            settings_without(self.without)
        except UnknownAblationError as error:
            raise ProfileError([Problem("--ablate", 0, 0, "", str(error), "see `scaletest ablations`")]) from error
        return loaded


def _not_runnable(loaded: Loaded) -> tuple[str, str] | None:
    inputs = loaded.inputs
    if inputs.profile.plan_only:
        return "this profile is to be planned and not to be run (planOnly)", "use `scaletest plan`"
    if inputs.substrate.world not in {"sim", "kwok"}:
        return f"substrate {inputs.substrate.metadata.name} cannot be run here yet", "use --substrate sim or kwok"
    if inputs.engine.start.in_process is None:
        return f"engine {inputs.engine.metadata.name} does not run inside this program", "use --engine reference"
    if inputs.profile.topology.shard_replicas not in {None, 1}:
        return "the reference engine runs as one shard here", "set topology.shardReplicas: 1"
    return None


def run_requested(requested: Requested) -> Exit:
    """Run once and show the verdict, where the reports are, and how to repeat a run that did not pass."""
    loaded = requested.load()
    for problem in loaded.warnings:
        sys.stderr.write(f"{problem}\n")
    plan = Plan(loaded.inputs)
    findings = looked_over(plan)
    if findings is None:
        return Exit.REFUSED
    for finding in findings:
        if finding.check == "calibration":  # else it would be known only from a gate that is missing among the passed
            sys.stderr.write(f"warning: {finding}\n")
    ended = _run(requested, loaded, plan, findings, console=warn())
    _show(ended, requested.command(plan.inputs.random_seed))
    return ended.code


def looked_over(plan: Plan, *, name: str = "") -> tuple[Finding, ...] | None:
    """Return what preflight says of a plan; when it refuses the plan, print that, under a name if given, for None."""
    findings = preflight(plan)
    if not refused(findings):
        return findings
    if name:
        warn().print(Text(f"{name}:"))
    print_findings(findings, warn())
    return None


def _show(ended: Ended, command: str) -> None:
    console = out()
    print_verdict(ended.verdict, console)
    if ended.costs is not None:
        console.print(Text("\nCosts", style="bold"), ended.costs, sep="\n")
    if ended.note:
        console.print(Text(f"\n{ended.note}; what was observed until then is kept", style="bold magenta"))
    console.print(Text(f"\nReports      {ended.folder}/ (summary.md, verdict.json, summary.json, junit.xml)"))
    console.print(Text(f"Fingerprint  {ended.record.fingerprint}"))
    for line in ended.kept:
        console.print(Text(f"Kept         {line}"))
    if ended.code is not Exit.PASS:
        console.print(Text(f"Repeat       {command}"))


def _run(requested: Requested, loaded: Loaded, plan: Plan, findings: tuple[Finding, ...], *, console: Console) -> Ended:
    if plan.inputs.substrate.world == "kwok":
        return _run_on_clusters(requested, loaded, plan, findings, console)
    folder = _folder(requested, loaded, plan)
    return run_plan(
        plan,
        findings,
        folder=folder,
        engine=settings_without(requested.without),
        without=requested.without,
        settings=requested.settings,
        strict=requested.strict,
        timeout_s=requested.timeout_s,
        console=console,
    )


def _folder(requested: Requested, loaded: Loaded, plan: Plan) -> Path:
    """Make the run's folder, with the files it was asked for."""
    folder = fresh_folder(requested.base, plan.profile.metadata.name, plan.inputs.random_seed)
    loaded.save(folder / "inputs")
    return folder


def _run_on_clusters(
    requested: Requested, loaded: Loaded, plan: Plan, findings: tuple[Finding, ...], console: Console
) -> Ended:
    # Foreign clients take a second to import; only this world needs them.
    from scaletest.world.kwok.prometheus import Server
    from scaletest.world.kwok.toolchain import find_toolchain
    from scaletest_runner.running.real.ground import Outside
    from scaletest_runner.running.real.run import Asked, run_on_clusters

    outside = None
    if (told := requested.prometheus) is not None:
        server = Server(told.url, ca_file=told.ca_file, token_file=told.token_file)
        outside = Outside(server, told.targets_file.absolute())
    tools = find_toolchain()
    asked = Asked(
        folder=_folder(requested, loaded, plan),
        binaries=tools.folder,
        versions=dict(tools.versions),
        without=requested.without,
        settings=requested.settings,
        strict=requested.strict,
        timeout_s=requested.timeout_s,
        keep=requested.keep,
        outside=outside,
    )
    return run_on_clusters(plan, findings, asked, console)


def run_seeds(requested: Requested, seeds: str, *, jobs: int) -> Exit:
    """Run once for each seed, several at once, and show how every gate came out."""
    numbers = seeds_of(seeds)
    requested.load()  # so that bad files are reported once, before anything starts
    runs: list[SweptRun] = []
    stopped: StoppedError | None = None
    with warn().status("running") as status:
        try:
            for one in swept(run_quietly, [replace(requested, seed=seed) for seed in numbers], jobs=jobs):
                runs.append(one)
                status.update(f"{len(runs)} of {len(numbers)} seeds")
        except StoppedError as end:
            stopped = end
    code = show_sweep(runs, requested.command)
    if stopped is None:
        return code
    out().print(Text(f"{stopped} after {len(runs)} of {len(numbers)} seeds", style="bold magenta"))
    return stopped.code


def run_quietly(requested: Requested) -> SweptRun:
    """Run one of many in a process of its own; nothing is shown but the sum of all."""
    loaded = requested.load()
    plan = Plan(loaded.inputs)
    findings = preflight(plan)
    seed = plan.inputs.random_seed
    if refused(findings):
        return SweptRun.refused(seed, [str(finding) for finding in findings if finding.severity is Severity.REFUSE])
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        ended = _run(requested, loaded, plan, findings, console=Console(file=nowhere))
    return SweptRun.of(seed, ended)
