"""Virtual time: an event loop in whole microseconds that jumps from one thing to do to the next.

Everything due at one instant runs in the order in which it was asked for. There is no selector and no thread, so
nothing outside the program can change that order; sockets, executors and signals are refused. A run that can never go
on, or goes on for ever without its clock advancing, ends with an error that names the virtual instant.
"""

import asyncio
import gc
from collections import deque
from collections.abc import Callable, Coroutine, Generator
from contextvars import Context
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from scaletest.model import US_PER_SECOND, seconds_text

__all__ = ["DeadlockError", "RunawayError", "StalledError", "VirtualClock", "VirtualLoop"]

_MOST_AT_ONCE: Final = 1_000_000
_HOOK_EVERY: Final = 1 << 10
_SPAN_BITS: Final = 10
"""Timers are kept by spans of about a millisecond, and only those of the span that is being played are in order."""

# Every method of the abstract loop that is not written here raises NotImplementedError, which is the refusal meant. A
# type checker would call the class abstract, so it is shown asyncio's concrete one.
if TYPE_CHECKING:
    _Loop = asyncio.BaseEventLoop
else:
    _Loop = asyncio.AbstractEventLoop

T = TypeVar("T")
Callback = Callable[..., object]
_Timer = tuple[int, int, Callback, tuple[Any, ...]]
"""When, in which order of asking, and what."""


class StalledError(Exception):
    """The simulated world cannot go on; it says when that was."""


class DeadlockError(StalledError):
    """Somebody waits, and nothing is left that could wake them."""


class RunawayError(StalledError):
    """Things go on happening and the clock does not advance."""


