"""What counts as having run in a world, and what the comparison makes of it."""

from pathlib import Path

import pytest
from coverage import CoverageData

from bench import world_coverage
from bench.world_coverage import compare, ran, statements

_SOURCE = '''"""A module."""

LIMIT = 3


def work(items):
    """Do it."""
    global LIMIT
    total = sum(
        each
        for each in items
    )
    if (total
            > LIMIT):
        for each in items:
            total -= each
    else:
        total = 0
    try:
        return total
    finally:
        LIMIT += 1
'''


def test_statements_are_those_of_functions_and_count_once_whatever_their_lines() -> None:
    assert sorted(each.line for each in statements(_SOURCE)) == [9, 13, 15, 16, 18, 19, 20, 22]
    assert ran(_SOURCE, {1, 3, 6, 10, 14}) == {9, 13}
    assert ran(_SOURCE, {3, 6, 8}) == set()


def _data(path: Path, lines: dict[str, set[int]]) -> CoverageData:
    data = CoverageData(str(path))
    data.add_lines(lines)
    return data


def test_what_ran_in_one_world_only_is_listed_with_its_share(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(world_coverage, "PROJECT", tmp_path)
    module = tmp_path / "scaletest" / "load" / "work.py"
    module.parent.mkdir(parents=True)
    module.write_text(_SOURCE, encoding="utf-8")
    both = {9, 13, 19, 20, 22}
    sim = _data(tmp_path / "sim", {str(module): both | {15, 16}})
    kwok = _data(tmp_path / "kwok", {str(module): both | {18}})

    share = compare(sim, kwok)

    printed = capsys.readouterr().out.splitlines()
    assert printed == [
        "only in sim: 2",
        "  scaletest/load/work.py:15: for each in items:",
        "  scaletest/load/work.py:16: total -= each",
        "only in kwok: 1",
        "  scaletest/load/work.py:18: total = 0",
        "3 of 8 statements ran in one world only: 37.5% (bar 5%)",
    ]
    assert share == 3 / 8


def test_two_runs_of_which_nothing_was_measured_are_no_agreement(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(world_coverage, "PROJECT", tmp_path)

    assert compare(_data(tmp_path / "sim", {}), _data(tmp_path / "kwok", {})) == 1.0
