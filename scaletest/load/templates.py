"""Pod templates: what a workload's Pods ask for. Workloads that ask for the same share one object."""

from scaletest.catalog import Archetype, Workload
from scaletest.model import NeedProfile
from scaletest.ports.cluster import PodTemplate

__all__ = ["Templates"]


class Templates:
    """The templates of one catalog. An engine that reads them arrives at the demand that the plan foresees."""

    def __init__(self, archetypes: tuple[Archetype, ...]) -> None:
        self._archetypes = archetypes
        self._made: dict[tuple[object, ...], PodTemplate] = {}

    def of(self, workload: Workload) -> PodTemplate:
        """Return the template of a workload."""
        key = (workload.archetype, workload.size, workload.priority, workload.spread, workload.axes)
        if key not in self._made:
            self._made[key] = _template(self._archetypes[workload.archetype], workload)
        return self._made[key]


def _template(kind: Archetype, workload: Workload) -> PodTemplate:
    """Take the tests of the Need apart: a gang's shared value is the owner's affair, all else is each Pod's."""
    wanted: NeedProfile = kind.need_profile(priority=workload.priority, spread=workload.spread, axes=workload.axes)
    return PodTemplate(
        requests=kind.sizes[workload.size].request,
        requirements=wanted.without_same.requirements,
        priority=workload.priority,
        spread=wanted.spread,
        colocation_key=wanted.same_key,
        interruption_penalty_uusd=kind.interruption_penalty_uusd,
        reclamation_penalty_uusd=kind.reclamation_penalty_uusd,
    )
