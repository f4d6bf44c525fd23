"""The matrix of ablations and worlds as a person reads it: every claim, what is not shown, and the conclusion last."""

from collections.abc import Iterator
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from scaletest.gates.matrix import Cell, Conclusion, Figure, Finding, Matrix, Standing
from scaletest.report.proof_markdown import KEPT_BY, figure_text, world_name
from scaletest_runner.terminal import out, plain_table

__all__ = ["cell_line", "print_matrix"]

_STYLES: Final = {
    Finding.CAUGHT: "green",
    Finding.MISSED: "bold red",
    Finding.FALSE_ALARM: "bold red",
    Finding.INCONCLUSIVE: "bold magenta",
    Finding.UNFINISHED: "bold magenta",
}
_CONCLUSIONS: Final = {
    Conclusion.PROVEN: ("green", "every claim holds on every seed, and the complete engine passes in every world"),
    Conclusion.CONTRADICTED: ("bold red", "a claim does not hold, or the complete engine failed"),
    Conclusion.INCONCLUSIVE: ("bold magenta", "a run could not be judged, or a rule has no claim"),
    Conclusion.UNFINISHED: ("bold magenta", "not every run has ended"),
}
_RULE_WIDTH: Final = 26
"""Leaves room on 120 columns for the longest name of a gate with its bar."""


def cell_line(cell: Cell) -> Text:
    """Return a cell in a line, for a log that is followed while runs go on."""
    style = _STYLES[cell.finding] if cell.claimed else "dim"
    return Text(f"{cell.world.profile}  {','.join(cell.without)}  {_seen(cell)}", style=style)


def print_matrix(matrix: Matrix, *, note: str = "", console: Console | None = None) -> None:
    """Print all that was tried; the last line is the conclusion."""
    console = console or out()
    if claims := [cell for rule in matrix.rules for cell in matrix.claims(rule)]:
        console.print(_cells(claims))
    if tried := [cell for cell in matrix.cells if not cell.claimed and cell.caught]:
        console.print(Text("\nSeen where nobody claims it\n", style="bold"))
        console.print(_cells(tried))
    for line in (*_rest(matrix), *_wrong(matrix)):
        console.print(line)
    if note:
        console.print(Text(f"\n{note}; what ended until then is shown", style="bold magenta"))
    style, meaning = _CONCLUSIONS[matrix.conclusion]
    counts = [sum(matrix.standing(rule) is standing for rule in matrix.rules) for standing in Standing]
    said = ", ".join(f"{count} {standing}" for standing, count in zip(Standing, counts, strict=True) if count)
    console.print(Text.assemble("\n", (matrix.conclusion, style), f": {meaning} ({said})"))


def _cells(cells: list[Cell]) -> Table:
    table = plain_table("", "rule taken away", "world", "seeds", "gate that fails")
    table.columns[1].max_width = _RULE_WIDTH
    for cell in cells:
        ablation = "\n".join([cell.rule.ablation, *(f"+ {mask}" for mask in cell.masked_by)])
        table.add_row(ablation, Text(cell.rule.removes), world_name(cell.world.profile), _share(cell), _red(cell))
    return table


def _red(cell: Cell) -> Text:
    red = [figure for figure in cell.figures() if figure.failed]
    lines = [Text.assemble((figure.gate, "bold"), f" {figure.bar}", _observed(cell, figure)) for figure in red]
    if why := cell.why():
        lines.insert(0, Text(why, style=_STYLES[cell.finding] if cell.claimed else "dim"))
    return Text("\n").join(lines)


def _observed(cell: Cell, figure: Figure) -> str:
    few = f"on {len(figure.failed)} of {len(cell.world.seeds)} seeds" if len(figure.failed) < len(cell.caught) else ""
    said = ", ".join(text for text in (figure_text(figure), few) if text)
    return f"\n{said}" if said else ""


def _share(cell: Cell) -> str:
    return f"{len(cell.caught)}/{len(cell.world.seeds)}"


def _seen(cell: Cell) -> str:
    return (cell.claimed and cell.why()) or f"caught on {len(cell.caught)} of {len(cell.world.seeds)} seeds"


def _rest(matrix: Matrix) -> Iterator[Text]:
    """Yield the rules that no profile claims, by how they stand."""
    for standing, held in KEPT_BY.items():
        names = [rule.ablation for rule in matrix.rules if matrix.standing(rule) is standing]
        if names:
            style = "bold magenta" if standing is Standing.OPEN else "dim"
            yield Text(f"\nNot shown by a run, {held}\n  {', '.join(names)}", style=style)


def _wrong(matrix: Matrix) -> Iterator[Text]:
    """Yield every false alarm, and the command that repeats each claim that does not hold."""
    for world in matrix.worlds:
        for trial in world.alarms:
            yield Text(f"\nfalse alarm: the complete engine in {world.profile}: {trial.reason}", style="red")
            yield Text(f"  scaletest run {world.profile} --seed {trial.seed}", style="dim")
    for cell in matrix.cells:
        if cell.claimed and cell.ended and cell.finding is not Finding.CAUGHT:
            seed = next(seed for seed in cell.world.seeds if seed not in cell.caught)
            yield Text(f"\n{','.join(cell.without)} in {cell.world.profile}: {cell.why()}", style="red")
            yield Text(f"  {cell.repeat(seed)}", style="dim")
