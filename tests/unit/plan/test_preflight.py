"""Preflight: every check has a case that it finds and a neighbour that it lets pass."""

from collections.abc import Callable

import pytest

from sample_plans import (
    GIB,
    Block,
    archetype,
    catalog_of,
    plan_of,
    profile_of,
    shipped_engine,
    shipped_plan,
    shipped_substrate,
)
from scaletest.model.demand import RACK_KEY, ZONE_KEY
from scaletest.model.findings import Finding, Severity
from scaletest.plan.footprint import HostSize
from scaletest.plan.plan import Plan
from scaletest.plan.preflight import preflight, refused

_NONE: Block = {"speculativeMultiplier": 0, "idleHeadroomFraction": 0}


def _burst(**keys: object) -> list[Block]:
    usual = {"atSeconds": 60, "archetype": "web", "extraTarget": 10, "durationSeconds": 60, "selectivity": 1.0}
    return [{**usual, **keys}]


def _bursting(**keys: object) -> Plan:
    return plan_of(profile_of(loadProfile={"bursts": _burst(**keys)}))


def _spread(key: str) -> Plan:
    constraint = {"topologyKey": key, "maxSkew": 5, "whenUnsatisfiable": "DoNotSchedule"}
    return plan_of(catalog=catalog_of(archetype(podsPerNode=1, spreadConstraint=constraint, spreadConstraintProb=0.5)))


def _clusters(pods_per_cluster: int) -> Plan:
    return plan_of(profile_of(scale={"machines": 101, "density": 100, "podsPerCluster": pods_per_cluster}))


def _seeding(*tiers: str) -> Plan:
    return plan_of(engine=shipped_engine().model_copy(update={"seeding": tiers}))


def _action(name: str) -> Plan:
    return plan_of(profile_of(runnerActions=[{"atSeconds": 1, "action": name}]))


def _on_kwok(pods_per_cluster: int) -> Plan:
    scale = {"machines": 150, "density": 100, "podsPerCluster": pods_per_cluster}
    return plan_of(profile_of(scale=scale), substrate=shipped_substrate("kwok"))


def _gang(largest: int, *, speculative: int = 0, **slo: object) -> Plan:
    seed = {
        "speculativeMultiplier": speculative,
        "idleHeadroomFraction": 0,
        "configuredFraction": 0,
        "preBindFraction": 0,
    }
    web = archetype(podsPerNode=1)
    gang = archetype(name="gang", sameRack=True, podsPerNode=1, burstOnly=True, groupSizeRange=[2, largest])
    load = {"bursts": _burst(archetype="gang", extraTarget=largest + 1)}
    return plan_of(profile_of(seed=seed, loadProfile=load, slo=slo), catalog_of(web, gang))


def _short(configured: float, *, steady: float = 0.3, **slo: object) -> Plan:
    seed = {**_NONE, "configuredFraction": configured, "preBindFraction": 0}
    return plan_of(
        profile_of(seed=seed, slo=slo, steady={"boundFraction": steady}), catalog_of(archetype(podsPerNode=1))
    )


def _burst_beside_supply(extra: int) -> Plan:
    seed = {"configuredFraction": 1.0, "speculativeMultiplier": 0, "idleHeadroomFraction": 0.5}
    profile = profile_of(seed=seed, loadProfile={"bursts": _burst(extraTarget=extra)})
    return plan_of(profile, catalog_of(archetype(podsPerNode=1)))


def _confined(*, own_types: bool) -> Plan:
    seed = {**_NONE, "configuredFraction": 0.5, "preBindFraction": 0}
    slo = {"expectStandingShortfall": True, "shortfallConfinedBelowPriorityClass": "batch"}
    low = archetype(name="batch", priorityClasses=[100], podsPerNode=1)
    high = archetype(name="service", podsPerNode=1, instanceTypes=["own"] if own_types else ["small"])
    return plan_of(profile_of(seed=seed, slo=slo, steady={"boundFraction": 0.1}), catalog_of(low, high))


def _pre_bound(configured: float) -> Plan:
    return plan_of(profile_of(seed={"configuredFraction": configured}), catalog_of(archetype(podsPerNode=1)))


def _sampled(churn: float, **world: object) -> Plan:
    return plan_of(profile_of(loadProfile={"churnPerMinute": churn, "microBurstRatePerMinute": 0}, world=world))


def _without(role: str) -> Plan:
    engine = shipped_engine()
    roles = engine.roles.model_copy(update={role: None})
    return plan_of(engine=engine.model_copy(update={"roles": roles}))


