"""Reading what a fixture expects, and saying in words where a cycle differs from it."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

from scaletest.engine.decide import Decisions, Kind, Outcome
from scaletest.model import Need
from scaletest_runner.engine_fixtures.tables import Table
from scaletest_runner.engine_fixtures.values import Expected

__all__ = ["differences", "expected", "named_outcomes"]

V = TypeVar("V")

_NONE: tuple[str, ...] = ()


def expected(table: Table) -> Expected:
    """Read an `expect` block."""
    found = Expected(
        line=table.line,
        domains=_map(table, "domains", lambda value: None if value is None else str(value)),
        rules=_map(table, "rules", str),
        actions=_map(table, "actions", _ids_or_count),
        total=_map(table, "total", lambda value: int(str(value))),
        claimed=_map(table, "claimed", _ids),
        short=_list(table, "short"),
        parked=_list(table, "parked"),
        refused=_map(table, "refused", lambda value: int(str(value))),
        folded=_number(table, "folded"),
        configured=_number(table, "configured"),
        displacements=_number(table, "displacements"),
    )
    table.done()
    return found


def _map(table: Table, key: str, read: Callable[[object], V]) -> dict[str, V] | None:
    if not table.has(key):
        return None
    return {name: read(value) for name, value in table.table(key).items()}


def _list(table: Table, key: str) -> tuple[str, ...] | None:
    return table.take(key, _ids, _NONE) if table.has(key) else None


def _number(table: Table, key: str) -> int | None:
    return table.take(key, lambda value: int(str(value)), 0) if table.has(key) else None


def _ids(value: object) -> tuple[str, ...]:
    return tuple(sorted(str(item) for item in value)) if isinstance(value, list) else (str(value),)


def _ids_or_count(value: object) -> tuple[str, ...] | int:
    return value if isinstance(value, int) else _ids(value)


def named_outcomes(decisions: Decisions, needs: Mapping[str, Need]) -> dict[str, Outcome]:
    """Return the outcome of every need by the fixture's name for it; folded gangs share their row's outcome."""
    by_row = {_identity(outcome.row.need, folded=outcome.row.gangs > 0): outcome for outcome in decisions.outcomes}
    found = {}
    for name, need in needs.items():
        outcome = by_row.get(_identity(need, folded=False)) or by_row.get(_folded_identity(need))
        if outcome is not None:
            found[name] = outcome
    return found


def _identity(need: Need, *, folded: bool) -> tuple[object, ...]:
    return (need.cluster, need.profile.fingerprint, need.group, need.min_unit if folded else None)


def _folded_identity(need: Need) -> tuple[object, ...]:
    return (need.cluster, need.profile.without_same.fingerprint, "", need.aggregate)


def differences(
    wanted: Expected, decisions: Decisions, *, needs: Mapping[str, Need], configured: int, totals: Counter[str]
) -> Iterator[str]:
    """Yield a sentence for everything that is not as expected."""
    outcomes = named_outcomes(decisions, needs)
    yield from _of_needs(wanted, outcomes)
    yield from _of_actions(wanted, decisions, totals)
    refused: Counter[str] = Counter()
    for refusal in decisions.refusals:
        refused[refusal.rule] += refusal.machines
    for rule, count in (wanted.refused or {}).items():
        yield from _differ(f"refused by {rule}", count, refused[rule])
    for what, want, have in (
        ("folded rows", wanted.folded, decisions.folded_rows),
        ("Configured machines", wanted.configured, configured),
        ("displacements", wanted.displacements, decisions.displacements),
    ):
        if want is not None:
            yield from _differ(what, want, have)


def _of_needs(wanted: Expected, outcomes: Mapping[str, Outcome]) -> Iterator[str]:
    for name, domain in (wanted.domains or {}).items():
        choice = outcomes[name].choice
        yield from _differ(f"domain of {name}", domain, choice.domain if choice else None)
    for name, rule in (wanted.rules or {}).items():
        choice = outcomes[name].choice
        yield from _differ(f"rule that decided for {name}", rule, choice.rule.value if choice else None)
    for name, machines in (wanted.claimed or {}).items():
        yield from _differ(f"machines claimed for {name}", machines, tuple(sorted(outcomes[name].claimed)))
    if wanted.short is not None:
        short = tuple(sorted(name for name, outcome in outcomes.items() if outcome.deficit))
        yield from _differ("needs that are short", wanted.short, short)
    if wanted.parked is not None:
        yield from _differ("parked needs", wanted.parked, tuple(sorted(n for n, o in outcomes.items() if o.parked)))


def _of_actions(wanted: Expected, decisions: Decisions, totals: Counter[str]) -> Iterator[str]:
    if wanted.actions is not None:
        for kind in Kind:
            have = tuple(sorted(decisions.of_kind(kind)))
            want = wanted.actions.get(kind.value, ())
            yield from _differ(f"{kind.value} actions", want, len(have) if isinstance(want, int) else have)
    for kind_name, count in (wanted.total or {}).items():
        yield from _differ(f"{kind_name} actions over the step's cycles", count, totals[kind_name])


def _differ(what: str, want: object, have: object) -> Iterator[str]:
    if want != have:
        yield f"{what}: expected {want!r}, found {have!r}"
