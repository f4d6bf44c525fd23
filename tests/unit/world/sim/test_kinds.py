from scaletest.model import Stream
from scaletest.world.sim.kinds import Kind
from scaletest.world.sim.nodes import Node
from sim_clusters import machine, owner

NODES, PODS, MOVES = 20, 10, 5_000


def test_a_heap_stays_as_small_as_its_domain_and_right_however_often_pods_come_and_go() -> None:
    kind, dice = Kind(owner(1, 1).template), Stream.of(1, "moves")
    nodes = [Node(f"n.{n}", machine(f"n.{n}", pods=PODS), created_us=0, slots=PODS, open=True) for n in range(NODES)]
    for node in nodes:
        kind.join(node)
    domain, here = kind.domains[()], list[tuple[int, Node]]()

    for move in range(MOVES):
        # Nearly full, as fleets are: entries of the fuller Nodes never come up by themselves.
        if len(here) < NODES * PODS - 3:
            chosen = kind.choose(None)
            assert chosen is not None
            assert chosen.score(kind.needs) == max(node.score(kind.needs) for node in nodes)
            chosen.take(move, kind.needs)
            here.append((move, chosen))
        else:
            pod, left = here.pop(dice.below(len(here), move))
            left.give(pod, kind.needs)
            domain.grew(left)

    assert len(domain._heap) <= 4 * NODES + 100
