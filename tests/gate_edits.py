"""Damage and corrections that the case files name: each takes evidence and plan and returns both, changed."""

from array import array
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from scaletest.evidence import ActionRow, Component, EventRow, Evidence, Marks, Metrics, RequestRow, Series
from scaletest.gates.ledger import BINDS
from scaletest.plan.planned import PlannedTest

__all__ = ["EDITS"]

Edited = tuple[Evidence, PlannedTest]
Edit = Callable[[Evidence, PlannedTest], Edited]

_START: Final = 60_000_000
_SETTLED: Final = 180_000_000
_END: Final = 660_000_000


def _requests(evidence: Evidence, change: Callable[[int, RequestRow], RequestRow | None]) -> Evidence:
    """Change rows one by one; None drops a row. Binds are numbered and counted anew, as they would have been seen."""
    rows = [row for n, old in enumerate(evidence.requests) if (row := change(n, old)) is not None]
    seen = sorted(row.bound_us for row in rows if row.obs_seq is not None and row.bound_us is not None)
    numbers = {row.slot: n for n, row in enumerate(sorted(filter(_is_bound, rows), key=_bind_order), start=1)}
    numbered = [row._replace(obs_seq=numbers.get(row.slot)) if _is_bound(row) else row for row in rows]
    changed = replace(evidence, requests=tuple(numbered))
    return _series(changed, BINDS, lambda s: _values(s, lambda at_us, _: float(bisect_right(seen, at_us))))


def _is_bound(row: RequestRow) -> bool:
    return row.obs_seq is not None


def _bind_order(row: RequestRow) -> tuple[int, int]:
    return row.bound_us or 0, row.slot


def _series(evidence: Evidence, name: str, change: Callable[[Series], Series | None]) -> Evidence:
    kept = [new for old in evidence.metrics.families[name] if (new := change(old)) is not None]
    return replace(evidence, metrics=Metrics({**evidence.metrics.families, name: kept}))


def _every(evidence: Evidence, change: Callable[[Series], Series]) -> Evidence:
    return replace(
        evidence, metrics=Metrics({n: [change(s) for s in found] for n, found in evidence.metrics.families.items()})
    )


def _values(series: Series, change: Callable[[int, float], float]) -> Series:
    epoch = 1_700_000_000_000
    values = [change((t - epoch) * 1000, v) for t, v in zip(series.times_ms, series.values, strict=True)]
    return Series(series.name, series.labels, series.times_ms, array("d", values))


def _without(series: Series, start_us: int, end_us: int) -> Series:
    epoch = 1_700_000_000_000
    kept = [
        (t, v)
        for t, v in zip(series.times_ms, series.values, strict=True)
        if not start_us <= (t - epoch) * 1000 < end_us
    ]
    return Series(series.name, series.labels, array("q", [t for t, _ in kept]), array("d", [v for _, v in kept]))


def _reclaims(number: int, *, before_settle: int) -> Edit:
    """Record so many reclaims, some of them before the settle mark."""

    def edit(evidence: Evidence, test: PlannedTest) -> Edited:
        at = [_START + 1_000_000 + n for n in range(before_settle)]
        at += [_SETTLED + 1_000_000 + n for n in range(number - before_settle)]
        rows = [
            ActionRow(seq=n + 1, at_us=at_us, kind="Reclaim", machine="m", cluster=0, fingerprint="f", group="")
            for n, at_us in enumerate(at)
        ]

        def counted(series: Series) -> Series:
            if series.labels["kind"] != "Reclaim":
                return series
            return _values(series, lambda at_us, _: float(sum(row.at_us <= at_us for row in rows)))

        others = tuple(row for row in evidence.actions if row.kind != "Reclaim")
        return _series(replace(evidence, actions=(*others, *rows)), "actions_total", counted), test

    return edit


def _undelivered(number: int) -> Edit:
    def edit(evidence: Evidence, test: PlannedTest) -> Edited:
        def change(n: int, row: RequestRow) -> RequestRow:
            gone = row._replace(state="undelivered", appeared_us=None, bound_us=None, obs_seq=None)
            return gone if n < number else row

        return _requests(evidence, change), test

    return edit


