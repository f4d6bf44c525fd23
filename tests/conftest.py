"""What all tests share: hypothesis profiles (SCALETEST_HYPOTHESIS) and, in CI, no skips (SCALETEST_NO_SKIPS)."""

import os
from collections.abc import Generator

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("dev", max_examples=50, deadline=None)
settings.register_profile("ci", max_examples=300, deadline=None, derandomize=True)
settings.register_profile("nightly", max_examples=5000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("SCALETEST_HYPOTHESIS", "dev"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn a skip into a failure where everything is supposed to be installed."""
    report = yield
    if report.skipped and os.environ.get("SCALETEST_NO_SKIPS") and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped, and SCALETEST_NO_SKIPS is set: {report.longrepr}"
    return report
