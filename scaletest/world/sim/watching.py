"""The log of everything that happened in a cluster, and watches that show it with delays, breaks and all."""

import asyncio
from array import array
from bisect import bisect_right
from collections.abc import Collection
from itertools import repeat
from math import log1p
from typing import Final

from scaletest.model import US_PER_SECOND, Stream
from scaletest.model.latency import Delay
from scaletest.ports.cluster import NodeEvent, PodEvent, WatchBatch, WatchBrokenError, WatchExpiredError
from scaletest.world.sim.agenda import Agenda
from scaletest.world.sim.loop import VirtualLoop

__all__ = ["EventLog", "SimWatch"]

_KEPT_US: Final = 60 * US_PER_SECOND
"""What all open watches have shown can still be watched again for this long."""

_TRIM_STEP: Final = 1024
_US_PER_HOUR: Final = 3600 * US_PER_SECOND
_EXPIRED_SHARE: Final = 0.25
_INTERVAL, _KIND = 0, 1  # ordinals of a watch's two draws about its end


class EventLog:
    """Events in order; an event's revision is its number, from 1 on."""

    def __init__(
        self,
        *,
        loop: VirtualLoop,
        agenda: Agenda,
        seed: int,
        cluster: int,
        delay: Delay,
        breaks_per_hour: float,
    ) -> None:
        self._loop = loop
        self._agenda = agenda
        self._key = (seed, cluster)
        self._delay = delay
        self._breaks_per_hour = breaks_per_hour
        self._events: list[PodEvent | NodeEvent] = []
        self._happened_us = array("q")
        self._trimmed = 0
        self._trimmed_us = 0
        self._trim_above = _TRIM_STEP
        self._last_node = 0
        self._watches = 0
        self._open: dict[SimWatch, None] = {}
        self._idle: list[SimWatch] = []

    @property
    def revision(self) -> int:
        """Return the revision of the last event."""
        return self._trimmed + len(self._events)

    def add(self, event: PodEvent) -> None:
        """Log what happened to a Pod."""
        self._events.append(event)
        self._happened_us.append(self._agenda.now_us)
        if self._idle:
            self._stir()

    def add_all(self, events: Collection[PodEvent]) -> None:
        """Log what happened to many Pods at once."""
        self._events += events
        self._happened_us.extend(repeat(self._agenda.now_us, len(events)))
        if events and self._idle:
            self._stir()

    def add_node(self, event: NodeEvent) -> None:
        """Log what happened to a Node."""
        self._events.append(event)
        self._happened_us.append(self._agenda.now_us)
        self._last_node = self.revision
        self._stir()

    def _stir(self) -> None:
        """Tell everybody who has seen all that was before."""
        idle, self._idle = self._idle, []
        self._agenda.wait_no_more(len(idle))
        for watch in idle:
            watch.stir()

    def trim(self) -> None:
        """Let go of what is old and has been shown to everybody; most of the time there is too little to bother."""
        if len(self._events) <= self._trim_above:
            return
        shown = min((watch.revision for watch in self._open), default=self.revision) - self._trimmed
        old = bisect_right(self._happened_us, self._loop.now_us() - _KEPT_US)
        if (count := min(shown, old)) > 0:
            self._trimmed += count
            self._trimmed_us = self._happened_us[count - 1]
            del self._events[:count], self._happened_us[:count]
        self._trim_above = 2 * len(self._events) + _TRIM_STEP

    def happened_us(self, revision: int) -> int:
        """Return when a revision came to be; raise WatchExpiredError when what follows it is not kept any more."""
        if revision < self._trimmed:
            raise WatchExpiredError(f"revision {revision} is older than the oldest kept, {self._trimmed}")
        return self._trimmed_us if revision == self._trimmed else self._happened_us[revision - self._trimmed - 1]

    def revision_at(self, instant_us: int) -> int:
        """Return the revision of the last event up to an instant."""
        return self._trimmed + bisect_right(self._happened_us, instant_us)

    def batch(self, after: int, last: int, *, delay_us: int, now_us: int, after_us: int, least_us: int) -> WatchBatch:
        """Return the events after one revision and up to another, each stamped one delay after it happened.

        None is stamped before `least_us`, when the last one came in or the watch was opened: a stream keeps its order.
        """
        span = slice(after - self._trimmed, last - self._trimmed)
        events = self._events[span]
        happened = self._happened_us[span]
        early = bisect_right(happened, least_us - delay_us)
        stamps = [least_us] * early + [happened_us + delay_us for happened_us in happened[early:]]
        if self._last_node <= after:
            return WatchBatch(now_us, after_us, last, tuple(events), (), stamps)  # type: ignore[arg-type]  # all of Pods
        pods = [(event, at) for event, at in zip(events, stamps, strict=True) if isinstance(event, PodEvent)]
        nodes = [(event, at) for event, at in zip(events, stamps, strict=True) if isinstance(event, NodeEvent)]
        return WatchBatch(
            received_us=now_us,
            after_us=after_us,
            revision=last,
            pods=tuple(event for event, _ in pods),
            nodes=tuple(event for event, _ in nodes),
            pods_us=[at for _, at in pods],
            nodes_us=[at for _, at in nodes],
        )

    def watch(self, revision: int) -> "SimWatch":
        """Open a watch; it is numbered, and the number is the key of its delays and of its end."""
        assert revision <= self.revision, f"revision {revision} has not happened yet"
        number = self._watches
        self._watches += 1
        seed, cluster = self._key
        delays = Stream.of(seed, "watch-delay", cluster, number)
        watch = SimWatch(self, self._loop, self._agenda, revision, (self._delay, delays))
        self._open[watch] = None
        if self._breaks_per_hour:
            self._plan_break(watch, Stream.of(seed, "watch-break", cluster, number))
        return watch

    def _plan_break(self, watch: "SimWatch", stream: Stream) -> None:
        error: Exception = WatchBrokenError("the connection ended")
        if stream.chance(_EXPIRED_SHARE, _KIND):
            error = WatchExpiredError("the server has forgotten what this watch has shown last")
        lasts_us = round(-log1p(-stream.unit(_INTERVAL)) * _US_PER_HOUR / self._breaks_per_hour)
        self._loop.at(self._loop.now_us() + lasts_us, watch.end, error)

    def listen(self, watch: "SimWatch") -> None:
        """Remember a watch that has shown everything and waits for more."""
        self._idle.append(watch)
        self._agenda.wait()

    def forget(self, watch: "SimWatch") -> None:
        """Let go of a watch that has ended."""
        self._open.pop(watch, None)
        if watch in self._idle:
            self._idle.remove(watch)
            self._agenda.wait_no_more()


