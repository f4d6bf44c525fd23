"""Waiting for a server's first scrapes: Prometheus takes up targets when it likes, some seconds after it is told."""

import asyncio
import time
from collections.abc import Mapping
from typing import Final

from scaletest.world.kwok.prometheus import ScrapeTarget, Server, read_samples

__all__ = ["never_scraped"]

_LOOK_BACK_MS: Final = 60_000
_LOOK_S: Final = 0.2


async def never_scraped(
    server: Server, targets: Mapping[ScrapeTarget, str], *, patience_s: float, answered: bool
) -> list[str]:
    """Return the targets that were not scraped in the last minute, after waiting for them; `answered`: with success."""
    deadline = time.monotonic() + patience_s
    while True:
        now_ms = time.time_ns() // 1_000_000
        metrics = await asyncio.to_thread(
            read_samples, server, (), start_ms=now_ms - _LOOK_BACK_MS, end_ms=now_ms, targets=targets
        )
        seen = {series.labels["target"] for series in metrics.find("up") if 1 in series.values or not answered}
        missing = [target for target in targets.values() if target not in seen]
        if not missing or time.monotonic() > deadline:
            return missing
        await asyncio.sleep(_LOOK_S)
