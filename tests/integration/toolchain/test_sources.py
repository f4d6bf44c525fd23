"""Which program is taken from where: a named folder, then PATH, then the cache; whole families that fit, or none."""

import os
from pathlib import Path

import pytest

from scaletest.world.kwok import programs
from scaletest.world.kwok.builds import Recipe
from scaletest.world.kwok.programs import FAMILIES, Family
from scaletest.world.kwok.toolchain import (
    Places,
    Search,
    Source,
    ToolchainMissing,
    find_toolchain,
    install_toolchain,
    survey,
)
from toolchain_ground import FAMILY, SAID, Ground, write_script


def _of(family: str, places: Places) -> Search:
    (search,) = (search for search in survey(places) if search.family.name == family)
    return search


def _source(family: str, places: Places) -> Source | None:
    supply = _of(family, places).supply
    return None if supply is None else supply.source


def test_a_named_folder_counts_before_path_and_path_before_the_cache(ground: Ground, tmp_path: Path) -> None:
    ground.add_go()
    install_toolchain(ground.places(), lambda _: None)
    named = tmp_path / "named"
    ground.add(named, "etcd", "etcdctl")
    ground.add(ground.on_path, "etcd", "etcdctl", "kwok", "kwokctl")

    found = {search.family.name: search.supply and search.supply.source for search in survey(ground.places(named))}

    assert found == {
        "etcd": Source.FOLDER,
        "kwok": Source.PATH,
        "kubernetes": Source.CACHE,
        "prometheus": Source.CACHE,
    }


def test_the_option_counts_before_the_variable(ground: Ground, tmp_path: Path) -> None:
    for name in ("option", "variable"):
        ground.add_all(tmp_path / name)
    environ = ground.environ() | {"SCALETEST_TOOLCHAIN": str(tmp_path / "variable")}

    assert find_toolchain(Places.of(None, environ)).binary("kwok") == tmp_path / "variable" / "kwok"
    assert find_toolchain(Places.of(tmp_path / "option", environ)).binary("kwok") == tmp_path / "option" / "kwok"


def test_a_toolchain_has_every_program_its_version_and_a_folder_of_plain_names(ground: Ground) -> None:
    ground.add_all(ground.on_path)

    toolchain = find_toolchain(ground.places())

    assert toolchain.versions["kube-apiserver"] == "1.36.4"
    assert toolchain.versions["prometheus"] == "3.11.3"
    assert sorted(path.name for path in toolchain.folder.iterdir()) == sorted(SAID)
    for name in SAID:
        assert (toolchain.folder / name).resolve() == toolchain.binary(name).resolve()
    assert find_toolchain(ground.places()).folder == toolchain.folder


def test_other_programs_get_a_folder_of_their_own(ground: Ground, tmp_path: Path) -> None:
    ground.add_all(ground.on_path)
    ground.add(tmp_path / "named", "etcd", "etcdctl")

    folders = {find_toolchain(ground.places(named)).folder for named in (None, tmp_path / "named")}

    assert len(folders) == 2


@pytest.mark.parametrize(
    ("family", "program", "said", "fits"),
    [
        ("kubernetes", "kubectl", "Client Version: v1.36.0", True),
        ("kubernetes", "kubectl", "Client Version: v1.32.4-dispatcher", False),
        ("kubernetes", "kube-apiserver", "Kubernetes v1.37.0", False),
        ("kubernetes", "kube-apiserver", "Kubernetes v0.0.0-master+$Format:%H$", False),
        ("kwok", "kwok", "kwok version v0.6.9 go1.26.8 (linux/amd64)", False),
        ("etcd", "etcd", "etcd Version: 3.4.30", False),
        ("etcd", "etcd", "etcd Version: 3.7.0", False),
        ("prometheus", "prometheus", "prometheus, version 2.41.0 (branch: HEAD)", False),
        ("prometheus", "promtool", "promtool, version (devel)\n  go version: go1.26.8", False),
    ],
)
def test_a_version_that_does_not_fit_is_refused_with_the_reason(
    family: str, program: str, said: str, *, fits: bool, ground: Ground
) -> None:
    ground.add(ground.on_path, *FAMILY[family].names, **{program.replace("-", "_"): said})

    search = _of(family, ground.places())

    assert (search.supply is not None) is fits
    if not fits:
        assert str(ground.on_path / program) in search.refused[Source.PATH]


