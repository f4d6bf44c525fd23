"""What is observed when a machine moves: where it counts, how long it took to configure, what its cluster is told."""

from typing import Final

from scaletest.engine.metrics import EngineMetrics
from scaletest.engine.wire import Costs
from scaletest.model import Machine, MachineState
from scaletest.ports.clock import Clock

__all__ = ["Progress"]

_S: Final = MachineState
_PHASE: Final = {_S.CONFIGURING: "Registered", _S.CONFIGURED: "Ready", _S.DRAINING: "Draining", _S.FAILED: "Failed"}


class Progress:
    """The observer of one engine's machines."""

    def __init__(self, *, clock: Clock, costs: Costs, metrics: EngineMetrics) -> None:
        self._clock = clock
        self._costs = costs
        self._metrics = metrics
        self._configuring_us: dict[str, int] = {}
        self._published: dict[str, int] = {}

    def configuring(self, machine: str) -> None:
        """Note that a machine is being configured from now on."""
        self._configuring_us[machine] = self._clock.now_us()

    def moved(self, before: Machine | None, after: Machine | None) -> None:
        """Observe one change of a record."""
        self._metrics.moved(before, after)
        if after is None:
            if before is not None:
                self._configuring_us.pop(before.id, None)
        elif before is not None and before.state is not after.state:
            if after.state is not _S.CONFIGURING and self._configuring_us:
                self._configured(after)
            self._publish(before, after)

    def _configured(self, machine: Machine) -> None:
        since_us = self._configuring_us.pop(machine.id, None)
        if since_us is not None and machine.state is _S.CONFIGURED:
            self._metrics.configure.observe(self._clock.now_us() - since_us)

    def _publish(self, before: Machine, after: Machine) -> None:
        if not (before.cluster or after.cluster):
            return
        drained = before.state is _S.DRAINING and after.state is _S.IDLE
        phase = "Drained" if drained else _PHASE.get(after.state)
        if phase is not None:
            ordinal = self._published.get(after.id, 0)
            self._published[after.id] = ordinal + 1
            self._metrics.publish[phase].observe(self._costs.publish_us(after.id, ordinal))
