"""Memories of pictures, in the form that convolutional networks take: Section 6, Appendix D.4.

`MemoryWrapper` around an environment that shows pictures remembers pictures; its agent sees (m, o)
and chooses (a, w). Here (m, o) is

    frames[c]    uint8, c = 0, ..., k      the pictures in the memory, oldest first, and o; an
                                           empty cell is black
    rest         numbers in {0, 1}         B(k): the bits; K(k), O(k): which cells are full; OA(k):
                                           the action of each cell, one place for each, all 0 if the
                                           cell is empty

and (a, w) is the number a |W| + w. `rest` is left out where there is nothing to say.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.errors import WrongType
from workbench.core.space import Bits
from workbench.extras import need
from workbench.interop.gym.memory_wrapper import MemoryWrapper
from workbench.memories import BufferFamily, Family

gymnasium = need("gymnasium")
spaces = gymnasium.spaces


class FrameMemory(gymnasium.Wrapper, gymnasium.utils.RecordConstructorArgs):  # type: ignore[name-defined]
    """An environment that shows pictures, with a memory of pictures beside it.

    Parameters
    ----------
    env : an environment whose observations are a Box of bytes, height by width, and whose actions
        are Discrete.
    memory : "none", "K3", "B3", "O3", "OA3", ...
    """

    def __init__(self, env: Any, memory: str | Family):
        gymnasium.utils.RecordConstructorArgs.__init__(self, memory=memory)
        seen = env.observation_space
        if not isinstance(seen, spaces.Box) or len(seen.shape) != 2 or seen.dtype != np.uint8:
            raise WrongType(f"FrameMemory needs pictures, height by width in bytes, not {seen}")
        gymnasium.Wrapper.__init__(self, MemoryWrapper(env, memory))
        family = self.env.family
        self.holds_frames = isinstance(family, BufferFamily)
        self.holds_actions = self.holds_frames and family.pairs
        self.cells = family.k if self.holds_frames else 0
        actions = int(env.action_space.n)
        self.first, self.actions = int(env.action_space.start), actions
        channels = 1 + self.cells
        shown = {"frames": spaces.Box(0, 255, (channels, *seen.shape), np.uint8)}
        if self.holds_frames:
            rest = self.cells * (actions if self.holds_actions else 1)
        elif isinstance(self.env.M, Bits):
            rest = family.k
        elif len(self.env.M) == 1:
            rest = 0
        else:
            raise WrongType(f"FrameMemory needs a buffer or bits, not {family!r}")
        if rest:
            shown["rest"] = spaces.Box(0, 1, (rest,), np.float32)
        self.observation_space = spaces.Dict(shown)
        self.action_space = spaces.Discrete(actions * self.env.writes)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        _, info = self.env.reset(seed=seed, options=options)
        return self._picture(), info

    def step(
        self, action: Any
    ) -> tuple[dict[str, NDArray[Any]], float, bool, bool, dict[str, Any]]:
        a, w = divmod(int(action), self.env.writes)
        _, r, terminated, truncated, info = self.env.step({"action": self.first + a, "write": w})
        return self._picture(), float(r), terminated, truncated, info

    def _picture(self) -> dict[str, NDArray[Any]]:
        """The contents of `MemoryWrapper`, as arrays."""
        o, m = self.env.o, self.env.m
        frames = np.zeros(self.observation_space["frames"].shape, dtype=np.uint8)
        frames[-1] = o
        found = {"frames": frames}
        if "rest" not in self.observation_space.spaces:
            return found
        rest = np.zeros(self.observation_space["rest"].shape, dtype=np.float32)
        if not self.holds_frames:
            rest[:] = m
        else:
            for cell, (full, entry) in enumerate(m):
                if not full:
                    continue
                frames[cell] = entry[0] if self.holds_actions else entry
                place = cell * self.actions + entry[1] - self.first if self.holds_actions else cell
                rest[place] = 1
        return found | {"rest": rest}
