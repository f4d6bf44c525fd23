"""The published schemas of verdict, summary and proof: closed, described, and true of what is written."""

import json
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from jsonschema import Draft202012Validator
from verdict_examples import EXAMPLE, PASSED, RECORD, verdict, verdicts

from scaletest.evidence.reading import Effect
from scaletest.gates.matrix import Conclusion, Finding, Standing
from scaletest.gates.outcomes import Outcome, RunOutcome, Verdict
from scaletest.plan.gate_table import Unit
from scaletest.plan.gates import Kind
from scaletest.report.proof_json import PROOF_VERSION
from scaletest.report.summary_json import SUMMARY_VERSION, summary_text
from scaletest.report.verdict_json import VERDICT_VERSION, verdict_text

FOLDER = Path(__file__).parents[3] / "docs" / "schema"
VERDICT: dict[str, Any] = json.loads((FOLDER / "verdict.schema.json").read_text(encoding="utf-8"))
SUMMARY: dict[str, Any] = json.loads((FOLDER / "summary.schema.json").read_text(encoding="utf-8"))
PROOF: dict[str, Any] = json.loads((FOLDER / "proof.schema.json").read_text(encoding="utf-8"))
ALL = pytest.mark.parametrize("schema", [VERDICT, SUMMARY, PROOF], ids=["verdict", "summary", "proof"])


def objects(schema: Any) -> Iterator[dict[str, Any]]:
    """Yield every shape of the schema that lists properties."""
    if isinstance(schema, dict):
        if "properties" in schema:
            yield schema
        for each in schema.values():
            yield from objects(each)


@ALL
def test_the_schema_is_one_and_has_a_name_and_a_version(schema: dict[str, Any]) -> None:
    Draft202012Validator.check_schema(schema)
    assert schema["$id"].startswith("urn:scaletest:schema:")
    assert schema["$id"].endswith(f":v{schema['properties']['version']['const']}")


@ALL
def test_every_object_is_closed_and_every_field_described_and_required(schema: dict[str, Any]) -> None:
    for shape in objects(schema):
        assert shape["additionalProperties"] is False
        assert sorted(shape["required"]) == sorted(shape["properties"])
        assert all(each["description"].endswith(".") for each in shape["properties"].values())


@pytest.mark.parametrize(
    ("found", "kind"),
    [
        (VERDICT["properties"]["outcome"], RunOutcome),
        (VERDICT["$defs"]["gate"]["properties"]["outcome"], Outcome),
        (VERDICT["$defs"]["gate"]["properties"]["unit"], Unit),
        (VERDICT["$defs"]["gate"]["properties"]["kind"], Kind),
        (VERDICT["$defs"]["defect"]["properties"]["effect"], Effect),
        (SUMMARY["properties"]["outcome"], RunOutcome),
        (SUMMARY["$defs"]["headline"]["properties"]["unit"], Unit),
        (PROOF["properties"]["conclusion"], Conclusion),
        (PROOF["properties"]["ablations"]["items"]["properties"]["standing"], Standing),
        (PROOF["properties"]["cells"]["items"]["properties"]["finding"], Finding),
    ],
)
def test_choices_are_those_of_the_code(found: dict[str, Any], kind: type[StrEnum]) -> None:
    assert found["enum"] == [str(each) for each in kind]


def test_versions_are_those_of_the_code() -> None:
    assert VERDICT["properties"]["version"]["const"] == VERDICT_VERSION
    assert SUMMARY["properties"]["version"]["const"] == SUMMARY_VERSION
    assert PROOF["properties"]["version"]["const"] == PROOF_VERSION


@pytest.mark.parametrize("each", [EXAMPLE, PASSED, verdict()], ids=["rich", "passed", "empty"])
def test_examples_fit_their_schemas(each: Verdict) -> None:
    Draft202012Validator(VERDICT).validate(json.loads(verdict_text(each)))
    Draft202012Validator(SUMMARY).validate(json.loads(summary_text(each, RECORD)))


@given(verdicts())
def test_any_verdict_fits_its_schemas(each: Verdict) -> None:
    Draft202012Validator(VERDICT).validate(json.loads(verdict_text(each)))
    Draft202012Validator(SUMMARY).validate(json.loads(summary_text(each, RECORD)))


@pytest.mark.parametrize("key", sorted(VERDICT["required"]))
def test_a_verdict_without_one_of_its_fields_does_not_fit(key: str) -> None:
    document = json.loads(verdict_text(EXAMPLE))
    del document[key]
    assert not Draft202012Validator(VERDICT).is_valid(document)
