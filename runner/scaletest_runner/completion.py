"""Shell completion: shipped names, and files as the shell would have completed them."""

from collections.abc import Iterator
from pathlib import Path

__all__ = ["complete_profile"]


def complete_profile(incomplete: str) -> Iterator[str]:
    """Yield shipped profiles, YAML files and folders that start with what was typed."""
    from scaletest_runner.locations import proving_profiles, shipped_name, shipped_profiles

    names = [shipped_name(path) for path in (*shipped_profiles(), *proving_profiles())]
    yield from (name for name in names if name.startswith(incomplete))
    typed = Path(incomplete)
    folder = typed if incomplete.endswith("/") else typed.parent
    if not folder.is_dir():
        return
    for path in sorted(folder.iterdir()):
        name = f"{path}/" if path.is_dir() else str(path)
        if name.startswith(incomplete) and (path.is_dir() or path.suffix in {".yaml", ".yml"}):
            yield name
