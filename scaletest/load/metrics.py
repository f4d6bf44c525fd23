"""The driver's own numbers for a scrape: plain integers, made into metric families only when somebody reads them.

A collector of our own instead of the client's metric objects: those take a lock per increment and add the wall clock's
`_created` samples.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

from scaletest.model import US_PER_SECOND

__all__ = ["Errand", "LoadMetrics"]

_EDGES: Final = tuple(0.05 * 2**n for n in range(16))
"""Seconds; the buckets of the original harness, so that results compare."""


class Errand:
    """What the driver asks of a cluster, as its errors are counted."""

    CREATE: Final = "create"
    DELETE: Final = "delete"
    SCALE: Final = "scale"
    WATCH: Final = "watch"
    ALL: Final = (CREATE, DELETE, SCALE, WATCH)


class LoadMetrics(Collector):
    """Counts of one driver. `active` and `target` are asked for at every scrape."""

    def __init__(
        self, *, started_us: int, edges: Sequence[float], active: Callable[[], int], target: Callable[[], int]
    ) -> None:
        self._started_us = started_us
        self._active, self._target = active, target
        self._edges = sorted({*_EDGES, *edges})
        self._edges_us = [round(edge * US_PER_SECOND) for edge in self._edges]
        self._buckets = [0] * (len(self._edges) + 1)
        self._waited_us = 0
        self.observed = 0
        """Binds observed so far."""
        self.created = 0
        """Workload objects created."""
        self.deleted = 0
        """Workload objects and single Pods deleted."""
        self.errors = dict.fromkeys(Errand.ALL, 0)
        self.steady = False

    def observe(self, waited_us: int) -> int:
        """Count a bind and return its number."""
        self._buckets[bisect_left(self._edges_us, waited_us)] += 1
        self._waited_us += waited_us
        self.observed += 1
        return self.observed

    def collect(self) -> Iterator[Metric]:
        """Yield every family, each label set from the first scrape on."""
        yield self._histogram()
        yield _counter("scaletest_loadgen_cr_created", "Workload objects created.", self.created)
        yield _counter("scaletest_loadgen_cr_deleted", "Workload objects and Pods deleted.", self.deleted)
        yield _gauge("scaletest_loadgen_cr_active", "Pods there are now.", self._active())
        yield _gauge("scaletest_loadgen_cr_target", "Pods there should be now.", self._target())
        errors = CounterMetricFamily("scaletest_loadgen_errors", "Calls that failed.", labels=["kind"])
        for kind, number in sorted(self.errors.items()):
            errors.add_metric([kind], number)
        yield errors
        yield _gauge("scaletest_loadgen_steady_state", "1 from soak start on.", int(self.steady))
        yield _gauge("process_start_time_seconds", "When the driver started.", self._started_us / US_PER_SECOND)

    def _histogram(self) -> Metric:
        buckets, total = [], 0
        for edge, count in zip((*self._edges, float("inf")), self._buckets, strict=True):
            total += count
            buckets.append((_text(edge), float(total)))
        family = HistogramMetricFamily("scaletest_binding_seconds", "From a Pod's appearance to its bind.")
        family.add_metric([], buckets=buckets, sum_value=self._waited_us / US_PER_SECOND)
        return family


def _counter(name: str, text: str, value: int) -> Metric:
    return CounterMetricFamily(name, text, value=value)


def _gauge(name: str, text: str, value: float) -> Metric:
    return GaugeMetricFamily(name, text, value=value)


def _text(edge: float) -> str:
    return str(floatToGoString(edge))  # type: ignore[no-untyped-call]  # the client's own way to write an edge
