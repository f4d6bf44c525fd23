"""Exit codes: what a script may rely on. Exit 1 only ever means that a gate was evaluated and failed."""

from enum import IntEnum

__all__ = ["Exit"]


class Exit(IntEnum):
    """How a command ended."""

    PASS = 0
    """The command did what was asked; a run passed."""
    FAIL = 1
    """A gate was evaluated and failed."""
    REFUSED = 2
    """Bad profile, bad usage, or refused by preflight."""
    INCONCLUSIVE = 3
    """The run cannot be judged, or was judged with changed parameters."""
    ENVIRONMENT = 4
    """The ground never came up: a missing binary, a port, a deadline."""
    BUG = 70
    """A fault of scaletest itself."""
    INTERRUPTED = 130
    """Ended by SIGINT."""
    TERMINATED = 143
    """Ended by SIGTERM."""
