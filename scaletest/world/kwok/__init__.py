"""The world of real API servers and real metrics: the only room with processes and foreign clients."""

from scaletest.world.kwok.prometheus import (
    PrometheusAnswer,
    PrometheusError,
    PrometheusUnavailable,
    ScrapeTarget,
    Server,
    read_samples,
)
from scaletest.world.kwok.recording import record_scrapes

__all__ = [
    "PrometheusAnswer",
    "PrometheusError",
    "PrometheusUnavailable",
    "ScrapeTarget",
    "Server",
    "read_samples",
    "record_scrapes",
]
