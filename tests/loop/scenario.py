"""A closed-loop scenario as data: pools of Pods and machines, events, and what must come out."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from scaletest.model import (
    CapacityType,
    NeedProfile,
    Operator,
    Requirement,
    Resources,
    micro_usd,
    microseconds,
    penalty_bucket,
)
from scaletest.model.demand import INSTANCE_TYPE_KEY, RACK_KEY, ZONE_KEY

_KEYS = {"rack": RACK_KEY, "zone": ZONE_KEY}


@dataclass(frozen=True)
class Pool:
    """Pods of one kind and the machines made for them. `density` Pods fill a machine."""

    name: str
    profile: NeedProfile
    pod: Resources
    machine: Resources
    instance_type: str
    constrained: bool
    same: str | None
    pods: int = 0
    gangs: tuple[int, ...] = ()
    configured: int = 0
    idle: int = 0
    spec: int = 0
    block: int = 1
    racks: int = 4
    idle_rented: bool = False


@dataclass(frozen=True)
class Scenario:
    name: str
    line: int
    pools: tuple[Pool, ...]
    expect: Mapping[str, Any]
    clusters: int = 2
    cycles: int = 300
    window: int = 100
    controllers: bool = True
    requests: str = "all"
    shuffled: bool = False
    attributed: bool = False
    create: int = 0
    configure: int = 0
    resize: Mapping[int, Mapping[str, int]] = field(default_factory=dict)
    losses: Mapping[int, int] = field(default_factory=dict)
    lose_every: tuple[int, int] | None = None
    holds_us: Mapping[CapacityType, int] = field(default_factory=dict)
    without: tuple[str, ...] = ()


def read_scenarios(path: Path) -> list[Scenario]:
    node = yaml.compose(path.read_text(encoding="utf-8"))
    assert isinstance(node, yaml.MappingNode)
    items = next(value for key, value in node.value if key.value == "scenarios")
    data = yaml.safe_load(path.read_text(encoding="utf-8"))
    lines = [item.start_mark.line + 1 for item in items.value]
    return [_scenario(entry, line) for entry, line in zip(data["scenarios"], lines, strict=True)]


def _scenario(data: dict[str, Any], line: int) -> Scenario:
    data = dict(data)
    holds = {CapacityType(key): microseconds(value) for key, value in data.pop("holds", {}).items()}
    pools = tuple(_pool(entry) for entry in data.pop("pools"))
    every = data.pop("lose_every", None)
    return Scenario(
        line=line,
        pools=pools,
        holds_us=holds,
        lose_every=tuple(every) if every else None,
        without=tuple(data.pop("without", ())),
        **data,
    )


def _pool(data: dict[str, Any]) -> Pool:
    data = dict(data)
    pod = Resources.parse({key: str(value) for key, value in data.pop("pod").items()})
    density = data.pop("density", 1)
    machine = data.pop("machine", None)
    same, kind, constrained = data.pop("same", None), data.pop("type", data["name"]), data.pop("constrained", True)
    requirements = [Requirement(INSTANCE_TYPE_KEY, Operator.IN, (kind,))]
    if not constrained:
        requirements = [Requirement(INSTANCE_TYPE_KEY, Operator.EXISTS)]
    if same:
        requirements.append(Requirement(_KEYS[same], Operator.SAME))
    profile = NeedProfile.of(
        requirements=tuple(requirements),
        priority=data.pop("priority", 1000),
        interruption=penalty_bucket(micro_usd(data.pop("interruption", 0))),
        reclamation=penalty_bucket(micro_usd(data.pop("reclamation", 0))),
    )
    return Pool(
        profile=profile,
        pod=pod,
        machine=Resources.parse({k: str(v) for k, v in machine.items()}) if machine else pod.times(density),
        instance_type=kind,
        constrained=constrained,
        same=_KEYS[same] if same else None,
        gangs=tuple(data.pop("gangs", ())),
        **data,
    )
