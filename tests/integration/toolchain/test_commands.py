"""`scaletest toolchain` and `scaletest doctor` as a user runs them."""

import subprocess
import sys
from pathlib import Path

import pytest

from toolchain_ground import SAID, Ground

_SCALETEST = Path(sys.executable).with_name("scaletest")


def _run(ground: Ground, *argv: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [_SCALETEST, *argv],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env=ground.environ(),
        stdin=subprocess.DEVNULL,
    )


def test_status_shows_every_program_with_version_and_source(ground: Ground) -> None:
    ground.add_all(ground.root / "named")

    done = _run(ground, "toolchain", "status", "--from", str(ground.root / "named"))

    rows = [line.split() for line in done.stdout.splitlines()]
    assert done.returncode == 0
    assert [row[0] for row in rows[1:11]] == list(SAID)
    assert [row[1] for row in rows if row[0] == "kubectl"] == ["1.36.4"]
    assert all("folder" in row for row in rows[1:11])


def test_status_of_nothing_names_the_command_that_fixes_it(ground: Ground) -> None:
    done = _run(ground, "toolchain", "status")

    assert done.returncode == 4
    assert "Missing: kwok, etcd, kubernetes, prometheus. To build them: scaletest toolchain install" in done.stdout


def test_status_says_that_kwokctl_alone_is_not_enough(ground: Ground) -> None:
    ground.add(ground.on_path, "kwok", "kwokctl")

    done = _run(ground, "toolchain", "status")

    assert done.returncode == 4
    assert "kwokctl is there and could download the rest" in done.stdout


def test_path_prints_the_folder_and_nothing_else(ground: Ground) -> None:
    ground.add_all(ground.on_path)

    done = _run(ground, "toolchain", "path")

    (folder,) = done.stdout.splitlines()
    assert done.returncode == 0
    assert (Path(folder) / "kubectl").resolve() == ground.on_path / "kubectl"


@pytest.mark.parametrize("command", ["path", "install"])
def test_what_is_missing_is_a_matter_of_the_environment(command: str, ground: Ground) -> None:
    done = _run(ground, "toolchain", command)

    assert done.returncode == 4
    assert done.stdout == ""
    assert done.stderr.startswith("scaletest: program")
    assert "Traceback" not in done.stderr


def test_an_installation_is_followed_line_by_line_in_a_log(ground: Ground) -> None:
    ground.add_go()

    done = _run(ground, "toolchain", "install")

    assert done.returncode == 0
    lines = [line.split(" built in ")[0] for line in done.stderr.splitlines()]
    assert lines[:2] == ["building kwok (1 of 10)", "kwok (1 of 10)"]
    assert len(lines) == 2 * len(SAID)
    assert done.stdout.startswith("10 programs built in ")


def test_the_doctor_is_content_with_programs_and_without_go(ground: Ground) -> None:
    ground.add_all(ground.on_path)

    done = _run(ground, "doctor")

    rows = {line.split()[0]: line.split()[1] for line in done.stdout.splitlines()[1:] if line}
    assert done.returncode == 0
    assert all(rows[name] == "ok" for name in ("Python", "loopback", *SAID))
    assert rows["Go"] == "absent"
    assert "Runs on real control planes are possible here." in done.stdout


def test_the_doctor_names_what_is_missing_and_the_command_that_fixes_it(ground: Ground) -> None:
    ground.add_go()
    ground.add(ground.on_path, *(name for name in SAID if name not in {"etcd", "etcdctl"}))

    done = _run(ground, "doctor")

    assert done.returncode == 4
    assert done.stdout.splitlines()[-2:] == [
        "Runs on real control planes are not possible here: etcd, etcdctl.",
        "To fix it: scaletest toolchain install",
    ]


def test_the_doctor_wants_go_where_programs_must_be_built(ground: Ground) -> None:
    done = _run(ground, "doctor")

    assert done.returncode == 4
    assert "there is no `go` on PATH" in done.stdout
    assert "Install Go 1.26 or newer, then run: scaletest toolchain install" in done.stdout
