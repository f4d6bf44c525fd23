"""kwokctl: the settings it is given, the call, and what its logs say when a cluster does not come up."""

import asyncio
import json
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from scaletest.world.kwok.components import APISERVER, CONTROLLER_MANAGER, ETCD, KWOK_CONTROLLER, SCHEDULER
from scaletest.world.kwok.errors import GroundError
from scaletest.world.kwok.ports import LOOPBACK
from scaletest.world.kwok.stages import STAGES

__all__ = [
    "CLUSTERS",
    "PEER",
    "PROGRAMS",
    "create_argv",
    "environment",
    "kube_version",
    "missing_programs",
    "settings_text",
    "telling_lines",
]

CLUSTERS: Final = "clusters"
"""kwokctl keeps every cluster in a folder of this name inside its work folder."""
PEER: Final = "etcd-peer"
PROGRAMS: Final = (
    "kwokctl",
    "kwok",
    "etcd",
    "etcdctl",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kubectl",
)
_ETCD_QUOTA: Final = "8Gi"
"""Far above what a run of a hundred thousand objects writes between two compactions."""
_KUBELETS: Final = 64
"""As many at once as the driver and the engine: whoever asks an API server more at a time gets more of its time."""
_GOGC: Final = "200"
"""Memory for processor time: components collect garbage half as often, which takes a tenth off their time."""
_TELLING: Final = re.compile(
    r'^[EF]\d{4} |"level":"(error|fatal|panic|ERROR)"|level=ERROR|panic:|[Ee]rror:|address already in use'
)
_TAIL_BYTES: Final = 64 * 1024
_LINE_HEAD, _LINE_TAIL = 120, 240


def missing_programs(binaries: Path) -> list[str]:
    """Return the programs that a folder should hold and does not."""
    return [name for name in PROGRAMS if not os.access(binaries / name, os.X_OK)]


def settings_text(binaries: Path, ports: Mapping[str, int], *, kube_version: str) -> str:
    """Return the file that kwokctl is given: its own configuration, and kwok's with what it plays. JSON is YAML."""
    kwok = {
        "apiVersion": "config.kwok.x-k8s.io/v1alpha1",
        "kind": "KwokConfiguration",
        # By default four Pods at a time: kubelets fall behind, and Pods that are deleted hold their room as long. One
        # of these options needs all: kwokctl writes zero for those that are left out.
        "options": {
            "podPlayStageParallelism": _KUBELETS,
            "nodePlayStageParallelism": _KUBELETS,
            "nodeLeaseParallelism": 4,
            "podsOnNodeSyncParallelism": 1,
            "enablePodsOnNodeSyncListPager": True,
            "enablePodsOnNodeSyncStreamWatch": False,
        },
    }
    documents = (settings(binaries, ports, kube_version=kube_version), kwok, *STAGES)
    return "\n---\n".join(json.dumps(each, indent=1) for each in documents) + "\n"


def settings(binaries: Path, ports: Mapping[str, int], *, kube_version: str) -> dict[str, Any]:
    """Return kwokctl's configuration of a throw-away cluster that only this machine can reach.

    kwokctl itself turns the API server's limits off and gives controller-manager and scheduler 5,000 requests a second
    (disableQPSLimits); kwok's own controller has no limit. Heartbeats stay as kwokctl has them.
    """
    return {
        "apiVersion": "config.kwok.x-k8s.io/v1alpha1",
        "kind": "KwokctlConfiguration",
        "options": {
            "runtime": "binary",
            "kubeVersion": kube_version,
            "kubeApiserverBinary": str(binaries / "kube-apiserver"),
            "kubeControllerManagerBinary": str(binaries / "kube-controller-manager"),
            "kubeSchedulerBinary": str(binaries / "kube-scheduler"),
            "kubectlBinary": str(binaries / "kubectl"),
            "etcdBinary": str(binaries / "etcd"),
            "etcdctlBinary": str(binaries / "etcdctl"),
            "kwokControllerBinary": str(binaries / "kwok"),
            "bindAddress": LOOPBACK,
            "kubeApiserverPort": ports[APISERVER],
            "etcdPort": ports[ETCD],
            "etcdPeerPort": ports[PEER],
            "kubeControllerManagerPort": ports[CONTROLLER_MANAGER],
            "kubeSchedulerPort": ports[SCHEDULER],
            "kwokControllerPort": ports[KWOK_CONTROLLER],
            "disableQPSLimits": True,
            "etcdQuotaBackendSize": _ETCD_QUOTA,
        },
        "componentsPatches": [
            # A cluster that does not survive its run need not survive a power cut.
            _patch(ETCD, {"unsafe-no-fsync": "true"}),
            _patch(CONTROLLER_MANAGER, {"leader-elect": "false"}),
            _patch(SCHEDULER, {"leader-elect": "false"}),
        ],
    }


def _patch(name: str, flags: Mapping[str, str]) -> dict[str, Any]:
    return {"name": name, "extraArgs": [{"key": key, "value": value} for key, value in flags.items()]}


def create_argv(binaries: Path, name: str, config: Path) -> list[str]:
    """Return the call that makes a cluster, or goes on with one that is half made."""
    return [
        str(binaries / "kwokctl"),
        "create",
        "cluster",
        f"--name={name}",
        "--runtime=binary",
        f"--config={config}",
        "--kubeconfig=",  # the cluster's own kubeconfig.yaml is enough; nobody's ~/.kube/config is touched
        "--wait=0s",  # we ask every component ourselves; kwokctl takes a dead process it has not reaped for a live one
    ]


def environment(work: Path, binaries: Path) -> dict[str, str]:
    """Return all that kwokctl and the components see of the environment: KWOK_ variables would change the cluster."""
    kept = {name: os.environ[name] for name in ("HOME", "LANG", "TMPDIR", "TZ") if name in os.environ}
    path = f"{binaries}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    return {**kept, "PATH": path, "KWOK_WORKDIR": str(work), "GOGC": _GOGC}


async def kube_version(binaries: Path) -> str:
    """Return the version of the Kubernetes in a folder of binaries: v1.36.4."""
    program = binaries / "kube-apiserver"
    process = await asyncio.create_subprocess_exec(
        program, "--version", stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE
    )
    try:
        output, _ = await asyncio.wait_for(process.communicate(), timeout=60)
    except TimeoutError:
        process.kill()
        await process.wait()
        output = b""
    found = re.search(rb"v\d+\.\d+\.\d+\S*", output)
    if found is None:
        raise GroundError(
            f"{program} does not tell its version",
            why=f"it printed {output[:200]!r}",
            remedy="see that the file is a Kubernetes API server for this machine",
        )
    return found[0].decode("ascii")


def telling_lines(log: Path, *, most: int = 3) -> list[str]:
    """Return the last lines of a log that speak of an error, or just the last ones; of JSON, only its words."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - _TAIL_BYTES))
            lines = [line for line in file.read().decode("utf-8", "replace").splitlines() if line.strip()]
    except OSError:
        return []
    telling = [line for line in lines if _TELLING.search(line)]
    return [_shortened(_words(line)) for line in (telling or lines)[-most:]]


def _shortened(line: str) -> str:
    """Return a line without its middle if it is long: programs say when and where first, and the cause last."""
    return line if len(line) <= _LINE_HEAD + _LINE_TAIL else f"{line[:_LINE_HEAD]} … {line[-_LINE_TAIL:]}"


def _words(line: str) -> str:
    try:
        document = json.loads(line)
        parts: Iterable[str] = (str(document[key]) for key in ("msg", "err", "error") if key in document)
        return ": ".join(parts)
    except (ValueError, TypeError):
        return line
