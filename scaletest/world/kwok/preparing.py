"""What a fresh cluster needs before any load: the kind CapacityRequest, PriorityClasses, the default ServiceAccount."""

import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any, Final

from kubernetes import client, config

from scaletest.world.kwok.objects import GROUP, NAMESPACE, priority_class

__all__ = ["prepare_cluster"]

_WITHIN_S: Final = 30.0
_LOOK_S: Final = 0.1
_TIMEOUT_S: Final = 10
_NOT_FOUND: Final = 404
_CONFLICT: Final = 409


def prepare_cluster(kubeconfig: Path, priorities: Iterable[int]) -> None:
    """Install what the run needs; raise TimeoutError when the cluster does not follow."""
    api = config.new_client_from_config(str(kubeconfig))  # type: ignore[no-untyped-call]
    extensions, scheduling, core = client.ApiextensionsV1Api(api), client.SchedulingV1Api(api), client.CoreV1Api(api)
    try:
        definition = client.V1CustomResourceDefinition.model_validate(_DEFINITION)
        _create(partial(extensions.create_custom_resource_definition, definition, _request_timeout=_TIMEOUT_S))
        for priority in sorted(set(priorities)):
            body = client.V1PriorityClass.model_validate(priority_class(priority))
            _create(partial(scheduling.create_priority_class, body, _request_timeout=_TIMEOUT_S))
        name = _DEFINITION["metadata"]["name"]
        _wait(lambda: _is_established(extensions.read_custom_resource_definition(name, _request_timeout=_TIMEOUT_S)))
        # Without it every Pod is refused.
        _wait(lambda: core.read_namespaced_service_account("default", NAMESPACE, _request_timeout=_TIMEOUT_S))
    finally:
        api.close()


def _create(call: Callable[[], object]) -> None:
    """Create an object; one that is there already was made by an earlier try."""
    try:
        call()
    except client.ApiException as error:
        if error.status != _CONFLICT:
            raise


def _wait(call: Callable[[], object]) -> None:
    deadline_s = time.monotonic() + _WITHIN_S
    while time.monotonic() < deadline_s:
        try:
            if call():
                return
        except client.ApiException as error:
            if error.status != _NOT_FOUND:
                raise
        time.sleep(_LOOK_S)
    raise TimeoutError(f"a fresh cluster was not ready for use within {_WITHIN_S:g} s")


def _is_established(definition: Any) -> bool:
    conditions = definition.status.conditions or ()
    return any(each.type == "Established" and each.status == "True" for each in conditions)


_TEXT: Final = {"type": "string"}
_WHOLE: Final = {"type": "integer"}
_OPEN: Final = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
# Written as a whole by one writer: the server need not keep an account of who owns which field, which costs a fifth.
_WHOLE_OBJECT: Final = {"type": "object", "x-kubernetes-map-type": "atomic"}
_DEFINITION: Final[dict[str, Any]] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": f"capacityrequests.{GROUP}"},
    "spec": {
        "group": GROUP,
        "scope": "Namespaced",
        "names": {
            "kind": "CapacityRequest",
            "plural": "capacityrequests",
            "singular": "capacityrequest",
            "shortNames": ["cr", "crs"],
        },
        "versions": [
            {
                "name": "v1alpha1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                **_WHOLE_OBJECT,
                                "properties": {
                                    "requirements": {"type": "array", "items": _OPEN},
                                    "resources": _OPEN,
                                    "priority": _WHOLE,
                                    "topologySpread": {"type": "array", "items": _OPEN},
                                    "interruptionPenalty": _TEXT,
                                    "reclamationPenalty": _TEXT,
                                    "coLocation": _OPEN,
                                },
                            },
                            "status": {**_WHOLE_OBJECT, "properties": {"phase": _TEXT, "acknowledgedAt": _TEXT}},
                        },
                    }
                },
            }
        ],
    },
}
