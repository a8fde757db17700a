"""Action masks of Gymnasium environments: read as what an observation allows, and given again."""

import numpy as np
import pytest
from reference import same_model
from toy_tasks import doors

pytest.importorskip("gymnasium")

import gymnasium

from workbench import MemoryWrapper, augment, best_memoryless, from_gymnasium, to_gymnasium
from workbench.core.errors import ModelError, WorkbenchError


def read(env, **options):
    A = env.unwrapped.P.A
    return from_gymnasium(
        env,
        state=lambda e: e.unwrapped.state,
        observe=lambda e, o: e.unwrapped.P.O[o],
        gamma=env.unwrapped.P.gamma,
        **options,
    ).relabel(A=lambda a: A[a])


def test_a_mask_goes_out_and_comes_back():
    P = doors()
    env = to_gymnasium(P)
    _, info = env.reset(seed=0)
    assert info["action_mask"].tolist() == [1, 1, 0, 0]
    assert env.action_space.sample(info["action_mask"]) in (0, 1)
    with pytest.raises(WorkbenchError, match=r"doors does not allow open at o=hall; info\['action"):
        env.step(3)
    again = read(env, mask="action_mask")
    assert [again.actions(o) for o in P.O] == [P.actions(o) for o in P.O]
    ends = {("end", "end"): "end"}
    assert same_model(again.relabel(S=lambda s: ends.get(s, s)), P)
    assert "action_mask" not in to_gymnasium(P.with_all_actions()).reset(seed=0)[1]


def test_a_memory_masks_its_joint_actions():
    P = doors()
    env = MemoryWrapper(to_gymnasium(P), "B1", flat=True)
    E = augment(P, "B1")
    _, info = env.reset(seed=0)
    assert info["action_mask"].tolist() == E.allowed[E.O.index(("0", "hall"))].tolist()
    *_, info = env.step(1)
    assert info["action_mask"].tolist() == E.allowed[E.O.index(("1", "door"))].tolist()
    assert "action_mask" in MemoryWrapper(to_gymnasium(P), "B1").reset(seed=0)[1]


class Hidden(gymnasium.Env):
    """A mask that depends on what is not seen, or on what is no state at all."""

    observation_space = gymnasium.spaces.Discrete(1)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, forgetful):
        self.forgetful = forgetful

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.s, self.age = int(self.np_random.integers(2)), 0
        return 0, self.info()

    def info(self):
        free = self.age % 2 if self.forgetful else self.s
        return {"free": np.array([1, free])}

    def step(self, action):
        self.s, self.age = 1 - self.s, self.age + 1
        return 0, 1.0, False, False, self.info()


def test_masks_that_are_not_seen_are_refused():
    with pytest.raises(ModelError, match=r"allowed at o=0, as in s=\S+, which shows o too"):
        from_gymnasium(Hidden(False), mask="free", state=["s"])
    with pytest.raises(WorkbenchError, match="differs from time to time"):
        from_gymnasium(Hidden(True), mask="free", state=["s"])
    with pytest.raises(ModelError, match="info holds 'free', and no 'action_mask'"):
        from_gymnasium(Hidden(False), mask="action_mask", state=["s"])


def test_the_mask_of_taxi_leaves_out_what_does_nothing():
    taxi = from_gymnasium("Taxi-v4" if "Taxi-v4" in gymnasium.registry else "Taxi-v3",
                          mask="action_mask", rollouts=100)  # fmt: skip
    assert "read from its own table" in taxi.note
    assert len(taxi.p.s_next) == 1_116
    assert best_memoryless(taxi).value == pytest.approx(6.327464314919365)
