"""run.json: what ran, when its phases began and ended, and the hashes of what it saved."""

import json
from dataclasses import asdict, dataclass, field
from typing import Any, Final

__all__ = ["RECORD_VERSION", "Component", "Marks", "Phase", "RecordError", "RunRecord"]

RECORD_VERSION: Final = 1

_TEXTS: Final = ("profile", "world", "plan_digest")
_TABLES: Final = ("hashes", "versions", "host")
_WHOLE: Final = ("epoch_ms", "scrape_interval_us", "random_seed", "clock_step_us", "driver_lag_p99_us")


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
    versions: dict[str, str] = field(default_factory=dict)
    host: dict[str, str] = field(default_factory=dict)
    argv: tuple[str, ...] = ()

    def to_json(self) -> str:
        """Return the record as JSON text."""
        return json.dumps({"version": RECORD_VERSION, **asdict(self)}, indent=2, sort_keys=True) + "\n"

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
        try:
            return _record(values)
        except (TypeError, KeyError, AttributeError, ValueError) as error:
            raise RecordError(f"a field is missing, unknown or of the wrong type: {error}") from None


def _record(values: dict[str, Any]) -> RunRecord:
    whole = (*(values[name] for name in _WHOLE), *(v for v in values["marks"].values() if v is not None))
    whole += tuple(part["died_us"] for part in values["components"] if part["died_us"] is not None)
    whole += tuple(phase["start_us"] for phase in values["phases"])
    whole += tuple(phase["end_us"] for phase in values["phases"] if phase["end_us"] is not None)
    texts = [*values["targets"], *values["argv"], *(values[name] for name in _TEXTS)]
    texts += [text for name in _TABLES for pair in values[name].items() for text in pair]
    texts += [phase[name] for phase in values["phases"] for name in ("name", "outcome", "detail")]
    texts += [part[name] for part in values["components"] for name in ("name", "role")]
    if not all(type(number) is int for number in whole) or not all(type(text) is str for text in texts):
        raise RecordError("an instant is not a whole number, or a name is not a text")
    if type(values["sealed"]) is not bool or values["scrape_interval_us"] <= 0:
        raise RecordError("sealed is not a boolean, or scrape_interval_us is not positive")
    values["marks"] = Marks(**values["marks"])
    values["phases"] = tuple(Phase(**phase) for phase in values["phases"])
    values["components"] = tuple(Component(**part) for part in values["components"])
    values["targets"] = tuple(values["targets"])
    values["argv"] = tuple(values["argv"])
    return RunRecord(**values)
