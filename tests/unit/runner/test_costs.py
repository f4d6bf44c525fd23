"""What a run on real clusters cost, as a person reads it."""

from io import StringIO
from pathlib import Path

from rich.console import Console

from scaletest.evidence import Series
from scaletest.world.kwok.processes import Cost
from scaletest_runner.running.real.costs import CostBook


class _Clock:
    def now_us(self) -> int:
        return 0

    async def sleep_until(self, at_us: int) -> None:
        raise AssertionError(at_us)


def _shown(book: CostBook) -> list[list[str]]:
    console = Console(width=160, record=True, file=StringIO())
    console.print(book.table())
    return [line.split() for line in console.export_text().splitlines()[1:]]


def _seconds(cpu_s: float, mebibytes: int) -> Cost:
    return Cost(round(cpu_s * 1e6), mebibytes * 1024 * 1024)


def test_components_of_one_kind_are_added_up_and_phases_kept_apart(tmp_path: Path) -> None:
    book = CostBook(tmp_path / "costs.json", _Clock())
    for phase, cpu_s in (("install", 1), ("soak", 10), ("linger", 14)):
        book.note(phase, {"a/etcd": _seconds(cpu_s, 100), "b/etcd": _seconds(cpu_s, 50), "engine": _seconds(2, 7)})
    book.note("end", {"a/etcd": _seconds(15, 100), "b/etcd": _seconds(15, 50)})
    engine = Series("scaletest_loop_lag_worst_seconds", {"target": "engine"})
    engine.times_ms.append(1)
    engine.values.append(0.25)
    book.note_lags([engine])

    assert _shown(book) == [
        ["etcd", "20.0", "s", "8.0", "s", "2.0", "s", "150", "MiB"],
        ["engine", "2.0", "s", "0.0", "s", "0.0", "s", "7", "MiB", "250", "ms"],
    ]


def test_a_run_that_never_came_to_its_soak_has_costs_too(tmp_path: Path) -> None:
    book = CostBook(tmp_path / "costs.json", _Clock())
    book.note("install", {"driver": _seconds(3, 10)})

    assert _shown(book) == [["driver", "3.0", "s", "0.0", "s", "0.0", "s", "10", "MiB"]]
