"""What every process of a run has: a port with metrics and health, an end when its parent ends, a measured loop."""

import asyncio
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager
from typing import Any, Final

from aiohttp import web
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from scaletest_runner.running.memory import resident_kib

__all__ = ["ProcessCosts", "metrics_route", "serving", "until_asked_to_end"]

_LAG_EVERY_S: Final = 0.1
_KIB: Final = 1024


class ProcessCosts(Collector):
    """CPU, memory and loop lag of this process, for a scrape."""

    def __init__(self) -> None:
        self.worst_lag_s = 0.0
        self.lag_s = 0.0

    async def measure(self) -> None:
        """Measure how late the loop is, again and again."""
        loop = asyncio.get_running_loop()
        while True:
            due_s = loop.time() + _LAG_EVERY_S
            await asyncio.sleep(_LAG_EVERY_S)
            lag_s = max(0.0, loop.time() - due_s)
            self.lag_s += lag_s
            self.worst_lag_s = max(self.worst_lag_s, lag_s)

    def collect(self) -> Iterator[CounterMetricFamily | GaugeMetricFamily]:
        """Return what a scrape shows."""
        yield CounterMetricFamily("process_cpu_seconds", "CPU time of the process.", value=time.process_time())
        yield CounterMetricFamily("scaletest_loop_lag_seconds", "Time by which the loop was late.", value=self.lag_s)
        yield GaugeMetricFamily("scaletest_loop_lag_worst_seconds", "Longest single lag.", value=self.worst_lag_s)
        yield GaugeMetricFamily(
            "scaletest_process_resident_bytes", "Memory of the process.", value=resident_kib() * _KIB
        )


def metrics_route(registry: Callable[[], CollectorRegistry], costs: ProcessCosts) -> web.RouteDef:
    """Return the route of `/metrics`."""
    own = CollectorRegistry()
    own.register(costs)

    async def metrics(_: web.Request) -> web.Response:
        text = generate_latest(registry()) + generate_latest(own)
        return web.Response(body=text, headers={"Content-Type": "text/plain; version=0.0.4; charset=utf-8"})

    return web.get("/metrics", metrics)


@asynccontextmanager
async def serving(port: int, routes: Iterable[web.RouteDef]) -> AsyncIterator[None]:
    """Answer on a port of loopback."""
    app = web.Application(client_max_size=64 << 20)
    app.add_routes(routes)
    # At the end nobody is waited for: whoever still asks has to end as well.
    runner = web.AppRunner(app, access_log=None, handle_signals=False, shutdown_timeout=1.0)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    try:
        yield
    finally:
        await runner.cleanup()


def until_asked_to_end() -> "asyncio.Future[str]":
    """Return a future that is done when the parent asks for the end, or is gone: its end of our input closes then."""
    loop = asyncio.get_running_loop()
    asked: asyncio.Future[str] = loop.create_future()

    def end(reason: str) -> None:
        if not asked.done():
            asked.set_result(reason)

    def read() -> None:
        if not os.read(sys.stdin.fileno(), 4096):
            loop.remove_reader(sys.stdin.fileno())
            end("its parent is gone")

    loop.add_reader(sys.stdin.fileno(), read)
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, end, signal.Signals(number).name)
    return asked


def failing_loop(asked: "asyncio.Future[str]") -> Callable[[asyncio.AbstractEventLoop, dict[str, Any]], None]:
    """Return a handler that ends the process when a background task of it has failed."""

    def handler(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if not asked.done():
            asked.set_exception(error if isinstance(error, Exception) else RuntimeError(context["message"]))

    return handler
