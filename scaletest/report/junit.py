"""JUnit XML for CI servers: one suite per profile, one case per gate and per phase, and one for validity.

A failed gate is a failure. What could not be measured is an error, as is a phase that did not end well: a failure only
ever means that a gate was evaluated and failed. A suite without failures and errors is never an inconclusive run.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final
from xml.etree import ElementTree as ET

from scaletest.evidence.record import RunRecord
from scaletest.gates.outcomes import GateResult, Outcome, RunOutcome, Verdict
from scaletest.model import US_PER_SECOND
from scaletest.report.summary_json import phase_duration_us
from scaletest.report.wording import bar_text, defect_text, figures, observed_text, visible

__all__ = ["junit_text"]


class _Status(StrEnum):
    """How a case ended: the element that says so, or none."""

    PASSED = ""
    FAILED = "failure"
    ERROR = "error"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class _Case:
    group: str
    name: str
    status: _Status = _Status.PASSED
    kind: str = ""
    message: str = ""
    text: str = ""
    duration_us: int = 0
    lines: tuple[str, ...] = ()
    """For system-out."""


_STATUS: Final = {
    Outcome.PASS: _Status.PASSED,
    Outcome.MARGINAL: _Status.PASSED,
    Outcome.FAIL: _Status.FAILED,
    Outcome.UNMEASURED: _Status.ERROR,
    Outcome.NOT_APPLICABLE: _Status.SKIPPED,
}


def junit_text(verdict: Verdict, record: RunRecord) -> str:
    """Return junit.xml, to be written as UTF-8; the record gives the phases their times."""
    judged = (*(_gate_case(gate, strict=verdict.strict) for gate in verdict.gates), *_phase_cases(verdict, record))
    cases = (*judged, _validity_case(verdict, {case.status for case in judged}))
    suites = ET.Element("testsuites", {"name": "scaletest", **_totals(cases)})
    suite = ET.SubElement(suites, "testsuite", {"name": visible(verdict.profile), **_totals(cases)})
    _add_properties(suite, verdict, record)
    for case in cases:
        _add_case(suite, case, profile=verdict.profile)
    _add_output(suite, [f"{each.name}: {each.text}" for each in verdict.information])
    ET.indent(suites)
    # ElementTree would declare the encoding of this machine's locale.
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ET.tostring(suites, encoding="unicode")}\n'


def _gate_case(gate: GateResult, *, strict: bool) -> _Case:
    marginal = gate.outcome is Outcome.MARGINAL
    status = _Status.FAILED if marginal and strict else _STATUS[gate.outcome]
    lines = (f"warning: {gate.outcome}: {gate.reason}", *_figure_lines(gate)) if marginal else ()
    if status is _Status.PASSED:
        return _Case("gate", gate.name, lines=lines)
    if status is _Status.SKIPPED:
        return _Case("gate", gate.name, status, kind=gate.outcome, message=gate.reason)
    message = f"{observed_text(gate)}, bar {bar_text(gate)}: {gate.reason}"
    text = "\n".join((gate.reason, *_figure_lines(gate)))
    return _Case("gate", gate.name, status, kind=gate.outcome, message=message, text=text)


def _figure_lines(gate: GateResult) -> Iterator[str]:
    return (f"{label}: {text}" for label, text in figures(gate))


def _phase_cases(verdict: Verdict, record: RunRecord) -> Iterator[_Case]:
    for place, (name, outcome, detail) in enumerate(verdict.phases):
        took_us = _took_us(record, place, name)
        if outcome == "ok":
            yield _Case("phase", name, duration_us=took_us)
        else:
            message = f"{outcome}: {detail}" if detail else outcome
            yield _Case("phase", name, _Status.ERROR, outcome, message, message, took_us)


def _took_us(record: RunRecord, place: int, name: str) -> int:
    """Return the phase's time by its place and name; none rather than another phase's."""
    timed = record.phases[place] if place < len(record.phases) else None
    return (phase_duration_us(timed) or 0) if timed is not None and timed.name == name else 0


def _validity_case(verdict: Verdict, seen: set[_Status]) -> _Case:
    """Say whether the run can be judged; never leaves a run that did not pass without a case that says so."""
    lines = [defect_text(defect) for defect in verdict.defects]
    if verdict.exploratory:
        lines.append("exploratory: judged with parameters other than the plan's")
    text = "\n".join((verdict.reason, *lines))
    if verdict.outcome is RunOutcome.INCONCLUSIVE and (lines or _Status.ERROR not in seen):
        return _Case("validity", "validity", _Status.ERROR, verdict.outcome, verdict.reason, text)
    if verdict.outcome is RunOutcome.FAIL and _Status.FAILED not in seen:
        return _Case("validity", "validity", _Status.FAILED, verdict.outcome, verdict.reason, text)
    return _Case("validity", "validity", lines=tuple(lines))


def _totals(cases: tuple[_Case, ...]) -> dict[str, str]:
    counts = Counter(case.status for case in cases)
    return {
        "tests": str(len(cases)),
        "failures": str(counts[_Status.FAILED]),
        "errors": str(counts[_Status.ERROR]),
        "skipped": str(counts[_Status.SKIPPED]),
        "time": _seconds(sum(case.duration_us for case in cases)),
    }


def _seconds(duration_us: int) -> str:
    return f"{duration_us // US_PER_SECOND}.{duration_us % US_PER_SECOND:06d}"


def _add_properties(suite: ET.Element, verdict: Verdict, record: RunRecord) -> None:
    parent = ET.SubElement(suite, "properties")
    values = {
        "outcome": str(verdict.outcome),
        "reason": verdict.reason,
        "world": verdict.world,
        "randomSeed": str(record.random_seed),
        "planDigest": verdict.plan_digest,
        "strict": str(verdict.strict).lower(),
        "exploratory": str(verdict.exploratory).lower(),
    }
    for name, value in values.items():
        ET.SubElement(parent, "property", {"name": name, "value": visible(value)})


def _add_case(suite: ET.Element, case: _Case, *, profile: str) -> None:
    about = {"classname": visible(f"{profile}.{case.group}"), "name": visible(case.name)}
    element = ET.SubElement(suite, "testcase", {**about, "time": _seconds(case.duration_us)})
    if case.status is not _Status.PASSED:
        about = {"message": visible(case.message), "type": visible(case.kind)}
        ET.SubElement(element, case.status, about).text = visible(case.text) or None
    _add_output(element, case.lines)


def _add_output(parent: ET.Element, lines: list[str] | tuple[str, ...]) -> None:
    if lines:
        ET.SubElement(parent, "system-out").text = visible("\n".join(lines))
