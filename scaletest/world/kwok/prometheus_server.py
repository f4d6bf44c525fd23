"""A Prometheus of our own: started on what a run wants scraped, told of more targets later, ended with the run."""

import asyncio
import http.client
import os
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any, Final

from scaletest.world.kwok.clusters import KwokCluster
from scaletest.world.kwok.components import MetricsPage
from scaletest.world.kwok.errors import GroundError
from scaletest.world.kwok.first_scrapes import never_scraped
from scaletest.world.kwok.homes import HomeKind, clear_home, replace_file
from scaletest.world.kwok.kwokctl import telling_lines
from scaletest.world.kwok.ports import LOOPBACK
from scaletest.world.kwok.processes import Cost, identify
from scaletest.world.kwok.prometheus import ScrapeTarget, Server
from scaletest.world.kwok.runs import LiveRun

__all__ = [
    "CONTROL_PLANE_METRICS",
    "PrometheusServer",
    "Scraped",
    "control_plane",
    "start_prometheus",
]

CONTROL_PLANE_METRICS: Final = (
    "apiserver_current_inflight_requests",
    "apiserver_request_terminations_total",
    "apiserver_request_total",
    "apiserver_storage_objects",
    "apiserver_storage_size_bytes",
    "etcd_mvcc_db_total_size_in_bytes",
    "etcd_server_slow_apply_total",
    "go_goroutines",
    "process_cpu_seconds_total",
    "process_resident_memory_bytes",
    "process_start_time_seconds",
    "scheduler_pending_pods",
    "scheduler_schedule_attempts_total",
    "workqueue_depth",
)
"""All that is kept of a control plane's pages, which have tens of thousands of series."""

_CONFIG: Final = "prometheus.yml"
_LOG: Final = "prometheus.log"
_START_S: Final = 60.0
_POLL_S: Final = 0.05
_HTTP_S: Final = 10.0
_TIMEOUT_MS: Final = 10_000


@dataclass(frozen=True, slots=True)
class Scraped:
    """A page that is scraped under a name of ours."""

    target: str
    """Unique in the run: the label that all its series carry."""
    page: MetricsPage
    interval_ms: int = 2_000
    kept: tuple[str, ...] = ()
    """The metrics to keep; empty keeps all."""


def control_plane(cluster: KwokCluster, *, interval_ms: int = 15_000) -> list[Scraped]:
    """Return the pages of a cluster's components: targets CLUSTER/COMPONENT."""
    return [
        Scraped(f"{cluster.name}/{each.name}", each.metrics, interval_ms, CONTROL_PLANE_METRICS)
        for each in cluster.components
    ]


class PrometheusServer:
    """A running server. Its database stays in the run's folder when it ends."""

    def __init__(self, home: Path, run: LiveRun, process: "subprocess.Popen[bytes]", port: int) -> None:
        self._home, self._run, self._process, self._port = home, run, process, port
        self._identity = identify(process.pid)
        self._scraped: tuple[Scraped, ...] = ()

    @property
    def server(self) -> Server:
        """Return the server as samples are read from it."""
        return Server(f"http://{LOOPBACK}:{self._port}")

    @property
    def targets(self) -> dict[ScrapeTarget, str]:
        """Return which of our targets a job and instance of the server is."""
        return {ScrapeTarget(each.target, each.page.address): each.target for each in self._scraped}

    def dead(self) -> bool:
        """Return whether the server is gone."""
        return self._identity is None or not self._identity.alive()

    def cost(self) -> Cost | None:
        """Return what the server has cost so far; None when it is gone."""
        return self._identity.cost() if self._identity else None

    async def scraping(self) -> None:
        """Wait until the server has tried every target; raise GroundError when it does not."""
        if missing := await never_scraped(self.server, self.targets, patience_s=_START_S, answered=False):
            raise _failed(self._home, f"it has not scraped {' and '.join(missing)} after {_START_S:g} s")

    async def scrape(self, more: Iterable[Scraped]) -> None:
        """Scrape these as well from now on; the others go on undisturbed."""
        wanted = (*self._scraped, *more)
        _write_config(self._home, wanted)
        status, said = await asyncio.to_thread(_asked, self._port, "POST", "/-/reload")
        if status != http.HTTPStatus.OK:
            raise _failed(self._home, f"it did not take its new targets ({said or 'no answer'})")
        self._scraped = wanted

    async def stop(self) -> None:
        """End the server."""
        await clear_home(self._home, run=self._run.entry.run, logs=None)
        self._process.wait()  # it has ended; this takes its exit code from the system
        self._run.release(self._home)

    async def ready(self, scraped: tuple[Scraped, ...]) -> None:
        """Return when the server takes requests; raise GroundError when it does not."""
        self._scraped = scraped
        if self._identity is not None:
            self._run.note(self._home, HomeKind.PROCESS, {"prometheus": self._identity})
        deadline = monotonic() + _START_S
        while (await asyncio.to_thread(_asked, self._port, "GET", "/-/ready"))[0] != http.HTTPStatus.OK:
            if (code := self._process.poll()) is not None:
                raise _failed(self._home, f"it ended with {code}")
            if monotonic() > deadline:
                raise _failed(self._home, f"it was not ready after {_START_S:g} s")
            await asyncio.sleep(_POLL_S)


