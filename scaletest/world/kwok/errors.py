"""What can be wrong with the ground a run stands on, before there is anything to measure."""

from typing import Final

from scaletest.profile.problems import printable

__all__ = ["GroundError"]

_LONGEST_WHY: Final = 1200


class GroundError(Exception):
    """The ground did not come up: what failed, why, and what to do about it."""

    def __init__(self, what: str, *, why: str, remedy: str) -> None:
        # Logs of foreign programs may be part of the reason: cut short, and nothing in them may steer a terminal.
        lines = why[:_LONGEST_WHY].splitlines()
        self.what, self.why, self.remedy = what, "\n".join(printable(line) for line in lines), remedy
        super().__init__(f"{self.what}: {self.why}; {self.remedy}")
