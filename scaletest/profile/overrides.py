"""Single values set from outside a file: `loadProfile.soakSeconds=60` stands as if the file had said so."""

from collections.abc import Iterable

from scaletest.profile.document import Document, Mark, Value, parse_document
from scaletest.profile.problems import Problem, ProfileError

__all__ = ["with_settings"]

_OUTSIDE = Mark(0, 0)


def with_settings(document: Document, settings: Iterable[str]) -> Document:
    """Return the document with values replaced or added; raise ProfileError for a setting that cannot be read."""
    for setting in settings:
        key, equals, text = setting.partition("=")
        value = parse_document(text)
        if not equals or not all(key.split(".")) or value.faults:
            raise _problem(setting, "this is not a setting", "write KEY=VALUE, for example loadProfile.soakSeconds=60")
        _put(document, key.split("."), value.value, setting)
        document.texts[tuple(key.split("."))] = text
    return document


def _put(document: Document, path: list[str], value: Value, setting: str) -> None:
    block = document.value
    for depth, key in enumerate(path):
        if not isinstance(block, dict):
            said = ".".join(path[:depth])
            raise _problem(setting, f"{said} is no block of keys", "set the whole list or value in the file")
        if depth == len(path) - 1:
            block[key] = value
        else:
            block = block.setdefault(key, {})
        document.values[tuple(path[: depth + 1])] = _OUTSIDE


def _problem(setting: str, message: str, hint: str) -> ProfileError:
    return ProfileError([Problem("--set", 0, 0, setting, message, hint)])
