"""The matrix of ablations and worlds as a page of Markdown: what is proven, what is not, and all that was tried."""

from collections.abc import Iterator, Sequence
from typing import Final

from scaletest.gates.matrix import Cell, Figure, Finding, Matrix, Rule, Standing
from scaletest.report.markdown import inline

__all__ = ["KEPT_BY", "figure_text", "proof_markdown", "range_text", "world_name"]

_CLAIMS: Final = ("rule taken away", "ablation", "world", "seeds", "gate", "without it", "with it", "bar")
_REST: Final = ("rule", "ablation", "how it stands", "tried")
KEPT_BY: Final = {
    Standing.BY_CASE: "held by its case in tests/data/engine/ablations.yaml",
    Standing.OPEN: "open: a run should show its loss, and no profile claims to",
    Standing.TRIED: "claimed by none of these worlds",
}
"""How a rule stands that no profile claims to show."""


def proof_markdown(matrix: Matrix) -> str:
    """Return the page; equal matrices give the same bytes."""
    lines = ["# Which gate notices which defect", "", _summary(matrix), "", "## Caught", "", *_claims(matrix)]
    rest = [rule for rule in matrix.rules if not matrix.claims(rule)]
    if rest:
        lines += ["", "## Not shown by a run", "", *_table(_REST, (_rest_row(matrix, rule) for rule in rest))]
    if any(not cell.claimed for cell in matrix.cells):
        lines += ["", "## All that was tried", "", *_grid(matrix)]
    return "\n".join(lines) + "\n"


def world_name(profile: str) -> str:
    """Return the short name of a world: without the folder that most of them are in."""
    return profile.removeprefix("proving/")


def range_text(values: tuple[float, float] | None) -> str:
    """Return the lowest and the highest value: `0`, `2.5 to 9.4`, `-` when nothing was measured."""
    if values is None:
        return "-"
    low, high = (f"{value:,.4g}" for value in values)
    return low if low == high else f"{low} to {high}"


def figure_text(figure: Figure) -> str:
    """Return what a gate observed, in a line; empty where it observes no number."""
    if figure.without is None and figure.with_rule is None:
        return ""
    return f"{range_text(figure.without)} without the rule, {range_text(figure.with_rule)} with it"


def _summary(matrix: Matrix) -> str:
    runs: dict[tuple[str, tuple[str, ...]], int]
    runs = {(world.profile, ()): len(world.complete) for world in matrix.worlds}
    for cell in matrix.cells:
        runs[cell.world.profile, cell.without] = len(cell.ablated)
        runs[cell.world.profile, cell.masked_by] = len(cell.world.complete if cell.control is None else cell.control)
    seeds = sorted({seed for world in matrix.worlds for seed in world.seeds}) or [0]
    proven = sum(matrix.standing(rule) is Standing.PROVEN for rule in matrix.rules)
    alarms = sum(len(world.alarms) for world in matrix.worlds)
    return (
        f"Written by `scaletest prove`. {len(matrix.rules)} rules, {len(matrix.worlds)} worlds, seeds {seeds[0]} to "
        f"{seeds[-1]}, {sum(runs.values()):,} runs: {proven} rules proven, {alarms} false alarms. "
        "Figures are the lowest and the highest of all seeds. How to read and extend it: [proving.md](proving.md)."
    )


def _claims(matrix: Matrix) -> Iterator[str]:
    rows = [row for rule in matrix.rules for cell in matrix.claims(rule) for row in _claim_rows(cell)]
    yield from _table(_CLAIMS, rows)


def _claim_rows(cell: Cell) -> Iterator[tuple[str, ...]]:
    removes = inline(cell.rule.removes)
    ablation = cell.rule.ablation + "".join(f" beside {mask}" for mask in cell.masked_by)
    if cell.finding is not Finding.CAUGHT:
        yield (removes, ablation, world_name(cell.world.profile), _seeds(cell), f"**{inline(cell.why())}**", "", "", "")
        return
    for place, figure in enumerate(figure for figure in cell.figures() if figure.failed):
        first = (removes, ablation, world_name(cell.world.profile), _seeds(cell)) if place == 0 else ("", "", "", "")
        figures = (range_text(figure.without), range_text(figure.with_rule), figure.bar)
        yield (*first, figure.gate, *map(inline, figures))


def _seeds(cell: Cell) -> str:
    return f"{len(cell.caught)} of {len(cell.world.seeds)}"


def _rest_row(matrix: Matrix, rule: Rule) -> tuple[str, ...]:
    cells = [cell for cell in matrix.cells if cell.rule == rule]
    seen = [f"{_seeds(cell)} in {world_name(cell.world.profile)}" for cell in cells if cell.caught]
    blind = len(cells) - len(seen)
    tried = [*seen, *([f"nothing in {blind} of {len(cells)} worlds"] if blind else [])]
    return (inline(rule.removes), rule.ablation, KEPT_BY[matrix.standing(rule)], ", ".join(tried) or "-")


def _grid(matrix: Matrix) -> Iterator[str]:
    yield (
        "Seeds on which some gate failed without the rule and not with it; **bold** where the profile claims it. What "
        "nobody claims was tried on the first seed only."
    )
    yield ""
    by_place = {(cell.rule, cell.world.profile): cell for cell in matrix.cells}
    profiles = [world.profile for world in matrix.worlds]
    rows = [(rule.ablation, *(_grid_cell(by_place.get((rule, name))) for name in profiles)) for rule in matrix.rules]
    yield from _table(("", *map(world_name, profiles)), rows)


def _grid_cell(cell: Cell | None) -> str:
    if cell is None:
        return ""
    seen = str(len(cell.caught)) if cell.caught else "·"
    return f"**{seen}**" if cell.claimed else seen


def _table(headers: Sequence[str], rows: "Iterator[tuple[str, ...]] | list[tuple[str, ...]]") -> Iterator[str]:
    yield f"| {' | '.join(headers)} |"
    yield "|---" * len(headers) + "|"
    yield from (f"| {' | '.join(row)} |" for row in rows)
