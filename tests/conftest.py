"""Settings that all tests share."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "workbench",
    deadline=None,
    max_examples=40,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("workbench")
