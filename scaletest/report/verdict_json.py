"""verdict.json: the judgement as a document of version 1, and back.

Beside what the judge said, each gate carries what a reader would else compute: `value`, `bar` and `margin`. Reading
computes them again; a file in which they disagree with the rest was not written by us and is refused.
"""

import json
import math
from collections.abc import Iterator
from enum import StrEnum
from typing import Any, Final, NoReturn, TypeVar

from scaletest.evidence.reading import Defect, Effect
from scaletest.gates.outcomes import Bracket, GateResult, Information, Outcome, RunOutcome, Verdict
from scaletest.plan.gate_table import Unit
from scaletest.plan.gates import Bar, Kind
from scaletest.report.canonical import canonical_number, canonical_text
from scaletest.report.wording import bar_text, finite_margin

__all__ = ["VERDICT_VERSION", "VerdictError", "gate_document", "read_verdict", "verdict_document", "verdict_text"]

VERDICT_VERSION: Final = 1

EnumT = TypeVar("EnumT", bound=StrEnum)


class VerdictError(ValueError):
    """A verdict.json that cannot be read; the message starts with the place in it."""


def verdict_text(verdict: Verdict) -> str:
    """Return verdict.json: equal verdicts give the same bytes."""
    return canonical_text(verdict_document(verdict))


def verdict_document(verdict: Verdict) -> dict[str, Any]:
    """Return the verdict as plain values."""
    return {
        "version": VERDICT_VERSION,
        "profile": verdict.profile,
        "world": verdict.world,
        "planDigest": verdict.plan_digest,
        "outcome": str(verdict.outcome),
        "reason": verdict.reason,
        "strict": verdict.strict,
        "exploratory": verdict.exploratory,
        "gates": [gate_document(gate) for gate in verdict.gates],
        "defects": [{"what": d.what, "effect": str(d.effect), "message": d.message} for d in verdict.defects],
        "information": [{"name": each.name, "text": each.text} for each in verdict.information],
        "phases": [{"name": name, "outcome": outcome, "detail": detail} for name, outcome, detail in verdict.phases],
    }


def gate_document(gate: GateResult) -> dict[str, Any]:
    """Return one gate as plain values."""
    exact = gate.value is not None and gate.value.exact
    return {
        "name": gate.name,
        "outcome": str(gate.outcome),
        "value": _number_or_null(gate.value.low) if gate.value is not None and exact else None,
        "bracket": _edges(gate.value),
        "tail": _edges(gate.tail),
        "threshold": gate.threshold if isinstance(gate.threshold, str) else canonical_number(gate.threshold),
        "comparison": gate.comparison,
        "unit": str(gate.unit),
        "bar": bar_text(gate),
        "margin": _number_or_null(finite_margin(gate)),
        "samples": gate.samples,
        "window": gate.window,
        "source": gate.source,
        "kind": str(gate.kind),
        "reason": gate.reason,
        "lookAt": gate.look_at,
        "details": [{"name": name, "text": text} for name, text in gate.details],
    }


def read_verdict(text: str) -> Verdict:
    """Return the verdict in the text; raise VerdictError when it is not one of this version, whole and consistent."""
    try:
        document = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise VerdictError(f"not JSON: {error}") from None
    fields = _Fields(document, "")
    if (version := document.get("version")) != VERDICT_VERSION or version is True:
        raise VerdictError(f"version: {version!r} is not the known version {VERDICT_VERSION}")
    verdict = _verdict(fields)
    for difference in _differences(document, verdict_document(verdict), ""):
        raise VerdictError(difference)
    return verdict


def _edges(bracket: Bracket | None) -> list[float | None] | None:
    return None if bracket is None else [_number_or_null(bracket.low), _number_or_null(bracket.high)]


def _number_or_null(number: float | None) -> float | None:
    return None if number is None else canonical_number(number)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse a key that is there twice: which one counts would be each reader's own choice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key is there twice")
    return found


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


