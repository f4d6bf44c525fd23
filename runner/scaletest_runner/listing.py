"""The shipped profiles as a list."""

from collections.abc import Iterable
from pathlib import Path

from rich.table import Table
from rich.text import Text

from scaletest.profile import file_text, read_profile
from scaletest_runner.locations import proving_profiles, shipped_name, shipped_profiles
from scaletest_runner.terminal import out, plain_table

__all__ = ["show_profiles"]


def show_profiles() -> None:
    """Print every shipped profile with its scale and what it is for; those made to show a defect apart."""
    out().print(_listed("profile", shipped_profiles()))
    if proving := proving_profiles():
        out().print(Text("\nMade to show what breaks without a rule (`scaletest prove`)\n"))
        out().print(_listed("proving profile", proving))


def _listed(title: str, paths: Iterable[Path]) -> Table:
    table = plain_table(title, "Pods", "clusters", "soak", "what it is for", right=("Pods", "clusters", "soak"))
    for path in paths:
        profile = read_profile(file_text(path), str(path)).value
        pods = profile.scale.machines * profile.scale.density
        clusters = -(-pods // profile.pods_per_cluster)
        minutes = f"{profile.soak_us / 60_000_000:,.4g} min"
        name = f"{shipped_name(path)} (plan only)" if profile.plan_only else shipped_name(path)
        table.add_row(name, f"{pods:,}", f"{clusters:,}", minutes, Text(profile.metadata.description))
    return table
