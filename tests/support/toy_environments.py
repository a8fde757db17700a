"""Small Gymnasium environments for the explorer, good ones and ones that it has to refuse."""

from __future__ import annotations

import random
from typing import ClassVar

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete, MultiDiscrete

COUNTER = [0]


class Line(gymnasium.Env):
    """Cells 0 to 4, from 2; a move slips back with probability 0.3; the ends pay -1 and 1.5 and end
    the episode."""

    metadata: ClassVar[dict] = {}

    def __init__(self, noisy: bool = False):
        self.action_space = Discrete(2)
        self.observation_space = Discrete(7)
        self.noisy = noisy

    def _seen(self):
        return int(self.x + self.np_random.integers(0, 2)) if self.noisy else self.x

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x = (options or {}).get("x", 2)
        return self._seen(), {}

    def step(self, action):
        move = 1 if action == 1 else -1
        self.x += -move if self.np_random.random() < 0.3 else move
        reward = {0: -1.0, 4: 1.5}.get(self.x, 0.0)
        return self._seen(), reward, self.x in (0, 4), False, {}


class Clock(Line):
    """Line with a counter of its own that truncates, after three steps by default."""

    def __init__(self, limit: int = 3):
        super().__init__()
        self.limit = limit

    def reset(self, **keywords):
        self.t = 0
        return super().reset(**keywords)

    def step(self, action):
        self.t += 1
        o, r, terminated, _, info = super().step(action)
        return o, r, terminated, self.t == self.limit, info


class Scattered(Line):
    """Starts at a random inner cell, drawn again until it is not 2."""

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        while (x := int(self.np_random.integers(1, 4))) == 2:
            pass
        self.x = x
        return self.x, {}


class Worldly(Line):
    """Draws from the generator that all programs share."""

    def step(self, action):
        self.x += random.choice([-1, 1])
        return self.x, 0.0, self.x in (0, 4), False, {}


class Holder:
    """Something that an environment is made of."""


OWN_DRAWS = {
    "Generator": (np.random.default_rng, lambda rng: rng.integers(3)),
    "RandomState": (np.random.RandomState, lambda rng: rng.randint(0, 3)),
    "Random": (random.Random, lambda rng: rng.randint(0, 2)),
    "Random.sample": (random.Random, lambda rng: rng.sample([2, 1, 0], 2)[0]),
    "Random.choice": (random.Random, lambda rng: int(rng.choice("001") == "0")),
}


class Own(Line):
    """Slips with a generator of its own, which a thing in a list has."""

    def __init__(self, kind):
        super().__init__()
        make, self.draw = OWN_DRAWS[kind]
        self.things = [Holder()]
        self.things[0].rng = make(0)

    def step(self, action):
        self.x += 1 if self.draw(self.things[0].rng) else -1
        return self.x, 0.0, self.x in (0, 4), False, {}


class Tupled(Line):
    """Has a generator in a tuple."""

    def __init__(self):
        super().__init__()
        self.things = (np.random.default_rng(0),)


class Hidden(Line):
    """Keeps the generator of its reset where nobody sees it."""

    def reset(self, **keywords):
        found = super().reset(**keywords)
        rng = self.np_random
        self.draw = lambda: rng.integers(2)
        return found

    def step(self, action):
        self.x += 1 if self.draw() else -1
        return self.x, 0.0, self.x in (0, 4), False, {}


class Hoarder(Line):
    """Keeps the generator that it had when it was reset."""

    def reset(self, **keywords):
        found = super().reset(**keywords)
        self.kept = self.np_random
        return found

    def step(self, action):
        self.x += 1 if self.kept.integers(2) else -1
        return self.x, 0.0, self.x in (0, 4), False, {}


class Floating(Line):
    """Starts at a real number."""

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x = self.np_random.uniform(1, 3)
        return 0, {}


class Forgetful(Line):
    """Changes with something outside of it."""

    def step(self, action):
        COUNTER[0] += 1
        self.x += 1 if COUNTER[0] % 2 else -1
        return self.x, 0.0, self.x in (0, 4), False, {}


class Endless(Line):
    """Goes up for ever."""

    def step(self, action):
        self.x += 1
        return self.x, 0.0, False, False, {}


class Pair(Line):
    """Two switches, each set by one part of the action; over when both are on."""

    def __init__(self):
        super().__init__()
        self.action_space = MultiDiscrete([2, 2])
        self.observation_space = MultiDiscrete([2, 2])

    def reset(self, *, seed=None, options=None):
        gymnasium.Env.reset(self, seed=seed)
        self.x = np.zeros(2, dtype=int)
        return self.x, {}

    def step(self, action):
        self.x = np.asarray(action)
        return self.x, 0, bool(self.x.all()), False, {}


class Pushed(Line):
    """A continuous action."""

    def __init__(self):
        super().__init__()
        self.action_space = Box(-1.0, 1.0)


class Ageing(Line):
    """Holds a table that no early step changes and a later one does, in place."""

    def __init__(self):
        super().__init__()
        self.table = [[0, 0, 0], [1, 2, 3]]
        self.age = 0

    def reset(self, *, seed=None, options=None):
        self.age, self.table[0] = 0, [0, 0, 0]
        return super().reset(seed=seed)

    def step(self, action):
        self.age = min(self.age + 1, 6)
        if self.age == 6:
            self.table[0][0] = 1
        over = self.table[0][0] == 1
        return self.age, float(over), over, False, {}


class Listed(gymnasium.Env):
    """Spells its outcomes out as toy-text environments do: a coin, thrown until it shows 1."""

    def __init__(self, cheats=False):
        self.observation_space = gymnasium.spaces.Discrete(2)
        self.action_space = gymnasium.spaces.Discrete(1)
        self.initial_state_distrib = np.array([1.0, 0.0])
        self.P = {
            0: {0: [(0.5, 0, -1, False), (0.5, 1, 2, True)]},
            1: {0: [(1.0, 1, 0, True)]},
        }
        self.cheats = cheats

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.s = 0
        return 0, {}

    def step(self, action):
        falls = self.np_random.random() < (0.75 if self.cheats else 0.5)
        self.s = int(not falls)
        return self.s, -1 if falls else 2, not falls, False, {}


class Partial(Line):
    """Behaves otherwise when it is watched: its slips are rarer where draws are enumerated."""

    def step(self, action):
        watched = not isinstance(self.np_random, np.random.Generator)
        move = 1 if action == 1 else -1
        self.x += -move if self.np_random.random() < (0.1 if watched else 0.5) else move
        return self.x, 0.0, self.x in (0, 4), False, {}
