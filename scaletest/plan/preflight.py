"""Everything that can be known to fail before anything starts: each check yields findings, none raises."""

from collections.abc import Callable, Iterator
from difflib import get_close_matches
from typing import Final

from scaletest.catalog import realism_findings
from scaletest.catalog.realism import burst_finding
from scaletest.model import Resources
from scaletest.model.demand import RACK_KEY, ZONE_KEY
from scaletest.model.findings import Finding, Severity
from scaletest.plan.claims import allowed_over
from scaletest.plan.inventory import Tier
from scaletest.plan.plan import Plan
from scaletest.plan.supply import Claim, Gap, gaps

__all__ = ["preflight", "refused"]

_GIB: Final = 1024**3
_FEW: Final = 100


def preflight(plan: Plan) -> tuple[Finding, ...]:
    """Return every finding, refusals first. What cannot be planned at all ends the checks early."""
    found = [finding for check in _FIRST for finding in check(plan)]
    if not refused(found):  # the rest looks at every cluster
        found += [finding for check in _CHECKS for finding in check(plan)]
    order = list(Severity)
    return tuple(sorted(found, key=lambda finding: order.index(finding.severity)))


def refused(findings: tuple[Finding, ...] | list[Finding]) -> bool:
    """Say whether any finding stops the run."""
    return any(finding.severity is Severity.REFUSE for finding in findings)


def _known_archetypes(plan: Plan) -> Iterator[Finding]:
    names = [a.name for a in plan.archetypes]
    for burst in plan.profile.load_profile.bursts:
        if burst.archetype not in names:
            near = get_close_matches(burst.archetype, names, n=1)
            hint = f"did you mean {near[0]}?" if near else f"it has {', '.join(names)}"
            yield _refuse("names", f"burst of {burst.archetype}", f"the catalog has no such archetype; {hint}")


def _bursts_happen(plan: Plan) -> Iterator[Finding]:
    for burst in plan.bursts:
        if not burst.clusters:
            name = plan.archetypes[burst.archetype].name
            message = "its selectivity draws no cluster with this seed, so it would never happen; raise selectivity"
            yield _refuse("names", f"burst of {name}", message)


def _known_gates(plan: Plan) -> Iterator[Finding]:
    names = [gate.name for gate in plan.gates if not gate.not_applicable]
    for catch in plan.profile.proving.catches:
        for gate in catch.by:
            if gate not in names:
                near = get_close_matches(gate, names, n=1)
                hint = f"did you mean {near[0]}?" if near else "set its bar under slo, or name another"
                message = f"is to be caught by {gate}, which is no gate of this profile; {hint}"
                yield _refuse("names", catch.without, message)


def _known_topology(plan: Plan) -> Iterator[Finding]:
    for kind in plan.archetypes:
        if kind.spread and kind.spread.topology_key not in {ZONE_KEY, RACK_KEY}:
            key = kind.spread.topology_key
            yield _refuse(
                "names", kind.name, f"spreads over {key}, which no machine carries; use {ZONE_KEY} or {RACK_KEY}"
            )


def _countable(plan: Plan) -> Iterator[Finding]:
    if not plan.countable:
        message = f"{plan.geometry.clusters:,} clusters are too many to plan one by one; raise podsPerCluster"
        yield _refuse("names", "scale", message)


def _engine_can(plan: Plan) -> Iterator[Finding]:
    engine, seed = plan.inputs.engine, plan.profile.seed
    wanted = {
        "configured": seed.configured_fraction > 0,
        "idle": seed.idle_headroom_fraction > 0,
        "speculative": seed.speculative_multiplier > 0 or bool(seed.speculative_count),
        "spot": seed.spot_count > 0,
    }
    for tier, asked in wanted.items():
        if asked and tier not in engine.seeding:
            yield _refuse(
                "engine", engine.metadata.name, f"cannot take over seeded {tier} machines, which the profile wants"
            )
    for action in plan.profile.runner_actions:
        if action.action not in engine.actions:
            known = ", ".join(engine.actions) or "none"
            yield _refuse("engine", engine.metadata.name, f"does not know the action {action.action}; it knows {known}")


def _substrate_bears(plan: Plan) -> Iterator[Finding]:
    ceiling = plan.inputs.substrate.cluster.pods_per_cluster
    if ceiling is not None and plan.geometry.pods_per_cluster > ceiling:
        yield _refuse(
            "substrate",
            plan.inputs.substrate.metadata.name,
            f"bears {ceiling:,} Pods per cluster and the profile wants {plan.geometry.pods_per_cluster:,}; "
            "lower scale.podsPerCluster or choose another substrate",
        )


def _realism(plan: Plan) -> Iterator[Finding]:
    shapes = {name: Resources.parse(t.resources) for name, t in plan.inputs.catalog.instance_types.items()}
    yield from realism_findings(plan.archetypes, shapes, density=plan.geometry.density)
    for burst in plan.bursts:
        kind = plan.archetypes[burst.archetype]
        finding = burst_finding(kind, extra_target=burst.extra_target, clusters=len(burst.clusters))
        if finding:
            yield finding


