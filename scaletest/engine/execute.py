"""The execute pool: a cycle only hands actions over, and workers carry them out, each on a machine of its own.

An action counts when it is accepted. Whatever the provider answers, late, twice or never, a machine is at most one
action's, moves only as its life allows, and is put back where the provider last said it was when an answer is missing.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from scaletest.engine.agent import Agent, Eviction
from scaletest.engine.decide import Action, Kind
from scaletest.engine.facts import ActionFact, Recorder
from scaletest.engine.inventory import Inventory
from scaletest.engine.metrics import EngineMetrics, Result
from scaletest.engine.progress import Progress
from scaletest.engine.settings import EngineSettings
from scaletest.model import US_PER_SECOND, Attribution, Machine, MachineState
from scaletest.model.attribution import attribution_metadata
from scaletest.model.lifecycle import IllegalMoveError, advance
from scaletest.ports.clock import Clock
from scaletest.ports.crew import Crew
from scaletest.ports.provider import FencedError, Provider, ProviderError, Token

__all__ = ["Order", "Pool"]

_S: Final = MachineState
_STARTS_FROM: Final = {
    Kind.BOOTSTRAP: _S.IDLE,
    Kind.PROVISION: _S.SPECULATIVE,
    Kind.PREEMPT: _S.CONFIGURED,
    Kind.RECLAIM: _S.CONFIGURED,
    Kind.DELETE: _S.IDLE,
}
_QUEUE_PER_WORKER: Final = 2


@dataclass(frozen=True, slots=True)
class Order:
    """An action with what carrying it out takes: how to stamp the machine, and the row's unit for the record."""

    action: Action
    cycle: int
    min_unit: str = ""
    mark: Attribution | None = None


@dataclass(slots=True)
class _Job:
    """An accepted order on its way."""

    order: Order
    seq: int
    eviction: Eviction | None = None

    @property
    def machine(self) -> str:
        return self.order.action.machine


class _RefusedError(Exception):
    """The action cannot be carried out on this machine now; nothing was touched."""

    def __init__(self, result: Result) -> None:
        super().__init__(result.value)
        self.result = result


