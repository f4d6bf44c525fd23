"""Contradictions inside a catalog, an engine manifest or a substrate; the tables at the end list all rules."""

from collections.abc import Iterator
from typing import Final

from scaletest.profile.catalog import Archetype, Catalog
from scaletest.profile.engine import EngineManifest, Metric
from scaletest.profile.findings import Finding, Rule
from scaletest.profile.substrate import Substrate

__all__ = ["CATALOG_RULES", "ENGINE_RULES", "SUBSTRATE_RULES"]

_ROLE_TYPES: Final = {
    "process_start": "gauge",
    "resident_memory": "gauge",
    "cycle_duration": "histogram",
    "reclaim_actions": "counter",
    "acquisition_actions": "counter",
    "preempt_actions": "counter",
    "bootstrap_outcomes": "counter",
    "configure_duration": "histogram",
    "shortfall": "gauge",
    "shortfall_by_priority": "gauge",
    "demand": "gauge",
    "inventory": "gauge",
    "rollup_duration": "histogram",
    "acknowledge_duration": "histogram",
    "node_publish_duration": "histogram",
}
_PARTED_ROLES: Final = ("bootstrap_outcomes", "shortfall_by_priority", "inventory")
_SERIES_ENDINGS: Final = ("_bucket", "_sum", "_count")


def _archetype_names_are_unique(catalog: Catalog) -> Iterator[Finding]:
    first: dict[str, int] = {}
    for place, archetype in enumerate(catalog.archetypes):
        before = first.setdefault(archetype.name, place)
        if before != place:
            reads = f"archetypes.{place}.name archetypes.{before}.name"
            yield Finding.error(reads, f"another archetype is called {archetype.name}", "names are unique in a catalog")


def _pods_have_one_size_or_buckets(catalog: Catalog) -> Iterator[Finding]:
    for path, archetype in _archetypes(catalog):
        if archetype.resources is not None and archetype.size_buckets:
            yield Finding.error(f"{path}.resources {path}.sizeBuckets", "excludes sizeBuckets", "keep one of the two")
        if archetype.resources is None and not archetype.size_buckets:
            message = "the archetype has no size"
            yield Finding.error(f"{path}.resources {path}.sizeBuckets", message, "give it resources or sizeBuckets")


def _gangs_share_one_domain(catalog: Catalog) -> Iterator[Finding]:
    for path, archetype in _archetypes(catalog):
        if archetype.same_rack and archetype.same_zone:
            yield Finding.error(
                f"{path}.sameZone {path}.sameRack", "excludes sameRack", "a rack lies inside one zone: keep one"
            )


def _gangs_have_a_size(catalog: Catalog) -> Iterator[Finding]:
    for path, archetype in _archetypes(catalog):
        gang = archetype.same_rack or archetype.same_zone
        flags = f"{path}.sameRack {path}.sameZone"
        if gang and archetype.group_size_range is None:
            yield Finding.error(
                f"{flags} {path}.groupSizeRange", "a gang needs a size", "add groupSizeRange: [smallest, largest]"
            )
        if not gang and archetype.group_size_range is not None:
            message = "only a gang has a group size"
            yield Finding.error(f"{path}.groupSizeRange {flags}", message, "set sameRack or sameZone, or remove it")
        if not gang and archetype.allow_partial:
            message = "only a gang can start in parts"
            yield Finding.error(f"{path}.allowPartial {flags}", message, "set sameRack or sameZone, or remove it")


def _group_sizes_rise(catalog: Catalog) -> Iterator[Finding]:
    for path, archetype in _archetypes(catalog):
        low, high = archetype.group_size_range or (1, 1)
        if low > high:
            yield Finding.error(
                f"{path}.groupSizeRange",
                f"the smallest gang ({low}) is larger than the largest ({high})",
                "swap the two",
            )


def _spreads_have_a_constraint(catalog: Catalog) -> Iterator[Finding]:
    for path, archetype in _archetypes(catalog):
        if archetype.spread_constraint_prob > 0 and archetype.spread_constraint is None:
            reads = f"{path}.spreadConstraintProb {path}.spreadConstraint"
            yield Finding.error(reads, "there is no spreadConstraint to carry", "add spreadConstraint, or remove this")


def _choices_are_listed_once(catalog: Catalog) -> Iterator[Finding]:
    for path, archetype in _archetypes(catalog):
        for key, choices in (("instanceTypes", archetype.instance_types), ("zones", archetype.zones)):
            for place, choice in _repeated(choices):
                message = f"{choice!r} is listed twice, which would double its share"
                yield Finding.error(f"{path}.{key}.{place}", message, "list it once")


def _instance_types_are_described(catalog: Catalog) -> Iterator[Finding]:
    for path, archetype in _archetypes(catalog):
        for place, choice in enumerate(archetype.instance_types):
            if choice not in catalog.instance_types:
                reads = f"{path}.instanceTypes.{place} instanceTypes"
                message = f"{choice!r} has no entry in instanceTypes, so demand cannot be checked against it"
                yield Finding.warning(reads, message, "add its real shape there")


