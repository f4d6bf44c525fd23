"""The plan: a pure function of profile, catalog, engine manifest, substrate and seed. The same for every world."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from hashlib import sha256
from itertools import pairwise
from typing import Final

from scaletest.catalog import Archetype, Sizing, archetypes_of
from scaletest.model import US_PER_SECOND, microseconds
from scaletest.model.instants import exact
from scaletest.plan.arrivals import ClusterSchedule, Segment, segments_of
from scaletest.plan.calibrated import calibrated_gates, inputs_digest
from scaletest.plan.clusters import ClusterPlan, plan_cluster
from scaletest.plan.events import Event, EventKind, PlannedBurst, bursts_of, events_of
from scaletest.plan.folding import FoldLimits
from scaletest.plan.footprint import Footprint, HostSize, footprint_of
from scaletest.plan.gates import Expected, Gate, gates_of
from scaletest.plan.geometry import Geometry
from scaletest.plan.inventory import Inventory, Tier
from scaletest.plan.totals import Totals, totals_of
from scaletest.profile import Catalog, EngineManifest, Profile, Substrate
from scaletest.profile.calibration import MadeWith

__all__ = ["Inputs", "Plan"]

_LINGER_MIN_US: Final = 10 * US_PER_SECOND
_LINGER_BARS: Final = 1.1
_MOST_CLUSTERS: Final = 10_000
_LEAST_EXCESS: Final = 10
_TICK_SECONDS: Final = 10
"""The engine's own cycle interval; roll-ups wake it in between."""


@dataclass(frozen=True, slots=True)
class Inputs:
    """Everything a plan is made from."""

    profile: Profile
    catalog: Catalog
    engine: EngineManifest
    substrate: Substrate
    host: HostSize
    random_seed: int
    today: str
    """The day, as 2026-11-18: calibrations expire."""


