"""Ways to damage the ledgers, and files as a whole."""

import json
from typing import Any, Final

from integration.judge.damages import Kind, Must, pick, retold, shuffled

from scaletest.model import Stream
from staged_run import FILES, LEDGERS, Bundle, recompressed


def _row(bundle: Bundle, stream: Stream, ledgers: tuple[str, ...] = LEDGERS) -> tuple[list[str], int]:
    rows = bundle.rows(pick(stream, ledgers, 90))
    # Cycles go on through the linger, and nothing rests on those; damage goes where it hurts.
    return rows, 1 + stream.below(min(len(rows) - 1, 190), 91)


def _edit(line: str, **fields: Any) -> str:
    return json.dumps({**json.loads(line), **fields}, sort_keys=True, separators=(",", ":"))


def drop_row(bundle: Bundle, stream: Stream) -> None:
    rows, at = _row(bundle, stream)
    del rows[at]


def drop_request_or_cycle(bundle: Bundle, stream: Stream) -> None:
    rows, at = _row(bundle, stream, ("requests", "cycles"))
    del rows[at]


def drop_many_rows(bundle: Bundle, stream: Stream) -> None:
    rows, at = _row(bundle, stream, ("requests", "cycles", "measured"))
    number = len(rows) // stream.between(2, 8, 1)
    first = max(1, min(at, len(rows) - number))
    del rows[first : first + number]


def truncate_ledger(bundle: Bundle, stream: Stream) -> None:
    rows, _ = _row(bundle, stream, ("requests", "cycles", "measured"))
    del rows[-stream.between(12, 60, 1) :]


def duplicate_row(bundle: Bundle, stream: Stream) -> None:
    rows, at = _row(bundle, stream)
    rows.insert(1 + stream.below(len(rows) - 1, 1), rows[at])


def reorder_rows(bundle: Bundle, stream: Stream) -> None:
    rows = bundle.rows(pick(stream, ("requests", "actions", "cycles", "measured"), 90))
    rows[1:] = shuffled(rows[1:], stream)


def shift_ledger(bundle: Bundle, stream: Stream) -> None:
    ledger = pick(stream, ("requests", "cycles", "actions"), 90)
    shift = stream.between(5_000_000, 90_000_000, 1) * (1 if stream.chance(0.5, 2) else -1)
    rows = bundle.rows(ledger)
    for at, line in enumerate(rows[1:], start=1):
        moved = {n: v + shift for n, v in json.loads(line).items() if n.endswith("_us") and n != "duration_us"}
        rows[at] = _edit(line, **moved)


def swap_binds(bundle: Bundle, stream: Stream) -> None:
    rows = bundle.rows("requests")
    a = stream.between(1, len(rows) - 60, 1)
    b = a + stream.between(15, 39, 2)
    first, second = json.loads(rows[a])["bound_us"], json.loads(rows[b])["bound_us"]
    rows[a], rows[b] = _edit(rows[a], bound_us=second), _edit(rows[b], bound_us=first)


def ledger_gap(bundle: Bundle, stream: Stream) -> None:
    ledger, number = pick(stream, (("requests", "obs_seq"), ("cycles", "cycle"), ("actions", "seq")), 90)
    rows = bundle.rows(ledger)
    at = stream.between(1, min(len(rows) - 2, 190), 1)
    moved = json.loads(rows[at])[number] + pick(stream, (1, -1, 1000, 7), 2)
    rows[at] = _edit(rows[at], **{number: max(0, moved)})


def wrong_type(bundle: Bundle, stream: Stream) -> None:
    rows, at = _row(bundle, stream)
    name = pick(stream, sorted(json.loads(rows[at])), 1)
    wrong: tuple[Any, ...] = ([], {}, 1.5, True, float("nan"), 10**30, -(10**30))
    rows[at] = _edit(rows[at], **{name: pick(stream, wrong, 2)})


