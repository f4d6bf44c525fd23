"""The adapter when its API server stands still for a while, and when it is gone."""

import asyncio
import signal

import pytest

from contract.grounds import KubeGround, Scene
from contract.readers import Reader
from scaletest.ports.cluster import Answer, Change, WatchBrokenError
from scaletest.world.kwok import api as api_module
from scaletest.world.kwok import kube_cluster as cluster_module
from scaletest.world.kwok.api import ApiError
from scaletest.world.kwok.components import APISERVER

pytestmark = [pytest.mark.real, pytest.mark.timeout(300)]

_DONE = {Answer.OK, Answer.CONFLICT, Answer.NOT_FOUND}


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api_module, "_TIMEOUT_S", 2)
    monkeypatch.setattr(cluster_module, "_AGAIN_US", 300_000)


def _send(ground: KubeGround, number: signal.Signals) -> None:
    assert ground.raised.component(APISERVER).process.send(number)


async def _all_gone(reader: Reader, pods: list[int]) -> None:
    await reader.until(lambda: not {*pods} & {*reader.pods})
    await reader.until_bound(6)


def test_an_api_server_that_stands_still_times_out_and_goes_on_as_if_nothing_was(ground: KubeGround) -> None:
    async def story(scene: Scene) -> None:
        owner, reader = await scene.filled(6)
        some = list(reader.pods)[:2]
        _send(ground, signal.SIGSTOP)
        try:
            calls = [
                scene.cluster.delete_pods(some),
                scene.cluster.create_requests(list(reader.pods)[3:]),
                scene.cluster.evict(list(reader.pods)[2:3]),
            ]
            answers = [answer for each in await asyncio.gather(*calls) for answer in each]
            assert answers == [Answer.TIMEOUT] * 6
            assert await scene.cluster.scale(owner.id, 6) is Answer.TIMEOUT
            assert await scene.cluster.cordon(scene.node("none")) is Answer.TIMEOUT
            # Whoever reads, and the cloud, do not give up.
            patient = asyncio.gather(scene.cluster.list(), scene.add_nodes_unseen(scene.machine("b")))
            await scene.sleep(3)
            assert not patient.done()
        finally:
            _send(ground, signal.SIGCONT)
        listed, _ = await patient
        assert owner in listed.owners
        # A call that timed out may have been carried out all the same.
        assert {*await _insisted(scene, some)} <= _DONE
        await _all_gone(reader, some)
        await reader.until(lambda: reader.nodes.get(scene.node("b"), False))
        assert {*await scene.cluster.create_requests(list(reader.pods))} <= {Answer.OK, Answer.CONFLICT}
        await reader.until(lambda: reader.requested >= {*reader.pods})
        assert len(reader.of(Change.DELETED)) in {2, 3}

    async def cut(scene: Scene) -> None:
        _, reader = await scene.filled(6)
        some = list(reader.pods)[:3]
        await scene.cluster.delete_pods(some)
        _send(ground, signal.SIGSTOP)
        try:
            scene.cut(reader)
            with pytest.raises(WatchBrokenError):
                await reader.until(lambda: False)
            reader.reopen()
            await scene.sleep(1)
        finally:
            _send(ground, signal.SIGCONT)
        await _all_gone(reader, some)

    ground.play(story)
    ground.play(cut)


async def _insisted(scene: Scene, pods: list[int]) -> list[Answer]:
    """Delete Pods as a driver does: again and again until there is an answer."""
    while not {*(answers := await scene.cluster.delete_pods(pods))} <= _DONE:
        await scene.sleep(0.3)
    return list(answers)


def test_an_api_server_that_is_killed_is_unavailable_and_its_watches_break(ground: KubeGround) -> None:
    async def story(scene: Scene) -> None:
        owner, reader = await scene.filled(6)
        _send(ground, signal.SIGKILL)
        with pytest.raises(WatchBrokenError):
            await reader.until(lambda: False)
        pods = list(reader.pods)
        assert await scene.cluster.delete_pods(pods) == [Answer.UNAVAILABLE] * 6
        assert await scene.cluster.create_requests(pods[:1]) == [Answer.UNAVAILABLE]
        assert await scene.cluster.create_owners([owner]) == [Answer.UNAVAILABLE]
        assert await scene.cluster.scale(owner.id, 1) is Answer.UNAVAILABLE
        reader.reopen()
        with pytest.raises(WatchBrokenError):
            await reader.next()
        with pytest.raises(ApiError, match="Connect call failed"):
            await scene.cluster.list()
        scene.abandon()

    ground.play(story)
