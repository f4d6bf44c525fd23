from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from small_cloud import MINE, MINE_WRITTEN, configured, idle, speculative

from scaletest.model import Machine, MachineState
from scaletest.world.cloud.register import Register

FLEET = tuple(f"m-{n}" for n in range(5))


def register_of(*machines: Machine) -> Register:
    register = Register()
    register.add(machines)
    return register


def test_from_revision_zero_everything_is_listed_and_nothing_is_removed() -> None:
    register = register_of(idle("m-1"), configured("m-2"), speculative("m-3"))
    register.remove("m-3")

    listing = register.listing(0)

    assert listing.machines == (idle("m-1"), configured("m-2"))
    assert listing.removed == ()
    assert listing.metadata == {"m-2": MINE_WRITTEN}


def test_a_listing_holds_what_changed_since_once_each_in_order_of_the_last_change() -> None:
    register = register_of(*map(idle, FLEET))
    before = register.listing(0).revision
    for name in ("m-3", "m-1", "m-3", "m-2", "m-1"):
        register.put(speculative(name))
    register.remove("m-2")

    listing = register.listing(before)

    assert listing.machines == (speculative("m-3"), speculative("m-1"))
    assert listing.removed == ("m-2",)
    assert register.listing(listing.revision) == (listing.revision, (), (), {})


def test_whoever_listed_before_the_seeding_lists_everything() -> None:
    register = Register()
    empty = register.listing(0)
    register.add([idle("m-1")])
    first = register.listing(empty.revision)
    register.add([idle("m-2")])

    assert first.machines == (idle("m-1"),)
    assert register.listing(first.revision).machines == (idle("m-1"), idle("m-2"))


def test_a_listing_is_not_changed_by_what_happens_later() -> None:
    register = register_of(configured("m-1"))
    register.put(configured("m-1"), metadata={"a": "1"})
    listing = register.listing(0)
    register.put(configured("m-1"), metadata={"a": "2"})

    assert listing.metadata == {"m-1": {"a": "1"}}


def test_the_logs_never_outgrow_the_fleet() -> None:
    register = register_of(*map(idle, FLEET))
    for turn in range(1000):
        name = FLEET[turn % 5]
        register.put(replace(configured(name), attribution=MINE), metadata={"turn": str(turn)})
        if turn % 2:
            register.remove(name)
        register.put(idle(name))

    assert (len(register._changed), len(register._removed), len(register._metadata)) == (5, 5, 0)


@given(
    steps=st.lists(
        st.one_of(
            st.tuples(st.sampled_from(["put", "remove"]), st.sampled_from(FLEET), st.sampled_from(MachineState)),
            st.just(("list", "", MachineState.IDLE)),
        ),
        max_size=60,
    )
)
def test_a_caller_that_lists_now_and_then_knows_what_a_full_listing_says(
    steps: list[tuple[str, str, MachineState]],
) -> None:
    register = register_of(*map(idle, FLEET))
    known: dict[str, Machine] = {}
    revision = 0
    for what, name, state in [*steps, ("list", "", MachineState.IDLE)]:
        if what == "put":
            register.put(replace(idle(name), state=state))
        elif what == "remove" and register.get(name) is not None:
            register.remove(name)
        elif what == "list":
            listing = register.listing(revision)
            revision = listing.revision
            for gone in listing.removed:
                known.pop(gone, None)
            known |= {machine.id: machine for machine in listing.machines}

    assert known == {machine.id: machine for machine in register.listing(0).machines}
    assert register.configured == sum(m.state is MachineState.CONFIGURED for m in known.values())
