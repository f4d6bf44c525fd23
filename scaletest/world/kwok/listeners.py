"""Who listens where: read from /proc, so that no program's word has to be taken for the address it binds."""

import socket
import struct
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address
from pathlib import Path
from typing import Final

__all__ = ["Listener", "listeners", "open_to_others"]

_LISTEN: Final = "0A"


@dataclass(frozen=True, slots=True, order=True)
class Listener:
    """An address and port on which a process accepts connections."""

    pid: int
    host: str
    port: int


def listeners(pids: Iterable[int]) -> list[Listener]:
    """Return every TCP listener of the processes."""
    listening = {**_table("tcp"), **_table("tcp6")}
    found = {Listener(pid, *listening[inode]) for pid in pids for inode in _sockets(pid) if inode in listening}
    return sorted(found)


def open_to_others(found: Iterable[Listener]) -> list[Listener]:
    """Return the listeners that another machine could reach."""
    return [each for each in found if not ip_address(each.host).is_loopback]


def _table(name: str) -> dict[str, tuple[str, int]]:
    """Return host and port of every listening socket by its inode."""
    try:
        lines = Path("/proc/net", name).read_text(encoding="ascii").splitlines()[1:]
    except FileNotFoundError:  # a machine without IPv6
        return {}
    rows = (line.split() for line in lines)
    return {row[9]: _address(row[1]) for row in rows if row[3] == _LISTEN}


def _address(text: str) -> tuple[str, int]:
    host, port = text.split(":")
    # The kernel prints words of 32 bits in the machine's byte order.
    packed = b"".join(struct.pack("=I", int(host[at : at + 8], 16)) for at in range(0, len(host), 8))
    if len(packed) == 4:
        return socket.inet_ntoa(packed), int(port, 16)
    address = IPv6Address(packed)
    return str(address.ipv4_mapped or address), int(port, 16)


def _sockets(pid: int) -> list[str]:
    """Return the inodes of the sockets that a process holds."""
    names = []
    try:
        for entry in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(FileNotFoundError):  # closed while we look
                names.append(str(entry.readlink()))
    except (FileNotFoundError, ProcessLookupError):
        return []
    return [name[len("socket:[") : -1] for name in names if name.startswith("socket:[")]