def _fewer_requests(number: int) -> Edit:
    def edit(evidence: Evidence, test: PlannedTest) -> Edited:
        keep = len(evidence.requests) - number
        test = replace(test, planned_replacements=number)
        gates = tuple(replace(gate, expected_samples=number) for gate in test.gates)
        return _requests(evidence, lambda n, row: row if n >= keep else None), replace(test, gates=gates)

    return edit


def _slow(where: Callable[[RequestRow], bool], seconds: float) -> Edit:
    def edit(evidence: Evidence, test: PlannedTest) -> Edited:
        def change(_: int, row: RequestRow) -> RequestRow:
            late = (row.appeared_us or 0) + round(seconds * 1e6)
            return row._replace(bound_us=late) if where(row) else row

        return _requests(evidence, change), test

    return edit


def _on_requests(change: Callable[[int, RequestRow], RequestRow | None]) -> Edit:
    return lambda evidence, test: (_requests(evidence, change), test)


def _never_appeared(n: int, row: RequestRow) -> RequestRow:
    gone = row._replace(appeared_us=None, bound_us=None, obs_seq=None, state="waiting")
    return gone if n < 12 else row


def _interval(n: int, row: RequestRow) -> RequestRow:
    start = row.appeared_us or 0
    return row._replace(bound_after_us=start + 1_000_000, bound_us=start + 40_000_000) if n < 20 else row


def _evicted(evidence: Evidence, test: PlannedTest) -> Edited:
    slow = [
        row._replace(cause="evicted", bound_us=None, obs_seq=None, state="waiting") for row in evidence.requests[:5]
    ]
    return replace(evidence, requests=(*evidence.requests, *slow)), test


def _bound_early(_: int, row: RequestRow) -> RequestRow:
    return row._replace(requested_us=(row.bound_us or 0) + 1)


def _drop_one(evidence: Evidence, test: PlannedTest) -> Edited:
    rows = tuple(row for row in evidence.requests if row.slot != 200)
    return replace(evidence, requests=rows), replace(test, planned_replacements=399)


def _drop_last(evidence: Evidence, test: PlannedTest) -> Edited:
    return replace(evidence, requests=evidence.requests[:-30]), replace(test, planned_replacements=370)


def _rows_of(kind: str, change: Callable[[list[ActionRow]], list[ActionRow]]) -> Edit:
    def edit(evidence: Evidence, test: PlannedTest) -> Edited:
        chosen = [row for row in evidence.actions if row.kind == kind]
        others = [row for row in evidence.actions if row.kind != kind]
        return replace(evidence, actions=(*others, *change(chosen))), test

    return edit


def _reset(evidence: Evidence, test: PlannedTest) -> Edited:
    def change(series: Series) -> Series:
        return _values(series, lambda at, value: value - 103 if at > _SETTLED + 60_000_000 else value)

    return _series(evidence, "actions_total", change), test


def _restart_late(evidence: Evidence, test: PlannedTest) -> Edited:
    late = _END - 20_000_000
    evidence = _series(evidence, "process_start_time_seconds", lambda s: _values(s, lambda at, v: v + (at > late)))
    return _series(evidence, "actions_total", lambda s: _values(s, lambda at, v: 0.0 if at > late else v)), test


def _late_boundary(intervals: int) -> Edit:
    def edit(evidence: Evidence, test: PlannedTest) -> Edited:
        return _every(evidence, lambda s: _without(s, _SETTLED, _SETTLED + intervals * 15_000_000 - 14_000_000)), test

    return edit


def _down_at_the_end(evidence: Evidence, test: PlannedTest) -> Edited:
    return _series(evidence, "up", lambda s: _values(s, lambda at, v: 0.0 if at >= _END else v)), test


def _lost_target(evidence: Evidence, test: PlannedTest) -> Edited:
    return _series(evidence, "up", lambda s: _values(s, lambda at, v: 0.0 if _SETTLED < at < _END else v)), test


def _conflict(evidence: Evidence, test: PlannedTest) -> Edited:
    def change(series: Series) -> Series:
        times, values = array("q", series.times_ms), array("d", series.values)
        times.append(times[-3])
        values.append(values[-3] + 1)
        return Series(series.name, series.labels, times, values).settled()

    return _series(evidence, "actions_total", change), test


