"""YAML text to plain values that remember where they stood, with every structural problem found on the way.

Only the plain part of YAML gets through: one document of mappings with text keys, sequences and scalars. Anchors,
aliases, merge keys and tags are refused, because a file that is judged must say what it says where it says it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, Protocol, TypeAlias

import yaml

from scaletest.profile.problems import Path, printable, shown
from scaletest.profile.scalars import Refusal, Scalar, plain_scalar

__all__ = ["MOST_CHARACTERS", "Document", "Fault", "Mark", "Value", "parse_document"]

Value: TypeAlias = "Scalar | dict[str, Value] | tuple[Value, ...]"

MOST_CHARACTERS: Final = 2**20
_DEEPEST: Final = 50
_MOST_VALUES: Final = 20_000  # the largest shipped file has about 500; more only costs whoever reads it time
# What YAML allows in a stream; checked first so that both of PyYAML's parsers see the same text.
_FORBIDDEN: Final = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
_SURROGATES: Final = re.compile("[\ud800-\udfff]")
# The parser written in C is ten times faster and part of every wheel; the other one gives the same events.
_LOADER: Final[type[yaml.SafeLoader] | type[yaml.CSafeLoader]] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _YamlMark(Protocol):
    """A mark of either of PyYAML's parsers; both count from 0."""

    line: int
    column: int


