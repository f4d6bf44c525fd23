"""Ways to damage run.json and plan.json."""

import json
from typing import Any, Final

from integration.judge.damages import Kind, Must, pick

from scaletest.model import Stream
from staged_run import Bundle

_WRONG: Final[tuple[Any, ...]] = (None, "x", -1, 1.5, [], {}, True, [1], float("nan"), 10**40)


def _paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the way to every value in a document."""
    if isinstance(value, dict):
        return [p for key in sorted(value) for p in [(*path, key), *_paths(value[key], (*path, key))]]
    if isinstance(value, list):
        return [p for n, each in enumerate(value) for p in [(*path, n), *_paths(each, (*path, n))]]
    return []


def _holder(document: Any, path: tuple[Any, ...]) -> Any:
    for step in path[:-1]:
        document = document[step]
    return document


def run_field_gone(bundle: Bundle, stream: Stream) -> None:
    path = pick(stream, [p for p in _paths(bundle.run) if p[0] not in {"sha256", "hashes"}])
    bundle.touch("run.json")
    del _holder(bundle.run, path)[path[-1]]


def run_field_wrong(bundle: Bundle, stream: Stream) -> None:
    path = pick(stream, [p for p in _paths(bundle.run) if p[0] not in {"sha256", "hashes"}])
    bundle.touch("run.json")
    _holder(bundle.run, path)[path[-1]] = pick(stream, _WRONG, 1)


def run_marks_moved(bundle: Bundle, stream: Stream) -> None:
    mark = pick(stream, ("soak_start_us", "soak_end_us", "linger_end_us"))
    bundle.touch("run.json")
    bundle.run["marks"][mark] += stream.between(-120, 120, 1) * 1_000_000 or 5_000_000


def run_cut_short(bundle: Bundle, stream: Stream) -> None:
    mark = pick(stream, ("soak_end_us", "linger_end_us"))
    bundle.touch("run.json")
    bundle.run["marks"][mark] -= stream.between(1, 300_000_000, 1)


def run_epoch_moved(bundle: Bundle, stream: Stream) -> None:
    bundle.touch("run.json")
    bundle.run["epoch_ms"] += stream.between(2_000, 300_000, 1) * (1 if stream.chance(0.5, 2) else -1)


def run_bad_news(bundle: Bundle, stream: Stream) -> None:
    """Say in run.json that something went wrong."""
    news: tuple[dict[str, Any], ...] = (
        {"sealed": False},
        {"marks": {"soak_start_us": 60_000_000, "soak_end_us": None, "linger_end_us": None}},
        {"marks": {"soak_start_us": None, "soak_end_us": None, "linger_end_us": None}},
        {"plan_digest": "another"},
        {"targets": []},
        {"phases": []},
        {"phases": [*bundle.run["phases"], {**bundle.run["phases"][-1], "outcome": "failed"}]},
        {"phases": [*bundle.run["phases"], {**bundle.run["phases"][-1], "outcome": "interrupted"}]},
        {"components": [{"name": "etcd", "role": "substrate", "died_us": 100_000_000}]},
        {"clock_step_us": -5_000_000},
        {"driver_lag_p99_us": 5_000_000},
        {"version": 2},
    )
    bundle.touch("run.json")
    bundle.run.update(pick(stream, news))


def run_text(bundle: Bundle, stream: Stream) -> None:
    bundle.touch("run.json")
    bundle.texts["run.json"] = _torn(json.dumps(bundle.run), stream)


def plan_field_gone(bundle: Bundle, stream: Stream) -> None:
    path = pick(stream, [p for p in _paths(bundle.plan) if p[-1] not in {"roles", "labels"} and type(p[-1]) is str])
    bundle.touch("plan.json")
    if path[0] == "contract" and path[1:2] == ("roles",):
        path = ("contract", "roles")
    del _holder(bundle.plan, path)[path[-1]]


def plan_field_wrong(bundle: Bundle, stream: Stream) -> None:
    path = pick(stream, _paths(bundle.plan))
    bundle.touch("plan.json")
    _holder(bundle.plan, path)[path[-1]] = pick(stream, _WRONG, 1)


def plan_of_another(bundle: Bundle, stream: Stream) -> None:
    bundle.touch("plan.json")
    bundle.plan["digest"] = f"another-{stream.below(99, 1)}"


def plan_text(bundle: Bundle, stream: Stream) -> None:
    bundle.touch("plan.json")
    bundle.texts["plan.json"] = _torn(json.dumps(bundle.plan), stream)


def _torn(text: str, stream: Stream) -> str:
    """Cut a text off, or put something in its middle that is no JSON there."""
    at = stream.between(1, len(text) - 2, 1)
    torn: str = pick(stream, (text[:at], text[:at] + "\x00" + text[at:], "", "[]", "null", "[" * 100_000), 2)
    return torn


DOCUMENT_KINDS: Final = (
    Kind("run.json: field gone", Must.NOT_IMPROVE, run_field_gone),
    Kind("run.json: field wrong", Must.NOT_CRASH, run_field_wrong),
    Kind("run.json: marks moved", Must.NOT_IMPROVE, run_marks_moved),
    Kind("run.json: cut short", Must.NOT_PASS, run_cut_short),
    Kind("run.json: epoch moved", Must.NOT_IMPROVE, run_epoch_moved),
    Kind("run.json: bad news", Must.NOT_PASS, run_bad_news),
    Kind("run.json: torn", Must.NOT_PASS, run_text),
    Kind("plan.json: field gone", Must.NOT_PASS, plan_field_gone),
    Kind("plan.json: field wrong", Must.NOT_CRASH, plan_field_wrong),
    Kind("plan.json: of another run", Must.NOT_PASS, plan_of_another),
    Kind("plan.json: torn", Must.NOT_PASS, plan_text),
)
