"""Servers that are down, silent, wrong or partial: an error that says what to do, and never fewer samples."""

import json
import socket
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from scaletest.evidence import Metrics
from scaletest.world.kwok.prometheus import PrometheusAnswer, PrometheusUnavailable, ScrapeTarget, Server, read_samples

_SERIES = {"metric": {"__name__": "up", "target": "engine"}, "values": [[1.5, "1"], [2, "NaN"]]}
Answering = Callable[..., Server]


def _success(*series: object, result_type: str = "matrix", **extra: object) -> str:
    return json.dumps({"status": "success", "data": {"resultType": result_type, "result": series}, **extra})


@pytest.fixture
def queries() -> list[dict[str, list[str]]]:
    return []


@pytest.fixture
def answering(queries: list[dict[str, list[str]]]) -> Iterator[Answering]:
    """Return what starts a server that gives one answer to everything; the queries it got are in `queries`."""
    answer: dict[str, Any] = {}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            queries.append(parse_qs(urlsplit(self.path).query))
            self.send_response(answer["status"])
            for name, value in answer["headers"].items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(answer["body"].encode())

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        Thread(target=http.serve_forever, daemon=True).start()

        def start(body: str, status: int = 200, headers: dict[str, str] | None = None, **limits: Any) -> Server:
            answer.update(body=body, status=status, headers=headers or {})
            return Server(f"http://127.0.0.1:{http.server_port}", timeout_s=5.0, **limits)

        yield start
        http.shutdown()


def _read(server: Server) -> Metrics:
    return read_samples(server, [], start_ms=1000, end_ms=2000)


def test_samples_come_as_whole_milliseconds_and_numbers(answering: Answering) -> None:
    (series,) = _read(answering(_success(_SERIES))).find("up")

    assert list(series.times_ms) == [1500, 2000]
    assert [repr(value) for value in series.values] == ["1.0", "nan"]
    assert series.labels == {"target": "engine"}


def test_every_query_has_a_pinned_instant_a_bounded_range_and_a_time_limit(
    answering: Answering, queries: list[dict[str, list[str]]]
) -> None:
    read_samples(answering(_success(), chunk_ms=400), ['b"}'], start_ms=1000, end_ms=2000)

    times = [["1.399"], ["1.799"], ["2.000"]]
    assert [query["time"] for query in queries] == times * 2
    assert [query["query"][0] for query in queries] == [
        *(f'{{__name__="b\\"}}"}}[{length}ms]' for length in (400, 400, 201)),
        *(f'{{__name__="up"}}[{length}ms]' for length in (400, 400, 201)),
    ]
    assert {query["timeout"][0] for query in queries} == {"5000ms"}


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        (_success(_SERIES, warnings=["a store is gone"]), 200, "a store is gone"),
        (_success(_SERIES, infos=["strange\x1b[31m"]), 200, "strange\\x1b[31m"),
        (json.dumps({"status": "error", "error": "half"}), 200, "half"),
        (json.dumps({"status": "error", "error": "query timed out in expression evaluation"}), 503, "query timed out"),
        ("<html>hello</html>", 200, "something other than JSON"),
        ("nothing here", 404, "HTTP 404"),
        ("[" * 100_000, 200, "something other than JSON"),
        ("[]", 200, "no explanation"),
        ("{}", 200, "no explanation"),
        (_success(_SERIES, result_type="vector"), 200, "no raw samples"),
        (json.dumps({"status": "success", "data": {"resultType": "matrix"}}), 200, "no raw samples"),
        (_success({**_SERIES, "histograms": []}), 200, "not made of plain samples"),
        (_success({"metric": {}, "histograms": []}), 200, "not made of plain samples"),
        (_success({"metric": {"a": 1}, "values": []}), 200, "a label is not a text"),
        (_success({"metric": {}, "values": [["x", "1"]]}), 200, "not made of plain samples"),
        (_success({"metric": {}, "values": [[1e999, "1"]]}), 200, "not made of plain samples"),
        (_success({"metric": {}, "values": [[1, "one"]]}), 200, "not made of plain samples"),
        (_success(7), 200, "not made of plain samples"),
    ],
)
def test_an_answer_that_may_lack_something_is_refused(body: str, status: int, said: str, answering: Answering) -> None:
    with pytest.raises(PrometheusAnswer) as caught:
        _read(answering(body, status))

    assert said in str(caught.value)
    assert caught.value.remedy


