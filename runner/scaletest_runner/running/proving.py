"""`scaletest prove` at work: which runs the claims need, all of them run in pairs, and what they show together."""

import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from scaletest.engine.decide import ABLATIONS
from scaletest.gates.matrix import Cell, Conclusion, Matrix, Rule, World
from scaletest.gates.trials import Trial
from scaletest.plan.plan import Plan
from scaletest.profile import Problem, ProfileError, file_text, read_profile
from scaletest.profile.profile import Profile
from scaletest.report.proof_json import proof_text
from scaletest.report.proof_markdown import proof_markdown
from scaletest_runner.exits import Exit
from scaletest_runner.locations import profile_path, proving_profiles, shipped_name, shipped_profiles
from scaletest_runner.proof_view import cell_line, print_matrix
from scaletest_runner.running.requested import Requested, looked_over, run_quietly
from scaletest_runner.running.run import StoppedError
from scaletest_runner.running.sweep import seeds_of, swept
from scaletest_runner.terminal import warn

__all__ = ["Asked", "prove_rules"]

_EXITS: Final = {
    Conclusion.PROVEN: Exit.PASS,
    Conclusion.CONTRADICTED: Exit.FAIL,
    Conclusion.INCONCLUSIVE: Exit.INCONCLUSIVE,
    Conclusion.UNFINISHED: Exit.INCONCLUSIVE,
}

Engine = tuple[str, tuple[str, ...]]
"""A profile, and the rules that the engine in it goes without."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a person typed."""

    ablations: tuple[str, ...]
    profiles: tuple[str, ...]
    seeds: str
    jobs: int
    full: bool
    json: Path | None = None
    markdown: Path | None = None


@dataclass(frozen=True, slots=True)
class Draft:
    """A cell before its runs."""

    profile: str
    rule: Rule
    masked_by: tuple[str, ...] = ()
    claimed: tuple[str, ...] = ()

    @property
    def engines(self) -> tuple[Engine, Engine, Engine]:
        """Return the complete engine, the one with the masking rules away, and the one without the rule as well."""
        masked = (self.profile, self.masked_by)
        return (self.profile, ()), masked, (self.profile, (self.rule.ablation, *self.masked_by))


@dataclass(frozen=True, slots=True)
class Bench:
    """All that is to be tried, and the runs that have ended."""

    rules: tuple[Rule, ...]
    profiles: tuple[str, ...]
    drafts: tuple[Draft, ...]
    seeds: tuple[int, ...]
    every_world: bool
    everything: bool
    """Whether every rule is tried in every world."""
    trials: dict[Engine, dict[int, Trial]]

    @classmethod
    def of(cls, asked: Asked) -> "Bench":
        """Read the profiles and decide what to run; raise ProfileError for names that nobody knows."""
        seeds = tuple(seeds_of(asked.seeds if ".." in asked.seeds else f"1..{asked.seeds}"))
        known = _known_rules()
        wanted = tuple(known[_meant(name, known, "--ablation")] for name in asked.ablations)
        worlds = _worlds(asked.profiles)
        claims = tuple(_claims(worlds, known))
        if not wanted:
            claimed = {draft.rule for draft in claims}
            everything = asked.full or not asked.profiles
            wanted = tuple(rule for rule in known.values() if everything or rule in claimed)
        drafts = [draft for draft in claims if draft.rule in wanted]
        if asked.full or (asked.profiles and asked.ablations):
            taken = {(draft.profile, draft.rule) for draft in drafts}
            drafts += [Draft(name, rule) for name, rule in product(worlds, wanted) if (name, rule) not in taken]
        named = {draft.profile for draft in drafts} | set(worlds if asked.profiles else ())
        profiles = tuple(name for name in worlds if name in named)
        drafts.sort(key=lambda draft: (profiles.index(draft.profile), wanted.index(draft.rule)))
        return cls(wanted, profiles, tuple(drafts), seeds, not asked.profiles, asked.full and not asked.profiles, {})

    def tasks(self, base: Path) -> list[Requested]:
        """Return every run that is needed, once, world by world."""
        runs: list[tuple[Engine, int]] = [((name, ()), seed) for name in self.profiles for seed in self.seeds]
        runs += [(engine, seed) for draft in self.drafts for engine in draft.engines for seed in self._seeds(draft)]
        ordered = sorted(dict.fromkeys(runs), key=lambda run: self.profiles.index(run[0][0]))
        return [_requested(*engine, seed=seed, base=base) for engine, seed in ordered]

    def _seeds(self, draft: Draft) -> tuple[int, ...]:
        """Return the seeds of a cell; where everything is tried, one is enough for what nobody claims."""
        return self.seeds if draft.claimed or not self.everything else self.seeds[:1]

    def ended(self, task: Requested, run: Trial) -> Iterator[Cell]:
        """Keep a run, and yield the cells that it was the last one of."""
        engine = (task.profile, task.without)
        self.trials.setdefault(engine, {})[run.seed] = run
        for draft in self.drafts:
            if engine in draft.engines and (cell := self._cell(draft)).ended:
                yield cell

    def matrix(self) -> Matrix:
        """Return what is known so far."""
        worlds = tuple(self._world(profile, self.seeds) for profile in self.profiles)
        cells = tuple(map(self._cell, self.drafts))
        return Matrix(self.rules, worlds, cells, every_world=self.every_world)

    def _world(self, profile: str, seeds: tuple[int, ...]) -> World:
        return World(profile, seeds, self._runs((profile, ())))

    def _cell(self, draft: Draft) -> Cell:
        _, masked, ablated = draft.engines
        return Cell(
            world=self._world(draft.profile, self._seeds(draft)),
            rule=draft.rule,
            ablated=self._runs(ablated),
            masked_by=draft.masked_by,
            control=self._runs(masked) if draft.masked_by else None,
            claimed=draft.claimed,
        )

    def _runs(self, engine: Engine) -> Mapping[int, Trial]:
        return self.trials.setdefault(engine, {})


