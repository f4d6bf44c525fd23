"""A watch over Pods, Nodes and capacity requests of one cluster, each stream stamped as it is read from the socket."""

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Final

import orjson

from scaletest.ports.clock import Clock
from scaletest.ports.cluster import NodeEvent, PodEvent, WatchBatch, WatchBrokenError, WatchExpiredError
from scaletest.world.kwok.api import ApiError, ApiServer, GoneError
from scaletest.world.kwok.lags import ReplacementLags
from scaletest.world.kwok.sightings import Sightings
from scaletest.world.kwok.stranded import StrandedPods

__all__ = ["KubeWatch", "Position", "Stream"]

_GONE: Final = 410


class Stream:
    """One kind of object, and how far its changes were read."""

    def __init__(self, path: str, *, revision: int, metadata: bool = False) -> None:
        self.path, self.revision, self.metadata = path, revision, metadata

    @property
    def watch_path(self) -> str:
        """Return the path that goes on from here. Bookmarks keep a quiet stream's revision from growing too old."""
        return f"{self.path}?watch=1&allowWatchBookmarks=true&resourceVersion={self.revision}"


class Position:
    """How far a reader has come: each stream's own revision, what was told, and when the last event came in.

    `newest` is the newest number that a Pod had when it was listed, `placed` how many Pods stood on each Node.
    `revision` is what the port knows it by: a number of our own, as two lists may have one revision of the server's.
    """

    def __init__(
        self,
        revision: int,
        *,
        pods: Stream,
        nodes: Stream,
        requests: Stream | None,
        sightings: Sightings,
        seen_us: int,
        newest: int,
        placed: Mapping[str, int],
    ) -> None:
        self.pods, self.nodes, self.requests = pods, nodes, requests
        self.sightings = sightings
        self.seen_us = seen_us
        self.newest = newest
        self.placed = placed
        self.revision = revision
        """The last one told. Streams may be further, with no news."""

    @property
    def streams(self) -> tuple[Stream, ...]:
        """Return what is read."""
        return tuple(stream for stream in (self.pods, self.nodes, self.requests) if stream is not None)


class KubeWatch:
    """One open watch."""

    def __init__(
        self,
        api: ApiServer,
        clock: Clock,
        position: Position,
        *,
        lags: ReplacementLags | None = None,
        stranded: StrandedPods | None = None,
    ) -> None:
        self._clock, self._position = clock, position
        self._lags, self._stranded = lags or ReplacementLags(), stranded or StrandedPods()
        self._lines: deque[tuple[int, Stream, bytes]] = deque()
        self._news = asyncio.Event()
        self._error: Exception | None = None
        self._tasks = [
            asyncio.get_running_loop().create_task(self._read(api, stream), name=f"watch {stream.path}")
            for stream in position.streams
        ]
        for task in self._tasks:
            task.add_done_callback(self._ended)

    async def next(self) -> WatchBatch:
        """Wait for events; raise the error the watch ended with once everything that came before was told."""
        while True:
            while not self._lines:
                if self._error is not None:
                    raise self._error
                self._news.clear()
                await self._news.wait()
            batch = self._batch()
            if batch.pods or batch.nodes:
                return batch

    def close(self) -> None:
        """Stop watching."""
        self._end(WatchBrokenError("the watch was closed"))

    def _batch(self) -> WatchBatch:
        position = self._position
        after_us, told = position.seen_us, position.sightings
        tell: dict[Stream | None, Callable[[str, dict[str, Any]], Any]] = {
            position.pods: told.pod, position.nodes: told.node, position.requests: told.request,
        }  # fmt: skip
        pods: list[PodEvent] = []
        nodes: list[NodeEvent] = []
        pods_us: list[int] = []
        nodes_us: list[int] = []
        while self._lines:
            at_us, stream, line = self._lines.popleft()
            seen = orjson.loads(line)
            if seen["type"] == "ERROR":
                # The server closes the stream behind it, which may have been noticed first.
                self._end(error := _error_of(seen["object"]))
                self._error = error
                continue
            stream.revision = int(seen["object"]["metadata"]["resourceVersion"])
            if seen["type"] == "BOOKMARK":
                continue
            events = list(tell[stream](seen["type"], seen["object"]))
            if stream is position.nodes:
                nodes += events
                nodes_us += [at_us] * len(events)
                self._stranded.note_nodes(events, at_us)
            else:
                pods += events
                pods_us += [at_us] * len(events)
                self._lags.note(events, at_us)
                self._stranded.note_pods(events, at_us)
            position.seen_us = at_us
        position.revision += bool(pods or nodes)
        return WatchBatch(
            received_us=self._clock.now_us(),
            after_us=after_us,
            revision=position.revision,
            pods=tuple(pods),
            nodes=tuple(nodes),
            pods_us=pods_us,
            nodes_us=nodes_us,
        )

    async def _read(self, api: ApiServer, stream: Stream) -> None:
        rest = b""
        try:
            async with api.stream(stream.watch_path, metadata=stream.metadata) as content:
                async for chunk in content.iter_any():
                    at_us = self._clock.now_us()
                    *lines, rest = (rest + chunk).split(b"\n")
                    self._lines.extend((at_us, stream, line) for line in lines)
                    self._news.set()
            self._end(WatchBrokenError(f"{stream.path}: the server ended the watch"))
        except GoneError as error:
            self._end(WatchExpiredError(str(error)))
        except ApiError as error:
            self._end(WatchBrokenError(str(error)))

    def _ended(self, task: "asyncio.Task[None]") -> None:
        """Let whoever reads know of a task that failed in a way nobody thought of: it would be waited for in vain."""
        if not task.cancelled() and isinstance(error := task.exception(), Exception):
            self._end(error)

    def _end(self, error: Exception) -> None:
        if self._error is None:
            self._error = error
            for task in self._tasks:
                task.cancel()
        self._news.set()


def _error_of(status: dict[str, Any]) -> Exception:
    if status.get("code") == _GONE:
        return WatchExpiredError(status.get("message", "expired"))
    return WatchBrokenError(status.get("message", "the server reported an error"))
