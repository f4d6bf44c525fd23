"""Live progress: one line that a person can follow on a terminal, one line per phase in a log."""

import time
from collections.abc import Callable
from types import TracebackType
from typing import Final, Self

from rich.console import Console
from rich.live import Live
from rich.text import Text

from scaletest.model import US_PER_SECOND
from scaletest_runner.running.stage import Stage

__all__ = ["Progress"]

_REFRESH_S: Final = 0.2


class Progress:
    """Shows where a run is. `tick` is called often and looks at the wall clock by itself."""

    def __init__(self, console: Console, title: str, now_us: Callable[[], int]) -> None:
        self._console, self._title, self._now_us = console, title, now_us
        self._live = Live(console=console, auto_refresh=False, transient=True) if console.is_terminal else None
        self._began_s = time.monotonic()
        self._shown_s = 0.0
        self._phase = ""
        self.stage: Stage | None = None

    def __enter__(self) -> Self:
        if self._live:
            self._live.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live:
            self._live.__exit__(kind, error, trace)

    @property
    def wall_s(self) -> float:
        """Return the seconds of wall time since the run began."""
        return time.monotonic() - self._began_s

    def entered(self, phase: str) -> None:
        """Note that a phase begins; a log gets one line for each."""
        self._phase = phase
        if not self._live:
            self._console.print(self._line())
        self.tick(force=True)

    def tick(self, *, force: bool = False) -> None:
        """Show the state, if it is time to."""
        now_s = time.monotonic()
        if self._live and (force or now_s - self._shown_s >= _REFRESH_S):
            self._shown_s = now_s
            self._live.update(self._line(), refresh=True)

    def _line(self) -> Text:
        virtual_s = self._now_us() / US_PER_SECOND
        parts = [f"{self._title}  {self._phase:8}  virtual {virtual_s:7.1f} s  wall {self.wall_s:5.1f} s"]
        if self.stage is not None:
            driver, engine = self.stage.driver, self.stage.engine
            parts.append(f"bound {driver.bound_ready:,}")
            parts.append(f"churn {driver.sent:,} of {driver.planned:,}")
            settled = self.stage.reclaims_at_settle
            since = "" if settled is None else f", {engine.reclaims - settled:,} since settle"
            parts.append(f"reclaims {engine.reclaims:,}{since}")
        return Text("  ".join(parts))
