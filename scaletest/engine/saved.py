"""What decide() saw in every cycle, saved compactly: any cycle can be decided again, offline, with the same result.

One JSON line per cycle. Machine shapes, attributions, profiles and rows are written when they first occur and are
numbers from then on, so an ordinary cycle is a few hundred bytes.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, Final

from scaletest.engine.decide import Action, Decisions, Demand, Engine, Fleet, Kind, Memory, NeedRef, Rules, Settings
from scaletest.engine.facts import CycleInputs
from scaletest.model import (
    Attribution,
    CapacityType,
    Machine,
    MachineState,
    Need,
    NeedProfile,
    Operator,
    PenaltyBucket,
    Requirement,
    Resources,
    Spread,
)

__all__ = ["CycleWriter", "read_cycles", "replayed"]

_ENCODER: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":"))


class CycleWriter:
    """Turns cycles into lines; remembers what it has numbered."""

    def __init__(self) -> None:
        self._shapes: dict[tuple[object, ...], int] = {}
        self._marks: dict[Attribution, int] = {}
        self._profiles: dict[str, int] = {}
        self._rows = 0
        self._sent: dict[str, dict[int, tuple[int, Need]]] = {}
        """Rows of each cluster's last roll-up by identity: agents send the same object while a row stays the same."""

    def line(self, inputs: CycleInputs) -> str:
        """Return one cycle as a line of JSON."""
        new: dict[str, list[Any]] = {"shapes": [], "marks": [], "profiles": [], "rows": []}
        machines = [self._machine(machine, new) for machine in inputs.changed]
        rollups = [[cluster, self._rollup(cluster, rows, new)] for cluster, rows in inputs.rollups]
        document = {
            "cycle": inputs.cycle,
            "at_us": inputs.at_us,
            **{name: values for name, values in new.items() if values},
            "machines": machines,
            "removed": inputs.removed,
            "rollups": rollups,
            "heard": inputs.heard,
            "actions": [_action(action) for action in inputs.actions],
        }
        return _ENCODER.encode({name: value for name, value in document.items() if value or name in {"cycle", "at_us"}})

    def _machine(self, machine: Machine, new: dict[str, list[Any]]) -> list[Any]:
        shape = (
            machine.instance_type,
            machine.zone,
            machine.capacity_type.value,
            machine.allocatable.amounts,
            machine.labels,
            machine.price_uusd_per_hour,
            machine.interruption_ppm,
        )
        number = _numbered(self._shapes, shape, new["shapes"], lambda: shape)
        mark = machine.attribution
        held = -1 if mark is None else _numbered(self._marks, mark, new["marks"], lambda: _mark(mark))
        return [machine.id, machine.state.value, number, machine.cluster, held]

    def _rollup(self, cluster: str, rows: tuple[Need, ...], new: dict[str, list[Any]]) -> list[int]:
        before, now = self._sent.get(cluster, {}), dict[int, tuple[int, Need]]()
        numbers = []
        for need in rows:
            known = before.get(id(need))
            if known is None:
                known = (self._rows, need)
                self._rows += 1
                new["rows"].append(self._row(need, new))
            now[id(need)] = known
            numbers.append(known[0])
        self._sent[cluster] = now
        return numbers

    def _row(self, need: Need, new: dict[str, list[Any]]) -> list[Any]:
        profile = need.profile
        number = _numbered(self._profiles, profile.fingerprint, new["profiles"], lambda: _profile(profile))
        return [need.cluster, number, need.aggregate.amounts, need.min_unit.amounts, need.group]


def _numbered(known: dict[Any, int], key: object, new: list[Any], described: Callable[[], object]) -> int:
    """Return the number of a thing; one that is new is described among the new ones."""
    number = known.get(key)
    if number is None:
        number = known[key] = len(known)
        new.append(described())
    return number


def _mark(mark: Attribution) -> list[object]:
    return [
        mark.need_fingerprint,
        mark.group,
        mark.priority,
        mark.interruption_penalty_uusd,
        mark.reclamation_penalty_uusd,
    ]


def _profile(profile: NeedProfile) -> list[object]:
    return [
        [[r.key, r.operator.value, r.values] for r in profile.requirements],
        [[s.topology_key, s.max_skew] for s in profile.spread],
        profile.priority,
        profile.interruption.ordinal,
        profile.reclamation.ordinal,
    ]


