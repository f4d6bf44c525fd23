"""How much memory this process holds."""

import resource
from pathlib import Path
from typing import Final

__all__ = ["resident_kib"]

_STATM: Final = Path("/proc/self/statm")
_PAGE_KIB: Final = resource.getpagesize() // 1024


def resident_kib() -> int:
    """Return the resident memory; where the system does not tell, the most there ever was."""
    try:
        return int(_STATM.read_bytes().split()[1]) * _PAGE_KIB
    except (OSError, ValueError, IndexError):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
