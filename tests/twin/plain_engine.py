"""The obviously correct twin: every rule of the cycle written as a walk over machines, with no index and no haste.

It shares value types, rule switches and the normalization with the engine, and nothing that ranks, walks or counts.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from scaletest.engine.decide import (
    COMPLETE,
    NO_MEMORY,
    NO_RAILS,
    Action,
    Choice,
    ClaimOrder,
    ClassKey,
    Counting,
    CreditScope,
    Criterion,
    Decisions,
    Demand,
    Displacement,
    Fold,
    GangDomain,
    KeepSet,
    Kind,
    Memory,
    NeedRef,
    Outcome,
    Own,
    Refusal,
    Row,
    RowOrder,
    Rule,
    Rules,
    Settings,
    Shortfall,
    VictimPriority,
    VictimScope,
)
from scaletest.model import Machine, MachineState, Need, NeedProfile, Operator, Resources
from scaletest.model.attribution import penalty_uusd

SECTIONS = (MachineState.CONFIGURED, MachineState.CONFIGURING, MachineState.CREATING)
ACQUIRABLE = (MachineState.IDLE, MachineState.SPECULATIVE)
BUDGET = 10
HOME_STEPS = (Criterion.SATISFIABLE, Criterion.CREDITABLE_COVERAGE, Criterion.OWN_COVERAGE)


@dataclass(frozen=True)
class PlainBucket:
    value: str
    count: int
    total: Resources
    creditable: Resources
    own: Resources


@dataclass(eq=False)
class Turn:
    row: Row
    parked: bool
    choice: Choice | None = None
    claimed: list[str] = field(default_factory=list)
    acquired: list[str] = field(default_factory=list)
    deficit: Resources = field(default_factory=Resources)


@dataclass
class World:
    machines: dict[str, Machine]
    rules: Rules
    holder: dict[str, Turn] = field(default_factory=dict)
    consumed: set[str] = field(default_factory=set)

    def suits(self, need: Need, machine: Machine) -> bool:
        floor = not self.rules.unit_floor or machine.allocatable.covers(need.min_unit)
        return floor and profile_matches(need.profile, machine)

    def worth(self, need: Need, machine: Machine) -> Resources:
        units = machine.allocatable.how_many(need.min_unit)
        if self.rules.counting is Counting.WHOLE_MACHINE or units is None:
            return machine.allocatable
        return need.min_unit.times(units)

    def own(self, need: Need, machine: Machine) -> bool:
        mark = machine.attribution
        if mark is None or mark.need_fingerprint != need.profile.fingerprint:
            return False
        return self.rules.own is Own.FINGERPRINT or mark.group == need.group

    def creditable(self, need: Need) -> list[Machine]:
        found = [m for m in self.machines.values() if m.id not in self.holder and self.counts_for(need, m)]
        return sorted(found, key=keep_key)

    def counts_for(self, need: Need, machine: Machine) -> bool:
        if machine.state not in self.rules.credited or not self.suits(need, machine):
            return False
        if machine.state is not MachineState.CREATING:
            return machine.cluster == need.cluster
        if need.profile.same_key is not None:
            return self.own(need, machine)
        return machine.attribution is not None and machine.attribution.need_fingerprint == need.profile.fingerprint

    def acquirable(self, need: Need, state: MachineState) -> list[Machine]:
        found = [m for m in self.machines.values() if m.state is state and self.suits(need, m)]
        return sorted((m for m in found if m.id not in self.holder), key=lambda m: pool_key(need, m))


def profile_matches(profile: NeedProfile, machine: Machine) -> bool:
    for requirement in profile.requirements:
        value = machine.label(requirement.key)
        if requirement.operator is Operator.IN and value not in requirement.values:
            return False
        if requirement.operator is Operator.NOT_IN and value in requirement.values:
            return False
        if requirement.operator is Operator.DOES_NOT_EXIST and value is not None:
            return False
        if requirement.operator in {Operator.EXISTS, Operator.SAME} and value is None:
            return False
        if requirement.operator is Operator.SAME and requirement.values and value not in requirement.values:
            return False
    return True


def keep_key(machine: Machine) -> tuple[int, int, int, str]:
    penalty = machine.attribution.reclamation_penalty_uusd if machine.attribution else 0
    return (SECTIONS.index(machine.state), machine.price_uusd_per_hour, -penalty, machine.id)


def pool_key(need: Need, machine: Machine) -> tuple[int, str]:
    if machine.state is MachineState.IDLE:
        return (machine.price_uusd_per_hour, machine.id)
    risk = machine.interruption_ppm * penalty_uusd(need.profile.interruption)
    return (machine.price_uusd_per_hour * 1_000_000 + risk, machine.id)


# --- choosing a domain -----------------------------------------------------------------------------------------


def coverage(supply: Resources, wanted: Resources, *, cap: bool) -> Fraction:
    ratios = [Fraction(supply[name], amount) for name, amount in wanted.amounts]
    return sum((min(Fraction(1), ratio) if cap else ratio for ratio in ratios), start=Fraction(0))


def rank(bucket: PlainBucket, wanted: Resources, rules: Rules) -> list[tuple[Rule, Fraction | int | str]]:
    satisfiable = bucket.total.covers(wanted)
    joint = coverage(bucket.total, wanted, cap=not satisfiable)
    creditable = coverage(bucket.creditable, wanted, cap=True)
    values: dict[Criterion, Fraction | int | str] = {
        Criterion.SATISFIABLE: 0 if satisfiable else 1,
        Criterion.CREDITABLE_COVERAGE: -creditable if satisfiable else 0,
        Criterion.CREDITABLE_PRESENCE: -int(creditable > 0) if satisfiable else 0,
        Criterion.OWN_COVERAGE: -coverage(bucket.own, wanted, cap=True) if satisfiable else 0,
        Criterion.TIGHTEST_ASSEMBLY: coverage(bucket.creditable, wanted, cap=False) if satisfiable else 0,
        Criterion.LEAST_OVERCOMMITTED: joint if satisfiable else 0,
        Criterion.MOST_COVERING: 0 if satisfiable else -joint,
        Criterion.STICKY_COVERAGE: 0 if satisfiable else -creditable,
        Criterion.COUNT: -bucket.count,
        Criterion.VALUE: bucket.value,
    }
    return [(rule, values[criterion]) for criterion, rule in rules.criteria]


def choose(buckets: Sequence[PlainBucket], wanted: Resources, rules: Rules = COMPLETE) -> Choice:
    buckets = [bucket for bucket in buckets if bucket.count]
    if not buckets:
        return Choice(None, Rule.NO_SUPPLY, satisfiable=False)
    order = sorted(buckets, key=lambda bucket: [value for _, value in rank(bucket, wanted, rules)])
    best, rivals = order[0], order[1:]
    satisfiable = best.total.covers(wanted)
    homes = [bucket.value for bucket in buckets if bucket.own.covers(wanted)]
    if tuple(step for step, _ in rules.criteria[:3]) == HOME_STEPS and homes == [best.value]:
        return Choice(best.value, Rule.OWN, satisfiable)
    serving = rules.criteria[1][0] in {Criterion.CREDITABLE_COVERAGE, Criterion.CREDITABLE_PRESENCE}
    if serving and satisfiable and coverage(best.creditable, wanted, cap=True) > 0:
        rivals = [rival for rival in rivals if rank(rival, wanted, rules)[:2] == rank(best, wanted, rules)[:2]]
        if not rivals:
            return Choice(best.value, Rule.CREDITABLE, satisfiable)
    if not rivals:
        return Choice(best.value, Rule.ONLY, satisfiable)
    pairs = zip(rank(best, wanted, rules), rank(rivals[0], wanted, rules), strict=True)
    return Choice(best.value, next(mine[0] for mine, other in pairs if mine != other), satisfiable)


def domain_buckets(world: World, turn: Turn, bound: list[Machine]) -> list[PlainBucket]:
    need, key = turn.row.need, turn.row.need.profile.same_key or ""
    free: list[Machine] = []
    if not turn.parked:
        free = [m for state in ACQUIRABLE for m in world.acquirable(need, state) if m.id not in world.consumed]
    values = sorted({m.label(key) or "" for m in (*bound, *free)})
    return [_bucket(world, need, value, [m for m in bound if m.label(key) == value],
                    [m for m in free if m.label(key) == value]) for value in values]  # fmt: skip


def _bucket(world: World, need: Need, value: str, bound: list[Machine], free: list[Machine]) -> PlainBucket:
    def total(machines: Iterable[Machine]) -> Resources:
        return sum((world.worth(need, m) for m in machines), start=Resources())

    own = total(m for m in bound if world.own(need, m))
    return PlainBucket(value, len(bound) + len(free), total((*bound, *free)), total(bound), own)


# --- phase 1 ---------------------------------------------------------------------------------------------------


def take(world: World, turn: Turn, candidates: Iterable[Machine], wanted: Resources) -> tuple[list[str], Resources]:
    taken: list[str] = []
    for machine in candidates:
        if not wanted:
            break
        taken.append(machine.id)
        wanted = wanted.minus(world.worth(turn.row.need, machine))
    return taken, wanted


def prepass(world: World, turns: list[Turn]) -> None:
    for priority in dict.fromkeys(turn.row.need.profile.priority for turn in turns):
        peers = [turn for turn in turns if turn.row.need.profile.priority == priority]
        rest = []
        for turn in peers:
            if world.rules.served_first and is_served(world, turn.row.need):
                credit(world, turn)
            else:
                rest.append(turn)
        for turn in rest:
            credit(world, turn)
    world.consumed.clear()


def is_served(world: World, need: Need) -> bool:
    """Say whether a gang's own machines, those that nobody claimed yet, cover it in some domain."""
    key = need.profile.same_key
    if key is None:
        return False
    own = [m for m in world.creditable(need) if world.own(need, m)]
    return any(
        sum((world.worth(need, m) for m in own if m.label(key) == value), start=Resources()).covers(need.aggregate)
        for value in sorted({m.label(key) or "" for m in own})
    )