def test_the_reason_names_the_program_its_version_and_the_rule(ground: Ground) -> None:
    ground.add(ground.on_path, *FAMILY["etcd"].names, etcd="etcd Version: 3.4.30")

    with pytest.raises(ToolchainMissing, match="are missing") as missing:
        find_toolchain(ground.places())

    etcd = ground.on_path / "etcd"
    assert f"etcd: not from PATH, {etcd} is 3.4.30, and >= 3.5, < 3.7 is needed" in missing.value.why
    assert "kwok: not in a named folder, not on PATH, not built yet" in missing.value.why
    assert "scaletest toolchain install" in missing.value.remedy


def test_what_the_folder_has_in_a_wrong_version_is_taken_from_the_next_source(ground: Ground, tmp_path: Path) -> None:
    ground.add(tmp_path / "named", "etcd", "etcdctl", etcd="etcd Version: 3.4.30", etcdctl="etcdctl version: 3.4.30")
    ground.add(ground.on_path, "etcd", "etcdctl")

    search = _of("etcd", ground.places(tmp_path / "named"))

    assert search.supply is not None
    assert search.supply.source is Source.PATH
    assert "is 3.4.30" in search.refused[Source.FOLDER]


def test_debians_prometheus_fits(ground: Ground) -> None:
    said = "{}, version 2.42.0+ds (branch: debian/sid, revision: 2.42.0+ds-5+b5)"
    told = {name: said.format(name) for name in ("prometheus", "promtool")}
    ground.add(ground.on_path, *told, **told)

    supply = _of("prometheus", ground.places()).supply

    assert supply is not None
    assert set(supply.versions.values()) == {"2.42.0"}


def test_a_family_is_taken_whole_or_not_at_all(ground: Ground) -> None:
    ground.add(ground.on_path, "kubectl")

    search = _of("kubernetes", ground.places())

    assert search.supply is None
    assert "it has kubectl and lacks kube-apiserver" in search.refused[Source.PATH]
    assert not ground.log.exists()  # and nobody was asked for a version that would not have counted


def test_programs_of_one_family_must_agree(ground: Ground) -> None:
    ground.add(ground.on_path, "etcd", "etcdctl", etcdctl="etcdctl version: 3.5.30")

    assert "do not belong together: etcd 3.6.16, etcdctl 3.5.30" in _of("etcd", ground.places()).refused[Source.PATH]


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("exec /bin/sleep 60", "did not tell its version"),
        ("echo hello", "tells no version"),
        (f"echo {SAID['etcd'].splitlines()[0]}; exit 3", "tells no version"),
    ],
)
def test_a_program_that_does_not_answer_is_refused(
    script: str, said: str, ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(programs, "_ANSWER_S", 0.5)
    ground.add(ground.on_path, "etcdctl")
    write_script(ground.on_path / "etcd", script)

    # Under load even an honest program may need longer than half a second; then it is refused as well.
    assert any(why in _of("etcd", ground.places()).refused[Source.PATH] for why in (said, "did not tell its version"))


def test_what_is_no_program_for_this_machine_is_refused(ground: Ground) -> None:
    ground.add(ground.on_path, "etcd", "etcdctl")
    (ground.on_path / "etcd").write_bytes(b"\x7fELF of another machine")

    assert "cannot be run" in _of("etcd", ground.places()).refused[Source.PATH]


def test_links_to_the_cache_are_the_cache_and_are_not_asked_again(ground: Ground) -> None:
    ground.add_go()
    folder = install_toolchain(ground.places(), lambda _: None).folder
    asked = ground.logged("asked")
    environ = ground.environ() | {"PATH": f"{folder}{os.pathsep}{ground.on_path}"}

    assert _source("kwok", Places.of(folder, environ)) is Source.CACHE
    assert ground.logged("asked") == asked


def test_a_named_folder_that_is_not_there_is_told_at_once(ground: Ground) -> None:
    with pytest.raises(ToolchainMissing, match="is no folder"):
        ground.places(Path("no-such-folder"))


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_what_is_pinned_fits_its_own_rule_and_every_program_is_a_tool_of_its_module(family: Family) -> None:
    recipe = Recipe.of(family)
    module = recipe.go_mod.decode()

    assert family.fits(recipe.version)
    assert all(f"\t{program.package}\n" in module for program in family.programs)
    assert {"-trimpath", "-mod=readonly"} <= set(recipe.flags)
    assert recipe.flags[-1].count(f"={recipe.version}") + recipe.flags[-1].count(f"=v{recipe.version}") == sum(
        "{0}" in stamp for stamp in family.stamps
    )
