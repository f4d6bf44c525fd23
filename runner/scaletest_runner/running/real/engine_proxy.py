"""The engine process as the driver sees it: started, asked, stopped; what it is asked often is polled beside."""

import asyncio
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import aiohttp
from prometheus_client import CollectorRegistry

from scaletest.ports.crew import Crew
from scaletest_runner.running.book import PhaseFailedError
from scaletest_runner.running.real.spec import RunSpec

__all__ = ["EngineDiedError", "EngineProxy"]

_POLL_S: Final = 0.5
_LOOK_S: Final = 0.1
_STOP_S: Final = 10.0


class EngineDiedError(PhaseFailedError):
    """The engine's process ended although nobody asked it to: the engine's failure, and so the run's."""


class EngineProxy:
    """One engine process. `died` is told when it ends by itself."""

    registry = CollectorRegistry()
    """Empty: Prometheus scrapes the process."""

    def __init__(self, spec: RunSpec, spec_path: Path, *, epoch: int, log: Path) -> None:
        self._spec, self._spec_path, self._epoch, self._log = spec, spec_path, epoch, log
        self._process: asyncio.subprocess.Process | None = None
        self._session: aiohttp.ClientSession | None = None
        self._crew = Crew()
        self._status: dict[str, Any] = {"covered": {}, "acquisitions": 0, "reclaims": 0, "last_cycle_us": 0}

    async def start(self) -> None:
        """Start the process, and return when it is ready."""
        module = "scaletest_runner.running.real.engine_process"
        with self._log.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", module, str(self._spec_path), str(self._epoch),
                stdin=asyncio.subprocess.PIPE, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        self._session = aiohttp.ClientSession(self._spec.engine_url, timeout=aiohttp.ClientTimeout(total=10))
        while not await self._is_ready():
            self._check()
            await asyncio.sleep(_LOOK_S)
        self._crew.start(self._poll(), name="engine status")

    def demand_ready(self) -> None:
        """Let the first roll-ups go."""
        self._crew.start(self._post("/demand-ready"), name="demand ready")

    def soak_starts(self, at_us: int) -> None:
        """Tell the engine's ground when the soak starts."""
        self._crew.start(self._post("/soak-start", {"at_us": at_us}), name="soak start")

    async def stop(self) -> None:
        """Stop the process: ask, wait, kill."""
        await self._crew.stop()
        if self._session is not None:
            await self._session.close()
        if self._process is None or self._process.returncode is not None:
            return
        self._process.terminate()
        try:
            await asyncio.wait_for(self._process.wait(), _STOP_S)
        except TimeoutError:
            self._process.kill()
            await self._process.wait()

    @property
    def pid(self) -> int | None:
        """Return the number of its process."""
        return self._process.pid if self._process else None

    def covered(self) -> Mapping[str, int]:
        """Return the Pods that each cluster's accepted roll-up covers."""
        covered: Mapping[str, int] = self._status["covered"]
        return covered

    @property
    def last_cycle_us(self) -> int:
        """Return how long its last cycle took."""
        return int(self._status["last_cycle_us"])

    @property
    def acquisitions(self) -> int:
        """Return how many acquisitions it has begun."""
        return int(self._status["acquisitions"])

    @property
    def reclaims(self) -> int:
        """Return how many reclaims it has begun."""
        return int(self._status["reclaims"])

    async def _is_ready(self) -> bool:
        assert self._session is not None
        try:
            async with self._session.get("/readyz") as response:
                return response.status == 200
        except aiohttp.ClientError:
            return False

    async def _poll(self) -> None:
        assert self._session is not None
        while True:
            self._check()
            try:
                async with self._session.get("/status") as response:
                    self._status = await response.json()
            except (aiohttp.ClientError, TimeoutError):
                # A slow engine is measured, not failed; one that is gone is found by `_check`.
                pass
            await asyncio.sleep(_POLL_S)

    async def _post(self, path: str, body: object = None) -> None:
        """Tell the engine something, again and again until it answers; one that is gone is found by `_check`."""
        assert self._session is not None
        while True:
            self._check()
            try:
                async with self._session.post(path, json=body) as response:
                    response.raise_for_status()
                    return
            except (aiohttp.ClientConnectionError, TimeoutError):
                await asyncio.sleep(_LOOK_S)

    def _check(self) -> None:
        if self._process is not None and (code := self._process.returncode) is not None:
            last = self._log.read_text(encoding="utf-8", errors="replace").strip().rpartition("\n")[2]
            raise EngineDiedError(f"the engine ended by itself with {code}: {last}")