def _gangs_satisfiable(plan: Plan) -> Iterator[Finding]:
    bursting = {burst.archetype for burst in plan.bursts}
    for archetype, kind in enumerate(plan.archetypes):
        if kind.gang is None or (kind.burst_only and archetype not in bursting):
            continue
        per = plan.inventory.sizing.pods_per_machine[archetype]
        domains: dict[str, int] = {}
        for tier in Tier:
            for value, machines in plan.inventory.domain_sizes(archetype, tier, kind.gang.topology_key).items():
                domains[value] = domains.get(value, 0) + machines * per
        largest = max(domains.values(), default=0)
        if largest < kind.gang.largest:
            place = "rack" if kind.gang.topology_key == RACK_KEY else "zone"
            yield _by_posture(
                plan,
                "gangs",
                kind.name,
                f"a gang of {kind.gang.largest} Pods fits no {place}: the fullest has machines for {largest}; "
                "seed more machines or shrink groupSizeRange",
            )


def _demand_covered(plan: Plan) -> Iterator[Finding]:
    yield from (_gap_finding(plan, gap, "") for gap in gaps(plan.inventory, _claims(plan)))


def _steady_reachable(plan: Plan) -> Iterator[Finding]:
    missing = sum(gap.pods for gap in gaps(plan.inventory, _claims(plan)))
    reachable = 1 - missing / plan.totals.pods
    wanted = plan.profile.steady.bound_fraction
    if reachable < wanted:
        yield _refuse(
            "capacity",
            "steady",
            f"wants {wanted:.1%} of the Pods bound; served by priority, the seeded machines hold about {reachable:.1%}"
            "; seed more machines or lower steady.boundFraction",
        )


def _bursts_covered(plan: Plan) -> Iterator[Finding]:
    if not plan.bursts or gaps(plan.inventory, _claims(plan)):
        return
    extra = [
        Claim(b.archetype, b.extra_target * len(b.clusters), max(plan.archetypes[b.archetype].priorities))
        for b in plan.bursts
    ]
    for gap in gaps(plan.inventory, [*_claims(plan), *extra]):
        yield _gap_finding(plan, gap, "once the bursts are there, ")


def _claims(plan: Plan) -> list[Claim]:
    return [
        Claim(archetype, placement.pods, max(plan.archetypes[archetype].priorities))
        for archetype, placement in enumerate(plan.totals.placements)
    ]


def _gap_finding(plan: Plan, gap: Gap, when: str) -> Finding:
    kind = plan.archetypes[gap.claim.archetype]
    message = (
        f"{when}{gap.pods:,} of {gap.claim.pods:,} Pods at priority {gap.claim.priority:,} find no machine in any tier"
        "; raise configuredFraction, idleHeadroomFraction or the speculative tier"
    )
    return _by_posture(plan, "capacity", kind.name, message)


def _confinement(plan: Plan) -> Iterator[Finding]:
    """Priority is the only throttle, so a shortfall above the named class shows before the run, in the supply."""
    if plan.profile.slo.shortfall_confined_below_priority_class is None:
        return
    lowest = min(claim.priority for claim in _claims(plan) if claim.pods)
    for gap in gaps(plan.inventory, _claims(plan)):
        if gap.claim.priority > lowest:
            name = plan.archetypes[gap.claim.archetype].name
            yield Finding(
                Severity.WARN,
                "priorities",
                name,
                f"short by {gap.pods:,} Pods at priority {gap.claim.priority:,} although its shortfall should be "
                "confined to a lower class: its instance types run out before lower priorities do",
            )


def _all_bound(plan: Plan) -> Iterator[Finding]:
    if plan.profile.seed.pre_bind_fraction < 1:
        return
    placed = list(zip(plan.archetypes, plan.totals.placements, strict=True))
    for kind, placement in placed:
        pending = placement.pods - placement.bound
        if pending:
            message = f"{pending:,} of {placement.pods:,} Pods find no seeded slot and start pending"
            yield Finding(Severity.WARN, "pre-bind", kind.name, message)
    moved = [(kind.name, p.pods - p.wanted) for kind, p in placed if p.pods != p.wanted]
    if moved and not plan.free_draw:
        deltas = ", ".join(f"{name} {delta:+,}" for name, delta in sorted(moved, key=lambda m: (m[1], m[0])))
        message = f"Pods moved between archetypes so that all can be pre-bound: {deltas}"
        yield Finding(Severity.NOTE, "pre-bind", "demand", message)


def _reschedulable(plan: Plan) -> Iterator[Finding]:
    for kind, stranded in zip(plan.archetypes, plan.totals.stranded, strict=True):
        if stranded:
            message = (
                f"{stranded:,} Pods could not be scheduled again if they alone were removed: their hard spread "
                "wants a zone that is full; lower preBindFraction or seed more machines"
            )
            severity = Severity.WARN if plan.free_draw else Severity.REFUSE
            yield Finding(severity, "reschedule", kind.name, message)


