import pytest

from sample_plans import shipped_plan
from scaletest.catalog import Workload
from scaletest.load.templates import Templates
from scaletest.model import NeedProfile, Operator, Requirement, group_name, penalty_bucket
from scaletest.plan.plan import Plan
from scaletest.ports.cluster import PodTemplate


def as_an_agent_reads(template: PodTemplate) -> NeedProfile:
    """Return the demand that a template's Pods amount to, from nothing but the template."""
    shared = (Requirement(template.colocation_key, Operator.SAME),) if template.colocation_key else ()
    return NeedProfile.of(
        requirements=(*template.requirements, *shared),
        spread=template.spread,
        priority=template.priority,
        interruption=penalty_bucket(template.interruption_penalty_uusd),
        reclamation=penalty_bucket(template.reclamation_penalty_uusd),
    )


def workloads(plan: Plan) -> list[Workload]:
    burst = [
        workload
        for burst in plan.bursts
        for workload in burst.workloads(0, seed=plan.inputs.random_seed, archetypes=plan.archetypes)
    ]
    return [*plan.cluster(0).workloads, *burst]


@pytest.mark.parametrize("name", ["dev-50", "dev-50-field", "cost-routing-5k"])
def test_an_agent_that_reads_a_template_arrives_at_the_plans_demand(name: str) -> None:
    plan = shipped_plan(name)
    cluster, templates = plan.cluster(0), Templates(plan.archetypes)
    for workload in workloads(plan):
        kind = plan.archetypes[workload.archetype]
        read = as_an_agent_reads(templates.of(workload))
        profile, group = cluster.need(workload)

        assert read == kind.need_profile(priority=workload.priority, spread=workload.spread, axes=workload.axes)
        if kind.gang is not None and not cluster.folds.folds(workload):
            assert (read, group_name(cluster.name, workload.name)) == (profile, group)
        else:
            assert (read.without_same, "") == (profile, group)


def test_every_pod_asks_for_its_size() -> None:
    plan = shipped_plan("dev-50")
    templates = Templates(plan.archetypes)
    for workload in plan.cluster(1).workloads:
        wanted = plan.archetypes[workload.archetype].sizes[workload.size].request
        assert templates.of(workload).requests == wanted


def test_workloads_that_ask_for_the_same_share_one_template() -> None:
    plan = shipped_plan("dev-50")
    templates = Templates(plan.archetypes)
    made = {id(templates.of(workload)) for workload in plan.cluster(0).workloads}
    asked = {(w.archetype, w.size, w.priority, w.spread, w.axes) for w in plan.cluster(0).workloads}

    assert len(made) == len(asked) < len(plan.cluster(0).workloads)
