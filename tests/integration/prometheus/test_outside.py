"""A Prometheus that somebody else runs: it finds our targets in a file, and is asked over verified TLS with a token."""

import asyncio
import json
import shutil
import ssl
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from time import time

import pytest

from scaletest.world.kwok import outside_prometheus
from scaletest.world.kwok.components import MetricsPage
from scaletest.world.kwok.errors import GroundError
from scaletest.world.kwok.outside_prometheus import OutsidePrometheus
from scaletest.world.kwok.prometheus import PrometheusUnavailable, Server, read_samples
from scaletest.world.kwok.prometheus_server import Scraped

_NOTHING = json.dumps({"status": "success", "data": {"resultType": "matrix", "result": []}})


@contextmanager
def _answering(text: str, *, certificate: Path | None = None) -> Iterator[tuple[str, list[str]]]:
    """Answer everything with a text; yield the address and the Authorization headers that came."""
    shown: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            shown.append(self.headers.get("Authorization", ""))
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            server.socket = context.wrap_socket(server.socket, server_side=True)
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_port}", shown
        server.shutdown()


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """Return a file with key and certificate of 127.0.0.1, which nobody has signed but itself."""
    if (openssl := shutil.which("openssl")) is None:
        pytest.skip("openssl is missing: install it to make certificates")
    file = tmp_path / "server.pem"
    subprocess.run(
        [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1",
         "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", file, "-out", tmp_path / "ca.pem"],
        check=True, capture_output=True, timeout=60,
    )  # fmt: skip
    file.write_bytes(file.read_bytes() + (tmp_path / "ca.pem").read_bytes())
    return file


def test_an_outside_server_scrapes_what_our_file_names_and_forgets_it_afterwards(
    tmp_path: Path, serving: Callable[..., Server]
) -> None:
    file = tmp_path / "targets.json"
    config = f"scrape_configs:\n  - {{job_name: theirs, file_sd_configs: [{{files: ['{file}']}}]}}\n"
    with _answering("work_total 7\n") as (address, _):
        server = serving(tmp_path / "database", config)
        outside = OutsidePrometheus(server, file, [Scraped("driver", MetricsPage(address, "http"), interval_ms=200)])
        asyncio.run(outside.scraping())
        asyncio.run(outside.check())
        now_ms = int(time() * 1000)
        metrics = read_samples(server, ["work_total"], start_ms=now_ms - 60_000, end_ms=now_ms, targets=outside.targets)
    (work,) = metrics.find("work_total")
    assert work.labels == {"target": "driver"}
    asyncio.run(outside.stop())
    assert not file.exists()


def test_a_server_that_does_not_scrape_us_is_told_how(
    tmp_path: Path, serving: Callable[..., Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outside_prometheus, "_FIRST_S", 0.5)
    file = tmp_path / "targets.json"
    outside = OutsidePrometheus(
        serving(tmp_path / "database"), file, [Scraped("engine", MetricsPage("127.0.0.1:1", "http"))]
    )
    with pytest.raises(GroundError, match=f"does not scrape engine.*file_sd_configs.*{file}"):
        asyncio.run(outside.scraping())


def test_a_token_comes_from_its_file_and_is_shown_nowhere_else(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("s3cret\n")
    with _answering(_NOTHING) as (address, shown):
        server = Server(f"http://{address}", token_file=token)
        read_samples(server, [], start_ms=0, end_ms=1)
    assert shown == ["Bearer s3cret"]
    assert "s3cret" not in repr(server)


def test_a_certificate_is_checked_and_the_authority_can_be_named(tmp_path: Path, certificate: Path) -> None:
    with _answering(_NOTHING, certificate=certificate) as (address, shown):
        with pytest.raises(PrometheusUnavailable, match="certificate verify failed"):
            read_samples(Server(f"https://{address}"), [], start_ms=0, end_ms=1)
        assert shown == []
        read_samples(Server(f"https://{address}", ca_file=tmp_path / "ca.pem"), [], start_ms=0, end_ms=1)
    assert shown == [""]


def test_a_token_does_not_cross_the_network_in_plain_text(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("s3cret")
    with pytest.raises(PrometheusUnavailable, match="plain text; use https"):
        Server("http://prometheus.example:9090", token_file=token)


@pytest.mark.parametrize(("content", "why"), [(None, "No such file"), ("  \n", "it is empty")])
def test_a_token_file_without_a_token_is_refused(tmp_path: Path, content: str | None, why: str) -> None:
    token = tmp_path / "token"
    if content is not None:
        token.write_text(content)
    with pytest.raises(PrometheusUnavailable, match=why):
        Server("http://127.0.0.1:9090", token_file=token)
