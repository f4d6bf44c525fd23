"""Rows and run.json: what is written comes back, and nothing else is taken for it."""

import json
from dataclasses import replace
from types import NoneType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaletest.evidence import Component, CycleRow, Marks, Phase, RunRecord
from scaletest.evidence.record import RECORD_VERSION, RecordError, _digest
from scaletest.evidence.rows import _TYPES, LEDGERS, Row, RowError, decode, decode_header, encode, header

_VALUES: dict[type, st.SearchStrategy[Any]] = {
    int: st.integers(0, 2**61),
    str: st.text(max_size=20),
    bool: st.booleans(),
    NoneType: st.none(),
}


def _rows(kind: type[Row]) -> st.SearchStrategy[Row]:
    """Return rows of a ledger, every field drawn."""
    fields = {name: st.one_of(*(_VALUES[each] for each in types)) for name, types in _TYPES[kind].items()}
    return st.builds(kind, **fields)


CYCLE = CycleRow(
    cycle=1, at_us=2, inputs_hash="h", duration_us=3, needs=4, gangs=5, shortfalls=6, oldest_shortfall_cycles=7
)
LINE = encode(CYCLE)


@given(st.sampled_from(sorted(LEDGERS)).flatmap(lambda ledger: _rows(LEDGERS[ledger])))
def test_a_row_survives_being_written(row: Row) -> None:
    line = encode(row)
    assert "\n" not in line
    kind: Any = type(row)
    assert decode(kind, line) == row


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("", "not JSON"),
        ("[]", "not a JSON object"),
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON"),
        (LINE[:-5], "not JSON"),
        ('{"cycle":1}', "is missing"),
        (LINE.replace('"needs":4', '"needs":NaN'), "not JSON"),
        (LINE.replace('"needs":4', '"needs":true'), "needs has the wrong type"),
        (LINE.replace('"needs":4', '"needs":4.0'), "needs has the wrong type"),
        (LINE.replace('"needs":4', '"needs":-4'), "needs is no number of this world"),
        (LINE.replace('"needs":4', '"needs":' + str(1 << 62)), "needs is no number of this world"),
        (LINE.replace('"needs":4', '"needs":' + "9" * 30), "needs has the wrong type"),
        (LINE.replace('"needs":4', '"needs":' + "9" * 5000), "not JSON"),
        (LINE.replace('"needs":4', '"needs":4,"more":1'), "unknown field 'more'"),
    ],
)
def test_a_line_that_is_no_row_is_refused(line: str, message: str) -> None:
    with pytest.raises(RowError, match=message):
        decode(CycleRow, line)


@pytest.mark.parametrize("ledger", sorted(LEDGERS))
def test_a_ledger_opens_with_its_own_header_of_this_version(ledger: str) -> None:
    decode_header(ledger, header(ledger))
    for wrong in ("", "null", "[]", "{}", header("other"), header(ledger).replace('"version":1', '"version":2')):
        with pytest.raises(RowError):
            decode_header(ledger, wrong)


RECORD = RunRecord(
    profile="p",
    world="sim",
    random_seed=1,
    plan_digest="d",
    epoch_ms=1_700_000_000_000,
    scrape_interval_us=15_000_000,
    targets=("engine",),
    marks=Marks(1, 2, 3),
    phases=(Phase("soak", 1, 2, "ok"), Phase("collect", 2, None, "failed", "why")),
    components=(Component("etcd", "substrate"), Component("kwok", "substrate", 5)),
    hashes={"metrics.om.gz": "00"},
    sealed=True,
)


def test_a_record_survives_being_written() -> None:
    assert RunRecord.from_json(RECORD.to_json()) == RECORD


