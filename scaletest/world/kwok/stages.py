"""What kwok does in place of kubelets: Nodes and Pods become Ready at once, and a Pod that is to go goes.

kwok's own stages do the same and more (addresses, container states, Jobs that complete). For every expression of a
selector kwok turns the whole object into JSON and back, one object at a time: seven times per change of a Pod, so that
kubelets fell a minute behind a fill. These ask once for each stage and write what schedulers and controllers read.

Pods that are created on their Nodes are started by whoever creates them. An API server ends the watches of whoever is
slow to read, and kwok begins its next one with all Pods anew: it would start those twice that it is about to start.
"""

from typing import Any, Final

from scaletest.world.kwok.objects import PLACED_KEY

__all__ = ["STAGES"]

_API: Final = "kwok.x-k8s.io/v1alpha1"
_READY: Final = """
{{ $now := Now }}
conditions:
- lastTransitionTime: {{ $now | Quote }}
  status: "True"
  type: Ready
"""
_NODE: Final = f"""{_READY}
  lastHeartbeatTime: {{{{ $now | Quote }}}}
  reason: KubeletReady
  message: played by kwok
phase: Running
"""
_POD: Final = f"""{_READY}
- lastTransitionTime: {{{{ $now | Quote }}}}
  status: "True"
  type: Initialized
- lastTransitionTime: {{{{ $now | Quote }}}}
  status: "True"
  type: ContainersReady
phase: Running
startTime: {{{{ $now | Quote }}}}
"""


def _stage(name: str, kind: str, asked: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": _API,
        "kind": "Stage",
        "metadata": {"name": name},
        "spec": {
            "resourceRef": {"apiGroup": "v1", "kind": kind},
            "selector": {"matchExpressions": [asked]},
            "next": after,
        },
    }


_NODE_STATUS: Final = '.status.conditions.[] | select( .type == "Ready" ) | .status'
# Deleting a Pod that is to leave first takes its grace away, which shows, and then the Pod.
_POD_PHASE: Final = f"""
if .metadata.deletionTimestamp then (if .metadata.deletionGracePeriodSeconds == 0 then "Gone" else "Leaving" end)
elif .metadata.annotations["{PLACED_KEY}"] then "Placed" else .status.phase end
""".strip()

STAGES: Final = (
    # Leases keep a Node alive from then on; kwok renews them whatever its stages are.
    _stage(
        "node-ready", "Node", {"key": _NODE_STATUS, "operator": "NotIn", "values": ["True"]}, {"statusTemplate": _NODE}
    ),
    _stage("pod-ready", "Pod", {"key": _POD_PHASE, "operator": "In", "values": ["Pending"]}, {"statusTemplate": _POD}),
    _stage("pod-delete", "Pod", {"key": _POD_PHASE, "operator": "In", "values": ["Leaving"]}, {"delete": True}),
)
