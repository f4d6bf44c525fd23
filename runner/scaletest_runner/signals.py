"""Signals that ask for an end: noted when they come, obeyed where nothing is left half done."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from scaletest_runner.exits import Exit

__all__ = ["ENDS", "caught_signals"]

ENDS: Final = {signal.SIGINT: Exit.INTERRUPTED, signal.SIGTERM: Exit.TERMINATED}
"""The exit code of every signal that is caught."""


@contextmanager
def caught_signals() -> Iterator[list[signal.Signals]]:
    """Catch the first signal that asks for an end; the second one ends the process at once."""
    caught: list[signal.Signals] = []

    def note(number: int, _: object) -> None:
        caught.append(signal.Signals(number))
        signal.signal(number, signal.SIG_DFL)

    before = {number: signal.signal(number, note) for number in ENDS}
    try:
        yield caught
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
