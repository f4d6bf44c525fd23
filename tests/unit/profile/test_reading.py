from pathlib import Path

import pytest

from scaletest.profile import (
    Problem,
    ProfileError,
    Severity,
    file_text,
    read_catalog,
    read_engine,
    read_profile,
    read_substrate,
)

_PROFILE = """\
apiVersion: scaletest/v1
kind: Profile
metadata: {name: small}
scale: {machines: 10, density: 100, podsPerCluster: 500}
seed: {configuredFraction: 1.0}
slo: {internalBindingLatencyP99Seconds: 30}
"""


def _messages(text: str, file: str = "small.yaml") -> list[str]:
    with pytest.raises(ProfileError) as caught:
        read_profile(text, file)
    return [str(problem) for problem in caught.value.problems]


def test_a_reading_carries_the_value() -> None:
    reading = read_profile(_PROFILE, "profiles/small.yaml")
    assert (reading.value.metadata.name, reading.warnings) == ("small", ())


@pytest.mark.parametrize("read", [read_catalog, read_engine, read_substrate])
def test_a_file_of_another_kind_says_so_and_nothing_else(read: object) -> None:
    assert callable(read)
    with pytest.raises(ProfileError, match="this file is of kind Profile, and one of kind") as caught:
        read(_PROFILE, "small.yaml")
    assert len(caught.value.problems) == 1


def test_the_error_lists_every_problem_with_its_place() -> None:
    text = _PROFILE.replace("machines: 10", "machines: ten").replace("slo:", "slow:")
    assert _messages(text) == [
        "small.yaml:4:19: scale.machines: must be a whole number, not 'ten'",
        "small.yaml:6:1: slow: unknown key; did you mean slo?",
    ]


def test_warnings_alone_do_not_stop_a_file() -> None:
    (warning,) = read_profile(_PROFILE + "rampBudget: 10m\n", "small.yaml").warnings
    assert (warning.severity, warning.line, warning.path) == (Severity.WARNING, 7, "rampBudget")


def test_legacy_names_resolve() -> None:
    text = _PROFILE.replace(", podsPerCluster: 500", "") + "loadProfile: {target: 250, durationSeconds: 90.5}\n"
    profile = read_profile(text, "small.yaml").value
    assert (profile.pods_per_cluster, profile.soak_us) == (250, 90_500_000)


@pytest.mark.parametrize(("settle", "settle_us"), [(0, 0), (90, 90_000_000), (179.9, 179_900_000), (180, 0), (500, 0)])
def test_settle_is_clamped_to_soak_start_when_it_leaves_no_soak(settle: float, settle_us: int) -> None:
    text = f"{_PROFILE}loadProfile: {{soakSeconds: 180, settleSeconds: {settle}}}\n"
    assert read_profile(text, "small.yaml").value.settle_us == settle_us


def test_no_control_character_of_a_file_or_its_name_reaches_a_terminal() -> None:
    text = _PROFILE + '"\\e[2J\\u202e": "\\a"\nengine: "\\e]0;x\\a"\n'
    assert all(message.isprintable() for message in _messages(text, "evil\x1b[31m.yaml"))


def test_problems_are_printable_however_they_are_made() -> None:
    assert "\x1b" not in str(Problem("f\x1b", 1, 1, "p\x1b", "m\x1b", "h\x1b"))


def test_long_values_are_cut_in_messages() -> None:
    (message,) = _messages(_PROFILE + f"engine: {'x' * 5000}\n")
    assert len(message) < 250


def test_quantities_keep_the_number_they_were_written_as() -> None:
    text = """\
apiVersion: scaletest/v1
kind: Catalog
metadata: {name: c}
instanceTypes: {m: {resources: {cpu: 4, memory: 0.5Gi, example.com/x: 0.5, example.com/y: "1e3"}}}
archetypes: [{name: a, instanceTypes: [m], zones: [z], resources: {cpu: 1}}]
"""
    resources = read_catalog(text, "c.yaml").value.instance_types["m"].resources
    assert resources == {"cpu": "4", "memory": "0.5Gi", "example.com/x": "0.5", "example.com/y": "1e3"}


def test_a_file_is_read_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_bytes("é: 1\r\n".encode())
    assert file_text(tmp_path / "a.yaml") == "é: 1\r\n"


def test_a_folder_is_not_a_file(tmp_path: Path) -> None:
    with pytest.raises(ProfileError, match="this is a folder; name a file in it"):
        file_text(tmp_path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ProfileError, match=r"none\.yaml: there is no such file; check the name"):
        file_text(tmp_path / "none.yaml")


def test_a_name_that_cannot_exist_is_a_problem_too() -> None:
    with pytest.raises(ProfileError, match="cannot be read"):
        file_text(Path("a\0b"))


def test_a_forbidden_file_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(ProfileError, match="permission denied; check who may read it"):
        file_text(tmp_path / "a.yaml")


def test_bytes_that_are_not_utf_8_are_located(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_bytes(b"a: 1\nb: \xff\n")
    with pytest.raises(ProfileError, match="2:4: the byte 0xff is not UTF-8; save the file as UTF-8"):
        file_text(tmp_path / "a.yaml")


def test_a_huge_file_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_bytes(b"#" * (2**20 + 1))
    with pytest.raises(ProfileError, match="larger than 1048576 bytes"):
        file_text(tmp_path / "a.yaml")


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "more",
    [
        "".join(f"unknown{number}: 1\n" for number in range(9000)),
        "loadProfile: {bursts: [" + "{atSeconds: 1}, " * 6000 + "]}\n",
        "loadProfile: {demandSteps: [" + "{atSeconds: 9000, targetMultiplier: 1}, " * 3500 + "]}\nengine: 5\n",
        "runnerActions: [" + "x, " * 19000 + "]\n",
        "engine: " + "9" * 2**19 + "\n",
        "a: 1\n" * 20000,
    ],
    ids=["unknown-keys", "missing-keys", "contradictions", "wrong-types", "one-long-value", "equal-keys"],
)
def test_a_hostile_file_is_refused_in_reasonable_time(more: str) -> None:
    assert _messages(_PROFILE + more)
