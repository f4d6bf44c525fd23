"""From a fixture file to values. docs/engine.md describes the format; every error says file:line."""

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from scaletest.engine.decide import ABLATIONS, Settings
from scaletest.engine.decide.values import DEFAULT_HOLDS_US
from scaletest.model import (
    Attribution,
    CapacityType,
    Machine,
    MachineState,
    Need,
    NeedProfile,
    Operator,
    QuantityError,
    Requirement,
    Resources,
    Spread,
    group_name,
    micro_usd,
    microseconds,
    penalty_bucket,
)
from scaletest.model.attribution import penalty_uusd
from scaletest.model.demand import INSTANCE_TYPE_KEY, RACK_KEY, ZONE_KEY
from scaletest.model.instants import exact
from scaletest_runner.engine_fixtures.expectations import expected
from scaletest_runner.engine_fixtures.tables import FixtureError, Table, load
from scaletest_runner.engine_fixtures.values import Case, ChoiceCase, Dwell, Fixture, RollupCase, Step, Variant

__all__ = ["FixtureError", "read_fixture"]

_SHORT_KEYS = {"rack": RACK_KEY, "zone": ZONE_KEY, "type": INSTANCE_TYPE_KEY}
_ONE_UNIT = Resources.of({"cpu": 1000})
_RANGE = re.compile(r"(?P<stem>.*)\[(?P<first>\d+)-(?P<last>\d+)\]")
_PPM = 1_000_000
_NO_TEXTS: tuple[str, ...] = ()
_NO_NUMBERS: tuple[int, ...] = ()


def read_fixture(path: Path) -> Fixture:
    """Read a file; raise FixtureError with file:line for anything that makes no sense."""
    top = load(path)
    cases = tuple(_case(table) for table in top.tables("cases"))
    choices = tuple(_choice(table) for table in top.tables("choices"))
    rollups = tuple(_rollups(table) for table in top.tables("rollups"))
    top.done()
    return Fixture(str(path), cases, choices, rollups)


def _case(table: Table) -> Case:
    needs = {name: _need(name, Table(table.path, row, line=table.line)) for name, row in table.table("needs").items()}
    machines = tuple(m for entry in table.tables("machines") for m in _machines(entry, needs))
    clusters = tuple(sorted({n.cluster for n in needs.values()} | {m.cluster for m in machines if m.cluster}))
    steps = tuple(_step(entry, needs) for entry in table.tables("cycles"))
    without = table.table("without")
    variants = [Variant(table.line, (), steps)] if steps else []
    for names, entries in without.items():
        ablated = Table(table.path, {"cycles": entries}, line=without.line)
        steps = tuple(_step(entry, needs) for entry in ablated.tables("cycles"))
        variants.append(Variant(steps[0].line if steps else without.line, _ablations(without, names), steps))
    case = Case(
        name=table.take("name", str, ""),
        about=table.take("about", str, ""),
        line=table.line,
        machines=machines,
        needs=needs,
        heard=table.take("heard", _texts, clusters),
        settings=_settings(table.table("settings")),
        dwell=_dwell(table.table("dwell")),
        variants=tuple(variants),
    )
    table.done()
    return case


def _ablations(table: Table, names: str) -> tuple[str, ...]:
    found = tuple(name.strip() for name in names.split("+"))
    for name in found:
        if name not in ABLATIONS:
            raise table.fail(f"there is no ablation {name!r}")
    return found


def _need(name: str, table: Table) -> Need:
    cluster = table.take("cluster", str, "c")
    same = table.take("same", str, "")
    unit = _resources(table, "unit") or _ONE_UNIT
    units = table.take("units", _int, 1)
    need = Need(
        cluster=cluster,
        profile=_profile(table, same=same),
        aggregate=_resources(table, "total") or unit.times(units),
        min_unit=unit,
        group=table.take("group", str, group_name(cluster, name) if same else ""),
    )
    table.done()
    return need


def _profile(table: Table, *, same: str) -> NeedProfile:
    requirements = [
        Requirement(
            _key(str(entry.raw("key"))), Operator(str(entry.raw("operator"))), entry.take("values", _texts, _NO_TEXTS)
        )
        for entry in table.tables("requirements")
    ]
    if types := table.take("types", _texts, _NO_TEXTS):
        requirements.append(Requirement(INSTANCE_TYPE_KEY, Operator.IN, types))
    if same:
        requirements.append(Requirement(_key(same), Operator.SAME, table.take("sameIn", _texts, _NO_TEXTS)))
    spread = tuple(Spread(_key(key), int(str(skew))) for key, skew in table.table("spread").items())
    return NeedProfile.of(
        requirements=tuple(requirements),
        spread=spread,
        priority=table.take("priority", _int, 1000),
        interruption=penalty_bucket(table.take("interruption", _dollars, 0)),
        reclamation=penalty_bucket(table.take("reclamation", _dollars, 0)),
    )


