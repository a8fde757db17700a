"""The paper's memories around any Gymnasium environment with discrete actions (Section 4, Appendix
A.3).

The agent sees (m, o) and chooses (a, w): what the environment shows together with the memory, what
to do together with what to write. In Gymnasium's spaces:

    memory     B(k)        k bits
               K(k), O(k)  k cells, oldest first, each empty (0, 0) or (1, o)
               OA(k)       the same with (1, (o, a))
               none, F(n)  a number below |M|: 0, the node, and so for clocks
    write      a number below |W|: 0 keep and 1 push; the bits of B(k) read as a binary number

`flat=True` makes one number a |W| + w of the action and one vector of the observation
(`gymnasium.spaces.flatten`).
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from workbench.core.errors import WrongType
from workbench.core.space import Bits, Space
from workbench.extras import need
from workbench.memories import BufferFamily, Family, parse_memory

gymnasium = need("gymnasium")
spaces = gymnasium.spaces

_NOTHING = Space(["-"])
"""The observations and actions of a memory that stores neither."""


class MemoryWrapper(gymnasium.Wrapper, gymnasium.utils.RecordConstructorArgs):  # type: ignore[name-defined]
    """An environment with a memory beside it.

    Parameters
    ----------
    env : any environment with a Discrete action space.
    memory : "none", "K3", "B2", "O1", "OA3", ... or a rule of `workbench.memories`.
    flat : whether spaces are flattened instead of Dict.

    >>> env = MemoryWrapper(gymnasium.make("FrozenLake-v1"), "OA1")
    >>> _ = env.reset(seed=0)
    >>> o, *_ = env.step({"action": 2, "write": 1})
    >>> o["memory"]
    ((1, (0, 2)),)

    See also: `to_gymnasium`, `augment`, `Memory`.
    """

    def __init__(self, env: Any, memory: str | Family, flat: bool = False):
        gymnasium.utils.RecordConstructorArgs.__init__(self, memory=memory, flat=flat)
        if not isinstance(env, gymnasium.Env):
            raise WrongType(f"MemoryWrapper needs an environment of Gymnasium, not {env!r}")
        gymnasium.Wrapper.__init__(self, env)
        if not isinstance(env.action_space, spaces.Discrete):
            raise WrongType(f"MemoryWrapper needs a Discrete action space, not {env.action_space}")
        family = parse_memory(memory) if isinstance(memory, str) else memory
        if not isinstance(family, Family):
            raise WrongType(
                "a memory is one of the paper's, or another rule of m, w, o and a, "
                f"such as 'OA2', not {memory!r}"
            )
        if not isinstance(flat, bool):
            raise WrongType(f"flat is True or False, not {flat!r}")
        self.family, self.flat = family, flat
        self.W = family.list_writes()
        self.writes = len(self.W)
        if isinstance(family, BufferFamily):
            o, a = env.observation_space, env.action_space
            cell = spaces.OneOf([spaces.Discrete(1), spaces.Tuple([o, a]) if family.pairs else o])
            m = spaces.Tuple([cell] * family.k)
        else:  # what it remembers does not depend on what is seen
            self.M = family.states(_NOTHING, _NOTHING)
            bits = isinstance(self.M, Bits)
            m = spaces.MultiBinary(family.k) if bits else spaces.Discrete(len(self.M))
        self.dict_space = spaces.Dict({"memory": m, "observation": env.observation_space})
        if flat:
            try:
                self.observation_space = spaces.flatten_space(self.dict_space)
            except NotImplementedError as error:
                raise WrongType(
                    f"the observations {env.observation_space} cannot be flattened: {error}"
                ) from None
            self.action_space = spaces.Discrete(int(env.action_space.n) * self.writes)
        else:
            self.observation_space = self.dict_space
            self.action_space = spaces.Dict(
                {"action": env.action_space, "write": spaces.Discrete(self.writes)}
            )

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        o, info = self.env.reset(seed=seed, options=options)
        self.o = copy.deepcopy(o)  # an environment may go on writing to the array that it returned
        self.label = self.family.start
        return self._shown(), self._told(info)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        a, w = (
            divmod(int(action), self.writes)
            if self.flat
            else (action["action"], int(action["write"]))
        )
        a = a + self.env.action_space.start if self.flat else a
        o, (o_next, r, terminated, truncated, info) = self.o, self.env.step(a)
        self.o = copy.deepcopy(o_next)
        self.label = self.family.update(self.label, self.W[w], o, a)
        return self._shown(), r, terminated, truncated, self._told(info)

    def _told(self, info: dict[str, Any]) -> dict[str, Any]:
        """The environment's info. Where it masks actions, flat ones are masked with any write."""
        if not self.flat or "action_mask" not in info:
            return info
        return info | {"action_mask": np.repeat(info["action_mask"], self.writes)}

    @property
    def m(self) -> Any:
        """The memory, as an element of its space."""
        if isinstance(self.family, BufferFamily):
            return tuple((0, 0) if cell is None else (1, cell) for cell in self.label)
        if isinstance(self.M, Bits):
            return np.array([int(bit) for bit in self.label], dtype=np.int8)
        return self.M.index(self.label)

    def _shown(self) -> Any:
        seen = {"memory": self.m, "observation": self.o}
        if self.flat:
            return spaces.flatten(self.dict_space, seen)
        return copy.deepcopy(seen)  # whoever gets it may keep it
