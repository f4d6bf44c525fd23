"""How an engine is built: pace, limits, posture and rules. An ablation is chosen here and nowhere else."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final

from scaletest.engine.decide import COMPLETE, Rules, Settings, rules_without
from scaletest.model import US_PER_SECOND

__all__ = ["EngineSettings", "settings_without"]


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """Everything a person running the engine may set, and the form of every rule."""

    tick_us: int = 10 * US_PER_SECOND
    """The pace of cycles that nobody asked for; roll-ups wake others in between."""
    concurrency: int = 256
    """Actions carried out at a time; twice as many may wait."""
    execute_timeout_us: int = 30 * US_PER_SECOND
    """How long one call to the provider may take; a drain has its grace on top."""
    rules: Rules = COMPLETE
    decide: Settings = field(default_factory=Settings)
    guarded_rollups: bool = True
    """Hold a roll-up that is suddenly almost empty."""
    requests_for_bound: bool = True
    """Ask for capacity for every live Pod, bound or not."""


_SWITCHES: Final[Mapping[str, Callable[[EngineSettings], EngineSettings]]] = MappingProxyType(
    {
        "AB-03": lambda settings: replace(settings, requests_for_bound=False),
        "AB-24": lambda settings: replace(settings, guarded_rollups=False),
    }
)
"""The ablations whose rule lies outside the decisions."""


def settings_without(names: Iterable[str], *, settings: EngineSettings | None = None) -> EngineSettings:
    """Return the settings with every named ablation made; raise UnknownAblationError for one that is not known."""
    found = settings or EngineSettings()
    for name in names:
        switch = _SWITCHES.get(name)
        found = switch(found) if switch else replace(found, rules=rules_without((name,), rules=found.rules))
    return found
