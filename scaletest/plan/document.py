"""The plan as a JSON document: shapes, counts, streams and a hash; never one row per Pod or arrival."""

from itertools import pairwise
from typing import Any, Final

from scaletest.model import microseconds
from scaletest.model.findings import Finding
from scaletest.plan.gates import Gate
from scaletest.plan.inventory import Tier
from scaletest.plan.plan import Plan

__all__ = ["DOCUMENT_VERSION", "plan_document"]

DOCUMENT_VERSION: Final = 1


def plan_document(plan: Plan, findings: tuple[Finding, ...]) -> dict[str, Any]:
    """Return the plan as plain values, in a stable order."""
    return {
        "version": DOCUMENT_VERSION,
        "profile": plan.profile.metadata.name,
        "catalog": plan.inputs.catalog.metadata.name,
        "engine": plan.inputs.engine.metadata.name,
        "substrate": plan.inputs.substrate.metadata.name,
        "randomSeed": plan.inputs.random_seed,
        "digest": plan.digest,
        "world": plan.inputs.substrate.world,
        "geometry": {
            "clusters": plan.geometry.clusters,
            "podsPerCluster": plan.geometry.pods_per_cluster,
            "pods": plan.geometry.pods,
            "density": plan.geometry.density,
            "shards": plan.geometry.shards,
        },
        "inventory": _inventory(plan),
        "load": _load(plan),
        "judge": {
            "latency": plan.profile.slo.judge,
            "tolerantPenaltyBucket": plan.profile.slo.cost_routing_tolerant_penalty_bucket or "",
            "sensitivePenaltyBucket": plan.profile.slo.cost_routing_sensitive_penalty_bucket or "",
            "rollupInterval_us": microseconds(plan.profile.world.rollup_interval_seconds),
        },
        "contract": _contract(plan),
        "gates": [_gate(gate) for gate in plan.gates],
        "findings": [
            {"severity": f.severity, "check": f.check, "subject": f.subject, "message": f.message} for f in findings
        ],
        "footprint": {
            "memory_bytes": plan.footprint.memory_bytes,
            "setup_s": round(plan.footprint.setup_seconds, 1),
            "soak_s": round(plan.footprint.soak_seconds, 1),
            "fits": plan.footprint.fits,
        },
    }


def _contract(plan: Plan) -> dict[str, Any]:
    """Return what the engine promises to deliver, so that a run can be judged without its manifest."""
    engine = plan.inputs.engine
    return {
        "ledger": engine.ledger,
        "roles": engine.roles.model_dump(mode="json", by_alias=True, exclude_none=True),
    }


def _inventory(plan: Plan) -> dict[str, Any]:
    inventory = plan.inventory
    return {
        "effectiveMachines": inventory.effective_machines,
        "configured": sum(inventory.configured_total),
        "configuredPerCluster": sum(inventory.configured(0)),
        "idle": sum(inventory.idle),
        "speculative": sum(inventory.speculative),
        "spot": sum(inventory.spot),
        "machines": inventory.machines,
        "archetypes": {
            kind.name: {str(tier): inventory.counts(tier)[a] for tier in Tier} for a, kind in enumerate(plan.archetypes)
        },
    }


def _load(plan: Plan) -> dict[str, Any]:
    totals = plan.totals
    return {
        "pods": totals.pods,
        "preBound": totals.bound,
        "workloads": totals.workloads,
        "gangs": totals.gangs,
        "demandRows": totals.demand_rows,
        "plannedReplacements": totals.planned_replacements,
        "replacementsByCause": {str(cause): count for cause, count in totals.replacements.items()},
        "lingerReplacements": totals.linger_replacements,
        "soak_us": plan.profile.soak_us,
        "settle_us": plan.profile.settle_us,
        "linger_us": plan.linger_us,
        "archetypes": {
            kind.name: {"wanted": p.wanted, "pods": p.pods, "preBound": p.bound}
            for kind, p in zip(plan.archetypes, totals.placements, strict=True)
        },
        "drills": [
            {"at_us": s.start_us, "multiplier": float(s.multiplier)}
            for before, s in pairwise(plan.segments)
            if s.multiplier != before.multiplier
        ],
        "events": [{"at_us": e.at_us, "kind": str(e.kind), "what": e.what} for e in plan.events],
    }


def _gate(gate: Gate) -> dict[str, Any]:
    return {
        "name": gate.name,
        "role": gate.role,
        "threshold": gate.threshold,
        "comparison": gate.comparison,
        "unit": str(gate.unit),
        "quantile": gate.quantile,
        "window": {"name": str(gate.window), "start_us": gate.start_us, "end_us": gate.end_us},
        "expectedSamples": gate.expected_samples,
        "claim": gate.claim,
        "kind": str(gate.kind),
        "notApplicable": gate.not_applicable,
    }
