"""`scaletest calibrate` as a user meets it, on a profile of a few virtual seconds."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from scaletest.profile import file_text, read_profile
from scaletest.profile.calibration import Calibration
from scaletest_runner.exits import Exit
from scaletest_runner.failures import reported
from scaletest_runner.locations import shipped
from scaletest_runner.main import app
from scaletest_runner.running import calibrating

FEW = ("--runs", "5", "--false-alarms", "0.5", "--gates", "maxReclaimActionsDuringSoak")


@pytest.fixture
def profile(tmp_path: Path) -> Path:
    """Return a copy of smoke that a test may change."""
    path = tmp_path / "smoke.yaml"
    path.write_text((shipped() / "smoke.yaml").read_text(encoding="utf-8"), encoding="utf-8")
    return path


def command(name: str, *argv: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, [name, *argv], env={"COLUMNS": "160"})
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output


def calibrate(profile: Path, *argv: str) -> tuple[int, str]:
    return command("calibrate", str(profile), *argv, "--jobs", "2", "--out", str(profile.parent / "out"))


def calibration_in(profile: Path) -> Calibration | None:
    return read_profile(file_text(profile), str(profile)).value.calibration


def test_bars_are_proposed_and_nothing_is_written_or_kept_unasked(profile: Path) -> None:
    before = profile.read_bytes()
    code, text = calibrate(profile, *FEW)

    assert code == Exit.PASS
    for said in ("5 runs: 5 PASS", "maxReclaimActionsDuringSoak", "<= 60", "calibration:", "firstSeed: 10001"):
        assert said in text
    assert profile.read_bytes() == before
    assert not [path for path in (profile.parent / "out").rglob("*") if path.is_file()]


def test_a_written_calibration_is_applied_by_the_next_run_and_fails_what_is_over_it(profile: Path) -> None:
    lines = profile.read_text(encoding="utf-8").splitlines()
    code, _ = calibrate(profile, *FEW, "--write")
    written = calibration_in(profile)

    assert code == Exit.PASS
    assert written is not None
    assert (written.runs.first_seed, written.runs.count, written.runs.not_passed) == (10001, 5, 0)
    assert (written.made_with.substrate, written.made_with.engine) == ("sim", "reference")
    assert profile.read_text(encoding="utf-8").splitlines()[: len(lines)] == lines

    code, text = command("run", str(profile), "--seed", "10001", "--out", str(profile.parent / "out"))
    assert (code, "maxReclaimActionsDuringSoak.calibrated" in text) == (Exit.PASS, True)
    profile.write_text(
        profile.read_text(encoding="utf-8").replace(
            f"    maxReclaimActionsDuringSoak: {written.bars['maxReclaimActionsDuringSoak']:g}",
            "    maxReclaimActionsDuringSoak: 1",
        ),
        encoding="utf-8",
    )
    code, text = command("run", str(profile), "--seed", "10001", "--out", str(profile.parent / "out"))
    assert (code, "failed: maxReclaimActionsDuringSoak.calibrated" in text) == (Exit.FAIL, True)

    code, text = command(
        "run", str(profile), "--set", "loadProfile.churnPerMinute=0.5", "--out", str(profile.parent / "out")
    )
    assert (code, "profile or catalog have changed since" in text) == (Exit.PASS, True)
    code, text = command("plan", str(profile), "--substrate", "kwok")
    assert "the calibrated bar is not applied: the calibration is of substrate sim" in text


def test_calibrating_again_replaces_the_block_and_is_not_swayed_by_the_old_one(profile: Path) -> None:
    calibrate(profile, *FEW, "--write")
    once = profile.read_text(encoding="utf-8")
    profile.write_text(once.replace("maxReclaimActionsDuringSoak: ", "maxReclaimActionsDuringSoak: 0 # ", 2))
    profile.write_text(
        profile.read_text(encoding="utf-8").replace(
            "maxReclaimActionsDuringSoak: 0 # 60", "maxReclaimActionsDuringSoak: 60"
        )
    )
    code, _ = calibrate(profile, *FEW, "--write")

    assert code == Exit.PASS
    assert profile.read_text(encoding="utf-8") == once


def test_runs_that_do_not_pass_are_told_and_too_many_of_them_end_it(profile: Path) -> None:
    text = profile.read_text(encoding="utf-8")
    profile.write_text(text.replace("maxReclaimActionsDuringSoak: 60", "maxReclaimActionsDuringSoak: 1"))
    before = profile.read_bytes()
    code, said = calibrate(profile, *FEW, "--write")

    assert code == Exit.INCONCLUSIVE
    assert "5 runs: 5 FAIL" in said
    assert "seed 10003: FAIL: failed: maxReclaimActionsDuringSoak" in said
    assert "Nothing was calibrated" in said
    assert profile.read_bytes() == before
    assert len(list((profile.parent / "out" / "smoke").iterdir())) == 5


def test_a_profile_that_changed_while_it_ran_is_not_written(profile: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = calibrating._made

    def meanwhile(*given: object, jobs: int) -> object:
        runs = made(*given, jobs=jobs)  # type: ignore[arg-type]  # as given
        profile.write_text(profile.read_text(encoding="utf-8").replace("machines: 10", "machines: 20"))
        return runs

    monkeypatch.setattr(calibrating, "_made", meanwhile)
    argv = ["calibrate", str(profile), *FEW, "--write", "--jobs", "2", "--out", str(profile.parent / "out")]

    assert reported(lambda: app(argv, standalone_mode=True)) == Exit.REFUSED
    assert calibration_in(profile) is None


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["smoke", "--runs", "20"], "20 runs cannot show 0.01 false alarms a run for 4 gates; use --runs 773"),
        (["smoke", "--runs", "20"], "--false-alarms 0.35, which 20 runs can show"),
        (
            ["smoke", "--runs", "299", "--gates", "maxReclaimActionDuringSoak"],
            "did you mean maxReclaimActionsDuringSoak?",
        ),
        (["smoke", "--runs", "299", "--gates", "noShortfall"], "cannot be calibrated: its bar is no number"),
        (["smoke", "--runs", "299", "--gates", "operatorAckP99Seconds"], "its number is modelled in this world"),
        (["smoke", "--runs", "20", "--false-alarms", "1.5"], "1.5 is no share of runs"),
        (["uber-500k", "--runs", "20"], "planOnly"),
        (["nowhere", "--runs", "20"], "no such file and no shipped profile"),
    ],
)
def test_what_cannot_be_calibrated_is_refused_before_anything_runs(
    argv: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["calibrate", *argv, "--out", str(tmp_path / "out")]

    assert reported(lambda: app(asked, standalone_mode=True)) == Exit.REFUSED
    assert said in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_an_interrupt_ends_it_without_a_calibration(profile: Path) -> None:
    out = profile.parent / "out"
    argv = [sys.executable, "-m", "scaletest_runner.main", "calibrate", str(profile), "--write", "--jobs", "1"]
    argv += ["--runs", "400", "--gates", "maxReclaimActionsDuringSoak", "--out", str(out)]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    while not out.is_dir() and process.poll() is None:
        time.sleep(0.1)
    os.killpg(process.pid, signal.SIGINT)
    text, _ = process.communicate(timeout=100)

    assert process.returncode == Exit.INTERRUPTED
    assert "nothing was calibrated" in text
    assert calibration_in(profile) is None
