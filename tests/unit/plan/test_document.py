"""The plan as a document and as a digest: the keys scripts rely on, plain values, the same in every process."""

import json
import os
import subprocess
import sys

import pytest

from sample_plans import plan_of, profile_of, shipped_plan
from scaletest.plan.document import plan_document
from scaletest.plan.plan import Plan
from scaletest.plan.preflight import preflight

_DIGEST = """
from scaletest.plan.plan import Plan
from scaletest_runner.inputs import load_inputs
print(Plan(load_inputs("dev-50", substrate="sim", engine=None, seed=None).inputs).digest)
"""


def test_has_the_keys_that_scripts_rely_on() -> None:
    plan = shipped_plan("dev-50")
    document = plan_document(plan, preflight(plan))
    assert document["geometry"] == {"clusters": 2, "podsPerCluster": 2_500, "pods": 5_000, "density": 100, "shards": 1}
    inventory = document["inventory"]
    assert [inventory[key] for key in ("effectiveMachines", "configured", "idle", "speculative")] == [
        610,
        666,
        760,
        3_070,
    ]
    assert document["load"]["pods"] == document["load"]["preBound"] == 5_000
    assert document["load"]["plannedReplacements"] == sum(document["load"]["replacementsByCause"].values())
    assert document["load"]["replacementsByCause"]["churn"] == 360
    headline = document["gates"][0]
    assert headline["name"] == "internalBindingLatencyP99Seconds"
    assert headline["threshold"] == 30
    assert headline["expectedSamples"] == document["load"]["plannedReplacements"]
    assert document["digest"] == plan.digest
    assert document["findings"]


def test_is_plain_json_and_small() -> None:
    plan = shipped_plan("dev-50")
    text = json.dumps(plan_document(plan, preflight(plan)), allow_nan=False)
    assert len(text) < 20_000, "never one row per Pod or arrival"


def test_archetypes_add_up_to_the_whole() -> None:
    document = plan_document(shipped_plan("dev-50"), ())
    assert sum(a["pods"] for a in document["load"]["archetypes"].values()) == 5_000
    assert sum(a["configured"] for a in document["inventory"]["archetypes"].values()) == 666


def test_events_are_listed() -> None:
    loads = {"demandSteps": [{"atSeconds": 60, "targetMultiplier": 0.5}]}
    document = plan_document(plan_of(profile_of(loadProfile=loads)), ())
    assert document["load"]["events"] == [{"at_us": 60_000_000, "kind": "demand-step", "what": "demand goes to 50%"}]


def test_the_digest_is_the_same_in_every_process() -> None:
    digests = set()
    for hash_seed in ("0", "1", "4242"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        run = subprocess.run(
            [sys.executable, "-c", _DIGEST], env=environment, capture_output=True, text=True, check=True, timeout=60
        )
        digests.add(run.stdout.strip())
    assert digests == {shipped_plan("dev-50").digest}


@pytest.mark.parametrize(
    "other",
    [
        plan_of(seed=2),
        plan_of(profile_of(loadProfile={"churnPerMinute": 0.5})),
        plan_of(profile_of(scale={"podsPerCluster": 40})),
        plan_of(profile_of(slo={"internalBindingLatencyP99Seconds": 31})),
    ],
)
def test_another_test_has_another_digest(other: Plan) -> None:
    assert other.digest != plan_of().digest


def test_the_seed_alone_changes_every_cluster() -> None:
    ours, other = shipped_plan("dev-50"), shipped_plan("dev-50", seed=2)
    assert ours.digest != other.digest
    assert all(ours.cluster(n).digest() != other.cluster(n).digest() for n in range(2))
