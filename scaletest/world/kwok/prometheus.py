"""Raw samples out of a real Prometheus: what was scraped, at the millisecond it was scraped, and nothing computed.

A range selector evaluated at a pinned instant returns stored samples as they are: no rate, no increase, no
extrapolation, and no window that drifts with the time of asking. Reading is all or nothing. An answer that is late,
cut off, partial or of another shape is an error, because a sample that is silently missing flatters somebody:

    PrometheusError
      PrometheusUnavailable   there is no answer: a bad address, nobody there, too slow
      PrometheusAnswer        there is an answer, and it cannot be evidence
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from time import monotonic
from typing import Any, Final, NamedTuple, TypeAlias
from urllib.parse import urlsplit

import requests
from prometheus_api_client.prometheus_connect import PrometheusConnect
from requests.adapters import Retry

from scaletest.evidence import Metrics, Series
from scaletest.world.kwok.errors import GroundError

__all__ = [
    "PrometheusAnswer",
    "PrometheusError",
    "PrometheusUnavailable",
    "ScrapeTarget",
    "Server",
    "read_samples",
]

_LONGEST_WHY: Final = 300
_LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})
_PIECE_BYTES: Final = 1 << 16

_Samples: TypeAlias = list[tuple[int, float]]


class PrometheusError(GroundError):
    """Samples could not be read: what failed, why, and what to do about it."""

    def __init__(self, what: str, *, why: str, remedy: str) -> None:
        # The server's own words may be part of the reason: one line, cut short.
        super().__init__(what, why=" ".join(why.splitlines())[:_LONGEST_WHY], remedy=remedy)


class PrometheusUnavailable(PrometheusError):  # noqa: N818 - the name says what happened
    """No answer was had from the server."""


class PrometheusAnswer(PrometheusError):  # noqa: N818 - the name says what is at fault
    """The server answered, and the answer cannot be used as evidence."""


class ScrapeTarget(NamedTuple):
    """The labels that a server puts on everything it scrapes from one target."""

    job: str
    instance: str


@dataclass(frozen=True, slots=True)
class Server:
    """A Prometheus server, and how much of its time and memory one query may take."""

    url: str
    timeout_s: float = 30.0
    """For each request; sent along, so that the server gives up as well."""
    chunk_ms: int = 600_000
    """The longest stretch asked for at once."""
    answer_bytes_max: int = 256 * 1024 * 1024
    ca_file: Path | None = None
    """Whom to trust for https; left out, the authorities that Python trusts. There is no way to trust anybody."""
    token_file: Path | None = None
    """Holds a bearer token, which is read when it is sent and kept nowhere."""

    def __post_init__(self) -> None:
        if why := _address_fault(self.url, secret=self.token_file is not None):
            raise PrometheusUnavailable(
                "the address of Prometheus is not usable", why=why, remedy="give one like http://127.0.0.1:9090"
            )
        for file in filter(None, (self.ca_file, self.token_file)):
            if why := _file_fault(file):
                raise PrometheusUnavailable(
                    f"Prometheus cannot be asked with {file}", why=why, remedy="name a file that can be read"
                )

    def token(self) -> str:
        """Return the token, or nothing."""
        return self.token_file.read_text(encoding="utf-8").strip() if self.token_file else ""


def read_samples(
    server: Server,
    names: Iterable[str],
    *,
    start_ms: int,
    end_ms: int,
    targets: Mapping[ScrapeTarget, str] | None = None,
) -> Metrics:
    """Return every stored sample of the named metrics, and of `up`, in the closed interval [start_ms, end_ms].

    `targets` says which of our targets a scraped job and instance is: its series carry the label `target` instead,
    and series of other targets are left out. Without it series are returned as stored, as back-filled evidence needs.
    The interval should end a scrape timeout before now: a scrape is stored, under its first instant, when it is over.
    A metric that the server does not know has no series: that is for the judge to call unmeasured.
    """
    if not 0 <= start_ms <= end_ms:
        raise ValueError(f"[{start_ms}, {end_ms}] is not an interval")
    if targets is not None and len(set(targets.values())) < len(targets):
        raise ValueError("two scrape targets have one name: their samples would be mixed")
    with requests.Session() as session:
        asked = _Asked(server, session)
        families = {}
        # `up` last: a scrape that is stored while we read then lacks samples, never the `up` that samples belong to.
        for name in (*sorted({*names} - {"up"}), "up"):
            if series := _series(asked, name, _chunks(start_ms, end_ms, server.chunk_ms), targets):
                families[name] = series
        return Metrics(families)


def _chunks(start_ms: int, end_ms: int, chunk_ms: int) -> Iterator[tuple[int, int]]:
    """Yield closed intervals that follow each other without a gap and without an instant in common."""
    for first in range(start_ms, end_ms + 1, chunk_ms):
        yield first, min(first + chunk_ms - 1, end_ms)


def _series(
    asked: "_Asked", name: str, chunks: Iterable[tuple[int, int]], targets: Mapping[ScrapeTarget, str] | None
) -> list[Series]:
    found: dict[tuple[tuple[str, str], ...], Series] = {}
    for start_ms, end_ms in chunks:
        for stored, samples in asked.samples(name, start_ms, end_ms):
            labels = stored if targets is None else _own_labels(stored, targets)
            if labels is None or not samples:
                continue
            series = found.setdefault(tuple(sorted(labels.items())), Series(name, labels))
            for time_ms, value in samples:
                series.times_ms.append(time_ms)
                series.values.append(value)
    return [series.settled() for series in found.values()]


def _own_labels(stored: dict[str, str], targets: Mapping[ScrapeTarget, str]) -> dict[str, str] | None:
    """Return the labels as the target exposed them, and our `target`; None when it is not a target of ours."""
    labels = dict(stored)
    target = targets.get(ScrapeTarget(labels.pop("job", ""), labels.pop("instance", "")))
    if target is None:
        return None
    if "target" in labels:  # the engine's own label steps aside, as Prometheus itself has it
        labels["exported_target"] = labels.pop("target")
    return {**labels, "target": target}


class _Asked:
    """The library's `custom_query` on a session of ours, on which late, partial and failed answers become errors."""

    def __init__(self, server: Server, session: requests.Session) -> None:
        self._server = server
        session.trust_env = False  # a proxy of the environment has no business between us and the evidence
        session.headers["Accept-Encoding"] = "identity"
        session.verify = str(server.ca_file) if server.ca_file else True
        if token := server.token():
            session.headers["Authorization"] = f"Bearer {token}"
        session.hooks["response"] = [self._whole]
        # No retries: the instant is pinned, so whoever asks may ask again; a hidden retry only hides the time it takes.
        self._client = PrometheusConnect(server.url.rstrip("/"), retry=Retry(0, read=False), session=session)

    def samples(self, name: str, start_ms: int, end_ms: int) -> Iterator[tuple[dict[str, str], _Samples]]:
        """Yield labels and samples of each series of one metric in a closed interval."""
        # One millisecond more than the interval is asked for and cut off again: up to version 2 a range includes its
        # start, from version 3 on it does not.
        query = f"{{__name__={json.dumps(name, ensure_ascii=False)}}}[{end_ms - start_ms + 1}ms]"
        for each in self._result(query, end_ms):
            try:
                labels, samples = _decoded(each)
            except (AttributeError, OverflowError, TypeError, ValueError) as error:
                raise self._unfit(f"a series of {name} is not made of plain samples ({error!r})") from None
            yield labels, [(time_ms, value) for time_ms, value in samples if start_ms <= time_ms <= end_ms]

    def _result(self, query: str, at_ms: int) -> list[Any]:
        timeout_s = self._server.timeout_s
        params = {"time": f"{at_ms // 1000}.{at_ms % 1000:03d}", "timeout": f"{round(timeout_s * 1000)}ms"}
        try:
            # The library's annotation says int; requests takes any number of seconds.
            return list(self._client.custom_query(query, params, timeout=timeout_s))  # type: ignore[arg-type]
        except (OSError, ValueError) as error:  # all of requests, and what urllib3 lets through about odd host names
            cause = _first_cause(error)
            if isinstance(cause, TimeoutError):
                raise self._late() from error
            raise PrometheusUnavailable(
                f"Prometheus at {self._server.url} cannot be reached",
                why=str(cause) or type(cause).__name__,
                remedy="see that the server runs and that the address is right, then read again",
            ) from error

    def _whole(self, response: requests.Response, **_: object) -> requests.Response:
        """Read an answer to its end and check it; the library, which would drop warnings, gets the checked one."""
        content = self._content(response)
        try:
            document = json.loads(content)
        except (ValueError, RecursionError):
            why = f"HTTP {response.status_code} {response.reason} with something other than JSON"
            raise self._unfit(why, remedy="see that the address is that of a Prometheus server") from None
        if response.status_code != requests.codes.ok or not isinstance(document, dict):
            raise self._unfit(f"HTTP {response.status_code} {response.reason}: {_complaint(document)}")
        if document.get("status") != "success" or document.keys() & {"warnings", "infos", "error"}:
            raise self._unfit(f"the answer may be partial: {_complaint(document)}")
        data = document.get("data")
        if not isinstance(data, dict) or data.get("resultType") != "matrix" or not isinstance(data.get("result"), list):
            raise self._unfit("the answer holds no raw samples")
        return _Answer(document)

    def _content(self, response: requests.Response) -> bytes:
        deadline = monotonic() + self._server.timeout_s - response.elapsed.total_seconds()
        content = BytesIO()
        with response:
            for piece in response.iter_content(_PIECE_BYTES):
                if content.write(piece) and content.tell() > self._server.answer_bytes_max:
                    raise self._unfit(
                        f"an answer has more than {self._server.answer_bytes_max:,} bytes",
                        remedy="ask in shorter chunks",
                    )
                if monotonic() > deadline:
                    raise self._late()
        return content.getvalue()

    def _late(self) -> PrometheusUnavailable:
        return PrometheusUnavailable(
            f"Prometheus at {self._server.url} does not answer",
            why=f"a request took longer than {self._server.timeout_s:g} s",
            remedy="see that the server is not overloaded, or ask in shorter chunks",
        )

    def _unfit(self, why: str, *, remedy: str = "see the server's log, then read again") -> PrometheusAnswer:
        return PrometheusAnswer(
            f"the answer of Prometheus at {self._server.url} is no evidence", why=why, remedy=remedy
        )


