"""run.json: what ran, when its phases began and ended, and the hashes of what it saved."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from typing import Any, Final

__all__ = ["RECORD_VERSION", "Component", "Marks", "Phase", "RecordError", "RunRecord"]

RECORD_VERSION: Final = 1

_WHOLE: Final = ("epoch_ms", "scrape_interval_us", "random_seed", "clock_step_us", "driver_lag_p99_us", "stranded_us")
_TEXTS: Final = ("profile", "world", "plan_digest")
_WIDEST: Final = 1 << 62
"""No honest number is wider; a wider one would overflow as soon as it is divided."""


class RecordError(ValueError):
    """A run.json that cannot be read."""


@dataclass(frozen=True, slots=True)
class Marks:
    """Instants of the run's clock in microseconds; None when the run never got there."""

    soak_start_us: int | None = None
    soak_end_us: int | None = None
    linger_end_us: int | None = None


@dataclass(frozen=True, slots=True)
class Phase:
    """One phase of the run; `outcome` is ok, failed or interrupted."""

    name: str
    start_us: int
    end_us: int | None
    outcome: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Component:
    """A part of the ground or of the harness, and when it died if it did."""

    name: str
    role: str
    died_us: int | None = None


@dataclass(frozen=True, slots=True)
class RunRecord:
    """The record of a run; written first, renewed at every phase."""

    profile: str
    world: str
    random_seed: int
    plan_digest: str
    epoch_ms: int
    """Wall-clock milliseconds at run-clock zero: where metric timestamps start."""
    scrape_interval_us: int
    targets: tuple[str, ...]
    """Every target that should answer each scrape."""
    marks: Marks = field(default_factory=Marks)
    phases: tuple[Phase, ...] = ()
    components: tuple[Component, ...] = ()
    hashes: dict[str, str] = field(default_factory=dict)
    """SHA-256 of the uncompressed content of each sealed file."""
    sealed: bool = False
    clock_step_us: int = 0
    """Largest jump between the run's clock and the wall clock."""
    driver_lag_p99_us: int = 0
    """How late the driver sent its planned requests."""
    stranded_us: int = 0
    """The longest time that a Pod has stood on a Node that was gone."""
    versions: dict[str, str] = field(default_factory=dict)
    host: dict[str, str] = field(default_factory=dict)
    argv: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    """Rules that were taken from the reference engine."""
    settings: tuple[str, ...] = ()
    """Values of the profile that were set from outside."""

    @property
    def fingerprint(self) -> str:
        """Return one hash over all evidence but the compute times: equal simulated runs have equal ones."""
        kept = sorted(f"{name} {digest}" for name, digest in self.hashes.items() if name.endswith(".gz"))
        lines = [line for line in kept if not line.startswith("measured.")]
        return sha256("\n".join([self.plan_digest, *self.without, *lines]).encode()).hexdigest()

    def to_json(self) -> str:
        """Return the record as JSON text, with its own hash: marks decide what is judged, so they are guarded too."""
        values = {"version": RECORD_VERSION, **asdict(self)}
        return json.dumps({**values, "sha256": _digest(values)}, indent=2, sort_keys=True) + "\n"

    @classmethod
    def from_json(cls, text: str) -> "RunRecord":
        """Return the record in the text; raise RecordError when it is not one."""
        try:
            values = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise RecordError(f"not JSON: {error}") from None
        if not isinstance(values, dict):
            raise RecordError("not a JSON object")
        if (version := values.pop("version", None)) != RECORD_VERSION:
            raise RecordError(f"version {version!r} is not the known version {RECORD_VERSION}")
        if values.pop("sha256", None) != _digest({"version": RECORD_VERSION, **values}):
            raise RecordError("it is not the record that was written: its own hash differs")
        try:
            return _record(values)
        except RecordError:
            raise
        except (TypeError, KeyError, AttributeError, ValueError) as error:
            raise RecordError(f"a field is missing, unknown or of the wrong type: {error}") from None


def _digest(values: dict[str, Any]) -> str:
    """Return the hash of a record: SHA-256 of its JSON with sorted keys and without spaces."""
    return sha256(json.dumps(values, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _record(values: dict[str, Any]) -> RunRecord:
    values["marks"] = Marks(**values["marks"])
    values["phases"] = tuple(Phase(**phase) for phase in _list(values["phases"]))
    values["components"] = tuple(Component(**part) for part in _list(values["components"]))
    values["targets"] = tuple(_list(values["targets"]))
    values["argv"] = tuple(_list(values["argv"]))
    values["without"] = tuple(_list(values["without"]))
    values["settings"] = tuple(_list(values["settings"]))
    record = RunRecord(**values)
    if not all(_is_whole(number) for number in _numbers(record)):
        raise RecordError("an instant is not a whole number")
    if not all(type(text) is str for text in _names(record)):
        raise RecordError("a name is not a text")
    if type(values["sealed"]) is not bool or record.scrape_interval_us <= 0:
        raise RecordError("sealed is not a boolean, or scrape_interval_us is not positive")
    return record


def _numbers(record: RunRecord) -> Iterator[object]:
    yield from (getattr(record, name) for name in _WHOLE)
    yield from (phase.start_us for phase in record.phases)
    marks, phases, parts = record.marks, record.phases, record.components
    instants = (marks.soak_start_us, marks.soak_end_us, marks.linger_end_us)
    maybe = (*instants, *(phase.end_us for phase in phases), *(part.died_us for part in parts))
    yield from (instant for instant in maybe if instant is not None)


def _names(record: RunRecord) -> Iterator[object]:
    yield from (getattr(record, name) for name in _TEXTS)
    yield from (*record.targets, *record.argv, *record.without, *record.settings)
    for pairs in (record.hashes, record.versions, record.host):
        yield from (*pairs, *pairs.values())
    for phase in record.phases:
        yield from (phase.name, phase.outcome, phase.detail)
    for part in record.components:
        yield from (part.name, part.role)


def _is_whole(value: object) -> bool:
    return type(value) is int and -_WIDEST < value < _WIDEST


def _list(value: object) -> list[Any]:
    if not isinstance(value, list):
        raise RecordError(f"{value!r} is not a list")
    return value