_LOSSES: Block = {"losses": [{"atSeconds": 10}]}


def _configure_bar(bar: float) -> Plan:
    provider = {"configure": {"p50Seconds": 3, "p99Seconds": 9.8}, **_LOSSES}
    return plan_of(profile_of(slo={"shardConfigurePhaseP99Seconds": bar}, provider=provider))


def _floors(*, gang: bool) -> Plan:
    keys: Block = {"sameRack": True, "groupSizeRange": [5, 20]} if gang else {}
    return plan_of(catalog=catalog_of(archetype(podsPerNode=1, **keys)))


def _caught_by(gate: str) -> Plan:
    return plan_of(profile_of(proving={"catches": [{"without": "AB-16", "by": [gate]}]}))


def _host(gibibytes: float, *, plan_only: bool = False) -> Plan:
    return plan_of(profile_of(planOnly=plan_only), host=HostSize(2, round(gibibytes * GIB)))


_FOUND: dict[str, tuple[Callable[[], Plan], str]] = {
    "too many clusters": (
        lambda: _clusters(1),
        "refuse names scale: 10,100 clusters are too many to plan one by one; raise podsPerCluster",
    ),
    "unknown burst": (
        lambda: _bursting(archetype="wbe"),
        "refuse names burst of wbe: the catalog has no such archetype; did you mean web?",
    ),
    "utterly unknown burst": (
        lambda: _bursting(archetype="quux"),
        "refuse names burst of quux: the catalog has no such archetype; it has web",
    ),
    "unknown gate": (
        lambda: _caught_by("maxReclaimActionDuringSoak"),
        (
            "refuse names AB-16: is to be caught by maxReclaimActionDuringSoak, which is no gate of this profile; "
            "did you mean maxReclaimActionsDuringSoak?"
        ),
    ),
    "gate without a bar": (
        lambda: _caught_by("maxDrillDriftFraction"),
        (
            "refuse names AB-16: is to be caught by maxDrillDriftFraction, which is no gate of this profile; "
            "set its bar under slo, or name another"
        ),
    ),
    "unknown topology": (
        lambda: _spread("example.com/row"),
        f"refuse names web: spreads over example.com/row, which no machine carries; use {ZONE_KEY} or {RACK_KEY}",
    ),
    "seeding": (
        lambda: _seeding("configured", "idle"),
        "refuse engine reference: cannot take over seeded speculative machines, which the profile wants",
    ),
    "action": (
        lambda: _action("restart-world"),
        "refuse engine reference: does not know the action restart-world; it knows restart-engine",
    ),
    "substrate ceiling": (
        lambda: _on_kwok(15_000),
        (
            "refuse substrate kwok: bears 10,000 Pods per cluster and the profile wants 15,000; lower "
            "scale.podsPerCluster or choose another substrate"
        ),
    ),
    "gang beyond every rack": (
        lambda: _gang(7),
        (
            "refuse gangs gang: a gang of 7 Pods fits no rack: the fullest has machines for 0; seed more "
            "machines or shrink groupSizeRange"
        ),
    ),
    "gang beyond every rack by design": (
        lambda: _gang(7, expectPreemptions=True),
        (
            "note gangs gang: a gang of 7 Pods fits no rack: the fullest has machines for 0; seed more machines "
            "or shrink groupSizeRange"
        ),
    ),
    "demand beyond supply": (
        lambda: _short(0.5),
        (
            "refuse capacity web: 20 of 40 Pods at priority 1,000 find no machine in any tier; raise "
            "configuredFraction, idleHeadroomFraction or the speculative tier"
        ),
    ),
    "demand beyond supply by design": (
        lambda: _short(0.5, expectStandingShortfall=True),
        (
            "note capacity web: 20 of 40 Pods at priority 1,000 find no machine in any tier; raise "
            "configuredFraction, idleHeadroomFraction or the speculative tier"
        ),
    ),
    "steady out of reach": (
        lambda: _short(0.5, steady=0.6, expectStandingShortfall=True),
        (
            "refuse capacity steady: wants 60.0% of the Pods bound; served by priority, the seeded machines hold "
            "about 50.0%; seed more machines or lower steady.boundFraction"
        ),
    ),
    "burst beyond supply": (
        lambda: _burst_beside_supply(11),
        (
            "refuse capacity web: once the bursts are there, 2 of 22 Pods at priority 1,000 find no machine in "
            "any tier; raise configuredFraction, idleHeadroomFraction or the speculative tier"
        ),
    ),
    "shortfall above the class": (
        lambda: _confined(own_types=True),
        (
            "warn priorities service: short by 10 Pods at priority 1,000 although its shortfall should be "
            "confined to a lower class: its instance types run out before lower priorities do"
        ),
    ),
    "pending at the start": (
        lambda: _pre_bound(0.5),
        "warn pre-bind web: 20 of 40 Pods find no seeded slot and start pending",
    ),
    "nothing to measure": (
        lambda: _sampled(0),
        (
            "refuse samples internalBindingLatencyP99Seconds: nothing is planned to measure: raise "
            "churnPerMinute or the soak, or drop the gate"
        ),
    ),
    "few samples": (
        lambda: _sampled(0.1),
        "warn samples internalBindingLatencyP99Seconds: few samples: slowest of 40; 95 % confidence needs 299",
    ),
    "samples that show nothing": (
        lambda: _sampled(0.5),
        "note samples internalBindingLatencyP99Seconds: few samples: rank 198 of 200; 95 % confidence needs 299",
    ),
    "role that is not there": (
        lambda: _without("shortfall"),
        "warn gates noShortfall: not applicable: the engine reference has no shortfall",
    ),
    "bar at the provider's own p99": (
        lambda: _configure_bar(9.8),
        (
            "warn gates shardConfigurePhaseP99Seconds: the bar of 9.8 s is no higher than the provider's own p99 of "
            "9.8 s: chance decides it"
        ),
    ),
    "an engine that may sleep": (
        plan_of,
        (
            "warn gates excessReturned: an engine that never acts would pass: plan losses, steps or bursts, or seed "
            "more than demand needs"
        ),
    ),
    "over-seed": (
        lambda: _floors(gang=True),
        (
            "note inventory over-seed: 120 Configured machines stand against 100 effective ones (+20%): gang "
            "floors repeat in every cluster"
        ),
    ),
    "memory": (
        lambda: _host(0.1),
        (
            "refuse footprint sim: needs about 0.1 GiB, the host has 0.1; choose a smaller scale, another "
            "substrate or a bigger host"
        ),
    ),
    "memory of a plan": (
        lambda: _host(0.1, plan_only=True),
        (
            "warn footprint sim: needs about 0.1 GiB, the host has 0.1; choose a smaller scale, another "
            "substrate or a bigger host"
        ),
    ),
}
_PASSED: dict[str, tuple[Callable[[], Plan], str]] = {
    "few clusters": (lambda: _clusters(1_000), "names"),
    "known burst": (_bursting, "names"),
    "known gate": (lambda: _caught_by("noShortfall"), "names"),
    "known topology": (lambda: _spread(ZONE_KEY), "names"),
    "rack topology": (lambda: _spread(RACK_KEY), "names"),
    "seeding": (lambda: _seeding("configured", "idle", "speculative"), "engine"),
    "action": (lambda: _action("restart-engine"), "engine"),
    "substrate ceiling": (lambda: _on_kwok(10_000), "substrate"),
    "demand within supply": (lambda: _short(1.0), "capacity"),
    "burst within supply": (lambda: _burst_beside_supply(10), "capacity"),
    "shortfall in the lowest class": (lambda: _confined(own_types=False), "priorities"),
    "all bound": (lambda: _pre_bound(1.0), "pre-bind"),
    "samples": (lambda: _sampled(1.0, rollupIntervalSeconds=1, rollupJitterSeconds=0), "samples"),
    "every role, and losses to answer": (lambda: plan_of(profile_of(provider=_LOSSES)), "gates"),
    "bar above the provider's own p99": (lambda: _configure_bar(9.9), "gates"),
    "no floors": (lambda: _floors(gang=False), "inventory"),
    "memory": (lambda: _host(24), "footprint"),
    "one gang in a rack": (lambda: _floors(gang=True), "gangs"),
    "a gang of real size": (lambda: _floors(gang=True), "demand-realism"),
}


