"""Settings that all tests share.

The examples of a property follow from its code, so that a run can be repeated; `--hypothesis-profile=explore` draws others.
"""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "explore",
    deadline=None,
    max_examples=40,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.register_profile("workbench", settings.get_profile("explore"), derandomize=True, database=None)
settings.load_profile("workbench")
