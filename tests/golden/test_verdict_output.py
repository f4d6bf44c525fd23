"""One rich verdict in every format, kept as files one can open. `make golden` accepts a change."""

from io import StringIO

import pytest
from rich.console import Console
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode
from verdict_examples import EXAMPLE, RECORD

from scaletest.report.junit import junit_text
from scaletest.report.markdown import markdown_text
from scaletest.report.summary_json import summary_text
from scaletest.report.verdict_json import verdict_text
from scaletest_runner.verdict_view import print_verdict


class JsonFile(SingleFileSnapshotExtension):
    """One JSON file per golden output."""

    _write_mode = WriteMode.TEXT
    file_extension = "json"


class XmlFile(JsonFile):
    """One XML file per golden output."""

    file_extension = "xml"


class MarkdownFile(JsonFile):
    """One Markdown file per golden output."""

    file_extension = "md"


class TextFile(JsonFile):
    """One text file per golden output."""

    file_extension = "txt"


def test_verdict_json(snapshot: SnapshotAssertion) -> None:
    assert verdict_text(EXAMPLE) == snapshot.use_extension(JsonFile)


def test_summary_json(snapshot: SnapshotAssertion) -> None:
    assert summary_text(EXAMPLE, RECORD) == snapshot.use_extension(JsonFile)


def test_junit_xml(snapshot: SnapshotAssertion) -> None:
    assert junit_text(EXAMPLE, RECORD) == snapshot.use_extension(XmlFile)


def test_summary_md(snapshot: SnapshotAssertion) -> None:
    assert markdown_text(EXAMPLE) == snapshot.use_extension(MarkdownFile)


@pytest.mark.parametrize("width", [80, 160])
def test_terminal(snapshot: SnapshotAssertion, width: int) -> None:
    file = StringIO()
    print_verdict(EXAMPLE, Console(file=file, width=width, highlight=False))
    text = "\n".join(line.rstrip() for line in file.getvalue().splitlines()) + "\n"
    assert text == snapshot.use_extension(TextFile)
