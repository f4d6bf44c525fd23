"""One cluster resolved: its workloads, which of their slots are pre-bound where, and what could not be placed.

A slot is (workload, k). It is addressed by one number, its position when the workloads stand in a row, so a cluster of
25,000 Pods is a few hundred workloads and runs, and any cluster can be derived again on its own.
"""

from array import array
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from itertools import accumulate

from scaletest.catalog import Workload
from scaletest.model import Attribution, Machine, NeedProfile, group_name
from scaletest.plan.drafting import Draft, Placement, drawn_freely, drawn_to_quota, stranded
from scaletest.plan.filling import Run
from scaletest.plan.folding import FoldLimits
from scaletest.plan.geometry import cluster_name
from scaletest.plan.inventory import Inventory, Seat, Tier

__all__ = ["ClusterPlan", "plan_cluster"]


@dataclass(frozen=True)
class ClusterPlan:
    """A cluster at install time."""

    ordinal: int
    workloads: tuple[Workload, ...]
    runs: tuple[tuple[Run, ...], ...]
    """Where each workload's first slots are pre-bound."""
    placements: tuple[Placement, ...]
    """By archetype."""
    stranded: tuple[int, ...]
    """Pods, by archetype, that could not be scheduled again if they alone were removed."""
    seats: tuple[Seat, ...]
    """The cluster's machines in keep order."""
    inventory: Inventory
    folds: FoldLimits

    @property
    def name(self) -> str:
        """Return the cluster's name."""
        return cluster_name(self.ordinal)

    @cached_property
    def slot_ends(self) -> tuple[int, ...]:
        """Return, for each workload, the slot number after its last."""
        return tuple(accumulate(w.replicas for w in self.workloads))

    @property
    def slots(self) -> int:
        """Return the number of slots."""
        return self.slot_ends[-1] if self.workloads else 0

    @cached_property
    def bound_slots(self) -> int:
        """Return the number of pre-bound slots."""
        return sum(run.count for runs in self.runs for run in runs)

    @property
    def occupied(self) -> int:
        """Return the number of machines that hold a pre-bound Pod."""
        return len({run.position for runs in self.runs for run in runs})

    def workload_of(self, slot: int) -> tuple[int, int]:
        """Return a slot's workload position and its k."""
        workload = bisect_right(self.slot_ends, slot)
        return workload, slot - (self.slot_ends[workload] - self.workloads[workload].replicas)

    def machine_of_slots(self) -> "array[int]":
        """Return the machine position of every slot, -1 for slots that are not pre-bound."""
        column = array("i")
        for workload, runs in zip(self.workloads, self.runs, strict=True):
            for run in runs:
                column.extend([run.position] * run.count)
            column.extend([-1] * (workload.replicas - sum(run.count for run in runs)))
        return column

    def machines(self) -> Iterator[Machine]:
        """Yield the cluster's Configured machines, each attributed to the demand that is pre-bound on it."""
        best: dict[int, tuple[int, int]] = {}
        for position, runs in enumerate(self.runs):
            for run in runs:
                best[run.position] = max(best.get(run.position, (0, 0)), (run.count, -position))
        for position, seat in enumerate(self.seats):
            served = self.workloads[-best[position][1]] if position in best else None
            yield self.inventory.machine(
                seat, Tier.CONFIGURED, cluster=self.ordinal, attribution=self._attribution(seat, served)
            )

    def need(self, workload: Workload) -> tuple[NeedProfile, str]:
        """Return the profile and group under which the engine will hold a workload's machines.

        Gangs that fit one machine fold: their demand loses its Same requirement and its group.
        """
        kind = self.inventory.sizing.archetypes[workload.archetype]
        profile = kind.need_profile(priority=workload.priority, spread=workload.spread, axes=workload.axes)
        if kind.gang is None or self.folds.folds(workload):
            return profile.without_same, ""
        return profile, group_name(self.name, workload.name)

    @cached_property
    def gangs(self) -> int:
        """Return the number of gangs."""
        kinds = self.inventory.sizing.archetypes
        return sum(kinds[w.archetype].gang is not None for w in self.workloads)

    @cached_property
    def demand_rows(self) -> int:
        """Return the rows of a full roll-up: one per plain profile and one per gang."""
        kinds = self.inventory.sizing.archetypes
        rows = {
            w.name if kinds[w.archetype].gang else (w.archetype, w.priority, w.spread, w.axes) for w in self.workloads
        }
        return len(rows)

    def digest(self) -> bytes:
        """Return a hash of everything above; it is the same in any process."""
        lines = [
            f"{w.name}|{w.size}|{w.replicas}|{w.priority}|{w.spread}|{w.axes}|{[(r.position, r.count) for r in runs]}"
            for w, runs in zip(self.workloads, self.runs, strict=True)
        ]
        return sha256("\n".join([self.name, *lines]).encode()).digest()

    def _attribution(self, seat: Seat, served: Workload | None) -> Attribution:
        kind = self.inventory.sizing.archetypes[seat.archetype]
        if served is None:
            # An over-seeded machine serves no gang; it carries its archetype's plain identity.
            profile = kind.need_profile(priority=max(kind.priorities), spread=False, axes=seat.axes).without_same
            group = ""
        else:
            profile, group = self.need(served)
            kind = self.inventory.sizing.archetypes[served.archetype]
        return Attribution(
            need_fingerprint=profile.fingerprint,
            group=group,
            priority=profile.priority,
            interruption_penalty_uusd=kind.interruption_penalty_uusd,
            reclamation_penalty_uusd=kind.reclamation_penalty_uusd,
        )


def plan_cluster(
    inventory: Inventory, ordinal: int, *, folds: FoldLimits, free_draw: bool, max_pods: int
) -> ClusterPlan:
    """Draw one cluster's workloads and pre-bind them."""
    draw = drawn_freely if free_draw else drawn_to_quota
    draft = draw(Draft(inventory, ordinal, max_pods))
    return ClusterPlan(
        ordinal=ordinal,
        workloads=tuple(draft.workloads),
        runs=tuple(tuple(runs) for runs in draft.runs),
        placements=tuple(draft.placements()),
        stranded=stranded(draft),
        seats=draft.filling.seats,
        inventory=inventory,
        folds=folds,
    )
