"""The one place of this room that touches the disk: a file's text, or a problem that says why there is none."""

from pathlib import Path

from scaletest.profile.document import MOST_CHARACTERS
from scaletest.profile.problems import Problem, ProfileError

__all__ = ["file_text"]


def file_text(path: Path) -> str:
    """Return the text of a UTF-8 file of at most 1 MiB; raise ProfileError otherwise."""
    try:
        with path.open("rb") as file:
            content = file.read(MOST_CHARACTERS + 1)
    except FileNotFoundError:
        raise _unreadable(path, "there is no such file", "check the name") from None
    except IsADirectoryError:
        raise _unreadable(path, "this is a folder", "name a file in it") from None
    except PermissionError:
        raise _unreadable(path, "permission denied", "check who may read it") from None
    except (OSError, ValueError) as error:  # ValueError: a null character in the name
        raise _unreadable(path, f"it cannot be read: {error}", "check the name") from error
    if len(content) > MOST_CHARACTERS:
        raise _unreadable(path, f"it is larger than {MOST_CHARACTERS} bytes", "split it")
    return _decoded(path, content)


def _decoded(path: Path, content: bytes) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        before = content[: error.start]
        line, column = before.count(b"\n") + 1, error.start - (before.rfind(b"\n") + 1) + 1
        message = f"the byte 0x{content[error.start]:02x} is not UTF-8"
        raise ProfileError([Problem(str(path), line, column, "", message, "save the file as UTF-8")]) from None


def _unreadable(path: Path, message: str, hint: str) -> ProfileError:
    return ProfileError([Problem(str(path), 0, 0, "", message, hint)])
