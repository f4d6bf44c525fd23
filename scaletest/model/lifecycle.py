"""The machine's life as a state machine: which moves are legal, and what a move does to the binding."""

from dataclasses import replace
from types import MappingProxyType
from typing import Final

from scaletest.model.machine import Attribution, Machine, MachineState

__all__ = ["BOUND_STATES", "LEGAL_MOVES", "IllegalMoveError", "advance", "may_become"]

_S = MachineState

LEGAL_MOVES: Final = MappingProxyType(
    {
        _S.SPECULATIVE: (_S.CREATING,),
        _S.CREATING: (_S.IDLE, _S.FAILED),
        _S.IDLE: (_S.CONFIGURING, _S.DELETING),
        # Back to Idle only when orchestration failed before the provider was touched.
        _S.CONFIGURING: (_S.CONFIGURED, _S.FAILED, _S.IDLE),
        _S.CONFIGURED: (_S.DRAINING,),
        _S.DRAINING: (_S.IDLE, _S.FAILED),
        _S.DELETING: (_S.SPECULATIVE, _S.FAILED),
        _S.FAILED: (),
    }
)
"""From a state to the states that may follow it. A lost host is a removed record, never a move."""

BOUND_STATES: Final = (_S.CONFIGURING, _S.CONFIGURED, _S.DRAINING)
"""The states in which a machine belongs to a cluster."""


class IllegalMoveError(ValueError):
    """A move that the machine's life does not have."""


def may_become(current: MachineState, following: MachineState) -> bool:
    """Say whether the move is legal; staying in a state always is."""
    return current is following or following in LEGAL_MOVES[current]


def advance(
    machine: Machine, state: MachineState, *, cluster: str = "", attribution: Attribution | None = None
) -> Machine:
    """Return the machine after a legal move; raise IllegalMoveError otherwise.

    A bound state keeps the binding it has, or takes the one given. Creating takes an attribution and no cluster. Every
    other state clears both, so that a drained machine never looks like somebody's own.
    """
    if not may_become(machine.state, state):
        raise IllegalMoveError(f"machine {machine.id}: {machine.state} cannot become {state}")
    if state in BOUND_STATES:
        bound_to, held_for = cluster or machine.cluster, attribution or machine.attribution
        if not bound_to:
            raise IllegalMoveError(f"machine {machine.id}: {state} needs a cluster")
        return replace(machine, state=state, cluster=bound_to, attribution=held_for)
    kept = (attribution or machine.attribution) if state is _S.CREATING else None
    return replace(machine, state=state, cluster="", attribution=kept)