def credit(world: World, turn: Turn) -> None:
    need = turn.row.need
    bound = world.creditable(need)
    if need.profile.same_key is not None:
        bound = gang_candidates(world, turn, bound)
    turn.claimed, turn.deficit = take(world, turn, bound, need.aggregate)
    world.holder.update(dict.fromkeys(turn.claimed, turn))
    if need.profile.same_key is not None and world.rules.consumes_virtually and not turn.parked:
        consume(world, turn)


def gang_candidates(world: World, turn: Turn, bound: list[Machine]) -> list[Machine]:
    need = turn.row.need
    turn.choice = choose(domain_buckets(world, turn, bound), need.aggregate, world.rules)
    if world.rules.credit_scope is CreditScope.CHOSEN_DOMAIN:
        bound = [m for m in bound if m.label(need.profile.same_key or "") == turn.choice.domain]
    if world.rules.claim_order is ClaimOrder.KEEP_ORDER:
        return bound
    own = [m for m in bound if world.own(need, m)]
    if world.rules.claim_order is ClaimOrder.INCUMBENT_BY_ID:
        own = sorted(own, key=lambda m: m.id)
    return own + [m for m in bound if not world.own(need, m)]


def in_domain(turn: Turn, machine: Machine) -> bool:
    key = turn.row.need.profile.same_key
    return turn.choice is not None and key is not None and machine.label(key) == turn.choice.domain


