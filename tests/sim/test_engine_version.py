"""The reference engine's version is raised when it does something else: calibrations are told apart by it."""

from hashlib import sha256
from pathlib import Path

from sim_runs import play_profile

from sample_plans import shipped_engine
from scaletest.evidence import read_evidence

VERSION = "1"
ACTIONS = "417e767076704b8b"
"""What that version does on a seed of smoke and one of dev-50, as a digest."""


def test_the_engine_does_what_its_version_did(tmp_path: Path) -> None:
    soak = ("loadProfile.soakSeconds=40", "loadProfile.settleSeconds=20")
    runs = [play_profile(tmp_path / "smoke"), play_profile(tmp_path / "dev-50", "dev-50", seed=3, settings=soak)]
    digest = sha256()
    for run in runs:
        actions = read_evidence(run.folder, run.record, keep=frozenset()).actions
        rows = sorted((row.at_us, row.kind, row.seq, row.machine, row.cluster, row.fingerprint) for row in actions)
        digest.update(repr(rows).encode())

    found = digest.hexdigest()[:16]
    told = f"""the same seeds lead to other actions. If that is meant: raise `version` in
    profiles/engines/reference.yaml, set VERSION and ACTIONS ({found}) here,
    and calibrate the shipped profiles that have a calibration again."""
    assert (shipped_engine().version, found) == (VERSION, ACTIONS), told
