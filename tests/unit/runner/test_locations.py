"""Shipped files are found by name; those that prove something have a folder of their own."""

from pathlib import Path

import pytest

from scaletest.profile import ProfileError
from scaletest_runner import locations
from scaletest_runner.completion import complete_profile
from scaletest_runner.locations import beside, profile_path, proving_profiles, shipped_name, shipped_profiles


@pytest.fixture
def ground(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a folder of shipped files with one profile of each kind and a catalog."""
    for name in ("dev-50.yaml", "proving/runway.yaml", "catalogs/gangs.yaml"):
        path = tmp_path / "shipped" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    monkeypatch.setattr(locations, "shipped", lambda: tmp_path / "shipped")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "shipped"


def test_a_proving_profile_is_named_with_its_folder(ground: Path) -> None:
    assert profile_path("proving/runway") == ground / "proving" / "runway.yaml"
    assert profile_path("dev-50") == ground / "dev-50.yaml"


def test_the_two_kinds_are_listed_apart(ground: Path) -> None:
    assert shipped_profiles() == [ground / "dev-50.yaml"]
    assert [shipped_name(path) for path in proving_profiles()] == ["proving/runway"]


@pytest.mark.parametrize("given", ["runway", "proving/runwya", "runaway"])
@pytest.mark.usefixtures("ground")
def test_a_slip_in_its_name_is_refused_with_the_whole_name(given: str) -> None:
    with pytest.raises(ProfileError, match=r"did you mean proving/runway\?"):
        profile_path(given)


@pytest.mark.parametrize("given", ["catalogs/gangs", "../shipped/dev-50", "proving/"])
@pytest.mark.usefixtures("ground")
def test_nothing_but_a_profile_has_such_a_name(given: str) -> None:
    with pytest.raises(ProfileError):
        profile_path(given)


def test_a_proving_profile_finds_the_shared_catalogs(ground: Path) -> None:
    assert beside(ground / "proving" / "runway.yaml", "catalogs", "gangs") == ground / "catalogs" / "gangs.yaml"


@pytest.mark.usefixtures("ground")
def test_the_shell_completes_both_kinds() -> None:
    assert list(complete_profile("")) == ["dev-50", "proving/runway", "shipped/"]
    assert list(complete_profile("proving/r")) == ["proving/runway"]
