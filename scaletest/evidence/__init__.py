"""What was observed and nothing else: raw samples and ledger rows, on disk before anybody judges them."""

from scaletest.evidence.journal import Journal
from scaletest.evidence.reading import Defect, Evidence, read_evidence
from scaletest.evidence.record import Component, Marks, Phase, RunRecord
from scaletest.evidence.rows import ActionRow, CycleRow, EventRow, RequestRow
from scaletest.evidence.samples import Metrics, Sample, Series

__all__ = [
    "ActionRow",
    "Component",
    "CycleRow",
    "Defect",
    "EventRow",
    "Evidence",
    "Journal",
    "Marks",
    "Metrics",
    "Phase",
    "RequestRow",
    "RunRecord",
    "Sample",
    "Series",
    "read_evidence",
]
