"""A Prometheus that somebody else runs: told what to scrape by a file, and asked for what it has stored."""

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from scaletest.world.kwok.errors import GroundError
from scaletest.world.kwok.homes import replace_file
from scaletest.world.kwok.processes import Cost
from scaletest.world.kwok.prometheus import ScrapeTarget, Server, read_samples
from scaletest.world.kwok.prometheus_server import Scraped

__all__ = ["OutsidePrometheus"]

_LOOK_BACK_MS: Final = 60_000


class OutsidePrometheus:
    """A server that reads its targets from our file (file_sd_configs). Control planes are none of them.

    Their pages are shown only to who has a key of theirs, and keys do not leave a run.
    """

    def __init__(self, server: Server, targets_file: Path, scraped: Iterable[Scraped]) -> None:
        self.server = server
        self._file, self._scraped = targets_file, tuple(scraped)
        # It may run as somebody else, so that its file is for all to read: addresses on loopback are no secret.
        replace_file(targets_file, [_target(each) for each in self._scraped], mode=0o644)

    @property
    def targets(self) -> dict[ScrapeTarget, str]:
        """Return which of our targets a job and instance of the server is."""
        return {ScrapeTarget(each.target, each.page.address): each.target for each in self._scraped}

    def dead(self) -> bool:
        """Return False: it is not ours to watch, and whoever reads from it finds out."""
        return False

    def cost(self) -> Cost | None:
        """Return nothing: what it costs is its owner's affair."""
        return None

    async def scrape(self, more: Iterable[Scraped]) -> None:
        """Scrape nothing more."""

    async def stop(self) -> None:
        """Take our targets away."""
        self._file.unlink(missing_ok=True)

    async def check(self, now_ms: int) -> None:
        """Raise GroundError unless the server has scraped every target in the last minute."""
        metrics = await asyncio.to_thread(
            read_samples, self.server, (), start_ms=now_ms - _LOOK_BACK_MS, end_ms=now_ms, targets=self.targets
        )
        up = {series.labels["target"] for series in metrics.find("up") if 1 in series.values}
        if missing := [each.target for each in self._scraped if each.target not in up]:
            raise GroundError(
                f"Prometheus at {self.server.url} does not scrape {' and '.join(missing)}",
                why=f"it has no answer of theirs from the last {_LOOK_BACK_MS // 1000} s",
                remedy=f"add a job with file_sd_configs: [{{files: [{self._file}]}}] to its configuration; it must run "
                "on this machine",
            )


def _target(scraped: Scraped) -> dict[str, object]:
    """Return a target as file_sd_configs takes it; its labels go before those of the job that reads the file."""
    pace = f"{scraped.interval_ms}ms"
    labels = {"job": scraped.target, "__scrape_interval__": pace, "__scrape_timeout__": pace}
    return {"targets": [scraped.page.address], "labels": labels}
