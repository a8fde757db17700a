"""Settings that all tests share.

The examples of a property follow from its code, so that a run can be repeated;
`--hypothesis-profile=explore` draws others. The daily tests try the first few of them, `-m slow`
tries all.
"""
# ruff: noqa: E402

import os
import sys

# The tests start many processes: each imports what another has compiled, wherever bytecode is
# switched off as well.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

from importlib import import_module

WORKER = os.environ.get("PYTEST_XDIST_WORKER")

# Two processes that share the tests import the same packages. The second starts with these, the
# first comes to them last: each finds compiled what the other has been through.
if WORKER == "gw1":
    for package in ("sympy", "pandas", "matplotlib.pyplot", "minigrid", "distributed"):
        import_module(package)

import gc
import time
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, settings
from processes import Processes

settings.register_profile(
    "explore",
    deadline=None,
    max_examples=40,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.register_profile(
    "workbench", settings.get_profile("explore"), derandomize=True, database=None
)
settings.load_profile("workbench")

DAILY_EXAMPLES = 4


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Properties with many examples are their own fast twins: cut short every day, and whole among
    the slow tests."""
    chosen = config.option.markexpr
    for item in items:
        function = getattr(item, "function", None)
        own = getattr(function, "_hypothesis_internal_use_settings", None)
        if own is None or own.max_examples <= DAILY_EXAMPLES:
            continue
        if chosen == "not slow":
            function._hypothesis_internal_use_settings = settings(own, max_examples=DAILY_EXAMPLES)
        else:
            item.add_marker(pytest.mark.slow)


class WithoutExtras:
    """Doctests of parts whose extra is not installed are left out, wherever they are."""

    def pytest_ignore_collect(self, collection_path, config):
        deep = {config.rootpath / "workbench" / "deep", config.rootpath / "docs" / "deep.md"}
        return True if deep & {collection_path, *collection_path.parents} else None


def pytest_configure(config):
    if find_spec("jax") is None:
        config.pluginmanager.register(WithoutExtras())


os.environ.setdefault("MPLBACKEND", "agg")  # pictures are drawn without a screen
gc.set_threshold(100_000, 50, 50)  # numba compiles in a fifth less time


@pytest.fixture(autouse=True, scope="session")
def _large_kernels_are_compiled_once():
    """Two processes that share the tests start with one half each of the kernels that take longest
    to compile, so that neither waits for what the other does as well."""
    if WORKER is None:
        return
    # not above: the process that hands out the tests imports nothing, and starts the two at once
    from pomdps import recall4, tiger
    from workbench import ActorCritic, QLearning, Sarsa, augment, improve, learn, uniform
    from workbench.core.loop_kernels import run_loops
    from workbench.improvement.batch import stuck
    from workbench.optima.best_memoryless import best_memoryless

    match WORKER:
        case "gw0":
            run_loops.patience = -1.0
            stuck([[[5, 4], [0, 6]]], "B1")
            E = augment(recall4(), "B1")
            improve(E, uniform(E), step=0.1)
            for learner in (QLearning(), Sarsa(), ActorCritic()):
                learn(E, learner, steps=10, seeds=1)
        case "gw1":
            best_memoryless(recall4(), deterministic=False)
            endless = tiger(gamma=0.95)
            improve(endless, uniform(endless), step=0.5, weights="discounted", budget=3)


@pytest.fixture(autouse=True)
def _close_pictures():
    """No test sees the pictures of another."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture(autouse=True, scope="session")
def _limits_of_searches_are_processor_time():
    """The seconds that a search may take are seconds of this process, so that it finds the same on
    a busy machine as on an idle one."""
    root = Path(__file__).parent.parent
    with pytest.MonkeyPatch.context() as patch:
        rooms = "core agents evaluation improvement optima sufficiency equilibrium research interop"
        paths = [p for room in rooms.split() for p in (root / "workbench" / room).rglob("*.py")]
        for path in [*paths, root / "workbench" / "plain_numbers.py"]:
            if "time.monotonic()" in path.read_text():
                name = ".".join(path.relative_to(root).with_suffix("").parts)
                clock = SimpleNamespace(monotonic=time.process_time)
                patch.setattr(import_module(name), "time", clock)
        yield


@pytest.fixture
def processes():
    """Processes that end with the test, however it ends."""
    with Processes() as started:
        yield started
