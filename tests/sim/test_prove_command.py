"""`scaletest prove` as a user meets it: what it runs, exit codes, refusals, interruption, and what it writes."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from subprocess import PIPE

import pytest
from jsonschema import Draft202012Validator
from typer.testing import CliRunner

from scaletest.engine.decide import ABLATIONS
from scaletest.model.findings import Severity
from scaletest.plan.plan import Plan
from scaletest.plan.preflight import preflight
from scaletest.profile import ProfileError
from scaletest.report.proof_markdown import world_name
from scaletest_runner.exits import Exit
from scaletest_runner.failures import reported
from scaletest_runner.inputs import load_inputs
from scaletest_runner.locations import shipped
from scaletest_runner.main import app
from scaletest_runner.running import proving
from scaletest_runner.running.proving import Asked, Bench

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "schema" / "proof.schema.json").read_text(encoding="utf-8"))
CLAIMS = """
proving:
  catches:
    - {without: AB-00, by: [excessReturned]}
    - {without: AB-16, by: [maxReclaimActionsDuringSoak]}
    - {without: AB-09, maskedBy: [AB-10], by: [noShortfall]}
"""


def prove(*argv: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["prove", *argv], env={"COLUMNS": "120"})
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """Return a world of a second with three claims, of which the first one holds."""
    text = (shipped() / "smoke.yaml").read_text(encoding="utf-8").split("\nproving:")[0]
    path = tmp_path / "small.yaml"
    path.write_text(text.replace("name: smoke", "name: small") + CLAIMS, encoding="utf-8")
    return path


def asked(*ablations: str, profiles: tuple[str, ...] = (), full: bool = False) -> Asked:
    return Asked(ablations, profiles, "2", 1, full)


def runs(bench: Bench) -> list[tuple[str, str, int | None]]:
    return [(task.profile, ",".join(task.without), task.seed) for task in bench.tasks(Path())]


def test_a_claim_needs_the_complete_engine_the_masking_rule_away_and_both_away(small: Path) -> None:
    name = str(small)
    wanted = [(name, without, seed) for without in ("", "AB-10", "AB-09,AB-10") for seed in (1, 2)]
    assert runs(Bench.of(asked("AB-09", profiles=(name,)))) == wanted


def test_no_run_is_made_twice(small: Path) -> None:
    made = runs(Bench.of(asked(profiles=(str(small),), full=True)))
    assert len(made) == len(set(made)) == 2 * (len(ABLATIONS) + 1), (
        "the complete engine, and every rule away; AB-09 with AB-10"
    )


def test_a_world_and_a_rule_that_are_both_named_are_tried_even_if_nobody_claims_it(small: Path) -> None:
    bench = Bench.of(asked("AB-18", profiles=(str(small),)))
    assert [(draft.rule.ablation, draft.claimed) for draft in bench.drafts] == [("AB-18", ())]


def test_without_names_every_rule_is_asked_about_in_the_worlds_that_claim_it() -> None:
    bench = Bench.of(asked())
    assert [rule.ablation for rule in bench.rules] == list(ABLATIONS)
    assert all(draft.claimed for draft in bench.drafts)
    assert {draft.profile for draft in bench.drafts} == set(bench.profiles)


@pytest.mark.parametrize("name", Bench.of(asked()).profiles)
def test_preflight_lets_every_shipped_world_start(name: str) -> None:
    loaded = load_inputs(name, substrate="sim", engine=None, seed=None)
    assert not [str(each) for each in preflight(Plan(loaded.inputs)) if each.severity is Severity.REFUSE]


def test_the_page_in_docs_has_every_claim_and_no_other() -> None:
    page = (Path(__file__).parents[2] / "docs" / "proving-matrix.md").read_text(encoding="utf-8")
    listed = [line.split(" | ")[1:3] for line in page.split("\n## ")[1].splitlines() if " | AB-" in line]
    claims = [
        [" beside ".join((draft.rule.ablation, *draft.masked_by)), world_name(draft.profile)]
        for draft in Bench.of(asked()).drafts
    ]
    assert sorted(listed) == sorted(claims), "run: make prove"


def test_the_shipped_worlds_are_found_without_their_folder() -> None:
    assert Bench.of(asked("AB-00", profiles=("smoke",))).profiles == ("smoke",)


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--ablation", "AB-160"], "there is no ablation 'AB-160'; did you mean AB-16?"),
        (["--ablation", "ab-rows"], "did you mean AB-ROWS?"),
        (["--profile", "smok"], "did you mean smoke?"),
        (["--seeds", "0"], "names no range of seeds"),
        (["--seeds", "many"], "names no range of seeds"),
        (["--profile", "uber-500k"], "planOnly"),
        (["--gates", "--full"], "--gates stages its evidence"),
        (["--ablation", "AB-00", "--json", "no/such/folder.json"], "no/such/folder.json: cannot be written"),
    ],
)
def test_a_slip_is_refused_before_anything_runs(argv: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert reported(lambda: app(["prove", *argv], standalone_mode=True)) == Exit.REFUSED
    assert said in capsys.readouterr().err


def test_a_claim_about_an_unknown_rule_is_refused(small: Path) -> None:
    small.write_text(small.read_text(encoding="utf-8").replace("AB-10", "AB-100"), encoding="utf-8")
    with pytest.raises(ProfileError, match=r"there is no ablation 'AB-100'; did you mean AB-10\?"):
        Bench.of(asked(profiles=(str(small),)))


def test_a_claim_by_a_gate_that_the_profile_lacks_is_refused(small: Path) -> None:
    small.write_text(small.read_text(encoding="utf-8").replace("[noShortfall]", "[noShortfal]"), encoding="utf-8")
    code, text = prove("--profile", str(small))
    assert code == Exit.REFUSED
    assert "did you mean noShortfall?" in text


def test_a_rule_whose_loss_turns_the_claimed_gate_red_is_proven(small: Path, tmp_path: Path) -> None:
    written, page = tmp_path / "proof.json", tmp_path / "proof.md"
    argv = ["--profile", str(small), "--ablation", "AB-00", "--seeds", "2", "--json", str(written)]
    code, text = prove(*argv, "--markdown", str(page))

    assert code == Exit.PASS
    assert "excessReturned" in text
    assert "2/2" in text
    assert text.splitlines()[-1].startswith("PROVEN")
    document = json.loads(written.read_text(encoding="utf-8"))
    Draft202012Validator(SCHEMA).validate(document)
    assert document["cells"][0]["caughtSeeds"] == [1, 2]
    assert "2 of 2 | excessReturned |" in page.read_text(encoding="utf-8")


def test_a_claim_that_does_not_hold_exits_1_with_the_command_that_repeats_it(small: Path) -> None:
    code, text = prove("--profile", str(small), "--ablation", "AB-16", "--seeds", "1")
    assert code == Exit.FAIL
    assert "missed on seed 1" in text
    assert f"scaletest run {small} --seed 1 --ablate AB-16" in text.replace("\n", "")


def test_a_rule_that_needs_a_claim_and_has_none_is_no_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proving, "proving_profiles", list)
    code, text = prove("--ablation", "AB-20")
    assert code == Exit.INCONCLUSIVE
    assert "no profile claims to" in text


def test_what_the_worlds_that_were_asked_for_do_not_claim_is_only_tried(small: Path) -> None:
    code, text = prove("--profile", str(small), "--ablation", "AB-20", "--seeds", "1")
    assert code == Exit.PASS
    assert "claimed by none of these worlds" in text


def test_a_rule_that_its_case_holds_needs_no_run() -> None:
    code, text = prove("--ablation", "AB-40")
    assert code == Exit.PASS
    assert "its case in tests/data/engine/ablations.yaml" in text


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_shows_what_is_known(number: signal.Signals) -> None:
    command = [sys.executable, "-m", "scaletest_runner.main", "prove", "--profile", "smoke", "--full", "--seeds", "1"]
    process = subprocess.Popen(command, stdout=PIPE, stderr=PIPE, text=True, start_new_session=True)
    assert process.stderr is not None
    for line in process.stderr:
        if "AB-00  caught on 1 of 1 seeds" in line:
            break
    os.killpg(process.pid, number)
    text, _ = process.communicate(timeout=60)

    assert process.returncode == 128 + number
    assert f"ended by {number.name}; what ended until then is shown" in text
    assert "excessReturned" in text
    assert text.splitlines()[-1].startswith("UNFINISHED")
