import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from sim_runs import play_profile

from scaletest_runner.exits import Exit
from scaletest_runner.running.replaying import replay_cycles, replay_run

LAYOUTS = (
    {"PYTHONHASHSEED": "0"},
    {"PYTHONHASHSEED": "4242", "PYTHONMALLOC": "malloc"},
    {"PYTHONHASHSEED": "random", "PYTHONOPTIMIZE": "1"},
)


def _fingerprint(folder: Path, layout: dict[str, str]) -> str:
    """Run in a process of its own, with memory laid out differently, and return the evidence's fingerprint."""
    code = (
        "import sys; junk = [object() for _ in range(len(sys.argv[2]) * 1000)]; "
        "from pathlib import Path; from sim_runs import play_profile; "
        "print(play_profile(Path(sys.argv[1]), 'dev-50', seed=3, settings=('loadProfile.soakSeconds=40', "
        "'loadProfile.settleSeconds=20')).record.fingerprint)"
    )
    argv = [sys.executable, "-c", code, str(folder), layout["PYTHONHASHSEED"]]
    env = os.environ | layout | {"PYTHONPATH": str(Path(__file__).parents[1])}
    done = subprocess.run(argv, capture_output=True, text=True, env=env, check=True, timeout=110)
    return done.stdout.strip()


def test_equal_seeds_leave_equal_evidence_in_any_process(tmp_path: Path) -> None:
    prints = [_fingerprint(tmp_path / str(n), layout) for n, layout in enumerate(LAYOUTS)]

    assert len(set(prints)) == 1
    assert len(prints[0]) == 64


def test_another_seed_leaves_other_evidence(tmp_path: Path) -> None:
    one, other = (play_profile(tmp_path / str(seed), seed=seed).record.fingerprint for seed in (1, 2))

    assert one != other


@pytest.mark.parametrize("without", [(), ("AB-16",)], ids=["complete", "without AB-16"])
def test_every_saved_cycle_decides_the_same_again(tmp_path: Path, without: tuple[str, ...]) -> None:
    settings = ("loadProfile.soakSeconds=40", "loadProfile.settleSeconds=20")
    play_profile(tmp_path, "dev-50", without=without, settings=settings)

    assert replay_cycles(tmp_path) is Exit.PASS


def test_a_run_is_repeated_from_its_own_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    play_profile(tmp_path, settings=("loadProfile.churnPerMinute=1",))

    assert replay_run(tmp_path) is Exit.PASS
    assert "the same evidence, to the last byte" in capsys.readouterr().out


def test_a_changed_profile_is_noticed_by_the_replay(tmp_path: Path) -> None:
    play_profile(tmp_path)
    profile = tmp_path / "inputs" / "smoke.yaml"
    profile.write_text(profile.read_text(encoding="utf-8").replace("churnPerMinute: 0.6", "churnPerMinute: 0.9"))

    assert replay_run(tmp_path) is Exit.INCONCLUSIVE


def test_the_compute_times_stay_out_of_the_fingerprint(tmp_path: Path) -> None:
    record = play_profile(tmp_path).record
    hashes = json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))["hashes"]

    assert "measured.jsonl.gz" in hashes
    assert (
        record.fingerprint
        == type(record)(
            **{
                **{name: getattr(record, name) for name in record.__dataclass_fields__},
                "hashes": {**hashes, "measured.jsonl.gz": "other"},
            }
        ).fingerprint
    )