class _Fields:
    """The fields of one object, each asked for with its type."""

    def __init__(self, value: object, where: str) -> None:
        if not isinstance(value, dict):
            raise VerdictError(f"{where or 'document'}: not an object")
        self._values: dict[str, object] = value
        self._where = where

    def text(self, key: str) -> str:
        value = self._get(key)
        return value if isinstance(value, str) else self._refuse(key, "not a text")

    def choice(self, key: str, kind: type[EnumT]) -> EnumT:
        value = self.text(key)
        return kind(value) if value in list(kind) else self._refuse(key, f"not one of {', '.join(kind)}")

    def flag(self, key: str) -> bool:
        value = self._get(key)
        return value if isinstance(value, bool) else self._refuse(key, "not true or false")

    def count(self, key: str) -> int | None:
        value = self._get(key)
        return value if value is None or type(value) is int else self._refuse(key, "not a whole number or null")

    def bar(self, key: str) -> Bar:
        value = self._get(key)
        return value if isinstance(value, str) else self._number(key, value)

    def bracket(self, key: str) -> Bracket | None:
        value = self._get(key)
        if value is None:
            return None
        if not isinstance(value, list) or len(value) != 2:
            self._refuse(key, "not a pair of edges")
        low, high = self._number(key, value[0]), None if value[1] is None else self._number(key, value[1])
        return (
            Bracket(low, high) if high is None or low <= high else self._refuse(key, "its low edge is above its high")
        )

    def objects(self, key: str) -> Iterator["_Fields"]:
        value = self._get(key)
        if not isinstance(value, list):
            self._refuse(key, "not a list")
        return (_Fields(each, f"{self._path(key)}[{place}]") for place, each in enumerate(value))

    def _number(self, key: str, value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            self._refuse(key, "not a number")
        try:
            finite = math.isfinite(value)
        except OverflowError:
            finite = False
        return value if finite else self._refuse(key, "too large for a number")

    def _get(self, key: str) -> object:
        return self._values[key] if key in self._values else self._refuse(key, "missing")

    def _path(self, key: str) -> str:
        return f"{self._where}.{key}" if self._where else key

    def _refuse(self, key: str, why: str) -> NoReturn:
        raise VerdictError(f"{self._path(key)}: {why}")


def _verdict(fields: _Fields) -> Verdict:
    return Verdict(
        profile=fields.text("profile"),
        world=fields.text("world"),
        plan_digest=fields.text("planDigest"),
        outcome=fields.choice("outcome", RunOutcome),
        reason=fields.text("reason"),
        strict=fields.flag("strict"),
        exploratory=fields.flag("exploratory"),
        gates=tuple(_gate(each) for each in fields.objects("gates")),
        defects=tuple(
            Defect(each.text("what"), each.choice("effect", Effect), each.text("message"))
            for each in fields.objects("defects")
        ),
        information=tuple(Information(each.text("name"), each.text("text")) for each in fields.objects("information")),
        phases=tuple(
            (each.text("name"), each.text("outcome"), each.text("detail")) for each in fields.objects("phases")
        ),
    )


def _gate(fields: _Fields) -> GateResult:
    return GateResult(
        name=fields.text("name"),
        outcome=fields.choice("outcome", Outcome),
        value=fields.bracket("bracket"),
        threshold=fields.bar("threshold"),
        comparison=fields.text("comparison"),
        unit=fields.choice("unit", Unit),
        samples=fields.count("samples"),
        window=fields.text("window"),
        source=fields.text("source"),
        kind=fields.choice("kind", Kind),
        reason=fields.text("reason"),
        look_at=fields.text("lookAt"),
        details=tuple((each.text("name"), each.text("text")) for each in fields.objects("details")),
        tail=fields.bracket("tail"),
    )


def _differences(found: Any, expected: Any, where: str) -> Iterator[str]:
    """Yield where a document is not what its own verdict is written as: unknown keys and figures that disagree."""
    if isinstance(found, dict) and isinstance(expected, dict):
        for key in sorted(found.keys() | expected.keys()):
            path = f"{where}.{key}" if where else key
            if key not in expected:
                yield f"{path}: unknown key"
            elif key not in found:
                yield f"{path}: missing"
            else:
                yield from _differences(found[key], expected[key], path)
    elif isinstance(found, list) and isinstance(expected, list) and len(found) == len(expected):
        for place, (one, other) in enumerate(zip(found, expected, strict=True)):
            yield from _differences(one, other, f"{where}[{place}]")
    elif found != expected or isinstance(found, bool) is not isinstance(expected, bool):
        yield f"{where}: {found!r} disagrees with the other fields, which give {expected!r}"
