"""A server that scrapes: job and instance become our target, and every scrape is read as it was made."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Semaphore, Thread
from time import time

from scaletest.evidence import Journal, Metrics, RunRecord, read_evidence
from scaletest.world.kwok.prometheus import ScrapeTarget, Server, read_samples
from scaletest.world.kwok.recording import record_scrapes

_WAIT_S = 20.0
_EXPOSED = 'work_total{kind="a",job="own",target="own"} 7\nwork_seconds 0.25\n'


@contextmanager
def _exporter(text: str) -> Iterator[tuple[str, Semaphore]]:
    """Expose a text on loopback; yield the address and a semaphore that counts the scrapes of /engine."""
    scraped = Semaphore(0)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.end_headers()
            self.wfile.write(text.encode())
            if self.path == "/engine":
                scraped.release()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_port}", scraped
        server.shutdown()


def _config(instance: str) -> str:
    jobs = "".join(
        f"  - {{job_name: {job}, metrics_path: /{job}, static_configs: [{{targets: ['{instance}', '127.0.0.1:1']}}]}}\n"
        for job in ("engine", "other")
    )
    return f"global: {{scrape_interval: 200ms, scrape_timeout: 200ms}}\nscrape_configs:\n{jobs}"


def test_scrapes_of_a_live_server_become_evidence_of_our_targets(
    tmp_path: Path, serving: Callable[..., Server]
) -> None:
    start_ms = int(time() * 1000)
    with _exporter(_EXPOSED) as (instance, scraped):
        server = serving(tmp_path / "database", _config(instance))
        targets = {ScrapeTarget("engine", instance): "shard-0", ScrapeTarget("engine", "127.0.0.1:1"): "shard-1"}
        metrics = Metrics()
        while not _enough(metrics):
            assert scraped.acquire(timeout=_WAIT_S)
            # What was served in the last second may still be on its way into the database.
            names, end_ms = ["work_total", "work_seconds"], int(time() * 1000) - 1000
            metrics = read_samples(server, names, start_ms=start_ms, end_ms=end_ms, targets=targets)

    up, down = metrics.find("up")
    (work,) = metrics.find("work_total")
    own = {"kind": "a", "exported_job": "own", "exported_target": "own"}
    assert (up.labels, down.labels) == ({"target": "shard-0"}, {"target": "shard-1"})
    assert work.labels == {**own, "target": "shard-0"}
    assert set(work.values) == {7.0}
    assert set(work.times_ms) <= set(up.times_ms)
    assert set(down.values) == {0.0}
    with Journal(tmp_path, _record(start_ms)) as journal:
        record_scrapes(journal, metrics)
        sealed = journal.seal(_record(start_ms))
    saved = read_evidence(tmp_path, sealed, keep=frozenset({"work_total", "work_seconds"}))
    assert saved.defects == ()
    assert sorted(saved.metrics.kept(), key=repr) == sorted(metrics.kept(), key=repr)


def _enough(metrics: Metrics) -> bool:
    return len(metrics.find("up")) == 2 and any(len(each.times_ms) >= 2 for each in metrics.find("work_seconds"))


def _record(epoch_ms: int) -> RunRecord:
    return RunRecord(
        profile="live",
        world="kwok",
        random_seed=1,
        plan_digest="none",
        epoch_ms=epoch_ms,
        scrape_interval_us=200_000,
        targets=("shard-0", "shard-1"),
    )
