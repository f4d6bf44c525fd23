"""Calibrated bars at plan time: applied beside the profile's own, or shown with what to do."""

import pytest

from sample_plans import HOST, plan_of, profile_of, shipped_engine, shipped_substrate
from scaletest.model.findings import Severity
from scaletest.plan.calibrated import inputs_digest, why_not_calibratable
from scaletest.plan.footprint import HostSize
from scaletest.plan.gates import Gate
from scaletest.plan.plan import Plan
from scaletest.plan.preflight import preflight
from scaletest.profile import Profile

SLO = {"maxReclaimActionsDuringSoak": 150, "internalBindingLatencyP99Seconds": 30}
BARS = {"maxReclaimActionsDuringSoak": 31, "shardCycleDurationP99Seconds": 0.5}


def calibrated(bars: object = BARS, *, soak: float = 600, expires: str = "2027-02-16", **made: str) -> Profile:
    """Return a profile with a calibration that holds, but for what is said."""
    load = {"soakSeconds": soak, "churnPerMinute": 1.0}
    plain = plan_of(profile_of(slo=SLO)).circumstances.model_dump(by_alias=True)
    block = {
        "bars": bars,
        "falseAlarmsPerRun": 0.01,
        "confidence": 0.95,
        "runs": {"firstSeed": 1, "count": 650, "fingerprints": "0f" * 8},
        "madeWith": {**plain, **made},
        "madeOn": "2026-11-01",
        "expires": expires,
    }
    return profile_of(slo=SLO, loadProfile=load, calibration=block)


def gate(plan: Plan, name: str) -> Gate:
    return next(each for each in plan.gates if each.name == name)


def warnings(plan: Plan) -> list[str]:
    return [str(found) for found in preflight(plan) if found.check == "calibration"]


def test_a_calibrated_gate_stands_behind_the_one_it_calibrates() -> None:
    plan = plan_of(calibrated())
    names = [each.name for each in plan.gates]
    place = names.index("maxReclaimActionsDuringSoak")
    own, other = plan.gates[place : place + 2]

    assert other.name == "maxReclaimActionsDuringSoak.calibrated"
    assert (own.threshold, other.threshold) == (150, 31)
    assert (other.rule, other.calibrated, own.calibrated) == (own.name, True, False)
    assert (other.window, other.role, other.not_applicable) == (own.window, own.role, "")
    assert other.claim == "calibrated: 1.00% of runs alarm wrongly at most, 95% sure"
    assert warnings(plan) == []


def test_a_profile_without_a_calibration_has_no_such_gate() -> None:
    assert not any(each.calibrated for each in plan_of().gates)


@pytest.mark.parametrize(
    ("profile", "said"),
    [
        (calibrated(expires="2026-11-17"), "expired on 2026-11-17"),
        (calibrated(substrate="kwok"), "is of substrate kwok, and this is sim"),
        (calibrated(engine="other"), "is of engine other, and this is reference"),
        (calibrated(engineVersion="0.9"), "is of version 0.9 of the engine, and this is 1"),
        (calibrated(soak=900), "is of another test: profile or catalog have changed since"),
    ],
    ids=["expired", "substrate", "engine", "version", "inputs"],
)
def test_a_calibration_that_does_not_hold_is_shown_and_not_applied(profile: Profile, said: str) -> None:
    plan = plan_of(profile)
    (warning,) = warnings(plan)

    for rule in BARS:
        assert f"the calibration {said}; make it again" in gate(plan, f"{rule}.calibrated").not_applicable
    assert said in warning
    assert "scaletest calibrate test --runs 650 --false-alarms 0.01 --gates maxReclaimActionsDuringSoak," in warning
    assert not [found for found in preflight(plan) if found.severity is Severity.REFUSE]


def test_a_calibration_holds_on_its_last_day() -> None:
    assert warnings(plan_of(calibrated(expires="2026-11-18"))) == []


def test_in_the_simulated_world_the_machine_matters_only_to_what_is_measured_on_it() -> None:
    plan = plan_of(calibrated(), host=HostSize(64, HOST.memory_bytes, HOST.python))

    assert gate(plan, "maxReclaimActionsDuringSoak.calibrated").not_applicable == ""
    assert "another class of machine" in gate(plan, "shardCycleDurationP99Seconds.calibrated").not_applicable
    assert len(warnings(plan)) == 1


def test_on_real_clusters_the_machine_always_matters() -> None:
    profile, kwok = calibrated(substrate="kwok"), shipped_substrate("kwok")
    same, other = (plan_of(profile, substrate=kwok, host=host) for host in (HOST, HostSize(64, 1, "3.11")))

    assert gate(same, "maxReclaimActionsDuringSoak.calibrated").not_applicable == ""
    assert "another class of machine" in gate(other, "maxReclaimActionsDuringSoak.calibrated").not_applicable


def test_the_inputs_are_what_changes_a_run_and_nothing_else() -> None:
    plan = plan_of(profile_of(slo=SLO))
    digest, catalog = plan.circumstances.inputs, plan.inputs.catalog

    for same in (
        profile_of(slo={**SLO, "maxReclaimActionsDuringSoak": 5}),
        profile_of(slo=SLO, randomSeed=9),
        calibrated(),
    ):
        assert inputs_digest(same, catalog) == digest
    for other in (
        profile_of(slo={**SLO, "judge": "tail"}),
        profile_of(slo=SLO, provider={"drain": {"p50Seconds": 1, "p99Seconds": 2}}),
    ):
        assert inputs_digest(other, catalog) != digest


def test_machines_of_a_class_have_cores_memory_and_python_in_common() -> None:
    assert HostSize(2, 31 * 1024**3, "3.11").host_class == "2 cores, 32 GiB, Python 3.11"
    assert HostSize(2, 24 * 1024**3, "3.12").host_class == "2 cores, 32 GiB, Python 3.12"
    assert HostSize(1, 1, "").host_class == "1 cores, 1 GiB, Python unknown"


def test_what_no_run_can_teach_is_not_calibratable() -> None:
    plan = plan_of(profile_of(slo={**SLO, "shardConfigurePhaseP99Seconds": 20, "maxReclaimsBeforeFirstRollup": 0}))
    why = {each.name: why_not_calibratable(each) for each in plan.gates}

    assert why["maxReclaimActionsDuringSoak"] == why["internalBindingLatencyP99Seconds"] == ""
    assert why["operatorAckP99Seconds"] == "its number is modelled in this world"
    assert why["shardConfigurePhaseP99Seconds"] == "its number is input in this world"
    assert why["maxReclaimsBeforeFirstRollup"] == "its bar is as tight as can be"
    assert why["noShortfall"] == why["boundShare"] == "its bar is no number that a profile sets"


def test_a_gate_that_the_engine_cannot_serve_is_not_applied_calibrated_either() -> None:
    engine = shipped_engine().model_copy(
        update={"roles": shipped_engine().roles.model_copy(update={"reclaim_actions": None})}
    )
    plan = plan_of(calibrated(), engine=engine)

    own, other = (gate(plan, f"maxReclaimActionsDuringSoak{end}") for end in ("", ".calibrated"))
    assert own.not_applicable == other.not_applicable != ""
