"""Judging saved runs, proving the gates, and checking an engine's metrics before a run."""

import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from rich.text import Text

from scaletest.evidence import read_evidence
from scaletest.evidence.exposition import read_page
from scaletest.evidence.reading import read_record
from scaletest.evidence.record import RecordError, RunRecord
from scaletest.gates.contract import contract_findings
from scaletest.gates.judge import judge, needed_metrics
from scaletest.gates.outcomes import RunOutcome, Verdict
from scaletest.gates.proof import prove_gates
from scaletest.plan.document import plan_document
from scaletest.plan.plan import Plan
from scaletest.plan.planned import PlannedTest, PlannedTestError, planned_test
from scaletest.plan.preflight import refused
from scaletest.profile import Problem, ProfileError, file_text
from scaletest.report.canonical import canonical_text
from scaletest.report.junit import junit_text
from scaletest.report.markdown import markdown_text
from scaletest.report.summary_json import summary_text
from scaletest.report.verdict_json import verdict_text
from scaletest_runner.exits import Exit
from scaletest_runner.inputs import load_inputs
from scaletest_runner.plan_view import print_findings
from scaletest_runner.terminal import out, plain_table
from scaletest_runner.verdict_view import print_verdict

__all__ = ["check_contract", "exit_of", "judge_folder", "saved_record", "show_proof", "write_reports"]

_EXITS = {
    RunOutcome.PASS: Exit.PASS,
    RunOutcome.FAIL: Exit.FAIL,
    RunOutcome.INCONCLUSIVE: Exit.INCONCLUSIVE,
}


def judge_folder(folder: Path, *, strict: bool, bars: list[str], write: bool) -> Exit:
    """Judge a run's folder, print the verdict and write the reports; a changed bar makes it exploratory."""
    test, record = _planned(folder), saved_record(folder)
    changed = _with_bars(test, bars)
    evidence = read_evidence(folder, record, keep=needed_metrics(test))
    verdict = replace(judge(changed, evidence, strict=strict), exploratory=bool(bars))
    print_verdict(verdict)
    if write and not verdict.exploratory:
        write_reports(folder, verdict, record)
    return exit_of(verdict)


def exit_of(verdict: Verdict) -> Exit:
    """Return the exit code of a verdict; an exploratory one is never a pass and never a fail."""
    return Exit.INCONCLUSIVE if verdict.exploratory else _EXITS[verdict.outcome]


def write_reports(folder: Path, verdict: Verdict, record: RunRecord) -> None:
    """Write every report of a verdict beside its evidence."""
    for name, text in (
        ("verdict.json", verdict_text(verdict)),
        ("summary.json", summary_text(verdict, record)),
        ("junit.xml", junit_text(verdict, record)),
        ("summary.md", markdown_text(verdict)),
    ):
        (folder / name).write_text(text, encoding="utf-8", newline="\n")


def show_proof() -> Exit:
    """Print what every gate does with good, bad, marginal and damaged evidence; a gate that errs is our bug."""
    rows: dict[str, dict[str, Text]] = {}
    wrong = []
    for finding in prove_gates():
        style = "bold red" if finding.wrong else "dim"
        rows.setdefault(finding.gate, {})[finding.tried] = Text(finding.gate_outcome, style=style)
        if finding.wrong:
            wrong.append(f"{finding.gate}: {finding.tried}: {finding.gate_outcome}, {finding.wrong}")
    tried = list(dict.fromkeys(name for row in rows.values() for name in row))
    table = plain_table("gate", *tried)
    for gate, outcomes in rows.items():
        table.add_row(gate, *(outcomes.get(name, Text("-", style="dim")) for name in tried))
    console = out()
    console.print(table)
    console.print(Text(f"{len(rows)} gates, {sum(map(len, rows.values()))} trials, {len(wrong)} wrong"))
    for line in wrong:
        console.print(Text(line, style="red"))
    return Exit.BUG if wrong else Exit.PASS


def check_contract(profile: str, page: Path, *, engine: str | None) -> Exit:
    """Print what an engine's metrics page lacks for the gates of a profile."""
    plan = Plan(load_inputs(profile, substrate="sim", engine=engine, seed=None).inputs)
    test = planned_test(canonical_text(plan_document(plan, ())))
    text = sys.stdin.read() if str(page) == "-" else file_text(page)
    findings = tuple(contract_findings(test, read_page(text)))
    print_findings(findings)
    if not findings:
        out().print("every role is there, and every bar has its edge")
    return Exit.REFUSED if refused(findings) else Exit.PASS


def _planned(folder: Path) -> PlannedTest:
    try:
        return planned_test((folder / "plan.json").read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, PlannedTestError) as error:
        raise _no_run(folder, error) from error


def saved_record(folder: Path) -> RunRecord:
    """Return the record of a run; raise ProfileError when the folder holds none."""
    try:
        return read_record(folder)
    except RecordError as error:
        raise _no_run(folder, error) from error


def _no_run(folder: Path, error: Exception) -> ProfileError:
    hint = "name a run's folder, with plan.json, run.json and evidence/ in it"
    return ProfileError([Problem(str(folder), 0, 0, "", f"this is not a run that can be judged: {error}", hint)])


def _with_bars(test: PlannedTest, bars: Iterable[str]) -> PlannedTest:
    changes = dict(_bar(text, test) for text in bars)
    gates = tuple(replace(gate, threshold=changes.get(gate.name, gate.threshold)) for gate in test.gates)
    return replace(test, gates=gates)


def _bar(text: str, test: PlannedTest) -> tuple[str, float]:
    name, _, number = text.partition("=")
    known = {gate.name for gate in test.gates if not isinstance(gate.threshold, str)}
    try:
        value = float(number)
    except ValueError:
        value = float("nan")
    if name not in known or not 0 <= value < float("inf"):
        hint = f"write GATE=NUMBER with one of {', '.join(sorted(known))}"
        raise ProfileError([Problem("--bar", 0, 0, "", f"{text!r} names no gate of this run, or no number", hint)])
    return name, value
