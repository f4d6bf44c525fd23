"""Many runs, several at once in processes of their own; and many seeds of one test as a distribution for every gate."""

import os
import re
import signal
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context
from statistics import median
from typing import Final, Self, TypeVar

from rich.text import Text

from scaletest.gates.outcomes import GateResult, Outcome, RunOutcome
from scaletest.gates.trials import GateSeen, Trial
from scaletest.profile import Problem, ProfileError
from scaletest.report.wording import bar_text
from scaletest_runner.exits import Exit
from scaletest_runner.running.run import Ended, StoppedError
from scaletest_runner.signals import ENDS, caught_signals
from scaletest_runner.terminal import out, plain_table

__all__ = ["SweptRun", "seeds_of", "show_sweep", "swept"]

_SEEDS: Final = re.compile(r"(\d{1,18})\.\.(\d{1,18})")
_MOST: Final = 100_000

TaskT = TypeVar("TaskT")
DoneT = TypeVar("DoneT")


@dataclass(frozen=True, slots=True, kw_only=True)
class SweptRun(Trial):
    """What a sweep keeps of one run."""

    code: Exit
    folder: str = ""
    fingerprint: str = ""

    @classmethod
    def of(cls, seed: int, ended: Ended) -> Self:
        """Keep what matters of a run that was judged."""
        return cls(
            seed=seed,
            outcome=ended.verdict.outcome.value,
            reason=ended.verdict.reason,
            gates=tuple(map(_seen, ended.verdict.gates)),
            code=ended.code,
            folder=str(ended.folder),
            fingerprint=ended.record.fingerprint,
        )

    @classmethod
    def refused(cls, seed: int, reasons: Sequence[str]) -> Self:
        """Keep that preflight refused a seed."""
        return cls(seed=seed, outcome="REFUSED", reason="; ".join(reasons), code=Exit.REFUSED)


def _seen(gate: GateResult) -> GateSeen:
    edge = None if gate.value is None else gate.value.low if gate.comparison == ">=" else gate.value.high
    return GateSeen(gate.name, gate.outcome.value, edge, bar_text(gate), gate.worst)


def seeds_of(text: str) -> range:
    """Return the seeds of `1..50`; raise ProfileError when the text says none."""
    match = _SEEDS.fullmatch(text.strip())
    seeds = range(int(match[1]), int(match[2]) + 1) if match else range(0)
    if not 0 < len(seeds) <= _MOST:
        hint = "write the first and the last one, like 1..50"
        raise ProfileError([Problem("--seeds", 0, 0, "", f"{text!r} names no range of seeds", hint)])
    return seeds


def swept(run: Callable[[TaskT], DoneT], tasks: Sequence[TaskT], *, jobs: int) -> Iterator[DoneT]:
    """Yield what came of every task, as they end; after a signal no further one starts, and StoppedError is raised."""
    workers = max(1, min(jobs or os.cpu_count() or 1, len(tasks)))
    pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=_leave_ends_to_the_parent)
    with caught_signals() as caught:
        try:
            for future in as_completed([pool.submit(run, task) for task in tasks]):
                if caught:
                    raise StoppedError(f"ended by {caught[0].name}", ENDS[caught[0]])
                yield future.result()
        finally:
            pool.shutdown(cancel_futures=True)


def _leave_ends_to_the_parent() -> None:
    """Let a signal, which may reach every process, end a run that is going on; one that waits for work ends with us.

    A process that dies while it waits takes the queue's lock along, and its neighbours would wait for ever.
    """
    for number in ENDS:
        signal.signal(number, signal.SIG_IGN)


def show_sweep(runs: Sequence[SweptRun], command: Callable[[int], str]) -> Exit:
    """Print how often every gate passed and what it observed; a sweep is as good as its worst run."""
    runs = sorted(runs, key=lambda run: run.seed)
    console = out()
    table = plain_table(
        "gate", *(outcome.value for outcome in Outcome), "lowest", "median", "highest", right=("lowest", "median")
    )
    for name in dict.fromkeys(gate.name for run in runs for gate in run.gates):
        seen = [gate for run in runs if (gate := run.gate(name))]
        counts = Counter(gate.outcome for gate in seen)
        values = [gate.value for gate in seen if gate.value is not None]
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
