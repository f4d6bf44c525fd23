"""Thousands of ways to damage evidence: none may crash the judge, and none may make it pass what it cannot know.

Every damage comes in two modes. By accident the hashes are left alone and must give it away. A forger renews every
hash, so that only the judge's own rules can notice. A pass is false when the damage removed, altered or contradicted
what a passing gate rests on; so a damaged run may pass only with every figure as it was or worse. The one exception
is told apart: a value that became another plausible value, consistently, is a different story, and no judge can know.
"""

from collections import Counter
from pathlib import Path
from typing import Final

import pytest
from integration.judge.damages import Kind, Must
from integration.judge.document_damages import DOCUMENT_KINDS
from integration.judge.ledger_damages import LEDGER_KINDS
from integration.judge.sample_damages import SAMPLE_KINDS

from scaletest.gates.outcomes import GateResult, RunOutcome, Verdict
from scaletest.model import Stream
from staged_run import Bundle, judged_folder, put_together, staged_folder

KINDS: Final = (*LEDGER_KINDS, *SAMPLE_KINDS, *DOCUMENT_KINDS)
ACCIDENTS: Final = 8
FORGERIES: Final = 26
BAD_RUNS: Final = (
    {"slow": 5},
    {"waiting": 4},
    {"reclaims": 21},
    {"cycle_s": 6.0},
    {"reclaim_gap_s": 30.0},
    {"failed_growth": 3},
)
"""Runs that fail; whatever is done to them, short of telling another story, they must not pass."""


def _worst(gate: GateResult) -> tuple[int, float]:
    """Return a gate's value so that higher is worse; no value is worst."""
    if gate.value is None:
        return (1, 0.0) if gate.unit != "fact" else (0, 0.0)
    edge = gate.value.low if gate.comparison == ">=" else gate.value.high
    return (1, 0.0) if edge is None else (0, -edge if gate.comparison == ">=" else edge)


def _improved(before: Verdict, after: Verdict) -> bool:
    known = {gate.name: _worst(gate) for gate in before.gates}
    return len(after.gates) < len(known) or any(_worst(gate) < known[gate.name] for gate in after.gates)


def _word(before: Verdict, after: Verdict | None) -> str:
    if after is None:
        return "refused"
    if after.outcome is not RunOutcome.PASS:
        return str(after.outcome)
    if after == before:
        return "identical"
    return "PASS, better" if _improved(before, after) else "PASS, no better"


def _allowed(kind: Kind, bundle: Bundle, *, forged: bool) -> set[str]:
    """Return the words that are no false PASS."""
    safe = {"refused", "FAIL", "INCONCLUSIVE"}
    if not forged:
        # A flip in gzip's own header leaves the content as it was.
        return safe | {"identical"} if kind.name == "bit flip, compressed" or not bundle.changed else safe
    return {
        Must.BE_THE_SAME: {"identical"},
        Must.NOT_PASS: safe,
        Must.NOT_IMPROVE: safe | {"identical", "PASS, no better"},
        Must.NOT_CRASH: safe | {"identical", "PASS, no better", "PASS, better"},
    }[kind.must]


def _damaged(good: Bundle, kind: Kind, *entity: str | int) -> Bundle:
    bundle = good.copy()
    kind.damage(bundle, Stream.of(20261116, kind.name, *entity))
    return bundle


@pytest.mark.timeout(400)
def test_no_damage_crashes_the_judge_or_makes_a_false_pass(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = staged_folder(tmp_path / "good")
    before = judged_folder(tmp_path / "good")
    assert before is not None
    assert before.outcome is RunOutcome.PASS
    tally: dict[tuple[str, str], Counter[str]] = {}
    wrong: list[str] = []
    for kind in KINDS:
        for mode, number in (("accident", ACCIDENTS), ("forgery", FORGERIES)):
            words = tally.setdefault((kind.name, mode), Counter())
            for n in range(number):
                bundle = _damaged(good, kind, mode, n)
                put_together(bundle, tmp_path / "good", tmp_path / "damaged", forged=mode == "forgery")
                try:
                    word = _word(before, judged_folder(tmp_path / "damaged"))
                except Exception as error:  # noqa: BLE001 - a traceback is what is being hunted
                    word = f"{type(error).__name__}: {error}"
                words[word] += 1
                if word not in _allowed(kind, bundle, forged=mode == "forgery"):
                    wrong.append(f"{kind.name}, {mode} {n}: {word}")
    with capsys.disabled():
        _print(tally)
    assert sum(words.total() for words in tally.values()) >= 2000
    assert not wrong, "\n".join(wrong)


def _print(tally: dict[tuple[str, str], Counter[str]]) -> None:
    columns = ("identical", "PASS, no better", "PASS, better", "FAIL", "INCONCLUSIVE", "refused")
    titles = ("identical", "no better", "other story", "FAIL", "INCONCLUS.", "refused")
    lines = ["", f"{'damage':34}{'n':>6}" + "".join(f"{title:>12}" for title in titles)]
    total: Counter[str] = Counter()
    for (kind, mode), words in tally.items():
        total += words
        lines.append(f"{kind + ', ' + mode:34}{words.total():>6}" + "".join(f"{words[c]:>12}" for c in columns))
    lines.append(f"{'all':34}{total.total():>6}" + "".join(f"{total[c]:>12}" for c in columns))
    print("\n".join(lines))  # noqa: T201 - the counts are the point


@pytest.mark.parametrize("scene", BAD_RUNS, ids="-".join)
def test_no_damage_turns_a_failure_into_a_pass(scene: dict[str, float], tmp_path: Path) -> None:
    bad = staged_folder(tmp_path / "bad", **scene)
    before = judged_folder(tmp_path / "bad")
    assert before is not None
    assert before.outcome is RunOutcome.FAIL
    passed = []
    for kind in KINDS:
        if kind.must is Must.NOT_CRASH:
            continue
        bundle = _damaged(bad, kind, *scene)
        put_together(bundle, tmp_path / "bad", tmp_path / "damaged", forged=True)
        after = judged_folder(tmp_path / "damaged")
        if after is not None and after.outcome is RunOutcome.PASS:
            passed.append(kind.name)
    assert not passed
