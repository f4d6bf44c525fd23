"""The rows of the ledgers, and how they are written as JSON lines. Instants are microseconds of the run's clock.

They are named tuples: there may be millions, and a frozen dataclass takes five times as long to build.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from json.encoder import encode_basestring_ascii
from operator import itemgetter, ne
from sys import intern
from types import NoneType, UnionType
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar, get_args, get_type_hints

import orjson

__all__ = [
    "LEDGERS",
    "LEDGER_OF",
    "ROWS_VERSION",
    "ActionRow",
    "ComputeRow",
    "CycleRow",
    "EventRow",
    "RequestRow",
    "Row",
    "RowError",
    "decode",
    "decode_header",
    "encode",
    "header",
]

ROWS_VERSION: Final = 1
_WIDEST: Final = 1 << 62
"""No honest number is wider; a wider one would overflow as soon as it is divided."""
_SIGNED: Final = frozenset({"cluster", "priority"})
"""All else counts or comes after the run's beginning; a negative count would take back what others counted."""
_NO_DEFAULT: Final = object()
_MOST_SHAPES: Final = 4096
"""Shapes of rows to remember: more than a run has, and an end to what a strange file can make us hold."""


class RowError(ValueError):
    """A line that is not a row of its ledger."""


class RequestRow(NamedTuple):
    """One request: a Pod that wanted a machine.

    `state` is bound, waiting (not bound when the run ended), void (its slot was already empty) or undelivered (the
    driver never sent it). After a broken watch the bind happened somewhere in [bound_after_us, bound_us].
    """

    cluster: int
    slot: int
    workload: str
    archetype: str
    priority: int
    fingerprint: str
    group: str
    cause: str
    state: str
    planned_us: int
    sent_us: int | None = None
    appeared_us: int | None = None
    requested_us: int | None = None
    chosen_us: int | None = None
    configured_us: int | None = None
    bound_us: int | None = None
    bound_after_us: int | None = None
    path: str = ""
    obs_seq: int | None = None
    gang: bool = False


class ActionRow(NamedTuple):
    """One action that the execute pool accepted; `seq` is its counter series' value after the increment."""

    seq: int
    at_us: int
    kind: str
    machine: str
    cluster: int
    fingerprint: str
    group: str
    min_unit: str = ""
    domain: str = ""
    rule: str = ""
    reason: str = ""
    outcome: str = ""
    evicted: int = 0
    cycle: int = 0


class CycleRow(NamedTuple):
    """One decision cycle: what it saw and what it left behind."""

    cycle: int
    at_us: int
    inputs_hash: str
    duration_us: int
    needs: int
    gangs: int
    shortfalls: int
    oldest_shortfall_cycles: int
    shortfalls_batch: int = 0
    shortfalls_service: int = 0
    shortfalls_critical: int = 0
    domain_flips: int = 0
    claimed_set_changes: int = 0
    configured: int = 0
    in_flight: int = 0
    worst_reclaim_ppm: int = 0
    reclaims_before_rollup: int = 0
    reclaims_of_unsatisfied: int = 0
    """Reclaims of machines that match a Need which was left unsatisfied in the same cycle."""


class EventRow(NamedTuple):
    """Something the world did to the engine: a loss, planned growth of demand, a step, a burst."""

    at_us: int
    kind: str
    cluster: int = -1
    machine: str = ""
    fingerprint: str = ""
    group: str = ""
    min_unit: str = ""
    number: int = 1


class ComputeRow(NamedTuple):
    """Real compute time of one cycle and memory of the process then; kept apart because no two runs share them."""

    cycle: int
    compute_us: int
    resident_kib: int = 0


Row: TypeAlias = RequestRow | ActionRow | CycleRow | EventRow | ComputeRow
RowT = TypeVar("RowT", RequestRow, ActionRow, CycleRow, EventRow, ComputeRow)

LEDGERS: Final[dict[str, type[Row]]] = {
    "requests": RequestRow,
    "actions": ActionRow,
    "cycles": CycleRow,
    "events": EventRow,
    "measured": ComputeRow,
}
LEDGER_OF: Final = {kind: name for name, kind in LEDGERS.items()}


def header(ledger: str) -> str:
    """Return the first line of a ledger: which it is, and in which version."""
    return json.dumps({"schema": f"scaletest/{ledger}", "version": ROWS_VERSION}, sort_keys=True, separators=(",", ":"))


def encode(row: Row) -> str:
    """Return a row as one canonical JSON line; fields at their default are left out."""
    kind = type(row)
    doubtful, defaults = _DOUBTFUL[kind]
    shape = (kind, *map(type, row), *map(ne, doubtful(row), defaults))
    write = _WRITERS.get(shape)
    if write is None:
        write = _WRITERS[shape] = _writer(row)
    return write(row)


def decode(kind: type[RowT], line: str) -> RowT:
    """Return the row in a line; raise RowError when anything about it is not as written here."""
    values: dict[str, Any] = _parsed(line)
    shape = (kind, *values, *map(type, values.values()))
    known: _Reader = _READERS.get(shape) or _reader(kind, values, shape)
    numbers: tuple[Any, ...] = known.numbers(values)
    if min(numbers) < 0 or max(numbers) >= _WIDEST:
        _check(kind, values)
    # The same few texts stand in every row; one copy of each is enough for all of them.
    return kind._make(known.order((*map(intern, known.texts(values)), *numbers, *known.rest)))