def _text(finding: Finding) -> str:
    return f"{finding.severity} {finding.check} {finding}"


@pytest.mark.parametrize("case", _FOUND)
def test_finds(case: str) -> None:
    plan, expected = _FOUND[case]
    assert expected in [_text(finding) for finding in preflight(plan())]


@pytest.mark.parametrize("case", _PASSED)
def test_lets_pass(case: str) -> None:
    plan, check = _PASSED[case]
    assert [_text(finding) for finding in preflight(plan()) if finding.check == check] == []


def test_one_gang_for_every_cluster_is_refused_as_unrealistic() -> None:
    burst = {"atSeconds": 600, "archetype": "gpu-training-large", "extraTarget": 64}
    historical = {"bursts": [{**burst, "durationSeconds": 600, "selectivity": 1.0}], "churnPerMinute": 0.02}
    profile = profile_of(
        scale={"machines": 40, "density": 100, "podsPerCluster": 200}, loadProfile={**historical, "soakSeconds": 1800}
    )
    plan = plan_of(profile, shipped_plan("uber-5k").inputs.catalog)
    found = [f for f in preflight(plan) if f.check == "demand-realism" and f.severity is Severity.REFUSE]
    assert [f.subject for f in found] == ["gpu-training-large"]
    assert "20 clusters take part, so it becomes 20 gangs (1,280 to 5,120 Pods)" in found[0].message


