"""A cluster's controllers, held back while it is filled.

ReplicaSets that stand before their Pods would be given other Pods, and Pods that stand before their ReplicaSets must be
adopted, a patch for each. With nobody to look in between both can be created as they are meant to be. A controller-
manager that starts anew reads everything before it acts; one that was only stopped would act on what it read first.

Scheduler and kubelets have nothing to do meanwhile and are only stopped. An API server ends the watches of whoever is
slow to read, often while a cluster is filled, and kwok begins its next watch with all Pods anew.
"""

import asyncio
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from threading import Thread
from typing import Final, NamedTuple

from scaletest.world.kwok.clusters import KwokCluster
from scaletest.world.kwok.components import CONTROLLER_MANAGER, KWOK_CONTROLLER, SCHEDULER
from scaletest.world.kwok.errors import GroundError
from scaletest.world.kwok.processes import end_processes, identify

__all__ = ["Held", "hold_controllers", "pause_bystanders", "release_controllers"]

_PATIENCE_S: Final = 2.0
_BYSTANDERS: Final = (SCHEDULER, KWOK_CONTROLLER)


class Held(NamedTuple):
    """How a process was started."""

    argv: tuple[str, ...]
    environ: Mapping[str, str]


async def hold_controllers(cluster: KwokCluster) -> Held:
    """End a cluster's controller-manager; return how to start it again."""
    process = cluster.component(CONTROLLER_MANAGER).process
    argv, environ = process.argv(), process.environ()
    if not argv or await end_processes([process], patience_s=_PATIENCE_S):
        raise GroundError(
            f"the controllers of {cluster.name} cannot be held back",
            why="the controller-manager is not there, or cannot be ended",
            remedy="see its log, then run again",
        )
    return Held(argv, environ)


async def release_controllers(cluster: KwokCluster, held: Held) -> KwokCluster:
    """Start a cluster's controller-manager again, and wake bystanders; return the cluster with it."""
    for name in _BYSTANDERS:
        cluster.component(name).process.send(signal.SIGCONT)
    process = await asyncio.to_thread(_started, held, cluster.home)
    # Nobody here waits for its end, which may come from anywhere; but a child that ended must be taken note of.
    Thread(target=process.wait, name=f"{CONTROLLER_MANAGER} of {cluster.name}", daemon=True).start()
    identity = identify(process.pid)
    if identity is None:
        raise GroundError(
            f"the controllers of {cluster.name} did not start again",
            why=" / ".join(cluster.last_words(CONTROLLER_MANAGER)) or "no word of why",
            remedy="see the log, then run again",
        )
    old = cluster.component(CONTROLLER_MANAGER)
    return cluster.with_component(replace(old, process=identity))


def pause_bystanders(cluster: KwokCluster) -> None:
    """Stop what would only look on while a cluster is filled, until its controllers are released."""
    for name in _BYSTANDERS:
        cluster.component(name).process.send(signal.SIGSTOP)


def _started(held: Held, home: Path) -> "subprocess.Popen[bytes]":
    with (home / "logs" / f"{CONTROLLER_MANAGER}.log").open("ab") as log:
        return subprocess.Popen(  # noqa: S603 - the argv that kwokctl gave it
            list(held.argv),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=home,
            env=dict(held.environ),
            start_new_session=True,
        )
