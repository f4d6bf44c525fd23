"""Our words as Kubernetes objects: whatever is written can be read back as it was meant."""

import json

from hypothesis import given
from hypothesis import strategies as st

from scaletest.model import CapacityType, Machine, MachineState, Operator, Requirement, Resources, Spread
from scaletest.ports.cluster import Owner, PodTemplate
from scaletest.world.kwok.objects import (
    PLACED_KEY,
    node,
    owner_from,
    placed_pod,
    priority_class,
    priority_class_name,
    replica_set,
    request,
)
from sim_clusters import owner

_KEYS = st.sampled_from(["topology.kubernetes.io/zone", "topology.bigfleet/rack", "example.test/ssd"])
_NAMES = st.from_regex(r"[a-z][a-z0-9-]{0,20}[a-z0-9]", fullmatch=True)
_VALUES = st.lists(_NAMES, min_size=1, max_size=3, unique=True).map(tuple)
_REQUIREMENTS = st.one_of(
    st.builds(Requirement, _KEYS, st.sampled_from([Operator.IN, Operator.NOT_IN]), _VALUES),
    st.builds(Requirement, _KEYS, st.sampled_from([Operator.EXISTS, Operator.DOES_NOT_EXIST]), st.just(())),
)
_RESOURCES = st.dictionaries(
    st.sampled_from(["cpu", "memory", "ephemeral-storage", "nvidia.com/gpu"]), st.integers(1, 1 << 42), min_size=1
).map(Resources.of)
_MONEY = st.integers(0, 10**12)
_OWNERS = st.builds(
    Owner,
    st.integers(0, 1 << 40),
    _NAMES,
    st.integers(0, 10_000),
    st.builds(
        PodTemplate,
        _RESOURCES,
        st.lists(_REQUIREMENTS, max_size=3).map(tuple),
        st.integers(-(10**9), 10**9),
        st.lists(st.builds(Spread, _KEYS, st.integers(1, 9)), max_size=2).map(tuple),
        st.none() | _KEYS,
        _MONEY,
        _MONEY,
    ),
)


@given(_OWNERS)
def test_a_workload_is_read_back_as_it_was_written(owner: Owner) -> None:
    assert owner_from(json.loads(json.dumps(replica_set(owner)))) == owner


@given(_OWNERS)
def test_a_pod_with_a_place_is_of_the_same_make_as_its_workloads_pods(owner: Owner) -> None:
    before, between, after = placed_pod(owner, "some-uid")
    made = json.loads(b"".join((before, b"its-name", between, b"its-node", after)))
    template = replica_set(owner)["spec"]["template"]

    assert made["spec"].pop("nodeName") == "its-node"
    assert made["spec"] == json.loads(json.dumps(template["spec"]))
    assert made["metadata"]["name"] == "its-name"
    assert made["metadata"]["labels"] == template["metadata"]["labels"]
    assert made["metadata"]["annotations"].pop(PLACED_KEY) == "true"
    assert made["metadata"]["annotations"] == template["metadata"]["annotations"]
    (reference,) = made["metadata"]["ownerReferences"]
    assert (reference["name"], reference["uid"], reference["controller"]) == (owner.name, "some-uid", True)


@given(_OWNERS)
def test_a_request_names_its_pod_and_says_what_it_asks_for(owner: Owner) -> None:
    first, second, third, fourth = request(owner)
    made = json.loads(b"".join((first, b"p-1", second, b"p-1", third, b"u-1", fourth)))

    assert made["metadata"]["name"] == "p-1"
    assert [(each["name"], each["uid"]) for each in made["metadata"]["ownerReferences"]] == [("p-1", "u-1")]
    assert Resources.parse(made["spec"]["resources"]) == owner.template.requests
    assert made["spec"]["priority"] == owner.template.priority
    assert ("coLocation" in made["spec"]) == (owner.template.colocation_key is not None)


def test_a_replica_set_of_somebody_else_is_no_workload_of_ours() -> None:
    foreign = replica_set(owner(1, 1))
    foreign["metadata"]["labels"] = {"app": "web"}
    assert owner_from(foreign) is None
    del foreign["metadata"]["labels"]
    assert owner_from(foreign) is None


def test_priorities_have_names_that_kubernetes_takes_and_the_scheduler_does_not_preempt_by_them() -> None:
    assert [priority_class_name(priority) for priority in (0, 100, -5)] == [
        "scaletest-0",
        "scaletest-100",
        "scaletest-minus-5",
    ]
    assert priority_class(-5)["value"] == -5
    assert priority_class(-5)["preemptionPolicy"] == "Never"


def test_a_node_offers_what_its_machine_has_and_no_more_pods_than_it_may() -> None:
    machine = Machine(
        "m-7",
        MachineState.CONFIGURED,
        "large",
        "a",
        CapacityType.SPOT,
        Resources.of({"cpu": 1500, "memory": 4096, "nvidia.com/gpu": 8}),
        labels=(("topology.bigfleet/rack", "r-2"),),
    )
    made = node("m-7.3", machine, max_pods=64, now_us=123)

    assert made["status"]["allocatable"] == {"cpu": "1500m", "memory": "4096", "nvidia.com/gpu": "8", "pods": "64"}
    assert made["metadata"]["annotations"]["scaletest.dev/created-us"] == "123"
    labels = made["metadata"]["labels"]
    assert labels["scaletest.dev/machine"] == "m-7"
    assert labels["topology.kubernetes.io/zone"] == "a"
    assert labels["node.kubernetes.io/instance-type"] == "large"
    assert labels["topology.bigfleet/rack"] == "r-2"
