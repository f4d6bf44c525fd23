"""Watches against a small API server that cuts lines, goes away, forgets, and has nothing to say for long."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

from fake_servers import Watches, bookmark, line, node, opened, pod, request_for, served
from scaletest.ports.cluster import Change, WatchBrokenError, WatchExpiredError
from scaletest.world.kwok.clock import SystemClock
from scaletest.world.kwok.kube_cluster import KubeCluster
from scaletest.world.kwok.kube_watch import KubeWatch, Position, Stream
from scaletest.world.kwok.sightings import PodNumbers, Sightings

pytestmark = pytest.mark.usefixtures("no_keys")

_EXPIRED = line("ERROR", {"kind": "Status", "code": 410, "message": "too old resource version: 1 (99)"})
_INTERNAL = line("ERROR", {"kind": "Status", "code": 500, "message": "etcd is unwell"})


def _position(revision: int = 1) -> Position:
    kinds = ("pods", "nodes", "capacityrequests")
    pods, nodes, requests = (Stream(f"/{kind}", revision=revision) for kind in kinds)
    told = Sightings(PodNumbers(), {})
    return Position(7, pods=pods, nodes=nodes, requests=requests, sightings=told, seen_us=0, newest=0, placed={})


@asynccontextmanager
async def _watching(
    server: Callable[[web.BaseRequest], Awaitable[web.StreamResponse]], position: Position | None = None
) -> AsyncIterator[KubeWatch]:
    async with served(server) as url, opened(url) as api:
        watch = KubeWatch(api, SystemClock.starting_now(), position or _position())
        try:
            yield watch
        finally:
            watch.close()


async def _changes(watch: KubeWatch, count: int) -> list[Change]:
    """Read until so many Pod and Node events came."""
    found: list[Change] = []
    while len(found) < count:
        batch = await watch.next()
        found += [event.change for event in batch.pods] + [event.change for event in batch.nodes]
    return found


def test_a_line_that_comes_in_pieces_is_one_event() -> None:
    whole = line("ADDED", pod("a", 2)) + line("MODIFIED", pod("a", 3, node="n"))
    pieces = [whole[:10], whole[10:200], whole[200:-1], whole[-1:]]

    async def story() -> None:
        async with _watching(Watches({"pods": [[*pieces, asyncio.Event()]]})) as watch:
            assert await _changes(watch, 2) == [Change.ADDED, Change.BOUND]

    asyncio.run(story())


def test_events_are_stamped_when_they_come_in_and_not_when_somebody_looks() -> None:
    async def story() -> None:
        second, position = asyncio.Event(), _position()
        steps = [line("ADDED", pod("a", 2)), second, line("ADDED", pod("b", 3)), asyncio.Event()]
        async with _watching(Watches({"pods": [steps]}), position) as watch:
            await asyncio.sleep(0.2)
            second.set()
            await asyncio.sleep(0.2)
            batch = await watch.next()
            assert [event.change for event in batch.pods] == [Change.ADDED, Change.ADDED]
            early_us, late_us = batch.pods_us
            assert late_us - early_us > 100_000
            assert batch.received_us - late_us > 100_000
            assert batch.after_us == 0
            assert (batch.revision, position.revision, position.seen_us) == (8, 8, late_us)

    asyncio.run(story())


def test_three_streams_are_one_watch() -> None:
    script = {
        "pods": [[line("ADDED", pod("a", 2)), asyncio.Event()]],
        "nodes": [[line("ADDED", node("n", 3)), asyncio.Event()]],
        "capacityrequests": [[line("ADDED", request_for("a", 4)), asyncio.Event()]],
    }

    async def story() -> None:
        async with _watching(Watches({**script})) as watch:
            assert sorted(await _changes(watch, 3)) == [Change.ADDED, Change.ADDED, Change.REQUESTED]

    asyncio.run(story())


def test_what_was_seen_before_the_server_went_is_told_before_the_watch_breaks() -> None:
    async def story() -> None:
        server = Watches({"pods": [[line("ADDED", pod("a", 2)) + line("ADDED", pod("b", 3))[:-20]]]})
        position = _position()
        async with _watching(server, position) as watch:
            await asyncio.sleep(0.3)
            assert await _changes(watch, 1) == [Change.ADDED]
            with pytest.raises(WatchBrokenError, match="ended the watch"):
                await watch.next()
            with pytest.raises(WatchBrokenError):
                await watch.next()
        assert position.pods.revision == 2, "a line that is not whole was not read"

    asyncio.run(story())


@pytest.mark.parametrize("steps", [[_EXPIRED], [line("ADDED", pod("a", 2)), _EXPIRED], [410]])
def test_a_revision_that_is_too_old_expires_however_the_server_says_it(steps: list[Any]) -> None:
    async def story() -> None:
        async with _watching(Watches({"pods": [steps]})) as watch:
            # The server closes the stream behind its error, and that is often noticed first.
            await asyncio.sleep(0.3)
            if len(steps) > 1:
                assert await _changes(watch, 1) == [Change.ADDED]
            with pytest.raises(WatchExpiredError):
                await watch.next()

    asyncio.run(story())


@pytest.mark.parametrize("steps", [[_INTERNAL], [500], [429], [403]])
def test_any_other_trouble_breaks_the_watch(steps: list[Any]) -> None:
    async def story() -> None:
        async with _watching(Watches({"nodes": [steps]})) as watch:
            with pytest.raises(WatchBrokenError):
                await watch.next()

    asyncio.run(story())


def test_a_server_that_is_not_there_breaks_the_watch() -> None:
    async def story() -> None:
        async with served(Watches({})) as url:
            pass
        async with opened(url) as api:
            with pytest.raises(WatchBrokenError, match="Connect call failed"):
                await KubeWatch(api, SystemClock.starting_now(), _position()).next()

    asyncio.run(story())


def test_a_connection_that_is_cut_breaks_the_watch_and_the_next_goes_on_from_there() -> None:
    async def story() -> None:
        script = {
            "pods": [
                [line("ADDED", pod("a", 2)), asyncio.Event()],
                [line("MODIFIED", pod("a", 3, node="n")), asyncio.Event()],
            ]
        }
        server, position = Watches({**script}), _position()
        async with served(server) as url, opened(url) as api:
            watch = KubeWatch(api, SystemClock.starting_now(), position)
            assert await _changes(watch, 1) == [Change.ADDED]
            assert api._session.connector is not None
            for connection in list(api._session.connector._acquired):
                assert connection.transport is not None
                connection.transport.abort()
            with pytest.raises(WatchBrokenError):
                await watch.next()
            again = KubeWatch(api, SystemClock.starting_now(), position)
            assert await _changes(again, 1) == [Change.BOUND]
            again.close()
        assert [revision for kind, revision in server.asked if kind == "pods"] == ["1", "2"]

    asyncio.run(story())


def test_bookmarks_and_old_news_move_the_streams_and_not_the_position() -> None:
    async def story() -> None:
        old = pod("a", 2)
        steps = [line("ADDED", old), line("MODIFIED", {**old, "metadata": {**old["metadata"], "resourceVersion": "5"}})]
        server, position = (
            Watches({"pods": [[*steps, bookmark(9)]], "nodes": [[bookmark(8), asyncio.Event()]]}),
            _position(),
        )
        async with _watching(server, position) as watch:
            assert await _changes(watch, 1) == [Change.ADDED]
            with pytest.raises(WatchBrokenError):
                await watch.next()
        assert [stream.revision for stream in position.streams] == [9, 8, 1]
        assert position.revision == 8, "one batch was told"

    asyncio.run(story())


def test_a_watch_that_is_closed_says_so_to_whoever_waits() -> None:
    async def story() -> None:
        async with _watching(Watches({})) as watch:
            waiting = asyncio.ensure_future(watch.next())
            await asyncio.sleep(0.1)
            watch.close()
            with pytest.raises(WatchBrokenError, match="closed"):
                await waiting

    asyncio.run(story())


def test_a_fault_of_our_own_is_not_waited_for_in_vain() -> None:
    def faulty(*_: Any, **__: Any) -> Any:
        raise RuntimeError("a bug")

    async def story() -> None:
        async with served(Watches({})) as url, opened(url) as api:
            api.stream = faulty  # type: ignore[method-assign]
            with pytest.raises(RuntimeError, match="a bug"):
                await KubeWatch(api, SystemClock.starting_now(), _position()).next()

    asyncio.run(story())


def test_a_watch_can_be_closed_before_it_is_open_and_twice() -> None:
    async def hangs(_: web.BaseRequest) -> web.StreamResponse:
        await asyncio.sleep(60)
        raise AssertionError

    async def story() -> None:
        async with _watching(hangs) as watch:
            watch.close()
            watch.close()
            with pytest.raises(WatchBrokenError):
                await watch.next()
        async with _watching(hangs) as watch:
            await asyncio.sleep(0.1)  # it is connected now, and waits for the first answer
            watch.close()
            tasks = watch._tasks
        assert all(task.done() for task in tasks)

    asyncio.run(story())


class _Lists:
    """An API server with one Pod and one Node, whose watches end at once until told otherwise."""

    def __init__(self) -> None:
        self.watches = Watches({})
        self.revision = 10
        self.still = False
        """Whether nobody writes, so that lists have one revision."""
        self.in_between: Callable[[], Awaitable[object]] | None = None

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        if "watch" in request.query:
            return await self.watches(request)
        kind = request.path.rpartition("/")[2]
        items = {"pods": [pod("a", 4, node="n")], "nodes": [node("n", 5)], "capacityrequests": [request_for("b", 6)]}
        if kind == "pods" and self.in_between is not None:
            await self.in_between()
        found = {"metadata": {"resourceVersion": str(self.revision)}, "items": items.get(kind)}
        self.revision += not self.still
        return web.Response(text=json.dumps(found))


@asynccontextmanager
async def _cluster(server: _Lists) -> AsyncIterator[KubeCluster]:
    async with served(server) as url, opened(url) as api:
        yield KubeCluster("c", api=api, clock=SystemClock.starting_now(), max_pods=10)


def test_a_watch_goes_on_from_the_last_batch_though_its_streams_have_read_further() -> None:
    async def story() -> None:
        server = _Lists()
        server.watches = Watches({"pods": [[line("MODIFIED", pod("a", 14, node="n", leaving=True)), bookmark(20)]]})
        async with _cluster(server) as cluster:
            listed = await cluster.list()
            await cluster.list_nodes()
            watch = cluster.watch(listed.revision)
            batch = await watch.next()
            with pytest.raises(WatchBrokenError):
                await watch.next()
            cluster.watch(batch.revision).close()
            cluster.watch(batch.revision).close()
            with pytest.raises(ValueError, match="neither"):
                cluster.watch(listed.revision)
            await asyncio.sleep(0)
        assert ("nodes", "13") in server.watches.asked, "Nodes are watched from their own list"

    asyncio.run(story())


def test_a_list_after_a_watch_expired_is_a_new_beginning_though_nothing_was_written_since() -> None:
    async def story() -> None:
        server = _Lists()
        server.still = True
        server.watches = Watches({"pods": [[_EXPIRED], [line("ADDED", pod("b", 14)), asyncio.Event()]]})
        async with _cluster(server) as cluster:
            listed = await cluster.list()
            watch = cluster.watch(listed.revision)
            with pytest.raises(WatchExpiredError):
                await watch.next()
            again = await cluster.list()
            assert again.revision > listed.revision
            watch = cluster.watch(again.revision)
            assert await _changes(watch, 2) == [Change.ADDED, Change.REQUESTED]
            with pytest.raises(ValueError, match="neither"):
                cluster.watch(listed.revision)
            watch.close()

    asyncio.run(story())


def test_a_list_for_its_own_sake_takes_nothing_from_one_that_is_to_be_watched_from() -> None:
    async def story() -> None:
        async with _cluster(_Lists()) as cluster:
            listed = await cluster.list()
            await cluster.list()
            await cluster.list()
            cluster.watch(listed.revision).close()
            for _ in range(9):
                listed = await cluster.list()
            assert len(cluster._listed) == 3
            cluster.watch(listed.revision).close()

    asyncio.run(story())


def test_a_list_is_tried_again_and_nobody_is_numbered_who_went_meanwhile() -> None:
    async def story() -> None:
        server = _Lists()
        async with _cluster(server) as cluster:
            (first,) = (await cluster.list()).pods

            async def goes() -> None:
                gone = cluster._numbers.with_number(first)
                assert gone is not None
                cluster._numbers.drop(gone)

            server.in_between = goes
            assert (await cluster.list()).pods.tolist() == []

    asyncio.run(story())