@dataclass(frozen=True, slots=True, order=True)
class Mark:
    """A place in the text; both count from 1."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Fault:
    """A structural problem and the path it concerns."""

    mark: Mark
    path: Path
    message: str
    hint: str = ""


@dataclass(slots=True)
class Document:
    """Plain values with the marks of all keys and values, and the faults found while reading.

    `unusable` are the paths whose value is only a stand-in; `broken` means that the text was not read to its end.
    """

    value: Value = None
    values: dict[Path, Mark] = field(default_factory=dict)
    keys: dict[Path, Mark] = field(default_factory=dict)
    texts: dict[Path, str] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    unusable: set[Path] = field(default_factory=set)
    broken: bool = False

    def mark(self, path: Path) -> Mark:
        """Return where a path stands: its key, else its value, else the nearest thing around it."""
        for length in range(len(path), -1, -1):
            found = self.keys.get(path[:length]) or self.values.get(path[:length])
            if found:
                return found
        return Mark(1, 1)


@dataclass(slots=True)
class _Frame:
    """An open collection. `kept` is false below a key that is refused: problems are still found there."""

    path: Path
    items: "dict[str, Value] | list[Value]"
    kept: bool = True
    key: str | None = None
    key_kept: bool = True

    @property
    def wants_key(self) -> bool:
        return isinstance(self.items, dict) and self.key is None

    @property
    def next_path(self) -> Path:
        return (*self.path, len(self.items) if self.key is None else self.key)

    def put(self, value: Value) -> None:
        if isinstance(self.items, list):
            self.items.append(value)
            return
        if self.key_kept:
            self.items[self.key or ""] = value
        self.key = None

    def closed(self) -> Value:
        return tuple(self.items) if isinstance(self.items, list) else self.items


def parse_document(text: str) -> Document:
    """Return what the text holds; a text that is not YAML gives the faults up to the place where it breaks off."""
    builder = _Builder()
    text = text.removeprefix("\ufeff")
    forbidden = _FORBIDDEN.search(text)
    if len(text) > MOST_CHARACTERS:
        builder.stop(Mark(1, 1), f"the file is larger than {MOST_CHARACTERS} characters", "split it")
    elif forbidden:
        message = f"the character {shown(forbidden.group())} is not allowed in YAML"
        builder.stop(_mark_of(text, forbidden.start()), message, "remove it, or escape it in double quotes")
    else:
        _feed(builder, text)
    return builder.document


def _feed(builder: "_Builder", text: str) -> None:
    try:
        for event in _events(text):
            builder.take(event)
            if builder.document.broken:
                break
    except yaml.MarkedYAMLError as error:
        place = _place(error.problem_mark or error.context_mark)
        said = " ".join(filter(None, (error.context, error.problem)))
        builder.stop(place, f"this is not YAML: {printable(said)}", _syntax_hint(text, place))


def _events(text: str) -> Iterator[yaml.Event]:
    return yaml.parse(text, Loader=_LOADER)  # type: ignore[no-any-return, no-untyped-call, unused-ignore]


def _mark_of(text: str, position: int) -> Mark:
    before = text[:position]
    return Mark(before.count("\n") + 1, position - (before.rfind("\n") + 1) + 1)


def _place(mark: _YamlMark | None) -> Mark:
    return Mark(1, 1) if mark is None else Mark(mark.line + 1, mark.column + 1)


def _syntax_hint(text: str, place: Mark) -> str:
    line = (*text.splitlines(), "", "")[place.line - 1]
    indent = line[: len(line) - len(line.lstrip())]
    return "indent with spaces, never with tabs" if "\t" in indent else "check indentation and quotes"


def _refusal(event: yaml.ScalarEvent, value: Scalar | Refusal) -> Refusal | None:
    """Return why a scalar cannot be a value, or None."""
    if isinstance(value, Refusal):
        return Refusal(f"{shown(event.value)} {value.message}", value.hint)
    if not event.value and not event.style:
        return Refusal("no value is given", "give one, or leave the key out")
    if _SURROGATES.search(event.value):
        return Refusal(f"{shown(event.value)} holds half a character", "write the whole character")
    return None


def _key_refusal(text: str, value: Scalar | Refusal) -> Refusal | None:
    """Return why a scalar cannot be a key, or None."""
    quoted = f'write "{shown(text)[1:-1]}" in quotes'
    if isinstance(value, Refusal):
        return Refusal(f"the key {shown(text)} {value.message}", quoted)
    if not isinstance(value, str):
        return Refusal(f"the key {shown(text)} is not a text", quoted)
    if _SURROGATES.search(text):
        return Refusal(f"the key {shown(text)} holds half a character", "write the whole character")
    return None


class _Builder:
    """Takes parser events one by one; a stack instead of recursion, so depth is ours to limit."""

    def __init__(self) -> None:
        self.document = Document()
        self._stack: list[_Frame] = []
        self._documents = 0
        self._values = 0

    def fault(self, mark: Mark, path: Path, message: str, hint: str = "") -> None:
        self.document.faults.append(Fault(mark, path, message, hint))

    def stop(self, mark: Mark, message: str, hint: str) -> None:
        self.fault(mark, (), message, hint)
        self.document.broken = True

    def take(self, event: yaml.Event) -> None:
        mark = _place(event.start_mark)
        self._values += isinstance(event, yaml.NodeEvent)
        if self._values > _MOST_VALUES:
            self.stop(mark, f"there are more than {_MOST_VALUES} keys and values", "split the file")
        elif isinstance(event, yaml.DocumentStartEvent):
            self._start_document(mark)
        elif isinstance(event, yaml.AliasEvent):
            self._refuse_alias(event, mark)
        elif isinstance(event, yaml.ScalarEvent):
            self._refuse_decoration(event, mark)
            self._scalar(event, mark)
        elif isinstance(event, (yaml.MappingStartEvent, yaml.SequenceStartEvent)):
            self._refuse_decoration(event, mark)
            self._open(mark, {} if isinstance(event, yaml.MappingStartEvent) else [])
        elif isinstance(event, yaml.CollectionEndEvent):
            self._close()

    def _start_document(self, mark: Mark) -> None:
        self._documents += 1
        if self._documents > 1:
            self.stop(mark, "a second document starts here", "one file holds one document: split it")

    def _refuse_decoration(self, event: yaml.NodeEvent, mark: Mark) -> None:
        path = self._path
        if event.anchor is not None:
            self.fault(mark, path, f"anchors are not allowed: &{shown(event.anchor)[1:-1]}", "write the value out")
        tag = getattr(event, "tag", None)
        if tag is not None:
            self.fault(mark, path, f"tags are not allowed: {shown(tag)}", 'leave it out; quote a text: "5"')
            if isinstance(event, yaml.ScalarEvent):
                self.document.unusable.add(path)

    def _refuse_alias(self, event: yaml.AliasEvent, mark: Mark) -> None:
        alias = shown(event.anchor or "")[1:-1]
        self.fault(mark, self._path, f"aliases are not allowed: *{alias}", "write the value out")
        frame = self._stack[-1] if self._stack else None
        if frame and frame.wants_key:
            frame.key, frame.key_kept = "", False
        else:
            self.document.unusable.add(self._path)
            self._put(None, mark)

    @property
    def _path(self) -> Path:
        if not self._stack:
            return ()
        frame = self._stack[-1]
        return frame.path if frame.wants_key else frame.next_path

    @property
    def _kept(self) -> bool:
        return all((self._stack[-1].kept, self._stack[-1].key_kept)) if self._stack else True

    def _scalar(self, event: yaml.ScalarEvent, mark: Mark) -> None:
        value: Scalar | Refusal = event.value if event.style or event.tag else plain_scalar(event.value)
        if self._stack and self._stack[-1].wants_key:
            self._key(event.value, value, mark)
            return
        if self._kept:
            self.document.texts[self._path] = event.value
        refused = _refusal(event, value)
        if refused:
            self.fault(mark, self._path, refused.message, refused.hint)
            self.document.unusable.add(self._path)
        self._put(event.value if isinstance(value, Refusal) else value, mark)

    def _key(self, text: str, value: Scalar | Refusal, mark: Mark) -> None:
        frame = self._stack[-1]
        frame.key, frame.key_kept = text, False
        path = (*frame.path, text)
        refused = _key_refusal(text, value)
        if text == "<<":
            self.fault(mark, frame.path, "merge keys are not allowed", "write the values out")
        elif refused:
            self.fault(mark, path, refused.message, refused.hint)
            self.document.unusable.add(path)
        elif path in self.document.keys and frame.kept:
            first = self.document.keys[path]
            self.fault(mark, path, "the key is given twice", f"the first is at {first.line}:{first.column}")
        else:
            frame.key_kept = True
            if frame.kept:
                self.document.keys[path] = mark

    def _open(self, mark: Mark, items: "dict[str, Value] | list[Value]") -> None:
        if len(self._stack) >= _DEEPEST:
            self.stop(mark, f"nested deeper than {_DEEPEST} levels", "no file of ours needs that")
            return
        if self._stack and self._stack[-1].wants_key:
            self.fault(mark, self._stack[-1].path, "a collection cannot be a key", "keys are plain texts")
            self._stack[-1].key_kept = False
        elif self._kept:
            self.document.values[self._path] = mark
        self._stack.append(_Frame(self._path, items, kept=self._kept))

    def _close(self) -> None:
        closed = self._stack.pop()
        if self._stack and self._stack[-1].wants_key:
            self._stack[-1].key = ""  # a collection that stood as a key: refused, its value still to be read
        elif self._stack:
            self._stack[-1].put(closed.closed())
        else:
            self.document.value = closed.closed()

    def _put(self, value: Value, mark: Mark) -> None:
        if self._kept:
            self.document.values[self._path] = mark
        if self._stack:
            self._stack[-1].put(value)
        else:
            self.document.value = value
