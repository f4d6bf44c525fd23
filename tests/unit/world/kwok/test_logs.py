"""What is quoted from a log when something does not come up: the lines that say why."""

from pathlib import Path

import pytest

from scaletest.world.kwok.kwokctl import telling_lines

_CALM = "I1116 10:00:00.000000 1 main.go:1] starting"


@pytest.mark.parametrize(
    ("line", "quoted"),
    [
        (
            'E1116 10:00:01.0 1 run.go:72] "command failed" err="x"',
            'E1116 10:00:01.0 1 run.go:72] "command failed" err="x"',
        ),
        ('{"level":"fatal","msg":"discovery failed","error":"bind"}', "discovery failed: bind"),
        ('{"level":"ERROR","msg":"Failed to setup config","err":"no space"}', "Failed to setup config: no space"),
        ('time=10:00 level=ERROR msg="Error loading config"', 'time=10:00 level=ERROR msg="Error loading config"'),
        ("panic: runtime error", "panic: runtime error"),
        ("Error: unknown flag: --x", "Error: unknown flag: --x"),
    ],
)
def test_a_line_that_speaks_of_an_error_is_quoted_wherever_it_stands(tmp_path: Path, line: str, quoted: str) -> None:
    log = tmp_path / "log"
    log.write_text("\n".join([_CALM, line, *[_CALM] * 5]) + "\n", encoding="utf-8")

    assert telling_lines(log) == [quoted]


def test_without_an_error_the_last_lines_are_quoted(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("one\ntwo\n\nthree\nfour\n", encoding="utf-8")

    assert telling_lines(log) == ["two", "three", "four"]


def test_a_long_line_keeps_its_beginning_and_its_end(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text(f"E1116 begins {'x' * 5000} and ends", encoding="utf-8")

    (line,) = telling_lines(log)
    assert (line[:12], line[-8:], len(line)) == ("E1116 begins", "and ends", 363)


def test_a_log_that_is_not_there_says_nothing(tmp_path: Path) -> None:
    assert telling_lines(tmp_path / "log") == []