def _no_acknowledgements(evidence: Evidence, test: PlannedTest) -> Edited:
    for name in ("acknowledge_seconds_bucket", "acknowledge_seconds_count"):
        evidence = _series(evidence, name, lambda s: _values(s, lambda _at, _v: 0.0))
    return evidence, test


def _cycles(change: Callable[[Evidence], Evidence]) -> Edit:
    return lambda evidence, test: (change(evidence), test)


def _shortfall_at_the_end(evidence: Evidence) -> Evidence:
    late = _END - 10_000_000
    return replace(
        evidence, cycles=tuple(r._replace(shortfalls=1) if late <= r.at_us <= _END else r for r in evidence.cycles)
    )


def _lose_reclaimed(evidence: Evidence, test: PlannedTest) -> Edited:
    lost = [
        EventRow(at_us=row.at_us, kind="loss", cluster=row.cluster, fingerprint=row.fingerprint)
        for row in evidence.actions
        if row.kind == "Reclaim"
    ]
    return replace(evidence, events=(*evidence.events, *lost)), test


def _record(**changes: object) -> Edit:
    return lambda evidence, test: (replace(evidence, record=replace(evidence.record, **changes)), test)  # type: ignore[arg-type]  # named fields


EDITS: Final[dict[str, Edit]] = {
    "never-appeared-12": _on_requests(_never_appeared),
    "add-slow-evicted": _evicted,
    "void-20": _on_requests(
        lambda n, r: r._replace(state="void", appeared_us=None, bound_us=None, obs_seq=None) if n < 20 else r
    ),
    "interval-binds-20": _on_requests(_interval),
    "bound-before-requested": _on_requests(_bound_early),
    "bound-before-appeared": _on_requests(lambda n, r: r._replace(bound_us=r.planned_us - 1) if n == 7 else r),
    "drop-request-with-its-plan": _drop_one,
    "drop-last-requests": _drop_last,
    "only-90-requests": _fewer_requests(90),
    "slow-start": _slow(lambda row: row.planned_us < _START + 30_000_000, 60.0),
    "slow-tail": _slow(lambda row: _SETTLED + 200_000_000 <= row.planned_us < _END - 10_000_000, 40.0),
    "undelivered-2": _undelivered(2),
    "undelivered-10": _undelivered(10),
    "hardly-any-load": _undelivered(395),
    "no-requests": lambda e, t: (_requests(e, lambda _n, _r: None), t),
    "reclaims-before-settle": _reclaims(30, before_settle=30),
    "340-reclaims-mostly-before-settle": _reclaims(340, before_settle=331),
    "46505-reclaims": _reclaims(46_505, before_settle=0),
    "5127-reclaims": _reclaims(5_127, before_settle=0),
    "boundary-one-interval-late": _late_boundary(1),
    "boundary-three-intervals-late": _late_boundary(4),
    "down-at-the-end": _down_at_the_end,
    "lost-target": _lost_target,
    "no-reclaim-series": lambda e, t: (
        _series(e, "actions_total", lambda s: None if s.labels["kind"] == "Reclaim" else s),
        t,
    ),
    "reset": _reset,
    "restart-late": _restart_late,
    "conflicting-sample": _conflict,
    "drop-reclaim-row": _rows_of("Reclaim", lambda rows: rows[:-1]),
    "repeat-reclaim-row": _rows_of("Reclaim", lambda rows: [*rows, rows[-1]]),
    "no-ledger-promised": lambda e, t: (replace(e, actions=()), replace(t, ledger=False)),
    "no-acknowledgements": _no_acknowledgements,
    "shortfall-at-the-end": _cycles(_shortfall_at_the_end),
    "drop-last-cycles": _cycles(
        lambda e: replace(e, cycles=tuple(row for row in e.cycles if row.at_us < _END - 20_000_000))
    ),
    "lose-what-was-reclaimed": _lose_reclaimed,
    "apiserver-died": _record(components=(Component("kube-apiserver", "substrate", 300_000_000),)),
    "clock-jumped": _record(clock_step_us=5_000_000),
    "driver-lagged": _record(driver_lag_p99_us=3_000_000),
    "another-plan": _record(plan_digest="other"),
    "cut-off": _record(marks=Marks(_START, None, None)),
}