def _action(action: Action) -> list[object]:
    return [
        action.kind.value,
        action.machine,
        *action.need,
        action.domain,
        action.rule,
        action.reason,
        action.grace_us,
        action.preemptor_priority,
    ]


def read_cycles(lines: Iterable[str]) -> Iterator[CycleInputs]:
    """Yield the cycles of saved lines, in order from the first."""
    shapes: list[Machine] = []
    marks: list[Attribution] = []
    profiles: list[NeedProfile] = []
    rows: list[Need] = []
    for line in lines:
        saved = json.loads(line)
        if saved["cycle"] == 1:  # a restarted engine begins anew
            shapes, marks, profiles, rows = [], [], [], []
        shapes += [_read_shape(shape) for shape in saved.get("shapes", ())]
        marks += [Attribution(*mark) for mark in saved.get("marks", ())]
        profiles += [_read_profile(profile) for profile in saved.get("profiles", ())]
        rows += [
            Need(cluster, profiles[number], _read_amounts(aggregate), _read_amounts(unit), group)
            for cluster, number, aggregate, unit, group in saved.get("rows", ())
        ]
        yield CycleInputs(
            cycle=saved["cycle"],
            at_us=saved["at_us"],
            changed=tuple(_read_machine(machine, shapes, marks) for machine in saved.get("machines", ())),
            removed=tuple(saved.get("removed", ())),
            rollups=tuple((cluster, tuple(rows[n] for n in numbers)) for cluster, numbers in saved.get("rollups", ())),
            heard=tuple(saved.get("heard", ())),
            actions=tuple(_read_action(action) for action in saved.get("actions", ())),
        )


def _read_amounts(amounts: Iterable[tuple[str, int]]) -> Resources:
    return Resources(tuple((name, amount) for name, amount in amounts))


def _read_shape(shape: list[Any]) -> Machine:
    """Return a nameless machine of the shape."""
    kind, zone, capacity, amounts, labels, price, ppm = shape
    return Machine(
        id="",
        state=MachineState.SPECULATIVE,
        instance_type=kind,
        zone=zone,
        capacity_type=CapacityType(capacity),
        allocatable=_read_amounts(amounts),
        labels=tuple((key, value) for key, value in labels),
        price_uusd_per_hour=price,
        interruption_ppm=ppm,
    )


def _read_machine(machine: list[Any], shapes: list[Machine], marks: list[Attribution]) -> Machine:
    name, state, shape, cluster, mark = machine
    bare: Machine = shapes[shape]
    return replace(
        bare,
        id=name,
        state=MachineState(state),
        cluster=cluster,
        attribution=None if mark < 0 else marks[mark],
    )


def _read_profile(profile: list[Any]) -> NeedProfile:
    requirements, spread, priority, interruption, reclamation = profile
    return NeedProfile(
        tuple(Requirement(key, Operator(operator), tuple(values)) for key, operator, values in requirements),
        tuple(Spread(key, skew) for key, skew in spread),
        priority,
        PenaltyBucket(interruption),
        PenaltyBucket(reclamation),
    )


def _read_action(action: list[Any]) -> Action:
    kind, machine, cluster, fingerprint, group, *rest = action
    return Action(Kind(kind), machine, NeedRef(cluster, fingerprint, group), *rest)


def replayed(
    cycles: Iterable[CycleInputs], *, rules: Rules, settings: Settings
) -> Iterator[tuple[CycleInputs, Decisions]]:
    """Decide saved cycles again, one after the other, and yield each with what it decides now."""
    for cycle in cycles:
        if cycle.cycle == 1:
            engine = Engine(Fleet(), rules=rules, settings=settings)
            table: dict[str, tuple[Need, ...]] = {}
            heard: frozenset[str] = frozenset()
            memory = Memory()
        table.update(cycle.rollups)
        heard |= frozenset(cycle.heard)
        engine.fleet.apply(cycle.changed, removed=cycle.removed, now_us=cycle.at_us)
        demand = Demand(tuple(need for name in sorted(table) for need in table[name]), heard)
        decisions = engine.decide(demand, memory, now_us=cycle.at_us)
        memory = decisions.memory
        yield cycle, decisions
