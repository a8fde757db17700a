"""MemoryWrapper: against the compiled augmented POMDP, step by step, and around other people's
environments."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import families, pomdps

gymnasium = pytest.importorskip(
    "gymnasium", reason="gymnasium is not installed: pip install 'memory-workbench[gym]'"
)

from gymnasium.utils.env_checker import check_env  # noqa: E402

from pomdps import gravity, recall  # noqa: E402
from pomdps.hallway import hallway_cookie  # noqa: E402
from workbench import augment, memories  # noqa: E402
from workbench.core.errors import WorkbenchError, WrongType  # noqa: E402
from workbench.interop.gym import MemoryWrapper, to_gymnasium  # noqa: E402

NAMES = ("none", "K2", "B3", "O2", "OA3")
WRAPPED = "ignore:.*different from the unwrapped version.*:UserWarning"


def memory_label(family, m, O, A):
    """A memory of the wrapper in the labels of the model."""
    if family.kind == "none":
        return "-"
    if family.kind == "B":
        return "".join(map(str, m.tolist()))

    def cell(filled, entry):
        if not filled:
            return None
        return (O[entry[0]], A[int(entry[1])]) if family.kind == "OA" else O[entry]

    return tuple(cell(*one) for one in m)


def agree(P, family, seed, flat, steps=30):
    """Walk the wrapped environment and the compiled model with the same seed and the same
    actions."""
    wrapped = MemoryWrapper(to_gymnasium(P), family, flat=flat)
    compiled = to_gymnasium(augment(P, family))
    A = compiled.P.A
    actions = np.random.default_rng(seed)

    def compare(one, other):
        if flat:
            one = gymnasium.spaces.unflatten(wrapped.dict_space, one)
        assert (
            memory_label(family, one["memory"], P.O, P.A),
            P.O[int(one["observation"])],
        ) == compiled.P.O[other]

    compare(wrapped.reset(seed=seed)[0], compiled.reset(seed=seed)[0])
    for _ in range(steps):
        action = int(actions.integers(len(A)))
        a, w = divmod(action, wrapped.writes)
        one = wrapped.step(action if flat else {"action": a, "write": w})
        other = compiled.step(action)
        compare(one[0], other[0])
        assert one[1:4] == other[1:4]
        if one[2]:
            break


@given(pomdps(), families(3), st.integers(0, 10**6), st.booleans())
def test_wrapper_and_compiled_model_agree_step_by_step(P, family, seed, flat):
    agree(P, family, seed, flat)


@pytest.mark.parametrize("make", [gravity, recall], ids=lambda make: make.__name__)
@pytest.mark.parametrize("name", ["none", "K1", "B1", "O1", "OA1"])
@pytest.mark.parametrize("flat", [False, True])
def test_they_agree_on_our_tasks(make, name, flat):
    for seed in range(3):
        agree(make(), memories.parse_memory(name), seed, flat, steps=200)


@pytest.mark.parametrize("name", ["B1", "O1"])
def test_they_agree_on_a_task_that_goes_on_for_ever(name):
    agree(hallway_cookie(), memories.parse_memory(name), 0, False, steps=500)


@pytest.mark.filterwarnings(WRAPPED)
@pytest.mark.filterwarnings(
    "ignore:.*Box observation space (min|max)imum value is -?infinity.*:UserWarning"
)  # CartPole's own
@pytest.mark.parametrize("flat", [False, True])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("env_id", ["FrozenLake-v1", "CartPole-v1", "CliffWalking-v1"])
def test_any_environment_with_discrete_actions_can_be_wrapped(env_id, name, flat):
    env = MemoryWrapper(gymnasium.make(env_id), name, flat=flat)
    check_env(env, skip_render_check=True)
    o, _ = env.reset(seed=0)
    for _ in range(20):
        assert env.observation_space.contains(o)
        o, _, terminated, truncated, _ = env.step(env.action_space.sample())
        if terminated or truncated:
            o, _ = env.reset()


def test_each_memory_does_what_the_paper_says():
    def after(name, *actions):
        env = MemoryWrapper(to_gymnasium(gravity()), name)
        o, _ = env.reset(seed=0)
        seen = [o["observation"]]
        for a, w in actions:
            o, *_ = env.step({"action": a, "write": w})
            seen.append(o["observation"])
        return o["memory"], seen

    right = gravity().A.index("right")
    assert after("none", (right, 0))[0] == 0
    m, seen = after("K2", (right, 0), (right, 0), (right, 0))
    assert m == ((1, seen[1]), (1, seen[2]))
    m, _ = after("B3", (right, 1), (right, 6))
    assert m.tolist() == [1, 1, 0]
    m, seen = after("O2", (right, 0), (right, 1), (right, 0))
    assert m == ((0, 0), (1, seen[1]))
    m, seen = after("OA1", (right, 1), (right, 1), (right, 0))
    assert m == ((1, (seen[1], right)),)


def test_a_reset_empties_the_memory():
    env = MemoryWrapper(to_gymnasium(recall()), "OA1")
    env.reset(seed=0)
    env.step({"action": 0, "write": 1})
    assert env.reset(seed=0)[0]["memory"] == ((0, 0),)


def test_a_stored_observation_survives_an_environment_that_reuses_its_array():
    class Reusing(gymnasium.Env):
        observation_space = gymnasium.spaces.Box(0, 9, (1,))
        action_space = gymnasium.spaces.Discrete(1)

        def reset(self, *, seed=None, options=None):
            self.o = np.zeros(1, dtype=np.float32)
            return self.o, {}

        def step(self, action):
            self.o += 1
            return self.o, 0.0, False, False, {}

    env = MemoryWrapper(Reusing(), "K2")
    env.reset()
    env.step({"action": 0, "write": 0})
    o, *_ = env.step({"action": 0, "write": 0})
    assert [float(entry[0]) for _, entry in o["memory"]] == [0.0, 1.0]


def test_actions_that_start_elsewhere_than_zero_are_passed_on():
    class Shifted(gymnasium.Env):
        observation_space = gymnasium.spaces.Discrete(1)
        action_space = gymnasium.spaces.Discrete(2, start=5)

        def reset(self, *, seed=None, options=None):
            return 0, {}

        def step(self, action):
            assert self.action_space.contains(action)
            return 0, float(action), False, False, {}

    env = MemoryWrapper(Shifted(), "B1", flat=True)
    env.reset()
    assert [env.step(i)[1] for i in range(4)] == [5.0, 5.0, 6.0, 6.0]


def test_the_wrapper_can_be_made_anew_from_its_spec():
    env = MemoryWrapper(gymnasium.make("FrozenLake-v1"), "OA2", flat=True)
    again = gymnasium.make(env.spec)
    assert again.observation_space == env.observation_space
    assert again.action_space == env.action_space


def test_misuse_is_refused():
    with pytest.raises(WrongType, match="Discrete action space"):
        MemoryWrapper(gymnasium.make("Pendulum-v1"), "O1")
    with pytest.raises(WorkbenchError, match="OA2"):
        MemoryWrapper(gymnasium.make("FrozenLake-v1"), "X9")
    with pytest.raises(WrongType, match="one of the paper's"):
        MemoryWrapper(gymnasium.make("FrozenLake-v1"), 3)
