"""`scaletest gate` as a user runs it: on folders that a run left behind, whole or not."""

import json
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from scaletest.gates.staging import Scene, staged_evidence
from staged_run import TEST, write_run

_SCALETEST = Path(sys.executable).with_name("scaletest")
_GOOD = Scene(requests=200, shortfall=0)


def gate(*argv: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([_SCALETEST, "gate", *argv], capture_output=True, text=True, timeout=120, check=False)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    for name, scene in (("good", _GOOD), ("bad", Scene(requests=200, reclaims=21, reclaim_gap_s=200.0))):
        write_run(folder / name, TEST, staged_evidence(TEST, scene))
    write_run(folder / "crashed", TEST, staged_evidence(TEST, _GOOD), seal=False)
    write_run(folder / "crashed-bad", TEST, staged_evidence(TEST, Scene(requests=200, reclaims=400)), seal=False)
    return folder


def test_a_failed_gate_exits_1_and_every_report_names_it(runs: Path) -> None:
    done = gate(runs / "bad")

    assert done.returncode == 1, done.stdout + done.stderr
    verdict = json.loads((runs / "bad" / "verdict.json").read_text())
    assert verdict["outcome"] == "FAIL"
    failed = [found["name"] for found in verdict["gates"] if found["outcome"] == "FAIL"]
    assert "maxReclaimActionsDuringSoak" in failed
    suite = ET.parse(runs / "bad" / "junit.xml").getroot()  # noqa: S314 - our own file
    assert int(suite.get("failures", "0")) >= len(failed)
    assert "maxReclaimActionsDuringSoak" in (runs / "bad" / "summary.md").read_text()
    assert json.loads((runs / "bad" / "summary.json").read_text())["outcome"] == "FAIL"


def test_judging_twice_gives_the_same_bytes(runs: Path) -> None:
    names = ("verdict.json", "summary.json", "junit.xml", "summary.md")
    gate(runs / "bad")
    first = [(runs / "bad" / name).read_bytes() for name in names]
    gate(runs / "bad")

    assert first == [(runs / "bad" / name).read_bytes() for name in names]


def test_a_crashed_run_is_inconclusive_and_says_so(runs: Path) -> None:
    done = gate(runs / "crashed")

    assert done.returncode == 3
    assert "not sealed" in done.stdout


def test_a_crash_cannot_excuse_what_was_already_over_the_bar(runs: Path) -> None:
    done = gate(runs / "crashed-bad")

    assert done.returncode == 1, done.stdout
    assert "maxReclaimActionsDuringSoak" in done.stdout.splitlines()[-1]


def test_another_bar_is_exploratory_and_writes_nothing(runs: Path) -> None:
    gate(runs / "bad")
    before = (runs / "bad" / "verdict.json").read_bytes()

    done = gate(runs / "bad", "--bar", "maxReclaimActionsDuringSoak=1000")

    assert done.returncode == 3
    assert (runs / "bad" / "verdict.json").read_bytes() == before


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["no-such-run"], "not a run that can be judged"),
        (["bad", "--bar", "maxReclaims=3"], "names no gate of this run"),
        (["bad", "--bar", "maxReclaimActionsDuringSoak=many"], "no number"),
    ],
)
def test_what_cannot_be_judged_is_refused_with_what_to_do(runs: Path, argv: list[str], said: str) -> None:
    done = gate(runs / argv[0], *argv[1:])

    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_every_gate_is_proved_by_the_command() -> None:
    done = subprocess.run([_SCALETEST, "prove", "--gates"], capture_output=True, text=True, timeout=120, check=False)

    assert done.returncode == 0
    assert done.stdout.rstrip().endswith("0 wrong")


def test_an_engine_without_its_metrics_breaks_the_contract(tmp_path: Path) -> None:
    page = tmp_path / "metrics.txt"
    page.write_text('# TYPE bigfleet_shard_actions_total counter\nbigfleet_shard_actions_total{kind="Reclaim"} 0\n')

    done = subprocess.run(
        [_SCALETEST, "contract", "dev-50", page], capture_output=True, text=True, timeout=120, check=False
    )

    assert done.returncode == 2
    assert "is not there" in done.stdout
