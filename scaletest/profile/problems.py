"""What is wrong with a file, and where: every text that comes from the file is made safe for a terminal first."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Final, TypeAlias

__all__ = ["Path", "Problem", "ProfileError", "Severity", "path_text", "printable", "shown"]

Path: TypeAlias = tuple[str | int, ...]

_PLAIN_KEY: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*", re.ASCII)
_LONGEST_SHOWN: Final = 60


def printable(text: str) -> str:
    """Return the text with every character that could steer a terminal written as an escape."""
    return "".join(each if each.isprintable() else _escape(each) for each in text)


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def shown(text: str) -> str:
    """Return a text of the file as a message quotes it: escaped, and cut short when it is long."""
    cut = text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 1] + "…"
    return f"'{printable(cut)}'"


def path_text(path: Path) -> str:
    """Write a path as people do: `loadProfile.bursts[0].atSeconds`; keys with odd characters stand in brackets."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif _PLAIN_KEY.fullmatch(step):
            text += f".{step}" if text else step
        else:
            text += f"[{shown(step)}]"
    return text


class Severity(StrEnum):
    """Whether the file can be used in spite of the problem."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """One thing to mend: where it stands (line and column count from 1), what is wrong, and what to do about it.

    Line 0 means that the problem is of the file as a whole (it cannot be opened). All texts are printable.
    """

    file: str
    line: int
    column: int
    path: str
    message: str
    hint: str = ""
    severity: Severity = Severity.ERROR

    def __post_init__(self) -> None:
        # Done here and not by each writer, so that no raw control character can reach a terminal by any way out.
        for field in fields(self):
            value = getattr(self, field.name)
            if type(value) is str:
                object.__setattr__(self, field.name, printable(value))

    @property
    def place(self) -> str:
        """Return `file:line:column`, or the file alone when no line is at fault."""
        return f"{self.file}:{self.line}:{self.column}" if self.line else self.file

    @property
    def text(self) -> str:
        """Return what is wrong and what to do, without the place."""
        mark = "warning: " if self.severity is Severity.WARNING else ""
        path = f"{self.path}: " if self.path else ""
        hint = f"; {self.hint}" if self.hint else ""
        return f"{mark}{path}{self.message}{hint}"

    def __str__(self) -> str:
        return f"{self.place}: {self.text}"


class ProfileError(Exception):
    """A file that cannot be used; `problems` holds everything found in it, warnings too, in the order of the file."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(sorted(problems))
        super().__init__("\n".join(map(str, self.problems)))