def decode_header(ledger: str, line: str) -> None:
    """Raise RowError unless the line opens this ledger in this version."""
    try:
        opened = json.loads(line)
    except (ValueError, RecursionError):
        raise RowError("it does not start with a header") from None
    if not isinstance(opened, dict) or opened.get("schema") != f"scaletest/{ledger}":
        raise RowError("it does not start with a header of this ledger")
    if opened.get("version") != ROWS_VERSION:
        raise RowError(f"version {opened.get('version')!r} is not the known version {ROWS_VERSION}")


# Built once: json.dumps builds a new one per call as soon as an option is given.
_ENCODER: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":"))


def _parsed(line: str) -> dict[str, Any]:
    """Return the object in a line."""
    try:
        values = orjson.loads(line)
    except ValueError as error:
        raise RowError(f"not JSON: {error}") from None
    if not isinstance(values, dict):
        raise RowError("not a JSON object")
    return values


def _check(kind: type[Row], values: dict[str, Any]) -> None:
    """Raise RowError for the first field that no row of this kind has."""
    types = _TYPES[kind]
    for name, value in values.items():
        if type(value) not in types.get(name, ()):
            raise RowError(f"{name} has the wrong type" if name in types else f"unknown field {name!r}")
        if type(value) is int and not (-_WIDEST if name in _SIGNED else -1) < value < _WIDEST:
            raise RowError(f"{name} is no number of this world")
    if missing := _REQUIRED[kind] - values.keys():
        raise RowError(f"{min(missing)} is missing")


Getter: TypeAlias = Callable[[Any], tuple[Any, ...]]


class _Reader(NamedTuple):
    """How to make a row of a checked object of one shape: its fields by type, the rest, and the order of them all."""

    texts: Getter
    numbers: Getter
    rest: tuple[Any, ...]
    order: Getter


def _reader(kind: type[Row], values: dict[str, Any], shape: tuple[Any, ...]) -> _Reader:
    """Return how to read objects of a shape that was not seen before; raise RowError unless a row may have it."""
    _check(kind, values)
    texts = [name for name, value in values.items() if type(value) is str]
    numbers = [name for name, value in values.items() if isinstance(value, int)]
    rest = [name for name in kind._fields if name not in {*texts, *numbers}]
    given = [*texts, *numbers, *rest]
    made = _Reader(
        texts=_getter(texts),
        numbers=_getter(numbers),
        rest=tuple(None if name in values else kind._field_defaults[name] for name in rest),
        order=_getter([given.index(name) for name in kind._fields]),
    )
    if len(_READERS) < _MOST_SHAPES:
        _READERS[shape] = made
    return made


def _writer(row: Row) -> Callable[[Row], str]:
    """Return how rows of this shape are written: a line with gaps for its texts and whole numbers."""
    kind = type(row)
    written = sorted((name, at) for at, name in enumerate(kind._fields) if row[at] != _DEFAULTS[kind][at])
    gaps = {at: _gap(row[at], _DEFAULTS[kind][at]) for _, at in written}
    if not all(gaps.values()):
        return _write_any
    line = "{" + ",".join(f'"{name}":{gaps[at]}' for name, at in written) + "}"
    texts = [at for at, gap in gaps.items() if gap == "%s"]
    numbers = [at for at, gap in gaps.items() if gap == "%d"]
    given = [*texts, *numbers]
    quoted, plain, order = _getter(texts), _getter(numbers), _getter([given.index(at) for at in gaps if at in given])
    return lambda row: line % order((*map(encode_basestring_ascii, quoted(row)), *plain(row)))


def _gap(value: object, default: object) -> str:
    """Return what stands in a line for a value of its type; a boolean that is not its default is the other one."""
    if type(value) is bool and type(default) is bool:
        return "true" if value else "false"
    return {str: "%s", int: "%d"}.get(type(value), "")


def _write_any(row: Row) -> str:
    pairs = zip(row._fields, row, _DEFAULTS[type(row)], strict=True)
    return _ENCODER.encode({name: value for name, value, default in pairs if value != default})


def _getter(keys: Sequence[Any]) -> Getter:
    """Return a getter of several items that gives a tuple for one and for none as well."""
    if len(keys) > 1:
        return itemgetter(*keys)
    return lambda values: tuple(values[key] for key in keys)


def _types_of(kind: type[Row]) -> dict[str, tuple[type, ...]]:
    return {name: _allowed(hint) for name, hint in get_type_hints(kind).items()}


def _allowed(hint: Any) -> tuple[type, ...]:
    members: Iterable[Any] = get_args(hint) if isinstance(hint, UnionType) else (hint,)
    return tuple(NoneType if member is NoneType else member for member in members)


# bool is not int here: type() is compared, so `true` never passes for 1.
_TYPES: Final = {kind: _types_of(kind) for kind in LEDGERS.values()}
_REQUIRED: Final = {kind: frozenset(kind._fields) - kind._field_defaults.keys() for kind in LEDGERS.values()}
_DEFAULTS: Final = {kind: tuple(kind._field_defaults.get(n, _NO_DEFAULT) for n in kind._fields) for kind in _TYPES}


def _doubtful(kind: type[Row]) -> tuple[Getter, tuple[Any, ...]]:
    """Return how to get the fields whose type does not tell whether they are at their default, and the defaults."""
    at = [at for at, default in enumerate(_DEFAULTS[kind]) if default is not None and default is not _NO_DEFAULT]
    return _getter(at), tuple(_DEFAULTS[kind][each] for each in at)


_DOUBTFUL: Final = {kind: _doubtful(kind) for kind in _DEFAULTS}

# Rows come in a few shapes, told by the fields that are there and their types: what a shape allows is found out once.
_WRITERS: Final[dict[tuple[Any, ...], Callable[[Row], str]]] = {}
_READERS: Final[dict[tuple[Any, ...], _Reader]] = {}
