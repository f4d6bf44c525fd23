"""One API server over keep-alive connections: bytes out, bytes in. Hot paths use this and nothing heavier."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import aiohttp
import orjson

from scaletest.ports.cluster import Answer

__all__ = ["Access", "ApiError", "ApiServer", "Call", "GoneError"]

_AT_ONCE: Final = 48
"""Connections to one API server; more only queue inside it."""
_TIMEOUT_S: Final = 30
_READ_TIMEOUT_S: Final = 120
"""Ten thousand Pods are some fifty megabytes, and a busy server sends the first byte when it has the last."""
_JSON: Final = "application/json"
_METADATA: Final = "application/json;as=PartialObjectMetadata{};g=meta.k8s.io;v=v1"
_GONE: Final = 410
_ANSWERS: Final = {
    200: Answer.OK,
    201: Answer.OK,
    202: Answer.OK,
    404: Answer.NOT_FOUND,
    409: Answer.CONFLICT,
    408: Answer.TIMEOUT,
    504: Answer.TIMEOUT,
}


class ApiError(Exception):
    """A reading call that the API server did not answer as it should."""


class GoneError(ApiError):
    """The revision asked for is no longer kept."""


@dataclass(frozen=True, slots=True)
class Access:
    """Where an API server is, and the files that open it."""

    server: str
    ca: Path
    cert: Path
    key: Path


@dataclass(frozen=True, slots=True)
class Call:
    """One writing call, its body ready to send."""

    method: str
    path: str
    body: bytes | None = None
    content_type: str = _JSON


class ApiServer:
    """A session with one API server."""

    def __init__(self, access: Access) -> None:
        context = ssl.create_default_context(cafile=str(access.ca))
        context.load_cert_chain(str(access.cert), str(access.key))
        self._session = aiohttp.ClientSession(
            base_url=access.server,
            connector=aiohttp.TCPConnector(ssl=context, limit=0),
            timeout=aiohttp.ClientTimeout(total=_TIMEOUT_S),
            # Proxies and credentials of the environment are meant for other servers.
            trust_env=False,
        )
        self._turns = asyncio.Semaphore(_AT_ONCE)

    async def close(self) -> None:
        """End the session."""
        await self._session.close()

    async def send(self, call: Call) -> tuple[Answer, bytes]:
        """Make one call; whatever happens to it is an answer."""
        headers = {"Content-Type": call.content_type, "Accept": _JSON}
        async with self._turns:
            try:
                async with self._session.request(call.method, call.path, data=call.body, headers=headers) as response:
                    body = await response.read()
            except TimeoutError:
                return Answer.TIMEOUT, b""
            except aiohttp.ClientError:
                return Answer.UNAVAILABLE, b""
        answer = _ANSWERS.get(response.status, Answer.UNAVAILABLE)
        if answer is Answer.UNAVAILABLE and _is_our_fault(response.status):
            raise ApiError(f"{call.method} {call.path}: {response.status} {body[:500].decode(errors='replace')}")
        return answer, body

    async def send_all(self, calls: Sequence[Call]) -> list[Answer]:
        """Make many calls, as many at once as the server is given, and answer for each."""
        return [answer for answer, _ in await asyncio.gather(*map(self.send, calls))]

    async def get(self, path: str, *, metadata: bool = False) -> dict[str, Any]:
        """Read an object or a list; raise ApiError when it cannot be read."""
        headers = {"Accept": _METADATA.format("List") if metadata else _JSON}
        patient = aiohttp.ClientTimeout(total=_READ_TIMEOUT_S, sock_connect=_TIMEOUT_S)
        async with self._turns:
            try:
                async with self._session.get(path, headers=headers, timeout=patient) as response:
                    body = await response.read()
            except (TimeoutError, aiohttp.ClientError) as error:
                raise ApiError(f"GET {path}: {error!r}") from error
        if response.status != 200:
            raise ApiError(f"GET {path}: {response.status} {body[:500].decode(errors='replace')}")
        found: dict[str, Any] = orjson.loads(body)
        return found

    @asynccontextmanager
    async def stream(self, path: str, *, metadata: bool = False) -> AsyncIterator[aiohttp.StreamReader]:
        """Open a watch; raise GoneError when its revision is too old, ApiError when it cannot be opened."""
        headers = {"Accept": _METADATA.format("") if metadata else _JSON}
        endless = aiohttp.ClientTimeout(total=None, sock_connect=_TIMEOUT_S)
        try:
            async with self._session.get(path, headers=headers, timeout=endless) as response:
                if response.status == _GONE:
                    raise GoneError(path)
                if response.status != 200:
                    raise ApiError(f"watch {path}: {response.status}")
                yield response.content
        except (TimeoutError, aiohttp.ClientError) as error:
            raise ApiError(f"watch {path}: {error!r}") from error


def _is_our_fault(status: int) -> bool:
    """Say whether the call itself was wrong: trying it again would not help, and nobody should."""
    return 400 <= status < 500 and status not in {401, 403, 429}
