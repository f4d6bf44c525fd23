"""`scaletest run` as a user meets it: verdicts, exit codes, refusals, interruption, and what is left on disk."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from scaletest_runner.exits import Exit
from scaletest_runner.failures import reported
from scaletest_runner.main import app


def run(*argv: str, out: Path) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["run", *argv, "--out", str(out)], env={"COLUMNS": "160"})
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output


def only_folder(out: Path) -> Path:
    (profile,) = out.iterdir()
    (folder,) = profile.iterdir()
    return folder


def verdict_of(folder: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads((folder / "verdict.json").read_text(encoding="utf-8"))
    return found


def test_a_run_passes_and_leaves_everything_a_reader_needs(tmp_path: Path) -> None:
    code, text = run("smoke", out=tmp_path)
    folder = only_folder(tmp_path)

    assert (code, text.count("PASS: every gate passed")) == (Exit.PASS, 1)
    assert "Repeat" not in text
    left = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert left == {
        "run.json", "plan.json", "verdict.json", "summary.json", "junit.xml", "summary.md",
        "evidence/metrics.om.gz", "evidence/requests.jsonl.gz", "evidence/actions.jsonl.gz", "evidence/cycles.jsonl.gz",
        "evidence/events.jsonl.gz", "evidence/measured.jsonl.gz", "evidence/decisions.jsonl.gz",
        "inputs/smoke.yaml", "inputs/catalogs/realistic-dev.yaml", "inputs/engines/reference.yaml",
        "inputs/substrates/sim.yaml",
    }  # fmt: skip


def test_a_failed_gate_exits_1_and_prints_the_one_command_that_repeats_it(tmp_path: Path) -> None:
    code, text = run("smoke", "--seed", "3", "--set", "slo.maxReclaimActionsDuringSoak=1", out=tmp_path)

    assert code == Exit.FAIL
    assert "Repeat       scaletest run smoke --seed 3 --set slo.maxReclaimActionsDuringSoak=1" in text


@pytest.mark.parametrize("profile", ["smoke", "dev-50", "dev-50-field"])
def test_an_engine_that_never_acts_does_not_pass(profile: str, tmp_path: Path) -> None:
    code, _ = run(profile, "--ablate", "AB-00", out=tmp_path)

    assert code == Exit.FAIL


def test_a_run_that_never_gets_steady_still_has_its_verdict(tmp_path: Path) -> None:
    code, text = run("smoke", "--set", "steady.withinSeconds=0.2", out=tmp_path)
    folder = only_folder(tmp_path)

    assert code == Exit.FAIL
    assert "steadyReached" in text
    assert verdict_of(folder)["outcome"] == "FAIL"
    assert (folder / "summary.json").is_file()


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["smoke", "--ablate", "AB-99"], "AB-99"),
        (["uber-500k"], "planOnly"),
        (["uber-5k", "--substrate", "kwok"], "needs about"),
        (["smoke", "--seeds", "5..1"], "names no range of seeds"),
        (["smoke", "--set", "loadProfile.soakSecond=1"], "did you mean"),
        (["nowhere"], "no such file and no shipped profile"),
    ],
)
def test_what_cannot_be_run_is_refused_with_a_reason(
    argv: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["run", *argv, "--out", str(tmp_path / "out")]

    assert reported(lambda: app(command, standalone_mode=True)) == Exit.REFUSED
    assert said in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_sweep_shows_every_gates_distribution_and_is_as_good_as_its_worst_run(tmp_path: Path) -> None:
    code, text = run("smoke", "--seeds", "1..3", "--jobs", "2", out=tmp_path)
    assert (code, "3 seeds: 3 PASS" in text) == (Exit.PASS, True)

    code, text = run("smoke", "--seeds", "1..2", "--set", "slo.maxReclaimActionsDuringSoak=1", out=tmp_path)
    assert (code, "2 seeds: 2 FAIL" in text) == (Exit.FAIL, True)
    assert "scaletest run smoke --seed 2 --set slo.maxReclaimActionsDuringSoak=1" in text


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_leaves_evidence_and_a_verdict(number: signal.Signals, tmp_path: Path) -> None:
    argv = [sys.executable, "-m", "scaletest_runner.main", "run", "soak-24h", "--out", str(tmp_path)]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for line in process.stderr or ():
        if " soak " in line:
            break
    time.sleep(0.5)
    process.send_signal(number)
    text, _ = process.communicate(timeout=60)
    folder = only_folder(tmp_path)

    assert process.returncode == 128 + number
    assert f"ended by {number.name}" in text
    assert json.loads((folder / "run.json").read_text(encoding="utf-8"))["sealed"] is True
    assert verdict_of(folder)["outcome"] != "PASS"


def test_a_run_whose_time_is_up_ends_with_its_own_code(tmp_path: Path) -> None:
    code, text = run("soak-24h", "--timeout", "1.5", out=tmp_path)

    assert code == Exit.ENVIRONMENT
    assert "--timeout of 1.5 s is over" in text
    assert verdict_of(only_folder(tmp_path))["outcome"] != "PASS"


def test_one_cycle_of_a_run_is_explained(tmp_path: Path) -> None:
    run("smoke", out=tmp_path)
    folder = str(only_folder(tmp_path))
    shown = CliRunner().invoke(app, ["explain", folder, "--cycle", "3"])
    missing = CliRunner().invoke(app, ["explain", folder, "--cycle", "999"])

    assert "cycle 3" in shown.output
    assert "Reclaim" in shown.output
    assert "there is no cycle 999" in str(missing.exception)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_sweep_starts_nothing_more_and_shows_what_is_known(
    number: signal.Signals, tmp_path: Path
) -> None:
    argv = [sys.executable, "-m", "scaletest_runner.main", "run", "smoke", "--seeds", "1..1000", "--out", str(tmp_path)]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    while not list(tmp_path.rglob("verdict.json")):
        time.sleep(0.1)
    os.killpg(process.pid, number)
    text, _ = process.communicate(timeout=60)

    assert process.returncode == 128 + number
    assert f"ended by {number.name} after" in text
    assert "of 1000 seeds" in text
