"""The cloud as a port: four calls that change a machine, one that lists. It outlives the engine."""

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from scaletest.model import Machine

__all__ = ["FencedError", "Listing", "Provider", "ProviderError", "StockOutError", "Token"]


class ProviderError(Exception):
    """A call that failed; the machine is Failed, or where it was, as the next listing shows."""


class StockOutError(ProviderError):
    """The cloud has no such machine now."""


class FencedError(ProviderError):
    """A newer engine has replaced the caller, or a newer call for the same machine has overtaken this one."""


class Token(NamedTuple):
    """Who is calling: a later engine has a higher epoch, and its calls are numbered."""

    epoch: int
    sequence: int


class Listing(NamedTuple):
    """Machines that changed since a revision, and those that are gone; from revision 0 it is everything.

    A machine in both was removed and has come back: what was known of it is void. `metadata` holds what Create or
    Configure stored, for every machine listed that has any.
    """

    revision: int
    machines: tuple[Machine, ...]
    removed: tuple[str, ...]
    metadata: Mapping[str, Mapping[str, str]]


class Provider(Protocol):
    """All machines of all tiers. A call answers with the machine as it is then: where it was sent, or on its way."""

    async def create(self, machine: str, *, token: Token, metadata: Mapping[str, str]) -> Machine:
        """Bring a Speculative machine to Idle."""

    async def configure(self, machine: str, *, cluster: str, token: Token, metadata: Mapping[str, str]) -> Machine:
        """Bring an Idle machine into a cluster; the metadata is stored and listed verbatim until it is drained."""

    async def drain(self, machine: str, *, grace_us: int, token: Token) -> Machine:
        """Take a Configured machine out of its cluster, after its Pods are gone or the grace is over."""

    async def delete(self, machine: str, *, token: Token) -> Machine:
        """Give an Idle machine back."""

    async def list(self, after: int) -> Listing:
        """List what changed after a revision."""
