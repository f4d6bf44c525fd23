"""Live progress: one line that a person can follow on a terminal; elsewhere one line per phase and per minute."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Self

from rich.console import Console
from rich.live import Live
from rich.text import Text

from scaletest.model import US_PER_SECOND
from scaletest_runner.running.stage import Stage

__all__ = ["Progress", "Reading"]

_REFRESH_S: Final = 0.2
_LOG_EVERY_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class Reading:
    """Where a run is, in numbers."""

    bound: int = 0
    sent: int = 0
    planned: int = 0
    reclaims: int = 0
    since_settle: int | None = None
    cycle_us: int = 0

    @classmethod
    def of(cls, stage: Stage) -> "Reading":
        """Return where the run on a stage is."""
        driver, reclaims, settled = stage.driver, stage.engine.reclaims, stage.reclaims_at_settle
        since = None if settled is None else reclaims - settled
        return cls(driver.bound_ready, driver.sent, driver.planned, reclaims, since, stage.engine.last_cycle_us)


class Progress:
    """Shows where a run is. `tick` is called often and looks at the wall clock by itself.

    `now_us` is the run's own clock where it is not the wall clock. A phase may have a time it is expected to take.
    """

    def __init__(self, console: Console, title: str, *, now_us: Callable[[], int] | None = None) -> None:
        self._console, self._title, self._now_us = console, title, now_us
        self._live = Live(console=console, auto_refresh=False, transient=True) if console.is_terminal else None
        self._began_s = self._phase_s = self._logged_s = time.monotonic()
        self._shown_s = 0.0
        self._phase = ""
        self._expected_s: float | None = None
        self.reading: Callable[[], Reading] | None = None

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

    def entered(self, phase: str, *, expected_s: float | None = None) -> None:
        """Note that a phase begins; a log gets one line for each."""
        self._phase, self._expected_s, self._phase_s = phase, expected_s, time.monotonic()
        self._log()
        self.tick(force=True)

    def tick(self, *, force: bool = False) -> None:
        """Show the state, if it is time to."""
        now_s = time.monotonic()
        if self._live and (force or now_s - self._shown_s >= _REFRESH_S):
            self._shown_s = now_s
            self._live.update(self._line(), refresh=True)
        elif now_s - self._logged_s >= _LOG_EVERY_S:
            self._log()

    def _log(self) -> None:
        self._logged_s = time.monotonic()
        if not self._live:
            self._console.print(self._line())

    def _line(self) -> Text:
        parts = [f"{self._title}  {self._phase:8}"]
        if self._now_us is not None:
            parts.append(f"virtual {self._now_us() / US_PER_SECOND:7.1f} s")
        else:
            expected = "" if self._expected_s is None else f" of about {self._expected_s:.0f}"
            parts.append(f"{time.monotonic() - self._phase_s:5.1f}{expected} s")
        parts.append(f"wall {self.wall_s:5.1f} s")
        if self.reading is not None:
            now = self.reading()
            parts += [f"bound {now.bound:,}", f"churn {now.sent:,} of {now.planned:,}"]
            since = "" if now.since_settle is None else f", {now.since_settle:,} since settle"
            parts += [f"reclaims {now.reclaims:,}{since}", f"cycle {now.cycle_us / 1000:.0f} ms"]
        return Text("  ".join(parts))
