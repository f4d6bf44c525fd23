"""What a person sees: help texts and a whole plan, kept as files one can open. `make golden` accepts a change."""

import pytest
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode
from typer.testing import CliRunner

from sample_plans import TODAY
from scaletest_runner import inputs
from scaletest_runner.main import app


class TextFile(SingleFileSnapshotExtension):
    """One text file per golden output."""

    _write_mode = WriteMode.TEXT
    file_extension = "txt"


@pytest.fixture
def golden(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    return snapshot.use_extension(TextFile)


def output(*argv: str) -> str:
    result = CliRunner().invoke(app, argv, env={"COLUMNS": "160", "TERM": "dumb"}, prog_name="scaletest")
    # Trailing blanks are the terminal's business; the host's memory is this machine's.
    lines = [line.rstrip() for line in result.stdout.splitlines() if not line.startswith("Footprint")]
    return "\n".join([*lines, f"exit {result.exit_code}", ""])


@pytest.mark.parametrize(
    "command",
    [
        "",
        "plan",
        "run",
        "replay",
        "calibrate",
        "profiles",
        "validate",
        "schema",
        "clusters",
        "clusters destroy",
        "doctor",
        "toolchain",
    ],
)
def test_help(golden: SnapshotAssertion, command: str) -> None:
    assert output(*command.split(), "--help") == golden


@pytest.mark.parametrize("profile", ["dev-50", "dev-50-field", "scarcity-5k", "uber-5k"])
def test_plan(golden: SnapshotAssertion, profile: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "today", lambda: TODAY)
    assert output("plan", profile) == golden


def test_profiles(golden: SnapshotAssertion) -> None:
    assert output("profiles") == golden
