import asyncio
from collections.abc import Callable, Coroutine
from contextvars import copy_context
from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaletest.ports.crew import Crew
from scaletest.world.sim.loop import DeadlockError, RunawayError, VirtualClock, VirtualLoop

HOUR_US = 3_600_000_000


def test_an_hour_of_sleep_takes_no_time_and_ends_on_the_microsecond() -> None:
    loop = VirtualLoop()
    clock = VirtualClock(loop)
    loop.run_until_complete(clock.sleep_until(HOUR_US + 1))

    assert clock.now_us() == HOUR_US + 1


def test_what_is_due_at_one_instant_runs_in_the_order_it_was_asked_for() -> None:
    loop = VirtualLoop()
    clock = VirtualClock(loop)
    seen: list[int] = []

    async def sleeper(number: int) -> None:
        await clock.sleep_until(5)
        seen.append(number)

    async def main() -> None:
        loop.at(5, seen.append, -1)
        await asyncio.gather(*(sleeper(number) for number in range(50)))

    loop.run_until_complete(main())

    assert seen == [-1, *range(50)]


@given(st.lists(st.tuples(st.integers(0, 5000), st.lists(st.integers(0, 5000), max_size=3)), max_size=30))
def test_timers_run_by_instant_and_then_in_the_order_they_were_asked_for(wanted: list[tuple[int, list[int]]]) -> None:
    loop, ran, asked = VirtualLoop(), list[tuple[int, int]](), list[tuple[int, int]]()

    def ask(at_us: int, then: list[int]) -> None:
        number = len(asked)
        asked.append((max(at_us, loop.now_us()), number))

        def run() -> None:
            ran.append((loop.now_us(), number))
            for later_us in then:
                ask(later_us, [])

        loop.at(at_us, run)

    for at_us, then in wanted:
        ask(at_us, then)
    loop.run_until_complete(VirtualClock(loop).sleep_until(6000))

    assert ran == sorted(asked)


def test_asyncio_timeouts_run_on_virtual_time() -> None:
    loop = VirtualLoop()

    async def main() -> int:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(30):
                await asyncio.sleep(3600)
        return loop.now_us()

    assert loop.run_until_complete(main()) == 30_000_000


def test_a_deadlock_is_reported_with_its_instant() -> None:
    loop = VirtualLoop()

    async def main() -> None:
        await asyncio.sleep(1.5)
        await loop.create_future()

    with pytest.raises(DeadlockError, match=r"everybody waits at 1\.5 s of virtual time"):
        loop.run_until_complete(main())


async def _sleep_for_no_time(_loop: VirtualLoop) -> None:
    for _ in count():
        await asyncio.sleep(0)


async def _sleep_until_now(loop: VirtualLoop) -> None:
    for _ in count():
        await VirtualClock(loop).sleep_until(loop.now_us())


async def _wait_for_nothing(loop: VirtualLoop) -> None:
    for _ in count():
        future = loop.create_future()
        loop.call_soon(future.set_result, None)
        await future


@pytest.mark.parametrize("work", [_sleep_for_no_time, _sleep_until_now, _wait_for_nothing])
@pytest.mark.timeout(20)
def test_a_loop_that_never_advances_the_clock_is_reported_with_its_instant_and_task(
    work: Callable[[VirtualLoop], Coroutine[Any, Any, None]],
) -> None:
    loop = VirtualLoop(most_at_once=1000)

    async def main() -> None:
        await asyncio.sleep(2)
        await loop.create_task(work(loop), name="agent c-1: watch")

    with pytest.raises(RunawayError, match=r"at 2 s of virtual time, and the clock stands still \(agent c-1: watch\)"):
        loop.run_until_complete(main())


@pytest.mark.timeout(20)
def test_a_timer_for_this_very_instant_that_comes_again_and_again_is_reported_by_its_name() -> None:
    loop = VirtualLoop(most_at_once=1000)

    def again() -> None:
        loop.at(0, again)

    async def main() -> None:
        again()
        await loop.create_future()

    with pytest.raises(RunawayError, match=r"\(.*again\)"):
        loop.run_until_complete(main())


@pytest.mark.parametrize(
    "disturb",
    [
        lambda loop: loop.run_in_executor(None, print),
        lambda loop: loop.add_signal_handler(2, print),
        lambda loop: loop.call_soon_threadsafe(print),
    ],
    ids=["executor", "signal", "thread"],
)
def test_what_could_disturb_the_order_is_refused(disturb: Callable[[VirtualLoop], object]) -> None:
    with pytest.raises(NotImplementedError):
        disturb(VirtualLoop())


def test_a_background_task_that_fails_ends_the_run() -> None:
    loop = VirtualLoop()

    async def fails() -> None:
        await asyncio.sleep(1)
        raise ValueError("broken")

    async def main() -> None:
        Crew().start(fails(), name="part")
        await asyncio.sleep(10)

    with pytest.raises(ValueError, match="broken"):
        loop.run_until_complete(main())
    assert loop.now_us() == 1_000_000


def test_the_hook_is_called_between_callbacks_and_can_end_the_run() -> None:
    class InterruptError(Exception):
        pass

    def hook(_now_us: int) -> None:
        raise InterruptError

    loop = VirtualLoop(hook=hook)

    async def main() -> None:
        for _ in range(10_000):
            await asyncio.sleep(1)

    with pytest.raises(InterruptError):
        loop.run_until_complete(main())


def test_what_is_called_soon_can_be_cancelled_unless_it_is_a_tasks_next_step() -> None:
    loop, called = VirtualLoop(), list[str]()

    async def main() -> None:
        loop.call_soon(called.append, "cancelled").cancel()
        kept = loop.call_soon(called.append, "kept", context=copy_context())
        with pytest.raises(NotImplementedError):
            kept.cancel()
        await VirtualClock(loop).sleep_until(1)

    loop.run_until_complete(main())
    assert called == ["kept"]
