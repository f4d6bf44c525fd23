"""Whether the request ledger is whole: every bind that was observed has its number, once, and the counter agrees."""

from itertools import count, pairwise
from operator import attrgetter, ne
from typing import Final

from scaletest.evidence import RequestRow
from scaletest.gates.case import Case
from scaletest.gates.counters import numbers_between

__all__ = ["BINDS", "ledger_gap"]

_PATHS: Final = ("present", "new-machine")
_UNBOUND: Final = ("waiting", "void", "undelivered")
_SLACK_US: Final = 1_000_000
"""How far two clocks of one run may be apart."""

BINDS: Final = "scaletest_binding_seconds_count"
"""The load driver's own count of observed binds; a row's obs_seq is its value after the bind."""


def ledger_gap(case: Case) -> str:
    """Return why the request ledger cannot be trusted, or nothing."""
    return case.once(_gap)


def _gap(case: Case) -> str:
    rows = case.evidence.requests
    observed = sorted([row for row in rows if row.obs_seq is not None], key=attrgetter("obs_seq"))
    numbers = [row.obs_seq for row in observed if row.obs_seq is not None]
    if numbers and any(map(ne, numbers, count(numbers[0]))):
        return "the request ledger has gaps or repeats: observations are not numbered one by one"
    counted, doubt = numbers_between(case, BINDS, case.soak)
    if doubt:
        return doubt
    given = counted.given if counted is not None else range(0)
    if given and (not numbers or numbers[0] > given[0] or numbers[-1] < given[-1]):
        return "the request ledger has fewer binds than the driver counted"
    if any(map(_contradicts_itself, rows)):
        return "a request's state and its instants contradict each other"
    binds = [row.bound_us for row in observed if row.bound_us is not None]
    # Binds are numbered as they are looked at, cluster by cluster, and stamped as they come in.
    if any(late < early - _SLACK_US for early, late in pairwise(binds)):
        return "the request ledger's clock runs backwards: binds are not in the order of their numbers"
    if any(_out_of_order(row, case.end_us) for row in rows):
        return "a request's instants are out of order: its clock is wrong"
    return ""


def _contradicts_itself(row: RequestRow) -> bool:
    """Say whether a row is not what its state says: only a bound one has a bind, and its number and beginning."""
    bind = (row.bound_us, row.obs_seq)
    if row.state == "bound":
        return None in bind or row.appeared_us is None or row.path not in _PATHS
    return row.state not in _UNBOUND or bind != (None, None) or (row.state != "waiting" and row.appeared_us is not None)


def _out_of_order(row: RequestRow, end_us: int) -> bool:
    """Say whether a Pod appears well before it was planned, or is bound before it appeared or after the run."""
    appeared = row.planned_us if row.appeared_us is None else row.appeared_us
    bound = appeared if row.bound_us is None else row.bound_us
    after = bound if row.bound_after_us is None else row.bound_after_us
    return appeared < row.planned_us - _SLACK_US or not after <= bound or not appeared <= bound <= end_us + _SLACK_US
