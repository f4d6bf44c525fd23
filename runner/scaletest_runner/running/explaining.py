"""One cycle of a run decided again, in words."""

from pathlib import Path

from scaletest.engine.decide import Decisions, Outcome
from scaletest.profile import Problem, ProfileError
from scaletest_runner.engine_fixtures.explain import explained_cycle
from scaletest_runner.engine_view import show_cycle
from scaletest_runner.exits import Exit
from scaletest_runner.running.replaying import decided_again

__all__ = ["explain_cycle"]


def explain_cycle(folder: Path, number: int | None, *, only: str, as_json: bool) -> Exit:
    """Print what a cycle decided: its actions and refusals, and the rows that acted, are short, or were asked for."""
    last = 0
    for cycle, decisions in decided_again(folder):
        last = cycle.cycle
        if last == number:
            show_cycle(explained_cycle(last, decisions, _rows(decisions, only)), as_json=as_json)
            return Exit.PASS
    wanted = "name a cycle with --cycle" if number is None else f"there is no cycle {number}"
    raise ProfileError([Problem(str(folder), 0, 0, "", wanted, f"the run has cycles 1 to {last}")])


def _rows(decisions: Decisions, only: str) -> dict[str, Outcome]:
    rows = {_name(outcome): outcome for outcome in decisions.outcomes}
    if only:
        return {name: outcome for name, outcome in rows.items() if only.lower() in name.lower()}
    return {name: outcome for name, outcome in rows.items() if outcome.acquired or outcome.deficit or outcome.parked}


def _name(outcome: Outcome) -> str:
    need = outcome.row.need
    return need.group or f"{need.cluster}/{need.profile.fingerprint}"
