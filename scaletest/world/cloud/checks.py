"""What must hold of the cloud's records at every instant."""

from collections.abc import Container, Iterator, Mapping
from typing import Final

from scaletest.model import Machine, MachineState
from scaletest.model.lifecycle import BOUND_STATES
from scaletest.world.cloud.operations import MOVES
from scaletest.world.cloud.register import Register

__all__ = ["problems_of"]

_PASSING: Final = tuple(move.passing for move in MOVES.values())
_ATTRIBUTED: Final = (MachineState.CREATING, *BOUND_STATES)


def problems_of(
    register: Register, *, underway: Mapping[str, MachineState], clusters: Container[str], there: int
) -> tuple[str, ...]:
    """Return one sentence for each thing that is wrong.

    `underway` says through which state a machine's operation leads it, `there` how many machines must be listed.
    """
    return (*_problems_of_all(register, underway, there), *_problems_of_each(register, underway, clusters))


def _problems_of_all(register: Register, underway: Mapping[str, MachineState], there: int) -> Iterator[str]:
    if len(register) != there:
        yield f"{len(register)} machines are listed, and {there} must be"
    configured = sum(machine.state is MachineState.CONFIGURED for machine in register)
    if register.configured != configured:
        yield f"{register.configured} machines count as Configured, and {configured} are"
    for machine in underway:
        if register.get(machine) is None:
            yield f"{machine}: an operation is under way on a machine that is gone"


def _problems_of_each(
    register: Register, underway: Mapping[str, MachineState], clusters: Container[str]
) -> Iterator[str]:
    for machine in register:
        expected = underway.get(machine.id)
        if expected is not None and machine.state is not expected:
            yield f"{machine.id}: it is {machine.state} while an operation leads it through {expected}"
        if expected is None and machine.state in _PASSING:
            yield f"{machine.id}: it is {machine.state}, and no operation is under way"
        yield from _problems_of_binding(machine, clusters)


def _problems_of_binding(machine: Machine, clusters: Container[str]) -> Iterator[str]:
    if bool(machine.cluster) != (machine.state in BOUND_STATES):
        yield f"{machine.id}: it is {machine.state} and its cluster is {machine.cluster!r}"
    if machine.cluster and machine.cluster not in clusters:
        yield f"{machine.id}: there is no cluster {machine.cluster}"
    if machine.attribution is not None and machine.state not in _ATTRIBUTED:
        yield f"{machine.id}: it is {machine.state} and still held for somebody"
