"""POMDPs as Gymnasium environments: the checker, seeds, the law of a step, ids, text."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import families, pomdps
from toy_tasks import small_task

gymnasium = pytest.importorskip(
    "gymnasium", reason="gymnasium is not installed: pip install 'memory-workbench[gym]'"
)

from gymnasium.utils.env_checker import check_env  # noqa: E402

from pomdps import gravity, recall, recall4  # noqa: E402
from pomdps.hallway import hallway_keys  # noqa: E402
from workbench import POMDP, augment  # noqa: E402
from workbench.core.errors import WorkbenchError, WrongType  # noqa: E402
from workbench.interop.gym import register_all, to_gymnasium  # noqa: E402

HALF = 0.5


def noisy() -> POMDP:
    """One state, two observations at random."""
    return small_task(
        "noisy",
        lambda s, a: {("s", 0): HALF, ("end", 1): HALF},
        "s",
        A=["a", "b"],
        omega=lambda s: {"x": HALF, "y": HALF},
        gamma=0.9,
    )


@pytest.mark.parametrize(
    "P",
    [
        gravity(),
        recall(),
        noisy(),
        hallway_keys(),
        augment(gravity(), "OA1"),
        augment(noisy(), "B1"),
    ],
    ids=lambda P: P.name,
)
def test_gymnasium_s_checker_has_nothing_to_say(P):
    check_env(to_gymnasium(P, render_mode="ansi"))  # warnings are errors here


@given(pomdps(), families(1))
@settings(max_examples=10)
def test_random_models_pass_the_checker(P, family):
    check_env(to_gymnasium(augment(P, family)), skip_render_check=True)


@given(pomdps(), st.integers(0, 2**31))
def test_a_step_is_an_outcome_of_the_model_found_by_one_uniform_number(P, seed):
    env = to_gymnasium(P)
    twin, _ = gymnasium.utils.seeding.np_random(seed)
    actions = np.random.default_rng(seed)

    def fall(pairs):
        u, upto = twin.random(), 0.0
        for outcome, x in pairs:
            upto += float(x)
            if u < upto:
                return outcome
        return outcome

    o, info = env.reset(seed=seed)
    s, expected = fall([((s, o), x * y) for s, x in P.mu.items() for o, y in P.omega(s).items()])
    assert (P.O[o], info["o"], env.state) == (expected, expected, s)
    for _ in range(8):
        if s in P.terminal:
            break
        a = int(actions.integers(len(P.A)))
        o, r, terminated, truncated, info = env.step(a)
        outcomes = [
            ((s_next, r, o), x * y)
            for (s_next, r), x in P.p(s, P.A[a]).items()
            for o, y in P.omega(s_next).items()
        ]
        s, r_expected, o_expected = fall(outcomes)
        assert (env.state, r, P.O[o]) == (s, float(r_expected), o_expected)
        assert (terminated, truncated) == (s in P.terminal, False)


def test_a_seed_gives_a_run():
    def run(seed):
        env = to_gymnasium(hallway_keys())
        o, _ = env.reset(seed=seed)
        return [o] + [env.step(i % 4)[0] for i in range(200)]

    assert run(1) == run(1)
    assert run(1) != run(2)


def test_rendering_is_a_line_of_text():
    env = to_gymnasium(recall(), render_mode="ansi")
    env.reset(seed=0)
    assert env.render() == "recall, step 0: o"
    for place in range(3):
        env.step(place)
    assert env.render() == "recall, step 3: 3 pays 1; o; the episode is over"
    assert to_gymnasium(recall()).render() is None


def test_misuse_is_refused():
    with pytest.raises(WrongType):
        to_gymnasium("recall")
    with pytest.raises(WorkbenchError, match="render_mode"):
        to_gymnasium(recall(), render_mode="human")
    env = to_gymnasium(recall())
    with pytest.raises(WorkbenchError, match="reset"):
        env.step(0)
    env.reset(seed=0)
    with pytest.raises(WorkbenchError, match="from 0 to 2"):
        env.step(3)
    for _ in range(3):
        env.step(0)
    with pytest.raises(WorkbenchError, match="over"):
        env.step(0)


def test_every_task_and_memory_has_an_id():
    register_all()
    register_all()  # twice does no harm
    ids = [env_id for env_id in gymnasium.registry if env_id.startswith("workbench/")]
    assert {"workbench/gravity-v0", "workbench/gravity-OA1-v0", "workbench/recall4-B2-v0"} <= set(
        ids
    )
    for env_id in ("workbench/gravity-OA1-v0", "workbench/recall4-B1-v0", "workbench/recall-v0"):
        env = gymnasium.make(env_id, render_mode="ansi")
        check_env(env.unwrapped)
        env.reset(seed=1)
        env.step(env.action_space.sample())
        env.close()
    assert gymnasium.make("workbench/recall4-B1-v0").unwrapped.P.O[0] == ("0", "o")


def test_ids_take_the_arguments_of_the_task_and_run_side_by_side():
    register_all()
    env = gymnasium.make("workbench/recall4-v0", scale=2)
    assert max(env.unwrapped.P.R) == 2 * max(recall4().R)
    side_by_side = gymnasium.make_vec(
        "workbench/gravity-O1-v0", num_envs=2, vectorization_mode="sync"
    )
    o, _ = side_by_side.reset(seed=0)
    assert o.shape == (2,)
    side_by_side.close()


def test_without_gymnasium_the_extra_is_named(monkeypatch):
    import sys

    from workbench.extras import MissingExtra, need

    monkeypatch.setitem(sys.modules, "gymnasium", None)
    with pytest.raises(MissingExtra, match=re.escape("pip install 'memory-workbench[gym]'")):
        need("gymnasium")
