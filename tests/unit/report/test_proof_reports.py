"""A matrix for programs and as a page: true to its schema, and saying what holds, what does not, and what was tried."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from matrix_examples import FLIPS, RULE, cell, failed, matrix, passed, unjudged, world

from scaletest.gates.matrix import Matrix, Rule
from scaletest.report.proof_json import proof_text
from scaletest.report.proof_markdown import proof_markdown

SCHEMA = json.loads((Path(__file__).parents[3] / "docs" / "schema" / "proof.schema.json").read_text(encoding="utf-8"))
FAILS, PASSES = {s: failed(s, value=s + 1.5) for s in (1, 2, 3)}, {s: passed(s) for s in (1, 2, 3)}
BY_CASE = Rule("AB-07", "virtual consumption of what is coming", by_run=False)
OPEN = Rule("AB-20", "credit", by_run=True)
ELSEWHERE = replace(world(PASSES), profile="dev-50")
TRIED = matrix(
    cell(FAILS, control=PASSES),
    replace(cell(PASSES | {2: failed(2)}, rule=BY_CASE, claimed=()), world=ELSEWHERE),
    cell(PASSES, rule=BY_CASE, claimed=()),
    rules=(RULE, BY_CASE, OPEN),
)


@pytest.mark.parametrize(
    "each",
    [
        TRIED,
        matrix(cell({1: unjudged(1)}, complete={1: failed(1)})),
        matrix(cell({}, complete={})),
        Matrix((), (world(PASSES),), ()),
    ],
    ids=["tried", "wrong", "nothing yet", "no rule"],
)
def test_what_is_written_fits_the_schema_and_says_the_same_twice(each: Matrix) -> None:
    Draft202012Validator(SCHEMA).validate(json.loads(proof_text(each)))
    assert proof_text(each) == proof_text(each)


def test_a_cell_carries_what_a_reader_needs_to_check_it() -> None:
    document = json.loads(proof_text(TRIED))
    assert document["conclusion"] == "INCONCLUSIVE"
    assert [rule["standing"] for rule in document["ablations"]] == ["proven", "by its case", "open"]
    assert document["cells"][0] == {
        "ablation": "AB-16",
        "caughtSeeds": [1, 2, 3],
        "claimed": True,
        "finding": "caught",
        "gates": [
            {
                "bar": "<= 1 per gang-minute",
                "failedSeeds": [1, 2, 3],
                "name": FLIPS,
                "withRule": [0, 0],
                "withoutRule": [2.5, 4.5],
            }
        ],
        "maskedBy": ["AB-10"],
        "profile": "proving/clean-shuffled",
        "repeat": "scaletest run proving/clean-shuffled --seed 1 --ablate AB-16,AB-10",
        "why": "",
    }


def test_the_page_shows_what_was_caught_what_was_not_and_all_that_was_tried() -> None:
    page = proof_markdown(TRIED)
    for line in (
        "3 rules, 2 worlds, seeds 1 to 3, 18 runs: 1 rules proven, 0 false alarms.",
        f"| rule 2b | AB-16 beside AB-10 | clean-shuffled | 3 of 3 | {FLIPS} | 2.5 to 4.5 | 0 | &lt;= 1 per",
        "| AB-07 | held by its case in tests/data/engine/ablations.yaml | 1 of 3 in dev-50,",
        "| credit | AB-20 | open: a run should show its loss, and no profile claims to | - |",
        "|  | clean-shuffled | dev-50 |",
        "| AB-16 | **3** |  |",
        "| AB-07 | · | 1 |",
    ):
        assert line in page, line


def test_the_page_says_why_a_claim_does_not_hold() -> None:
    page = proof_markdown(matrix(cell(FAILS | {2: passed(2)})))
    assert "| rule 2b | AB-16 | clean-shuffled | 2 of 3 | **missed on seed 2: pass** |  |  |  |" in page
    assert "All that was tried" not in page