class Pool:
    """Workers over a bounded queue."""

    def __init__(
        self,
        *,
        clock: Clock,
        provider: Provider,
        sessions: Mapping[str, Agent],
        inventory: Inventory,
        progress: Progress,
        metrics: EngineMetrics,
        recorder: Recorder,
        settings: EngineSettings,
        epoch: int,
    ) -> None:
        self._clock = clock
        self._provider = provider
        self._sessions = sessions
        self._inventory = inventory
        self._progress = progress
        self._metrics = metrics
        self._recorder = recorder
        self._workers = settings.concurrency
        self._timeout_us = settings.execute_timeout_us
        self._epoch = epoch
        self._calls = 0
        self._queue: asyncio.Queue[_Job] = asyncio.Queue(_QUEUE_PER_WORKER * settings.concurrency)
        self._crew = Crew()
        self._carry_out = {
            Kind.BOOTSTRAP: self._bootstrap,
            Kind.PROVISION: self._provision,
            Kind.PREEMPT: self._drain,
            Kind.RECLAIM: self._drain,
            Kind.DELETE: self._delete,
        }

    def start(self) -> None:
        """Start the workers."""
        for number in range(self._workers):
            self._crew.start(self._work(), name=f"execute worker {number}")

    async def stop(self) -> None:
        """Stop the workers; calls that are out are abandoned."""
        await self._crew.stop()

    def offer(self, order: Order) -> bool:
        """Accept an action, or refuse it: wrong state, machine busy, queue full. Accepted ones count from here on."""
        action, metrics = order.action, self._metrics
        machine = self._inventory.get(action.machine)
        if machine is not None and machine.state is not _STARTS_FROM[action.kind]:
            metrics.deduped += 1
            return False
        if self._inventory.is_busy(action.machine):
            metrics.deduped += 1
            return False
        if self._queue.full():
            metrics.dropped += 1
            return False
        self._inventory.begin(action.machine)
        seq = metrics.actions[action.kind] = metrics.actions[action.kind] + 1
        self._recorder.accepted(ActionFact(seq, self._clock.now_us(), action, order.min_unit, order.cycle))
        self._queue.put_nowait(_Job(order, seq))
        metrics.queue_depth = self._queue.qsize()
        return True

    async def _work(self) -> None:
        while True:
            job = await self._queue.get()
            self._metrics.queue_depth = self._queue.qsize()
            self._metrics.executing += 1
            result = await self._run(job)
            self._metrics.executing -= 1
            self._finish(job, result)

    async def _run(self, job: _Job) -> Result:
        try:
            await self._carry_out[job.order.action.kind](job)
        except _RefusedError as refused:
            return refused.result
        except TimeoutError:
            result = Result.CANCELED
        except IllegalMoveError:
            result = Result.TRANSITION_ERROR
        except FencedError:
            result = Result.FENCED
        except (ProviderError, OSError):
            result = Result.PROVIDER_ERROR
        else:
            return Result.SUCCESS
        self._inventory.put_back(job.machine)
        return result

    def _finish(self, job: _Job, result: Result) -> None:
        kind = job.order.action.kind
        self._inventory.end(job.machine)
        self._metrics.results[kind, result] += 1
        self._metrics.idle_releases += kind is Kind.DELETE and result is Result.SUCCESS
        if job.eviction is None or job.eviction.over.is_set():
            self._recorder.finished(kind.value, job.seq, result.value, job.eviction.pods if job.eviction else 0)
        else:
            self._crew.start(self._finish_emptied(job, job.eviction, result), name=f"empty {job.machine}")

    async def _finish_emptied(self, job: _Job, eviction: Eviction, result: Result) -> None:
        """Tell how many Pods were evicted, once the last of them is."""
        await eviction.over.wait()
        self._recorder.finished(job.order.action.kind.value, job.seq, result.value, eviction.pods)

    # --- what the kinds do

    async def _provision(self, job: _Job) -> None:
        machine = self._startable(job)
        mark = job.order.mark
        self._inventory.put(advance(machine, _S.CREATING, attribution=mark))
        async with self._limit():
            answer = await self._provider.create(machine.id, token=self._token(), metadata=_metadata(mark))
        created = self._answered(job, answer, done=_S.IDLE, under_way=_S.CREATING)
        if created.state is _S.IDLE:
            await self._configure(job, created)

    async def _bootstrap(self, job: _Job) -> None:
        machine, need = self._known(job), job.order.action.need
        ours = machine.attribution is not None and machine.attribution.need_fingerprint == need.fingerprint
        if machine.state is _S.CONFIGURED and machine.cluster == need.cluster and ours:
            return
        await self._configure(job, self._startable(job))

    async def _configure(self, job: _Job, machine: Machine) -> None:
        cluster, mark = job.order.action.need.cluster, job.order.mark
        if cluster not in self._sessions:
            raise _RefusedError(Result.NO_SESSION)
        # Stamped before the call, so that it counts for its row from now on and is not acquired twice.
        self._inventory.put(advance(machine, _S.CONFIGURING, cluster=cluster, attribution=mark))
        self._progress.configuring(machine.id)
        async with self._limit():
            answer = await self._provider.configure(
                machine.id, cluster=cluster, token=self._token(), metadata=_metadata(mark)
            )
        self._answered(job, answer, done=_S.CONFIGURED, under_way=_S.CONFIGURING)

    async def _drain(self, job: _Job) -> None:
        machine, grace_us = self._startable(job), job.order.action.grace_us
        self._inventory.put(advance(machine, _S.DRAINING))
        async with self._limit(extra_us=grace_us):
            session = self._sessions.get(machine.cluster)
            if session is not None:
                until_us = self._clock.now_us() + grace_us + self._timeout_us
                job.eviction = await session.drain(machine.id, until_us=until_us)
            answer = await self._provider.drain(machine.id, grace_us=grace_us, token=self._token())
        self._answered(job, answer, done=_S.IDLE, under_way=_S.DRAINING)

    async def _delete(self, job: _Job) -> None:
        machine = self._startable(job)
        self._inventory.put(advance(machine, _S.DELETING))
        async with self._limit():
            answer = await self._provider.delete(machine.id, token=self._token())
        self._answered(job, answer, done=_S.SPECULATIVE, under_way=_S.DELETING)

    # --- parts

    def _known(self, job: _Job) -> Machine:
        machine = self._inventory.get(job.machine)
        if machine is None:
            raise _RefusedError(Result.INVENTORY_MISS)
        return machine

    def _startable(self, job: _Job) -> Machine:
        machine = self._known(job)
        if machine.state is not _STARTS_FROM[job.order.action.kind]:
            raise _RefusedError(Result.STALE_STATE)
        return machine

    def _answered(self, job: _Job, answer: Machine, *, done: MachineState, under_way: MachineState) -> Machine:
        """Take over where the provider says the machine is; what else it says about its binding is ours to know."""
        if answer.id == job.machine and answer.state is _S.FAILED:
            raise ProviderError(f"{answer.id} failed")
        moved = advance(self._known(job), answer.state)
        record = replace(answer, cluster=moved.cluster, attribution=moved.attribution)
        expected = answer.id == job.machine and answer.state in {done, under_way}
        if not expected or answer.cluster != moved.cluster or not self._inventory.answered(record):
            raise IllegalMoveError(f"{job.machine} cannot be {answer.state} of {answer.cluster or 'nobody'} now")
        return record

    def _limit(self, *, extra_us: int = 0) -> asyncio.Timeout:
        return asyncio.timeout((self._timeout_us + extra_us) / US_PER_SECOND)

    def _token(self) -> Token:
        self._calls += 1
        return Token(self._epoch, self._calls)


def _metadata(mark: Attribution | None) -> dict[str, str]:
    return {} if mark is None else attribution_metadata(mark)