class _Answer(requests.Response):
    """A checked answer, decoded once."""

    def __init__(self, document: dict[str, Any]) -> None:
        super().__init__()
        self.status_code = requests.codes.ok
        self.raw = BytesIO()
        self._document = document

    def json(self, **_: object) -> dict[str, Any]:
        return self._document


def _decoded(series: dict[str, Any]) -> tuple[dict[str, str], _Samples]:
    """Return a series' labels and samples. A native histogram has no plain value, and raises."""
    if series.keys() != {"metric", "values"}:
        raise ValueError(f"it holds {', '.join(sorted(series))}")
    labels = {name: value for name, value in series["metric"].items() if name != "__name__"}
    if not all(isinstance(value, str) for value in labels.values()):
        raise TypeError("a label is not a text")
    return labels, [(round(time_s * 1000), float(value)) for time_s, value in series["values"]]


def _complaint(document: object) -> str:
    """Return the server's own words in an answer."""
    if not isinstance(document, dict):
        return "no explanation"
    words = [document.get("error"), *(document.get("warnings") or ()), *(document.get("infos") or ())]
    return "; ".join(str(each) for each in words if each) or "no explanation"


def _first_cause(error: BaseException) -> BaseException:
    """Return what began it: the foreign libraries wrap one refusal in four exceptions."""
    while error.__context__ is not None:
        error = error.__context__
    return error


def _file_fault(file: Path) -> str:
    try:
        return "" if file.read_text(encoding="utf-8").strip() else "it is empty"
    except (OSError, ValueError) as error:
        return getattr(error, "strerror", None) or type(error).__name__


def _address_fault(url: str, *, secret: bool) -> str:
    try:
        parts = urlsplit(url)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError as error:
        return str(error)
    if not usable:
        return f"{url!r} is not an http or https address"
    if parts.username is not None or parts.password is not None:
        return "it holds a user name or password, which would end up in logs"
    if secret and parts.scheme == "http" and parts.hostname not in _LOOPBACK:
        return "a token would cross the network in plain text; use https"
    return "it holds a query or a fragment" if parts.query or parts.fragment else ""