def test_an_answer_longer_than_the_limit_is_refused(answering: Answering) -> None:
    with pytest.raises(PrometheusAnswer, match="more than 10 bytes; ask in shorter chunks"):
        _read(answering(_success(_SERIES), answer_bytes_max=10))


def test_a_redirect_is_not_followed(answering: Answering, queries: list[dict[str, list[str]]]) -> None:
    with pytest.raises(PrometheusAnswer, match="HTTP 302"):
        _read(answering("", 302, {"Location": "/elsewhere"}))
    assert len(queries) == 1


def test_an_answer_that_is_cut_off_is_no_answer(answering: Answering) -> None:
    with pytest.raises(PrometheusUnavailable):
        _read(answering(_success(_SERIES), 200, {"Content-Length": "100000"}))


def test_a_server_that_is_down_is_named_with_what_to_do() -> None:
    with socket.socket() as taken:  # bound and not listening: nobody else can answer there
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(PrometheusUnavailable) as caught:
            _read(Server(url))

    error = caught.value
    assert error.what == f"Prometheus at {url} cannot be reached"
    assert "Connection refused" in error.why
    assert str(error).endswith("; see that the server runs and that the address is right, then read again")


def test_a_server_that_never_answers_is_given_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        server = Server(f"http://127.0.0.1:{silent.getsockname()[1]}", timeout_s=0.2)
        with pytest.raises(PrometheusUnavailable, match=r"does not answer: a request took longer than 0\.2 s"):
            _read(server)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "127.0.0.1:9090",
        "file:///etc/hosts",
        "ftp://127.0.0.1",
        "http://",
        "http://[::1",
        "http://127.0.0.1:99999",
        "http://name:word@127.0.0.1:9090",
        "http://127.0.0.1:9090/?query=up",
    ],
)
def test_an_address_that_is_no_plain_http_address_is_refused(url: str) -> None:
    with pytest.raises(PrometheusUnavailable, match="give one like") as caught:
        Server(url)
    assert "word@" not in str(caught.value)


@pytest.mark.parametrize("url", ["http://..:9090", "http://a b:9090", f"http://{'a' * 70}.invalid"])
def test_an_address_that_no_name_can_have_leaks_no_foreign_error(url: str) -> None:
    with pytest.raises(PrometheusUnavailable):
        _read(Server(url))


def test_a_proxy_of_the_environment_is_not_used(monkeypatch: pytest.MonkeyPatch, answering: Answering) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.delenv("no_proxy", raising=False)

    assert _read(answering(_success(_SERIES))).families.keys() == {"up"}


def test_intervals_and_names_that_make_no_sense_are_refused() -> None:
    server = Server("http://127.0.0.1:9090")
    with pytest.raises(ValueError, match="not an interval"):
        read_samples(server, [], start_ms=2, end_ms=1)
    targets = {ScrapeTarget("a", "1"): "engine", ScrapeTarget("a", "2"): "engine"}
    with pytest.raises(ValueError, match="would be mixed"):
        read_samples(server, [], start_ms=1, end_ms=2, targets=targets)


def test_a_query_that_a_real_server_refuses_is_an_answer_with_its_words(
    serving: Callable[..., Server], tmp_path: Path
) -> None:
    with pytest.raises(PrometheusAnswer, match=r"HTTP 400 Bad Request: .*at least one non-empty matcher"):
        read_samples(serving(tmp_path / "database"), [""], start_ms=1000, end_ms=2000)


def test_a_real_server_under_another_path_is_not_taken_for_an_empty_one(
    serving: Callable[..., Server], tmp_path: Path
) -> None:
    server = Server(f"{serving(tmp_path / 'database').url}/elsewhere")
    with pytest.raises(PrometheusAnswer, match="see that the address is that of a Prometheus server"):
        _read(server)
