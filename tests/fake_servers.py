"""Small HTTP servers for tests of clients: a handler, an address on loopback, and a session that needs no keys."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from aiohttp import web

from scaletest.world.kwok import api as api_module
from scaletest.world.kwok.api import Access, ApiServer

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def served(handler: Handler) -> AsyncIterator[str]:
    """Answer every request with a handler; yield the address."""
    runner = web.ServerRunner(web.Server(handler), shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


class _NoKeys(ssl.SSLContext):
    def load_cert_chain(self, *_: Any, **__: Any) -> None:
        """Load nothing: these servers speak plain HTTP."""


@pytest.fixture
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let sessions be opened without key files."""

    def context(**_: Any) -> ssl.SSLContext:
        return _NoKeys(ssl.PROTOCOL_TLS_CLIENT)

    monkeypatch.setattr(api_module, "ssl", SimpleNamespace(create_default_context=context))


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[ApiServer]:
    """Open a session with a server of ours."""
    api = ApiServer(Access(url, Path("ca"), Path("cert"), Path("key")))
    try:
        yield api
    finally:
        await api.close()


class Watches:
    """An API server's watches: what each is to send, and what each was asked for.

    `script` maps the last part of a path (pods, nodes, capacityrequests) to what its watches send, one after the
    other: bytes are sent, an event is waited for, a number is answered as the status. A path without a script stays
    open and says nothing.
    """

    def __init__(self, script: dict[str, list[list[Any]]]) -> None:
        self._script = script
        self.asked: list[tuple[str, str]] = []

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        kind = request.path.rpartition("/")[2]
        self.asked.append((kind, request.query["resourceVersion"]))
        scripts = self._script.get(kind, [])
        steps = scripts.pop(0) if scripts else [asyncio.Event()]
        if steps and isinstance(steps[0], int):
            return web.Response(status=steps[0], text="{}")
        response = web.StreamResponse()
        await response.prepare(request)
        for step in steps:
            if isinstance(step, bytes):
                await response.write(step)
                # What is written apart should arrive apart.
                await asyncio.sleep(0.02)
            elif isinstance(step, asyncio.Event):
                await step.wait()
        return response


def line(kind: str, seen: dict[str, Any]) -> bytes:
    """Return a line of a watch."""
    return json.dumps({"type": kind, "object": seen}).encode() + b"\n"


def pod(
    uid: str, revision: int, *, owner: int = 1, node: str = "", leaving: bool = False, reason: str = ""
) -> dict[str, Any]:
    """Return a Pod as an API server shows it."""
    metadata: dict[str, Any] = {
        "name": f"pod-{uid}",
        "uid": uid,
        "resourceVersion": str(revision),
        "labels": {"scaletest.dev/owner": str(owner)},
    }
    if leaving:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    conditions = [{"type": "DisruptionTarget", "status": "True", "reason": reason}] if reason else []
    spec = {"nodeName": node} if node else {}
    return {"metadata": metadata, "spec": spec, "status": {"conditions": conditions}}


def node(name: str, revision: int, *, ready: bool = True, cordoned: bool = False) -> dict[str, Any]:
    """Return a Node as an API server shows it."""
    return {
        "metadata": {
            "name": name,
            "resourceVersion": str(revision),
            "labels": {"scaletest.dev/machine": f"machine-of-{name}"},
            "annotations": {"scaletest.dev/created-us": "7"},
        },
        "spec": {"unschedulable": True} if cordoned else {},
        "status": {"conditions": [{"type": "Ready", "status": "True" if ready else "False"}]},
    }


def request_for(uid: str, revision: int) -> dict[str, Any]:
    """Return the metadata of a capacity request of a Pod."""
    return {
        "metadata": {
            "name": f"pod-{uid}",
            "resourceVersion": str(revision),
            "ownerReferences": [{"kind": "Pod", "name": f"pod-{uid}", "uid": uid}],
        }
    }


def bookmark(revision: int) -> bytes:
    """Return a bookmark's line."""
    return line("BOOKMARK", {"metadata": {"resourceVersion": str(revision)}})
