"""What the cloud did on its own account, for the rows of the evidence."""

from typing import Literal, NamedTuple

__all__ = ["CloudEvent", "CloudEventKind"]

CloudEventKind = Literal["loss", "repair", "stock-out", "error"]


class CloudEvent(NamedTuple):
    """A machine that vanished or came back, a Create that was refused, a call that failed.

    `cluster`, `fingerprint` and `group` say whose machine it was at that instant; they are empty when it was nobody's.
    """

    at_us: int
    kind: CloudEventKind
    machine: str
    cluster: str = ""
    fingerprint: str = ""
    group: str = ""
