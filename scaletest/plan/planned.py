"""A plan read back from plan.json: all that a judge needs to know about what was to happen.

A run may be judged anywhere and by anybody, so this reads the document alone: no profile, no catalog, no engine.
"""

import json
from dataclasses import dataclass
from math import isfinite
from typing import Any, Final

from scaletest.plan.document import DOCUMENT_VERSION
from scaletest.plan.gate_table import Unit, Window
from scaletest.plan.gates import Gate, Kind

__all__ = ["PlannedTest", "PlannedTestError", "Role", "planned_test", "tail_us"]

_TAIL_MIN_US: Final = 60_000_000
_WIDEST: Final = 1 << 62


class PlannedTestError(ValueError):
    """A plan.json that cannot be read."""


@dataclass(frozen=True, slots=True)
class Role:
    """Where one of the engine's numbers is found."""

    metric: str
    type: str
    unit: str
    labels: dict[str, tuple[str, ...]]

    def series_names(self) -> tuple[str, ...]:
        """Return the names under which its samples are recorded."""
        if self.type == "histogram":
            return f"{self.metric}_bucket", f"{self.metric}_count", f"{self.metric}_sum"
        return (self.metric,)


@dataclass(frozen=True, slots=True)
class PlannedTest:
    """What was to happen, as far as a judge cares. Instants are microseconds after soak start."""

    profile: str
    world: str
    digest: str
    clusters: int
    pods: int
    shards: int
    soak_us: int
    settle_us: int
    linger_us: int
    planned_replacements: int
    judge_tail: bool
    rollup_interval_us: int
    tolerant_bucket: str
    sensitive_bucket: str
    ledger: bool
    roles: dict[str, Role]
    gates: tuple[Gate, ...]
    drills: tuple[tuple[int, float], ...]
    """Instants at which demand changes for good, and the share of the Pods that is live from then on."""

    @property
    def tail_us(self) -> int:
        """Return where the tail of the soak begins."""
        return tail_us(soak_us=self.soak_us, settle_us=self.settle_us)

    def metric_names(self) -> frozenset[str]:
        """Return the names of every metric that a gate may read."""
        return frozenset(name for role in self.roles.values() for name in role.series_names())


def tail_us(*, soak_us: int, settle_us: int) -> int:
    """Return where a tail begins: the settled part, or the last third and at least a minute."""
    return settle_us or max(0, soak_us - max(soak_us // 3, _TAIL_MIN_US))


def planned_test(text: str) -> PlannedTest:
    """Return the plan in the text of a plan.json; raise PlannedTestError when it is not one."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise PlannedTestError(f"plan.json is not JSON: {error}") from None
    if not isinstance(document, dict):
        raise PlannedTestError("plan.json is not a JSON object")
    if (version := document.get("version")) != DOCUMENT_VERSION:
        raise PlannedTestError(f"plan.json has version {version!r}; the known version is {DOCUMENT_VERSION}")
    try:
        return _test(document)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise PlannedTestError(f"plan.json: a field is missing or of the wrong type: {error}") from None


def _test(document: dict[str, Any]) -> PlannedTest:
    load, judge, contract = document["load"], document["judge"], document["contract"]
    if not 0 <= _whole(load["settle_us"]) < _whole(load["soak_us"]):
        raise ValueError("the settle time leaves nothing of the soak")
    if not _whole(load["pods"]):
        raise ValueError("there are no Pods")
    return PlannedTest(
        profile=_text(document["profile"]),
        world=_text(document["world"]),
        digest=_text(document["digest"]),
        clusters=_whole(document["geometry"]["clusters"]),
        pods=_whole(load["pods"]),
        shards=_whole(document["geometry"]["shards"]),
        soak_us=_whole(load["soak_us"]),
        settle_us=_whole(load["settle_us"]),
        linger_us=_whole(load["linger_us"]),
        planned_replacements=_whole(load["plannedReplacements"]),
        judge_tail=judge["latency"] == "tail",
        rollup_interval_us=_whole(judge["rollupInterval_us"]),
        tolerant_bucket=_text(judge["tolerantPenaltyBucket"]),
        sensitive_bucket=_text(judge["sensitivePenaltyBucket"]),
        ledger=contract["ledger"] is True,
        roles={_text(name): _role(role) for name, role in contract["roles"].items()},
        gates=tuple(_gate(gate) for gate in document["gates"]),
        drills=_drills(load["drills"], _whole(load["soak_us"])),
    )


def _drills(drills: list[dict[str, Any]], soak_us: int) -> tuple[tuple[int, float], ...]:
    found = tuple((_whole(drill["at_us"]), float(drill["multiplier"])) for drill in drills)
    instants = [0, *(at for at, _ in found), soak_us]
    if instants != sorted(instants) or not all(isfinite(share) and share >= 0 for _, share in found):
        raise ValueError("the drills are not in order, or a multiplier is not a share")
    return found


def _role(role: dict[str, Any]) -> Role:
    labels = {_text(name): tuple(_text(v) for v in values) for name, values in role["labels"].items()}
    return Role(_text(role["metric"]), _text(role["type"]), _text(role["unit"]), labels)


def _gate(gate: dict[str, Any]) -> Gate:
    samples, quantile = gate["expectedSamples"], gate["quantile"]
    if isinstance(gate["threshold"], str) is not (Unit(gate["unit"]) is Unit.FACT):
        raise ValueError(f"the bar of {gate['name']} does not fit its unit")
    if quantile is not None and not 0 < float(quantile) < 1:
        raise ValueError(f"{quantile!r} is not a quantile")
    return Gate(
        name=_text(gate["name"]),
        role=_text(gate["role"]),
        threshold=_bar(gate["threshold"]),
        comparison=_text(gate["comparison"]),
        unit=Unit(gate["unit"]),
        quantile=None if quantile is None else float(quantile),
        window=Window(gate["window"]["name"]),
        start_us=_whole(gate["window"]["start_us"]),
        end_us=_whole(gate["window"]["end_us"]),
        expected_samples=None if samples is None else _whole(samples),
        claim=_text(gate["claim"]),
        kind=Kind(gate["kind"]),
        not_applicable=_text(gate["notApplicable"]),
    )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not a text")
    return value


def _whole(value: object) -> int:
    if type(value) is not int or not 0 <= value < _WIDEST:
        raise TypeError(f"{value!r} is not a whole number")
    return value


def _bar(value: object) -> float | int | str:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise TypeError(f"{value!r} is not a bar")
    if not isinstance(value, str) and not 0 <= value < _WIDEST:  # NaN is never in a range
        raise ValueError(f"{value!r} is not a bar")
    return value
