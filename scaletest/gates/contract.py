"""The metric contract: whether an engine shows what its manifest promises, in a form that the gates can judge.

Usable before any load is applied: a missing label set, a wrong type or a histogram without an edge at the bar is found
in a second instead of at the end of a soak.
"""

from collections.abc import Iterator
from math import inf, isclose
from typing import Final

from scaletest.evidence.exposition import Page
from scaletest.model.findings import Finding, Severity
from scaletest.plan.gates import Gate
from scaletest.plan.planned import PlannedTest, Role

__all__ = ["contract_findings"]

_UNIT_SUFFIX: Final = {"seconds": ("_seconds",), "bytes": ("_bytes",)}
_LIMIT: Final = 1.1
"""A latency fails at this many bars: an edge there tells marginal from failed."""


def contract_findings(test: PlannedTest, page: Page) -> Iterator[Finding]:
    """Yield what is missing or unfit for every role that the manifest promises, and what to add."""
    for name, role in sorted(test.roles.items()):
        yield from _role_findings(name, role, page)
    for gate in test.gates:
        if gate.role in test.roles and gate.quantile is not None:
            yield from _edge_findings(gate, test.roles[gate.role], page)


def _role_findings(name: str, role: Role, page: Page) -> Iterator[Finding]:
    declared = page.types.get(role.metric) or page.types.get(role.metric.removesuffix("_total"))
    shown = page.named(role.series_names()[0])
    if declared is None and not shown:
        yield _broken(name, f"{role.metric} is not there: export it, at zero before anything happened")
        return
    if declared != role.type:
        yield _broken(
            name, f"{role.metric} is a {declared or 'metric without a type'}, and the manifest says {role.type}"
        )
    for label, values in sorted(role.labels.items()):
        for value in values:
            if not any(labels.get(label) == value for labels in shown):
                yield _broken(
                    name, f"{role.metric} has no series with {label}={value}: export it at zero from the start"
                )
    wanted = _UNIT_SUFFIX.get(role.unit, ())
    if wanted and not role.metric.removesuffix("_total").endswith(wanted):
        message = f"{role.metric} should end in {wanted[0]} if it is in {role.unit}"
        yield Finding(Severity.WARN, "contract", name, message)


def _edge_findings(gate: Gate, role: Role, page: Page) -> Iterator[Finding]:
    """Yield edges that are missing: a quantile is only known to its bucket, so the bar must be an edge."""
    edges = sorted({edge for labels in page.named(f"{role.metric}_bucket") if (edge := _edge(labels)) is not None})
    if not edges or isinstance(gate.threshold, str):
        return
    finite = [edge for edge in edges if edge != inf]
    if edges[-1] != inf:
        yield _broken(gate.role, f"{role.metric} has no +Inf bucket")
    for wanted, why in ((gate.threshold, "the bar"), (gate.threshold * _LIMIT, "1.1 bars, where a gate fails")):
        if not any(isclose(edge, wanted, rel_tol=1e-9) for edge in finite):
            severity = Severity.REFUSE if why == "the bar" else Severity.WARN
            message = (
                f"{role.metric} has no bucket edge at {wanted:g} s ({why}): add one, or {gate.name} cannot be told"
            )
            yield Finding(severity, "contract", gate.role, message)
    if finite and finite[-1] <= gate.threshold:
        message = (
            f"{role.metric} ends at {finite[-1]:g} s, not above the bar of {gate.threshold:g} s: add a higher edge"
        )
        yield _broken(gate.role, message)


def _edge(labels: dict[str, str]) -> float | None:
    try:
        return float(labels.get("le", ""))
    except ValueError:
        return None


def _broken(role: str, message: str) -> Finding:
    return Finding(Severity.REFUSE, "contract", role, message)
