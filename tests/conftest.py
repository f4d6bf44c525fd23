"""What all tests share: the hypothesis profiles, chosen by SCALETEST_HYPOTHESIS (dev unless told otherwise)."""

import os

from hypothesis import HealthCheck, settings

settings.register_profile("dev", max_examples=50, deadline=None)
settings.register_profile("ci", max_examples=300, deadline=None, derandomize=True)
settings.register_profile("nightly", max_examples=5000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("SCALETEST_HYPOTHESIS", "dev"))
