"""The judge's rules as tables: tests/data/gates/*.yaml, each case with its rule in a sentence."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from gate_edits import EDITS
from scaletest.gates.judge import judge
from scaletest.gates.outcomes import Verdict
from scaletest.gates.proof import proof_gate
from scaletest.gates.staging import Scene, staged_evidence, staged_test

_FOLDER = Path(__file__).parents[2] / "data" / "gates"


@dataclass(frozen=True, slots=True)
class Listed:
    place: str
    case: dict[str, Any]


def _listed() -> list[Listed]:
    found = []
    for path in sorted(_FOLDER.glob("*.yaml")):
        text = path.read_text(encoding="utf-8")
        lines = [n for n, line in enumerate(text.splitlines(), start=1) if line.startswith("- rule:")]
        cases = yaml.safe_load(text)
        found += [Listed(f"{path.name}:{line}", case) for line, case in zip(lines, cases, strict=True)]
    return found


def _judged(case: dict[str, Any]) -> Verdict:
    bar = case["bar"]
    gate = proof_gate(case["gate"], float(bar) if isinstance(bar, int) and "Seconds" in case["gate"] else bar)
    test = replace(staged_test(gate), judge_tail=case.get("judge") == "tail")
    evidence = staged_evidence(test, Scene(**case.get("scene", {})))
    for name in case.get("edit", []):
        evidence, test = EDITS[name](evidence, test)
    return judge(test, evidence, strict=case.get("strict", False))


@pytest.mark.parametrize("listed", _listed(), ids=lambda listed: f"{listed.place} {listed.case['rule']}")
def test_rule(listed: Listed) -> None:
    verdict, expect = _judged(listed.case), listed.case["expect"]
    (gate,) = verdict.gates
    said = f"{listed.place}: {gate.outcome} {gate.value} {gate.reason!r}; run {verdict.outcome} {verdict.reason!r}"

    assert expect.get("gate", gate.outcome) == gate.outcome, said
    assert expect["run"] == verdict.outcome, said
    assert expect.get("samples", gate.samples) == gate.samples, said
    assert expect.get("reason", "") in gate.reason, said
    assert expect.get("defect", "") in " ".join(defect.message for defect in verdict.defects), said
    if "value" in expect:
        assert gate.value is not None, said
        assert gate.value.low == pytest.approx(expect["value"]), said


def test_every_edit_is_used_by_a_case() -> None:
    used = {name for listed in _listed() for name in listed.case.get("edit", [])}

    assert used == set(EDITS)
