"""Every gate of a profile, resolved before the run: role, bar, window, expected samples and what they can show.

Gates speak of roles. Which metric carries a role is the engine manifest's business; a role that the manifest lacks
makes the gate not applicable, and the plan says so before anybody waits for a run.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from scaletest.model import seconds_text
from scaletest.plan.claims import quantile_claim
from scaletest.plan.gate_table import GATES, LEDGER, REQUESTS, GateRow, Unit, Window
from scaletest.profile.engine import EngineManifest
from scaletest.profile.profile import Profile
from scaletest.profile.slo import Slo

__all__ = ["CALIBRATED", "Bar", "Expected", "Gate", "Kind", "gates_of"]

Bar = float | int | str

CALIBRATED: Final = ".calibrated"
"""How the name of a gate ends whose bar was found by running: it stands beside the one that the slo block sets."""

_MODELLED_IN_SIM: Final = ("rollupDuration", "acknowledgeDuration", "nodePublishDuration")
_SLO_FIELDS: Final = {info.alias: name for name, info in Slo.model_fields.items()}


class Kind(StrEnum):
    """Whether a world measures a number, models it, or was given it by the profile."""

    MEASURED = "measured"
    MODELLED = "modelled"
    INPUT = "input"


@dataclass(frozen=True, slots=True)
class Expected:
    """What the plan expects to happen during the soak, as sample counts."""

    requests: int
    cycles: int
    settled_cycles: int
    rollups: int
    gangs: int
    losses: int
    drills: int
    shards: int
    bound_share: float | None
    """The lowest share of bound Pods that planned replacements explain; None without a binding bar."""
    configured_end: int | None
    """The most Configured machines that may be left at soak end; None where nothing was seeded in excess."""


@dataclass(frozen=True, slots=True)
class Gate:
    """One gate of the plan; instants are microseconds after soak start."""

    name: str
    role: str
    threshold: Bar
    comparison: str
    unit: Unit
    quantile: float | None
    window: Window
    start_us: int
    end_us: int
    expected_samples: int | None
    claim: str
    kind: Kind
    not_applicable: str = ""
    """Why the gate cannot be applied to this engine; empty when it can."""

    @property
    def rule(self) -> str:
        """Return what is evaluated: the name, whichever of its bars the gate holds it to."""
        return self.name.removesuffix(CALIBRATED)

    @property
    def calibrated(self) -> bool:
        """Say whether the bar was found by running."""
        return self.name.endswith(CALIBRATED)

    def bar_text(self) -> str:
        """Return the bar as a person reads it: `<= 30 s`, `>= 0.99`, `at least one`."""
        if self.unit is Unit.FACT:
            return str(self.threshold)
        suffix = "" if self.unit in {Unit.COUNT, Unit.RATIO} else f" {self.unit}"
        value = f"{self.threshold:,.6g}" if isinstance(self.threshold, float) else f"{self.threshold:,}"
        return f"{self.comparison} {value}{suffix}"

    def window_text(self) -> str:
        """Return the window as a person reads it: `soak`, `settled 90-180 s`, `at 180 s`."""
        if self.window is Window.END:
            return f"at {seconds_text(self.end_us)} s"
        if self.window is Window.SETTLED:
            return f"settled {seconds_text(self.start_us)}-{seconds_text(self.end_us)} s"
        return str(self.window)


def gates_of(profile: Profile, engine: EngineManifest, *, world: str, expected: Expected) -> tuple[Gate, ...]:
    """Resolve every gate that the profile asks for and those that every run has, headline first."""
    delivered = engine.roles.model_dump(by_alias=True)
    bars = [(row, _bar(row, profile.slo)) for row in GATES] + list(_always(expected))
    return tuple(
        _gate(row, bar, profile=profile, world=world, expected=expected, missing=_missing(row.role, engine, delivered))
        for row, bar in bars
        if bar is not None
    )


def _always(expected: Expected) -> Iterator[tuple[GateRow, Bar | None]]:
    bound = "from the busiest stretch of one binding bar"
    yield GateRow("boundShare", REQUESTS, Unit.RATIO, comparison=">=", claim=bound), expected.bound_share
    given_back = GateRow("excessReturned", "inventory", Unit.COUNT, Window.END, samples=1, claim="half of the excess")
    yield given_back, expected.configured_end
    steady = GateRow(
        "steadyReached", REQUESTS, Unit.FACT, Window.RUN, samples=1, claim="the soak starts only then", fact="in time"
    )
    yield steady, steady.fact
    yield GateRow("engineRestarts", "processStart", Unit.COUNT, Window.RUN, samples=2, claim="process start times"), 0
    shards = GateRow(
        "shardsReporting", "cycleDuration", Unit.COUNT, comparison=">=", samples="shards", claim="every shard counts"
    )
    yield shards, expected.shards


def _bar(row: GateRow, slo: Slo) -> Bar | None:
    """Return the row's bar, or None when the profile does not ask for the gate."""
    if row.when and bool(getattr(slo, row.when.removeprefix("not "))) is row.when.startswith("not "):
        return None
    own = getattr(slo, _SLO_FIELDS[row.name]) if row.name in _SLO_FIELDS else None
    if row.fact:
        return f"none above {own}" if isinstance(own, str) else row.fact
    bar: Bar | None = own
    return bar


def _gate(row: GateRow, bar: Bar, *, profile: Profile, world: str, expected: Expected, missing: str) -> Gate:
    samples = getattr(expected, row.samples) if isinstance(row.samples, str) else row.samples
    start_us, end_us = _bounds(row.window, profile)
    return Gate(
        name=row.name,
        role=row.role,
        threshold=bar,
        comparison=row.comparison,
        unit=row.unit,
        quantile=row.quantile,
        window=row.window,
        start_us=start_us,
        end_us=end_us,
        expected_samples=samples,
        claim=row.claim or quantile_claim(samples or 0, row.quantile or 0.5),
        kind=_kind(row.role, world),
        not_applicable=missing,
    )


def _bounds(window: Window, profile: Profile) -> tuple[int, int]:
    return {
        Window.RUN: (0, profile.soak_us),
        Window.SOAK: (0, profile.soak_us),
        Window.SETTLED: (profile.settle_us, profile.soak_us),
        Window.END: (profile.soak_us, profile.soak_us),
    }[window]


def _kind(role: str, world: str) -> Kind:
    if role == "configureDuration":
        return Kind.INPUT
    return Kind.MODELLED if world == "sim" and role in _MODELLED_IN_SIM else Kind.MEASURED


def _missing(role: str, engine: EngineManifest, delivered: dict[str, object]) -> str:
    if role == REQUESTS or (role == LEDGER and engine.ledger) or delivered.get(role) is not None:
        return ""
    what = "writes no action ledger" if role == LEDGER else f"has no {role}"
    return f"the engine {engine.metadata.name} {what}"
