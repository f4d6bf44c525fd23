"""The cloud: all machines of all tiers behind the Provider port. Both worlds use it; it knows only Clock and Nodes."""

from scaletest.world.cloud.cloud import Cloud
from scaletest.world.cloud.events import CloudEvent

__all__ = ["Cloud", "CloudEvent"]
