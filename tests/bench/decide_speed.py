"""How long one cycle takes: decide, plus taking the changes since the last one into the index. Figures, not a test.

Three fleets, each churned for 200 cycles before anything is counted: a fleet as it was first attributed is many times
faster than one that has lived. CPU time of one core, garbage collected between cycles and not inside them.

Steady figures are three series of 100 cycles (40 for the largest fleets), best first: what differs between series is
the company on the machine. Each cycle is also divided by what a fixed loop costs just before and after it
(`calibrated`), which takes a part of the company out.

    python tests/bench/decide_speed.py [--quick] [row ...]
"""

import gc
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import log
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.decide_world import Shape, World

WARM_CYCLES = 200
SERIES = 3
COLD_TRIES = 5
QUIET_MS = 3.3
"""What `calibration_ms` returns on the machine of docs/performance.md when nothing else runs there."""


@dataclass(frozen=True)
class Bench:
    name: str
    shape: Shape
    steady_bar_ms: float
    cold_bar_ms: float | None
    cycles: int = 100


@dataclass(frozen=True)
class Figures:
    """Per series the median and the 99th percentile; the best series is the one least disturbed by other processes."""

    machines: int
    needs: int
    rows: int
    folded: int
    p50_ms: tuple[float, ...]
    p99_ms: tuple[float, ...]
    quiet_p50_ms: float
    quiet_p99_ms: float
    apply_ms: float
    cold_ms: float
    cold_decide_ms: float
    quiet_cold_ms: float
    actions: float


SMALL = Shape(clusters=2, tiny_machines=180, service_machines=40, memcache_gangs=24, gpu_gangs=12, machines=4_500)
MIDDLE = Shape(clusters=20, tiny_machines=300, service_machines=84, memcache_gangs=95, gpu_gangs=32, machines=25_700)
LARGE = replace(MIDDLE, clusters=200, racks_per_zone=200, machines=257_000)

ROWS = (
    Bench("2 clusters", SMALL, 5, 15),
    Bench("Uber5KCardinality", MIDDLE, 50, 100),
    Bench("ten times that", LARGE, 600, 1000, cycles=40),
    Bench("Uber5KCardinality, no gang folds", replace(MIDDLE, foldable=False), 350, None),
    Bench("Uber5KCardinality, three times the churn", replace(MIDDLE, harsh=True), 50, None),
    Bench("ten times that, no gang folds", replace(LARGE, foldable=False), 2000, None, cycles=40),
)


def run(bench: Bench, *, warm: int) -> Figures:
    world = World(bench.shape, seed=7)
    for _ in range(warm):
        world.churn()
        world.cycle()
    gc.collect()
    gc.freeze()
    series = [_series(world, bench.cycles) for _ in range(SERIES)]
    gc.unfreeze()
    decisions = world.decide()
    assert decisions.folded_rows == world.expected_folded_rows(), (decisions.folded_rows, world.expected_folded_rows())
    before = calibration_ms()
    cold_ms, cold_decide_ms = world.cold_ms(COLD_TRIES)
    slow_down = min(before, calibration_ms()) / QUIET_MS
    quiet = [
        value * QUIET_MS / loop_ms for spent, loops, _, _ in series for value, loop_ms in zip(spent, loops, strict=True)
    ]
    return Figures(
        machines=len(world.fleet),
        needs=len(world.demand().rows),
        rows=len(decisions.outcomes),
        folded=decisions.folded_rows,
        p50_ms=tuple(sorted(_quantile(spent, 50) for spent, _, _, _ in series)),
        p99_ms=tuple(sorted(_quantile(spent, 99) for spent, _, _, _ in series)),
        quiet_p50_ms=_quantile(quiet, 50),
        quiet_p99_ms=_quantile(quiet, 99),
        apply_ms=min(_quantile(applied, 50) for _, _, applied, _ in series),
        cold_ms=cold_ms,
        cold_decide_ms=cold_decide_ms,
        quiet_cold_ms=cold_ms / slow_down,
        actions=sum(actions for _, _, _, actions in series) / SERIES / bench.cycles,
    )


def calibration_ms() -> float:
    """Return what a fixed piece of plain Python costs right now: the company on the machine shows in it."""
    best = float("inf")
    for _ in range(3):
        start = time.process_time_ns()
        total = 0
        for number in range(100_000):
            total += number
        best = min(best, (time.process_time_ns() - start) / 1e6)
    return best


def _series(world: World, cycles: int) -> tuple[list[float], list[float], list[float], int]:
    spent, loops, applied, actions = [], [], [], 0
    for _ in range(cycles):
        world.churn()
        before = calibration_ms()
        gc.disable()
        start = time.process_time_ns()
        world.take_in_changes()
        middle = time.process_time_ns()
        decisions = world.decide()
        end = time.process_time_ns()
        gc.enable()
        loops.append((before + calibration_ms()) / 2)
        spent.append((end - start) / 1e6)
        applied.append((middle - start) / 1e6)
        actions += len(decisions.actions)
        world.act(decisions)
    return spent, loops, applied, actions


def _quantile(values: list[float], percent: int) -> float:
    return sorted(values)[-(-percent * len(values) // 100) - 1]


def main(argv: Iterable[str]) -> None:
    words = list(argv)
    warm = 20 if "--quick" in words else WARM_CYCLES
    wanted = [int(word) for word in words if word.isdigit()] or list(range(1, len(ROWS) + 1))
    print(
        "row | machines | Needs | rows | folded | steady p50 by series (apply) | p99 by series | bar "
        "| calibrated p50, p99 | cold (of it the cycle; calibrated) | bar | actions"
    )
    found: dict[int, Figures] = {}
    for number in wanted:
        bench = ROWS[number - 1]
        found[number] = run(bench, warm=warm)
        print(_line(bench, found[number]), flush=True)
    for name, small, large in (("folded", 2, 3), ("no gang folds", 4, 6)):
        if small in found and large in found:
            growth = log(found[large].quiet_p99_ms / found[small].quiet_p99_ms)
            growth /= log(found[large].machines / found[small].machines)
            print(f"growth exponent, {name}: {growth:.2f} (bar 1.15)")


def _line(bench: Bench, f: Figures) -> str:
    cold_bar = "-" if bench.cold_bar_ms is None else f"{bench.cold_bar_ms:.0f} ms"
    p50, p99 = ("/".join(f"{value:.1f}" for value in values) for values in (f.p50_ms, f.p99_ms))
    return (
        f"{bench.name} | {f.machines} | {f.needs} | {f.rows} | {f.folded} | {p50} ms (apply {f.apply_ms:.2f})"
        f" | {p99} ms | {bench.steady_bar_ms:.0f} ms | {f.quiet_p50_ms:.1f}, {f.quiet_p99_ms:.1f} ms"
        f" | {f.cold_ms:.1f} ms ({f.cold_decide_ms:.1f}; {f.quiet_cold_ms:.1f}) | {cold_bar}"
        f" | {f.actions:.1f}"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
