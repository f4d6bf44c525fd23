"""The vocabulary every room shares: values only, no clock, no I/O, integers for time, money and resources."""

from scaletest.model.demand import Need, NeedProfile, Operator, Requirement, Spread, group_name
from scaletest.model.draws import Stream
from scaletest.model.instants import US_PER_SECOND, microseconds, seconds_text
from scaletest.model.machine import Attribution, CapacityType, Machine, MachineState
from scaletest.model.money import MICRO_USD, PenaltyBucket, micro_usd, penalty_bucket
from scaletest.model.quantity import QuantityError, parse_quantity
from scaletest.model.resources import Resources

__all__ = [
    "MICRO_USD",
    "US_PER_SECOND",
    "Attribution",
    "CapacityType",
    "Machine",
    "MachineState",
    "Need",
    "NeedProfile",
    "Operator",
    "PenaltyBucket",
    "QuantityError",
    "Requirement",
    "Resources",
    "Spread",
    "Stream",
    "group_name",
    "micro_usd",
    "microseconds",
    "parse_quantity",
    "penalty_bucket",
    "seconds_text",
]