def _enough_samples(plan: Plan) -> Iterator[Finding]:
    for gate in plan.gates:
        samples = gate.expected_samples
        if gate.quantile is None or samples is None or gate.not_applicable or gate.calibrated:
            continue
        if not samples:
            yield _refuse(
                "samples",
                gate.name,
                "nothing is planned to measure: raise churnPerMinute or the soak, or drop the gate",
            )
        elif samples < _FEW:
            yield Finding(Severity.WARN, "samples", gate.name, f"few samples: {gate.claim}")
        elif allowed_over(samples, gate.quantile) is None:
            yield Finding(Severity.NOTE, "samples", gate.name, f"few samples: {gate.claim}")


def _input_bars(plan: Plan) -> Iterator[Finding]:
    """Say when a bar is no higher than what the profile itself puts in: few samples then decide it by chance."""
    bar, given = plan.profile.slo.shard_configure_phase_p99_seconds, plan.profile.provider.configure.p99_seconds
    if bar is not None and bar <= given:
        message = f"the bar of {bar:g} s is no higher than the provider's own p99 of {given:g} s: chance decides it"
        yield Finding(Severity.WARN, "gates", "shardConfigurePhaseP99Seconds", message)


def _applicable(plan: Plan) -> Iterator[Finding]:
    for gate in plan.gates:
        if gate.not_applicable and not gate.calibrated:
            yield Finding(Severity.WARN, "gates", gate.name, f"not applicable: {gate.not_applicable}")


def _calibration_holds(plan: Plan) -> Iterator[Finding]:
    """Say once why calibrated bars are not applied, however many they are."""
    doubts: dict[str, list[str]] = {}
    for gate in plan.gates:
        if gate.calibrated and gate.not_applicable:
            doubts.setdefault(gate.not_applicable, []).append(gate.rule)
    for doubt, rules in doubts.items():
        yield Finding(Severity.WARN, "calibration", ", ".join(rules), f"the calibrated bar is not applied: {doubt}")


def _over_seed(plan: Plan) -> Iterator[Finding]:
    configured, effective = sum(plan.inventory.configured_total), plan.inventory.effective_machines
    wanted = effective * plan.profile.seed.configured_fraction
    if wanted and configured > wanted:
        yield Finding(
            Severity.NOTE,
            "inventory",
            "over-seed",
            f"{configured:,} Configured machines stand against {effective:,} effective ones "
            f"({configured / wanted - 1:+.0%}): gang floors repeat in every cluster",
        )


def _must_act(plan: Plan) -> Iterator[Finding]:
    """Say when nothing in the test obliges an engine to do anything: one that only watches would pass."""
    seed, load = plan.profile.seed, plan.profile.load_profile
    moved = load.bursts or load.scale_downs or load.demand_steps or plan.profile.provider.losses
    judged = any(gate.name == "excessReturned" for gate in plan.gates)
    if not judged and not moved and seed.pre_bind_fraction == 1 and not plan.free_draw:
        message = "an engine that never acts would pass: plan losses, steps or bursts, or seed more than demand needs"
        yield Finding(Severity.WARN, "gates", "excessReturned", message)


def _fits_host(plan: Plan) -> Iterator[Finding]:
    footprint = plan.footprint
    if footprint.fits:
        return
    message = (
        f"needs about {footprint.memory_bytes / _GIB:,.1f} GiB, the host has {footprint.host.memory_bytes / _GIB:,.1f}"
        "; choose a smaller scale, another substrate or a bigger host"
    )
    severity = Severity.WARN if plan.profile.plan_only else Severity.REFUSE
    yield Finding(severity, "footprint", plan.inputs.substrate.metadata.name, message)


def _by_posture(plan: Plan, check: str, subject: str, message: str) -> Finding:
    """Note a shortage where the profile is made of it (scarcity, preemption); refuse it anywhere else."""
    slo, load = plan.profile.slo, plan.profile.load_profile
    meant = slo.expect_standing_shortfall or slo.expect_preemptions or load.open_loop_demand_multiplier > 1
    return Finding(Severity.NOTE if meant else Severity.REFUSE, check, subject, message)


def _refuse(check: str, subject: str, message: str) -> Finding:
    return Finding(Severity.REFUSE, check, subject, message)


Check = Callable[[Plan], Iterator[Finding]]

_FIRST: Final[tuple[Check, ...]] = (_countable, _known_archetypes, _known_topology, _bursts_happen)
_CHECKS: Final[tuple[Check, ...]] = (
    _engine_can,
    _known_gates,
    _substrate_bears,
    _realism,
    _gangs_satisfiable,
    _demand_covered,
    _steady_reachable,
    _bursts_covered,
    _confinement,
    _all_bound,
    _reschedulable,
    _enough_samples,
    _applicable,
    _calibration_holds,
    _input_bars,
    _over_seed,
    _must_act,
    _fits_host,
)
