"""Attribution as the provider stores it: a map of texts written at Configure, echoed verbatim, read after a restart."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from typing import Final

from scaletest.model.demand import NeedProfile
from scaletest.model.machine import Attribution
from scaletest.model.money import MICRO_USD, PenaltyBucket

__all__ = [
    "GROUP_KEY",
    "INTERRUPTION_KEY",
    "NEED_FINGERPRINT_KEY",
    "PINNED_PENALTY_UUSD",
    "PRIORITY_KEY",
    "RECLAMATION_KEY",
    "attribution_for",
    "attribution_metadata",
    "penalty_uusd",
    "read_attribution",
]

_PREFIX: Final = "bigfleet.lucy.sh/assigned-"
PRIORITY_KEY: Final = f"{_PREFIX}priority"
INTERRUPTION_KEY: Final = f"{_PREFIX}interruption-penalty-dollars"
RECLAMATION_KEY: Final = f"{_PREFIX}reclamation-penalty-dollars"
NEED_FINGERPRINT_KEY: Final = f"{_PREFIX}need-fingerprint"
GROUP_KEY: Final = f"{_PREFIX}group"

PINNED_PENALTY_UUSD: Final = 10**18
"""The penalty of the pinned bucket: a million million dollars, above every bound and still a whole number."""


def penalty_uusd(bucket: PenaltyBucket) -> int:
    """Return what a bucket costs at most, as an attribution carries it."""
    bound_uusd = bucket.bound_uusd
    return PINNED_PENALTY_UUSD if bound_uusd is None else bound_uusd


def attribution_for(profile: NeedProfile, group: str) -> Attribution:
    """Return what a machine is stamped with when it is configured for a row."""
    return Attribution(
        need_fingerprint=profile.fingerprint,
        group=group,
        priority=profile.priority,
        interruption_penalty_uusd=penalty_uusd(profile.interruption),
        reclamation_penalty_uusd=penalty_uusd(profile.reclamation),
    )


def attribution_metadata(attribution: Attribution) -> dict[str, str]:
    """Write an attribution as the map the provider keeps beside the binding."""
    return {
        PRIORITY_KEY: str(attribution.priority),
        INTERRUPTION_KEY: _dollars_text(attribution.interruption_penalty_uusd),
        RECLAMATION_KEY: _dollars_text(attribution.reclamation_penalty_uusd),
        NEED_FINGERPRINT_KEY: attribution.need_fingerprint,
        GROUP_KEY: attribution.group,
    }


def read_attribution(
    metadata: Mapping[str, str], *, onto: Attribution | None = None
) -> tuple[Attribution, tuple[str, ...]]:
    """Return the attribution the map describes, and one sentence for each value that could not be read.

    A missing key leaves its field as it is in `onto`; an unknown key is ignored; an unreadable value is skipped and
    the other fields still apply.
    """
    found = onto or Attribution(need_fingerprint="")
    problems = []
    for key, (field, read) in _READERS.items():
        if key not in metadata:
            continue
        try:
            found = replace(found, **{field: read(metadata[key])})  # type: ignore[arg-type]  # _READERS pairs them
        except (ValueError, InvalidOperation, OverflowError):
            problems.append(f"{key}: cannot read {metadata[key]!r}")
    return found, tuple(problems)


def _dollars_text(amount_uusd: int) -> str:
    if amount_uusd >= PINNED_PENALTY_UUSD:
        return "inf"
    return f"{(Decimal(amount_uusd) / MICRO_USD).normalize():f}"


def _read_dollars(text: str) -> int:
    dollars = Decimal(text)
    if dollars.is_nan() or dollars < 0:
        raise ValueError(text)
    if dollars.is_infinite() or dollars * MICRO_USD >= PINNED_PENALTY_UUSD:
        return PINNED_PENALTY_UUSD
    return round(dollars * MICRO_USD)


_READERS: Final[Mapping[str, tuple[str, Callable[[str], object]]]] = {
    PRIORITY_KEY: ("priority", int),
    INTERRUPTION_KEY: ("interruption_penalty_uusd", _read_dollars),
    RECLAMATION_KEY: ("reclamation_penalty_uusd", _read_dollars),
    NEED_FINGERPRINT_KEY: ("need_fingerprint", str),
    GROUP_KEY: ("group", str),
}
