"""A calibration as a person reads it: what was observed, which bars follow, and how far they can be trusted."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from rich.text import Text

from scaletest.gates.calibrating import Proposed, Support
from scaletest.profile.calibration import Calibration
from scaletest_runner.running.sweep import SweptRun
from scaletest_runner.terminal import out, plain_table

__all__ = ["show_calibration", "show_shortage", "show_troubles"]


def show_troubles(runs: Sequence[SweptRun], troubles: Mapping[int, str], command: Callable[[int], str]) -> None:
    """Print how the runs came out, and every one that no bar may come from."""
    console = out()
    outcomes = Counter(run.outcome for run in runs)
    console.print(Text(f"{len(runs):,} runs: {', '.join(f'{n:,} {name}' for name, n in outcomes.most_common())}"))
    for seed, why in troubles.items():
        console.print(Text(f"seed {seed}: {why}", style="red"))
        console.print(Text(f"  {command(seed)}", style="dim"))


def show_shortage(support: Support, *, gates: int, troubles: int) -> None:
    """Print why there is no proposal."""
    console, shown = out(), support.rate_shown
    if not gates:
        console.print(Text("\nNothing was calibrated: no sound run had anything to measure", style="bold red"))
        return
    why = (
        f"{troubles:,} of {support.runs:,} runs did not pass, and each counts as a false alarm: "
        f"{support.rate:.3g} a run cannot be shown for {gates:,} gates"
    )
    console.print(Text(f"\nNothing was calibrated: {why}", style="bold red"))
    rate = f"; these runs could show {shown:g}" if shown else ""
    console.print(Text(f"Mend what failed first, or use --runs {support.runs_needed}{rate}"))


def show_calibration(proposed: Sequence[Proposed], calibration: Calibration, *, unmeasured: Sequence[str]) -> None:
    """Print the table of gates and what it promises."""
    console = out()
    headers = ("gate", "posture", "lowest", "median", "highest", "measured", "proposed", "margin of the median")
    table = plain_table(*headers, right=headers[2:])
    for each in proposed:
        figures = [f"{figure:,.4g}" for figure in (each.lowest, each.median, each.highest)]
        margin = "-" if each.margin is None else f"{each.margin:.0%}"
        bar = f"{each.gate.comparison} {each.bar:,.6g}"
        table.add_row(each.gate.name, each.gate.bar_text(), *figures, f"{each.measured:,}", bar, margin)
    console.print(table)
    for name in unmeasured:
        console.print(Text(f"{name}: no run had anything to measure, so it gets no bar", style="yellow"))
    share, runs = calibration.false_alarms_per_run, calibration.runs
    console.print(
        Text(
            f"\nAt most {share:.3g} of all runs of this engine fail any of these gates by chance, "
            f"{calibration.confidence:.0%} sure: {runs.count:,} runs, seeds {runs.first_seed} to "
            f"{runs.first_seed + runs.count - 1}, {runs.not_passed:,} of them not passed and counted as alarms."
        )
    )
