"""The world of real API servers and real metrics: the only room with processes and foreign clients."""

from scaletest.world.kwok.clusters import KwokCluster, create_cluster
from scaletest.world.kwok.components import (
    APISERVER,
    CONTROLLER_MANAGER,
    ETCD,
    KWOK_CONTROLLER,
    SCHEDULER,
    Component,
    Credentials,
    MetricsPage,
)
from scaletest.world.kwok.errors import GroundError
from scaletest.world.kwok.homes import HomeKind
from scaletest.world.kwok.processes import Cost, ProcessId, identify
from scaletest.world.kwok.prometheus import (
    PrometheusAnswer,
    PrometheusError,
    PrometheusUnavailable,
    ScrapeTarget,
    Server,
    read_samples,
)
from scaletest.world.kwok.prometheus_server import (
    CONTROL_PLANE_METRICS,
    PrometheusServer,
    Scraped,
    control_plane,
    start_prometheus,
)
from scaletest.world.kwok.recording import record_scrapes
from scaletest.world.kwok.runs import (
    LiveRun,
    RunEntry,
    RunState,
    destroy_leftovers,
    destroy_run,
    leftovers,
    register_run,
    registered_runs,
)

__all__ = [
    "APISERVER",
    "CONTROLLER_MANAGER",
    "CONTROL_PLANE_METRICS",
    "ETCD",
    "KWOK_CONTROLLER",
    "SCHEDULER",
    "Component",
    "Cost",
    "Credentials",
    "GroundError",
    "HomeKind",
    "KwokCluster",
    "LiveRun",
    "MetricsPage",
    "ProcessId",
    "PrometheusAnswer",
    "PrometheusError",
    "PrometheusServer",
    "PrometheusUnavailable",
    "RunEntry",
    "RunState",
    "ScrapeTarget",
    "Scraped",
    "Server",
    "control_plane",
    "create_cluster",
    "destroy_leftovers",
    "destroy_run",
    "identify",
    "leftovers",
    "read_samples",
    "record_scrapes",
    "register_run",
    "registered_runs",
    "start_prometheus",
]
