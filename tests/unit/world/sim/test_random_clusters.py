"""Long random lives of a cluster, with its books checked at every step."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaletest.model import Spread, Stream
from scaletest.model.demand import RACK_KEY, ZONE_KEY
from scaletest.ports.cluster import Owner
from scaletest.profile.world import Scheduler, SignedLatency, World
from scaletest.world.sim.pods import WAITING
from sim_clusters import Stage, machine, owner, world

STEPS = 300


def _setting() -> World:
    lag = SignedLatency(p50Seconds=0.2, p99Seconds=2.0)
    return World(
        replacementLag=lag, scheduler=Scheduler(bindsPerSecond=200.0, backoffInitialSeconds=0.5, backoffMaxSeconds=2.0)
    )


class _Life:
    """One random life; every choice is drawn by the step's number, so that the same seed lives the same life."""

    def __init__(self, seed: int) -> None:
        self.stage = Stage(_setting(), seed=seed, max_pods=6)
        self.draws = Stream.of(seed, "life")
        self.owners = 0
        self.nodes: list[str] = []

    async def live(self) -> None:
        cluster, drawn = self.stage.cluster, self.draws.below
        watch = cluster.watch(0)
        for step in range(0, STEPS * 10, 10):
            await self.step(step, drawn(10, step))
            quiet = step % 50 == 0
            await self.stage.sleep(10 if quiet else drawn(1000, step + 9) / 1000)
            cluster.check()
            if quiet:
                assert _could_be_bound(self.stage) == [], f"at step {step // 10}"
        await self.stage.sleep(60)
        watch.close()

    async def step(self, step: int, choice: int) -> None:
        cluster, drawn = self.stage.cluster, self.draws.below
        pods, some = self.stage.pods(), 1 + drawn(8, step + 1)
        first = drawn(max(1, len(pods)), step + 2)
        if choice < 1 or not self.nodes:
            await self.add_node(step)
        elif choice < 3:
            await cluster.create_owners([self.owner(step)])
        elif choice < 7:
            await cluster.delete_pods(pods[first : first + some])
        elif choice == 7:
            await cluster.scale(drawn(max(1, self.owners), step + 3), drawn(12, step + 4))
        elif choice == 8:
            node = self.nodes.pop(drawn(len(self.nodes), step + 3))
            if drawn(2, step + 4):
                await cluster.cordon(node)
                await cluster.evict(await cluster.pods_on(node))
                await cluster.drained(node, until_us=self.stage.loop.now_us() + 1_000_000)
            await cluster.remove_node(node, lost=bool(drawn(2, step + 5)))
        else:
            await cluster.delete_owners([drawn(max(1, self.owners), step + 3)])

    async def add_node(self, step: int) -> None:
        drawn = self.draws.below
        name = f"n-{drawn(20, step + 3):02d}"
        if name not in self.nodes and len(self.nodes) < 8:
            self.nodes.append(name)
            zone, rack = "abc"[drawn(3, step + 4)], f"r-{drawn(4, step + 5)}"
            await self.stage.cluster.add_node(name, machine(name, pods=4 + drawn(6, step + 6), zone=zone, rack=rack))

    def owner(self, step: int) -> Owner:
        drawn, number = self.draws.below, self.owners
        self.owners += 1
        rules = drawn(5, step + 3)
        return owner(
            number,
            1 + drawn(6, step + 4),
            cpu=(500, 1000, 3000)[drawn(3, step + 5)],
            priority=drawn(3, step + 6),
            spread=(Spread(ZONE_KEY, 1 + drawn(2, step + 7)),) if rules in {1, 2} else (),
            colocation_key=(RACK_KEY, ZONE_KEY)[drawn(2, step + 7)] if rules > 2 else None,
        )


def _lived(seed: int) -> _Life:
    life = _Life(seed)
    life.stage.run(life.live)
    return life


def _could_be_bound(stage: Stage) -> Sequence[int]:
    """Return Pods that wait although a Node could take them, by looking at all of them."""
    lives, found = stage.cluster._lives, []
    for seat in lives.pods.seats():
        holder = lives.owners[lives.pods.owner_of[seat]]
        if lives.pods.state[seat] == WAITING:
            domains = list(holder.kind.domains.values())
            allowed = domains if holder.placement is None else holder.placement.allowed(domains)
            if any(node.room(holder.kind.needs) for domain in allowed for node in domain.nodes.values()):
                found.append(lives.pods.ids[seat])
    return found


@pytest.mark.parametrize("seed", range(12))
def test_after_a_long_life_no_pod_waits_that_could_be_bound_and_every_owner_has_its_pods(seed: int) -> None:
    life = _lived(seed)
    lives = life.stage.cluster._lives

    assert _could_be_bound(life.stage) == []
    assert all(holder.active == holder.owner.replicas for holder in lives.owners.values())
    assert lives.pods.live > 20


@pytest.mark.parametrize("seed", [3, 4])
def test_the_same_calls_make_the_same_events(seed: int) -> None:
    one, two = _lived(seed), _lived(seed)

    assert one.stage.events() == two.stage.events()
    assert one.stage.loop.now_us() == two.stage.loop.now_us()
    assert one.stage.events() != _lived(seed + 1).stage.events()


@given(sizes=st.lists(st.integers(1, 4), min_size=1, max_size=6), wanted=st.lists(st.integers(1, 9), max_size=6))
def test_the_scheduler_binds_as_many_equal_pods_as_there_is_room_for(sizes: list[int], wanted: list[int]) -> None:
    stage = Stage(world())

    async def story() -> None:
        await stage.cluster.create_owners([owner(n, count) for n, count in enumerate(wanted)])
        await stage.add_nodes(*(machine(f"n-{n}", pods=size) for n, size in enumerate(sizes)))
        await stage.sleep(60)

    stage.run(story)

    assert len(stage.bound()) == min(sum(sizes), sum(wanted))
