"""A cluster that is filled while its kubelets look away."""

from typing import Any

import pytest

from contract.grounds import KubeGround, KubeScene, Scene
from scaletest.ports.cluster import Answer
from scaletest.world.kwok.controllers import pause_bystanders
from scaletest.world.kwok.objects import NAMESPACE, PLACED_KEY

pytestmark = [pytest.mark.real, pytest.mark.timeout(300)]

_PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"


async def _statuses(scene: KubeScene, *, placed: bool) -> list[dict[str, Any]]:
    pods = (await scene._api.get(_PODS))["items"]
    return [pod["status"] for pod in pods if (PLACED_KEY in pod["metadata"]["annotations"]) == placed]


def _is_ready(status: dict[str, Any]) -> bool:
    return any(each["type"] == "Ready" and each["status"] == "True" for each in status.get("conditions", ()))


def test_placed_pods_run_without_a_kubelet_and_leave_like_any_other(ground: KubeGround) -> None:
    async def story(scene: Scene) -> None:
        assert isinstance(scene, KubeScene)
        await scene.add_nodes(scene.machine("a"))
        reader, owner = await scene.reader(), scene.owner(4)
        async with scene.filling():
            pause_bystanders(ground.raised)
            assert await scene.cluster.create_owners([owner], [[scene.node("a")] * 4]) == [Answer.OK]
            await reader.until(lambda: len(reader.pods) == 4)
            started = await _statuses(scene, placed=True)
        assert [(status["phase"], _is_ready(status)) for status in started] == [("Running", True)] * 4

        first = next(iter(reader.pods))
        assert await scene.cluster.delete_pods([first]) == [Answer.OK]
        await reader.until(lambda: first not in reader.pods and len(reader.pods) == 4)
        await reader.until_bound(4)
        while [status["phase"] for status in await _statuses(scene, placed=False)] != ["Running"]:
            await scene.sleep(0.1)
        # Nobody started those again that ran already.
        assert {status["startTime"] for status in await _statuses(scene, placed=True)} <= {
            status["startTime"] for status in started
        }

    ground.play(story)
