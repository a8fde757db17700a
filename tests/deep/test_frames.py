"""Memories of pictures: what a convolutional network is shown is what the memory holds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

gymnasium = pytest.importorskip("gymnasium")

from workbench.core.errors import WrongType  # noqa: E402
from workbench.interop.gym.frames import FrameMemory  # noqa: E402

HEIGHT, WIDTH, ACTIONS = 4, 3, 3


class Slides(gymnasium.Env):
    """A picture for each step, all of whose pixels are the number of the step; actions 5, 6, 7."""

    observation_space = gymnasium.spaces.Box(0, 255, (HEIGHT, WIDTH), np.uint8)
    action_space = gymnasium.spaces.Discrete(ACTIONS, start=5)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.shown = 1
        self.screen = np.full((HEIGHT, WIDTH), 1, np.uint8)
        return self.screen, {}

    def step(self, action):
        assert action in self.action_space
        self.shown += 1
        self.screen[:] = self.shown  # the same array each time: what is remembered must be a copy
        return self.screen, float(action), self.shown == 100, False, {}


def slow_view(kind, k, taken):
    """The pictures and the rest after the actions (a, w) that were taken, from the definition of
    the memories."""
    cells, bits = [], [0] * k
    for t, (a, w) in enumerate(taken):
        if kind == "B":
            bits = [int(x) for x in f"{w:0{k}b}"]
        elif kind == "K" or (kind in ("O", "OA") and w):
            cells.append((t + 1, a))
    cells = ([None] * k + cells)[-k:] if kind in ("K", "O", "OA") else []
    frames = [0 if cell is None else cell[0] for cell in cells] + [len(taken) + 1]
    if kind == "B":
        return frames, bits
    if kind == "OA":
        return frames, [
            float(cell is not None and cell[1] == a) for cell in cells for a in range(3)
        ]
    return frames, [float(cell is not None) for cell in cells]


@given(
    st.sampled_from(["none", "K2", "B2", "O2", "OA2", "O1", "OA3"]),
    st.lists(st.integers(0, 10**6), max_size=7),
)
def test_pictures_and_the_rest_are_the_memory_of_the_definition(memory, numbers):
    env = FrameMemory(Slides(), memory)
    kind, k = memory.rstrip("123"), int(memory[-1]) if memory != "none" else 0
    writes = {"none": 1, "K": 1, "B": 2**k}.get(kind, 2)
    assert env.action_space.n == ACTIONS * writes
    seen, _ = env.reset(seed=0)
    taken = []
    for t in range(len(numbers) + 1):
        assert seen in env.observation_space
        frames, rest = slow_view(kind, k, taken)
        assert seen["frames"].reshape(len(frames), -1).tolist() == [
            [x] * HEIGHT * WIDTH for x in frames
        ]
        assert seen.get("rest", np.zeros(0)).tolist() == rest
        if t < len(numbers):
            action = numbers[t] % int(env.action_space.n)
            seen, r, *_ = env.step(action)
            taken.append(divmod(action, writes))
            assert r == 5 + taken[-1][0]
    seen, _ = env.reset()
    assert seen["frames"].max() == 1  # a new episode begins with an empty memory


def test_what_was_shown_is_not_changed_by_later_steps():
    env = FrameMemory(Slides(), "K2")
    env.reset()
    first, *_ = env.step(0)
    kept = first["frames"].copy()
    env.step(1)
    assert (first["frames"] == kept).all()


def test_only_pictures_are_taken():
    with pytest.raises(WrongType, match="needs pictures, height by width in bytes, not Discrete"):
        FrameMemory(gymnasium.make("FrozenLake-v1"), "O1")
