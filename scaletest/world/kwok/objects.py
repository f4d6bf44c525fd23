"""Our words as Kubernetes objects, and back: what the driver writes is all that an engine has to read."""

from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Final

import orjson

from scaletest.model import Machine, Operator, Requirement, Resources, Spread
from scaletest.model.attribution import attribution_metadata
from scaletest.model.demand import INSTANCE_TYPE_KEY, ZONE_KEY
from scaletest.model.money import MICRO_USD
from scaletest.ports.cluster import Owner, PodTemplate

__all__ = [
    "CREATED_KEY",
    "GROUP",
    "MACHINE_KEY",
    "NAMESPACE",
    "OWNER_KEY",
    "PLACED_KEY",
    "REQUEST_API",
    "node",
    "owner_from",
    "placed_pod",
    "pod",
    "priority_class",
    "priority_class_name",
    "replica_set",
    "request",
    "started",
]

NAMESPACE: Final = "default"
GROUP: Final = "bigfleet.lucy.sh"
REQUEST_API: Final = f"{GROUP}/v1alpha1"
OWNER_KEY: Final = "scaletest.dev/owner"
"""Label of a workload and its Pods: the driver's number for it."""
MACHINE_KEY: Final = "scaletest.dev/machine"
"""Label of a Node: the machine behind it."""
CREATED_KEY: Final = "scaletest.dev/created-us"
"""Annotation of a Node: when it was made, on the run's clock. Kubernetes' own stamp has whole seconds."""
PLACED_KEY: Final = "scaletest.dev/placed"
"""Annotation of a Pod that was created on its Node: whoever did so also starts it."""
_INTERRUPTION_KEY: Final = f"{GROUP}/interruption-penalty"
_RECLAMATION_KEY: Final = f"{GROUP}/reclamation-penalty"
_CLASS_PREFIX: Final = "scaletest-"
_BELOW_ZERO: Final = "minus-"
_MILLI: Final = 1000

Json = dict[str, Any]


def priority_class_name(priority: int) -> str:
    """Return the name of the PriorityClass of a priority."""
    return f"{_CLASS_PREFIX}{_BELOW_ZERO if priority < 0 else ''}{abs(priority)}"


def _priority_of(name: str) -> int:
    number = name.removeprefix(_CLASS_PREFIX)
    return -int(number.removeprefix(_BELOW_ZERO)) if number.startswith(_BELOW_ZERO) else int(number)


def priority_class(priority: int) -> Json:
    """Return a PriorityClass. The scheduler must not preempt: it would evict what no engine ordered."""
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": priority_class_name(priority)},
        "value": priority,
        "preemptionPolicy": "Never",
    }


def replica_set(owner: Owner) -> Json:
    """Return a workload as a ReplicaSet; a Deployment above it would only add objects."""
    labels = {OWNER_KEY: str(owner.id)}
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": owner.name, "namespace": NAMESPACE, "labels": labels},
        "spec": {
            "replicas": owner.replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": _pod_metadata(owner), "spec": _pod_spec(owner)},
        },
    }


def _pod_metadata(owner: Owner) -> Json:
    template = owner.template
    return {
        "labels": {OWNER_KEY: str(owner.id)},
        "annotations": {
            _INTERRUPTION_KEY: _dollars(template.interruption_penalty_uusd),
            _RECLAMATION_KEY: _dollars(template.reclamation_penalty_uusd),
        },
    }


def _pod_spec(owner: Owner) -> Json:
    template, selector = owner.template, {"matchLabels": {OWNER_KEY: str(owner.id)}}
    affinity: Json = {}
    if template.requirements:
        terms = [{"matchExpressions": [_expression(r) for r in template.requirements]}]
        affinity["nodeAffinity"] = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    if template.colocation_key:
        term = {"topologyKey": template.colocation_key, "labelSelector": selector}
        affinity["podAffinity"] = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    return {
        "containers": [
            {"name": "main", "image": "none", "resources": _resources(template.requests)},
        ],
        "priorityClassName": priority_class_name(template.priority),
        "affinity": affinity,
        "topologySpreadConstraints": [
            {
                "topologyKey": spread.topology_key,
                "maxSkew": spread.max_skew,
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": selector,
            }
            for spread in template.spread
        ],
        # Nothing runs in these Pods: a token and the environment of services would only make them bigger.
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
    }


def _expression(requirement: Requirement) -> Json:
    values = {"values": list(requirement.values)} if requirement.values else {}
    return {"key": requirement.key, "operator": str(requirement.operator), **values}


def _resources(requests: Resources) -> Json:
    """Return what a container asks for. Devices (names with a domain) are refused unless their limit is as high."""
    asked = quantities(requests)
    devices = {name: amount for name, amount in asked.items() if "/" in name}
    return {"requests": asked, "limits": devices} if devices else {"requests": asked}


def quantities(resources: Resources) -> dict[str, str]:
    """Return a vector as Kubernetes writes it."""
    return {name: f"{amount}m" if name == "cpu" else str(amount) for name, amount in resources}


def _dollars(amount_uusd: int) -> str:
    return f"{(Decimal(amount_uusd) / MICRO_USD).normalize():f}"


def owner_from(found: Mapping[str, Any]) -> Owner | None:
    """Return the workload that a ReplicaSet describes, read from what its Pods ask for; None when it is not ours."""
    number = found["metadata"].get("labels", {}).get(OWNER_KEY, "")
    if not number.isdigit():
        return None
    template = found["spec"]["template"]
    return Owner(int(number), found["metadata"]["name"], found["spec"]["replicas"], _template_from(template))