def prove_rules(asked: Asked) -> Exit:
    """Run what is asked for, show and write what came of it; after an interrupt, what is known until then."""
    bench = Bench.of(asked)
    _check_writable(asked.json, asked.markdown)
    if not all(_runnable(profile) for profile in bench.profiles):
        return Exit.REFUSED
    stopped = _run(bench, jobs=asked.jobs)
    matrix = bench.matrix()
    if asked.json is not None:
        asked.json.write_text(proof_text(matrix), encoding="utf-8", newline="\n")
    if asked.markdown is not None:
        asked.markdown.write_text(proof_markdown(matrix), encoding="utf-8", newline="\n")
    print_matrix(matrix, note="" if stopped is None else str(stopped))
    return _EXITS[matrix.conclusion] if stopped is None else stopped.code


def _check_writable(*paths: Path | None) -> None:
    """Raise ProfileError now for a file that could not be written after all the work."""
    for path in paths:
        try:
            if path is not None:
                path.touch()
        except OSError as error:
            raise ProfileError([Problem(str(path), 0, 0, "", f"cannot be written: {error.strerror}")]) from error


def _run(bench: Bench, *, jobs: int) -> StoppedError | None:
    console = warn()
    with TemporaryDirectory(prefix="scaletest-prove-") as base, console.status("starting") as status:
        tasks = bench.tasks(Path(base))
        seeds = f"seeds {bench.seeds[0]} to {bench.seeds[-1]}"
        console.print(f"{len(tasks):,} runs in {len(bench.profiles)} worlds, {seeds}")
        try:
            for done, (task, run) in enumerate(swept(_tried, tasks, jobs=jobs), start=1):
                for cell in bench.ended(task, run):
                    console.print(cell_line(cell))
                without = ",".join(task.without) or "the complete engine"
                status.update(f"{done:,} of {len(tasks):,} runs, last {without} in {task.profile}")
        except StoppedError as end:
            return end
    return None


def _tried(task: Requested) -> tuple[Requested, Trial]:
    """Run one task in a process of its own; its folder is not kept, for one command repeats it."""
    run = run_quietly(task)
    if run.folder:
        shutil.rmtree(run.folder)
    return task, run


def _requested(profile: str, without: tuple[str, ...], *, seed: int | None, base: Path) -> Requested:
    return Requested(
        profile=profile,
        seed=seed,
        substrate="sim",
        engine=None,
        without=without,
        settings=(),
        base=base,
        strict=False,
        timeout_s=None,
    )


def _runnable(profile: str) -> bool:
    """Say whether preflight lets a world start; print its findings otherwise."""
    plan = Plan(_requested(profile, (), seed=None, base=Path()).load().inputs)
    return looked_over(plan, name=profile) is not None


def _known_rules() -> dict[str, Rule]:
    return {name: Rule(name, ablation.removes, ablation.by_run) for name, ablation in ABLATIONS.items()}


def _worlds(given: tuple[str, ...]) -> dict[str, Profile]:
    """Return the profiles by the name that `scaletest run` takes: those asked for, or all shipped ones with a claim."""
    proving = {path.stem: shipped_name(path) for path in proving_profiles()}
    if given:
        names = dict.fromkeys(proving.get(name, name) for name in given)
        return {name: _profile(name) for name in names}
    shipped = {shipped_name(path): path for path in (*shipped_profiles(), *proving_profiles())}
    profiles = {name: _profile(name) for name in shipped}
    return {name: profile for name, profile in profiles.items() if profile.proving.catches}


def _profile(name: str) -> Profile:
    path = profile_path(name)
    return read_profile(file_text(path), str(path)).value


def _claims(worlds: Mapping[str, Profile], known: Mapping[str, Rule]) -> Iterator[Draft]:
    for name, profile in worlds.items():
        for catch in profile.proving.catches:
            rule = known[_meant(catch.without, known, name)]
            masked_by = tuple(_meant(mask, known, name) for mask in catch.masked_by)
            yield Draft(name, rule, masked_by, catch.by)


def _meant(ablation: str, known: Mapping[str, Rule], where: str) -> str:
    """Return the ablation if there is one of that name; raise ProfileError with what was probably meant."""
    if ablation in known:
        return ablation
    near = get_close_matches(ablation.upper(), known, n=1)
    hint = f"did you mean {near[0]}?" if near else "see `scaletest ablations`"
    raise ProfileError([Problem(where, 0, 0, "", f"there is no ablation {ablation!r}", hint)])
