"""Which keys a file may have where, read off the typed blocks; the ground for did-you-mean and for the reference."""

from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Annotated, Any, Final, get_args, get_origin

from pydantic.fields import FieldInfo

from scaletest.profile.blocks import Block
from scaletest.profile.problems import Path

__all__ = ["Place", "block_at", "closest", "fields_by_key", "inner_block", "places", "suggestion"]

# Measured on real slips: two letters swapped in a word of eight give 0.75, unrelated keys of one block stay below 0.7.
_CLOSE: Final = 0.74
# `preBind` should find preBindFraction, `shardCycle…` should not find shard.
_SHORTEST_START: Final = 0.4

Place = tuple[str, type[Block]]


def fields_by_key(block: type[Block]) -> dict[str, FieldInfo]:
    """Return the fields of a block by the key a file writes."""
    return {field.alias or name: field for name, field in block.model_fields.items()}


def inner_block(annotation: Any) -> type[Block] | None:
    """Return the block that an annotation holds, through options, sequences and mappings, or None."""
    if isinstance(annotation, type) and issubclass(annotation, Block):
        return annotation
    inside = get_args(annotation)
    if get_origin(annotation) is Annotated:
        inside = inside[:1]
    return next((found for each in inside if (found := inner_block(each))), None)


def _is_mapping(annotation: Any) -> bool:
    return get_origin(annotation) is dict or any(_is_mapping(each) for each in get_args(annotation))


def block_at(block: type[Block], path: Path) -> type[Block] | None:
    """Return the block whose keys stand at a path, or None where there is none."""
    here: type[Block] | None = block
    steps = iter(step for step in path if isinstance(step, str))
    for step in steps:
        field = fields_by_key(here).get(step) if here else None
        if field is None:
            return None
        here = inner_block(field.annotation)
        if here and _is_mapping(field.annotation):
            next(steps, None)  # the name of an entry, such as an instance type
    return here


def places(block: type[Block], around: str = "") -> Iterator[Place]:
    """Yield every block of a file with its dotted path, outermost first."""
    yield around, block
    for key, field in fields_by_key(block).items():
        inside = inner_block(field.annotation)
        if inside:
            yield from places(inside, f"{around}.{key}" if around else key)


def suggestion(root: type[Block], path: Path) -> str:
    """Return the key that a person most likely meant by an unknown one: of the same block, else of another one."""
    wanted = str(path[-1])
    here = block_at(root, path[:-1])
    near = closest(wanted, list(fields_by_key(here))) if here else None
    if near:
        return near
    # Reversed so that of equal keys the outermost wins: it is the one a person means by the bare name.
    everywhere = [
        (key, f"{around}.{key}".lstrip(".")) for around, block in places(root) for key in fields_by_key(block)
    ]
    elsewhere = dict(reversed(everywhere))
    far = closest(wanted, list(elsewhere))
    return elsewhere[far] if far else ""


def closest(wanted: str, known: list[str]) -> str | None:
    """Return the known word most like the wanted one, or None when none is close."""
    scored = sorted(((_likeness(wanted, each), each) for each in known), key=lambda pair: (-pair[0], pair[1]))
    return scored[0][1] if scored and scored[0][0] >= _CLOSE else None


def _likeness(wanted: str, known: str) -> float:
    left, right = _folded(wanted), _folded(known)
    if left == right:
        return 1.0
    shorter, longer = sorted((left, right), key=len)
    if longer.startswith(shorter) and len(shorter) >= _SHORTEST_START * len(longer):
        return 0.75 + 0.2 * len(shorter) / len(longer)
    return SequenceMatcher(None, left[:100], right, autojunk=False).ratio()


def _folded(key: str) -> str:
    return key.replace("_", "").replace("-", "").lower()
