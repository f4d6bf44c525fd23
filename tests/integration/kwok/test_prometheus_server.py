"""A Prometheus of our own: pages of this test and of a real cluster, read back as evidence."""

import asyncio
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from scaletest.evidence import Metrics
from scaletest.world.kwok.clusters import create_cluster
from scaletest.world.kwok.components import MetricsPage
from scaletest.world.kwok.errors import GroundError
from scaletest.world.kwok.homes import read_marker
from scaletest.world.kwok.listeners import listeners
from scaletest.world.kwok.prometheus import read_samples
from scaletest.world.kwok.prometheus_server import (
    CONTROL_PLANE_METRICS,
    PrometheusServer,
    Scraped,
    control_plane,
    start_prometheus,
)
from scaletest.world.kwok.runs import LiveRun, registered_runs

pytestmark = [pytest.mark.real, pytest.mark.timeout(300)]

_PAGE = 'work_total{target="own"} 7 1000\nidle_total 1\n'


@contextmanager
def _exporter() -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.end_headers()
            self.wfile.write(_PAGE.encode())

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()


def _engine(address: str, *, kept: tuple[str, ...] = ()) -> Scraped:
    return Scraped("engine", MetricsPage(address, "http"), interval_ms=200, kept=kept)


async def _read(server: PrometheusServer, names: tuple[str, ...], *, since_ms: int, targets: int) -> Metrics:
    """Return what was scraped once every target has been scraped twice."""
    deadline = time.monotonic() + 60
    while True:
        end_ms = int(time.time() * 1000) - 500
        metrics = await asyncio.to_thread(
            read_samples, server.server, names, start_ms=since_ms, end_ms=end_ms, targets=server.targets
        )
        up = metrics.find("up")
        if len(up) == targets and all(len(each.times_ms) >= 2 for each in up):
            return metrics
        assert time.monotonic() < deadline
        await asyncio.sleep(0.2)


def test_a_page_is_scraped_under_our_name_at_our_instants_and_only_what_is_wanted(
    run: LiveRun, toolchain: Path
) -> None:
    async def scraped(address: str) -> Metrics:
        since_ms = int(time.time() * 1000) - 1000
        server = await start_prometheus(run, toolchain, [_engine(address, kept=("work_total",))])
        metrics = await _read(server, ("work_total", "idle_total"), since_ms=since_ms, targets=1)
        found = listeners([_pid(run)])
        assert {each.host for each in found} == {"127.0.0.1"}
        assert not server.dead()
        assert server.cost() is not None
        await server.stop()
        assert server.dead()
        assert server.cost() is None
        return metrics

    with _exporter() as address:
        metrics = asyncio.run(scraped(address))

    (work,), (up,) = metrics.find("work_total"), metrics.find("up")
    assert work.labels == {"exported_target": "own", "target": "engine"}
    assert set(work.times_ms) <= set(up.times_ms)  # not the second 1 that the page claims
    assert metrics.find("idle_total") == []
    assert (run.folder / "prometheus" / "data").is_dir()
    run.end()
    assert registered_runs() == ([], [])


def test_a_target_is_looked_for_before_anybody_answers_there(run: LiveRun, toolchain: Path) -> None:
    async def looked_for() -> Metrics:
        server = await start_prometheus(run, toolchain, [_engine("127.0.0.1:1")])
        since_ms = int(time.time() * 1000) - 1000
        await server.scraping()
        end_ms = int(time.time() * 1000)
        metrics = read_samples(server.server, (), start_ms=since_ms, end_ms=end_ms, targets=server.targets)
        await server.stop()
        return metrics

    (up,) = asyncio.run(looked_for()).find("up")
    assert set(up.values) == {0.0}


def test_a_control_plane_is_scraped_from_when_it_is_asked_for(run: LiveRun, toolchain: Path) -> None:
    async def scraped(address: str) -> tuple[Metrics, list[Scraped]]:
        cluster = await create_cluster("c1", run=run, binaries=toolchain)
        since_ms = int(time.time() * 1000) - 1000
        server = await start_prometheus(run, toolchain, [_engine(address)])
        await _read(server, ("work_total",), since_ms=since_ms, targets=1)
        pages = control_plane(cluster, interval_ms=1_000)
        await server.scrape(pages)
        metrics = await _read(server, CONTROL_PLANE_METRICS, since_ms=since_ms, targets=6)
        await server.stop()
        await cluster.destroy()
        return metrics, pages

    with _exporter() as address:
        metrics, pages = asyncio.run(scraped(address))

    assert {each.labels["target"]: set(each.values) for each in metrics.find("up")} == {
        "engine": {1.0},
        **{page.target: {1.0} for page in pages},
    }
    assert {each.labels["target"] for each in metrics.find("process_resident_memory_bytes")} == {
        page.target for page in pages
    }
    assert {each.labels["target"] for each in metrics.find("apiserver_request_total")} == {"c1/kube-apiserver"}
    engine = next(each for each in metrics.find("up") if each.labels["target"] == "engine")
    gaps = [after - before for before, after in zip(engine.times_ms, engine.times_ms[1:], strict=False)]
    assert max(gaps) < 2_000  # a reload does not interrupt the others


def test_a_target_that_is_refused_is_said_at_the_start_and_later(run: LiveRun, toolchain: Path) -> None:
    odd = Scraped("engine", MetricsPage("127.0.0.1:1/metrics", "http"))

    with pytest.raises(GroundError, match=r"it ended with 2\n.*not a valid hostname"):
        asyncio.run(start_prometheus(run, toolchain, [odd]))
    assert run.entry.homes == ()

    async def told_later() -> None:
        server = await start_prometheus(run, toolchain, [])
        with pytest.raises(GroundError, match="it did not take its new targets"):
            await server.scrape([odd])
        assert not server.dead()
        assert server.targets == {}
        await server.stop()

    shutil.rmtree(run.folder / "prometheus")
    asyncio.run(told_later())


def test_a_folder_without_prometheus_is_said(run: LiveRun, tmp_path: Path) -> None:
    with pytest.raises(GroundError, match=f"there is no program {tmp_path}/prometheus"):
        asyncio.run(start_prometheus(run, tmp_path, []))


def _pid(run: LiveRun) -> int:
    marker = read_marker(run.folder / "prometheus")
    assert marker is not None
    return marker.processes["prometheus"].pid
