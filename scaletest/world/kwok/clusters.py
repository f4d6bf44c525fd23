"""Clusters: real control planes of five processes each, made by kwokctl, watched and ended by us."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic
from typing import Final

from scaletest.world.kwok.components import (
    APISERVER,
    ETCD,
    KINDS,
    Component,
    Credentials,
    component,
    component_process,
    is_healthy,
)
from scaletest.world.kwok.errors import GroundError
from scaletest.world.kwok.homes import HomeKind, clear_home, replace_file
from scaletest.world.kwok.kwokctl import (
    CLUSTERS,
    PEER,
    create_argv,
    environment,
    kube_version,
    missing_programs,
    settings,
    telling_lines,
)
from scaletest.world.kwok.listeners import listeners, open_to_others
from scaletest.world.kwok.ports import LOOPBACK
from scaletest.world.kwok.processes import Cost
from scaletest.world.kwok.runs import LiveRun

__all__ = ["KwokCluster", "create_cluster"]

_POLL_S: Final = 0.1
_CREATE_S: Final = 180.0
_STARTS_MAX: Final = 4
_KWOKCTL_LOG: Final = "logs/kwokctl.log"


@dataclass(frozen=True, slots=True)
class KwokCluster:
    """A running cluster."""

    name: str
    home: Path
    server: str
    credentials: Credentials
    kubeconfig: Path
    kube_version: str
    components: tuple[Component, ...]
    _run: LiveRun

    def component(self, name: str) -> Component:
        """Return the component of a name."""
        return next(each for each in self.components if each.name == name)

    def with_component(self, other: Component) -> "KwokCluster":
        """Return the cluster with another process for a component, and note it."""
        components = tuple(other if each.name == other.name else each for each in self.components)
        self._run.note(self.home, HomeKind.CLUSTER, {each.name: each.process for each in components})
        return replace(self, components=components)

    def dead(self) -> tuple[str, ...]:
        """Return the components that are gone."""
        return tuple(each.name for each in self.components if not each.process.alive())

    def costs(self) -> Mapping[str, Cost | None]:
        """Return what each component has cost so far; None for one that is gone."""
        return {each.name: each.process.cost() for each in self.components}

    def last_words(self, name: str) -> list[str]:
        """Return the lines of a component's log that may say why it is gone."""
        return telling_lines(self.home / "logs" / f"{name}.log")

    async def destroy(self, *, logs: Path | None = None) -> None:
        """End every process and remove the cluster; its logs are moved to a folder if one is given."""
        await clear_home(self.home, run=self._run.entry.run, logs=logs)
        self._run.release(self.home)


async def create_cluster(name: str, *, run: LiveRun, binaries: Path, patience_s: float = _CREATE_S) -> KwokCluster:
    """Bring up a cluster in the run's folder and return it when every component says that it is ready.

    Several may be created at once. When one does not come up, nothing of it is left but its logs, in `logs/NAME` of
    the run's folder, and GroundError says what they say.
    """
    if missing := missing_programs(binaries):
        raise GroundError(
            f"cluster {name} cannot be made",
            why=f"{binaries} does not hold {', '.join(missing)}",
            remedy="name a folder that holds kwok, Kubernetes and etcd",
        )
    home = run.folder / CLUSTERS / name
    run.claim(home, HomeKind.CLUSTER)
    try:
        return await _Birth(name, home, run, binaries).cluster(patience_s)
    except BaseException:
        await clear_home(home, run=run.entry.run, logs=run.folder / "logs" / name)
        run.release(home)
        raise


