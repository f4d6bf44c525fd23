"""A plan as a person reads it: geometry, machines, load, gates, findings, footprint."""

from collections.abc import Iterator

from rich.console import Console, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from scaletest.catalog import Archetype
from scaletest.model import Resources, seconds_text
from scaletest.model.findings import Finding, Severity
from scaletest.plan.inventory import Tier
from scaletest.plan.plan import Plan
from scaletest_runner.terminal import out, plain_table

__all__ = ["print_findings", "print_plan"]

_GIB = 1024**3
_DIVISORS = {"cpu": (1000, "cpu"), "memory": (_GIB, "GiB")}
_WIDE = 140
_STYLES = {Severity.REFUSE: "bold red", Severity.WARN: "yellow", Severity.NOTE: "dim"}


def print_plan(plan: Plan, findings: tuple[Finding, ...]) -> None:
    """Print the whole plan."""
    console = out()
    for part in (*_head(plan), *_machines(plan, console.width), *_load(plan), *_gates(plan)):
        console.print(part)
    print_findings(findings, console)
    console.print(*_footprint(plan), sep="\n")


def print_findings(findings: tuple[Finding, ...], console: Console | None = None) -> None:
    """Print findings, refusals first."""
    console = console or out()
    if not findings:
        return
    console.print("\n[bold]Findings[/]")
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    for finding in findings:
        table.add_row(Text(finding.severity, style=_STYLES[finding.severity]), Text(str(finding)))
    console.print(table)


def _head(plan: Plan) -> Iterator[RenderableType]:
    inputs, geometry = plan.inputs, plan.geometry
    names = (
        f"engine {inputs.engine.metadata.name}, substrate {inputs.substrate.metadata.name}, seed {inputs.random_seed}"
    )
    yield f"[bold]{escape(plan.profile.metadata.name)}[/]  {escape(names)}"
    if plan.profile.metadata.description:
        yield Text(plan.profile.metadata.description, style="dim")
    shards = f"{geometry.shards} shard{'s' * (geometry.shards > 1)}"
    yield (
        f"\n[bold]Geometry[/]  {geometry.clusters:,} clusters x {geometry.pods_per_cluster:,} Pods = {geometry.pods:,} "
        f"({plan.profile.scale.machines:,} machines x density {geometry.density}), {shards}"
    )


def _machines(plan: Plan, width: int) -> Iterator[RenderableType]:
    inventory = plan.inventory
    seeded = [tier for tier in Tier if any(inventory.counts(tier))]
    tiers = ", ".join(f"{sum(inventory.counts(tier)):,} {tier.capitalize()}" for tier in seeded)
    yield (
        f"[bold]Machines[/]  {inventory.effective_machines:,} effective; {tiers} = {inventory.machines:,}; "
        f"{sum(inventory.configured(0)):,} Configured in each full cluster"
    )
    headers = ("archetype", "Pods", "pre-bound", "per machine", *(str(tier) for tier in seeded))
    shapes = ("a machine offers", "in reality") if width >= _WIDE else ("a machine offers",)
    table = plain_table(*headers, *shapes, right=headers[1:])
    for a, (kind, placement) in enumerate(zip(plan.archetypes, plan.totals.placements, strict=True)):
        table.add_row(
            kind.name,
            f"{placement.pods:,}",
            f"{placement.bound:,}",
            f"{inventory.sizing.pods_per_machine[a]:,}",
            *(f"{inventory.counts(tier)[a]:,}" for tier in seeded),
            *(_offers(kind, plan.geometry.density), _reality(kind, plan))[: len(shapes)],
        )
    yield table
    yield Text(
        "What a machine offers is Pods per machine x one Pod's request, whatever its instance type has in reality: "
        "kept so that figures compare with earlier harnesses.",
        style="dim",
    )


def _load(plan: Plan) -> Iterator[RenderableType]:
    totals, profile = plan.totals, plan.profile
    causes = ", ".join(f"{count:,} {cause}" for cause, count in totals.replacements.items())
    share = totals.bound / totals.pods
    yield (
        f"\n[bold]Load[/]  {totals.pods:,} Pods of {totals.workloads:,} workloads ({totals.gangs:,} gangs), "
        f"{share:.1%} pre-bound; {totals.demand_rows:,} rows of demand"
    )
    yield (
        f"      {totals.planned_replacements:,} replacements planned: {causes}; "
        f"soak {seconds_text(profile.soak_us)} s, settled from {seconds_text(profile.settle_us)} s, "
        f"linger {seconds_text(plan.linger_us)} s"
    )
    for event in plan.events:
        yield Text(f"      at {seconds_text(event.at_us)} s: {event.what}")


def _gates(plan: Plan) -> Iterator[RenderableType]:
    yield "\n[bold]Gates[/]"
    table = plain_table("gate", "bar", "window", "samples", "kind", "what it can show", right=("samples",))
    for gate in plan.gates:
        samples = "-" if gate.expected_samples is None else f"{gate.expected_samples:,}"
        claim = f"not applicable: {gate.not_applicable}" if gate.not_applicable else gate.claim
        style = "dim" if gate.not_applicable else ""
        table.add_row(gate.name, gate.bar_text(), gate.window_text(), samples, gate.kind, Text(claim), style=style)
    yield table


def _footprint(plan: Plan) -> Iterator[RenderableType]:
    footprint = plan.footprint
    time = _duration(footprint.setup_seconds + footprint.soak_seconds)
    yield (
        f"\n[bold]Footprint[/]  about {footprint.memory_bytes / _GIB:,.1f} GiB "
        f"of {footprint.host.memory_bytes / _GIB:,.1f} GiB and {time} (estimates)"
    )
    yield Text(f"Plan {plan.digest[:16]}", style="dim")


def _duration(seconds: float) -> str:
    return f"{seconds:,.0f} s" if seconds < 100 else f"{seconds / 60:,.0f} min"


def _offers(kind: Archetype, density: int) -> str:
    return _range([kind.allocatable(size=size, density=density) for size in range(len(kind.sizes))])


def _reality(kind: Archetype, plan: Plan) -> str:
    known = plan.inputs.catalog.instance_types
    return _range([Resources.parse(known[name].resources) for name in kind.instance_types if name in known])


def _range(shapes: list[Resources]) -> str:
    """Return `30-40 cpu, 38-49 GiB, 8 gpu`: rounded, for reading only."""
    names = sorted({name for shape in shapes for name in shape.names()}, key=lambda n: (n not in _DIVISORS, n))
    return ", ".join(_amounts(name, [shape[name] for shape in shapes]) for name in names) or "unknown"


def _amounts(name: str, amounts: list[int]) -> str:
    divisor, unit = _DIVISORS.get(name, (1, name.rsplit("/", 1)[-1]))
    low, high = (f"{round(amount / divisor):,}" for amount in (min(amounts), max(amounts)))
    return f"{low} {unit}" if low == high else f"{low}-{high} {unit}"
