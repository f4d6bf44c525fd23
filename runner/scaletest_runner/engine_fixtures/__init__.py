"""Engine fixtures: small worlds as data, played cycle by cycle against any implementation of the decisions."""

from scaletest_runner.engine_fixtures.play import Decider, Played, engine_decider, play
from scaletest_runner.engine_fixtures.reader import FixtureError, read_fixture
from scaletest_runner.engine_fixtures.values import Case, ChoiceCase, Expected, Fixture, RollupCase, Step, Variant

__all__ = [
    "Case",
    "ChoiceCase",
    "Decider",
    "Expected",
    "Fixture",
    "FixtureError",
    "Played",
    "RollupCase",
    "Step",
    "Variant",
    "engine_decider",
    "play",
    "read_fixture",
]