def _unbalanced(*, seed: int) -> Plan:
    """Return a plan whose spread Pods stand in zones a and b, while zone c has only machines of others."""
    constraint = {"topologyKey": ZONE_KEY, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}
    spread = archetype(name="spread", zones=["a", "b", "c"], spreadConstraint=constraint, spreadConstraintProb=1.0)
    others = archetype(name="others", weight=2, zones=["c"])
    profile = profile_of(load={"demandDraw": "free"}, scale={"machines": 6, "podsPerCluster": 60})
    return plan_of(profile, catalog_of(spread, others), seed=seed)


def test_a_spread_that_wants_a_full_zone_strands_its_pods() -> None:
    roomy, plan = _unbalanced(seed=2), _unbalanced(seed=3)
    assert [p.totals.placements[1].bound for p in (roomy, plan)] == [28, 40], "of 40 that the machines of c hold"
    assert [p.totals.placements[0].bound for p in (roomy, plan)] == [20, 17]
    assert (roomy.totals.stranded, plan.totals.stranded) == ((0, 0), (17, 0))
    assert not [finding for finding in preflight(roomy) if finding.check == "reschedule"]
    found = [_text(finding) for finding in preflight(plan) if finding.check == "reschedule"]
    assert found == [
        (
            "warn reschedule spread: 17 Pods could not be scheduled again if they alone were removed: their hard "
            "spread wants a zone that is full; lower preBindFraction or seed more machines"
        )
    ]


def test_refusals_come_first_and_stop_the_run() -> None:
    findings = preflight(_host(0.1))
    severities = [finding.severity for finding in findings]
    assert severities == sorted(severities, key=list(Severity).index)
    assert refused(findings)
    assert not refused(preflight(plan_of()))


def test_what_cannot_be_planned_ends_the_checks() -> None:
    assert {finding.check for finding in preflight(_bursting(archetype="wbe"))} == {"names"}


def test_dev_50_passes_on_both_substrates_and_says_what_is_thin() -> None:
    for substrate in ("sim", "kwok"):
        findings = preflight(shipped_plan("dev-50", substrate=substrate))
        assert not refused(findings)
        warned = {f.subject for f in findings if f.severity is Severity.WARN and "calibrat" not in f.message}
        assert warned == {"shardCycleDurationP99Seconds", "operatorRollupP99Seconds"}


def test_dev_50_is_calibrated_for_the_simulated_world_and_says_so_elsewhere() -> None:
    def warned(substrate: str) -> list[str]:
        findings = preflight(shipped_plan("dev-50", substrate=substrate))
        return [f.message for f in findings if "calibrat" in f.message]

    assert warned("sim") == []
    (message,) = warned("kwok")
    assert "is of substrate sim, and this is kwok" in message


def test_uber_5k_prints_its_over_seed_and_does_not_fit_kwok() -> None:
    plan = shipped_plan("uber-5k")
    assert not refused(preflight(plan))
    over_seed = next(f for f in preflight(plan) if f.subject == "over-seed")
    assert over_seed.message.startswith("7,220 Configured machines stand against 5,784 effective ones (+25%)")
    on_kwok = shipped_plan("uber-5k", substrate="kwok")
    assert {f.check for f in preflight(on_kwok) if f.severity is Severity.REFUSE} == {"substrate", "footprint"}


def test_scarcity_notes_its_shortage_and_does_not_refuse_it() -> None:
    findings = preflight(shipped_plan("scarcity-5k"))
    assert not refused(findings)
    assert {f.subject for f in findings if f.check == "capacity"} == {
        "cpu-service",
        "stateful-db",
        "gpu-training-small",
        "gpu-training-medium",
        "tiny-stateless",
        "cpu-batch",
    }
