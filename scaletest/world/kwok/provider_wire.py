"""The provider across processes: a small server in front of the cloud, and a client that is the Provider port."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict
from typing import Any, Final

import aiohttp
import orjson
from aiohttp import web

from scaletest.model import Attribution, CapacityType, Machine, MachineState, Resources
from scaletest.ports.provider import FencedError, Listing, Provider, ProviderError, StockOutError, Token

__all__ = ["RemoteProvider", "provider_routes"]

_ERRORS: Final[Mapping[str, type[ProviderError]]] = {
    "error": ProviderError,
    "stock-out": StockOutError,
    "fenced": FencedError,
}
_NAME_OF: Final = {kind: name for name, kind in _ERRORS.items()}
_CALL: Final = "/provider/{call}/{machine}"
_LIST: Final = "/provider/machines"


def provider_routes(provider: Provider) -> list[web.RouteDef]:
    """Return the routes of a server that answers for a provider."""

    async def call(request: web.Request) -> web.Response:
        body = orjson.loads(await request.read())
        arguments = {**body, "token": Token(*body["token"])}
        made: Callable[..., Awaitable[Machine]] = _calls(provider)[request.match_info["call"]]
        try:
            machine = await made(request.match_info["machine"], **arguments)
        except ProviderError as error:
            return _json({"error": _NAME_OF.get(type(error), "error"), "message": str(error)}, status=409)
        return _json(machine_json(machine))

    async def listing(request: web.Request) -> web.Response:
        found = await provider.list(int(request.query["after"]))
        return _json(
            {
                "revision": found.revision,
                "machines": [machine_json(machine) for machine in found.machines],
                "removed": found.removed,
                "metadata": {machine: dict(each) for machine, each in found.metadata.items()},
            }
        )

    return [web.get(_LIST, listing), web.post(_CALL, call)]


def _calls(provider: Provider) -> Mapping[str, Callable[..., Awaitable[Machine]]]:
    return {
        "create": provider.create,
        "configure": provider.configure,
        "drain": provider.drain,
        "delete": provider.delete,
    }


def _json(value: object, *, status: int = 200) -> web.Response:
    return web.Response(body=orjson.dumps(value), status=status, content_type="application/json")


class RemoteProvider:
    """The Provider port over a connection. A call that cannot be made fails as the cloud's own calls may."""

    def __init__(self, url: str) -> None:
        # No time limit here: whoever calls has one of his own, and an operation takes as long as it takes.
        self._session = aiohttp.ClientSession(
            base_url=url,
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=10),
            connector=aiohttp.TCPConnector(limit=0),
        )

    async def close(self) -> None:
        """End the connections."""
        await self._session.close()

    async def create(self, machine: str, *, token: Token, metadata: Mapping[str, str]) -> Machine:
        """Bring a Speculative machine to Idle."""
        return await self._call("create", machine, token=token, metadata=dict(metadata))

    async def configure(self, machine: str, *, cluster: str, token: Token, metadata: Mapping[str, str]) -> Machine:
        """Bring an Idle machine into a cluster."""
        return await self._call("configure", machine, cluster=cluster, token=token, metadata=dict(metadata))

    async def drain(self, machine: str, *, grace_us: int, token: Token) -> Machine:
        """Take a Configured machine out of its cluster."""
        return await self._call("drain", machine, grace_us=grace_us, token=token)

    async def delete(self, machine: str, *, token: Token) -> Machine:
        """Give an Idle machine back."""
        return await self._call("delete", machine, token=token)

    async def list(self, after: int) -> Listing:
        """List what changed after a revision."""
        try:
            async with self._session.get(_LIST, params={"after": after}) as response:
                found = orjson.loads(await response.read())
        except (aiohttp.ClientError, orjson.JSONDecodeError) as error:
            raise ProviderError(f"the provider cannot be reached: {error}") from error
        machines = tuple(map(machine_from, found["machines"]))
        return Listing(found["revision"], machines, tuple(found["removed"]), found["metadata"])

    async def _call(self, call: str, machine: str, *, token: Token, **arguments: object) -> Machine:
        path = _CALL.format(call=call, machine=machine)
        body = orjson.dumps({**arguments, "token": [*token]})
        try:
            async with self._session.post(path, data=body) as response:
                answer = orjson.loads(await response.read())
        except (aiohttp.ClientError, orjson.JSONDecodeError) as error:
            raise ProviderError(f"{call} {machine}: the provider cannot be reached: {error}") from error
        if "error" in answer:
            raise _ERRORS[answer["error"]](answer["message"])
        return machine_from(answer)


def machine_json(machine: Machine) -> dict[str, Any]:
    """Return a machine as JSON values."""
    return {**asdict(machine), "allocatable": dict(machine.allocatable)}


def machine_from(found: Mapping[str, Any]) -> Machine:
    """Return the machine that `machine_json` wrote."""
    held = found["attribution"]
    return Machine(
        **{
            **found,
            "state": MachineState(found["state"]),
            "capacity_type": CapacityType(found["capacity_type"]),
            "allocatable": Resources.of(found["allocatable"]),
            "labels": tuple((name, value) for name, value in found["labels"]),
            "attribution": Attribution(**held) if held else None,
        }
    )
