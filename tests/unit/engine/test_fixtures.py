"""Every engine fixture, played against the engine and against its twin; a failure says file:line."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from twin.plain_engine import PlainBucket, choose, plain_decide

from scaletest.engine.decide import Decisions, Demand, DemandTable, Memory, Rules, Settings, rules_without
from scaletest.engine.decide.buckets import Bucket, chooser, yardstick
from scaletest.model import Machine, Need, NeedProfile, PenaltyBucket, Resources
from scaletest_runner.engine_fixtures import (
    Case,
    ChoiceCase,
    Decider,
    RollupCase,
    Variant,
    engine_decider,
    play,
    read_fixture,
)
from scaletest_runner.engine_fixtures.expectations import differences

DATA = Path(__file__).resolve().parents[2] / "data" / "engine"
FIXTURES = [read_fixture(path) for path in sorted(DATA.glob("*.yaml"))]
VARIANTS = [(f.path, case, variant) for f in FIXTURES for case in f.cases for variant in case.variants]
CHOICES = [(f.path, case) for f in FIXTURES for case in f.choices]
ROLLUPS = [(f.path, case) for f in FIXTURES for case in f.rollups]


def twin_decider(rules: Rules, settings: Settings) -> Decider:
    def decide(
        machines: Mapping[str, Machine], idle_since_us: Mapping[str, int], demand: Demand, memory: Memory, now_us: int
    ) -> Decisions:
        return plain_decide(
            machines.values(),
            demand,
            memory,
            idle_since_us=idle_since_us,
            now_us=now_us,
            rules=rules,
            settings=settings,
        )

    return decide


def _id(value: object) -> str:
    if isinstance(value, Case):
        return value.name.replace(" ", "-")
    if isinstance(value, Variant):
        return "without-" + "+".join(value.without) if value.without else "complete"
    return ""


@pytest.mark.parametrize("decider", [engine_decider, twin_decider], ids=["engine", "twin"])
@pytest.mark.parametrize(("path", "case", "variant"), VARIANTS, ids=_id)
def test_case(path: str, case: Case, variant: Variant, decider: object) -> None:
    build = engine_decider if decider is engine_decider else twin_decider
    wrong = []
    for played in play(case, variant, decider=build):
        wanted = played.step.expected
        if wanted is None:
            continue
        found = differences(
            wanted, played.decisions, needs=played.needs, configured=played.configured, totals=played.totals
        )
        wrong += [
            f"{path}:{wanted.line}: {case.name}: cycle {played.number}: {sentence}"
            for sentence in found
            if played.last_of_step or "over the step's cycles" not in sentence
        ]

    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(("path", "case"), CHOICES, ids=lambda value: getattr(value, "name", ""))
def test_choice(path: str, case: ChoiceCase) -> None:
    rules = rules_without(case.without)
    measure = yardstick(case.deficit)
    buckets = [Bucket(value, *bucket) for value, bucket in case.buckets.items()]
    order = chooser(rules.criteria, serving_first=rules.serving_first)

    choice = order.choose([measure.measure(bucket) for bucket in reversed(buckets)])

    # Own machines that cover a gang in one domain settle it before any bucket is measured: that is 2b by definition.
    assert (choice.domain, choice.rule.value) == (case.winner, case.rule), f"{path}:{case.line}: {case.name}"


@pytest.mark.parametrize(("path", "case"), CHOICES, ids=lambda value: getattr(value, "name", ""))
def test_choice_of_the_twin(path: str, case: ChoiceCase) -> None:
    names = [f"dim{index}" for index in range(len(case.deficit))]

    def vector(amounts: tuple[int, ...]) -> Resources:
        return Resources.of(dict(zip(names, amounts, strict=True)))

    buckets = [PlainBucket(value, n, vector(t), vector(c), vector(o)) for value, (n, t, c, o) in case.buckets.items()]

    choice = choose(buckets, vector(case.deficit), rules_without(case.without))

    assert (choice.domain, choice.rule.value) == (case.winner, case.rule), f"{path}:{case.line}: {case.name}"


@pytest.mark.parametrize(("path", "case"), ROLLUPS, ids=lambda value: getattr(value, "name", ""))
def test_rollups(path: str, case: RollupCase) -> None:
    table = DemandTable(guarded=case.guarded)
    accepted = []
    for size in case.rows:
        table, taken = table.receive("c", _rows(size))
        accepted.append(taken)

    assert tuple(accepted) == case.accepted, f"{path}:{case.line}: {case.name}"
    assert table.heard == {"c"}


def _rows(size: int) -> tuple[Need, ...]:
    nothing = PenaltyBucket(1)
    profile = NeedProfile.of(requirements=(), priority=1, interruption=nothing, reclamation=nothing)
    unit = Resources.of({"cpu": 1000})
    return tuple(Need("c", profile, unit, unit, group=str(index)) for index in range(size))


def test_a_wrong_expectation_is_found_and_has_a_line(tmp_path: Path) -> None:
    path = tmp_path / "wrong.yaml"
    path.write_text(
        "cases:\n"
        "  - name: wrong\n"
        "    machines: [{id: i1, state: Idle, rack: a}, {id: i2, state: Idle, rack: a}]\n"
        "    needs: {g: {same: rack, units: 2}}\n"
        "    cycles:\n"
        "      - expect: {domains: {g: b}, rules: {g: '7'}, actions: {Reclaim: 1}, short: [g], parked: [g],\n"
        "                 folded: 9, claimed: {g: [i1]}, refused: {paused: 3}, configured: 7,\n"
        "                 displacements: 1, total: {Delete: 4}}\n",
        encoding="utf-8",
    )
    (case,) = read_fixture(path).cases
    (played,) = play(case, case.variants[0])
    wanted = played.step.expected
    assert wanted is not None

    found = list(
        differences(wanted, played.decisions, needs=played.needs, configured=played.configured, totals=played.totals)
    )

    assert wanted.line == 6
    assert found == [
        "domain of g: expected 'b', found 'a'",
        "rule that decided for g: expected '7', found 'only'",
        "machines claimed for g: expected ('i1',), found ()",
        "needs that are short: expected ('g',), found ()",
        "parked needs: expected ('g',), found ()",
        "Bootstrap actions: expected (), found ('i1', 'i2')",
        "Reclaim actions: expected 1, found 0",
        "Delete actions over the step's cycles: expected 4, found 0",
        "refused by paused: expected 3, found 0",
        "folded rows: expected 9, found 0",
        "Configured machines: expected 7, found 2",
        "displacements: expected 1, found 0",
    ]
