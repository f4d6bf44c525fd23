"""What every block of every file shares: strict types, no unknown keys, names that are safe in paths."""

from typing import Annotated

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema
from pydantic.alias_generators import to_camel

from scaletest.model import QuantityError, parse_quantity
from scaletest.profile.spellings import NAME

__all__ = [
    "Block",
    "Count",
    "Latency",
    "Metadata",
    "Name",
    "PositiveCount",
    "PositiveNumber",
    "Quantity",
    "Seconds",
    "Share",
]

_LARGEST_COUNT = 10**9
_LONGEST_SECONDS = 10**8


class Block(BaseModel):
    """A mapping of a file: keys in camelCase, values of exactly the stated type, frozen once read."""

    model_config = ConfigDict(
        strict=True,
        extra="forbid",
        frozen=True,
        alias_generator=to_camel,
        allow_inf_nan=False,
        defer_build=True,
    )


def _quantity(text: str) -> str:
    try:
        parse_quantity(text)
    except QuantityError as error:
        raise ValueError(str(error)) from None
    return text


def _quantity_text(value: object) -> str:
    # Kubernetes users write `cpu: 4` and `cpu: 0.5` without quotes; a boolean is a number to Python but not to them.
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError("must be a Kubernetes quantity; write it like 400m, 2, 500Mi or 16Gi")  # noqa: TRY004 (pydantic)
    return value if isinstance(value, str) else repr(value)


Name = Annotated[str, Field(pattern=NAME)]
Quantity = Annotated[
    str,
    BeforeValidator(_quantity_text),
    AfterValidator(_quantity),
    WithJsonSchema({"type": ["string", "number"], "examples": ["400m", 2, "16Gi"]}),
]
Count = Annotated[int, Field(ge=0, le=_LARGEST_COUNT)]
PositiveCount = Annotated[int, Field(ge=1, le=_LARGEST_COUNT)]
Seconds = Annotated[float, Field(ge=0, le=_LONGEST_SECONDS)]
PositiveNumber = Annotated[float, Field(gt=0, le=_LONGEST_SECONDS)]
Share = Annotated[float, Field(ge=0, le=1)]


class Metadata(Block):
    """Who a file is."""

    name: Name
    """Short name, equal to the file's name without its ending."""
    description: str = ""
    """One or two sentences for a person choosing between files."""


class Latency(Block):
    """A lognormal duration given by its median and its 99th percentile, both in seconds."""

    p50_seconds: Seconds
    """Half of the operations take no longer than this."""
    p99_seconds: Seconds
    """All but one in a hundred take no longer than this; at least the median."""
