"""The one place where a typed block is tried on plain values: the value, or each mismatch as plain data."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import ValidationError

from scaletest.profile.blocks import Block
from scaletest.profile.problems import Path

__all__ = ["Mismatch", "tried"]

BlockT = TypeVar("BlockT", bound=Block)


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A value that does not fit: pydantic's name of the error, where, what was given, and the limits it missed."""

    type: str
    path: Path
    given: Any
    context: Mapping[str, Any]


def tried(model: type[BlockT], value: object) -> tuple[BlockT | None, list[Mismatch]]:
    """Return the typed value, or None and all its mismatches."""
    try:
        return model.model_validate(value), []
    except ValidationError as error:
        details = error.errors(include_url=False)
        return None, [Mismatch(each["type"], each["loc"], each["input"], each.get("ctx", {})) for each in details]
