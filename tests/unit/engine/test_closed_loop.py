"""The closed-loop scenarios: numbers that the rules promise in lockstep; a failure says file:line."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from loop.closed_loop import ClosedLoop
from loop.scenario import Scenario, read_scenarios

from scaletest.model import MachineState

DATA = Path(__file__).resolve().parents[2] / "data" / "engine" / "loop" / "scenarios.yaml"
SCENARIOS = read_scenarios(DATA)
Check = Callable[[ClosedLoop, Any], str]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_scenario(scenario: Scenario) -> None:
    loop = ClosedLoop(scenario).run()

    wrong = [f"{name}: {found}" for name in scenario.expect if (found := CHECKS[name](loop, scenario.expect[name]))]

    assert not wrong, f"{DATA.name}:{scenario.line}: {scenario.name}: " + "; ".join(map(str, wrong))


def _quiet(loop: ClosedLoop, _wanted: object) -> str:
    active = sum(sum(record.actions.values()) for record in loop.tail())
    shorts = {record.short for record in loop.tail()}
    return "" if active == 0 and len(shorts) == 1 else f"{active} actions in the window, shortfalls {sorted(shorts)}"


def _short(loop: ClosedLoop, wanted: str) -> str:
    last = loop.records[-1].short
    return "" if (last > 0) == (wanted == "some") else f"{last} rows are short at the end"


def _equal(field: str) -> Check:
    def check(loop: ClosedLoop, wanted: object) -> str:
        have = getattr(loop.records[-1], field)
        return "" if have == wanted else f"{have} instead of {wanted}"

    return check


def _bound_share(loop: ClosedLoop, wanted: float) -> str:
    last = loop.records[-1]
    share = last.bound / (last.bound + last.pending)
    return "" if share >= wanted else f"{share:.4f} of the Pods are bound"


def _counts(loop: ClosedLoop, wanted: dict[str, int], *, last: int | None = None, least: bool = False) -> str:
    found = []
    for kind, count in wanted.items():
        kinds = ("Bootstrap", "Provision") if kind == "acquisitions" else (kind,)
        have = loop.total(*kinds, last=last)
        if have < count or (have != count and not least):
            found.append(f"{kind} {have} instead of {count}")
    return ", ".join(found)


def _in_cycle(loop: ClosedLoop, wanted: dict[int, dict[str, int]]) -> str:
    found = [
        f"cycle {cycle}: {kind} {loop.records[cycle - 1].actions[kind]}"
        for cycle, kinds in wanted.items()
        for kind, count in kinds.items()
        if loop.records[cycle - 1].actions[kind] != count
    ]
    return ", ".join(found)


def _gang_bound(loop: ClosedLoop, wanted: dict[str, int]) -> str:
    found = []
    for cluster in loop.clusters:
        for gang, count in wanted.items():
            mine = [pod for pod in loop.pods if pod.group == f"{cluster}/{gang}"]
            have = sum(pod.machine is not None for pod in mine)
            if have != count:
                found.append(f"{cluster}/{gang}: {have} of {len(mine)} bound")
    return ", ".join(found)


def _serving(loop: ClosedLoop, _wanted: object) -> str:
    lost = [name for name in sorted(loop.acquired) if loop.machines[name].state is not MachineState.CONFIGURED]
    return f"{len(lost)} acquired machines no longer serve" if lost else ""


def _delete_after_reclaim(loop: ClosedLoop, _wanted: object) -> str:
    first = {kind: next(i for i, r in enumerate(loop.records) if r.actions[kind]) for kind in ("Reclaim", "Delete")}
    return "" if first["Delete"] > first["Reclaim"] else str(first)


def _reclaims_per_loss(loop: ClosedLoop, wanted: float) -> str:
    assert loop.scenario.lose_every is not None
    first, every = loop.scenario.lose_every
    ratio = loop.total("Reclaim") / len(range(first, loop.scenario.cycles + 1, every))
    return "" if ratio <= wanted else f"{ratio:.2f}"


def _evicted(loop: ClosedLoop, wanted: int) -> str:
    have = sum(record.evicted for record in loop.records)
    return "" if have == wanted else str(have)


CHECKS: dict[str, Check] = {
    "quiet": _quiet,
    "short": _short,
    "configured": _equal("configured"),
    "bound": _equal("bound"),
    "pending": _equal("pending"),
    "folded": _equal("folded"),
    "needs": _equal("needs"),
    "bound_share": _bound_share,
    "live": lambda loop, wanted: "" if len(loop.pods) == wanted else f"{len(loop.pods)} Pods",
    "total": _counts,
    "total_at_least": lambda loop, wanted: _counts(loop, wanted, least=True),
    "window": lambda loop, wanted: _counts(loop, wanted, last=loop.scenario.window),
    "at_least": lambda loop, wanted: _counts(loop, wanted, last=loop.scenario.window, least=True),
    "in_cycle": _in_cycle,
    "destroyed_at_least": lambda loop, wanted: "" if loop.destroyed >= wanted else str(loop.destroyed),
    "reclaim_cycles_at_least": lambda loop, wanted: (
        "" if sum(r.actions["Reclaim"] > 0 for r in loop.records) >= wanted else "too few cycles"
    ),
    "matches_short": lambda loop, wanted: (
        "" if sum(r.matches_short for r in loop.tail()) == wanted else "reclaims match a shortfall"
    ),
    "gang_bound": _gang_bound,
    "serving": _serving,
    "evicted": _evicted,
    "delete_after_reclaim": _delete_after_reclaim,
    "reclaims_per_loss": _reclaims_per_loss,
    "configured_after_first": lambda loop, wanted: (
        "" if loop.records[0].configured == wanted else str(loop.records[0].configured)
    ),
}
