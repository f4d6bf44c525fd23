"""`scaletest ablations` and `scaletest explain`, through their options and exit codes."""

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from scaletest.engine.decide import ABLATIONS
from scaletest_runner.commands.engine import ablations, explain

DATA = Path(__file__).resolve().parents[2] / "data" / "engine"
APP = typer.Typer()
APP.command()(ablations)
APP.command()(explain)


def run(*words: str, exit_code: int = 0) -> str:
    result = CliRunner().invoke(APP, list(words))

    assert result.exit_code == exit_code, result.output
    return result.output


def test_ablations_lists_every_rule_with_the_gate_that_should_see_it() -> None:
    output = run("ablations")

    assert all(name in output for name in ABLATIONS)
    assert "gate that should see it" in output


def test_ablations_as_json_carry_where_the_switch_is() -> None:
    rows = json.loads(run("ablations", "--json"))

    assert {row["id"]: row["where"] for row in rows}["AB-03"] == "agent"
    assert len(rows) == len(ABLATIONS)


def test_explain_says_domain_rule_action_and_reason() -> None:
    output = run("explain", str(DATA / "ablations.yaml"), "--case", "AB-05")

    assert "domain p: rule 2, it holds most of what the cluster already has bound" in output
    assert "Bootstrap p3 for g in p" in output
    assert "cycles 2-6  nothing to do" in output
    assert "Reclaim a1 of g in p: its gang belongs in p this cycle and this machine is in a" in output


def test_explain_plays_a_case_without_any_rule() -> None:
    output = run("explain", str(DATA / "ablations.yaml"), "--case", "AB-18", "--without", "AB-18")

    assert "(without AB-18)" in output
    assert "holds a, m" in output


def test_explain_as_json_has_every_cycle() -> None:
    cases = json.loads(run("explain", str(DATA / "rules.yaml"), "--case", "takes from every zone", "--json"))

    (case,) = cases
    assert [action["machine"] for action in case["cycles"][0]["actions"]] == ["a1", "a2", "b1", "b2"]
    assert case["cycles"][0]["needs"][0]["acquired"] == ["a1", "a2", "b1", "b2"]


def test_explain_shows_bare_choices() -> None:
    assert "it holds most of this gang's own machines" in run("explain", str(DATA / "choices.yaml"), "--case", "E3 own")


@pytest.mark.parametrize("path", sorted(DATA.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_fixture_can_be_explained(path: Path) -> None:
    assert run("explain", str(path))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("cases:\n  - name: x\n    colour: red\n", ":2: unknown key 'colour'"),
        ("cases:\n  - name: x\n    name: y\n", ":2: key 'name' twice"),
        ("cases:\n  - name: x\n    machines: [{id: m, for: nobody}]\n", ":3: there is no need 'nobody'"),
        ("cases:\n  - machines: [{id: m, state: Resting}]\n", ":2: state: 'Resting' is not a valid MachineState"),
        ("cases:\n  - needs: {n: {unit: {cpu: lots}}}\n", "not a Kubernetes quantity"),
        ("cases:\n  - name: x\n    without: {AB-99: []}\n", "there is no ablation 'AB-99'"),
        ("cases: [\n", ":2: "),
        ("- 1\n", ":1: a mapping is needed here"),
    ],
)
def test_a_bad_fixture_is_refused_at_its_line(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(text, encoding="utf-8")

    assert says in run("explain", str(path), exit_code=2)


def test_a_missing_fixture_and_an_unknown_rule_are_refused(tmp_path: Path) -> None:
    run("explain", str(tmp_path / "none.yaml"), exit_code=2)
    run("explain", str(DATA / "rules.yaml"), "--without", "AB-99", exit_code=2)
    run("explain", str(DATA / "rules.yaml"), "--case", "no such case", exit_code=2)
