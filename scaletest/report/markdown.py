"""Markdown for a CI step summary: outcome, one table of gates, defects, and the rest folded.

GitHub throws a step's summary away when it is over 1,024 KiB, so ours has a hard cap and says what it left out. What
matters most is written first: failed gates lead the table, and rows are left out from the end.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from scaletest.gates.outcomes import GateResult, Outcome, RunOutcome, Verdict
from scaletest.report.wording import (
    bar_text,
    defect_text,
    margin_text,
    observed_text,
    outcome_text,
    samples_text,
    visible,
    worst_first,
)

__all__ = ["CAP_BYTES", "inline", "markdown_text"]

CAP_BYTES: Final = 900 * 1024

_LONGEST_TEXT: Final = 2000
_LEAST_CAP: Final = 1024
_MARKS: Final = {
    "PASS": "✅",
    "MARGINAL": "⚠️",
    "FAIL": "❌",
    "UNMEASURED": "❓",
    "INCONCLUSIVE": "❓",
    "NOT_APPLICABLE": "⚪",
}
_QUIET: Final = frozenset({"PASS", "NOT_APPLICABLE"})
_COLUMNS: Final = ("gate", "outcome", "observed", "bar", "margin", "n", "window", "kind", "why")
_RULE: Final = "|---|---|--:|---|--:|--:|---|---|---|"
_ENTITIES: Final = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "|": "&#124;", "`": "&#96;", "\n": "<br>", "\t": " "}
_SPECIAL: Final = re.compile(r"[&<>|`\n\t\\*_~#$\[\]]")


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of the summary; its rows may be left out, from the last one, but not its frame."""

    name: str
    opening: tuple[str, ...]
    rows: tuple[str, ...]
    closing: tuple[str, ...] = ()

    def note(self, kept: int) -> str:
        """Return the line that stands for the rows that were left out."""
        left = len(self.rows) - kept
        return f"\n_{left:,} of {len(self.rows):,} {self.name} left out to keep this summary small: see verdict.json._"

    def frame_bytes(self) -> int:
        """Return what the part takes without any row."""
        return sum(_size(line) for line in (*self.opening, *self.closing, self.note(0)))


def markdown_text(verdict: Verdict, *, cap_bytes: int = CAP_BYTES) -> str:
    """Return the summary; as UTF-8 it never takes more than the cap."""
    assert cap_bytes >= _LEAST_CAP, cap_bytes
    head = _head(verdict)
    parts = [part for part in _parts(verdict) if part.rows]
    left = cap_bytes - _size(head) - sum(part.frame_bytes() for part in parts)
    if left < 0:
        return f"## {_mark(verdict.outcome)}\n\n_Too long to show within {cap_bytes:,} bytes: see verdict.json._\n"
    lines = [head]
    for part in parts:
        kept = _rows_within(part.rows, left)
        left -= sum(_size(row) for row in part.rows[:kept])
        note = () if kept == len(part.rows) else (part.note(kept),)
        lines += [*part.opening, *part.rows[:kept], *note, *part.closing]
    return "\n".join(lines) + "\n"


def _size(line: str) -> int:
    return len(line.encode()) + 1


def _rows_within(rows: tuple[str, ...], room: int) -> int:
    """Return how many rows from the first on fit."""
    for count, row in enumerate(rows):
        room -= _size(row)
        if room < 0:
            return count
    return len(rows)


def _head(verdict: Verdict) -> str:
    stamps = [f"world {inline(verdict.world)}", f"plan {inline(verdict.plan_digest[:16])}"]
    stamps += ["strict"] * verdict.strict
    stamps += ["**exploratory: judged with parameters other than the plan's**"] * verdict.exploratory
    return (
        f"## {_mark(verdict.outcome)}: {inline(verdict.profile)}\n\n"
        f"**Why:** {inline(verdict.reason)}\n\n"
        f"Run in {', '.join(stamps)}."
    )


def _parts(verdict: Verdict) -> Iterator[_Part]:
    gates = worst_first(verdict.gates)
    opening = ("", f"| {' | '.join(_COLUMNS)} |", _RULE)
    yield _Part("gates", opening, tuple(_gate_row(gate) for gate in gates))
    defects = tuple(f"- {inline(defect_text(defect))}" for defect in verdict.defects)
    yield _Part("defects", ("", "### Defects of ground, harness or evidence", ""), defects)
    yield _folded("Figures of gates", "gates in detail", (_figures_row(gate) for gate in gates))
    yield _folded("Phases", "phases", (_phase_row(*phase) for phase in verdict.phases))
    information = (f"- {inline(each.name)}: {inline(each.text)}" for each in verdict.information)
    yield _folded("Information", "figures", information)


def _folded(title: str, name: str, rows: Iterator[str]) -> _Part:
    return _Part(name, ("", f"<details><summary>{title}</summary>", ""), tuple(rows), ("", "</details>"))


def _gate_row(gate: GateResult) -> str:
    why = inline(gate.reason)
    if gate.look_at:
        why += f"<br>Look at: {inline(gate.look_at)}"
    cells = (
        inline(gate.name),
        _mark(gate.outcome),
        inline(observed_text(gate)),
        inline(bar_text(gate)),
        margin_text(gate),
        samples_text(gate),
        inline(gate.window),
        str(gate.kind),
        why,
    )
    return f"| {' | '.join(cells)} |"


def _figures_row(gate: GateResult) -> str:
    facts = "; ".join(f"{inline(label)}: {inline(text)}" for label, text in (("source", gate.source), *gate.details))
    return f"- **{inline(gate.name)}** {facts}"


def _phase_row(name: str, outcome: str, detail: str) -> str:
    tail = f": {inline(detail)}" if detail else ""
    return f"- {inline(name)}: {inline(outcome)}{tail}"


def _mark(outcome: Outcome | RunOutcome) -> str:
    words = outcome_text(outcome) if outcome in _QUIET else f"**{outcome_text(outcome)}**"
    return f"{_MARKS[outcome]} {words}"


def inline(text: str) -> str:
    """Return text that Markdown shows as it is, on one line, clipped where nobody would read on."""
    if len(text) > _LONGEST_TEXT:
        text = f"{text[:_LONGEST_TEXT]}... ({len(text) - _LONGEST_TEXT:,} more characters)"
    return _SPECIAL.sub(lambda match: _ENTITIES.get(match[0], f"\\{match[0]}"), visible(text))
