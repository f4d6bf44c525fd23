"""What a profile is made to show: the rules whose absence must turn a gate red in it, and which gate that is."""

from typing import Annotated

from pydantic import Field

from scaletest.profile.blocks import Block
from scaletest.profile.spellings import ABLATION

__all__ = ["Catch", "Proving"]

AblationName = Annotated[str, Field(pattern=ABLATION)]


class Catch(Block):
    """One rule: without it a gate fails on every seed, and with it the same gate passes."""

    without: AblationName
    """The ablation that takes the rule away, as `scaletest ablations` lists it."""
    by: Annotated[tuple[str, ...], Field(min_length=1)]
    """Gates of this profile; on every seed at least one of them must fail without the rule and not fail with it."""
    masked_by: tuple[AblationName, ...] = ()
    """Ablations of rules that hide the loss of this one. They are taken away on both sides of the comparison."""


class Proving(Block):
    """What `scaletest prove` holds this profile to, beside that the complete engine passes it on every seed."""

    catches: tuple[Catch, ...] = ()
    """The rules that this profile was made for."""
