"""Attribution metadata: written, echoed, and read back after a restart."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaletest.model import Attribution, PenaltyBucket
from scaletest.model.attribution import PINNED_PENALTY_UUSD, attribution_metadata, penalty_uusd, read_attribution

AMOUNTS = st.one_of(st.integers(min_value=0, max_value=10**17), st.just(PINNED_PENALTY_UUSD))
MARKS = st.builds(
    Attribution,
    need_fingerprint=st.text(max_size=30),
    group=st.text(max_size=30),
    priority=st.integers(min_value=-(2**31), max_value=2**31 - 1),
    interruption_penalty_uusd=AMOUNTS,
    reclamation_penalty_uusd=AMOUNTS,
)


@given(mark=MARKS)
def test_what_is_written_is_read_back(mark: Attribution) -> None:
    assert read_attribution(attribution_metadata(mark)) == (mark, ())


def test_the_keys_are_the_contract() -> None:
    mark = Attribution("fp", "c/g", 1000, 500_000, PINNED_PENALTY_UUSD)

    assert attribution_metadata(mark) == {
        "bigfleet.lucy.sh/assigned-priority": "1000",
        "bigfleet.lucy.sh/assigned-interruption-penalty-dollars": "0.5",
        "bigfleet.lucy.sh/assigned-reclamation-penalty-dollars": "inf",
        "bigfleet.lucy.sh/assigned-need-fingerprint": "fp",
        "bigfleet.lucy.sh/assigned-group": "c/g",
    }


def test_a_missing_key_leaves_its_field_and_an_unknown_one_is_ignored() -> None:
    before = Attribution("fp", "c/g", 7)
    found = read_attribution({"bigfleet.lucy.sh/assigned-group": "c/h", "somebody/else": "1"}, onto=before)

    assert found == (Attribution("fp", "c/h", 7), ())


@pytest.mark.parametrize("text", ["", "many", "NaN", "-3", "1e400000"])
def test_an_unreadable_value_is_reported_and_the_others_apply(text: str) -> None:
    key = "bigfleet.lucy.sh/assigned-interruption-penalty-dollars"
    found, problems = read_attribution({key: text, "bigfleet.lucy.sh/assigned-priority": "9"})

    if text == "1e400000":
        assert found.interruption_penalty_uusd == PINNED_PENALTY_UUSD
    else:
        assert problems == (f"{key}: cannot read {text!r}",)
        assert found.interruption_penalty_uusd == 0
    assert found.priority == 9


def test_a_pinned_bucket_costs_more_than_any_other() -> None:
    assert penalty_uusd(PenaltyBucket(27)) == PINNED_PENALTY_UUSD > penalty_uusd(PenaltyBucket(26))