@dataclass(frozen=True)
class Plan:
    """The whole test as data. Clusters, Pods, machines and arrivals are derived from it on demand."""

    inputs: Inputs

    @property
    def profile(self) -> Profile:
        """Return the profile."""
        return self.inputs.profile

    @cached_property
    def archetypes(self) -> tuple[Archetype, ...]:
        """Return the catalog's archetypes."""
        return archetypes_of(self.inputs.catalog)

    @cached_property
    def geometry(self) -> Geometry:
        """Return clusters and Pods."""
        return Geometry.of(
            machines=self.profile.scale.machines,
            density=self.profile.scale.density,
            pods_per_cluster=self.profile.pods_per_cluster,
            shards=self.profile.topology.shard_replicas,
        )

    @cached_property
    def inventory(self) -> Inventory:
        """Return the seeded machines."""
        return Inventory(
            sizing=Sizing(self.archetypes, self.geometry.density),
            geometry=self.geometry,
            seed=self.profile.seed,
            random_seed=self.inputs.random_seed,
            drawn_sizes=self.free_draw,
        )

    @property
    def free_draw(self) -> bool:
        """Say whether demand is drawn freely."""
        return self.profile.load.demand_draw == "free"

    @cached_property
    def folds(self) -> FoldLimits:
        """Return which gangs fit one machine of the fleet."""
        seeded = [sum(self.inventory.counts(tier)[a] for tier in Tier) > 0 for a in range(len(self.archetypes))]
        return FoldLimits.of(self.inventory.sizing, seeded=tuple(seeded))

    @property
    def max_pods(self) -> int:
        """Return the Pods that a Node admits; above the density, so that resources decide and not this number."""
        return 11 * self.geometry.density

    @property
    def linger_us(self) -> int:
        """Return how long load and watches go on after the soak, so that the last requests can be judged."""
        bar = self.profile.slo.internal_binding_latency_p99_seconds or 0
        return max(_LINGER_MIN_US, round(exact(bar) * exact(_LINGER_BARS) * US_PER_SECOND))

    @cached_property
    def segments(self) -> tuple[Segment, ...]:
        """Return the stretches of constant demand."""
        return segments_of(self.profile.load_profile, soak_us=self.profile.soak_us, linger_us=self.linger_us)

    @cached_property
    def bursts(self) -> tuple[PlannedBurst, ...]:
        """Return the bursts with their clusters."""
        load = self.profile.load_profile
        return bursts_of(load.bursts, self.archetypes, geometry=self.geometry, seed=self.inputs.random_seed)

    @cached_property
    def events(self) -> tuple[Event, ...]:
        """Return what else happens, in order."""
        return events_of(self.profile, self.bursts)

    @property
    def countable(self) -> bool:
        """Say whether there are few enough clusters to be planned one by one."""
        return self.geometry.clusters <= _MOST_CLUSTERS

    def cluster(self, ordinal: int) -> ClusterPlan:
        """Return one cluster, derived anew."""
        return plan_cluster(self.inventory, ordinal, folds=self.folds, free_draw=self.free_draw, max_pods=self.max_pods)

    def schedule(self, ordinal: int) -> ClusterSchedule:
        """Return one cluster with its planned replacements."""
        return ClusterSchedule(self.cluster(ordinal), self.profile.load_profile, self.segments, self.inputs.random_seed)

    @cached_property
    def totals(self) -> Totals:
        """Return the sums over all clusters."""
        soak_us = self.profile.soak_us
        bar = self.profile.slo.internal_binding_latency_p99_seconds
        return totals_of(
            (self.schedule(ordinal) for ordinal in range(self.geometry.clusters)),
            soak_us=soak_us,
            end_us=soak_us + self.linger_us,
            window_us=microseconds(bar) if bar else 0,
        )

    @cached_property
    def gates(self) -> tuple[Gate, ...]:
        """Return every gate, headline first."""
        world, profile = self.inputs.substrate.world, self.profile
        gates = gates_of(profile, self.inputs.engine, world=world, expected=self._expected())
        name, today = profile.metadata.name, self.inputs.today
        return tuple(calibrated_gates(gates, profile.calibration, now=self.circumstances, today=today, profile=name))

    @cached_property
    def circumstances(self) -> MadeWith:
        """Return what a calibration of this test would hold for."""
        inputs = self.inputs
        return MadeWith(
            inputs=inputs_digest(inputs.profile, inputs.catalog),
            engine=inputs.engine.metadata.name,
            engineVersion=inputs.engine.version,
            substrate=inputs.substrate.world,
            hostClass=inputs.host.host_class,
        )

    @cached_property
    def footprint(self) -> Footprint:
        """Return the estimated cost on the substrate."""
        return footprint_of(
            self.inputs.substrate,
            host=self.inputs.host,
            clusters=self.geometry.clusters,
            pods=self.geometry.pods,
            machines=self.inventory.machines,
            replacements=self.totals.planned_replacements,
            span_us=self.profile.soak_us + self.linger_us,
        )

    @cached_property
    def cycle_interval_us(self) -> int:
        """Return the expected time between two cycles: every roll-up wakes the engine, and so does its own tick."""
        wakes = self.geometry.clusters / self.profile.world.rollup_interval_seconds + 1 / _TICK_SECONDS
        cycle = self.profile.world.cycle
        duration = cycle.base_milliseconds / 1e3 + cycle.per_need_microseconds * self.totals.demand_rows / 1e6
        return microseconds(max(1 / wakes, duration))

    @cached_property
    def digest(self) -> str:
        """Return a hash of everything a world will do: equal hashes mean equal tests."""
        what = self.profile.model_dump_json(exclude={"proving", "calibration"})
        if self.profile.calibration is not None:
            what += self.profile.calibration.model_dump_json()
        said = what + self.inputs.catalog.model_dump_json() + str(self.inputs.random_seed)
        return sha256(f"{said}{self.totals.digest}".encode()).hexdigest()

    def _expected(self) -> Expected:
        soak_us, totals = self.profile.soak_us, self.totals
        rate = self.profile.shard.failure_rate_per_sec * sum(self.inventory.configured_total)
        planned = sum(event.machines for event in self.events if event.kind is EventKind.LOSS)
        rollup_us = microseconds(self.profile.world.rollup_interval_seconds)
        return Expected(
            requests=totals.planned_replacements,
            cycles=soak_us // self.cycle_interval_us,
            settled_cycles=(soak_us - self.profile.settle_us) // self.cycle_interval_us,
            rollups=self.geometry.clusters * (soak_us // rollup_us),
            gangs=totals.gangs,
            losses=planned + int(rate * soak_us / US_PER_SECOND),
            drills=len(self.profile.load_profile.scale_downs) + len(self.profile.load_profile.demand_steps),
            shards=self.geometry.shards,
            bound_share=self._bound_share(),
            configured_end=self._configured_end(),
        )

    def _configured_end(self) -> int | None:
        """Return the machines in use and half of those seeded beside them: an engine that does nothing keeps all.

        None where too few are in excess to tell, where not all Pods have their machine from the start, or where a burst
        still needs machines at soak end.
        """
        all_bound = self.profile.seed.pre_bind_fraction == 1 and not self.free_draw
        if not all_bound or any(burst.until_us > self.profile.soak_us for burst in self.bursts):
            return None
        occupied = self.totals.occupied
        excess = sum(self.inventory.configured_total) - occupied
        return occupied + excess // 2 if excess >= _LEAST_EXCESS else None

    def _bound_share(self) -> float | None:
        """Return 1 - (most Pods that may be waiting at once) / Pods; a burst or a step up waits all at once."""
        if not self.totals.busiest_us or self.profile.slo.expect_standing_shortfall:
            return None
        bursts = sum(burst.extra_target * len(burst.clusters) for burst in self.bursts)
        rise = max((b.multiplier - a.multiplier for a, b in pairwise(self.segments)), default=Fraction(0))
        waiting = self.totals.busiest + bursts + max(Fraction(0), rise) * self.geometry.pods
        live = self.geometry.pods * min(segment.multiplier for segment in self.segments)
        return max(0.0, round(1 - float(waiting / live), 6))
