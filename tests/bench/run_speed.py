"""Whole runs, set-up to verdict, on one core: wall time, processor time and memory against their bars.

By default dev-50 and uber-5k; name profiles to run others (`run_speed.py uber-50k` takes half an hour).
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from typing import Final

_BARS: Final = {"dev-50": (10, 300), "uber-5k": (150, 1536), "uber-50k": (1800, 8192)}
"""Seconds of wall time and MiB of memory."""


def _measure(profile: str) -> None:
    with tempfile.TemporaryDirectory() as out:
        argv = [sys.executable, "-m", "scaletest_runner.main", "run", profile, "--out", out]
        started = time.monotonic()
        process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        text, _ = process.communicate()
        wall = time.monotonic() - started
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    bar_s, bar_mib = _BARS.get(profile, (0, 0))
    words = ("PASS:", "FAIL:", "INCONCLUSIVE:")
    outcome = next((line for line in text.splitlines() if line.startswith(words)), "no verdict")
    print(
        f"{profile}: wall {wall:.1f} s (bar {bar_s}), cpu {used.ru_utime + used.ru_stime:.1f} s so far, "
        f"memory {used.ru_maxrss / 1024:.0f} MiB at most so far (bar {bar_mib}); {outcome}"
    )


def main() -> None:
    """Print the figures."""
    load = os.getloadavg()[0]
    print(f"load of the machine: {load:.1f} on {os.cpu_count()} cores")
    for profile in sys.argv[1:] or ("dev-50", "uber-5k"):
        _measure(profile)


if __name__ == "__main__":
    main()
