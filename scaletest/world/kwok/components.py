"""The five processes of a cluster: what each is called, how it is asked for its health, where its numbers are."""

import http.client
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from scaletest.world.kwok.ports import LOOPBACK
from scaletest.world.kwok.processes import ProcessId, flags_of, identify

__all__ = [
    "APISERVER",
    "CONTROLLER_MANAGER",
    "ETCD",
    "KINDS",
    "KWOK_CONTROLLER",
    "SCHEDULER",
    "Component",
    "ComponentKind",
    "Credentials",
    "MetricsPage",
    "component",
    "component_process",
    "is_healthy",
]

ETCD: Final = "etcd"
APISERVER: Final = "kube-apiserver"
CONTROLLER_MANAGER: Final = "kube-controller-manager"
SCHEDULER: Final = "kube-scheduler"
KWOK_CONTROLLER: Final = "kwok-controller"

_PROBE_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class ComponentKind:
    """What is the same for a component in every cluster."""

    name: str
    scheme: str
    health_path: str
    wanted: Mapping[str, str]
    """Flags it must have been started with, whatever kwokctl made of our wishes."""


KINDS: Final = (
    ComponentKind(ETCD, "http", "/health", {"unsafe-no-fsync": "true"}),
    ComponentKind(
        APISERVER,
        "https",
        "/readyz",
        # No request is turned away or queued for the sake of another: what is slow here is slow by itself.
        {
            "max-requests-inflight": "0",
            "max-mutating-requests-inflight": "0",
            "enable-priority-and-fairness": "false",
        },
    ),
    # Without an election a component may be stopped for minutes and goes on afterwards: no lease runs out.
    ComponentKind(CONTROLLER_MANAGER, "https", "/healthz", {"leader-elect": "false"}),
    ComponentKind(SCHEDULER, "https", "/healthz", {"leader-elect": "false"}),
    ComponentKind(KWOK_CONTROLLER, "http", "/healthz", {}),
)


@dataclass(frozen=True, slots=True)
class Credentials:
    """Files by which a client of a cluster's API server knows it and is known."""

    ca: Path
    cert: Path
    key: Path


@dataclass(frozen=True, slots=True)
class MetricsPage:
    """Where Prometheus finds a component's numbers."""

    address: str
    scheme: str
    credentials: Credentials | None = None
    """None: nothing has to be shown, and a certificate that nobody signed is taken as it is."""
    path: str = "/metrics"


@dataclass(frozen=True, slots=True)
class Component:
    """One process of a cluster."""

    name: str
    process: ProcessId
    port: int
    metrics: MetricsPage
    flags: Mapping[str, str]
    """As on its command line."""


def component_process(home: Path, name: str) -> ProcessId | None:
    """Return the process that kwokctl noted for a component, if it runs and is that component of that cluster."""
    try:
        pid = int((home / "pids" / f"{name}.pid").read_text(encoding="ascii"))
    except (FileNotFoundError, ValueError):  # not there yet, or being written
        return None
    process = identify(pid)
    if process is None or not any(f"{home}/" in part for part in process.argv()):
        return None
    return process


def is_healthy(kind: ComponentKind, port: int) -> bool:
    """Ask a component whether it is ready to work; blocks for a few seconds at most."""
    connection = http.client.HTTPConnection(LOOPBACK, port, timeout=_PROBE_S)
    if kind.scheme == "https":
        # Nothing is sent that anybody could misuse, so it does not matter who answers.
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        connection = http.client.HTTPSConnection(LOOPBACK, port, timeout=_PROBE_S, context=context)
    try:
        connection.request("GET", kind.health_path)
        return connection.getresponse().status == http.HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def component(kind: ComponentKind, process: ProcessId, port: int, credentials: Credentials) -> Component:
    """Return a component as it runs."""
    shown = credentials if kind.name == APISERVER else None
    page = MetricsPage(f"{LOOPBACK}:{port}", kind.scheme, shown)
    return Component(kind.name, process, port, page, flags_of(process.argv()))
