"""The table of gates: for each its role, its window, where its bar stands and how many samples the plan expects."""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

__all__ = ["GATES", "LEDGER", "REQUESTS", "GateRow", "Unit", "Window"]

REQUESTS: Final = "requests"
"""Rows that the load driver writes itself: there with any engine."""
LEDGER: Final = "ledger"
"""Rows that the engine writes about every action and cycle: there when the manifest promises them."""


class Window(StrEnum):
    """Which part of the run a gate looks at."""

    RUN = "run"
    SOAK = "soak"
    SETTLED = "settled"
    END = "end"


class Unit(StrEnum):
    """What a bar counts."""

    SECONDS = "s"
    COUNT = "count"
    RATIO = "ratio"
    PER_GANG_MINUTE = "per gang-minute"
    PER_LOSS = "per loss"
    MEBIBYTES = "MiB"
    FACT = "fact"


@dataclass(frozen=True, slots=True)
class GateRow:
    """One row. The bar is the slo field of the same name, unless `fact` states it in words."""

    name: str
    role: str
    unit: Unit
    window: Window = Window.SOAK
    comparison: str = "<="
    quantile: float | None = None
    samples: str | int | None = None
    """A number, the name of a figure in Expected, or None where only the engine can decide."""
    claim: str = ""
    fact: str = ""
    when: str = ""
    """The slo switch that turns the gate on; a leading `not` inverts it."""


_EXACT: Final = "exact: the difference of two raw readings"
_PER_ROW: Final = "every row of the ledger counts"
_PER_CYCLE: Final = "one row per cycle"
_PER_DRILL: Final = "every change of demand counts once"
_ENDS: Final = "settle mark against soak end"
_OPEN: Final = "as many as the engine makes; none is no pass"


def _latency(name: str, role: str, quantile: float, samples: str | None = None) -> GateRow:
    return GateRow(name, role, Unit.SECONDS, quantile=quantile, samples=samples, claim="" if samples else _OPEN)


def _count(name: str, role: str, *, window: Window = Window.SETTLED, claim: str = _EXACT) -> GateRow:
    return GateRow(name, role, Unit.COUNT, window, samples=2, claim=claim)


def _rows(name: str, unit: Unit, samples: str | None, *, window: Window = Window.SETTLED) -> GateRow:
    return GateRow(name, LEDGER, unit, window, samples=samples, claim=_PER_ROW)


def _drill(name: str, unit: Unit) -> GateRow:
    return GateRow(name, LEDGER, unit, samples="drills", claim=_PER_DRILL)


def _fact(name: str, role: str, fact: str, *, when: str = "", samples: str | int = "cycles") -> GateRow:
    return GateRow(name, role, Unit.FACT, samples=samples, claim=_PER_CYCLE, fact=fact, when=when)


GATES: Final = (
    _latency("internalBindingLatencyP99Seconds", REQUESTS, 0.99, "requests"),
    _latency("newMachineBindingP95Seconds", REQUESTS, 0.95),
    _latency("endToEndPodBindP50Seconds", REQUESTS, 0.5, "requests"),
    _latency("shardCycleDurationP99Seconds", "cycleDuration", 0.99, "cycles"),
    _latency("operatorRollupP99Seconds", "rollupDuration", 0.99, "rollups"),
    _latency("operatorAckP99Seconds", "acknowledgeDuration", 0.99, "requests"),
    _latency("shardConfigurePhaseP99Seconds", "configureDuration", 0.99),
    _latency("operatorNodeStateUpdateP99Seconds", "nodePublishDuration", 0.99),
    GateRow("bootstrapSuccessRatio", "bootstrapOutcomes", Unit.RATIO, comparison=">=", claim=_OPEN),
    _count("maxReclaimActionsDuringSoak", "reclaimActions"),
    _rows("maxReclaimsPerCycleFraction", Unit.RATIO, "cycles", window=Window.SOAK),
    _rows("maxReclaimsBeforeFirstRollup", Unit.COUNT, None, window=Window.RUN),
    _rows("maxRegrettedReclaims", Unit.COUNT, None),
    _rows("maxAcquisitionsPerLoss", Unit.PER_LOSS, "losses"),
    _rows("maxDomainFlipsPerGangMinute", Unit.PER_GANG_MINUTE, "settled_cycles"),
    _rows("maxClaimedSetChangesPerGangMinute", Unit.PER_GANG_MINUTE, "settled_cycles"),
    GateRow(
        "minGangBindFraction", REQUESTS, Unit.RATIO, Window.END, ">=", samples="gangs", claim="every gang counts once"
    ),
    _fact(
        "noShortfall",
        "shortfall",
        "none over 5 cycles, 0 at end",
        when="not expect_standing_shortfall",
    ),
    _fact("standingShortfall", "shortfall", "a shortfall stands", when="expect_standing_shortfall"),
    replace(
        _count("shortfallStabilityMax", "shortfall", claim=_PER_CYCLE),
        samples="settled_cycles",
        when="expect_standing_shortfall",
    ),
    _fact(
        "shortfallConfinedBelowPriorityClass",
        "shortfallByPriority",
        "none above this class",
        when="shortfall_confined_below_priority_class",
    ),
    replace(
        _fact("expectPreemptions", "preemptActions", "at least one", when="expect_preemptions", samples=2), claim=_EXACT
    ),
    replace(
        _fact("expectCostRouting", "inventory", "each on its cheaper capacity type", when="expect_cost_routing"),
        window=Window.END,
        samples=1,
        claim=_EXACT,
    ),
    replace(_count("costRoutingMisroutedMax", "inventory", window=Window.END), samples=1, when="expect_cost_routing"),
    _drill("maxDrillSettleSeconds", Unit.SECONDS),
    _drill("maxDrillOvershootFraction", Unit.RATIO),
    _drill("maxDrillDriftFraction", Unit.RATIO),
    GateRow("maxEngineRssGrowthMebibytes", "residentMemory", Unit.MEBIBYTES, Window.SETTLED, samples=2, claim=_ENDS),
    _count("maxFailedMachinesGrowth", "inventory", claim=_ENDS),
    _count("maxTransitionalMachinesGrowth", "inventory", claim=_ENDS),
)
"""The gates that a profile's slo block sets, headline first."""
