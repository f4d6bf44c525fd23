"""The provider behind a wire: whatever the cloud answers arrives as it was, and a wire that is cut is trouble."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

from scaletest.model import Attribution, CapacityType, Machine, MachineState, Resources
from scaletest.ports.provider import FencedError, Listing, Provider, ProviderError, StockOutError, Token
from scaletest.world.kwok.provider_wire import RemoteProvider, provider_routes

_TOKEN = Token(3, 41)
_METADATA = {"scaletest.dev/need": "abc", "note": "a b/c?d"}
_PLAIN = Machine("m-1", MachineState.IDLE, "large", "a", CapacityType.SPOT, Resources.of({"cpu": 4000}))
_TAKEN = Machine(
    id="m-2",
    state=MachineState.CONFIGURED,
    instance_type="a3-highgpu-8g",
    zone="b",
    capacity_type=CapacityType.BARE_METAL,
    allocatable=Resources.of({"cpu": 208_000, "memory": 1872 << 30, "nvidia.com/gpu": 8}),
    labels=(("topology.bigfleet/rack", "r-2"), ("x", "")),
    cluster="cluster-0001",
    attribution=Attribution("f" * 16, group="g", priority=-5, interruption_penalty_uusd=10**18),
)


class _Cloud:
    """A provider that notes what it is asked, and answers or fails as it is told."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.calls: list[tuple[Any, ...]] = []

    def _answer(self, *call: Any) -> Machine:
        self.calls.append(call)
        if self.error is not None:
            raise self.error
        return _TAKEN

    async def create(self, machine: str, *, token: Token, metadata: Mapping[str, str]) -> Machine:
        return self._answer("create", machine, token, metadata)

    async def configure(self, machine: str, *, cluster: str, token: Token, metadata: Mapping[str, str]) -> Machine:
        return self._answer("configure", machine, cluster, token, metadata)

    async def drain(self, machine: str, *, grace_us: int, token: Token) -> Machine:
        return self._answer("drain", machine, grace_us, token)

    async def delete(self, machine: str, *, token: Token) -> Machine:
        return self._answer("delete", machine, token)

    async def list(self, after: int) -> Listing:
        self._answer("list", after)
        return Listing(after + 7, (_PLAIN, _TAKEN), ("m-9", "m-2"), {"m-2": _METADATA})


@asynccontextmanager
async def _wired(cloud: Provider) -> AsyncIterator[tuple[RemoteProvider, web.AppRunner]]:
    app = web.Application()
    app.add_routes(provider_routes(cloud))
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    remote = RemoteProvider(f"http://127.0.0.1:{runner.addresses[0][1]}")
    try:
        yield remote, runner
    finally:
        await remote.close()
        await runner.cleanup()


async def _all_calls(provider: Provider) -> list[Machine]:
    return [
        await provider.create("m-2", token=_TOKEN, metadata=_METADATA),
        await provider.configure("m-2", cluster="cluster-0001", token=_TOKEN, metadata=_METADATA),
        await provider.drain("m-2", grace_us=30_000_000, token=_TOKEN),
        await provider.delete("m-2", token=_TOKEN),
    ]


def test_every_call_arrives_as_it_was_made_and_the_machine_comes_back_as_it_is() -> None:
    async def story() -> None:
        direct, behind = _Cloud(), _Cloud()
        async with _wired(behind) as (remote, _):
            assert await _all_calls(remote) == await _all_calls(direct) == [_TAKEN] * 4
        assert behind.calls == direct.calls
        assert all(isinstance(call[-1] if call[0] in {"drain", "delete"} else call[-2], Token) for call in behind.calls)

    asyncio.run(story())


def test_a_listing_arrives_as_it_was_made() -> None:
    async def story() -> None:
        cloud = _Cloud()
        async with _wired(cloud) as (remote, _):
            assert await remote.list(35) == await cloud.list(35)
        assert cloud.calls == [("list", 35)] * 2

    asyncio.run(story())


class _OddError(ProviderError):
    """An error of a kind that the port does not know."""


@pytest.mark.parametrize(
    ("error", "arrives"),
    [
        (ProviderError("it failed while Creating"), ProviderError),
        (StockOutError("none left"), StockOutError),
        (FencedError("epoch 4 came after 3"), FencedError),
        (_OddError("odd"), ProviderError),
    ],
)
def test_a_call_that_fails_fails_in_the_same_way_with_the_same_words(
    error: ProviderError, arrives: type[ProviderError]
) -> None:
    async def story() -> None:
        async with _wired(_Cloud(error)) as (remote, _):
            for call in (
                remote.create("m-2", token=_TOKEN, metadata={}),
                remote.configure("m-2", cluster="c", token=_TOKEN, metadata={}),
                remote.drain("m-2", grace_us=0, token=_TOKEN),
                remote.delete("m-2", token=_TOKEN),
            ):
                with pytest.raises(ProviderError, match=str(error)) as caught:
                    await call
                assert type(caught.value) is arrives

    asyncio.run(story())


def test_a_provider_that_breaks_is_trouble_and_not_the_end() -> None:
    async def story() -> None:
        async with _wired(_Cloud(RuntimeError("a bug"))) as (remote, _):
            with pytest.raises(ProviderError, match="create m-2: the provider cannot be reached"):
                await remote.create("m-2", token=_TOKEN, metadata={})
            with pytest.raises(ProviderError, match="cannot be reached"):
                await remote.list(0)

    asyncio.run(story())


def test_a_provider_that_is_gone_is_trouble_and_not_the_end() -> None:
    async def story() -> None:
        async with _wired(_Cloud()) as (remote, runner):
            await runner.cleanup()
            with pytest.raises(ProviderError, match="delete m-2: the provider cannot be reached"):
                await remote.delete("m-2", token=_TOKEN)
            with pytest.raises(ProviderError, match="cannot be reached"):
                await remote.list(0)

    asyncio.run(story())


def test_a_caller_who_gives_up_does_not_stop_others() -> None:
    class Slow(_Cloud):
        async def drain(self, machine: str, *, grace_us: int, token: Token) -> Machine:
            await asyncio.sleep(0.3)
            return await super().drain(machine, grace_us=grace_us, token=token)

    async def story() -> None:
        async with _wired(Slow()) as (remote, _):
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(remote.drain("m-2", grace_us=0, token=_TOKEN), 0.05)
            assert await remote.drain("m-2", grace_us=0, token=_TOKEN) == _TAKEN

    asyncio.run(story())