class VirtualLoop(_Loop):
    """The loop. `hook` is called now and then between two callbacks; what it raises ends the run."""

    def __init__(self, *, hook: Callable[[int], None] | None = None, most_at_once: int = _MOST_AT_ONCE) -> None:
        self._now_us = 0
        self._sequence = 0
        self._span = 0
        self._soon: list[_Timer] = []
        """A heap of what is due up to the end of the current span."""
        self._later: dict[int, list[_Timer]] = {}
        """What is due after it by span, in no order."""
        self._spans: list[int] = []
        """A heap of the spans of `_later`."""
        self._ready: deque[tuple[Callback, tuple[Any, ...]]] = deque()
        self._hook = hook
        self._most_at_once = most_at_once
        self._running = False
        self._closed = False

    def now_us(self) -> int:
        """Return the instant."""
        return self._now_us

    def at(self, at_us: int, callback: Callback, *args: Any) -> None:
        """Call back at an instant; cheaper than `call_at`, and not to be cancelled."""
        self._sequence += 1
        at_us = max(at_us, self._now_us)
        timer = (at_us, self._sequence, callback, args)
        span = at_us >> _SPAN_BITS
        if span <= self._span:
            heappush(self._soon, timer)
        elif span in self._later:
            self._later[span].append(timer)
        else:
            self._later[span] = [timer]
            heappush(self._spans, span)

    def instant(self, at_us: int) -> asyncio.Future[None]:
        """Return a future that is done at an instant, unless it is done before."""
        future: asyncio.Future[None] = asyncio.Future(loop=self)
        self.at(at_us, _finish, future)
        return future

    def run_until_complete(self, future: Generator[Any, None, T] | Coroutine[Any, Any, T] | asyncio.Future[T]) -> T:  # type: ignore[override]  # typeshed says Awaitable
        """Run until the future is done; raise StalledError when it never will be."""
        # The way asyncio's own loops mark themselves as running.
        previous = asyncio._get_running_loop()  # noqa: SLF001
        asyncio._set_running_loop(self)  # noqa: SLF001
        self._running = True
        try:
            main = asyncio.ensure_future(cast("Coroutine[Any, Any, T]", future), loop=self)
            self._run(main)
            return main.result()
        finally:
            self._running = False
            asyncio._set_running_loop(previous)  # noqa: SLF001

    def _run(self, main: asyncio.Future[T]) -> None:
        """Run callback after callback; this is the innermost loop of every simulated run."""
        ready, done = self._ready, main.done
        take = ready.popleft
        at_once = since = 0
        while not done():
            if ready:
                callback, args = take()
            else:
                before_us = self._now_us
                callback, args = self._advance()
                if self._now_us > before_us:
                    at_once = 0
            callback(*args)
            at_once += 1
            since += 1
            if since == _HOOK_EVERY:
                since = 0
                self._look_up(at_once, callback, args)

    def _look_up(self, at_once: int, callback: Callback, args: tuple[Any, ...]) -> None:
        """Look up from the work: the clock must still be moving, and somebody outside may want something."""
        if at_once > self._most_at_once:
            who = _who(callback, args)
            raise RunawayError(f"{at_once:,} callbacks at {self._instant}, and the clock stands still ({who})")
        if self._hook is not None:
            self._hook(self._now_us)

    def _advance(self) -> tuple[Callback, tuple[Any, ...]]:
        """Move to the next instant with something to do; return the first of it, and make the rest ready."""
        soon = self._soon or self._next_span()
        self._now_us, _, callback, args = heappop(soon)
        while soon and soon[0][0] == self._now_us:
            self._ready.append(heappop(soon)[2:])
        return callback, args

    def _next_span(self) -> list[_Timer]:
        """Move to the next span with something to do, and put that in order."""
        if not self._spans:
            raise DeadlockError(f"everybody waits at {self._instant}, and nothing is left to happen")
        self._span = heappop(self._spans)
        self._soon = self._later.pop(self._span)
        heapify(self._soon)
        return self._soon

    @property
    def _instant(self) -> str:
        return f"{seconds_text(self._now_us)} s of virtual time"

    # What asyncio asks of a loop.

    def time(self) -> float:
        """Return the instant in seconds, for asyncio's own use."""
        return self._now_us / US_PER_SECOND

    def call_soon(  # type: ignore[override]  # typeshed ties callback and arguments together
        self, callback: Callback, *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        """Call back at this instant, after whatever was asked for before."""
        if context is not None:
            # A task's next step, more than half of all callbacks; tasks never cancel it.
            self._ready.append((context.run, (callback, *args)))
            return _KEPT
        handle = _Soon(callback, args)
        self._ready.append((handle.run, ()))
        return cast("asyncio.Handle", handle)

    def call_later(  # type: ignore[override]  # typeshed ties callback and arguments together
        self, delay: float, callback: Callback, *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """Call back after some seconds."""
        return self._call_at_us(self._now_us + round(delay * US_PER_SECOND), callback, args, context)

    def call_at(  # type: ignore[override]  # typeshed ties callback and arguments together
        self, when: float, callback: Callback, *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """Call back at an instant in seconds."""
        return self._call_at_us(round(when * US_PER_SECOND), callback, args, context)

    def _call_at_us(
        self, at_us: int, callback: Callback, args: tuple[Any, ...], context: Context | None
    ) -> asyncio.TimerHandle:
        handle = asyncio.TimerHandle(at_us / US_PER_SECOND, callback, args, self, context)
        self.at(at_us, _run_handle, handle)
        return handle

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Leave a cancelled timer in the heap; it does nothing when it is due."""

    def create_future(self) -> asyncio.Future[Any]:
        """Return a future of this loop."""
        return asyncio.Future(loop=self)

    def create_task(  # type: ignore[override]  # typeshed adds parameters of later versions
        self, coro: Coroutine[Any, Any, T], *, name: str | None = None, context: Context | None = None
    ) -> asyncio.Task[T]:
        """Start a task."""
        return asyncio.Task(coro, loop=self, name=name, context=context)

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Raise what would otherwise only be logged: nothing may go wrong unseen."""
        if not self._running:
            return  # tasks that are dropped after the run's end were of no more use
        error = context.get("exception")
        if isinstance(error, BaseException):
            raise error
        raise RuntimeError(str(context.get("message")))

    def get_debug(self) -> bool:
        """Return False: asyncio's debug mode measures wall time."""
        return False

    def is_running(self) -> bool:
        """Say whether it runs."""
        return self._running

    def is_closed(self) -> bool:
        """Say whether it was closed."""
        return self._closed

    def close(self) -> None:
        """Forget everything that is still to happen."""
        self._closed = True
        self._soon.clear()
        self._later.clear()
        self._spans.clear()
        self._ready.clear()


class VirtualClock:
    """The Clock port over the loop."""

    def __init__(self, loop: VirtualLoop) -> None:
        self._loop = loop

    def now_us(self) -> int:
        """Return the instant."""
        return self._loop.now_us()

    async def sleep_until(self, at_us: int) -> None:
        """Wait for an instant."""
        await self._loop.instant(at_us)


class _Soon:
    """A handle of `call_soon` with what callers use of one; asyncio's own takes several times as long to make."""

    __slots__ = ("_args", "_callback", "_is_cancelled")

    def __init__(self, callback: Callback, args: tuple[Any, ...]) -> None:
        self._callback = callback
        self._args = args
        self._is_cancelled = False

    def cancel(self) -> None:
        self._is_cancelled = True

    def cancelled(self) -> bool:
        return self._is_cancelled

    def run(self) -> None:
        if not self._is_cancelled:
            self._callback(*self._args)


class _Kept:
    """The handle of what cannot be cancelled any more: whoever tries is told so."""

    def cancel(self) -> None:
        raise NotImplementedError("what is called soon in a context is called")


_KEPT: Final = cast("asyncio.Handle", _Kept())


def _who(callback: Callback, args: tuple[Any, ...]) -> str:
    """Return the task that is stepped or woken by a callback, or else what was called."""
    # A step knows its task, and a future its waiter's next step; only the garbage collector is told.
    for known in (gc.get_referents(*args), gc.get_referents(*gc.get_referents(*args))):
        for each in known:
            if isinstance(each, asyncio.Task):
                return each.get_name()
    return getattr(callback, "__qualname__", str(callback))


def _run_handle(handle: asyncio.Handle) -> None:
    if not handle.cancelled():
        # Not handle._run, which swallows exceptions.
        handle._context.run(handle._callback, *handle._args)  # type: ignore[attr-defined]  # noqa: SLF001


def _finish(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
