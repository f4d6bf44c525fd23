"""The phases of a run, in order. Each is journaled, has a deadline, and leaves usable evidence when it fails."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from scaletest.model import US_PER_SECOND, microseconds, seconds_text
from scaletest.plan.events import EventKind
from scaletest.plan.geometry import cluster_name
from scaletest.plan.planned import tail_us
from scaletest_runner.running.book import PhaseFailedError
from scaletest_runner.running.stage import Stage

__all__ = ["PHASES", "collect", "play"]

_MS: Final = 1000
_POLL_US: Final = US_PER_SECOND
_NO_PROGRESS_US: Final = 120 * US_PER_SECOND
"""At the least; a profile that gives its ground long to get steady gives it a third of that to move."""
_MARGIN_S: Final = 60


async def _install(stage: Stage) -> None:
    """Bring machines and engine up, and the load driver to where it could begin; agents hold their roll-ups."""
    plan = stage.plan
    for ordinal in range(plan.geometry.clusters):
        # A cluster takes long to derive and much room to keep: whoever needs it takes what he needs in one pass.
        schedule = plan.schedule(ordinal)
        stage.cloud.seed(schedule.cluster.machines())
        stage.driver.prepare(schedule)
    stage.cloud.seed(plan.inventory.shared_machines())
    for ordinal in range(plan.geometry.clusters):
        await stage.cloud.join(cluster_name(ordinal))
    await stage.engine.start()
    stage.scraper.point({"engine": stage.engine.registry, "driver": stage.driver.registry})


async def _seed(stage: Stage) -> None:
    """Create every workload, its Pods bound where the plan says; only then may the engine hear of demand."""
    await stage.driver.seed()
    stage.seeded()
    stage.engine.demand_ready()


async def _steady(stage: Stage) -> None:
    """Wait until the fleet is what the profile calls steady."""
    wanted, clock = stage.plan.profile.steady, stage.clock
    within_us = microseconds(wanted.within_seconds)
    deadline_us, stuck_us = clock.now_us() + within_us, max(_NO_PROGRESS_US, within_us // 3)
    seen, since_us = None, clock.now_us()
    flat_us = microseconds(wanted.acquisitions_flat_seconds)
    acquired, flat_since_us = stage.engine.acquisitions, clock.now_us()
    while True:
        now_us = clock.now_us()
        if stage.engine.acquisitions != acquired:
            acquired, flat_since_us = stage.engine.acquisitions, now_us
        missing = _missing_for_steady(stage)
        if not missing and now_us - flat_since_us >= flat_us:
            return
        state = (stage.driver.bound_ready, stage.engine.acquisitions, tuple(stage.engine.covered().values()))
        if state != seen:
            seen, since_us = state, now_us
        if now_us >= deadline_us or (missing and now_us - since_us >= stuck_us):
            stuck = f", and nothing has moved since {seconds_text(since_us)} s" if now_us < deadline_us else ""
            raise PhaseFailedError(f"{missing or 'acquisitions go on'}{stuck}")
        await stage.scraper.pass_time(min(now_us + _POLL_US, deadline_us))


def _missing_for_steady(stage: Stage) -> str:
    """Return what is still missing, or nothing."""
    wanted, geometry = stage.plan.profile.steady, stage.plan.geometry
    bound = stage.driver.bound_ready
    if bound < wanted.bound_fraction * geometry.pods:
        return f"{bound:,} of {geometry.pods:,} Pods are on a Ready node ({bound / geometry.pods:.1%})"
    covered = stage.engine.covered()
    for ordinal in range(geometry.clusters):
        name = cluster_name(ordinal)
        if covered.get(name, 0) < wanted.rollup_fraction * geometry.pods_of(ordinal):
            pods = covered.get(name, 0)
            return f"the roll-up of {name} covers {pods:,} of {geometry.pods_of(ordinal):,} Pods"
    return ""


async def _soak(stage: Stage) -> None:
    """Drive the planned load from soak start to soak end, with a whole scrape at each mark."""
    clock = stage.clock
    # Scrapes are stamped in whole milliseconds; a soak that starts on one leaves no doubt which scrape is its first.
    start_us = -(-clock.now_us() // _MS) * _MS
    await stage.scraper.pass_time(start_us)
    stage.book.mark(soak_start_us=start_us)
    stage.scraper.scrape(whole=True)
    stage.soak_starts(start_us)
    stage.cloud.start_soak(start_us, until_us=start_us + stage.plan.profile.soak_us)
    stage.driver.start_soak(start_us)
    for at_us, do in _timeline(stage):
        await stage.scraper.pass_time(start_us + at_us)
        await do()
    stage.book.mark(soak_end_us=clock.now_us())


def _timeline(stage: Stage) -> list[tuple[int, Callable[[], Awaitable[None]]]]:
    """Return what the run itself does during the soak: scrapes at marks, cuts of the elastic tier, runner actions."""
    profile = stage.plan.profile
    steps: list[tuple[int, int, Callable[[], Awaitable[None]]]] = [
        (event.at_us, 0, stage.restart_engine) for event in stage.plan.events if event.kind is EventKind.ACTION
    ]
    for down in profile.load_profile.scale_downs:
        share = down.target_multiplier

        async def shrink(share: float = share) -> None:
            stage.cloud.shrink(share)

        steps.append((microseconds(down.at_seconds), 0, shrink))

    async def boundary() -> None:
        stage.scraper.scrape(whole=True)
        if stage.reclaims_at_settle is None:
            stage.reclaims_at_settle = stage.engine.reclaims

    tail = tail_us(soak_us=profile.soak_us, settle_us=profile.settle_us)
    marks = sorted({profile.settle_us, tail, profile.soak_us} - {0})
    steps += [(at_us, 1, boundary) for at_us in marks]
    return [(at_us, do) for at_us, _, do in sorted(steps, key=lambda step: step[:2])]


async def _linger(stage: Stage) -> None:
    """Let load and watches go on, so that the last requests of the soak can be judged."""
    await stage.scraper.pass_time(stage.clock.now_us() + stage.plan.linger_us)
    await stage.scraper.last()
    stage.book.mark(linger_end_us=stage.clock.now_us())


@dataclass(frozen=True, slots=True)
class Phase:
    """A phase and its deadline; a soak's is its own length and a margin."""

    name: str
    work: Callable[[Stage], Awaitable[None]]
    deadline_s: Callable[[Stage], float]


