"""Demand realism (ADR-0043): what no real fleet could hold is refused with the reason.

A line `#! refuse name: message` at the end of a catalog in tests/data/catalogs expects that finding; a catalog without
such lines is realistic.
"""

from pathlib import Path

import pytest

from sample_plans import DATA, SHIPPED, archetype, catalog_of
from scaletest.catalog import archetypes_of, realism_findings
from scaletest.catalog.realism import HOSTS_PER_RACK, HOSTS_PER_ZONE, burst_finding
from scaletest.model import Resources
from scaletest.model.findings import Severity
from scaletest.profile import file_text, read_catalog

_FILES = sorted((DATA / "catalogs").glob("*.yaml")) + sorted((SHIPPED / "catalogs").glob("*.yaml"))


@pytest.mark.parametrize("path", _FILES, ids=lambda path: path.stem)
def test_finds_exactly_what_the_catalog_expects(path: Path) -> None:
    text = file_text(path)
    catalog = read_catalog(text, path.name).value
    shapes = {name: Resources.parse(t.resources) for name, t in catalog.instance_types.items()}
    found = [f"{f.severity} {f}" for f in realism_findings(archetypes_of(catalog), shapes, density=100)]
    assert found == [line.removeprefix("#! ") for line in text.splitlines() if line.startswith("#! ")]


@pytest.mark.parametrize(("scope", "limit"), [("sameRack", HOSTS_PER_RACK), ("sameZone", HOSTS_PER_ZONE)])
@pytest.mark.parametrize("over", [False, True])
def test_the_largest_gang_that_a_rack_or_zone_could_hold_is_the_limit(scope: str, limit: int, over: bool) -> None:  # noqa: FBT001
    gang = archetype(podsPerNode=1, groupSizeRange=[1, limit + over], **{scope: True})
    found = list(realism_findings(archetypes_of(catalog_of(gang)), {}, density=100))
    assert [f.severity for f in found] == [Severity.REFUSE] * over


def test_a_gang_counts_in_machines_not_in_pods() -> None:
    gang = archetype(podsPerNode=10, sameRack=True, groupSizeRange=[1, 500])
    assert not list(realism_findings(archetypes_of(catalog_of(gang)), {}, density=100))


@pytest.mark.parametrize(
    ("clusters", "extra_target", "refused"),
    [(20, 1, True), (20, 256, True), (20, 257, False), (1, 1, False), (0, 1, False)],
)
def test_a_burst_meant_as_one_gang_must_not_become_twenty(clusters: int, extra_target: int, refused: bool) -> None:  # noqa: FBT001
    (kind,) = archetypes_of(catalog_of(archetype(name="train", sameZone=True, groupSizeRange=[64, 256])))
    finding = burst_finding(kind, extra_target=extra_target, clusters=clusters)
    assert (finding is not None) is refused
    if finding:
        assert str(finding) == (
            "train: the burst asks for one gang of 64 to 256 Pods, but 20 clusters take part, so it becomes 20 gangs "
            "(1,280 to 5,120 Pods); lower selectivity until one cluster takes part, or ask for the larger number in "
            "extraTarget"
        )


def test_a_burst_of_plain_pods_may_take_place_everywhere() -> None:
    (kind,) = archetypes_of(catalog_of())
    assert burst_finding(kind, extra_target=1, clusters=20) is None
