"""The engine and its plain twin decide the same on thousands of random states, complete and ablated."""

import pytest
from twin.compare import engine_decisions, facts, twin_decisions
from twin.states import SWITCHABLE, random_state

BATCH = 200


@pytest.mark.parametrize("batch", range(15))
def test_engine_and_twin_decide_the_same(batch: int) -> None:
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        state = random_state(seed)
        assert facts(engine_decisions(state)) == facts(twin_decisions(state)), f"seed {seed}, without {state.ablated}"


def test_random_states_switch_off_every_rule() -> None:
    seen = {name for seed in range(15 * BATCH) for name in random_state(seed).ablated}

    assert seen == set(SWITCHABLE)
