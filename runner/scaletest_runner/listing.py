"""The shipped profiles as a list."""

from rich.text import Text

from scaletest.profile import file_text, read_profile
from scaletest_runner.locations import shipped_profiles
from scaletest_runner.terminal import out, plain_table

__all__ = ["show_profiles"]


def show_profiles() -> None:
    """Print every shipped profile with its scale and what it is for."""
    table = plain_table("profile", "Pods", "clusters", "soak", "what it is for", right=("Pods", "clusters", "soak"))
    for path in shipped_profiles():
        profile = read_profile(file_text(path), str(path)).value
        pods = profile.scale.machines * profile.scale.density
        clusters = -(-pods // profile.pods_per_cluster)
        minutes = f"{profile.soak_us / 60_000_000:,.4g} min"
        name = f"{path.stem} (plan only)" if profile.plan_only else path.stem
        table.add_row(name, f"{pods:,}", f"{clusters:,}", minutes, Text(profile.metadata.description))
    out().print(table)
