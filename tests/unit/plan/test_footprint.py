"""What a run would cost: summed from the substrate, refused where it clearly cannot fit."""

import pytest

from sample_plans import GIB, HOST, shipped_plan, shipped_substrate
from scaletest.plan.footprint import Footprint, HostSize, footprint_of
from scaletest.profile.substrate import Host


def _of(name: str, *, span_us: int = 0, host: HostSize = HOST) -> Footprint:
    return footprint_of(
        shipped_substrate(name),
        host=host,
        clusters=2,
        pods=5_000,
        machines=4_496,
        replacements=10_000,
        span_us=span_us,
    )


def test_memory_is_the_sum_of_its_parts() -> None:
    parts = (400 + 2 * 530) * 2**20 + (5_000 * 380 + 4_496 * 20) * 2**10
    assert _of("kwok").memory_bytes == parts


def test_real_time_soaks_take_their_time_and_virtual_ones_their_work() -> None:
    assert _of("kwok", span_us=213_000_000).soak_seconds == 213
    assert _of("sim", span_us=213_000_000).soak_seconds == pytest.approx(3)
    assert _of("kwok").setup_seconds == pytest.approx(15 + 2 * 4 + 5 * 18)


def test_a_substrate_that_states_its_host_overrules_the_machine() -> None:
    substrate = shipped_substrate("sim").model_copy(update={"host": Host(vCPU=64, memoryGiB=512)})
    stated = footprint_of(substrate, host=HOST, clusters=1, pods=1, machines=1, replacements=1, span_us=0)
    assert stated.host == HostSize(64, 512 * GIB)


@pytest.mark.parametrize(
    ("profile", "substrate", "fits"), [("dev-50", "sim", True), ("dev-50", "kwok", True), ("uber-5k", "kwok", False)]
)
def test_what_fits_24_gib(profile: str, substrate: str, fits: bool) -> None:  # noqa: FBT001
    footprint = shipped_plan(profile, substrate=substrate).footprint
    assert footprint.host.memory_bytes == 24 * GIB
    assert footprint.fits is fits
