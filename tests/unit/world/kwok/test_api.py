"""What a session makes of an API server's answers, and of its silence."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from aiohttp import web

from fake_servers import opened, served
from scaletest.ports.cluster import Answer
from scaletest.world.kwok import api as api_module
from scaletest.world.kwok.api import ApiError, Call

pytestmark = pytest.mark.usefixtures("no_keys")

_CALL = Call("POST", "/things", b"{}")
_SERVER = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


def _answering(status: int) -> _SERVER:
    async def answer(_: web.BaseRequest) -> web.StreamResponse:
        return web.Response(status=status, text='{"message": "as asked"}')

    return answer


async def _silent(_: web.BaseRequest) -> web.StreamResponse:
    await asyncio.sleep(60)
    raise AssertionError


async def _hanging_up(request: web.BaseRequest) -> web.StreamResponse:
    assert request.transport is not None
    request.transport.abort()
    await asyncio.sleep(60)
    raise AssertionError


async def _half(request: web.BaseRequest) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Length": "1000"})
    await response.prepare(request)
    await response.write(b'{"half":')
    assert request.transport is not None
    request.transport.abort()
    return response


@pytest.mark.parametrize(
    ("status", "answer"),
    [
        (200, Answer.OK),
        (201, Answer.OK),
        (202, Answer.OK),
        (404, Answer.NOT_FOUND),
        (409, Answer.CONFLICT),
        (408, Answer.TIMEOUT),
        (504, Answer.TIMEOUT),
        (401, Answer.UNAVAILABLE),
        (403, Answer.UNAVAILABLE),
        (429, Answer.UNAVAILABLE),
        (500, Answer.UNAVAILABLE),
        (503, Answer.UNAVAILABLE),
    ],
)
def test_a_status_is_an_answer(status: int, answer: Answer) -> None:
    async def story() -> None:
        async with served(_answering(status)) as url, opened(url) as api:
            assert await api.send(_CALL) == (answer, b'{"message": "as asked"}')

    asyncio.run(story())


@pytest.mark.parametrize("status", [400, 405, 413, 415, 422])
def test_a_call_that_is_wrong_in_itself_is_an_error_that_says_why(status: int) -> None:
    async def story() -> None:
        async with served(_answering(status)) as url, opened(url) as api:
            with pytest.raises(ApiError, match=rf"POST /things: {status} .*as asked"):
                await api.send(_CALL)

    asyncio.run(story())


@pytest.mark.parametrize(
    ("server", "answer"), [(_silent, Answer.TIMEOUT), (_hanging_up, Answer.UNAVAILABLE), (_half, Answer.UNAVAILABLE)]
)
def test_a_server_that_does_not_answer_is_an_answer_too(
    server: _SERVER, answer: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api_module, "_TIMEOUT_S", 0.3)

    async def story() -> None:
        async with served(server) as url, opened(url) as api:
            assert await api.send(_CALL) == (answer, b"")
            with pytest.raises(ApiError, match="GET /things"):
                await api.get("/things")

    asyncio.run(story())


def test_nobody_at_the_address_is_unavailable() -> None:
    async def story() -> None:
        async with served(_silent) as url:
            pass
        async with opened(url) as api:
            assert await api.send(_CALL) == (Answer.UNAVAILABLE, b"")
            with pytest.raises(ApiError, match="Connect call failed"):
                await api.get("/things")
            with pytest.raises(ApiError, match="Connect call failed"):
                async with api.stream("/things"):
                    pass

    asyncio.run(story())


def test_what_is_not_read_well_is_an_error_with_its_status() -> None:
    async def story() -> None:
        async with served(_answering(404)) as url, opened(url) as api:
            with pytest.raises(ApiError, match=r"GET /things: 404 .*as asked"):
                await api.get("/things")

    asyncio.run(story())


def test_many_calls_are_answered_in_order_and_not_all_are_made_at_once() -> None:
    open_now, most = 0, 0

    async def counting(request: web.BaseRequest) -> web.StreamResponse:
        nonlocal open_now, most
        open_now += 1
        most = max(most, open_now)
        number = int(request.path.rpartition("/")[2])
        await asyncio.sleep(0.02 if number % 3 else 0.05)
        open_now -= 1
        return web.Response(status=(200, 404, 409)[number % 3])

    async def story() -> None:
        async with served(counting) as url, opened(url) as api:
            answers = await api.send_all([Call("DELETE", f"/things/{number}") for number in range(120)])
        assert answers == [(Answer.OK, Answer.NOT_FOUND, Answer.CONFLICT)[number % 3] for number in range(120)]
        assert 10 < most <= 48

    asyncio.run(story())


def test_a_patch_says_what_kind_it_is_and_lists_ask_for_metadata_alone_when_that_is_enough() -> None:
    seen: list[tuple[str, str | None, str]] = []

    async def noting(request: web.BaseRequest) -> web.StreamResponse:
        seen.append((request.method, request.headers.get("Content-Type"), request.headers["Accept"]))
        return web.Response(text="{}")

    async def story() -> None:
        async with served(noting) as url, opened(url) as api:
            await api.send(Call("PATCH", "/x", b"{}", "application/merge-patch+json"))
            await api.get("/x", metadata=True)
            await api.get("/x")

    asyncio.run(story())

    patch, metadata, whole = seen
    assert patch[:2] == ("PATCH", "application/merge-patch+json")
    assert "PartialObjectMetadataList" in metadata[2]
    assert whole[2] == "application/json"
