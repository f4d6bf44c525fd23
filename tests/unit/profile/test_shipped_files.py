"""Every shipped file reads without a word, validates against its JSON Schema, and carries the editor hint."""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from scaletest.profile import KINDS, Profile, file_text, read_any, read_profile
from scaletest.profile.json_schema import SCHEMA_FILES, reference_markdown, schema_text
from scaletest_runner.commands.schema import Kind, schema

_ROOT = Path(__file__).parents[3]
_PROFILES = _ROOT / "profiles"
_FILES = sorted(_PROFILES.rglob("*.yaml"))
_CORPUS = sorted((_ROOT / "tests" / "data" / "profiles").glob("*.good.yaml"))
_HINT = re.compile(r"# yaml-language-server: \$schema=(\S+)\n")


def _profile(name: str) -> Profile:
    path = _PROFILES / f"{name}.yaml"
    return read_profile(file_text(path), str(path)).value


def _schema(kind: str) -> Any:
    return json.loads((_PROFILES / "schema" / SCHEMA_FILES[kind]).read_text(encoding="utf-8"))


def _name(path: Path) -> str:
    return path.stem


@pytest.mark.parametrize("path", _FILES, ids=_name)
def test_reads_without_a_warning(path: Path) -> None:
    assert read_any(file_text(path), str(path)).warnings == ()


@pytest.mark.parametrize("path", _FILES, ids=_name)
def test_starts_with_an_editor_hint_to_its_schema(path: Path) -> None:
    hint = _HINT.match(file_text(path))
    kind = read_any(file_text(path), str(path)).value.kind
    assert hint is not None
    assert Path(os.path.normpath(path.parent / hint[1])) == _PROFILES / "schema" / SCHEMA_FILES[kind]


@pytest.mark.parametrize("path", _FILES, ids=_name)
def test_written_out_and_read_again_is_the_same(path: Path) -> None:
    value = read_any(file_text(path), path.name).value
    written = yaml.safe_dump(value.model_dump(mode="json", by_alias=True, exclude_unset=True))
    assert read_any(written, path.name).value == value


@pytest.mark.parametrize("path", [*_FILES, *_CORPUS], ids=_name)
def test_is_valid_by_its_schema(path: Path) -> None:
    value = yaml.safe_load(file_text(path))
    Draft202012Validator(_schema(value["kind"])).validate(value)


@pytest.mark.parametrize("kind", KINDS)
def test_the_shipped_schema_is_current(kind: str) -> None:
    shipped = (_PROFILES / "schema" / SCHEMA_FILES[kind]).read_text(encoding="utf-8")
    assert shipped == schema_text(kind), "run: make schema"


def test_the_shipped_reference_is_current() -> None:
    shipped = (_ROOT / "docs" / "profile-reference.md").read_text(encoding="utf-8")
    assert shipped == reference_markdown(), "run: make schema"


@pytest.mark.parametrize("kind", KINDS)
def test_the_schema_is_a_schema_and_describes_every_key(kind: str) -> None:
    document = _schema(kind)
    Draft202012Validator.check_schema(document)
    blocks = [document, *document.get("$defs", {}).values()]
    assert not [key for block in blocks for key, value in block["properties"].items() if not value.get("description")]
    assert all(block["additionalProperties"] is False for block in blocks)


def test_the_schema_refuses_what_the_door_refuses_in_a_mapping() -> None:
    value = yaml.safe_load(file_text(_PROFILES / "catalogs" / "cost-routing.yaml"))
    value["archetypes"][0]["resources"]["cppu"] = 1
    assert not Draft202012Validator(_schema("Catalog")).is_valid(value)


def test_the_command_writes_what_is_shipped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    schema(write=tmp_path, reference=tmp_path / "reference.md")
    assert {path.name for path in tmp_path.iterdir()} == {*SCHEMA_FILES.values(), "reference.md"}
    schema(Kind.ENGINE)
    assert capsys.readouterr().out == schema_text("Engine")


def test_dev_50_is_the_profile_of_the_seeds() -> None:
    profile = _profile("dev-50")
    slo = profile.slo
    assert (profile.scale.machines, profile.scale.density, profile.pods_per_cluster) == (50, 100, 2500)
    assert (profile.soak_us, profile.settle_us) == (180_000_000, 90_000_000)
    assert (slo.max_reclaim_actions_during_soak, slo.internal_binding_latency_p99_seconds) == (150, 30)
    assert profile.provider.configure.p99_seconds == 9.8


def test_dev_50_field_differs_in_how_demand_is_drawn() -> None:
    ours, field = _profile("dev-50"), _profile("dev-50-field")
    assert field.load.demand_draw == "free"
    unlike = {name for name in Profile.model_fields if getattr(ours, name) != getattr(field, name)}
    assert unlike - {"calibration", "proving"} == {"metadata", "load"}


@pytest.mark.parametrize(
    ("name", "clusters", "settle_s", "reclaims"),
    [
        ("dev-500", 5, 120, 400),
        ("uber-5k", 20, 600, 1500),
        ("uber-50k", 200, 600, 15000),
        ("uber-500k", 2000, 600, 150000),
    ],
)
def test_the_ladder(name: str, clusters: int, settle_s: int, reclaims: int) -> None:
    profile = _profile(name)
    assert profile.scale.machines * profile.scale.density == clusters * profile.pods_per_cluster
    assert profile.settle_us == settle_s * 10**6
    assert profile.slo.max_reclaim_actions_during_soak == reclaims
    assert profile.plan_only is (name == "uber-500k")


@pytest.mark.parametrize("path", sorted(_PROFILES.glob("*.yaml")), ids=_name)
def test_profiles_that_do_not_start_full_state_what_steady_means(path: Path) -> None:
    profile = _profile(path.stem)
    assert profile.seed.pre_bind_fraction == 1 or "steady" in profile.model_fields_set