def consume(world: World, turn: Turn) -> None:
    wanted = turn.deficit
    for state in ACQUIRABLE:
        free = [m for m in world.acquirable(turn.row.need, state) if m.id not in world.consumed and in_domain(turn, m)]
        taken, wanted = take(world, turn, free, wanted)
        world.consumed.update(taken)


def acquire(world: World, turns: list[Turn]) -> int:
    if world.rules.displacement is Displacement.EQUAL_TOO:
        return acquire_displacing(world, turns)
    for turn in turns:
        for state in ACQUIRABLE:
            if not turn.deficit:
                break
            taken, turn.deficit = take(world, turn, candidates(world, turn, state), turn.deficit)
            turn.acquired += taken
            world.holder.update(dict.fromkeys(taken, turn))
    return 0


def candidates(world: World, turn: Turn, state: MachineState) -> list[Machine]:
    need = turn.row.need
    free = world.acquirable(need, state)
    if need.profile.same_key is not None:
        if turn.parked:
            return []
        if world.rules.gang_domain is GangDomain.CHOSEN_AGAIN:
            return choose_again(world, turn, free)
        return [m for m in free if in_domain(turn, m)]
    if need.profile.spread:
        return spread_order(world, turn, free)
    return free


def choose_again(world: World, turn: Turn, free: list[Machine]) -> list[Machine]:
    need, key = turn.row.need, turn.row.need.profile.same_key or ""
    values = sorted({m.label(key) or "" for m in free})
    if not values:
        return []

    def score(value: str) -> tuple[int, int, int, str]:
        members = [m for m in free if m.label(key) == value]
        total = sum((world.worth(need, m) for m in members), start=Resources())
        covers = total.covers(turn.deficit)
        return (0 if covers else 1, 0 if covers else -len(members), pool_key(need, members[0])[0], value)

    best = min(values, key=score)
    return [m for m in free if m.label(key) == best]


