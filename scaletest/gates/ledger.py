"""Whether the request ledger is whole: every bind that was observed has its number, once, and the counter agrees."""

from typing import Final

from scaletest.gates.case import Case
from scaletest.gates.counters import numbers_between

__all__ = ["BINDS", "ledger_gap"]

BINDS: Final = "scaletest_binding_seconds_count"
"""The load driver's own count of observed binds; a row's obs_seq is its value after the bind."""


def ledger_gap(case: Case) -> str:
    """Return why the request ledger cannot be trusted, or nothing."""
    rows = case.evidence.requests
    numbers = sorted(row.obs_seq for row in rows if row.obs_seq is not None)
    if numbers and numbers != list(range(numbers[0], numbers[0] + len(numbers))):
        return "the request ledger has gaps or repeats: observations are not numbered one by one"
    counted, doubt = numbers_between(case, BINDS, case.soak)
    if doubt:
        return doubt
    if counted and (not numbers or numbers[0] > counted[0] or numbers[-1] < counted[-1]):
        return "the request ledger has fewer binds than the driver counted"
    if any(row.state == "bound" and (row.bound_us is None or row.obs_seq is None) for row in case.samples):
        return "a bound request has no bind instant or no observation number"
    if any(r.bound_us is not None and r.appeared_us is not None and r.bound_us < r.appeared_us for r in rows):
        return "a request was bound before it appeared: its clock is wrong"
    return ""
