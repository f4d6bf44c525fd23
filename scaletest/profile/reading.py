"""From the text of a file to its typed value, or to everything that is wrong with it, in one go.

Four layers find problems: the text itself (`document`), the shape of the blocks (`wording`), contradictions between
values (`rules`, `file_rules`) and the file's own name. All are reported together, in the order of the file.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Final, Generic, TypeAlias, TypeVar

from scaletest.profile.catalog import Catalog
from scaletest.profile.document import Document, Mark, parse_document
from scaletest.profile.engine import EngineManifest
from scaletest.profile.file_rules import CATALOG_RULES, ENGINE_RULES, SUBSTRATE_RULES
from scaletest.profile.findings import Finding, Rule
from scaletest.profile.keys import closest, fields_by_key
from scaletest.profile.mismatch import tried
from scaletest.profile.overrides import with_settings
from scaletest.profile.problems import Path, Problem, ProfileError, Severity, path_text, shown
from scaletest.profile.profile import Profile
from scaletest.profile.repair import repaired
from scaletest.profile.rules import PROFILE_RULES
from scaletest.profile.substrate import Substrate
from scaletest.profile.wording import ShapeError, shape_errors

__all__ = ["KINDS", "AnyFile", "Reading", "read_any", "read_catalog", "read_engine", "read_profile", "read_substrate"]

AnyFile: TypeAlias = Profile | Catalog | EngineManifest | Substrate
FileT = TypeVar("FileT", Profile, Catalog, EngineManifest, Substrate)
FileT_co = TypeVar("FileT_co", bound=AnyFile, covariant=True)

KINDS: Final[dict[str, type[AnyFile]]] = {
    "Profile": Profile,
    "Catalog": Catalog,
    "Engine": EngineManifest,
    "Substrate": Substrate,
}


@dataclass(frozen=True, slots=True)
class Reading(Generic[FileT_co]):
    """A file that can be used, and what a person should know about it all the same."""

    value: FileT_co
    warnings: tuple[Problem, ...] = ()


def read_profile(text: str, file: str, *, settings: Iterable[str] = ()) -> Reading[Profile]:
    """Return the profile in the text; raise ProfileError with all its problems. `file` is the name to report.

    `settings` are single values that stand instead of the file's.
    """
    return _read(Profile, PROFILE_RULES, with_settings(parse_document(text), settings), file=file)


def read_catalog(text: str, file: str) -> Reading[Catalog]:
    """Return the catalog in the text; raise ProfileError with all its problems. `file` is the name to report."""
    return _read(Catalog, CATALOG_RULES, parse_document(text), file=file)


def read_engine(text: str, file: str) -> Reading[EngineManifest]:
    """Return the engine in the text; raise ProfileError with all its problems. `file` is the name to report."""
    return _read(EngineManifest, ENGINE_RULES, parse_document(text), file=file)


def read_substrate(text: str, file: str) -> Reading[Substrate]:
    """Return the substrate in the text; raise ProfileError with all its problems. `file` is the name to report."""
    return _read(Substrate, SUBSTRATE_RULES, parse_document(text), file=file)


def read_any(text: str, file: str) -> Reading[AnyFile]:
    """Return whatever the text's `kind` says it is; raise ProfileError with all its problems."""
    document = parse_document(text)
    match _likely_kind(document):
        case "Catalog":
            return _read(Catalog, CATALOG_RULES, document, file=file)
        case "Engine":
            return _read(EngineManifest, ENGINE_RULES, document, file=file)
        case "Substrate":
            return _read(Substrate, SUBSTRATE_RULES, document, file=file)
        case _:
            return _read(Profile, PROFILE_RULES, document, file=file)


def _kind(document: Document) -> object:
    return document.value.get("kind") if isinstance(document.value, dict) else None


def _likely_kind(document: Document) -> str:
    """Return the kind a file says it is; if it does not say, the one whose keys it has."""
    kind = _kind(document)
    near = closest(kind, list(KINDS)) if isinstance(kind, str) else None
    keys = document.value if isinstance(document.value, dict) else {}
    return near or max(KINDS, key=lambda each: sum(key in keys for key in fields_by_key(KINDS[each])))


