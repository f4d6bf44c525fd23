"""Checking files: the strict reader for all kinds, and demand realism for catalogs."""

import sys
from pathlib import Path

from scaletest.catalog import archetypes_of, realism_findings
from scaletest.model import Resources
from scaletest.model.findings import Severity
from scaletest.profile import Catalog, ProfileError, file_text, read_any
from scaletest_runner.exits import Exit

__all__ = ["check_files"]

_USUAL_DENSITY = 100
"""A catalog on its own has no density; every shipped profile uses this one."""


def check_files(files: list[str]) -> Exit:
    """Report every problem of every file and end with the worst outcome."""
    return max([_check(Path(name)) for name in files], default=Exit.PASS)


def _check(path: Path) -> Exit:
    try:
        reading = read_any(file_text(path), str(path))
    except ProfileError as error:
        sys.stderr.write(f"{error}\n")
        return Exit.REFUSED
    for problem in reading.warnings:
        sys.stderr.write(f"{problem}\n")
    refusals = _unreal(path, reading.value) if isinstance(reading.value, Catalog) else 0
    if refusals:
        return Exit.REFUSED
    sys.stdout.write(f"{path}: ok ({reading.value.kind} {reading.value.metadata.name})\n")
    return Exit.PASS


def _unreal(path: Path, catalog: Catalog) -> int:
    """Report unrealistic demand; return the number of refusals."""
    shapes = {name: Resources.parse(entry.resources) for name, entry in catalog.instance_types.items()}
    findings = list(realism_findings(archetypes_of(catalog), shapes, density=_USUAL_DENSITY))
    for finding in findings:
        sys.stderr.write(f"{path}: {finding.severity}: {finding}\n")
    return sum(finding.severity is Severity.REFUSE for finding in findings)
