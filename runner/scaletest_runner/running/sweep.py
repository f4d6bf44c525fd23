"""Many seeds of one test: each in a process of its own, together a distribution for every gate."""

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context
from statistics import median
from typing import Final, Self

from rich.text import Text

from scaletest.gates.outcomes import Outcome, RunOutcome
from scaletest.profile import Problem, ProfileError
from scaletest_runner.exits import Exit
from scaletest_runner.running.run import Ended
from scaletest_runner.terminal import out, plain_table

__all__ = ["SweptRun", "seeds_of", "show_sweep", "swept"]

_SEEDS: Final = re.compile(r"(\d{1,18})\.\.(\d{1,18})")
_MOST: Final = 100_000


@dataclass(frozen=True, slots=True)
class SweptRun:
    """What a sweep keeps of one run; small, because it travels between processes."""

    seed: int
    outcome: str
    code: Exit
    reason: str
    folder: str
    fingerprint: str
    gates: tuple[tuple[str, str, float | None], ...]
    """Name, outcome and observed value of every gate."""

    @classmethod
    def of(cls, seed: int, ended: Ended) -> Self:
        """Keep what matters of a run that was judged."""
        gates = tuple((g.name, g.outcome.value, g.value.high if g.value else None) for g in ended.verdict.gates)
        verdict = ended.verdict
        return cls(
            seed, verdict.outcome.value, ended.code, verdict.reason, str(ended.folder), ended.record.fingerprint, gates
        )

    @classmethod
    def refused(cls, seed: int, reasons: Sequence[str]) -> Self:
        """Keep that preflight refused a seed."""
        return cls(seed, "REFUSED", Exit.REFUSED, "; ".join(reasons), "", "", ())


def seeds_of(text: str) -> range:
    """Return the seeds of `1..50`; raise ProfileError when the text says none."""
    match = _SEEDS.fullmatch(text.strip())
    seeds = range(int(match[1]), int(match[2]) + 1) if match else range(0)
    if not 0 < len(seeds) <= _MOST:
        hint = "write the first and the last one, like 1..50"
        raise ProfileError([Problem("--seeds", 0, 0, "", f"{text!r} names no range of seeds", hint)])
    return seeds


def swept(run: Callable[[int], SweptRun], seeds: Sequence[int], *, jobs: int) -> Iterator[SweptRun]:
    """Yield the runs as they end."""
    workers = min(jobs or os.cpu_count() or 1, len(seeds))
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        for future in as_completed([pool.submit(run, seed) for seed in seeds]):
            yield future.result()


def show_sweep(runs: Sequence[SweptRun], command: Callable[[int], str]) -> Exit:
    """Print how often every gate passed and what it observed; a sweep is as good as its worst run."""
    runs = sorted(runs, key=lambda run: run.seed)
    console = out()
    table = plain_table(
        "gate", *(outcome.value for outcome in Outcome), "lowest", "median", "highest", right=("lowest", "median")
    )
    for name in dict.fromkeys(gate for run in runs for gate, _, _ in run.gates):
        rows = [(outcome, value) for run in runs for gate, outcome, value in run.gates if gate == name]
        counts = Counter(outcome for outcome, _ in rows)
        values = [value for _, value in rows if value is not None]
        spread = [f"{value:,.4g}" for value in (min(values), median(values), max(values))] if values else ["-"] * 3
        table.add_row(name, *(str(counts[outcome.value] or "-") for outcome in Outcome), *spread)
    console.print(table)
    outcomes = Counter(run.outcome for run in runs)
    console.print(Text(f"\n{len(runs)} seeds: {', '.join(f'{n} {name}' for name, n in outcomes.most_common())}"))
    for run in runs:
        if run.outcome != RunOutcome.PASS:
            console.print(Text(f"seed {run.seed}: {run.outcome}: {run.reason}", style="red"))
            console.print(Text(f"  {command(run.seed)}", style="dim"))
    codes = {run.code for run in runs}
    worst = (Exit.FAIL, Exit.REFUSED, Exit.INTERRUPTED, Exit.TERMINATED, Exit.ENVIRONMENT, Exit.INCONCLUSIVE)
    return next((code for code in worst if code in codes), Exit.PASS)