async def start_prometheus(run: LiveRun, binaries: Path, scraped: Iterable[Scraped]) -> PrometheusServer:
    """Start a server in the run's folder (`prometheus/`) and return it when it is ready."""
    program = binaries / "prometheus"
    if not os.access(program, os.X_OK):
        raise GroundError(
            "Prometheus cannot be started",
            why=f"there is no program {program}",
            remedy="name a folder of binaries that holds it",
        )
    home, port, wanted = run.folder / "prometheus", run.ports.take(1)[0], tuple(scraped)
    run.claim(home, HomeKind.PROCESS)
    _write_config(home, wanted)
    server = PrometheusServer(home, run, _started(program, home, port), port)
    try:
        await server.ready(wanted)
    except BaseException:
        await server.stop()
        raise
    return server


def _started(program: Path, home: Path, port: int) -> "subprocess.Popen[bytes]":
    # Not a process of the event loop, which would kill it at its own end: the server of a kept run lives on.
    with (home / _LOG).open("wb") as log:
        return subprocess.Popen(  # noqa: S603 - our own argv
            [
                program,
                f"--config.file={home / _CONFIG}",
                f"--storage.tsdb.path={home / 'data'}",
                f"--web.listen-address={LOOPBACK}:{port}",
                "--web.enable-lifecycle",  # a reload that is acknowledged, unlike one by signal
            ],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            umask=0o077,
            start_new_session=True,  # Ctrl-C is for us; what was scraped is still to be read
        )


def _write_config(home: Path, scraped: Iterable[Scraped]) -> None:
    targets = [each.target for each in scraped]
    assert len(set(targets)) == len(targets), targets
    # JSON is YAML. Stored samples carry the instant of their scrape, by which they are told apart (ADR 0010).
    replace_file(home / _CONFIG, {"scrape_configs": [_job(each) for each in scraped]})


def _job(scraped: Scraped) -> dict[str, Any]:
    page = scraped.page
    job: dict[str, Any] = {
        "job_name": scraped.target,
        "scrape_interval": f"{scraped.interval_ms}ms",
        "scrape_timeout": f"{min(scraped.interval_ms, _TIMEOUT_MS)}ms",
        "honor_timestamps": False,
        "metrics_path": page.path,
        "scheme": page.scheme,
        "static_configs": [{"targets": [page.address]}],
    }
    if page.scheme == "https":
        job["tls_config"] = _tls(page)
    if scraped.kept:
        kept = {"source_labels": ["__name__"], "regex": "|".join(scraped.kept), "action": "keep"}
        job["metric_relabel_configs"] = [kept]
    return job


def _tls(page: MetricsPage) -> dict[str, Any]:
    if page.credentials is None:
        return {"insecure_skip_verify": True}
    shown = page.credentials
    return {"ca_file": str(shown.ca), "cert_file": str(shown.cert), "key_file": str(shown.key)}


def _asked(port: int, method: str, path: str) -> tuple[int, str]:
    """Return status and text of an answer, or 0 when there is none; blocks for a few seconds at most."""
    connection = http.client.HTTPConnection(LOOPBACK, port, timeout=_HTTP_S)
    try:
        connection.request(method, path)
        answer = connection.getresponse()
        return answer.status, answer.read(2000).decode("utf-8", "replace").strip()
    except (OSError, http.client.HTTPException):
        return 0, ""
    finally:
        connection.close()


def _failed(home: Path, why: str) -> GroundError:
    said = telling_lines(home / _LOG)
    return GroundError("Prometheus does not work", why="\n  ".join([why, *said]), remedy=f"see its log ({home / _LOG})")
