"""Rails: limits that hold whatever the rules decided. Each one says what it kept back, and how much."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from scaletest.engine.decide.fleet import Fleet
from scaletest.engine.decide.values import Action, Refusal, Settings
from scaletest.model import MachineState

__all__ = ["Passed", "cap_reclaims", "pass_rails"]

_PPM: Final = 1_000_000


class Passed(NamedTuple):
    """What came through: actions to carry out, actions withheld, whether the rest deserves a cycle at once."""

    actions: tuple[Action, ...]
    withheld: tuple[Action, ...]
    wake: bool
    refusals: list[Refusal]


def cap_reclaims(fleet: Fleet, reclaims: Sequence[Action], *, cap_ppm: int) -> tuple[list[Action], list[Refusal]]:
    """Keep at most this share of each cluster's Configured machines, and at least one; the tail comes again."""
    if not cap_ppm:
        return list(reclaims), []
    by_cluster: dict[str, list[Action]] = {}
    for action in reclaims:
        by_cluster.setdefault(action.need.cluster, []).append(action)
    kept: list[Action] = []
    refusals: list[Refusal] = []
    for cluster, actions in by_cluster.items():
        configured = fleet.pool(MachineState.CONFIGURED, cluster).count
        limit = max(1, configured * cap_ppm // _PPM)
        kept += actions[:limit]
        if len(actions) > limit:
            reason = f"at most {limit} of {configured} Configured machines of {cluster} go in one cycle"
            refusals.append(Refusal(cluster, "reclaim-cap", reason, len(actions) - limit))
    return kept, refusals


def pass_rails(actions: list[Action], *, settings: Settings, acts: bool) -> Passed:
    """Cut the list to its limit, then withhold all of it if the engine is paused, in dry run, or never acts."""
    refusals: list[Refusal] = []
    limit = settings.max_actions
    wake = 0 < limit < len(actions)
    if wake:
        reason = f"at most {limit} actions go in one cycle"
        refusals.append(Refusal("actions", "max-actions", reason, len(actions) - limit))
        actions = actions[:limit]
    block = _block(settings, acts=acts)
    if block is None or not actions:
        return Passed(tuple(actions), (), wake, refusals)
    refusals.append(Refusal("actions", *block, len(actions)))
    return Passed((), tuple(actions), wake, refusals)


def _block(settings: Settings, *, acts: bool) -> tuple[str, str] | None:
    if not acts:
        return "never-acts", "this engine was built without actuation"
    if settings.paused:
        return "paused", "actuation is paused"
    if settings.dry_run:
        return "dry-run", "the engine is in dry run"
    return None
