"""Quantities as Kubernetes writes them: which texts are one, what each is worth, and how parts round."""

from fractions import Fraction

import pytest

from scaletest.model import QuantityError, Resources, parse_quantity


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("4", 4),
        ("007", 7),
        ("1.5", Fraction(3, 2)),
        ("1.", 1),
        (".5", Fraction(1, 2)),
        ("1n", Fraction(1, 10**9)),
        ("1u", Fraction(1, 10**6)),
        ("400m", Fraction(2, 5)),
        ("1k", 1000),
        ("1M", 10**6),
        ("1G", 10**9),
        ("1T", 10**12),
        ("1P", 10**15),
        ("1E", 10**18),
        ("1Ki", 1024),
        ("500Mi", 500 * 2**20),
        ("1.5Gi", 3 * 2**29),
        ("1Ti", 2**40),
        ("1Pi", 2**50),
        ("1Ei", 2**60),
        ("2e3", 2000),
        ("2E3", 2000),
        ("5e-1", Fraction(1, 2)),
        ("1e+2", 100),
        ("0.1", Fraction(1, 10)),
    ],
)
def test_a_quantity_is_worth_exactly_what_kubernetes_says(text: str, value: Fraction | int) -> None:
    assert parse_quantity(text) == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "-1",
        "+1",
        "1 Gi",
        " 1",
        "1\n",
        "Gi",
        ".",
        ".Gi",
        "1.2.3",
        "1K",
        "1ki",
        "1mi",
        "1GB",
        "1gi",
        "1e",
        "1e3Gi",
        "1eM",
        "0x10",
        "1_000",
        "1,5",
        "inf",
        "nan",
        "\u0661",  # an Arabic-Indic digit is a digit to Python, not to Kubernetes
    ],
)
def test_anything_else_is_refused_with_an_example_of_what_to_write(text: str) -> None:
    with pytest.raises(QuantityError, match="write it like 400m, 2, 500Mi or 16Gi"):
        parse_quantity(text)


@pytest.mark.parametrize(
    ("name", "text", "whole"),
    [
        ("cpu", "400m", 400),
        ("cpu", "2", 2000),
        ("cpu", "0.0001", 1),
        ("cpu", "1500u", 2),
        ("cpu", "1001u", 2),
        ("cpu", "1n", 1),
        ("memory", "1500m", 2),
        ("memory", "0.5", 1),
        ("memory", "1.5Ki", 1536),
        ("memory", "1m", 1),
        ("ephemeral-storage", "2.1", 3),
        ("nvidia.com/gpu", "8", 8),
        ("nvidia.com/gpu", "8.0", 8),
        ("nvidia.com/gpu", "1000m", 1),
    ],
)
def test_parts_of_a_millicore_or_a_byte_round_up(name: str, text: str, whole: int) -> None:
    assert Resources.parse({name: text})[name] == whole


@pytest.mark.parametrize("text", ["0.5", "500m", "1.5", "1e-1"])
def test_parts_of_a_device_are_refused(text: str) -> None:
    with pytest.raises(QuantityError, match=r"of nvidia.com/gpu: only whole devices can be requested"):
        Resources.parse({"nvidia.com/gpu": text})
