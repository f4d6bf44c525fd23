"""Whole runs, set-up to verdict, on one core: wall time, processor time and memory against their bars.

By default dev-50 and uber-5k; name profiles to run others (`run_speed.py uber-50k` takes the better part of an hour).
What a fixed loop costs is measured while the run goes on; `calibrated` is the wall time on a machine as quick as
the one of docs/performance.md when nothing else runs there.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from statistics import mean
from typing import Final

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.decide_speed import QUIET_MS, calibration_ms

_BARS: Final = {"dev-50": (10, 300), "uber-5k": (150, 1536), "uber-50k": (1800, 8192)}
"""Seconds of wall time and MiB of memory."""
_LOOK_S: Final = 0.5


def _measure(profile: str) -> None:
    loops = [calibration_ms()]
    with tempfile.TemporaryDirectory() as out, tempfile.TemporaryFile("w+") as shown:
        argv = [sys.executable, "-m", "scaletest_runner.main", "run", profile, "--out", out]
        started = time.monotonic()
        process = subprocess.Popen(argv, stdout=shown, stderr=subprocess.DEVNULL)
        while _runs(process):
            loops.append(calibration_ms())
        wall = time.monotonic() - started
        shown.seek(0)
        text = shown.read()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    bar_s, bar_mib = _BARS.get(profile, (0, 0))
    words = ("PASS:", "FAIL:", "INCONCLUSIVE:")
    outcome = next((line for line in text.splitlines() if line.startswith(words)), "no verdict")
    print(
        f"{profile}: wall {wall:.1f} s, calibrated {wall * QUIET_MS / mean(loops):.1f} s (bar {bar_s}; loop "
        f"{min(loops):.1f} to {max(loops):.1f} ms), cpu {used.ru_utime + used.ru_stime:.1f} s so far, "
        f"memory {used.ru_maxrss / 1024:.0f} MiB at most so far (bar {bar_mib}); {outcome}"
    )


def _runs(process: subprocess.Popen[bytes]) -> bool:
    """Wait a little; say whether the process still runs."""
    with suppress(subprocess.TimeoutExpired):
        process.wait(_LOOK_S)
    return process.returncode is None


def main() -> None:
    """Print the figures."""
    load = os.getloadavg()[0]
    print(f"load of the machine: {load:.1f} on {os.cpu_count()} cores")
    for profile in sys.argv[1:] or ("dev-50", "uber-5k"):
        _measure(profile)


if __name__ == "__main__":
    main()
