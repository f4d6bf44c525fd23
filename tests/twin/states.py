"""Random small worlds in which ties, shared shapes, half-bound gangs and odd states are common, all from one seed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from scaletest.engine.decide import ABLATIONS, ClassKey, Demand, Memory, Rules, Settings, rules_without
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
    Stream,
)
from scaletest.model.attribution import penalty_uusd
from scaletest.model.demand import INSTANCE_TYPE_KEY, RACK_KEY, ZONE_KEY

T = TypeVar("T")

SIZES = {
    "small": Resources.of({"cpu": 2000, "memory": 8}),
    "wide": Resources.of({"cpu": 8000, "memory": 8}),
    "large": Resources.of({"cpu": 8000, "memory": 32, "gpu": 2}),
}
SWITCHABLE = tuple(sorted(name for name, ablation in ABLATIONS.items() if ablation.change is not None))


@dataclass(frozen=True)
class State:
    machines: tuple[Machine, ...]
    demand: Demand
    memory: Memory
    now_us: int
    idle_since_us: dict[str, int]
    rules: Rules
    settings: Settings
    ablated: tuple[str, ...]


class Dice:
    """A row of draws from one seed."""

    def __init__(self, seed: int) -> None:
        self._stream = Stream.of(seed, "state")
        self._ordinal = 0

    def below(self, bound: int) -> int:
        self._ordinal += 1
        return self._stream.below(bound, self._ordinal)

    def pick(self, items: Sequence[T]) -> T:
        return items[self.below(len(items))]

    def chance(self, percent: int) -> bool:
        return self.below(100) < percent

    def shuffled(self, items: list[T]) -> list[T]:
        return [items.pop(self.below(len(items))) for _ in range(len(items))]


def random_state(seed: int, *, ablate: bool = True) -> State:
    dice = Dice(seed)
    profiles = [_profile(dice) for _ in range(1 + dice.below(5))]
    clusters = ["c1", "c2", "c3"][: 1 + dice.below(3)]
    needs = [_need(dice, dice.pick(clusters), dice.pick(profiles), index) for index in range(dice.below(9))]
    racks, prices = 1 + dice.below(4), 1 + dice.below(3)
    machines = [
        _machine(dice, index, clusters=clusters, needs=needs, racks=racks, prices=prices)
        for index in range(dice.below(40))
    ]
    ablated = (dice.pick(SWITCHABLE),) if ablate and dice.chance(50) else ()
    now_us = 1_000_000_000
    idle = {m.id: now_us - dice.below(1200) * 1_000_000 for m in machines if m.state is MachineState.IDLE}
    return State(
        machines=tuple(dice.shuffled(machines)),
        demand=Demand(tuple(dice.shuffled(needs)), frozenset(c for c in clusters if dice.chance(80))),
        memory=_memory(dice, needs),
        now_us=now_us,
        idle_since_us=idle,
        rules=rules_without(ablated),
        settings=_settings(dice),
        ablated=ablated,
    )


def _profile(dice: Dice) -> NeedProfile:
    requirements = []
    if dice.chance(60):
        types = tuple(name for name in SIZES if dice.chance(60)) or ("large",)
        requirements.append(Requirement(INSTANCE_TYPE_KEY, Operator.IN, types))
    if dice.chance(15):
        requirements.append(Requirement("disk", dice.pick((Operator.EXISTS, Operator.DOES_NOT_EXIST))))
    if dice.chance(10):
        requirements.append(Requirement(ZONE_KEY, Operator.NOT_IN, ("z1",)))
    same = dice.chance(65)
    if same:
        only = ("z0-r0", "z1-r1", "z0") if dice.chance(10) else ()
        requirements.append(Requirement(dice.pick((RACK_KEY, RACK_KEY, ZONE_KEY)), Operator.SAME, only))
    spread: tuple[Spread, ...] = () if same or dice.chance(70) else (Spread(ZONE_KEY, 1 + dice.below(2)),)
    if spread and dice.chance(30):
        spread = (*spread, Spread(RACK_KEY, 1))
    return NeedProfile.of(
        requirements=tuple(requirements),
        spread=spread,
        priority=dice.pick((100, 1000, 1000, 5000)),
        interruption=PenaltyBucket(dice.pick((1, 1, 5, 27))),
        reclamation=PenaltyBucket(dice.pick((1, 1, 9))),
    )


def _need(dice: Dice, cluster: str, profile: NeedProfile, index: int) -> Need:
    unit = dice.pick((
        Resources.of({"cpu": 1000, "memory": 2}), Resources.of({"cpu": 2000}), Resources.of({"cpu": 4000, "memory": 8}),
        Resources.of({"cpu": 8000, "memory": 30, "gpu": 2}),
    ))  # fmt: skip
    group = f"{cluster}/g{index}" if profile.same_key and dice.chance(90) else ""
    return Need(cluster, profile, unit.times(1 + dice.below(12)), unit, group)


def _machine(dice: Dice, index: int, *, clusters: list[str], needs: list[Need], racks: int, prices: int) -> Machine:
    states = list(MachineState)
    state = dice.pick((MachineState.CONFIGURED,) * 6 + (MachineState.IDLE,) * 4 + (MachineState.SPECULATIVE,) * 3
                      + (MachineState.CONFIGURING,) * 2 + (MachineState.CREATING,) * 2 + tuple(states))  # fmt: skip
    kind, zone = dice.pick(tuple(SIZES)), f"z{dice.below(2)}"
    labels = [(RACK_KEY, f"{zone}-r{dice.below(racks)}")] if dice.chance(95) else []
    labels += [("disk", "ssd")] if dice.chance(30) else []
    labels += [("hostname", f"h{index}")]
    bound = state in {MachineState.CONFIGURED, MachineState.CONFIGURING, MachineState.DRAINING}
    marked = (bound or state is MachineState.CREATING) and dice.chance(75)
    return Machine(
        id=f"m{dice.below(10)}{index:02d}",
        state=state,
        instance_type=kind,
        zone=zone,
        capacity_type=dice.pick(tuple(CapacityType)),
        allocatable=SIZES[kind],
        labels=tuple(sorted(labels)),
        price_uusd_per_hour=dice.below(prices) * 500_000,
        interruption_ppm=dice.pick((0, 50_000, 300_000)),
        cluster=dice.pick(clusters) if bound else "",
        attribution=_mark(dice, needs) if marked else None,
    )


def _mark(dice: Dice, needs: list[Need]) -> Attribution | None:
    if not needs:
        return None
    need = dice.pick(needs)
    profile = need.profile if dice.chance(70) else need.profile.without_same
    return Attribution(
        need_fingerprint=profile.fingerprint,
        group=need.group if profile.same_key else "",
        priority=profile.priority,
        interruption_penalty_uusd=penalty_uusd(profile.interruption),
        reclamation_penalty_uusd=penalty_uusd(profile.reclamation),
    )


def _memory(dice: Dice, needs: list[Need]) -> Memory:
    stalled = {
        ClassKey(n.cluster, n.group, n.profile.fingerprint): dice.pick((3, 8, 9, 31, 32))
        for n in needs
        if n.profile.same_key and dice.chance(35)
    }
    return Memory(stalled, {n.profile.fingerprint: 4 for n in needs if dice.chance(20)})


def _settings(dice: Dice) -> Settings:
    return Settings(
        reclaim_cap_ppm=dice.pick((0, 0, 50_000, 400_000)),
        max_actions=dice.pick((0, 0, 0, 2)),
        paused=dice.chance(5),
        dry_run=dice.chance(5),
        holds_us={CapacityType.SPOT: 60_000_000, CapacityType.ON_DEMAND: 600_000_000},
    )
