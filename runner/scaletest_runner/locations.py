"""Where files are: the shipped profiles, and what a profile names beside itself."""

from difflib import get_close_matches
from pathlib import Path

from scaletest.profile import Problem, ProfileError

__all__ = ["beside", "profile_path", "proving_profiles", "shipped", "shipped_name", "shipped_profiles"]

_PROVING = "proving"


def shipped() -> Path:
    """Return the folder of the shipped files: inside the package when installed, in the repository otherwise."""
    packaged = Path(__file__).parent / "profiles"
    return packaged if packaged.is_dir() else Path(__file__).parents[2] / "profiles"


def shipped_profiles() -> list[Path]:
    """Return the shipped profiles by name, without those that only prove something."""
    return sorted(shipped().glob("*.yaml"))


def proving_profiles() -> list[Path]:
    """Return the shipped worlds that were made to show a defect, by name."""
    return sorted((shipped() / _PROVING).glob("*.yaml"))


def shipped_name(path: Path) -> str:
    """Return the name by which a shipped profile is asked for: `dev-50`, `proving/runway`."""
    return path.relative_to(shipped()).with_suffix("").as_posix()


def profile_path(given: str) -> Path:
    """Return the profile that was named: a file, or the name of a shipped one."""
    path = Path(given)
    if path.suffix in {".yaml", ".yml"} or path.exists():
        return path
    by_name = {shipped_name(each): each for each in (*shipped_profiles(), *proving_profiles())}
    if given in by_name:
        return by_name[given]
    by_word = {each.stem: shipped_name(each) for each in proving_profiles()} | {name: name for name in by_name}
    near = get_close_matches(given, by_word, n=1)
    hint = f"did you mean {by_word[near[0]]}?" if near else "run `scaletest profiles` to see the shipped ones"
    raise ProfileError([Problem(given, 0, 0, "", "there is no such file and no shipped profile of this name", hint)])


def beside(profile: Path | None, folder: str, given: str) -> Path:
    """Return a catalog, engine or substrate: a file, or a name looked up beside the profile, then among the shipped."""
    path = Path(given)
    if path.suffix in {".yaml", ".yml"}:
        return path
    folders = [shipped() / folder] if profile is None else [profile.parent / folder, shipped() / folder]
    for candidate in folders:
        if (candidate / f"{given}.yaml").is_file():
            return candidate / f"{given}.yaml"
    names = sorted({file.stem for candidate in folders for file in candidate.glob("*.yaml")})
    near = get_close_matches(given, names, n=1)
    hint = f"did you mean {near[0]}?" if near else f"there is {', '.join(names) or 'none'}"
    place = str(profile) if profile else folder
    raise ProfileError([Problem(place, 0, 0, "", f"no {given}.yaml in {folder}/", hint)])
