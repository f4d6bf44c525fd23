"""How much memory this process holds, and giving back what it does not need."""

import ctypes
import gc
import resource
from contextlib import suppress
from pathlib import Path
from typing import Final

__all__ = ["give_back", "resident_kib"]

_STATM: Final = Path("/proc/self/statm")
_PAGE_KIB: Final = resource.getpagesize() // 1024


def resident_kib() -> int:
    """Return the resident memory; where the system does not tell, the most there ever was."""
    try:
        return int(_STATM.read_bytes().split()[1]) * _PAGE_KIB
    except (OSError, ValueError, IndexError):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def give_back() -> None:
    """Collect garbage, and return free memory to the system: glibc keeps what large arrays leave behind to itself."""
    gc.collect()
    with suppress(OSError, AttributeError):  # another C library has no such call
        ctypes.CDLL(None).malloc_trim(0)
