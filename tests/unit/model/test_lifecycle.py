"""The machine's life: every legal move, every illegal one, and what a move does to the binding."""

import itertools

import pytest

from scaletest.model import Attribution, CapacityType, Machine, MachineState, Resources
from scaletest.model.lifecycle import LEGAL_MOVES, IllegalMoveError, advance, may_become

S = MachineState
MARK = Attribution("fp", "c/g", 7, 8, 9)
LEGAL = {
    (S.SPECULATIVE, S.CREATING), (S.CREATING, S.IDLE), (S.CREATING, S.FAILED), (S.IDLE, S.CONFIGURING),
    (S.IDLE, S.DELETING), (S.CONFIGURING, S.CONFIGURED), (S.CONFIGURING, S.FAILED), (S.CONFIGURING, S.IDLE),
    (S.CONFIGURED, S.DRAINING), (S.DRAINING, S.IDLE), (S.DRAINING, S.FAILED), (S.DELETING, S.SPECULATIVE),
    (S.DELETING, S.FAILED),
}  # fmt: skip


def machine(state: MachineState) -> Machine:
    bound = state in {S.CONFIGURING, S.CONFIGURED, S.DRAINING}
    return Machine(
        id="m",
        state=state,
        instance_type="t",
        zone="z",
        capacity_type=CapacityType.SPOT,
        allocatable=Resources(),
        cluster="c" if bound else "",
        attribution=MARK if bound else None,
    )


@pytest.mark.parametrize(("current", "following"), list(itertools.product(S, S)))
def test_only_legal_moves_are_made(current: MachineState, following: MachineState) -> None:
    legal = current is following or (current, following) in LEGAL

    assert may_become(current, following) is legal
    if legal:
        assert advance(machine(current), following, cluster="c").state is following
    else:
        with pytest.raises(IllegalMoveError, match=f"{current} cannot become {following}"):
            advance(machine(current), following, cluster="c")


def test_the_table_holds_every_state() -> None:
    assert set(LEGAL_MOVES) == set(S)


def test_draining_keeps_the_binding_and_idle_clears_it() -> None:
    draining = advance(machine(S.CONFIGURED), S.DRAINING)
    idle = advance(draining, S.IDLE)

    assert (draining.cluster, draining.attribution) == ("c", MARK)
    assert (idle.cluster, idle.attribution) == ("", None)


def test_creating_carries_an_attribution_and_no_cluster() -> None:
    creating = advance(machine(S.SPECULATIVE), S.CREATING, attribution=MARK)

    assert (creating.cluster, creating.attribution) == ("", MARK)
    assert advance(creating, S.IDLE).attribution is None


def test_binding_needs_a_cluster() -> None:
    with pytest.raises(IllegalMoveError, match="needs a cluster"):
        advance(machine(S.IDLE), S.CONFIGURING)