def negative_number(bundle: Bundle, stream: Stream) -> None:
    rows, at = _row(bundle, stream)
    names = [n for n, v in json.loads(rows[at]).items() if type(v) is int and n not in {"cluster", "priority"}]
    rows[at] = _edit(rows[at], **{pick(stream, sorted(names), 1): -stream.between(1, 10**6, 2)})


def field_gone_or_unknown(bundle: Bundle, stream: Stream) -> None:
    rows, at = _row(bundle, stream)
    values = json.loads(rows[at])
    required = {"requests": "planned_us", "actions": "seq", "cycles": "shortfalls", "events": "kind"}
    if stream.chance(0.5, 1):
        values["unknown"] = 1
    else:
        values.pop(next((n for n in required.values() if n in values), "cycle"))
    rows[at] = json.dumps(values)


def other_state(bundle: Bundle, stream: Stream) -> None:
    rows = bundle.rows("requests")
    at = stream.between(1, len(rows) - 1, 1)
    rows[at] = _edit(rows[at], state=pick(stream, ("void", "undelivered", "waiting", "bonud", ""), 2))


def other_cause(bundle: Bundle, stream: Stream) -> None:
    rows = bundle.rows("requests")
    at = stream.between(1, len(rows) - 1, 1)
    rows[at] = _edit(rows[at], cause=pick(stream, ("evicted", "chrun", ""), 2))


def half_a_bind(bundle: Bundle, stream: Stream) -> None:
    rows = bundle.rows("requests")
    at = stream.between(1, len(rows) - 1, 1)
    values = json.loads(rows[at])
    del values[pick(stream, ("bound_us", "obs_seq", "appeared_us", "path"), 2)]
    rows[at] = json.dumps(values)


def matching_pairs(bundle: Bundle, stream: Stream) -> None:
    """Drop requests, number the rest anew and lower the driver's counter to match."""
    rows = bundle.rows("requests")
    for _ in range(number := stream.between(1, 5, 1)):
        del rows[1 + stream.below(len(rows) - 1, 2)]
    bound = [at for at in range(1, len(rows)) if "bound_us" in rows[at]]
    order = sorted(bound, key=lambda at: json.loads(rows[at])["bound_us"])
    for seq, at in enumerate(order, start=1):
        rows[at] = _edit(rows[at], obs_seq=seq)
    samples = bundle.samples()
    for at, line in enumerate(samples):
        if line.startswith("scaletest_binding_seconds_count"):
            value = int(line.rsplit(" ", 2)[1])
            samples[at] = retold(line, value=str(min(value, len(order))) if value > number else None)


def cycles_and_compute(bundle: Bundle, stream: Stream) -> None:
    """Drop the same cycle from both of its ledgers."""
    at = stream.between(1, 190, 1)
    del bundle.rows("cycles")[at]
    del bundle.rows("measured")[at]


def cycles_stop(bundle: Bundle, stream: Stream) -> None:
    """Truncate the cycle ledger at its tail together with its counter and the compute times."""
    kept = len(bundle.lines["cycles.jsonl.gz"]) - 1 - stream.between(21, 120, 1)
    for ledger in ("cycles", "measured"):
        del bundle.rows(ledger)[kept + 1 :]
    samples = bundle.samples()
    for at, line in enumerate(samples):
        if line.startswith("cycle_seconds_") and "_sum" not in line:
            samples[at] = retold(line, value=str(min(int(line.rsplit(" ", 2)[1]), kept)))


def no_compute(bundle: Bundle, _: Stream) -> None:
    del bundle.rows("measured")[1:]


def duplicate_loss(bundle: Bundle, stream: Stream) -> None:
    rows = bundle.rows("events")
    rows.append(rows[1 + stream.below(len(rows) - 1, 1)])


def missing_file(bundle: Bundle, stream: Stream) -> None:
    bundle.raw[bundle.touch(pick(stream, FILES))] = None


def empty_file(bundle: Bundle, stream: Stream) -> None:
    name = bundle.touch(pick(stream, FILES))
    bundle.raw[name] = b"" if stream.chance(0.5, 1) else recompressed([])


