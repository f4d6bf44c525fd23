"""The clock of real ground."""

import asyncio
import time

from scaletest.world.kwok.clock import SystemClock


def test_two_clocks_with_one_zero_tell_the_same_time() -> None:
    clock = SystemClock.starting_now()
    other = SystemClock(clock.zero_ns)

    first, second, third = clock.now_us(), other.now_us(), clock.now_us()

    assert 0 <= first <= second <= third < 10_000_000


def test_nobody_wakes_before_the_instant_that_was_waited_for() -> None:
    async def story() -> None:
        clock = SystemClock.starting_now()
        for lasts_us in (1, 900, 3_000, 20_000):
            until_us = clock.now_us() + lasts_us
            await clock.sleep_until(until_us)
            assert clock.now_us() >= until_us

    asyncio.run(story())


def test_an_instant_that_has_passed_only_lets_others_go_first() -> None:
    async def story() -> None:
        clock, order = SystemClock(time.monotonic_ns() - 10**9), list[str]()
        other = asyncio.ensure_future(_note(order))
        await clock.sleep_until(0)
        order.append("slept")
        await other
        assert order == ["other", "slept"]

    asyncio.run(story())


async def _note(order: list[str]) -> None:
    order.append("other")
