"""Plans for tests: the shipped ones, and small ones written for the purpose; all come through the real reader."""

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Final

from scaletest.plan.footprint import HostSize
from scaletest.plan.plan import Inputs, Plan
from scaletest.profile import (
    Catalog,
    EngineManifest,
    Profile,
    Substrate,
    file_text,
    read_catalog,
    read_engine,
    read_profile,
    read_substrate,
)
from scaletest_runner.inputs import load_inputs

__all__ = [
    "DATA",
    "GIB",
    "HOST",
    "SHIPPED",
    "TODAY",
    "Block",
    "archetype",
    "catalog_of",
    "plan_of",
    "profile_of",
    "shipped_catalog",
    "shipped_engine",
    "shipped_plan",
    "shipped_substrate",
]

Block = Mapping[str, object]

SHIPPED: Final = Path(__file__).parents[1] / "profiles"
DATA: Final = Path(__file__).parent / "data"
GIB: Final = 1024**3
HOST: Final = HostSize(vcpu=2, memory_bytes=24 * GIB)
"""The host of every test, so that no finding depends on the machine the tests run on."""

TODAY: Final = "2026-11-18"
"""The day of every test, so that no calibration expires while nobody looks."""

_DEFAULTS: Final[dict[str, Block]] = {
    "scale": {"machines": 4, "density": 10, "podsPerCluster": 20},
    "seed": {"configuredFraction": 1.0, "speculativeMultiplier": 3, "idleHeadroomFraction": 0.2},
    "loadProfile": {"soakSeconds": 600, "churnPerMinute": 1.0},
    "slo": {"internalBindingLatencyP99Seconds": 30},
    "steady": {"boundFraction": 0.9},
}
_ARCHETYPE: Final[Block] = {
    "name": "web",
    "instanceTypes": ["small"],
    "zones": ["a", "b", "c"],
    "resources": {"cpu": "1", "memory": "1Gi"},
}


def profile_of(**blocks: object) -> Profile:
    """Return a small profile; a block that is given is laid over the small one's."""
    merged = {name: {**block, **_block(blocks.pop(name, {}))} for name, block in _DEFAULTS.items()}
    return read_profile(_text("Profile", {**merged, **blocks}), "test.yaml").value


def archetype(**keys: object) -> Block:
    """Return an archetype of the small catalog with some keys changed; None leaves a key out."""
    return {key: value for key, value in {**_ARCHETYPE, **keys}.items() if value is not None}


def catalog_of(*archetypes: Block, instance_types: Mapping[str, Block] | None = None) -> Catalog:
    """Return a catalog of these archetypes, or of the one small archetype."""
    shapes = {name: {"resources": shape} for name, shape in (instance_types or {}).items()}
    body = {"instanceTypes": shapes, "archetypes": [dict(a) for a in archetypes or (archetype(),)]}
    return read_catalog(_text("Catalog", body), "test.yaml").value


def plan_of(
    profile: Profile | None = None,
    catalog: Catalog | None = None,
    *,
    engine: EngineManifest | None = None,
    substrate: Substrate | None = None,
    host: HostSize = HOST,
    seed: int = 1,
    today: str = TODAY,
) -> Plan:
    """Return a plan; whatever is left out is small, the reference engine or the simulated world."""
    return Plan(
        Inputs(
            profile=profile or profile_of(),
            catalog=catalog or catalog_of(),
            engine=engine or shipped_engine(),
            substrate=substrate or shipped_substrate("sim"),
            host=host,
            random_seed=seed,
            today=today,
        )
    )


@cache
def shipped_plan(name: str, *, substrate: str = "sim", seed: int | None = None) -> Plan:
    """Return the plan of a shipped profile on the tests' host; plans are values, so they are made once."""
    inputs = load_inputs(name, substrate=substrate, engine=None, seed=seed).inputs
    return Plan(replace(inputs, host=HOST, today=TODAY))


@cache
def shipped_catalog(name: str) -> Catalog:
    """Return a shipped catalog."""
    path = SHIPPED / "catalogs" / f"{name}.yaml"
    return read_catalog(file_text(path), str(path)).value


@cache
def shipped_engine() -> EngineManifest:
    """Return the reference engine's manifest."""
    path = SHIPPED / "engines" / "reference.yaml"
    return read_engine(file_text(path), str(path)).value


@cache
def shipped_substrate(name: str) -> Substrate:
    """Return a shipped substrate."""
    path = SHIPPED / "substrates" / f"{name}.yaml"
    return read_substrate(file_text(path), str(path)).value


def _block(value: object) -> Block:
    assert isinstance(value, Mapping), value
    return value


def _text(kind: str, body: Block) -> str:
    head = {"apiVersion": "scaletest/v1", "kind": kind, "metadata": {"name": "test"}}
    return json.dumps({**head, **body}, indent=1)  # JSON is YAML, and has no anchors
