"""The terminal: colour only where a person looks, and tables wide enough to read in a log."""

from typing import Literal

from rich.console import Console
from rich.table import Table

__all__ = ["out", "plain_table", "warn"]

_LOG_WIDTH = 160


class _Results(Console):
    """A console that lets a broken pipe through: rich would end the process with 1, which means "a gate failed"."""

    def on_broken_pipe(self) -> None:
        """Leave the matter to the edge."""
        raise BrokenPipeError


def out() -> Console:
    """Return the console for results."""
    console = _Results(highlight=False)
    return console if console.is_terminal else _Results(highlight=False, width=_LOG_WIDTH)


def warn() -> Console:
    """Return the console for everything that is not the result."""
    return Console(stderr=True, highlight=False, soft_wrap=True)


def plain_table(*headers: str, right: tuple[str, ...] = ()) -> Table:
    """Return a light table; columns named in `right` hold numbers."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for position, header in enumerate(headers):
        justify: Literal["left", "right"] = "right" if header in right else "left"
        table.add_column(header, justify=justify, overflow="fold", no_wrap=position == 0)
    return table
