"""What every output says in the same words: observed, bar, margin, the order of concern, and text that shows all it is.

Text comes from profiles, engines and ledgers. A character that a reader cannot see, or that moves a terminal's cursor,
is written as its escape; each output then escapes what its own format would interpret.
"""

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Final

from scaletest.evidence.reading import Defect, Effect
from scaletest.gates.outcomes import Bracket, GateResult, Outcome, RunOutcome
from scaletest.plan.gate_table import Unit

__all__ = [
    "bar_text",
    "defect_text",
    "figures",
    "finite_margin",
    "margin_text",
    "observed_text",
    "outcome_text",
    "samples_text",
    "visible",
    "worst_first",
]

# Controls but tab and newline, direction marks and overrides, line separators, lone surrogates, noncharacters.
_HIDDEN: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff\ufffe\uffff]"
)
_CONCERN: Final = (Outcome.FAIL, Outcome.UNMEASURED, Outcome.MARGINAL, Outcome.PASS, Outcome.NOT_APPLICABLE)
_EFFECTS: Final = {Effect.FLATTER: "flatter", Effect.WORSEN: "worsen", Effect.BOTH: "flatter or worsen"}
_BARE_UNITS: Final = frozenset({Unit.COUNT, Unit.RATIO, Unit.FACT})
_READABLE: Final = 10**15
"""Whole numbers from here on are shown in powers of ten."""


def visible(text: str) -> str:
    r"""Return the text with every hidden character spelled out, as in `\x1b`; newlines and tabs stay."""
    return _HIDDEN.sub(_spelled, text)


def _spelled(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def worst_first(gates: Iterable[GateResult]) -> tuple[GateResult, ...]:
    """Return the gates in order of concern: failed, unmeasured, marginal, passed, not applicable."""
    return tuple(sorted(gates, key=lambda gate: _CONCERN.index(gate.outcome)))


def outcome_text(outcome: Outcome | RunOutcome) -> str:
    """Return the outcome in words."""
    return outcome.replace("_", " ")


def defect_text(defect: Defect) -> str:
    """Return the defect with what it could have done to a number."""
    return f"{defect.what} (could {_EFFECTS[defect.effect]} a number): {defect.message}"


def bar_text(gate: GateResult) -> str:
    """Return the bar as the plan words it: `<= 30 s`, `>= 0.99`, `at least one`."""
    if isinstance(gate.threshold, str):
        return gate.threshold
    return f"{gate.comparison} {_amount(gate.threshold)}{_suffix(gate.unit)}"


def observed_text(gate: GateResult) -> str:
    """Return the value as a person reads it: `12.3 s`, `12 to 15 s`, `at least 31 s`, `-` when nothing was measured."""
    if gate.value is None:
        return "-"
    return f"{_bracket_text(gate.value, gate.threshold)}{_suffix(gate.unit)}"


def _bracket_text(value: Bracket, bar: float | str) -> str:
    low = _amount_beside(value.low, bar)
    if value.exact:
        return low
    return f"at least {low}" if value.high is None else f"{low} to {_amount_beside(value.high, bar)}"


def finite_margin(gate: GateResult) -> float | None:
    """Return the margin; None also when value and bar are so far apart that their ratio is no number."""
    try:
        margin = _floating(gate).margin
    except OverflowError:
        return None
    return margin if margin is not None and math.isfinite(margin) else None


def _floating(gate: GateResult) -> GateResult:
    """Return the gate with floats for numbers: whole numbers subtract exactly, and an equal gate would differ."""
    if gate.value is None or isinstance(gate.threshold, str):
        return gate
    high = None if gate.value.high is None else float(gate.value.high)
    return replace(gate, value=Bracket(float(gate.value.low), high), threshold=float(gate.threshold))


def margin_text(gate: GateResult) -> str:
    """Return the margin in per cent of the bar, negative when over it; `-` without one."""
    margin = finite_margin(gate)
    if margin is None or not math.isfinite(100 * margin):
        return "-"
    per_cent = 100 * margin
    return f"{per_cent:,.0f} %" if 1000 <= abs(per_cent) < _READABLE else f"{per_cent:.3g} %"


def samples_text(gate: GateResult) -> str:
    """Return the number of samples, or `-` when nobody counted."""
    return "-" if gate.samples is None else f"{gate.samples:,}"


def figures(gate: GateResult) -> Iterator[tuple[str, str]]:
    """Yield all that is known about a gate as labels and texts, the next place to look last."""
    yield "observed", "nothing" if gate.value is None else observed_text(gate)
    yield "bar", bar_text(gate)
    yield "margin", margin_text(gate)
    yield "n", samples_text(gate)
    yield "window", gate.window
    yield "source", gate.source
    yield "kind", gate.kind
    yield from gate.details
    if gate.look_at:
        yield "look at", gate.look_at


def _suffix(unit: Unit) -> str:
    return "" if unit in _BARE_UNITS else f" {unit}"


def _amount(number: float, digits: int = 6) -> str:
    if number % 1:
        return f"{number:,.{digits}g}"
    whole = int(number)
    return f"{whole:,}" if abs(whole) < _READABLE else f"{Decimal(whole):.{digits}g}"


def _amount_beside(number: float, bar: float | str) -> str:
    """Return the number with enough digits to stand on its own side of the bar: 30.0000001 is not shown as 30."""
    if isinstance(bar, str):
        return _amount(number)
    shown = (_amount(number, digits) for digits in (6, 9, 12))
    return next(
        (text for text in shown if _side(float(text.replace(",", "")), bar) == _side(number, bar)), repr(number)
    )


def _side(number: float, bar: float) -> int:
    return (number > bar) - (number < bar)
