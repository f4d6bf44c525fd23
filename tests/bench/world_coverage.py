"""Which statements of engine and load run in one world only: what the other world's runs say nothing about.

Without arguments it plays the smoke profile in both worlds, every process measured, and compares; with two coverage
data files it only compares them. Statements that run when a module is imported are not counted.
"""

import argparse
import ast
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from coverage import Coverage, CoverageData

PROJECT = Path(__file__).parents[2]
ROOMS = ("scaletest/engine", "scaletest/load")
BAR = 0.05
WORLDS = {"sim": (), "kwok": ("--substrate", "kwok")}
_LONGEST = 100


class Statement:
    """One statement of a function's body; a compound one counts by its first lines alone."""

    def __init__(self, node: ast.stmt) -> None:
        inner = getattr(node, "body", None) or getattr(node, "cases", None)
        first_inside = getattr(inner[0], "lineno", 0) if inner else 0
        last = max(node.lineno, first_inside - 1) if inner else node.end_lineno or node.lineno
        self.line = node.lineno
        self.lines = range(node.lineno, last + 1)


def statements(source: str) -> Iterator[Statement]:
    """Yield what a module does when its functions are called."""
    for function in ast.walk(ast.parse(source)):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            for part in function.body:
                for node in ast.walk(part):
                    if isinstance(node, ast.stmt) and not _is_silent(node):
                        yield Statement(node)


def _is_silent(node: ast.stmt) -> bool:
    """Say whether no line is ever seen of a statement: a docstring, a declaration."""
    return isinstance(node, ast.Global | ast.Nonlocal) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    )


def ran(source: str, lines: set[int]) -> set[int]:
    """Return the statements that ran, each by its first line."""
    return {each.line for each in statements(source) if not lines.isdisjoint(each.lines)}


def measured(path: Path) -> CoverageData:
    """Read a data file."""
    data = CoverageData(str(path))
    data.read()
    return data


def compare(sim: CoverageData, kwok: CoverageData) -> float:
    """Print what ran in one world only; return its share of what ran at all."""
    only: Mapping[str, list[str]] = {"sim": [], "kwok": []}
    everything = 0
    for room in ROOMS:
        for path in sorted((PROJECT / room).rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            there, here = (ran(text, {*(data.lines(str(path)) or ())}) for data in (sim, kwok))
            everything += len(there | here)
            for world, lines in (("sim", there - here), ("kwok", here - there)):
                code, name = text.splitlines(), path.relative_to(PROJECT)
                only[world].extend(f"  {name}:{line}: {code[line - 1].strip()[:_LONGEST]}" for line in sorted(lines))
    for world, found in only.items():
        print(f"only in {world}: {len(found)}")
        print("\n".join(found))
    apart = sum(map(len, only.values()))
    share = apart / everything if everything else 1.0
    print(f"{apart} of {everything} statements ran in one world only: {share:.1%} (bar {BAR:.0%})")
    return share


def play(world: str, profile: str, folder: Path) -> Path:
    """Play a profile with every process measured; return the data file."""
    data = folder / f"{world}.coverage"
    settings = folder / f"{world}.ini"
    sources = "\n    ".join(str(PROJECT / room) for room in ROOMS)
    settings.write_text(f"[run]\nparallel = true\ndata_file = {data}\nsource =\n    {sources}\n", encoding="utf-8")
    # Driver and engine are processes of their own; each starts measuring before it does anything else.
    (folder / "sitecustomize.py").write_text("import coverage\n\ncoverage.process_startup()\n", encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(folder), "COVERAGE_PROCESS_START": str(settings)}
    command = [str(Path(sys.executable).with_name("scaletest")), "run", profile, *WORLDS[world]]
    # The verdict is not asked about here, and measuring slows everything down.
    ended = subprocess.run(command, cwd=PROJECT, env=environment, check=False, timeout=1800)
    if ended.returncode not in {0, 1, 3}:
        sys.exit(f"{' '.join(command)} ended with {ended.returncode}: there is nothing to compare")
    Coverage(config_file=str(settings)).combine()
    return data


def main() -> None:
    """Compare, and fail above the bar."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="*", type=Path, help="data files: of a simulated run, of a run on kwok")
    parser.add_argument("--profile", default="smoke")
    asked = parser.parse_args()
    if asked.data and len(asked.data) != len(WORLDS):
        parser.error("name two data files, or none")
    with TemporaryDirectory() as folder:
        files = asked.data or [play(world, asked.profile, Path(folder)) for world in WORLDS]
        share = compare(*map(measured, files))
    sys.exit(share > BAR)


if __name__ == "__main__":
    main()
