"""Workload archetypes as numbers: sizing arithmetic, keyed draws and demand-realism checks."""

from scaletest.catalog.archetypes import Archetype, Gang, HardSpread, Size, archetypes_of
from scaletest.catalog.realism import realism_findings
from scaletest.catalog.sampling import Workload, WorkloadDraws
from scaletest.catalog.sizing import Sizing

__all__ = [
    "Archetype",
    "Gang",
    "HardSpread",
    "Size",
    "Sizing",
    "Workload",
    "WorkloadDraws",
    "archetypes_of",
    "realism_findings",
]