def foreign_header(bundle: Bundle, stream: Stream) -> None:
    ledger = pick(stream, LEDGERS)
    headers: tuple[Any, ...] = (
        {"schema": f"scaletest/{ledger}", "version": 2},
        {"schema": f"scaletest/{ledger}"},
        {"schema": "other/rows", "version": 1},
        [],
        None,
    )
    bundle.rows(ledger)[0] = json.dumps(pick(stream, headers, 1))


def truncated_gzip(bundle: Bundle, stream: Stream) -> None:
    name = bundle.touch(pick(stream, FILES))
    raw = recompressed(bundle.lines[name])
    bundle.raw[name] = raw[: stream.below(len(raw), 1)]


def half_written_gzip(bundle: Bundle, stream: Stream) -> None:
    name = bundle.touch(pick(stream, FILES))
    raw = recompressed(bundle.lines[name])
    whole = stream.below(len(raw) - 9, 1)
    bundle.raw[name] = raw[:whole] + bytes(len(raw) - whole)


def flipped_gzip(bundle: Bundle, stream: Stream) -> None:
    name = bundle.touch(pick(stream, FILES))
    raw = bytearray(recompressed(bundle.lines[name]))
    bit = stream.below(8 * len(raw), 1)
    raw[bit // 8] ^= 1 << bit % 8
    bundle.raw[name] = bytes(raw)


def flipped_content(bundle: Bundle, stream: Stream) -> None:
    name = bundle.touch(pick(stream, FILES))
    at = stream.below(len(bundle.lines[name]), 1)
    raw = bytearray(bundle.lines[name][at].encode())
    bit = stream.below(8 * len(raw), 2)
    raw[bit // 8] ^= 1 << bit % 8
    bundle.lines[name][at] = raw.decode("utf-8", "surrogateescape")


LEDGER_KINDS: Final = (
    Kind("drop a row", Must.NOT_IMPROVE, drop_row),
    Kind("drop a request or cycle", Must.NOT_PASS, drop_request_or_cycle),
    Kind("drop many rows", Must.NOT_IMPROVE, drop_many_rows),
    Kind("truncate a ledger", Must.NOT_PASS, truncate_ledger),
    Kind("duplicate a row", Must.NOT_PASS, duplicate_row),
    Kind("reorder rows", Must.BE_THE_SAME, reorder_rows),
    Kind("ledger shifted", Must.NOT_IMPROVE, shift_ledger),
    Kind("binds swapped", Must.NOT_PASS, swap_binds),
    Kind("ledger gap or repeat", Must.NOT_PASS, ledger_gap),
    Kind("wrong type", Must.NOT_PASS, wrong_type),
    Kind("negative number", Must.NOT_PASS, negative_number),
    Kind("field gone or unknown", Must.NOT_PASS, field_gone_or_unknown),
    Kind("other state", Must.NOT_PASS, other_state),
    Kind("other cause", Must.NOT_PASS, other_cause),
    Kind("half a bind", Must.NOT_PASS, half_a_bind),
    Kind("requests in matching pairs", Must.NOT_PASS, matching_pairs),
    Kind("cycle and its compute", Must.NOT_PASS, cycles_and_compute),
    Kind("cycles stop with counter", Must.NOT_PASS, cycles_stop),
    Kind("no compute times", Must.NOT_PASS, no_compute),
    Kind("loss twice", Must.NOT_PASS, duplicate_loss),
    Kind("missing file", Must.NOT_PASS, missing_file),
    Kind("empty file", Must.NOT_PASS, empty_file),
    Kind("foreign header", Must.NOT_PASS, foreign_header),
    Kind("truncated gzip", Must.NOT_PASS, truncated_gzip),
    Kind("half-written gzip", Must.NOT_PASS, half_written_gzip),
    Kind("bit flip, compressed", Must.NOT_IMPROVE, flipped_gzip),
    Kind("bit flip, content", Must.NOT_CRASH, flipped_content),
)
