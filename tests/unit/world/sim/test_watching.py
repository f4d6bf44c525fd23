import asyncio

import pytest

from scaletest.ports.cluster import Change, PodEvent, WatchBatch, WatchBrokenError, WatchExpiredError
from sim_clusters import SECOND_US, WATCH_US, Stage, constant, machine, owner, world


def test_events_come_after_the_delay_as_far_apart_as_they_happened_and_together_if_they_did() -> None:
    stage = Stage()

    async def story() -> None:
        watch = stage.cluster.watch(0)
        await stage.cluster.create_owners([owner(1, 3)])
        created_us = stage.loop.now_us()
        await stage.sleep(0.01)
        await stage.cluster.create_requests(stage.pods()[:1])
        requested_us = stage.loop.now_us()
        first, second = await watch.next(), await watch.next()
        assert (first.received_us, second.received_us) == (created_us + WATCH_US, requested_us + WATCH_US)
        assert [event.change for event in first.pods] == [Change.ADDED] * 3
        assert [event.change for event in second.pods] == [Change.REQUESTED]
        assert (first.after_us, first.revision, first.nodes) == (0, 3, ())
        assert (second.after_us, second.revision) == (created_us, 4)

    stage.run(story)


def test_what_happens_after_a_delivery_comes_with_the_next_one() -> None:
    stage = Stage()

    async def story() -> None:
        watch = stage.cluster.watch(0)
        await stage.cluster.create_owners([owner(1, 1)])
        first = await watch.next()
        await stage.sleep(5)
        await stage.cluster.create_requests(stage.pods())
        second = await watch.next()
        assert second.after_us == first.received_us - WATCH_US
        assert second.received_us == stage.loop.now_us()
        assert [event.change for event in second.pods] == [Change.REQUESTED]

    stage.run(story)


def test_a_reader_who_is_late_finds_everything_in_one_batch_and_a_cancelled_one_loses_nothing() -> None:
    stage = Stage()

    async def story() -> WatchBatch:
        watch = stage.cluster.watch(0)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1):
                await watch.next()
        for number in (1, 2):
            await stage.cluster.create_owners([owner(number, 1)])
            await stage.sleep(1)
        return await watch.next()

    batch = stage.run(story)

    assert [event.owner for event in batch.pods] == [1, 2]
    assert batch.received_us == stage.loop.now_us()


def test_two_watchers_share_events_and_node_events_travel_with_them() -> None:
    stage = Stage()

    async def story() -> None:
        one, two = stage.cluster.watch(0), stage.cluster.watch(0)
        await stage.cluster.create_owners([owner(1, 1)])
        await stage.add_nodes(machine("n"))
        await stage.sleep(1)
        first, second = await one.next(), await two.next()
        assert first.pods[0] is second.pods[0]
        assert [event.change for event in first.nodes] == [Change.ADDED, Change.READY]

    stage.run(story)


def test_a_watch_from_an_older_revision_shows_what_followed_it() -> None:
    stage = Stage()

    async def story() -> None:
        await stage.cluster.create_owners([owner(1, 2)])
        listed = await stage.cluster.list()
        await stage.sleep(3)
        await stage.cluster.create_requests(stage.pods())
        batch = await stage.cluster.watch(listed.revision).next()
        assert [event.change for event in batch.pods] == [Change.REQUESTED] * 2
        assert batch.after_us < 2 * SECOND_US < batch.received_us

    stage.run(story)


def test_delays_are_keyed_by_watch_and_delivery() -> None:
    setting = world(watch_delay=constant(0.02).model_copy(update={"p99_seconds": 0.1}))

    async def receipts(stage: Stage) -> list[int]:
        watches = [stage.cluster.watch(0), stage.cluster.watch(0)]
        await stage.cluster.create_owners([owner(1, 1)])
        return [batch.received_us for batch in await asyncio.gather(*(watch.next() for watch in watches))]

    one, two = Stage(setting), Stage(setting)
    first = one.run(lambda: receipts(one))

    assert first == two.run(lambda: receipts(two))
    assert first[0] != first[1]


def test_a_broken_watch_goes_on_from_its_last_revision_and_tells_how_old_the_news_may_be() -> None:
    stage = Stage(world(watch_breaks_per_hour=3600.0))

    async def story() -> tuple[list[PodEvent], int, int]:
        await stage.cluster.create_owners([owner(number, 1) for number in range(50)])
        watch, revision, happened_us, breaks, gaps = stage.cluster.watch(0), 0, 0, 0, 0
        seen: list[PodEvent] = []
        while stage.loop.now_us() < 60 * SECOND_US:
            try:
                async with asyncio.timeout(1):
                    batch = await watch.next()
            except (WatchBrokenError, WatchExpiredError):
                breaks += 1
                await stage.cluster.create_requests(stage.pods()[breaks : breaks + 1])
                watch = stage.cluster.watch(revision)
            except TimeoutError:
                continue
            else:
                assert batch.after_us == happened_us
                gaps += batch.received_us - happened_us > 2 * WATCH_US
                revision, happened_us = batch.revision, stage.cluster._log.happened_us(batch.revision)
                seen += batch.pods
        return seen, breaks, gaps

    seen, breaks, gaps = stage.run(story)

    assert 40 < breaks < 90
    assert gaps > 10
    assert len(set(seen)) == len(seen) == revision_of(stage)


def revision_of(stage: Stage) -> int:
    return stage.cluster._log.revision


def test_one_break_in_four_says_list_again() -> None:
    stage = Stage(world(watch_breaks_per_hour=3600.0))

    async def story() -> list[type[Exception]]:
        ends: list[type[Exception]] = []
        for _ in range(400):
            watch = stage.cluster.watch(0)
            try:
                await watch.next()
            except (WatchBrokenError, WatchExpiredError) as error:
                ends.append(type(error))
        return ends

    ends = stage.run(story)

    assert 70 < sum(end is WatchExpiredError for end in ends) < 130
    assert abs(stage.loop.now_us() / SECOND_US - 400) < 80


def test_a_revision_that_is_not_kept_any_more_has_expired() -> None:
    stage = Stage()

    async def story() -> int:
        watch = stage.cluster.watch(0)
        for number in range(8):
            await stage.cluster.create_owners([owner(number, 1000)])
            await watch.next()
            await stage.sleep(70)
        with pytest.raises(WatchExpiredError, match="older than the oldest kept"):
            await stage.cluster.watch(500).next()
        await stage.cluster.watch(8000 - 1).next()
        watch.close()
        return len(stage.events())

    assert stage.run(story) < 4100


def test_what_an_open_watch_has_not_shown_is_kept() -> None:
    stage = Stage(world(watch_delay=constant(300.0)))

    async def story() -> int:
        slow = stage.cluster.watch(0)
        for number in range(4):
            await stage.cluster.create_owners([owner(number, 1000)])
            stage.cluster.watch((await stage.cluster.list()).revision)
            await stage.sleep(70)
        return sum([len((await slow.next()).pods) for _ in range(4)])

    assert stage.run(story) == 4000


def test_a_closed_watch_says_so_and_gets_nothing_more() -> None:
    stage = Stage()

    async def story() -> None:
        watch = stage.cluster.watch(0)
        waiting = asyncio.ensure_future(watch.next())
        await stage.sleep(1)
        watch.close()
        with pytest.raises(WatchBrokenError, match="closed"):
            await waiting
        await stage.cluster.create_owners([owner(1, 1)])
        await stage.sleep(1)
        with pytest.raises(WatchBrokenError):
            await watch.next()

    stage.run(story)
