"""How long one cycle takes: decide, plus taking the changes since the last one into the index. Figures, not a test.

Three fleets, each churned for 200 cycles before anything is counted: a fleet as it was first attributed is many times
faster than one that has lived. CPU time of one core, garbage collected between cycles and not inside them.

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
COUNTED_CYCLES = 100
COLD_TRIES = 3


@dataclass(frozen=True)
class Bench:
    name: str
    shape: Shape
    steady_bar_ms: float
    cold_bar_ms: float | None
    counted: int = COUNTED_CYCLES


@dataclass(frozen=True)
class Figures:
    machines: int
    needs: int
    rows: int
    folded: int
    p50_ms: float
    p99_ms: float
    apply_p50_ms: float
    cold_ms: float
    cold_decide_ms: float
    actions_per_cycle: float


SMALL = Shape(clusters=2, tiny_machines=180, service_machines=40, memcache_gangs=24, gpu_gangs=12, machines=4_500)
MIDDLE = Shape(clusters=20, tiny_machines=300, service_machines=84, memcache_gangs=95, gpu_gangs=32, machines=25_700)
LARGE = replace(MIDDLE, clusters=200, racks_per_zone=200, machines=257_000)

ROWS = (
    Bench("2 clusters", SMALL, 5, 15),
    Bench("Uber5KCardinality", MIDDLE, 50, 100),
    Bench("ten times that", LARGE, 600, 1000, counted=100),
    Bench("Uber5KCardinality, no gang folds", replace(MIDDLE, foldable=False), 350, None),
    Bench("ten times that, no gang folds", replace(LARGE, foldable=False), 2000, None, counted=100),
)


def cpu_ms(work: object) -> float:
    assert callable(work)
    gc.collect()
    gc.disable()
    start = time.process_time_ns()
    work()
    spent = time.process_time_ns() - start
    gc.enable()
    return spent / 1e6


def run(bench: Bench, *, warm: int) -> Figures:
    world = World(bench.shape, seed=7)
    for _ in range(warm):
        world.churn()
        world.cycle()
    spent, applied, actions = [], [], 0
    gc.collect()
    gc.freeze()
    for _ in range(bench.counted):
        world.churn()
        gc.disable()
        start = time.process_time_ns()
        world.take_in_changes()
        middle = time.process_time_ns()
        decisions = world.decide()
        end = time.process_time_ns()
        gc.enable()
        spent.append((end - start) / 1e6)
        applied.append((middle - start) / 1e6)
        actions += len(decisions.actions)
        world.act(decisions)
    gc.unfreeze()
    assert decisions.folded_rows == world.expected_folded_rows(), (decisions.folded_rows, world.expected_folded_rows())
    cold, cold_decide = world.cold_ms(COLD_TRIES)
    spent.sort()
    return Figures(
        machines=len(world.fleet),
        needs=len(world.demand().rows),
        rows=len(decisions.outcomes),
        folded=decisions.folded_rows,
        p50_ms=spent[len(spent) // 2],
        p99_ms=spent[-(-99 * len(spent) // 100) - 1],
        apply_p50_ms=sorted(applied)[len(applied) // 2],
        cold_ms=cold,
        cold_decide_ms=cold_decide,
        actions_per_cycle=actions / bench.counted,
    )


def main(argv: Iterable[str]) -> None:
    words = list(argv)
    warm = 20 if "--quick" in words else WARM_CYCLES
    wanted = [int(word) for word in words if word.isdigit()] or list(range(1, len(ROWS) + 1))
    print("row | machines | Needs | rows | folded | steady p50 | p99 | bar | cold (of it decide) | bar | actions/cycle")
    found: dict[int, Figures] = {}
    for number in wanted:
        bench = ROWS[number - 1]
        f = found[number] = run(bench, warm=warm)
        cold_bar = "-" if bench.cold_bar_ms is None else f"{bench.cold_bar_ms:.0f} ms"
        print(
            f"{bench.name} | {f.machines} | {f.needs} | {f.rows} | {f.folded} | {f.p50_ms:.2f} ms (apply "
            f"{f.apply_p50_ms:.2f}) | {f.p99_ms:.2f} ms | {bench.steady_bar_ms:.0f} ms | {f.cold_ms:.1f} ms "
            f"({f.cold_decide_ms:.1f}) | {cold_bar} | {f.actions_per_cycle:.1f}",
            flush=True,
        )
    for name, small, large in (("folded", 2, 3), ("no gang folds", 4, 5)):
        if small in found and large in found:
            growth = log(found[large].p99_ms / found[small].p99_ms) / log(found[large].machines / found[small].machines)
            print(f"growth exponent, {name}: {growth:.2f} (bar 1.15)")


if __name__ == "__main__":
    main(sys.argv[1:])
