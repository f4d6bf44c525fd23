"""Speed and memory of planning, against the bars of the project: printed, never asserted.

Each measurement is a fresh process running the real command; the best of several is shown, because machines are shared.
"""

import resource
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

_SCALETEST = Path(sys.executable).with_name("scaletest")
_MIB = 1024


@dataclass(frozen=True, slots=True)
class Bar:
    """What one command may cost."""

    argv: tuple[str, ...]
    seconds: float
    mebibytes: int
    repeat: int


_BARS = (
    Bar(("--help",), 0.3, 100, 5),
    Bar(("plan", "dev-50", "--json"), 1.0, 100, 5),
    Bar(("plan", "uber-5k", "--json"), 5.0, 500, 3),
    Bar(("plan", "uber-50k", "--json"), 60.0, 3072, 1),
)


def _cost(argv: tuple[str, ...]) -> tuple[float, int]:
    """Return CPU seconds and peak resident MiB of one run."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([_SCALETEST, *argv], check=True, stdout=subprocess.DEVNULL, timeout=600)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    # ru_maxrss is the largest child so far: bars are listed by rising size, so it is this one's or an upper bound.
    return spent, after.ru_maxrss // _MIB


def main() -> None:
    """Print one line per command."""
    print(f"{'command':34} {'CPU s':>8} {'bar':>6}   {'MiB':>6} {'bar':>6}")
    for bar in _BARS:
        costs = [_cost(bar.argv) for _ in range(bar.repeat)]
        seconds, mebibytes = min(cost[0] for cost in costs), min(cost[1] for cost in costs)
        met = "" if seconds <= bar.seconds and mebibytes <= bar.mebibytes else "   OVER"
        name = "scaletest " + " ".join(bar.argv)
        print(f"{name:34} {seconds:8.2f} {bar.seconds:6.1f}   {mebibytes:6,} {bar.mebibytes:6,}{met}")


if __name__ == "__main__":
    main()
