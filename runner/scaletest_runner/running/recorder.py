"""What the reference engine tells about itself, as rows of evidence."""

from collections.abc import Callable, Mapping
from hashlib import blake2b

from scaletest.engine.facts import ActionFact, CycleFact, CycleInputs
from scaletest.engine.saved import CycleWriter
from scaletest.evidence import ActionRow, CycleRow, Journal
from scaletest.evidence.rows import ComputeRow, EventRow
from scaletest.world.cloud import CloudEvent

__all__ = ["EngineRecorder", "event_row"]

_UNFINISHED = "in flight"


def event_row(event: CloudEvent, ordinals: Mapping[str, int]) -> EventRow:
    """Return what the cloud did as a row of evidence."""
    return EventRow(
        at_us=event.at_us,
        kind=event.kind,
        cluster=ordinals.get(event.cluster, -1),
        machine=event.machine,
        fingerprint=event.fingerprint,
        group=event.group,
    )


class EngineRecorder:
    """The engine's Recorder. A row waits for its action's outcome, and is written without one at the end."""

    def __init__(self, journal: Journal, ordinals: Mapping[str, int], *, resident_kib: Callable[[], int]) -> None:
        self._journal = journal
        self._resident_kib = resident_kib
        self._ordinals = ordinals
        self._open: dict[tuple[str, int], ActionRow] = {}
        self._writer = CycleWriter()
        self._digest = ""

    def accepted(self, fact: ActionFact) -> None:
        """Take note of an action that was begun."""
        action = fact.action
        self._open[action.kind.value, fact.seq] = ActionRow(
            seq=fact.seq,
            at_us=fact.at_us,
            kind=action.kind.value,
            machine=action.machine,
            cluster=self._ordinals.get(action.need.cluster, -1),
            fingerprint=action.need.fingerprint,
            group=action.need.group,
            min_unit=fact.min_unit,
            domain=action.domain or "",
            rule=action.rule,
            reason=action.reason,
            cycle=fact.cycle,
        )

    def finished(self, kind: str, seq: int, outcome: str, evicted: int) -> None:
        """Write the row of an action that came to an end."""
        self._journal.row(self._open.pop((kind, seq))._replace(outcome=outcome, evicted=evicted))

    def cycle(self, fact: CycleFact, inputs: CycleInputs, compute_us: int) -> None:
        """Write one cycle: its row, what it saw, and what it cost."""
        line = self._writer.line(inputs)
        # Chained, so that equal hashes mean that everything up to here was equal.
        self._digest = blake2b(f"{self._digest}{line}".encode(), digest_size=12).hexdigest()
        self._journal.decision(line)
        self._journal.row(CycleRow(inputs_hash=self._digest, **fact._asdict()))
        self._journal.row(ComputeRow(fact.cycle, compute_us, self._resident_kib()))

    def close(self) -> None:
        """Write the rows of actions that never came to an end."""
        for row in self._open.values():
            self._journal.row(row._replace(outcome=_UNFINISHED))
        self._open.clear()
