"""What kwok does in place of kubelets: Nodes and Pods become Ready at once, and a Pod that is to go goes.

kwok's own stages do the same and more (addresses, container states, Jobs that complete). For every expression of a
selector kwok turns the whole object into JSON and back, one object at a time: seven times per change of a Pod, so that
kubelets fell a minute behind a fill. These ask once for each stage and write what schedulers and controllers read.
"""

from typing import Any, Final

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
_POD_PHASE: Final = 'if .metadata.deletionTimestamp then "Leaving" else .status.phase end'

STAGES: Final = (
    # Leases keep a Node alive from then on; kwok renews them whatever its stages are.
    _stage(
        "node-ready", "Node", {"key": _NODE_STATUS, "operator": "NotIn", "values": ["True"]}, {"statusTemplate": _NODE}
    ),
    _stage("pod-ready", "Pod", {"key": _POD_PHASE, "operator": "In", "values": ["Pending"]}, {"statusTemplate": _POD}),
    _stage("pod-delete", "Pod", {"key": ".metadata.deletionTimestamp", "operator": "Exists"}, {"delete": True}),
)
