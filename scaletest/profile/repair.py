"""A faulty file made whole enough to be checked for contradictions, so that one reading tells of everything.

Faulty values are left out so that their defaults apply; entries of lists go as a whole; keys without a default get a
stand-in. Nobody ever sees the repaired value: whatever a rule says about a faulty path is dropped.
"""

import re
from typing import Final, Generic, TypeAlias, TypeVar

from scaletest.profile.blocks import Block
from scaletest.profile.document import Value
from scaletest.profile.mismatch import Mismatch, tried
from scaletest.profile.problems import Path

__all__ = ["Repaired", "repaired"]

BlockT = TypeVar("BlockT", bound=Block)

# Lists become mappings from position to entry, so that leaving one out moves no other.
_Sparse: TypeAlias = "dict[str | int, _Sparse] | tuple[()] | str | int | float | None"

_STAND_INS: Final[tuple[Value, ...]] = ("x", 1, True, {})
_MOST_ROUNDS: Final = 60
_MOST_FAULTS: Final = 200


class Repaired(Generic[BlockT]):
    """A value without its faults, and the way back from its positions to those of the file."""

    def __init__(self, value: BlockT, sparse: _Sparse) -> None:
        self.value = value
        self._sparse = sparse

    def original(self, path: Path) -> Path:
        """Return the path in the file of a path in the repaired value."""
        return _original(self._sparse, path)


def repaired(model: type[BlockT], value: Value, faulty: set[Path]) -> Repaired[BlockT] | None:
    """Return the value without its faulty parts, or None when too little of it is left to be worth it."""
    if len(faulty) > _MOST_FAULTS:
        return None
    sparse = _sparse(value)
    attempts: dict[Path, int] = {}
    for path in sorted(faulty, key=str):
        _remove(sparse, path)
    for _ in range(_MOST_ROUNDS):
        whole, mismatches = tried(model, _dense(sparse))
        if whole is not None:
            return Repaired(whole, sparse)
        if not _mend(sparse, mismatches[0], attempts):
            return None
    return None


def _mend(sparse: _Sparse, error: Mismatch, attempts: dict[Path, int]) -> bool:
    """Take one step against one error; False when there is none left to take."""
    path = _original(sparse, error.path)
    entry = max((place for place, step in enumerate(path[:-1]) if isinstance(step, int)), default=None)
    if entry is not None:
        return _remove(sparse, path[: entry + 1])
    if error.type == "literal_error":
        return _put(sparse, path, re.findall(r"'([^']*)'", error.context["expected"])[0])
    if error.type != "missing" and path not in attempts:
        return _remove(sparse, path)
    attempts[path] = attempts.get(path, -1) + 1
    return attempts[path] < len(_STAND_INS) and _put(sparse, path, _STAND_INS[attempts[path]])


def _sparse(value: Value) -> _Sparse:
    if isinstance(value, dict):
        return {key: _sparse(each) for key, each in value.items()}
    if isinstance(value, tuple):
        return {place: _sparse(each) for place, each in enumerate(value)} if value else ()
    return value


def _dense(sparse: _Sparse) -> Value:
    if not isinstance(sparse, dict):
        return sparse
    if _is_list(sparse):
        return tuple(_dense(sparse[place]) for place in _places(sparse))
    return {str(key): _dense(each) for key, each in sparse.items()}


def _is_list(sparse: "dict[str | int, _Sparse]") -> bool:
    return any(isinstance(key, int) for key in sparse)


def _places(sparse: "dict[str | int, _Sparse]") -> list[int]:
    return sorted(key for key in sparse if isinstance(key, int))


def _original(sparse: _Sparse, path: Path) -> Path:
    found: list[str | int] = []
    for step in path:
        known = _places(sparse) if isinstance(sparse, dict) else []
        found.append(known[step] if isinstance(step, int) and step < len(known) else step)
        sparse = sparse.get(found[-1]) if isinstance(sparse, dict) else None
    return tuple(found)


def _holder(sparse: _Sparse, path: Path) -> "dict[str | int, _Sparse] | None":
    for step in path[:-1]:
        sparse = sparse.get(step) if isinstance(sparse, dict) else None
    return sparse if isinstance(sparse, dict) and path else None


def _remove(sparse: _Sparse, path: Path) -> bool:
    holder = _holder(sparse, path)
    if holder is None or path[-1] not in holder:
        return False
    del holder[path[-1]]
    return True


def _put(sparse: _Sparse, path: Path, value: Value) -> bool:
    holder = _holder(sparse, path)
    if holder is None:
        return False
    holder[path[-1]] = _sparse(value)
    return True