def _something_is_drawn(catalog: Catalog) -> Iterator[Finding]:
    if all(archetype.burst_only for archetype in catalog.archetypes):
        message = "every archetype is burstOnly, so there is no steady demand to draw"
        yield Finding.error("archetypes", message, "let one be steady")


def _archetypes(catalog: Catalog) -> Iterator[tuple[str, Archetype]]:
    for place, archetype in enumerate(catalog.archetypes):
        yield f"archetypes.{place}", archetype


def _repeated(entries: tuple[str, ...]) -> Iterator[tuple[int, str]]:
    seen: set[str] = set()
    for place, entry in enumerate(entries):
        if entry in seen:
            yield place, entry
        seen.add(entry)


def _engine_starts_one_way(engine: EngineManifest) -> Iterator[Finding]:
    ways = {"inProcess": engine.start.in_process, "command": engine.start.command, "chart": engine.start.chart}
    given = [key for key, way in ways.items() if way is not None]
    if len(given) != 1:
        said = f"{' and '.join(given)} exclude each other" if given else "no way to start the engine is given"
        yield Finding.error("start", said, "keep exactly one of inProcess, command and chart")


def _roles(engine: EngineManifest) -> Iterator[tuple[str, str, Metric]]:
    for name, info in type(engine.roles).model_fields.items():
        metric = getattr(engine.roles, name)
        if metric is not None:
            yield name, f"roles.{info.alias}", metric


def _roles_have_their_type(engine: EngineManifest) -> Iterator[Finding]:
    for name, path, metric in _roles(engine):
        wanted = _ROLE_TYPES[name]
        if metric.type != wanted:
            yield Finding.error(
                f"{path}.type",
                f"this role is a {wanted}, not a {metric.type}",
                f"name a {wanted}, or leave the role out",
            )


def _roles_have_their_unit(engine: EngineManifest) -> Iterator[Finding]:
    for name, path, metric in _roles(engine):
        timed = name.endswith("_duration") or name == "process_start"
        wanted = "seconds" if timed else "bytes" if name == "resident_memory" else metric.unit
        if metric.unit != wanted:
            yield Finding.error(f"{path}.unit", f"this role is in {wanted}, not in {metric.unit}", f"write {wanted}")


def _roles_name_the_family(engine: EngineManifest) -> Iterator[Finding]:
    for _, path, metric in _roles(engine):
        if metric.type == "histogram" and metric.metric.endswith(_SERIES_ENDINGS):
            message = f"{metric.metric!r} is one series of a histogram"
            yield Finding.error(f"{path}.metric {path}.type", message, f"leave out {' '.join(_SERIES_ENDINGS)}")


def _parted_roles_have_labels(engine: EngineManifest) -> Iterator[Finding]:
    for name, path, metric in _roles(engine):
        if name in _PARTED_ROLES and not metric.by:
            message = "this role has parts, and no label tells them apart"
            yield Finding.error(f"{path}.by", message, "list the labels under by")


def _abilities_are_listed_once(engine: EngineManifest) -> Iterator[Finding]:
    for key, entries in (("actions", engine.actions), ("seeding", engine.seeding)):
        for place, entry in _repeated(entries):
            yield Finding.error(f"{key}.{place}", f"{entry!r} is listed twice", "list it once")


def _time_fits_the_world(substrate: Substrate) -> Iterator[Finding]:
    virtual, real_time = substrate.world == "sim", substrate.footprint.real_time
    if virtual == real_time:
        message = f"the {substrate.world} world runs on {'virtual' if virtual else 'real'} time"
        yield Finding.error("footprint.realTime world", message, f"write realTime: {str(not virtual).lower()}")


def _real_time_soaks_have_no_other_cost(substrate: Substrate) -> Iterator[Finding]:
    cost = substrate.footprint
    if cost.real_time and cost.soak_seconds_per_thousand_replacements > 0:
        message = "a soak in real time takes as long as the profile says"
        reads = "footprint.soakSecondsPerThousandReplacements footprint.realTime"
        yield Finding.error(reads, message, "write 0")


CATALOG_RULES: Final[tuple[Rule[Catalog], ...]] = (
    _archetype_names_are_unique,
    _pods_have_one_size_or_buckets,
    _gangs_share_one_domain,
    _gangs_have_a_size,
    _group_sizes_rise,
    _spreads_have_a_constraint,
    _choices_are_listed_once,
    _instance_types_are_described,
    _something_is_drawn,
)
ENGINE_RULES: Final[tuple[Rule[EngineManifest], ...]] = (
    _engine_starts_one_way,
    _roles_have_their_type,
    _roles_have_their_unit,
    _roles_name_the_family,
    _parted_roles_have_labels,
    _abilities_are_listed_once,
)
SUBSTRATE_RULES: Final[tuple[Rule[Substrate], ...]] = (_time_fits_the_world, _real_time_soaks_have_no_other_cost)
