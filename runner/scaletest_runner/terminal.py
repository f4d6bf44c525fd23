"""The terminal: colour only where a person looks, and tables wide enough to read in a log."""

from rich.console import Console
from rich.table import Table

__all__ = ["out", "plain_table", "warn"]

_LOG_WIDTH = 160


def out() -> Console:
    """Return the console for results."""
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=_LOG_WIDTH)


def warn() -> Console:
    """Return the console for everything that is not the result."""
    return Console(stderr=True, highlight=False, soft_wrap=True)


def plain_table(*headers: str, right: tuple[str, ...] = ()) -> Table:
    """Return a light table; columns named in `right` hold numbers."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for header in headers:
        table.add_column(header, justify="right" if header in right else "left", overflow="fold")
    return table
