"""Verdicts for the tests of every output: one rich example with its record, and a strategy for any other."""

from dataclasses import replace

from hypothesis import strategies as st

from scaletest.evidence.reading import Defect, Effect
from scaletest.evidence.record import Marks, Phase, RunRecord
from scaletest.gates.outcomes import Bracket, GateResult, Information, Outcome, RunOutcome, Verdict
from scaletest.plan.gate_table import Unit
from scaletest.plan.gates import Kind

__all__ = ["EXAMPLE", "NASTY", "PASSED", "RECORD", "gate", "nasty_verdict", "texts", "verdict", "verdicts"]

NASTY = "a|b `c` <b>&amp;</b> [red]x[/] ]]> \x1b[31m\x00\u202e \ud800\ufffe\r\n**d**\n# e 1\\|2 \U0001f600"
"""Everything that some format would interpret, swallow or refuse."""


def gate(name: str = "shardCycleDurationP99Seconds", outcome: Outcome = Outcome.PASS, **changes: object) -> GateResult:
    """Return a passed latency gate with the given changes."""
    plain = GateResult(
        name=name,
        outcome=outcome,
        value=Bracket(3.3, 3.3),
        threshold=5.0,
        comparison="<=",
        unit=Unit.SECONDS,
        samples=720,
        window="soak",
        source="cycleDuration: engine_cycle_seconds",
        kind=Kind.MEASURED,
        reason="p99 of the soak is under the bar",
    )
    return replace(plain, **changes)  # type: ignore[arg-type]  # the tests name the fields


def verdict(*gates: GateResult, outcome: RunOutcome = RunOutcome.PASS, **changes: object) -> Verdict:
    """Return a verdict over the gates with the given changes."""
    plain = Verdict(
        profile="dev-50",
        world="sim",
        plan_digest="0f" * 32,
        outcome=outcome,
        reason="every gate passed",
        strict=False,
        gates=gates,
        defects=(),
        information=(),
        phases=tuple((phase.name, phase.outcome, phase.detail) for phase in RECORD.phases),
    )
    return replace(plain, **changes)  # type: ignore[arg-type]  # the tests name the fields


RECORD = RunRecord(
    profile="dev-50",
    world="sim",
    random_seed=7,
    plan_digest="0f" * 32,
    epoch_ms=1_790_000_000_000,
    scrape_interval_us=15_000_000,
    targets=("engine-0",),
    marks=Marks(45_500_000, 225_500_000, 258_500_000),
    phases=(
        Phase("install", 0, 12_500_000, "ok"),
        Phase("steady", 12_500_000, 45_500_000, "ok", "99.4 % of Pods on a Ready node"),
        Phase("soak", 45_500_000, 225_500_000, "ok"),
        Phase("collect", 225_500_000, None, "interrupted", "the disk was full"),
    ),
    hashes={"metrics.om.gz": "ab" * 32, "requests.jsonl.gz": "cd" * 32},
    sealed=True,
    versions={"scaletest": "0.1.0", "python": "3.11.7"},
)

PASSED = verdict(gate(), gate("boundShare", value=Bracket(1.0, 1.0), threshold=0.985, comparison=">=", unit=Unit.RATIO))

EXAMPLE = verdict(
    gate(
        "internalBindingLatencyP99Seconds",
        Outcome.FAIL,
        value=Bracket(34.25, None),
        threshold=30.0,
        samples=574,
        window="soak",
        source="requests: requests.jsonl",
        reason="the tail stays at or above 1.1 x the bar",
        look_at="requests of cluster-3 that waited for a new machine; compare chosen with configured",
        details=(("worst cluster", "cluster-3: at least 61 s"), ("never bound", "4 of 574")),
    ),
    gate(
        "shardCycleDurationP99Seconds",
        Outcome.MARGINAL,
        value=Bracket(5.12, 5.12),
        threshold=5,
        reason="soak and tail are over the bar by less than a tenth",
        look_at="the slowest cycles in cycles.jsonl",
    ),
    gate(
        "operatorRollupP99Seconds",
        value=Bracket(0.25, 0.5),
        threshold=1.0,
        samples=360,
        kind=Kind.MODELLED,
        source="rollupDuration: agent_rollup_seconds",
    ),
    gate(
        "operatorAckP99Seconds",
        Outcome.UNMEASURED,
        value=None,
        threshold=2.0,
        samples=0,
        source="acknowledgeDuration: agent_ack_seconds",
        reason="the series is missing, and the plan expects 574 samples",
        look_at="whether the agent exports agent_ack_seconds",
    ),
    gate(
        "maxReclaimActionsDuringSoak",
        value=Bracket(1204, 1204),
        threshold=15000,
        unit=Unit.COUNT,
        samples=2,
        window="settled 90-180 s",
        source='reclaimActions: engine_actions_total{kind="reclaim"}',
        reason="1,204 counted between two raw readings",
    ),
    gate(
        "noShortfall",
        value=Bracket(0, 0),
        threshold="none over 5 cycles, 0 at end",
        unit=Unit.FACT,
        samples=720,
        source="shortfall: cycles.jsonl",
        reason="no cycle of the soak had a shortfall",
    ),
    gate(
        "maxRegrettedReclaims",
        Outcome.NOT_APPLICABLE,
        value=None,
        threshold=3,
        unit=Unit.COUNT,
        samples=None,
        window="settled 90-180 s",
        source="ledger",
        reason="the engine example writes no action ledger",
    ),
    outcome=RunOutcome.INCONCLUSIVE,
    reason="a gate failed, but a target was lost and could have caused it",
    defects=(
        Defect("lost target", Effect.BOTH, "agent-3 did not answer 9 of 12 scrapes"),
        Defect("driver lag", Effect.WORSEN, "p99 of 1.2 s is over the budget of 0.5 s"),
    ),
    information=(
        Information("ramp time", "33 s from install to steady"),
        Information("peak bind rate", "41 Pods/s"),
    ),
)


