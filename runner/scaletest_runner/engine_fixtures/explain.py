"""What a fixture's cycles decided, as plain data: the same for a person and for a program."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from scaletest.engine.decide import Action, Decisions, Outcome, Refusal, Rule, rules_without
from scaletest.engine.decide.buckets import Bucket, chooser, yardstick
from scaletest.model import Resources
from scaletest_runner.engine_fixtures.expectations import named_outcomes
from scaletest_runner.engine_fixtures.play import Played, play
from scaletest_runner.engine_fixtures.values import Case, ChoiceCase, Fixture, Variant

__all__ = [
    "ExplainedAction",
    "ExplainedCase",
    "ExplainedCycle",
    "ExplainedNeed",
    "ExplainedRefusal",
    "explained",
    "explained_choice",
    "explained_cycle",
]


@dataclass(frozen=True, slots=True)
class ExplainedNeed:
    """One row's outcome in words."""

    need: str
    cluster: str
    wants: str
    domain: str | None
    rule: str | None
    because: str | None
    parked: bool
    claimed: tuple[str, ...]
    acquired: tuple[str, ...]
    missing: str
    why_missing: str


@dataclass(frozen=True, slots=True)
class ExplainedAction:
    """One action in words."""

    action: str
    machine: str
    need: str
    domain: str | None
    rule: str
    because: str


@dataclass(frozen=True, slots=True)
class ExplainedRefusal:
    """Something that was not done, in words."""

    what: str
    rule: str
    because: str
    machines: int


@dataclass(frozen=True, slots=True)
class ExplainedCycle:
    """One cycle; `last` is its end when several cycles decided the same."""

    first: int
    last: int
    needs: tuple[ExplainedNeed, ...]
    actions: tuple[ExplainedAction, ...]
    refusals: tuple[ExplainedRefusal, ...]


@dataclass(frozen=True, slots=True)
class ExplainedCase:
    """One case under one set of rules."""

    case: str
    about: str
    without: tuple[str, ...]
    cycles: tuple[ExplainedCycle, ...]


def explained(fixture: Fixture, *, name: str, without: tuple[str, ...]) -> Iterator[ExplainedCase]:
    """Play the cases whose name contains a text: as the file says, or without the given rules."""
    for case in fixture.cases:
        if name.lower() in case.name.lower():
            for variant in _variants(case, without):
                cycles = tuple(_merged(_cycle(played) for played in play(case, variant)))
                yield ExplainedCase(case.name, case.about, variant.without, cycles)


def _variants(case: Case, without: tuple[str, ...]) -> tuple[Variant, ...]:
    return tuple(replace(variant, without=without) for variant in case.variants[:1]) if without else case.variants


def _merged(cycles: Iterator[ExplainedCycle]) -> Iterator[ExplainedCycle]:
    """Join quiet cycles that decided the same, so that a long wait reads as one line."""
    held: ExplainedCycle | None = None
    for cycle in cycles:
        if held is not None and not cycle.actions and _same(held, cycle):
            held = replace(held, last=cycle.last)
            continue
        if held is not None:
            yield held
        held = cycle
    if held is not None:
        yield held


def _same(one: ExplainedCycle, other: ExplainedCycle) -> bool:
    return (one.needs, one.actions, one.refusals) == (other.needs, other.actions, other.refusals)


def _cycle(played: Played) -> ExplainedCycle:
    return explained_cycle(played.number, played.decisions, named_outcomes(played.decisions, played.needs))


def explained_cycle(number: int, decisions: Decisions, outcomes: Mapping[str, Outcome]) -> ExplainedCycle:
    """Return what one cycle decided in words; `outcomes` are the rows to tell of, by name."""
    names = {
        (o.row.need.cluster, o.row.need.profile.fingerprint, o.row.need.group): name for name, o in outcomes.items()
    }
    return ExplainedCycle(
        first=number,
        last=number,
        needs=tuple(_need(name, outcome) for name, outcome in outcomes.items()),
        actions=tuple(_action(action, names) for action in decisions.actions),
        refusals=tuple(_refusal(refusal) for refusal in decisions.refusals),
    )


def _need(name: str, outcome: Outcome) -> ExplainedNeed:
    need, choice = outcome.row.need, outcome.choice
    return ExplainedNeed(
        need=f"{name} (folded, {outcome.row.gangs} gangs)" if outcome.row.gangs else name,
        cluster=need.cluster,
        wants=_amounts(need.aggregate),
        domain=choice.domain if choice else None,
        rule=choice.rule.value if choice else None,
        because=choice.rule.sentence if choice else None,
        parked=outcome.parked,
        claimed=outcome.claimed,
        acquired=outcome.acquired,
        missing=_amounts(outcome.deficit),
        why_missing=outcome.reason,
    )


def _action(action: Action, names: dict[tuple[str, str, str], str]) -> ExplainedAction:
    served = names.get(
        (action.need.cluster, action.need.fingerprint, action.need.group),
        action.need.group or action.need.cluster or "nobody",
    )
    return ExplainedAction(action.kind.value, action.machine, served, action.domain, action.rule, action.reason)


def _refusal(refusal: Refusal) -> ExplainedRefusal:
    return ExplainedRefusal(refusal.subject, refusal.rule, refusal.reason, refusal.machines)


def _amounts(resources: Resources) -> str:
    texts = [f"{amount / 1000:g} cpu" if name == "cpu" else f"{amount} {name}" for name, amount in resources]
    return ", ".join(texts)


def explained_choice(case: ChoiceCase) -> tuple[str | None, Rule]:
    """Return which domain a bare choice falls on, and by which rule."""
    rules = rules_without(case.without)
    measure = yardstick(case.deficit)
    order = chooser(rules.criteria, serving_first=rules.serving_first)
    buckets = [Bucket(value, *numbers) for value, numbers in case.buckets.items()]
    choice = order.choose([measure.measure(bucket) for bucket in buckets if bucket.machines])
    return choice.domain, choice.rule
