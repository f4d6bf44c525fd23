import pytest

from scaletest.profile import ProfileError, read_profile
from scaletest_runner.locations import shipped

DEV_50 = (shipped() / "dev-50.yaml").read_text(encoding="utf-8")


def test_a_setting_stands_as_if_the_file_had_said_so() -> None:
    read = read_profile(DEV_50, "dev-50.yaml", settings=["loadProfile.soakSeconds=240", "world.rowOrder=sorted"])

    assert read.value.soak_us == 240_000_000
    assert read.value.world.row_order == "sorted"


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("soak", "soak: this is not a setting; write KEY=VALUE"),
        (".=1", "this is not a setting"),
        ("metadata.name.first=1", "metadata.name is no block of keys"),
        ("loadProfile.soakSecond=60", "did you mean soakSeconds?"),
        ("loadProfile.soakSeconds=long", "must be a number, not 'long'"),
    ],
)
def test_a_setting_that_makes_no_sense_is_refused_with_its_reason(setting: str, said: str) -> None:
    with pytest.raises(ProfileError, match=said.replace("?", r"\?").replace(".", r"\.")):
        read_profile(DEV_50, "dev-50.yaml", settings=[setting])