class SimWatch:
    """One open watch: every event comes in some time after it happened, and is stamped then.

    The time is drawn anew for every batch. So two events of one Pod come in as far apart as they happened, more or
    less, and what happens at once comes in at once. A reader who comes late finds everything in one batch.
    """

    __slots__ = (
        "_after_us", "_agenda", "_batches", "_delay", "_delay_us", "_delays", "_error", "_least_us", "_listens",
        "_log", "_loop", "_waiter", "revision",
    )  # fmt: skip

    def __init__(
        self, log: EventLog, loop: VirtualLoop, agenda: Agenda, revision: int, delays: tuple[Delay, Stream]
    ) -> None:
        self._log = log
        self._loop = loop
        self._agenda = agenda
        self._delay, self._delays = delays
        self._batches = 0
        self._delay_us = self._delay.draw(self._delays, 0)
        self._listens = False
        self._least_us = loop.now_us() + self._delay_us
        self._waiter: asyncio.Future[None] | None = None
        self._error: Exception | None = None
        self.revision = revision
        """The last one shown."""
        try:
            self._after_us = log.happened_us(revision)
        except WatchExpiredError as error:
            self._error = error

    async def next(self) -> WatchBatch:
        """Wait for events; raise the error the watch ended with."""
        while self._error is None:
            self._agenda.catch_up()
            now_us = self._agenda.now_us
            if self.revision == self._log.revision:
                self._listen()
            elif (due_us := self._due_us()) <= now_us:
                return self._batch(now_us)
            else:
                self._loop.at(due_us, self._wake)
            self._waiter = self._loop.create_future()
            await self._waiter
        raise self._error

    def _due_us(self) -> int:
        """Return when the first event that was not shown yet comes in."""
        return max(self._log.happened_us(self.revision + 1) + self._delay_us, self._least_us)

    def _listen(self) -> None:
        if not self._listens:
            self._listens = True
            self._log.listen(self)

    def stir(self) -> None:
        """Take note that something has happened: it will be shown in a while."""
        self._listens = False
        self._loop.at(self._loop.now_us() + self._delay_us, self._wake)

    def _batch(self, now_us: int) -> WatchBatch:
        last = self._log.revision_at(now_us - self._delay_us)
        batch = self._log.batch(
            self.revision,
            last,
            delay_us=self._delay_us,
            now_us=now_us,
            after_us=self._after_us,
            least_us=self._least_us,
        )
        self._least_us = max(self._least_us, self._log.happened_us(last) + self._delay_us)
        self.revision, self._after_us = last, self._log.happened_us(last)
        self._batches += 1
        self._delay_us = self._delay.draw(self._delays, self._batches)
        self._log.trim()
        return batch

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def end(self, error: Exception) -> None:
        """End early; what was not shown yet, the next watch can show."""
        if self._error is None:
            self._error = error
            self._log.forget(self)
            self._wake()

    def close(self) -> None:
        """Stop watching."""
        self.end(WatchBrokenError("the watch was closed"))
