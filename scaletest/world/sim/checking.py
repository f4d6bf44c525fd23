"""What must hold in a simulated cluster at any instant."""

from collections.abc import Mapping

from scaletest.world.sim.lives import Lives
from scaletest.world.sim.nodes import Node
from scaletest.world.sim.pods import BOUND, GONE, SEAT_MASK, TERMINATING, Pods, ReplicaSet

__all__ = ["check_books"]


def check_books(lives: Lives, nodes: Mapping[str, Node], *, max_pods: int) -> None:
    """Raise AssertionError with a sentence where columns, owners and Nodes do not agree."""
    _check_columns(lives.pods, nodes)
    for owner in lives.owners.values():
        _check_owner(owner, lives.pods)
    for node in nodes.values():
        _check_node(node, lives, max_pods)
    ready = sum(len(node.pods) for node in nodes.values() if node.ready)
    assert lives.on_ready_nodes == ready, f"{lives.on_ready_nodes} Pods are said to be on Ready Nodes, {ready} are"
    owned = sum(len(owner.pods) for owner in lives.owners.values())
    assert owned == lives.pods.live, f"owners have {owned} Pods and the columns {lives.pods.live}"


def _check_columns(pods: Pods, nodes: Mapping[str, Node]) -> None:
    seats = pods.seats()
    assert len(seats) == pods.live, f"{pods.live} Pods are said to live, {len(seats)} have a seat"
    for seat in seats:
        pod, state, node = pods.ids[seat], pods.state[seat], pods.node_of[seat]
        assert pod & SEAT_MASK == seat, f"Pod {pod} sits in seat {seat}"
        assert state != GONE, f"Pod {pod} is gone and has a seat"
        assert (node is not None) == (state in {BOUND, TERMINATING}), f"Pod {pod} in state {state} has Node {node}"
        if node is not None:
            assert nodes.get(node.name) is node, f"Pod {pod} is on {node.name}, which is not there"
            assert pod in node.pods, f"Pod {pod} is on {node.name}, which does not know it"
    on_nodes = sum(len(node.pods) for node in nodes.values())
    placed = sum(pods.node_of[seat] is not None for seat in seats)
    assert on_nodes == placed, f"Nodes have {on_nodes} Pods, {placed} Pods have a Node"


def _check_owner(owner: ReplicaSet, pods: Pods) -> None:
    name = owner.owner.name
    active = sum(pods.state_of(pod) != TERMINATING for pod in owner.pods)
    assert owner.active == active, f"{name} counts {owner.active} active Pods and has {active}"
    assert active <= owner.owner.replicas, f"{name} has {active} Pods and wants {owner.owner.replicas}"
    for pod in owner.pods:
        assert pods.state_of(pod) != GONE, f"{name} has Pod {pod}, which is gone"
        assert pods.owner_of[pod & SEAT_MASK] == owner.owner.id, f"Pod {pod} of {name} has another owner"


def _check_node(node: Node, lives: Lives, max_pods: int) -> None:
    assert node.slots == max_pods - len(node.pods), f"{node.name} counts {node.slots} free slots"
    used: dict[str, int] = {}
    for pod in node.pods:
        owner = lives.owners[lives.pods.owner_of[pod & SEAT_MASK]]
        for name, amount in owner.kind.needs:
            used[name] = used.get(name, 0) + amount
    for name, free in node.free.items():
        assert free >= 0, f"{node.name} is short of {-free} {name}"
        total = node.machine.allocatable[name]
        assert free == total - used.get(name, 0), f"{node.name} counts {free} free {name} of {total}"