def _read(model: type[FileT], rules: tuple[Rule[FileT], ...], document: Document, *, file: str) -> Reading[FileT]:
    problems: list[Problem] = list(_fault_problems(document, file))
    if document.broken:
        raise ProfileError(problems)
    stopper = _not_this_kind(model, document, file)
    if stopper:
        raise ProfileError([*problems, stopper])
    value, mismatches = tried(model, document.value)
    errors = shape_errors(model, document, mismatches)
    problems += [_problem(file, error.mark, error.path, error.message, error.hint) for error in errors]
    faulty = _faulty(document, errors)
    findings = list(_findings(model, rules, document, faulty=faulty, file=file))
    problems += [_finding_problem(document, finding, file) for finding in findings]
    if value is None or any(problem.severity is Severity.ERROR for problem in problems):
        raise ProfileError(problems)
    return Reading(value, tuple(sorted(problems)))


def _not_this_kind(model: type[AnyFile], document: Document, file: str) -> Problem | None:
    """Return the one problem that makes all others pointless: this is no file of ours, or one of another kind."""
    mark = document.values.get((), Mark(1, 1))
    if document.value is None and not document.faults:
        return _problem(file, mark, (), "the file is empty", "see profiles/ for examples")
    if not isinstance(document.value, dict):
        return _problem(file, mark, (), "the file must be a block of keys", "start with apiVersion, kind and metadata")
    kind = _kind(document)
    wanted = next(name for name, known in KINDS.items() if known is model)
    if isinstance(kind, str) and kind in KINDS and kind != wanted:
        message = f"this file is of kind {kind}, and one of kind {wanted} is wanted here"
        return _problem(file, _value_mark(document, ("kind",)), ("kind",), message, f"name a {wanted} file")
    return None


def _faulty(document: Document, errors: Iterable[ShapeError]) -> set[Path]:
    faulty = {fault.path for fault in document.faults} | document.unusable
    for error in errors:
        faulty |= {error.path, error.meant or error.path}
    return faulty


def _findings(
    model: type[FileT], rules: tuple[Rule[FileT], ...], document: Document, *, faulty: set[Path], file: str
) -> Iterator[Finding]:
    whole = repaired(model, document.value, faulty)
    if whole is None:
        return
    for rule in (*rules, _name_rule(file)):
        for finding in rule(whole.value):
            reads = tuple(whole.original(path) for path in finding.reads)
            if not any(_touch(path, fault) for path in reads for fault in faulty):
                yield Finding(reads, finding.message, finding.hint, finding.severity)


def _name_rule(file: str) -> Rule[Any]:
    stem = PurePath(file).stem

    def name_is_the_files(value: AnyFile) -> Iterator[Finding]:
        if value.metadata.name != stem:
            message = f"the file is called {shown(stem)}, the name says {shown(value.metadata.name)}"
            yield Finding.error("metadata.name", message, "make them equal: files are found by name")

    return name_is_the_files


def _touch(path: Path, fault: Path) -> bool:
    shorter = min(len(path), len(fault))
    return path[:shorter] == fault[:shorter]


def _fault_problems(document: Document, file: str) -> Iterator[Problem]:
    for fault in document.faults:
        yield _problem(file, fault.mark, fault.path, fault.message, fault.hint)


def _finding_problem(document: Document, finding: Finding, file: str) -> Problem:
    # The first path that the file itself writes: the reader can change that line, a default has none.
    written = next((path for path in finding.reads if path in document.values), finding.reads[0])
    mark = _value_mark(document, written)
    return _problem(file, mark, finding.reads[0], finding.message, finding.hint, severity=finding.severity)


def _value_mark(document: Document, path: Path) -> Mark:
    return document.values.get(path) or document.mark(path)


def _problem(
    file: str, mark: Mark, path: Path, message: str, hint: str, *, severity: Severity = Severity.ERROR
) -> Problem:
    return Problem(file, mark.line, mark.column, path_text(path), message, hint, severity)