def spread_order(world: World, turn: Turn, free: list[Machine]) -> list[Machine]:
    terms = turn.row.need.profile.spread
    left = [m for m in free if all(m.label(t.topology_key) is not None for t in terms)]
    counts = [{m.label(t.topology_key): 0 for m in left} for t in terms]
    chosen: list[Machine] = []
    wanted = turn.deficit
    while wanted:
        head = next((m for m in left if _within_skew(m, turn, counts)), None)
        if head is None:
            break
        left.remove(head)
        chosen.append(head)
        wanted = wanted.minus(world.worth(turn.row.need, head))
        for term, count in zip(terms, counts, strict=True):
            count[head.label(term.topology_key)] += 1
    return chosen


def _within_skew(machine: Machine, turn: Turn, counts: list[dict[str | None, int]]) -> bool:
    terms = turn.row.need.profile.spread
    return all(
        count[machine.label(term.topology_key)] <= min(count.values()) + term.max_skew - 1
        for term, count in zip(terms, counts, strict=True)
    )


def acquire_displacing(world: World, turns: list[Turn]) -> int:
    """AB-40: a row may take machines from rows of equal precedence, which then try again while their budget lasts."""
    budget = {id(turn): BUDGET for turn in turns}
    queue = [turn for turn in turns if turn.deficit]
    displacements = 0
    while queue:
        turn = queue.pop(0)
        for state in ACQUIRABLE:
            pool = [m for m in world.machines.values() if m.state is state and world.suits(turn.row.need, m)]
            pool = sorted((m for m in pool if reachable(turn, m)), key=lambda m: pool_key(turn.row.need, m))
            free = [m for m in pool if m.id not in world.holder]
            rivals = [m for m in pool if m.id in world.holder and may_displace(turn, world.holder[m.id])]
            for machine in (*free, *rivals):
                if not turn.deficit:
                    break
                loser = world.holder.get(machine.id)
                world.holder[machine.id] = turn
                turn.acquired.append(machine.id)
                turn.deficit = turn.deficit.minus(world.worth(turn.row.need, machine))
                if loser is not None:
                    displacements += 1
                    lose(world, loser, machine)
                    if loser not in queue:
                        budget[id(loser)] -= 1
                        if budget[id(loser)] > 0:
                            queue.append(loser)
    return displacements


def reachable(turn: Turn, machine: Machine) -> bool:
    return turn.row.need.profile.same_key is None or (not turn.parked and in_domain(turn, machine))


def may_displace(turn: Turn, holder: Turn) -> bool:
    return holder is not turn and rank_of(holder.row.need.profile) <= rank_of(turn.row.need.profile)


def rank_of(profile: NeedProfile) -> tuple[int, int, int]:
    return (profile.priority, profile.interruption.ordinal, profile.reclamation.ordinal)


def lose(world: World, loser: Turn, machine: Machine) -> None:
    loser.acquired.remove(machine.id)
    held = [world.machines[name] for name in (*loser.claimed, *loser.acquired)]
    loser.deficit = loser.row.need.aggregate
    for other in held:
        loser.deficit = loser.deficit.minus(world.worth(loser.row.need, other))


