import math

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from scaletest.profile.scalars import Refusal, Scalar, plain_scalar


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("true", True),
        ("False", False),
        ("null", None),
        ("~", None),
        ("-3", -3),
        ("+5", 5),
        ("0", 0),
        ("00", 0),
        ("0x1F", 31),
        ("0.024", 0.024),
        ("5.8e-6", 5.8e-6),
        ("1.5e+3", 1500.0),
        (".5", 0.5),
        ("1.", 1.0),
        ("-.inf", -math.inf),
        ("400m", "400m"),
        ("1.5Gi", "1.5Gi"),
        ("y", "y"),
        ("1.2.3", "1.2.3"),
        ("a:b", "a:b"),
        ("2026", 2026),
    ],
)
def test_scalars_that_both_versions_read_alike(text: str, value: Scalar) -> None:
    assert repr(plain_scalar(text)) == repr(value)


@pytest.mark.parametrize(
    "text",
    [
        "on off yes no On NO Yes OFF y: 12:30 12:30:00 1:20.5 -1:30 017 -017 08 0o17 0b11 0b_ 0x_ 1e3 1E3 5e-6 1.5e3",
        "-.5 1_000 1_0.5 0x_1 2026-11-16 2026-11-16T10:00:00 << = 1e999",
    ],
)
def test_scalars_that_the_versions_read_differently_are_refused(text: str) -> None:
    accepted = [word for word in text.split() if not isinstance(plain_scalar(word), Refusal)]
    assert accepted == ["y:"] * text.count("y:")


def test_a_refusal_says_both_readings_and_how_to_write_each() -> None:
    assert plain_scalar("017") == Refusal(
        "means the number 15 in YAML 1.1 and the number 17 in YAML 1.2",
        'write 15 or 17 or "017" in quotes for the text',
    )


@given(st.text("0123456789_:.eExXobBabcdefyntrusolfYNTF+-~<=", min_size=1, max_size=8))
def test_what_is_accepted_is_what_pyyaml_reads(text: str) -> None:
    value = plain_scalar(text)
    if isinstance(value, Refusal):
        return
    tag = yaml.SafeLoader("").resolve(yaml.ScalarNode, text, (True, False))  # type: ignore[no-untyped-call]
    node = yaml.ScalarNode(tag, text)
    assert repr(value) == repr(yaml.SafeLoader("").construct_object(node))


@given(st.text("0123456789_:.eE+-", min_size=1, max_size=8))
def test_the_forms_a_refusal_proposes_are_accepted(text: str) -> None:
    value = plain_scalar(text)
    if isinstance(value, Refusal) and value.message.startswith("means"):
        proposed = value.hint.removeprefix("write ").split(" or ")[:-1]
        assert not [each for each in proposed if not isinstance(plain_scalar(each), int | float)]
