"""Commands as a user runs them: real processes, real exit codes, stdout for results and stderr for the rest."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

_SCALETEST = Path(sys.executable).with_name("scaletest")
_PROFILES = Path(__file__).parents[3] / "profiles"


def scaletest(*argv: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [_SCALETEST, *argv], capture_output=True, text=True, timeout=60, check=False, cwd=cwd, stdin=subprocess.DEVNULL
    )


def test_the_json_plan_of_dev_50_has_the_numbers_scripts_rely_on() -> None:
    done = scaletest("plan", str(_PROFILES / "dev-50.yaml"), "--json")

    plan = json.loads(done.stdout)
    assert done.returncode == 0
    assert plan["geometry"]["clusters"] == 2
    assert plan["geometry"]["podsPerCluster"] == 2500
    inventory = plan["inventory"]
    assert (inventory["effectiveMachines"], inventory["configured"]) == (610, 666)
    assert (inventory["idle"], inventory["speculative"]) == (760, 3070)
    assert plan["load"]["pods"] == 5000
    assert plan["load"]["plannedReplacements"] == sum(plan["load"]["replacementsByCause"].values())
    assert {gate["name"]: gate["threshold"] for gate in plan["gates"]}["maxReclaimActionsDuringSoak"] == 150
    assert all({"name", "threshold", "expectedSamples"} <= set(gate) for gate in plan["gates"])


def test_a_shipped_profile_is_found_by_name_from_anywhere(tmp_path: Path) -> None:
    assert scaletest("plan", "dev-50", cwd=tmp_path).returncode == 0


def test_another_seed_gives_another_plan() -> None:
    digests = {json.loads(scaletest("plan", "dev-50", "--json", *seed).stdout)["digest"] for seed in ([], ["--seed=2"])}

    assert len(digests) == 2


def test_uber_5k_on_kwok_is_refused_with_its_footprint() -> None:
    done = scaletest("plan", "uber-5k", "--substrate", "kwok")

    assert done.returncode == 2
    assert "needs about" in done.stdout
    assert "GiB" in done.stdout


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["plan", "dev50"], "did you mean dev-50?"),
        (["plan", "no-such.yaml"], "there is no such file"),
        (["plan", "dev-50", "--substrate", "kwk"], "did you mean kwok?"),
        (["plan", "dev-50", "--engine", "refrence"], "did you mean reference?"),
        (["plan", "dev-50", "--seed", "-1"], "--seed"),
        (["pla"], "'plan'"),
        (["validate"], "Missing argument"),
    ],
)
def test_a_slip_on_the_command_line_is_refused_with_what_was_meant(argv: list[str], said: str) -> None:
    done = scaletest(*argv)

    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_every_shipped_file_validates() -> None:
    files = [str(path) for path in sorted(_PROFILES.rglob("*.yaml"))]

    done = scaletest("validate", *files)

    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == len(files)


def test_all_problems_of_all_files_are_reported_in_one_go(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("apiVersion: scaletest/v1\nkind: Profile\nmetdata: {}\nscale: {machines: 017}\n")
    (tmp_path / "b.yaml").write_text("kind: on\n")

    done = scaletest("validate", "a.yaml", "b.yaml", cwd=tmp_path)

    assert done.returncode == 2
    for said in ("a.yaml:3:1", "did you mean metadata?", "a.yaml:4:19", "b.yaml:1:7"):
        assert said in done.stderr


def test_the_historical_rack_gang_is_refused_by_validate(tmp_path: Path) -> None:
    text = (_PROFILES / "catalogs" / "realistic.yaml").read_text()
    before, large = text.split("- name: gpu-training-large", 1)
    (tmp_path / "realistic.yaml").write_text(
        before + "- name: gpu-training-large" + large.replace("sameZone: true", "sameRack: true", 1)
    )

    done = scaletest("validate", "realistic.yaml", cwd=tmp_path)

    assert done.returncode == 2
    assert "no real rack holds more than 50" in done.stderr
    assert "sameZone" in done.stderr


def test_a_reader_that_goes_away_is_no_failure() -> None:
    command = f"{_SCALETEST} plan dev-50 | head -n 1"
    done = subprocess.run(
        ["/bin/bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, check=False, timeout=60
    )

    assert done.stderr == ""
    assert done.returncode == 0


def test_a_catalog_beside_the_profile_comes_before_a_shipped_one(tmp_path: Path) -> None:
    (tmp_path / "catalogs").mkdir()
    profile = (_PROFILES / "dev-50.yaml").read_text()
    catalog = (_PROFILES / "catalogs" / "realistic-dev.yaml").read_text()
    (tmp_path / "dev-50.yaml").write_text(profile)
    (tmp_path / "catalogs" / "realistic-dev.yaml").write_text(catalog.replace("weight: 40", "weight: 80", 1))

    done = scaletest("plan", "dev-50.yaml", "--json", cwd=tmp_path)

    assert json.loads(done.stdout)["inventory"]["effectiveMachines"] != 610


def test_start_up_imports_neither_pydantic_nor_a_cluster_client() -> None:
    code = "import sys, scaletest_runner.main; print(sorted({'pydantic', 'kubernetes', 'yaml'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)

    assert done.stdout.strip() == "[]"


def test_two_processes_with_different_hash_seeds_plan_the_same() -> None:
    plans = {
        subprocess.run(
            [_SCALETEST, "plan", "dev-50", "--json"],
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
            env={"PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("0", "1", "4711")
    }

    assert len(plans) == 1