# --- phases 2 and 3 --------------------------------------------------------------------------------------------


def preempt(world: World, turns: list[Turn]) -> tuple[list[Action], list[tuple[Turn, Resources]]]:
    actions: list[Action] = []
    unresolved: list[tuple[Turn, Resources]] = []
    taken: set[str] = set()
    for turn in turns:
        if not turn.deficit:
            continue
        missing = turn.deficit
        for machine in victims(world, turn, taken):
            if not missing:
                break
            missing = missing.minus(world.worth(turn.row.need, machine))
            taken.add(machine.id)
            actions.append(preemption(turn, machine))
        if missing:
            unresolved.append((turn, missing))
    return actions, unresolved


def preemption(turn: Turn, machine: Machine) -> Action:
    need = turn.row.need
    gap = need.profile.priority - assigned_priority(machine)
    seconds = 10 if gap > 900_000 else 30 if gap > 500_000 else 120 if gap > 100_000 else 600
    domain = turn.choice.domain if turn.choice else None
    ref = NeedRef(need.cluster, need.profile.fingerprint, need.group)
    return Action(
        Kind.PREEMPT, machine.id, ref, domain, "phase2.inversion", "", seconds * 1_000_000, need.profile.priority
    )


def assigned_priority(machine: Machine) -> int:
    return machine.attribution.priority if machine.attribution else 0


def victims(world: World, turn: Turn, taken: set[str]) -> list[Machine]:
    need, gang = turn.row.need, turn.row.need.profile.same_key is not None
    usable = world.rules.victim_scope is VictimScope.USABLE
    if gang and usable and (turn.parked or turn.choice is None or turn.choice.domain is None):
        return []
    found = []
    for machine in world.machines.values():
        if machine.state is not MachineState.CONFIGURED or machine.id in taken:
            continue
        if not profile_matches(need.profile, machine) or not lower(world, assigned_priority(machine), need):
            continue
        if usable and (not world.suits(need, machine) or (gang and not in_domain(turn, machine))):
            continue
        holder = world.holder.get(machine.id)
        if holder is turn or (holder is not None and not lower(world, holder.row.need.profile.priority, need)):
            continue
        found.append(machine)
    return sorted(found, key=lambda m: (-victim_score(need, m), m.id))


def lower(world: World, priority: int, need: Need) -> bool:
    if world.rules.victim_priority is VictimPriority.LOWER_OR_EQUAL:
        return priority <= need.profile.priority
    return priority < need.profile.priority


def victim_score(need: Need, machine: Machine) -> Fraction:
    mark = machine.attribution
    penalties = (mark.interruption_penalty_uusd, mark.reclamation_penalty_uusd) if mark else (0, 0)
    gap = need.profile.priority - assigned_priority(machine)
    return Fraction(gap) + sum(Fraction(100_000, max(10_000, penalty)) for penalty in penalties)


def reclaim(world: World, demand: Demand, kept: Mapping[str, Turn], gone: set[str]) -> tuple[list[Action], int]:
    actions: list[Action] = []
    unheard = 0
    configured = [m for m in world.machines.values() if m.state is MachineState.CONFIGURED]
    for machine in sorted(configured, key=lambda m: (m.cluster, keep_key(m))):
        if machine.id in kept or machine.id in gone:
            continue
        if world.rules.first_rollup_gate and machine.cluster not in demand.heard:
            unheard += 1
            continue
        mark = machine.attribution
        ref = NeedRef(machine.cluster, mark.need_fingerprint if mark else "", mark.group if mark else "")
        actions.append(Action(Kind.RECLAIM, machine.id, ref, None, "phase3.excess", "", 600 * 1_000_000))
    return actions, unheard


def keep_set(world: World, turns: list[Turn]) -> Mapping[str, Turn]:
    if world.rules.keep_set is KeepSet.CLAIMED:
        return world.holder
    scope = CreditScope.ANYWHERE if world.rules.keep_set is KeepSet.ACROSS_DOMAINS else world.rules.credit_scope
    again = World(world.machines, replace(world.rules, consumes_virtually=False, credit_scope=scope))
    prepass(again, [Turn(turn.row, turn.parked) for turn in turns])
    return again.holder


