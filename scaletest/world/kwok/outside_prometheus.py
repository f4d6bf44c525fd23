"""A Prometheus that somebody else runs: told what to scrape by a file, and asked for what it has stored."""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from scaletest.world.kwok.errors import GroundError
from scaletest.world.kwok.first_scrapes import never_scraped
from scaletest.world.kwok.homes import replace_file
from scaletest.world.kwok.processes import Cost
from scaletest.world.kwok.prometheus import ScrapeTarget, Server
from scaletest.world.kwok.prometheus_server import Scraped

__all__ = ["OutsidePrometheus"]

_FIRST_S: Final = 30.0
"""It notices a new file at once, and takes up what it names some seconds later."""
_ANSWER_S: Final = 10.0
"""An engine may have started within the last interval."""


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

    async def scraping(self) -> None:
        """Wait until the server has tried every target; raise GroundError when it does not."""
        await self._check(patience_s=_FIRST_S, answered=False)

    async def check(self) -> None:
        """Raise GroundError unless every target has answered the server in the last minute."""
        await self._check(patience_s=_ANSWER_S, answered=True)

    async def _check(self, *, patience_s: float, answered: bool) -> None:
        if missing := await never_scraped(self.server, self.targets, patience_s=patience_s, answered=answered):
            raise GroundError(
                f"Prometheus at {self.server.url} does not scrape {' and '.join(missing)}",
                why=f"it has {'no answer of theirs' if answered else 'not tried to'}, after {patience_s:g} s",
                remedy=f"add a job with file_sd_configs: [{{files: [{self._file}]}}] to its configuration; it must run "
                "on this machine",
            )


def _target(scraped: Scraped) -> dict[str, object]:
    """Return a target as file_sd_configs takes it; its labels go before those of the job that reads the file."""
    pace = f"{scraped.interval_ms}ms"
    labels = {"job": scraped.target, "__scrape_interval__": pace, "__scrape_timeout__": pace}
    return {"targets": [scraped.page.address], "labels": labels}