def _template_from(pod: Mapping[str, Any]) -> PodTemplate:
    spec, notes = pod["spec"], pod["metadata"].get("annotations", {})
    affinity = spec.get("affinity", {})
    terms = _required(affinity.get("nodeAffinity", {})).get("nodeSelectorTerms", [{}])
    together = affinity.get("podAffinity", {}).get("requiredDuringSchedulingIgnoredDuringExecution", [])
    requests = Resources()
    for container in spec["containers"]:
        requests += Resources.parse(container.get("resources", {}).get("requests", {}))
    return PodTemplate(
        requests=requests,
        requirements=tuple(
            Requirement(e["key"], Operator(e["operator"]), tuple(e.get("values", ())))
            for e in terms[0].get("matchExpressions", ())
        ),
        priority=_priority_of(spec["priorityClassName"]),
        spread=tuple(
            Spread(each["topologyKey"], each["maxSkew"])
            for each in spec.get("topologySpreadConstraints", ())
            if each["whenUnsatisfiable"] == "DoNotSchedule"
        ),
        colocation_key=together[0]["topologyKey"] if together else None,
        interruption_penalty_uusd=_uusd(notes.get(_INTERRUPTION_KEY, "0")),
        reclamation_penalty_uusd=_uusd(notes.get(_RECLAMATION_KEY, "0")),
    )


def _required(affinity: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Mapping[str, Any] = affinity.get("requiredDuringSchedulingIgnoredDuringExecution", {})
    return found


def _uusd(text: str) -> int:
    return round(Decimal(text) * MICRO_USD)


def pod(owner: Owner, name: str) -> bytes:
    """Return the JSON of one Pod that nobody owns and the scheduler is to place."""
    metadata = {**_pod_metadata(owner), "name": name, "namespace": NAMESPACE}
    return orjson.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": _pod_spec(owner)})


def placed_pod(owner: Owner, owner_uid: str) -> tuple[bytes, bytes, bytes]:
    """Return the JSON of one Pod of a workload in three parts: between them go its name and its Node's name.

    Thousands of Pods differ in nothing else, and so most of their text is made once.
    """
    metadata = _pod_metadata(owner)
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            **metadata,
            "annotations": {**metadata["annotations"], PLACED_KEY: "true"},
            "name": "\x00",
            "namespace": NAMESPACE,
            "ownerReferences": [
                {
                    "apiVersion": "apps/v1",
                    "kind": "ReplicaSet",
                    "name": owner.name,
                    "uid": owner_uid,
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        },
        "spec": {**_pod_spec(owner), "nodeName": "\x00"},
    }
    before, between, after = orjson.dumps(pod).split(b"\\u0000")
    return before, between, after


def started(now: datetime) -> bytes:
    """Return the change of a Pod's status that makes it Running and Ready, as a kubelet would."""
    at = f"{now.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
    kinds = ("Ready", "Initialized", "ContainersReady")
    conditions = [{"type": kind, "status": "True", "lastTransitionTime": at} for kind in kinds]
    return orjson.dumps({"status": {"phase": "Running", "startTime": at, "conditions": conditions}})


def node(name: str, machine: Machine, *, max_pods: int, now_us: int) -> Json:
    """Return the Node of a machine; kwok takes care of Nodes with its annotation."""
    attribution = attribution_metadata(machine.attribution) if machine.attribution else {}
    capacity = {**quantities(machine.allocatable), "pods": str(max_pods)}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {
                **dict(machine.labels),
                ZONE_KEY: machine.zone,
                INSTANCE_TYPE_KEY: machine.instance_type,
                MACHINE_KEY: machine.id,
                "kubernetes.io/hostname": name,
            },
            "annotations": {"kwok.x-k8s.io/node": "fake", CREATED_KEY: str(now_us), **attribution},
        },
        "status": {"allocatable": capacity, "capacity": capacity},
    }


def request(owner: Owner) -> tuple[bytes, bytes, bytes, bytes]:
    """Return the JSON of one capacity request in four parts: between them go the Pod's name, name again, and uid."""
    template = owner.template
    body = {
        "apiVersion": REQUEST_API,
        "kind": "CapacityRequest",
        "metadata": {
            "name": "\x00",
            "namespace": NAMESPACE,
            "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "\x00", "uid": "\x00"}],
        },
        "spec": {
            "requirements": [_expression(r) for r in template.requirements],
            "resources": quantities(template.requests),
            "priority": template.priority,
            "topologySpread": [
                {"topologyKey": s.topology_key, "maxSkew": s.max_skew, "whenUnsatisfiable": "DoNotSchedule"}
                for s in template.spread
            ],
            "interruptionPenalty": _dollars(template.interruption_penalty_uusd),
            "reclamationPenalty": _dollars(template.reclamation_penalty_uusd),
            **_together(owner),
        },
    }
    first, second, third, fourth = orjson.dumps(body).split(b"\\u0000")
    return first, second, third, fourth


def _together(owner: Owner) -> Json:
    if owner.template.colocation_key is None:
        return {}
    selector = {"matchLabels": {OWNER_KEY: str(owner.id)}}
    return {"coLocation": {"topologyKey": owner.template.colocation_key, "labelSelector": selector}}
