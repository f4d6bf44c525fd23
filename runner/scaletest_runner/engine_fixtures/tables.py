"""YAML mappings that know where they stand and complain about every key they do not know."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, TypeVar

import yaml

__all__ = ["FixtureError", "Table", "load"]

T = TypeVar("T")

_LINE: Final = "__line__"


class FixtureError(ValueError):
    """A fixture that cannot be read; the message starts with file:line."""


class _Loader(yaml.SafeLoader):
    """The safe loader, with the line of every mapping kept and doubled keys refused."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[object, object]:  # noqa: FBT001, FBT002
        keys = [key.value for key, _ in node.value]
        doubled = sorted({key for key in keys if keys.count(key) > 1})
        if doubled:
            raise yaml.constructor.ConstructorError(None, None, f"key {doubled[0]!r} twice", node.start_mark)
        found = super().construct_mapping(node, deep=deep)
        return {_LINE: node.start_mark.line + 1, **found}


class Table:
    """One mapping of a file. Values are taken out by key; `done` refuses what nobody took."""

    def __init__(self, path: str, data: object, *, line: int = 1) -> None:
        if not isinstance(data, dict):
            raise FixtureError(f"{path}:{line}: a mapping is needed here, not {data!r}")
        self.path = path
        self.line = int(data.get(_LINE, line))
        self._left = {str(key): value for key, value in data.items() if key != _LINE}

    def fail(self, sentence: str) -> FixtureError:
        """Return an error that points here."""
        return FixtureError(f"{self.path}:{self.line}: {sentence}")

    def take(self, key: str, read: Callable[[object], T], default: T) -> T:
        """Return a value read, or the default if the key is missing or empty."""
        if self._left.get(key) is None:
            self._left.pop(key, None)
            return default
        value = self._left.pop(key)
        try:
            return read(value)
        except FixtureError:
            raise
        except (ValueError, TypeError, KeyError) as error:
            raise self.fail(f"{key}: {error}") from error

    def has(self, key: str) -> bool:
        """Say whether a key is written, even with nothing behind it."""
        return key in self._left

    def raw(self, key: str) -> object:
        """Take a value as it is."""
        return self._left.pop(key, None)

    def table(self, key: str) -> "Table":
        """Take a mapping, or an empty one."""
        return Table(self.path, self._left.pop(key, None) or {}, line=self.line)

    def tables(self, key: str) -> list["Table"]:
        """Take a list of mappings, or none."""
        found = self._left.pop(key, None) or []
        if not isinstance(found, list):
            raise self.fail(f"{key} must be a list")
        return [Table(self.path, item, line=self.line) for item in found]

    def items(self) -> Iterator[tuple[str, object]]:
        """Take everything that is left."""
        left, self._left = self._left, {}
        return iter(left.items())

    def done(self) -> None:
        """Refuse keys that nobody asked for."""
        if self._left:
            raise self.fail(f"unknown key {min(self._left)!r}")


def load(path: Path) -> Table:
    """Read a file into its outermost mapping."""
    try:
        data = yaml.load(path.read_text(encoding="utf-8"), Loader=_Loader)  # noqa: S506  # a SafeLoader with lines
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise FixtureError(f"{path}:{line}: {error.problem}") from error
    return Table(str(path), data)
