"""What takes too long for every commit: many seeds of dev-50, a day of it, and an engine that never acts everywhere.

Prints figures; the exit code says whether all of it held.
"""

import re
import subprocess
import sys
import tempfile
from collections import Counter
from typing import Final

from scaletest_runner.exits import Exit
from scaletest_runner.locations import shipped_profiles

_SEEDS: Final = 200
_NOT_RUN: Final = ("uber-500k",)
"""Planned only: nothing here is large enough for it."""
_SHORT_S: Final = {"uber-50k": 120, "spot-churn-50k": 120}
"""Seconds of soak instead of an hour. Of an engine that never acts the hour shows no more: what it has to give back
(7,800 machines) is several times what is lost meanwhile (1,300)."""


def _scaletest(*argv: str) -> tuple[int, str]:
    with tempfile.TemporaryDirectory() as out:
        command = [sys.executable, "-m", "scaletest_runner.main", "run", *argv, "--out", out]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


def _seeds() -> bool:
    _, text = _scaletest("dev-50", "--seeds", f"1..{_SEEDS}")
    print(text)
    line = next((line for line in text.splitlines() if re.match(r"\d+ seeds: ", line)), "")
    counts = Counter({name: int(number) for number, name in re.findall(r"(\d+) ([A-Z]+)", line)})
    return counts["PASS"] >= 0.99 * _SEEDS and counts["INCONCLUSIVE"] <= 0.01 * _SEEDS


def _day() -> bool:
    code, text = _scaletest("soak-24h")
    print(text)
    return code == 0


def _never_acts() -> bool:
    held = True
    for path in shipped_profiles():
        if path.stem not in _NOT_RUN:
            code, text = _scaletest(path.stem, "--ablate", "AB-00", *_shortened(path.stem))
            outcome = [line for line in text.splitlines() if line.startswith(("PASS", "FAIL:", "INCONCLUSIVE:"))]
            print(f"AB-00 on {path.stem}: exit {code}, {outcome[-1] if outcome else 'no verdict'}")
            held = held and code == Exit.FAIL  # a run that was refused or broke shows nothing
    return held


def _shortened(profile: str) -> list[str]:
    if profile not in _SHORT_S:
        return []
    soak_s = _SHORT_S[profile]
    return ["--set", f"loadProfile.soakSeconds={soak_s}", "--set", f"loadProfile.settleSeconds={soak_s // 4}"]


_STEPS: Final = {"seeds": _seeds, "day": _day, "never-acts": _never_acts}


def main() -> None:
    """Run the steps that are named, or all."""
    results = {name: _STEPS[name]() for name in sys.argv[1:] or _STEPS}
    for name, held in results.items():
        print(f"{name}: {'holds' if held else 'DOES NOT HOLD'}")
    sys.exit(not all(results.values()))


if __name__ == "__main__":
    main()
