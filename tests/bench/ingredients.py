"""Which ingredient of a world unmasks which defect, and what drives what is left of the complete engine's own moves.

Prints the tables of docs/fidelity.md. Every claim of the shipped proving profiles is tried again with one ingredient of
its world taken out. Name tables to print only those: `ingredients.py loop residual`. `SEEDS=3` says how many seeds,
`JOBS=1` how many runs at once.
"""

import os
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Final

sys.path.insert(0, str(Path(__file__).parents[1]))

from loop.closed_loop import ClosedLoop
from loop.scenario import Scenario, read_scenarios

from scaletest.gates.trials import Trial
from scaletest.profile import file_text, read_profile
from scaletest.profile.profile import Profile
from scaletest_runner.locations import profile_path, proving_profiles, shipped_name
from scaletest_runner.running.requested import Requested, run_quietly
from scaletest_runner.running.sweep import swept

_SEEDS: Final = range(1, int(os.environ.get("SEEDS", "3")) + 1)
_SCENARIOS: Final = Path(__file__).parents[1] / "data" / "engine" / "loop" / "false-greens.yaml"
_OPERATIONS: Final = ("create", "configure", "drain", "delete")

Settings = tuple[str, ...]
Without = tuple[str, ...]


def _latency(path: str, p50: float, p99: float) -> Settings:
    return (f"{path}.p99Seconds={p99}", f"{path}.p50Seconds={p50}")


def _instant(_: Profile) -> Settings:
    return tuple(setting for name in _OPERATIONS for setting in _latency(f"provider.{name}", 0.01, 0.02))


def _in_step(profile: Profile) -> Settings:
    """Take the jitter out of every operation, so that machines are ready in the order in which they were asked for."""
    medians = {name: getattr(profile.provider, name).p50_seconds for name in _OPERATIONS}
    return tuple(setting for name, p50 in medians.items() for setting in _latency(f"provider.{name}", p50, p50))


_INGREDIENTS: Final[dict[str, Callable[[Profile], Settings]]] = {
    "as it is": lambda _: (),
    "no dwell": _instant,
    "completions in order": _in_step,
    "rows in one order": lambda _: ("world.rowOrder=sorted",),
    "no losses": lambda _: ("provider.losses=[]", "slo.maxAcquisitionsPerLoss=null"),
    "one cluster": lambda profile: (f"scale.podsPerCluster={profile.scale.machines * profile.scale.density}",),
    "a tenth of the churn": lambda p: (f"loadProfile.churnPerMinute={p.load_profile.churn_per_minute / 10:g}",),
    "replacements after 0.7 s": lambda _: _latency("world.replacementLag", 0.7, 1.5),
}
"""What is taken out of a world, as settings of its profile."""


@dataclass(frozen=True, slots=True)
class Run:
    """One run: a profile with some settings, an engine without some rules, a seed."""

    profile: str
    settings: Settings
    without: Without
    seed: int

    def requested(self, base: Path) -> Requested:
        """Return it as a person would ask for it."""
        return Requested(
            profile=self.profile,
            seed=self.seed,
            substrate="sim",
            engine=None,
            without=self.without,
            settings=self.settings,
            base=base,
            strict=False,
            timeout_s=None,
        )


def _tried(task: tuple[Run, Path]) -> tuple[Run, Trial]:
    run, base = task
    trial = run_quietly(run.requested(base))
    if trial.folder:
        shutil.rmtree(trial.folder)
    return run, trial


def _all(runs: Sequence[Run]) -> dict[Run, Trial]:
    with TemporaryDirectory(prefix="scaletest-ingredients-") as base:
        return dict(
            swept(_tried, [(run, Path(base)) for run in dict.fromkeys(runs)], jobs=int(os.environ.get("JOBS", "0")))
        )


def _value(trial: Trial, gate: str) -> str:
    seen = trial.gate(gate)
    return "-" if seen is None or seen.value is None else f"{seen.value:.3g}"


def _row(*cells: object) -> None:
    print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)


def _head(*cells: str) -> None:
    _row(*cells)
    print("|" + "---|" * len(cells))


def _profiles() -> Iterator[tuple[str, Profile]]:
    for name in ("dev-50", *(shipped_name(path) for path in proving_profiles())):
        path = profile_path(name)
        yield name, read_profile(file_text(path), str(path)).value


def unmasking() -> None:
    """Print, for every claim and every ingredient taken out, on how many seeds the defect is still caught."""
    claims = [(name, profile, catch) for name, profile in _profiles() for catch in profile.proving.catches]
    runs: dict[tuple[str, str, str], list[tuple[Run, Run]]] = {}
    for name, profile, catch in claims:
        for ingredient, settings_of in _INGREDIENTS.items():
            settings, masked = settings_of(profile), catch.masked_by
            pairs = [
                (Run(name, settings, masked, seed), Run(name, settings, (catch.without, *masked), seed))
                for seed in _SEEDS
            ]
            runs[name, catch.without, ingredient] = pairs
    ended = _all([run for pairs in runs.values() for pair in pairs for run in pair])
    _head("without", "world", *_INGREDIENTS)
    for name, _, catch in claims:
        cells = [
            _caught(ended, runs[name, catch.without, ingredient], catch.by, len(_SEEDS)) for ingredient in _INGREDIENTS
        ]
        _row(catch.without, name, *cells)