def test_a_record_that_was_altered_by_hand_is_refused() -> None:
    with pytest.raises(RecordError, match="its own hash differs"):
        RunRecord.from_json(RECORD.to_json().replace('"soak_end_us": 2', '"soak_end_us": 4'))


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"version": 2}', "{}", "[" * 100_000])
def test_a_text_that_is_no_record_is_refused(text: str) -> None:
    with pytest.raises(RecordError):
        RunRecord.from_json(text)


@pytest.mark.parametrize(
    "wrong",
    [
        {"epoch_ms": 1.5},
        {"epoch_ms": 10**40},
        {"random_seed": True},
        {"scrape_interval_us": 0},
        {"profile": 7},
        {"targets": "engine"},
        {"targets": [1]},
        {"marks": {"soak_start_us": "1"}},
        {"marks": {"other_us": 1}},
        {"phases": [{"name": "soak", "start_us": "1", "end_us": 2, "outcome": "ok"}]},
        {"phases": [{"name": "soak", "start_us": 1, "end_us": 2, "outcome": []}]},
        {"components": [{"name": "etcd", "role": "substrate", "died_us": "then"}]},
        {"hashes": ["x"]},
        {"hashes": {"x": 1}},
        {"sealed": 1},
        {"unknown": 1},
    ],
    ids=str,
)
def test_a_field_of_the_wrong_type_is_refused_though_the_hash_is_right(wrong: dict[str, Any]) -> None:
    values = json.loads(RECORD.to_json()) | wrong
    del values["sha256"], values["version"]
    text = _written(values)
    with pytest.raises(RecordError, match=r"not|unexpected|missing|positive"):
        RunRecord.from_json(text)


def _written(values: dict[str, Any]) -> str:
    said = {"version": RECORD_VERSION, **values}
    return json.dumps({**said, "sha256": _digest(said)})


def test_a_field_that_is_gone_is_refused() -> None:
    values = json.loads(RECORD.to_json())
    for name in ("profile", "epoch_ms", "targets", "marks", "sealed"):
        said = {key: value for key, value in values.items() if key not in {name, "sha256", "version"}}
        with pytest.raises(RecordError):
            RunRecord.from_json(_written(said))


def test_a_record_in_the_making_is_readable_too() -> None:
    assert not RunRecord.from_json(replace(RECORD, sealed=False, marks=Marks()).to_json()).sealed


@given(st.sampled_from(sorted(LEDGERS)).flatmap(lambda ledger: _rows(LEDGERS[ledger])))
def test_a_line_is_canonical_json_without_the_defaults(row: Row) -> None:
    defaults = row._field_defaults
    said = {name: value for name, value in row._asdict().items() if name not in defaults or value != defaults[name]}
    assert encode(row) == json.dumps(said, sort_keys=True, separators=(",", ":"))


def test_a_value_of_a_type_that_no_row_has_is_written_as_json_would() -> None:
    assert '"needs":4.5,' in encode(CYCLE._replace(needs=4.5))  # type: ignore[arg-type]
    assert '"needs":true,' in encode(CYCLE._replace(needs=True))
    assert '"needs":null,' in encode(CYCLE._replace(needs=None))  # type: ignore[arg-type]


def test_fields_in_another_order_and_blanks_around_them_make_the_same_row() -> None:
    values = json.loads(LINE)
    assert decode(CycleRow, json.dumps(dict(reversed(values.items())))) == CYCLE
    assert decode(CycleRow, f" {LINE}\t") == CYCLE


@pytest.mark.parametrize("number", [-1, 1 << 62])
def test_a_shape_that_was_accepted_before_is_no_excuse_for_a_number(number: int) -> None:
    assert decode(CycleRow, LINE) == CYCLE
    with pytest.raises(RowError, match="needs is no number of this world"):
        decode(CycleRow, LINE.replace('"needs":4', f'"needs":{number}'))


def test_equal_texts_of_many_rows_are_held_once() -> None:
    line = encode(CYCLE._replace(inputs_hash="a text of some length"))
    assert decode(CycleRow, line).inputs_hash is decode(CycleRow, line).inputs_hash
