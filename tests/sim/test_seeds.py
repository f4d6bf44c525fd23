"""Two hundred seeds of a small world in which all sorts of things go wrong: nothing is lost, nothing is invented."""

from collections import Counter
from pathlib import Path

import pytest
from sim_runs import Played, play_profile

from scaletest.evidence import read_evidence

TROUBLE = (
    "world.watchBreaksPerHour=600",
    "provider.errors={configure: 0.05, create: 0.05, drain: 0.02}",
    "provider.losses=[{atSeconds: 3, count: 2, everySeconds: 5, repairSeconds: 4}]",
    "world.replacementLag={p50Seconds: 0.2, p99Seconds: 1.5}",
    "loadProfile.churnPerMinute=2",
)
SEEDS = 200
PER_TEST = 10


def _counted_equals_written(played: Played) -> None:
    """Look at the ledgers and the counters: every action has its row, once."""
    evidence = read_evidence(
        played.folder,
        played.record,
        keep=frozenset({"bigfleet_shard_actions_total", "scaletest_binding_seconds_count"}),
    )
    assert not evidence.defects
    rows = Counter(row.kind for row in evidence.actions)
    for series in evidence.metrics.find("bigfleet_shard_actions_total"):
        numbers = sorted(row.seq for row in evidence.actions if row.kind == series.labels["kind"])
        assert numbers == list(range(1, rows[series.labels["kind"]] + 1))
        assert series.values[-1] <= rows[series.labels["kind"]]
    binds = sorted(row.obs_seq for row in evidence.requests if row.obs_seq is not None)
    assert binds == list(range(1, len(binds) + 1))


@pytest.mark.parametrize("first", range(1, SEEDS + 1, PER_TEST))
def test_a_troubled_world_keeps_its_invariants(first: int, tmp_path: Path) -> None:
    for seed in range(first, first + PER_TEST):
        played = play_profile(tmp_path / str(seed), seed=seed, settings=TROUBLE)

        assert [phase.outcome for phase in played.record.phases] == ["ok"] * 5, f"seed {seed}"
        assert not played.verdict.defects, f"seed {seed}: {played.verdict.defects}"
        assert played.checks > 40
        _counted_equals_written(played)
