"""What a rule says when values that are fine alone do not go together."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Self, TypeAlias, TypeVar

from scaletest.profile.blocks import Block
from scaletest.profile.problems import Path, Severity

__all__ = ["Finding", "Rule", "missing_switch"]

BlockT = TypeVar("BlockT", bound=Block)


@dataclass(frozen=True, slots=True)
class Finding:
    """A contradiction: the paths it was concluded from (it is reported at the first), what is wrong, what to do."""

    reads: tuple[Path, ...]
    message: str
    hint: str
    severity: Severity = Severity.ERROR

    @classmethod
    def error(cls, reads: str, message: str, hint: str) -> Self:
        """Return a finding that makes the file unusable; `reads` are dotted paths with spaces between them."""
        return cls(tuple(_path(each) for each in reads.split()), message, hint)

    @classmethod
    def warning(cls, reads: str, message: str, hint: str) -> Self:
        """Return a finding that a person should know of."""
        return cls(tuple(_path(each) for each in reads.split()), message, hint, Severity.WARNING)


Rule: TypeAlias = Callable[[BlockT], Iterator[Finding]]


def _path(text: str) -> Path:
    return tuple(int(step) if step.isdigit() else step for step in text.split("."))


def missing_switch(block: Block, *, around: str, switch: str, fields: tuple[str, ...]) -> Iterator[Finding]:
    """Yield one finding for each given field that means nothing while its switch is off."""
    keys = {name: info.alias or name for name, info in type(block).model_fields.items()}
    if getattr(block, switch):
        return
    for name in fields:
        if name in block.model_fields_set and getattr(block, name) is not None:
            message = f"means nothing without {keys[switch]}"
            hint = f"set {keys[switch]}: true, or leave this out"
            yield Finding.error(f"{around}.{keys[name]} {around}.{keys[switch]}", message, hint)
