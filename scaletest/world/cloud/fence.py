"""Who may still call: an engine that was replaced, and a call that comes late, change nothing."""

from scaletest.ports.provider import FencedError, Token

__all__ = ["Fence"]


class Fence:
    """The newest epoch seen, and within it the newest sequence of every machine."""

    def __init__(self) -> None:
        self._epoch = 0
        self._newest: dict[str, int] = {}

    def admit(self, machine: str, token: Token) -> None:
        """Remember a call; raise FencedError when a newer engine, or a newer call for the machine, has been here."""
        if token.epoch < self._epoch:
            raise FencedError(f"{machine}: epoch {token.epoch} was replaced by epoch {self._epoch}")
        if token.epoch > self._epoch:
            self._epoch = token.epoch
            self._newest.clear()
        newest = self._newest.get(machine)
        if newest is not None and token.sequence <= newest:
            raise FencedError(f"{machine}: call {token.sequence} comes after call {newest}")
        self._newest[machine] = token.sequence