PHASES: Final = (
    Phase("install", _install, lambda _: 600),
    Phase("seed", _seed, lambda stage: 600 + stage.plan.geometry.pods_per_cluster / 100),
    Phase("steady", _steady, lambda stage: stage.plan.profile.steady.within_seconds + _MARGIN_S),
    Phase("soak", _soak, lambda stage: stage.plan.profile.soak_us / US_PER_SECOND + _MARGIN_S),
    Phase("linger", _linger, lambda stage: stage.plan.linger_us / US_PER_SECOND + _MARGIN_S),
)


async def play(stage: Stage, *, entered: Callable[[str], None]) -> None:
    """Play the phases; the first that fails ends the run, and what was observed is collected all the same."""
    try:
        for phase in PHASES:
            entered(phase.name)
            with stage.book.phase(phase.name):
                async with asyncio.timeout(phase.deadline_s(stage)):
                    await phase.work(stage)
    except PhaseFailedError:
        # The book has it; the judge will say what it means.
        pass
    entered("collect")
    await collect(stage)


async def collect(stage: Stage) -> None:
    """Stop everything, and write down what is still open."""
    await stage.driver.finish()
    stage.book.note(driver_lag_p99_us=stage.driver.lag_p99_us)
    await stage.engine.stop()
    await stage.cloud.stop()