def nasty_verdict() -> Verdict:
    """Return a verdict whose every text is NASTY."""
    return verdict(
        gate(
            NASTY,
            Outcome.FAIL,
            threshold=NASTY,
            comparison=NASTY,
            window=NASTY,
            source=NASTY,
            reason=NASTY,
            look_at=NASTY,
            details=((NASTY, NASTY),),
        ),
        outcome=RunOutcome.INCONCLUSIVE,
        profile=NASTY,
        world=NASTY,
        plan_digest=NASTY,
        reason=NASTY,
        defects=(Defect(NASTY, Effect.BOTH, NASTY),),
        information=(Information(NASTY, NASTY),),
        phases=((NASTY, NASTY, NASTY),),
    )


def texts(max_size: int = 40) -> st.SearchStrategy[str]:
    """Return any text that UTF-8 can hold, with what formats trip over drawn often."""
    tricky = st.sampled_from([*"|`<>&\"'\\[]*_#\n\r\t\x00\x1b\x85\u2028\u202e\ufffe", "]]>", "</failure>", "<!--"])
    return st.one_of(st.text(max_size=max_size), st.lists(st.one_of(tricky, st.characters()), max_size=12).map("".join))


_numbers = st.one_of(st.integers(-(10**18), 10**18), st.floats(allow_nan=False, allow_infinity=False))


@st.composite
def _brackets(draw: st.DrawFn) -> Bracket | None:
    low, high = sorted((draw(_numbers), draw(_numbers)))
    return draw(st.sampled_from([None, Bracket(low, low), Bracket(low, high), Bracket(low, None)]))


@st.composite
def verdicts(draw: st.DrawFn) -> Verdict:
    """Return any verdict: the outputs do not trust the judge to be sensible.

    Texts come from a small pool of arbitrary ones: drawing each anew would cost more than all the outputs together.
    """
    pool = st.sampled_from(draw(st.lists(texts(), min_size=1, max_size=4)))
    few = st.integers(0, 2)

    def gate_of_any_kind() -> GateResult:
        return GateResult(
            name=draw(pool),
            outcome=draw(st.sampled_from(Outcome)),
            value=draw(_brackets()),
            threshold=draw(_numbers) if draw(st.booleans()) else draw(pool),
            comparison=draw(st.sampled_from(["<=", ">="])),
            unit=draw(st.sampled_from(Unit)),
            samples=draw(st.none() | st.integers(0, 10**12)),
            window=draw(pool),
            source=draw(pool),
            kind=draw(st.sampled_from(Kind)),
            reason=draw(pool),
            look_at=draw(pool),
            details=((draw(pool), draw(pool)),) * draw(few),
            tail=draw(_brackets()),
        )

    return Verdict(
        profile=draw(pool),
        world=draw(pool),
        plan_digest=draw(pool),
        outcome=draw(st.sampled_from(RunOutcome)),
        reason=draw(pool),
        strict=draw(st.booleans()),
        gates=tuple(gate_of_any_kind() for _ in range(draw(few))),
        defects=(Defect(draw(pool), draw(st.sampled_from(Effect)), draw(pool)),) * draw(few),
        information=(Information(draw(pool), draw(pool)),) * draw(few),
        phases=((draw(pool), draw(st.sampled_from(["ok", "failed", "interrupted"])), draw(pool)),) * draw(few),
        exploratory=draw(st.booleans()),
    )
