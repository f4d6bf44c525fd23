"""A way to damage a run says what a judge must make of it when the hashes cannot give it away."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from scaletest.model import Stream
from staged_run import Bundle


class Must(Enum):
    """What a forged damage must lead to; by accident, with the hashes left alone, any change must not pass."""

    BE_THE_SAME = "nothing that matters was lost: the same verdict, to the last figure"
    NOT_PASS = "something that a gate rests on is gone or contradicted"
    NOT_IMPROVE = "it depends on where it hit: no gate may look better than before"
    NOT_CRASH = "a value became another plausible value: a different story, that nobody can tell from the truth"


Damage = Callable[[Bundle, Stream], None]


@dataclass(frozen=True, slots=True)
class Kind:
    name: str
    must: Must
    damage: Damage


def pick(stream: Stream, values: Any, ordinal: int = 0) -> Any:
    return values[stream.below(len(values), ordinal)]


def shuffled(lines: list[str], stream: Stream) -> list[str]:
    return [line for _, line in sorted((stream.bits(n), line) for n, line in enumerate(lines))]


def retold(line: str, *, value: str | None = None, shift_ms: int = 0) -> str:
    key, old, time = line.rsplit(" ", 2)
    moved = int(time.replace(".", "")) + shift_ms
    return f"{key} {old if value is None else value} {moved // 1000}.{moved % 1000:03d}"
