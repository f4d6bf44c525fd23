"""One cycle, top to bottom: the order of the rules is the body of `Engine.decide`.

Nothing here keeps state between cycles but the fleet's index, caches of pure look-ups, and the claims of clusters in
which nothing changed; what must be remembered goes in and out as `Memory`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from scaletest.engine.decide.acquire import Acquire
from scaletest.engine.decide.credit import Credit
from scaletest.engine.decide.fleet import Fleet
from scaletest.engine.decide.fold import fold_of
from scaletest.engine.decide.lines import Lines
from scaletest.engine.decide.outcomes import acquisitions, outcome_of
from scaletest.engine.decide.parking import stalled_cycles, stamps
from scaletest.engine.decide.preempt import Preempt
from scaletest.engine.decide.rails import cap_reclaims, pass_rails
from scaletest.engine.decide.reclaim import reclaim, release
from scaletest.engine.decide.rows import order_of
from scaletest.engine.decide.rules import COMPLETE, CreditScope, KeepSet, Rules
from scaletest.engine.decide.settled import Settled
from scaletest.engine.decide.shortfalls import shortfalls_of
from scaletest.engine.decide.turns import Turn
from scaletest.engine.decide.values import NO_MEMORY, Decisions, Demand, Memory, Settings
from scaletest.engine.decide.views import Views
from scaletest.engine.decide.walk import claimed_ids
from scaletest.model import Machine

__all__ = ["Engine", "decide"]


class Engine:
    """Decisions over one fleet, under rules and settings fixed when it is built."""

    def __init__(self, fleet: Fleet, *, rules: Rules = COMPLETE, settings: Settings | None = None) -> None:
        self.fleet = fleet
        self.rules = rules
        self.settings = settings or Settings()
        self._lines = Lines()
        self._views = Views(fleet, rules)
        self._fold = fold_of(rules.fold)
        self._order = order_of(rules.order)
        self._settled = Settled(fleet, rules)
        self._credit = Credit(fleet, rules)
        self._acquire = Acquire(fleet, rules)
        self._preempt = Preempt(fleet, self._views, rules)
        self._keep_set = _keep_set_of(fleet, rules)

    def decide(self, demand: Demand, memory: Memory = NO_MEMORY, *, now_us: int = 0) -> Decisions:
        """Return what this cycle decides: actions, each row's outcome, every refusal, and the memory for the next."""
        fleet, rules, settings = self.fleet, self.rules, self.settings
        lines, refusals = self._lines.read(demand.rows)
        self._views.show(lines, as_gangs=False)
        lines = self._order(self._fold(lines, self._views.fits_one_machine))
        self._views.show(lines, as_gangs=True)
        turns = self._settled.begin(lines, self._views, stamps(lines, memory, rules.parking))

        self._credit.run(turns)
        self._settled.end(turns)
        displacements = self._acquire.run(turns)
        stalled = stalled_cycles(turns, memory, rules.parking)
        preempts, unresolved = self._preempt.run(turns)
        deletes, held = release(fleet, settings=settings, now_us=now_us, claimed=self._shielded(turns))
        outcomes = tuple([outcome_of(turn) for turn in turns])
        acquired = acquisitions(turns)

        self._keep_again(turns)
        reclaims, unheard = reclaim(
            fleet,
            turns,
            heard=demand.heard if rules.first_rollup_gate else None,
            gone=frozenset(action.machine for action in preempts),
        )
        reclaims, capped = cap_reclaims(fleet, reclaims, cap_ppm=settings.reclaim_cap_ppm if rules.reclaim_cap else 0)
        passed = pass_rails([*acquired, *preempts, *reclaims, *deletes], settings=settings, acts=rules.acts)
        shorts = shortfalls_of(unresolved, memory)
        return Decisions(
            actions=passed.actions,
            withheld=passed.withheld,
            outcomes=outcomes,
            refusals=(*refusals, *unheard, *capped, *held, *passed.refusals),
            shortfalls=tuple(shorts[: settings.reported_shortfalls]),
            memory=Memory(stalled, {short.fingerprint: short.age_cycles for short in shorts}),
            folded_rows=sum([line.gangs > 0 for line in lines]),
            displacements=displacements,
            wake=passed.wake,
        )

    def _shielded(self, turns: Sequence[Turn]) -> frozenset[str]:
        """Return the Idle machines that are about to be used, and so must not be given back."""
        if not self.rules.release_shield:
            return frozenset()
        return frozenset(name for turn in turns if turn.acquired for name in claimed_ids(turn.acquired))

    def _keep_again(self, turns: Sequence[Turn]) -> None:
        """Replace the claimed-set by a second walk, if the rules say that reclaim keeps one of its own."""
        if self._keep_set is None:
            return
        self.fleet.untake()
        self._keep_set.run([Turn(turn.line, turn.view, parked=turn.parked) for turn in turns])


def _keep_set_of(fleet: Fleet, rules: Rules) -> Credit | None:
    match rules.keep_set:
        case KeepSet.CLAIMED:
            return None
        case KeepSet.OWN_WALK:
            return Credit(fleet, replace(rules, consumes_virtually=False))
        case KeepSet.ACROSS_DOMAINS:
            return Credit(fleet, replace(rules, consumes_virtually=False, credit_scope=CreditScope.ANYWHERE))


def decide(
    machines: Iterable[Machine],
    demand: Demand,
    memory: Memory = NO_MEMORY,
    *,
    now_us: int = 0,
    rules: Rules = COMPLETE,
    settings: Settings | None = None,
) -> Decisions:
    """Decide one cycle over a list of machines; for more than one cycle keep an Engine and its fleet."""
    return Engine(Fleet(machines, now_us=now_us), rules=rules, settings=settings).decide(demand, memory, now_us=now_us)
