"""The corpus of good and bad files: each bad file ends with the problems that must be reported, exactly.

A line `#! 7:3 path: message; hint` at the end of a file expects that problem at line 7, column 3; warnings start with
`warning:`. A file is read under its case's name: `unknown-key.bad.yaml` as `unknown-key.yaml`.
"""

from pathlib import Path
from typing import Any

import pytest

from scaletest.profile import Problem, ProfileError, Severity, read_any
from scaletest.profile.document import parse_document
from scaletest.profile.file_rules import CATALOG_RULES, ENGINE_RULES, SUBSTRATE_RULES
from scaletest.profile.findings import Rule
from scaletest.profile.mismatch import tried
from scaletest.profile.reading import KINDS
from scaletest.profile.repair import repaired
from scaletest.profile.rules import PROFILE_RULES
from scaletest.profile.wording import _WORDS

_FOLDER = Path(__file__).parents[2] / "data" / "profiles"
_FILES = sorted(_FOLDER.glob("*.yaml"))
_RULES: dict[str, tuple[Rule[Any], ...]] = {
    "Profile": PROFILE_RULES,
    "Catalog": CATALOG_RULES,
    "Engine": ENGINE_RULES,
    "Substrate": SUBSTRATE_RULES,
}


def _expected(text: str) -> list[str]:
    return [line.removeprefix("#! ") for line in text.splitlines() if line.startswith("#! ")]


def _problems(path: Path) -> tuple[Problem, ...]:
    case = path.name.partition(".")[0]
    try:
        return read_any(path.read_text(encoding="utf-8"), f"{case}.yaml").warnings
    except ProfileError as error:
        return error.problems


@pytest.mark.parametrize("path", _FILES, ids=lambda path: path.name)
def test_reports_exactly_what_the_file_expects(path: Path) -> None:
    reported = [f"{problem.line}:{problem.column} {problem.text}" for problem in _problems(path)]
    expected = _expected(path.read_text(encoding="utf-8"))
    missing = [f"{path}:{line.split(':')[0]}: not reported: {line}" for line in expected if line not in reported]
    surplus = [f"{path}:{line.split(':')[0]}: not expected: {line}" for line in reported if line not in expected]
    assert not missing + surplus, "\n".join(["", *missing, *surplus])
    assert reported == expected


@pytest.mark.parametrize("path", [path for path in _FILES if ".good." in path.name], ids=lambda path: path.name)
def test_good_files_have_no_errors(path: Path) -> None:
    assert not [problem for problem in _problems(path) if problem.severity is Severity.ERROR]


def test_good_and_bad_files_come_in_pairs() -> None:
    names = {path.name for path in _FILES}
    assert names == {f"{name.partition('.')[0]}.{side}.yaml" for name in names for side in ("good", "bad")}


def test_bad_files_expect_something() -> None:
    bad = [path for path in _FILES if ".bad." in path.name]
    assert not [path.name for path in bad if not _expected(path.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("kind", _RULES)
def test_every_rule_has_a_case(kind: str) -> None:
    fired: set[Rule[Any]] = set()
    for path in _FILES:
        document = parse_document(path.read_text(encoding="utf-8"))
        if not isinstance(document.value, dict) or document.value.get("kind") != kind:
            continue
        whole = repaired(KINDS[kind], document.value, document.unusable)
        if whole is not None:
            fired |= {rule for rule in _RULES[kind] if any(rule(whole.value))}
    assert not [rule.__name__ for rule in _RULES[kind] if rule not in fired]


def test_every_kind_of_shape_error_has_words_and_a_case() -> None:
    seen: set[str] = set()
    for path in _FILES:
        value = parse_document(path.read_text(encoding="utf-8")).value
        for model in KINDS.values():
            seen |= {mismatch.type for mismatch in tried(model, value)[1]}
    assert seen == {*_WORDS, "missing", "extra_forbidden"}