class _Birth:
    """A cluster that is being made."""

    def __init__(self, name: str, home: Path, run: LiveRun, binaries: Path) -> None:
        self._name, self._home, self._run, self._binaries = name, home, run, binaries.absolute()
        names = (*(kind.name for kind in KINDS), PEER)
        self._ports = dict(zip(names, run.ports.take(len(names)), strict=True))

    async def cluster(self, patience_s: float) -> KwokCluster:
        deadline = monotonic() + patience_s
        version = await kube_version(self._binaries)
        config = self._home / "kwokctl.yaml"
        replace_file(config, settings(self._binaries, self._ports, kube_version=version))  # JSON is YAML
        (self._home / "logs").mkdir()
        ended: list[str] = []
        for _ in range(_STARTS_MAX):
            for name in ended:  # or kwokctl may take it for one that runs, until somebody reaps it
                (self._home / "pids" / f"{name}.pid").unlink(missing_ok=True)
            await self._call_kwokctl(config, deadline)
            ended = await self._ended_on_the_way(deadline)
            if not ended:
                return self._checked(version)
        raise self._failed("it was started several times, and parts of it ended each time", *ended)

    async def _call_kwokctl(self, config: Path, deadline: float) -> None:
        """Let kwokctl start what does not run yet, and give up as soon as the cluster cannot come up any more."""
        with (self._home / _KWOKCTL_LOG).open("ab") as log:
            process = await asyncio.create_subprocess_exec(
                *create_argv(self._binaries, self._name, config),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self._home,
                env=environment(self._run.folder, self._binaries),
                umask=0o077,  # keys and kubeconfig are for this user alone
                start_new_session=True,  # Ctrl-C is for us, who then end it
            )
        try:
            while process.returncode is None:
                self._give_up_if_hopeless(deadline)
                await asyncio.sleep(_POLL_S)
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode != 0:
            raise self._failed(f"kwokctl ended with {process.returncode}")

    async def _ended_on_the_way(self, deadline: float) -> list[str]:
        """Wait until every component is healthy, or return at once those that have to be started again.

        The controller-manager waits ten seconds for the API server and then ends; on a busy machine that is too short.
        """
        waiting = list(KINDS)
        while waiting:
            self._give_up_if_hopeless(deadline)
            if ended := [kind.name for kind in KINDS if component_process(self._home, kind.name) is None]:
                return ended
            healthy = [await asyncio.to_thread(is_healthy, kind, self._ports[kind.name]) for kind in waiting]
            waiting = [kind for kind, fine in zip(waiting, healthy, strict=True) if not fine]
            await asyncio.sleep(_POLL_S if waiting else 0)
        return []

    def _give_up_if_hopeless(self, deadline: float) -> None:
        for name in (ETCD, APISERVER):
            if self._has_ended(name):
                raise self._failed(f"{name} ended", name)
        if monotonic() > deadline:
            raise self._failed("it was not ready in time")

    def _has_ended(self, name: str) -> bool:
        try:
            written = (self._home / "pids" / f"{name}.pid").read_text(encoding="ascii")
        except FileNotFoundError:
            return False
        return bool(written) and component_process(self._home, name) is None

    def _checked(self, version: str) -> KwokCluster:
        """Return the cluster, having seen that it is what was asked for: flags, and who can reach it."""
        pki = self._home / "pki"
        credentials = Credentials(pki / "ca.crt", pki / "admin.crt", pki / "admin.key")
        components = []
        for kind in KINDS:
            process = component_process(self._home, kind.name)
            if process is None:
                raise self._failed(f"{kind.name} ended", kind.name)
            made = component(kind, process, self._ports[kind.name], credentials)
            if odd := [f"--{flag}" for flag, value in kind.wanted.items() if made.flags.get(flag) != value]:
                raise self._failed(f"{kind.name} was started without the {', '.join(odd)} it should have")
            components.append(made)
        self._see_who_listens(components)
        self._run.note(self._home, HomeKind.CLUSTER, {each.name: each.process for each in components})
        return KwokCluster(
            name=self._name,
            home=self._home,
            server=f"https://{LOOPBACK}:{self._ports[APISERVER]}",
            credentials=credentials,
            kubeconfig=self._home / "kubeconfig.yaml",
            kube_version=version,
            components=tuple(components),
            _run=self._run,
        )

    def _see_who_listens(self, components: list[Component]) -> None:
        found = listeners(each.process.pid for each in components)
        for each in components:
            if not any((one.pid, one.port) == (each.process.pid, each.port) for one in found):
                raise self._failed(f"somebody else answers on port {each.port} of {each.name}", each.name)
        if exposed := open_to_others(found):
            names = {each.process.pid: each.name for each in components}
            where = ", ".join(f"{names[each.pid]} on {each.host}:{each.port}" for each in exposed)
            raise self._failed(f"other machines could connect to {where}")

    def _failed(self, why: str, *at_fault: str) -> GroundError:
        """Return the error with what the logs say: of the components at fault or those that ended, and of kwokctl."""
        names = at_fault or [kind.name for kind in KINDS if self._has_ended(kind.name)]
        words = {name: telling_lines(self._home / "logs" / f"{name}.log") for name in names}
        words["kwokctl"] = telling_lines(self._home / _KWOKCTL_LOG)
        said = [f"{name}: {line}" for name, lines in words.items() for line in lines]
        taken = any("address already in use" in line for line in said)
        remedy = "another program took the port meanwhile: run again" if taken else "see the logs"
        return GroundError(
            f"cluster {self._name} did not come up",
            why="\n  ".join([why, *said]),
            remedy=f"{remedy} ({self._run.folder / 'logs' / self._name})",
        )
