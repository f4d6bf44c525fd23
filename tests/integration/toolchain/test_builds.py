"""Building into the cache: once, by one process, whole or not at all; and messages when it cannot be done."""

import os
import platform
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from scaletest.world.kwok.builds import Recipe, cache_folder
from scaletest.world.kwok.programs import ToolchainError
from scaletest.world.kwok.toolchain import (
    BuildFailed,
    GoMissing,
    Moment,
    Step,
    find_toolchain,
    install_toolchain,
)
from toolchain_ground import FAMILY, SAID, Ground

_SCALETEST = Path(sys.executable).with_name("scaletest")
_FAMILIES = ["etcd", "kubernetes", "kwok", "prometheus"]
_WAIT_S = 60.0


def _ignore(_: Step) -> None:
    """Nobody is told."""


def _installing(ground: Ground) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [_SCALETEST, "toolchain", "install"],
        env=ground.environ(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _gone(pid: int) -> bool:
    """Return whether a process is over; one that only waits to be collected is."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return True
    return state == "Z"


def test_everything_is_built_once_and_told(ground: Ground) -> None:
    ground.add_go()
    steps: list[Step] = []

    toolchain = install_toolchain(ground.places(), steps.append)

    assert sorted(ground.logged("built")) == sorted(SAID)
    assert ground.cached() == _FAMILIES
    assert all(path.is_relative_to(ground.cache) for path in toolchain.binaries.values())
    done = [step for step in steps if step.moment is Moment.BUILT]
    assert [step.program for step in done] == ground.logged("built")
    assert [(step.position, step.programs) for step in done] == [(n, 10) for n in range(1, 11)]
    assert {step.program for step in steps if step.moment is Moment.BUILDING} == set(SAID)


def test_a_second_installation_builds_nothing_and_asks_nobody(ground: Ground) -> None:
    ground.add_go()
    first = install_toolchain(ground.places(), _ignore)
    log = ground.log.read_text(encoding="utf-8")
    steps: list[Step] = []

    assert install_toolchain(ground.places(), steps.append) == first
    assert ground.log.read_text(encoding="utf-8") == log
    assert steps == []


def test_what_path_has_is_not_built(ground: Ground) -> None:
    ground.add_go()
    ground.add(ground.on_path, *FAMILY["kubernetes"].names, *FAMILY["prometheus"].names)

    install_toolchain(ground.places(), _ignore)

    assert ground.logged("built") == ["kwok", "kwokctl", "etcd", "etcdctl"]


def test_another_go_builds_again_and_the_newest_build_is_taken(ground: Ground) -> None:
    folders = []
    for version in ("go1.26.8", "go1.26.10", "go1.26.9"):
        ground.add_go(version)
        folders.append(install_toolchain(ground.places(), _ignore).binary("kwok").parent)

    assert folders[0] != folders[1]
    assert folders[2] == folders[1]
    assert ground.logged("built").count("kwok") == 3


def test_programs_that_were_built_need_no_go(ground: Ground) -> None:
    ground.add_go()
    before = install_toolchain(ground.places(), _ignore)
    (ground.on_path / "go").unlink()

    assert find_toolchain(ground.places()) == before
    assert install_toolchain(ground.places(), _ignore) == before


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: (folder / "etcdctl").unlink(),
        lambda folder: (folder / "etcd").write_bytes(b""),
        lambda folder: (folder / "etcd").chmod(0o600),
        lambda folder: (folder / "stamp.json").write_bytes(b'{"sources":'),
        lambda folder: (folder / "stamp.json").unlink(),
    ],
    ids=["a program gone", "a program cut off", "a program not executable", "half a stamp", "no stamp"],
)
def test_a_damaged_build_is_not_used_and_is_built_again(damage: Callable[[Path], None], ground: Ground) -> None:
    ground.add_go()
    etcd = install_toolchain(ground.places(), _ignore).binary("etcd").parent
    damage(etcd)

    with pytest.raises(ToolchainError, match="etcd: not in a named folder"):
        find_toolchain(ground.places())
    install_toolchain(ground.places(), _ignore)

    assert ground.logged("built")[10:] == ["etcd", "etcdctl"]
    assert find_toolchain(ground.places()).versions["etcd"] == "3.6.16"


def test_the_key_changes_with_everything_that_decides_what_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = Recipe.of(FAMILY["prometheus"])
    others = [
        replace(recipe, go_mod=recipe.go_mod + b"\n"),
        replace(recipe, go_sum=recipe.go_sum + b"\n"),
        # The same bytes cut elsewhere are other files.
        replace(recipe, go_mod=recipe.go_mod + recipe.go_sum[:1], go_sum=recipe.go_sum[1:]),
        replace(recipe, family=replace(recipe.family, tags="netgo")),
        replace(recipe, family=replace(recipe.family, stamps=())),
        replace(recipe, family=replace(recipe.family, programs=recipe.family.programs[:1])),
    ]
    folders = [each.folder(Path(), "go1.26.8") for each in (recipe, *others)]
    folders.append(recipe.folder(Path(), "go1.26.9"))
    monkeypatch.setattr(platform, "machine", lambda: "another")
    folders.append(replace(recipe).folder(Path(), "go1.26.8"))

    assert len(set(folders)) == len(folders)
    monkeypatch.undo()
    assert Recipe.of(FAMILY["prometheus"]).folder(Path(), "go1.26.8") == folders[0]


@pytest.mark.parametrize(
    ("environ", "folder"),
    [
        ({"SCALETEST_CACHE": "/own", "XDG_CACHE_HOME": "/xdg"}, "/own/toolchain"),
        ({"XDG_CACHE_HOME": "/xdg"}, "/xdg/scaletest/toolchain"),
        ({"XDG_CACHE_HOME": "relative"}, "~/.cache/scaletest/toolchain"),
        ({}, "~/.cache/scaletest/toolchain"),
    ],
)
def test_the_cache_is_where_the_environment_says(environ: dict[str, str], folder: str) -> None:
    assert cache_folder(environ) == Path(folder).expanduser()


def test_two_installations_at_once_build_once(ground: Ground, closed_gate: Callable[[], int]) -> None:
    ground.add_go()
    with _installing(ground) as first:
        opened = closed_gate()  # the first one builds, and cannot go on
        with _installing(ground) as second:
            assert second.stderr is not None
            assert "waiting for it" in second.stderr.readline()
            os.write(opened, b"go on\n")
            os.close(opened)
            told, _ = second.communicate(timeout=_WAIT_S)
        built, _ = first.communicate(timeout=_WAIT_S)

    assert (first.returncode, second.returncode) == (0, 0)
    assert sorted(ground.logged("built")) == sorted(SAID)
    assert built.startswith("10 programs built")
    assert told.startswith("nothing to build")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_build_leaves_nothing_behind(
    number: int, code: int, *, ground: Ground, closed_gate: Callable[[], int]
) -> None:
    ground.add_go()
    with _installing(ground) as process:
        opened = closed_gate()
        process.send_signal(number)
        process.communicate(timeout=_WAIT_S)
    os.close(opened)

    assert process.returncode == code
    assert ground.cached() == []
    assert _gone(ground.builder())


def test_what_a_killed_process_left_is_removed_by_the_next(ground: Ground, closed_gate: Callable[[], int]) -> None:
    ground.add_go()
    with _installing(ground) as process:
        opened = closed_gate()
        process.kill()
        process.communicate(timeout=_WAIT_S)
    assert [name.startswith(".building") for name in ground.cached()] == [True]

    ground.gate.unlink()
    install_toolchain(ground.places(), _ignore)
    os.close(opened)

    assert ground.cached() == _FAMILIES


def test_a_failed_build_leaves_no_half_family_and_tells_what_go_said_last(ground: Ground) -> None:
    ground.add_go(failing="/usr/bin/seq 1 100; printf 'x.go:1:1: syntax\\033[31m error' >&2; exit 1")

    with pytest.raises(BuildFailed, match="kwokctl could not be built") as failed:
        install_toolchain(ground.places(), _ignore)

    lines = failed.value.why.split("\n  ")
    assert lines[-1] == "x.go:1:1: syntax\\x1b[31m error"
    assert lines[:-1] == [str(n) for n in range(90, 101)]
    assert ground.cached() == []


def test_modules_that_cannot_be_fetched_are_told_as_a_matter_of_the_network(ground: Ground) -> None:
    said = "go: k8s.io/api@v0.36.4: Get address: dial tcp: lookup modules.invalid: no such host"
    ground.add_go(failing=f"echo '{said}' >&2; exit 1")

    with pytest.raises(BuildFailed) as failed:
        install_toolchain(ground.places(), _ignore)

    assert said in failed.value.why
    assert "check the network and `go env GOPROXY`" in failed.value.remedy
    assert "--from DIR" in failed.value.remedy


def test_what_was_built_and_does_not_fit_is_not_kept(ground: Ground) -> None:
    ground.add_go()
    ground.add(ground.root / "made", "kwok", kwok="kwok version v0.0.0 (linux/amd64)")

    with pytest.raises(BuildFailed, match="kwok was built and cannot be used"):
        install_toolchain(ground.places(), _ignore)

    assert ground.cached() == []


def test_without_go_the_message_says_what_to_do(ground: Ground) -> None:
    with pytest.raises(GoMissing, match="there is no `go` on PATH") as missing:
        install_toolchain(ground.places(), _ignore)

    assert "Install Go 1.26 or newer" in missing.value.remedy
    assert "--from DIR" in missing.value.remedy


def test_a_go_that_is_too_old_is_refused(ground: Ground) -> None:
    ground.add_go("go1.24.4")

    with pytest.raises(GoMissing, match=r"is go1\.24\.4, and 1\.26 is needed"):
        install_toolchain(ground.places(), _ignore)


def test_builds_do_not_depend_on_the_users_settings_of_go(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"GOFLAGS": "-mod=vendor", "GOOS": "plan9", "GOTOOLCHAIN": "auto", "GOEXPERIMENT": "x"}.items():
        monkeypatch.setenv(name, value)
    names = "GOFLAGS GOOS GOARCH GOTOOLCHAIN CGO_ENABLED GOWORK GOEXPERIMENT"
    ground.add_go(failing="\n".join(f'echo "{name}=${{{name}-unset}}"' for name in names.split()) + "; exit 1")

    with pytest.raises(BuildFailed) as failed:
        install_toolchain(ground.places(), _ignore)

    assert failed.value.why.split("\n  ") == [
        "GOFLAGS=-mod=readonly",
        "GOOS=linux",
        "GOARCH=amd64",
        "GOTOOLCHAIN=local",
        "CGO_ENABLED=0",
        "GOWORK=off",
        "GOEXPERIMENT=unset",
    ]


def test_a_cache_that_cannot_be_written_is_told(ground: Ground) -> None:
    ground.add_go()
    ground.cache.parent.write_text("a file where the folder should be", encoding="utf-8")

    with pytest.raises(ToolchainError, match="cannot be written") as failed:
        install_toolchain(ground.places(), _ignore)

    assert "SCALETEST_CACHE" in failed.value.remedy


def test_a_cache_may_be_deleted_at_any_time(ground: Ground) -> None:
    ground.add_go()
    install_toolchain(ground.places(), _ignore)
    shutil.rmtree(ground.cache)

    install_toolchain(ground.places(), _ignore)

    assert ground.cached() == _FAMILIES