def release(
    world: World, idle_since_us: Mapping[str, int], now_us: int, settings: Settings
) -> tuple[list[Action], int]:
    actions: list[Action] = []
    held = 0
    for machine in sorted(world.machines.values(), key=lambda m: m.id):
        if machine.state is not MachineState.IDLE or (world.rules.release_shield and machine.id in world.holder):
            continue
        hold_us, since_us = settings.holds_us.get(machine.capacity_type), idle_since_us.get(machine.id)
        if hold_us is None or since_us is None or now_us - since_us < hold_us:
            held += 1
            continue
        actions.append(Action(Kind.DELETE, machine.id, NeedRef("", "", ""), None, "phase3.release", ""))
    return actions, held


# --- the cycle -------------------------------------------------------------------------------------------------


def is_parked(row: Row, memory: Memory, rules: Rules) -> bool:
    need, parking = row.need, rules.parking
    if parking is None or need.profile.same_key is None:
        return False
    age = memory.stalled_cycles.get(ClassKey(need.cluster, need.group, need.profile.fingerprint), 0)
    reprobes = parking.reprobe_every_cycles and age % parking.reprobe_every_cycles == 0
    return age >= parking.after_cycles and not reprobes


def stalled(turns: list[Turn], memory: Memory, rules: Rules) -> dict[ClassKey, int]:
    ages: dict[ClassKey, int] = {}
    for turn in turns:
        need = turn.row.need
        if need.profile.same_key is None or not turn.deficit or rules.parking is None:
            continue
        hopeless = not turn.acquired and turn.choice is not None and not turn.choice.satisfiable
        if hopeless or not rules.parking.only_when_hopeless:
            key = ClassKey(need.cluster, need.group, need.profile.fingerprint)
            ages[key] = memory.stalled_cycles.get(key, 0) + 1
    return ages


def plain_rows(machines: Mapping[str, Machine], demand: Demand, rules: Rules) -> list[Row]:
    by_key: dict[tuple[str, str, str], Need] = {}
    for need in demand.rows:
        key = (need.cluster, need.profile.fingerprint, need.group)
        old = by_key.get(key)
        total = need.aggregate if old is None else old.aggregate + need.aggregate
        unit = need.min_unit if old is None else old.min_unit.peak(need.min_unit)
        by_key[key] = replace(need if old is None else old, aggregate=total, min_unit=unit)
    kept: list[Row] = []
    folded: dict[tuple[str, str, Resources], list[Need]] = {}
    for need in by_key.values():
        if rules.fold is Fold.SUB_MACHINE and need.profile.same_key is not None and fits_one(machines, need):
            folded.setdefault((need.cluster, need.profile.without_same.fingerprint, need.aggregate), []).append(need)
        else:
            kept.append(Row(need))
    for gangs in folded.values():
        one = gangs[0]
        plain = Need(one.cluster, one.profile.without_same, one.aggregate.times(len(gangs)), one.aggregate)
        kept.append(Row(plain, len(gangs)))
    if rules.order is RowOrder.AS_RECEIVED:
        return sorted(kept, key=lambda row: [-part for part in rank_of(row.need.profile)])
    return sorted(kept, key=turn_key)


def fits_one(machines: Mapping[str, Machine], need: Need) -> bool:
    return any(
        m.allocatable.covers(need.aggregate)
        and profile_matches(need.profile, m)
        and (m.state in ACQUIRABLE or (m.state in SECTIONS[:2] and m.cluster == need.cluster))
        for m in machines.values()
    )


def turn_key(row: Row) -> tuple[list[int], int, str, str, str, list[tuple[str, int]]]:
    need = row.need
    unit = [(name, -amount) for name, amount in need.min_unit] if row.gangs else []
    precedence = [-part for part in rank_of(need.profile)]
    return (precedence, int(row.gangs > 0), need.cluster, need.profile.fingerprint, need.group, unit)


