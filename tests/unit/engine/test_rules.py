"""The register of ablations, the small tables of the rules, and the sentences."""

from pathlib import Path

import pytest

from scaletest.engine.decide import ABLATIONS, COMPLETE, Rule, UnknownAblationError, rules_without
from scaletest.engine.decide.preempt import grace_us, victim_score
from scaletest_runner.engine_fixtures import read_fixture

DATA = Path(__file__).parents[2] / "data" / "engine"

ASKED_FOR = {
    f"AB-{number:02d}"
    for number in (
        0,
        1,
        3,
        4,
        5,
        6,
        7,
        8,
        9,
        10,
        11,
        12,
        13,
        14,
        15,
        16,
        17,
        18,
        19,
        20,
        21,
        23,
        24,
        33,
        37,
        38,
        39,
        40,
    )
}


def test_the_register_lists_every_ablation_that_is_asked_for() -> None:
    assert set(ABLATIONS) >= ASKED_FOR | {"AB-ROWS", "AB-SERVED"}
    assert all(a.adr and a.removes and a.breaks and a.gate for a in ABLATIONS.values())


def test_a_run_must_show_the_loss_of_every_rule_with_a_history() -> None:
    numbers = (0, 1, 3, 4, 5, 6, 9, 10, 13, 16, 17, 18, 20, 21, 23, 24)
    assert {name for name, a in ABLATIONS.items() if a.by_run} == {*(f"AB-{n:02d}" for n in numbers), "AB-ROWS"}


def test_every_other_rule_has_a_case_that_shows_what_breaks_without_it() -> None:
    cases = read_fixture(DATA / "ablations.yaml").cases
    shown = {name for case in cases for variant in case.variants for name in variant.without}
    assert not [name for name, ablation in ABLATIONS.items() if not ablation.by_run and name not in shown]


@pytest.mark.parametrize("name", [name for name, ablation in ABLATIONS.items() if ablation.change])
def test_every_ablation_changes_the_rules(name: str) -> None:
    assert rules_without([name]) != COMPLETE


def test_ablations_add_up() -> None:
    both = rules_without(["AB-08", "AB-16"])

    assert len(both.criteria) == len(COMPLETE.criteria) - 2


def test_nothing_is_ablated_by_default() -> None:
    assert rules_without([]) == COMPLETE


@pytest.mark.parametrize(("name", "says"), [("AB-99", "no ablation"), ("AB-03", "agent"), ("AB-24", "loop")])
def test_an_ablation_that_cannot_be_made_is_refused(name: str, says: str) -> None:
    with pytest.raises(UnknownAblationError, match=says):
        rules_without([name])


@pytest.mark.parametrize(
    ("gap", "seconds"),
    [(900_001, 10), (900_000, 30), (500_001, 30), (500_000, 120), (100_001, 120), (100_000, 600), (1, 600)],
)
def test_the_wider_the_gap_the_shorter_the_grace(gap: int, seconds: int) -> None:
    assert grace_us(gap) == seconds * 1_000_000


def test_penalties_decide_between_close_priorities_only() -> None:
    cheap, dear = (0, 0), (32_000_000, 64_000_000)

    assert victim_score(900, *cheap) > victim_score(900, *dear)
    assert victim_score(900, *cheap) > victim_score(919, *dear)
    assert victim_score(900, *cheap) < victim_score(921, *dear)


def test_every_rule_can_be_said_in_words() -> None:
    assert all(rule.sentence for rule in Rule)