def _machines(table: Table, needs: Mapping[str, Need]) -> list[Machine]:
    names = _names(table.take("id", str, ""))
    zone, rack = table.take("zone", str, "z"), table.take("rack", str, "")
    labels = {str(key): str(value) for key, value in table.table("labels").items()}
    labels |= {RACK_KEY: rack} if rack else {}
    machine = Machine(
        id="",
        state=table.take("state", lambda text: MachineState(str(text)), MachineState.IDLE),
        instance_type=table.take("type", str, "unit"),
        zone=zone,
        capacity_type=table.take("capacity", lambda text: CapacityType(str(text)), CapacityType.BARE_METAL),
        allocatable=_resources(table, "resources") or _ONE_UNIT,
        labels=tuple(sorted(labels.items())),
        price_uusd_per_hour=table.take("price", _dollars, 0),
        interruption_ppm=table.take("probability", _ppm, 0),
        cluster=table.take("cluster", str, ""),
        attribution=_attribution(table, needs),
    )
    table.done()
    return [replace(machine, id=name) for name in names]


def _attribution(table: Table, needs: Mapping[str, Need]) -> Attribution | None:
    folded = table.has("forFolded")
    name = table.take("forFolded" if folded else "for", str, "")
    group = table.take("group", str, "")
    if not name:
        return None
    if name not in needs:
        raise table.fail(f"there is no need {name!r}")
    need = needs[name]
    profile = need.profile.without_same if folded else need.profile
    return Attribution(
        need_fingerprint=profile.fingerprint,
        group=group or ("" if folded else need.group),
        priority=profile.priority,
        interruption_penalty_uusd=penalty_uusd(profile.interruption),
        reclamation_penalty_uusd=penalty_uusd(profile.reclamation),
    )


def _step(table: Table, known: Mapping[str, Need]) -> Step:
    changed: dict[str, Need | None] = {}
    for name, row in table.table("needs").items():
        changed[name] = None if row is None else _need(name, Table(table.path, row, line=table.line))
    needs = {**known, **{name: need for name, need in changed.items() if need is not None}}
    says = table.has("expect")
    step = Step(
        line=table.line,
        add=tuple(m for entry in table.tables("add") for m in _machines(entry, needs)),
        remove=table.take("remove", _all_names, _NO_TEXTS),
        needs=changed,
        heard=table.take("heard", _texts, _NO_TEXTS) if table.has("heard") else None,
        repeat=table.take("repeat", _int, 1),
        expected=expected(table.table("expect")) if says else None,
    )
    table.done()
    return step


def _settings(table: Table) -> Settings:
    holds = {CapacityType(key): microseconds(float(str(value))) for key, value in table.table("holds").items()}
    settings = Settings(
        holds_us=holds or DEFAULT_HOLDS_US,
        reclaim_cap_ppm=table.take("reclaimCap", _ppm, 0),
        max_actions=table.take("maxActions", _int, 0),
        paused=table.take("paused", bool, default=False),
        dry_run=table.take("dryRun", bool, default=False),
    )
    table.done()
    return settings


def _dwell(table: Table) -> Dwell:
    dwell = Dwell(*(table.take(key, _int, 0) for key in ("create", "configure", "drain", "delete")))
    table.done()
    return dwell


def _choice(table: Table) -> ChoiceCase:
    deficit = table.take("deficit", _vector, _NO_NUMBERS)
    buckets = {}
    for value, entry in table.table("buckets").items():
        row = Table(table.path, entry, line=table.line)
        zero = (0,) * len(deficit)
        total, held, own = (row.take(key, _vector, zero) for key in ("total", "creditable", "own"))
        buckets[value] = (row.take("machines", _int, 0), total, held, own)
        row.done()
    without = table.take("without", str, "")
    case = ChoiceCase(
        name=table.take("name", str, ""),
        line=table.line,
        deficit=deficit,
        buckets=buckets,
        winner=table.take("winner", str, ""),
        rule=table.take("rule", str, ""),
        without=_ablations(table, without) if without else (),
    )
    table.done()
    return case


def _rollups(table: Table) -> RollupCase:
    case = RollupCase(
        name=table.take("name", str, ""),
        line=table.line,
        guarded=table.take("guarded", bool, default=True),
        rows=table.take("rows", _vector, _NO_NUMBERS),
        accepted=tuple(bool(flag) for flag in table.take("accepted", _vector, _NO_NUMBERS)),
    )
    table.done()
    return case


def _key(short: str) -> str:
    return _SHORT_KEYS.get(short, short)


def _resources(table: Table, key: str) -> Resources:
    try:
        return Resources.parse({name: str(value) for name, value in table.table(key).items()})
    except QuantityError as error:
        raise table.fail(f"{key}: {error}") from error


def _names(text: str) -> list[str]:
    found = _RANGE.fullmatch(text)
    if found is None:
        return [text]
    return [f"{found['stem']}{number}" for number in range(int(found["first"]), int(found["last"]) + 1)]


def _all_names(value: object) -> tuple[str, ...]:
    return tuple(name for text in _texts(value) for name in _names(text))


def _texts(value: object) -> tuple[str, ...]:
    return tuple(str(item) for item in value) if isinstance(value, list) else (str(value),)


def _vector(value: object) -> tuple[int, ...]:
    return tuple(int(item) for item in value) if isinstance(value, list) else (int(str(value)),)


def _int(value: object) -> int:
    return int(str(value))


def _dollars(value: object) -> int:
    return micro_usd(float(str(value)))


def _ppm(value: object) -> int:
    return round(exact(float(str(value))) * _PPM)