def _caught(ended: dict[Run, Trial], pairs: list[tuple[Run, Run]], gates: Sequence[str], seeds: int) -> str:
    def failed(run: Run, gate: str) -> bool:
        seen = ended[run].gate(gate)
        return seen is not None and seen.outcome == "FAIL"

    if any(ended[run].outcome == "REFUSED" for pair in pairs for run in pair):
        return "refused"
    number = sum(any(failed(without, gate) and not failed(with_, gate) for gate in gates) for with_, without in pairs)
    return f"{number} of {seeds}"


def loop() -> None:
    """Print what the engine's synchronous test loop makes of the same defects: quiet is green."""
    _head("without", "shape", "reclaims in the last 100 cycles", "short rows at the end", "looks")
    for scenario in read_scenarios(_SCENARIOS):
        for without in ((), *((name,) for name in scenario.expect["try"])):
            done = ClosedLoop(replace(scenario, without=without)).run()
            _row(", ".join(without) or "nothing", scenario.name, *_quiet(scenario, done))


def _quiet(scenario: Scenario, done: ClosedLoop) -> tuple[int, int, str]:
    reclaims, short = done.total("Reclaim", last=scenario.window), done.records[-1].short
    calm = not done.total("Reclaim", "Bootstrap", "Provision", last=scenario.window)
    return reclaims, short, "green" if calm and short == scenario.expect["short"] else "red"


def residual() -> None:
    """Print what drives the complete engine's reclaims in dev-50: before the settle mark and after it."""
    variants: dict[str, Settings] = {
        "dev-50": (),
        "a hundredth of the churn": ("loadProfile.churnPerMinute=0.00024", "loadProfile.microBurstRatePerMinute=0"),
        "replacements after 0.05 s": _latency("world.replacementLag", 0.05, 0.1),
        "replacements after 3 s": _latency("world.replacementLag", 3, 4),
        "instant transitions": _instant(next(profile for _, profile in _profiles())),
    }
    whole = ("loadProfile.settleSeconds=0",)
    marks = {"settled 90 s": (), "whole 180 s": whole}
    runs = {
        (v, m): [Run("dev-50", s + t, (), seed) for seed in _SEEDS]
        for v, s in variants.items()
        for m, t in marks.items()
    }
    ended = _all([run for each in runs.values() for run in each])
    _head("dev-50 with", *(f"reclaims, {mark}" for mark in marks))
    for variant in variants:
        _row(variant, *(_spread(ended, runs[variant, mark], "maxReclaimActionsDuringSoak") for mark in marks))


def _spread(ended: dict[Run, Trial], runs: Sequence[Run], gate: str) -> str:
    seen = [ended[run].gate(gate) for run in runs]
    values = sorted(each.value for each in seen if each is not None and each.value is not None)
    return f"{values[0]:.3g} / {median(values):.3g} / {values[-1]:.3g}" if values else "-"


def rows() -> None:
    """Print what the order of rows does, with the canonical order and without it."""
    orders, engines = ("sorted", "rotated", "shuffled"), ((), ("AB-ROWS",))
    gates = ("maxDomainFlipsPerGangMinute", "maxReclaimActionsDuringSoak")
    runs = {
        (o, e): [Run("proving/oversize", (f"world.rowOrder={o}",), e, seed) for seed in _SEEDS]
        for o in orders
        for e in engines
    }
    ended = _all([run for each in runs.values() for run in each])
    _head("rows arrive", "engine", "flips per gang-minute", "reclaims")
    for (order, engine), each in runs.items():
        _row(order, ", ".join(engine) or "complete", *(_spread(ended, each, gate) for gate in gates))


def own_first() -> None:
    """Print the seeds' order of rules 2 and 2b beside the other way round (AB-OWN)."""
    engines: tuple[Without, ...] = ((), ("AB-OWN",))
    gates = ("maxReclaimActionsDuringSoak", "maxClaimedSetChangesPerGangMinute", "maxAcquisitionsPerLoss")
    worlds = [name for name, profile in _profiles() if profile.proving.catches]
    bars = tuple(f"slo.{gate}=100000" for gate in gates[:2])
    runs = {(w, e): [Run(w, bars, e, seed) for seed in _SEEDS] for w in worlds for e in engines}
    ended = _all([run for each in runs.values() for run in each])
    _head("world", "engine", "reclaims", "claimed-set changes per gang-minute", "acquisitions per loss")
    for (world, engine), each in runs.items():
        _row(world, ", ".join(engine) or "complete", *(_spread(ended, each, gate) for gate in gates))


_TABLES: Final = {"unmasking": unmasking, "loop": loop, "residual": residual, "rows": rows, "own-first": own_first}


def main() -> None:
    """Print the tables that are named, or all."""
    for name in sys.argv[1:] or _TABLES:
        print(f"\n{name}: {_TABLES[name].__doc__}\n")
        _TABLES[name]()


if __name__ == "__main__":
    main()
