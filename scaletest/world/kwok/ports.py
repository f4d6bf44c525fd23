"""Free ports for programs that must be told where to listen before they start."""

import os
import socket
from pathlib import Path
from typing import Final

from scaletest.world.kwok.errors import GroundError

__all__ = ["LOOPBACK", "PortPool"]

LOOPBACK: Final = "127.0.0.1"
_FIRST: Final = 20_000
_STRIDE: Final = 211
"""Runners begin this far apart by pid, so that two that start together do not look at the same ports."""


class PortPool:
    """Ports of one run: each is handed out once, and was free when it was.

    They lie below the range from which the system takes the ports of outgoing connections, or a client's connection
    could take one between our look and the program's start.
    """

    def __init__(self) -> None:
        end = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text(encoding="ascii").split()[0])
        self._end = end if end > _FIRST + _STRIDE else 65_536
        self._looked = 0
        self._offset = os.getpid() * _STRIDE

    def take(self, count: int) -> tuple[int, ...]:
        """Return ports on which nobody listens; raise GroundError when there are not as many."""
        span, ports = self._end - _FIRST, list[int]()
        while len(ports) < count:
            if self._looked == span:
                raise GroundError(
                    "there is no free port",
                    why=f"all ports from {_FIRST} to {self._end - 1} are taken on {LOOPBACK}",
                    remedy="see `scaletest clusters list` for clusters that were left behind",
                )
            port = _FIRST + (self._offset + self._looked) % span
            self._looked += 1
            if _is_free(port):
                ports.append(port)
        return tuple(ports)


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True