def plain_decide(
    machines: Iterable[Machine],
    demand: Demand,
    memory: Memory = NO_MEMORY,
    *,
    idle_since_us: Mapping[str, int] | None = None,
    now_us: int = 0,
    rules: Rules = COMPLETE,
    settings: Settings = NO_RAILS,
) -> Decisions:
    world = World({m.id: m for m in machines}, rules)
    rows = plain_rows(world.machines, demand, rules)
    turns = [Turn(row, is_parked(row, memory, rules)) for row in rows]
    prepass(world, turns)
    displacements = acquire(world, turns)
    ages = stalled(turns, memory, rules)
    preempts, unresolved = preempt(world, turns)
    reclaims, unheard = reclaim(world, demand, keep_set(world, turns), {action.machine for action in preempts})
    deletes, held = release(world, idle_since_us or {}, now_us, settings)
    reclaims, capped = cap(world, reclaims, settings)
    actions = [*acquisitions(world, turns), *preempts, *reclaims, *deletes]
    refusals = [("first-roll-up", unheard), ("reclaim-cap", capped), ("idle-hold", held)]
    wake = bool(settings.max_actions) and len(actions) > settings.max_actions
    if wake:
        refusals.append(("max-actions", len(actions) - settings.max_actions))
        actions = actions[: settings.max_actions]
    block = "never-acts" if not rules.acts else "paused" if settings.paused else "dry-run" if settings.dry_run else ""
    blocked = bool(block and actions)
    refusals.append((block, len(actions) if blocked else 0))
    shorts = shortfalls(unresolved, memory)
    return Decisions(
        actions=() if blocked else tuple(actions),
        withheld=tuple(actions) if blocked else (),
        outcomes=tuple(
            Outcome(t.row, t.parked, t.choice, tuple(sorted(t.claimed)), tuple(sorted(t.acquired)), t.deficit, "")
            for t in turns
        ),
        refusals=tuple(Refusal("", rule, "", count) for rule, count in refusals if count),
        shortfalls=tuple(shorts[: settings.reported_shortfalls]),
        memory=Memory(ages, {short.fingerprint: short.age_cycles for short in shorts}),
        folded_rows=sum(row.gangs > 0 for row in rows),
        displacements=displacements,
        wake=wake,
    )


def acquisitions(world: World, turns: list[Turn]) -> list[Action]:
    actions: list[Action] = []
    for turn in turns:
        need, key = turn.row.need, turn.row.need.profile.same_key
        ref = NeedRef(need.cluster, need.profile.fingerprint, need.group)
        machines = [world.machines[name] for name in turn.acquired]
        for machine in sorted(machines, key=lambda m: (ACQUIRABLE.index(m.state), pool_key(need, m))):
            idle = machine.state is MachineState.IDLE
            kind, rule = (Kind.BOOTSTRAP, "acquire.idle") if idle else (Kind.PROVISION, "acquire.speculative")
            actions.append(Action(kind, machine.id, ref, machine.label(key) if key else None, rule, ""))
    return actions


def cap(world: World, reclaims: list[Action], settings: Settings) -> tuple[list[Action], int]:
    if not settings.reclaim_cap_ppm or not world.rules.reclaim_cap:
        return reclaims, 0
    kept: list[Action] = []
    for cluster in sorted({action.need.cluster for action in reclaims}):
        configured = sum(m.state is MachineState.CONFIGURED and m.cluster == cluster for m in world.machines.values())
        limit = max(1, configured * settings.reclaim_cap_ppm // 1_000_000)
        kept += [action for action in reclaims if action.need.cluster == cluster][:limit]
    return kept, len(reclaims) - len(kept)


def shortfalls(unresolved: list[tuple[Turn, Resources]], memory: Memory) -> list[Shortfall]:
    missing: dict[str, Resources] = {}
    priority: dict[str, int] = {}
    for turn, left in unresolved:
        name = turn.row.need.profile.fingerprint
        missing[name] = missing.get(name, Resources()) + left
        priority[name] = turn.row.need.profile.priority
    found = [
        Shortfall(name, priority[name], left, memory.short_cycles.get(name, 0) + 1) for name, left in missing.items()
    ]
    return sorted(found, key=lambda short: (-short.priority, -short.age_cycles, short.fingerprint))
