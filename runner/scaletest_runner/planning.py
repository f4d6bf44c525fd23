"""Building a plan for a person or a script to look at."""

import json
import sys

from scaletest.plan.document import plan_document
from scaletest.plan.plan import Plan
from scaletest.plan.preflight import preflight, refused
from scaletest_runner.exits import Exit
from scaletest_runner.inputs import load_inputs
from scaletest_runner.plan_view import print_findings, print_plan
from scaletest_runner.terminal import warn

__all__ = ["show_plan"]


def show_plan(profile: str, *, substrate: str, engine: str | None, seed: int | None, as_json: bool) -> Exit:
    """Print the plan of a profile; refused plans are printed too, as far as they go, and end with their own code."""
    loaded = load_inputs(profile, substrate=substrate, engine=engine, seed=seed)
    for problem in loaded.warnings:
        sys.stderr.write(f"{problem}\n")
    plan = Plan(loaded.inputs)
    with warn().status(f"planning {plan.geometry.clusters:,} clusters"):
        findings = preflight(plan)
    if refused(findings) and not plan.countable:
        print_findings(findings)
    elif as_json:
        sys.stdout.write(json.dumps(plan_document(plan, findings), indent=2) + "\n")
    else:
        print_plan(plan, findings)
    return Exit.REFUSED if refused(findings) else Exit.PASS
