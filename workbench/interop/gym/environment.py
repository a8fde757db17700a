"""Any POMDP, augmented or not, as a standard Gymnasium environment.

Observations and actions are the places of labels in P.O and P.A. Every reset and every step takes
one number u, uniform on [0, 1), from the environment's generator, and finds the outcome whose
interval of cumulated probability holds u, outcomes (s', r, o') in the order of the model's rows.
`augment` keeps that order, so a POMDP under a `MemoryWrapper` and the compiled augmented POMDP take
the same steps from the same seed.
"""

from __future__ import annotations

import copy
import re
from typing import Any, ClassVar

import numpy as np

from workbench.errors import WorkbenchError, WrongType
from workbench.extras import need
from workbench.model.augment import augment
from workbench.model.pomdp import POMDP
from workbench.model.space import Label, show

gymnasium = need("gymnasium")


def to_gymnasium(P: POMDP, render_mode: str | None = None) -> POMDPEnv:
    """A POMDP as a `gymnasium.Env` with Discrete spaces.

    Parameters
    ----------
    P : for instance `augment(gravity(), "OA1")`.
    render_mode : "ansi" for a line of text per step from `render()`.

    >>> P = POMDP.from_functions(name="guess", A=["heads", "tails"], p=lambda s, a: {("end", int(s == a)): 1},
    ...                          omega=lambda s: {"a coin": 1}, mu={"heads": 1}, gamma=1, terminal={"end"})
    >>> env = to_gymnasium(P, render_mode="ansi")
    >>> env.reset(seed=0)
    (0, {'o': 'a coin'})
    >>> env.step(P.A.index("heads"))
    (0, 1.0, True, False, {'o': 'a coin'})
    >>> env.render()
    'guess, step 1: heads pays 1; a coin; the episode is over'
    """
    return POMDPEnv(P, render_mode)


class POMDPEnv(gymnasium.Env):  # type: ignore[name-defined]
    """A POMDP as an environment; `P` is the model, `state` the label of the hidden state."""

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["ansi"], "render_fps": 4}

    def __init__(self, P: POMDP, render_mode: str | None = None):
        if not isinstance(P, POMDP):
            raise WrongType(f"to_gymnasium needs a POMDP, not {P!r}")
        if render_mode not in (None, "ansi"):
            raise WorkbenchError(f"render_mode must be None or 'ansi', not {render_mode!r}")
        self.P = P
        self.render_mode = render_mode
        self.observation_space = gymnasium.spaces.Discrete(len(P.O))
        self.action_space = gymnasium.spaces.Discrete(len(P.A))
        self.spec = gymnasium.envs.registration.EnvSpec(  # so that it can be made anew, with another render mode for instance
            id=f"workbench/{re.sub(r'[^A-Za-z0-9]+', '-', P.name).strip('-') or 'task'}-v0",
            entry_point=lambda **arguments: POMDPEnv(P, **arguments),
        )
        self._pairs = not P.omega.is_deterministic
        self._model = (
            augment(P, "none") if self._pairs else P
        )  # states (s, "-", o) with one observation each
        model = self._model
        self._o = (
            np.array([P.O.index(o) for _, o in model.O])[model.omega.o]
            if self._pairs
            else model.omega.o
        )
        self._starts = model.mu.support
        self._start_prob = model.mu.prob.floats[self._starts]
        self._s: int | None = None

    def __deepcopy__(self, memo: dict[int, Any]) -> POMDPEnv:
        twin = copy.copy(self)  # the model is frozen, so copies share it
        twin._np_random = copy.deepcopy(self._np_random, memo)
        return twin

    @property
    def state(self) -> Label:
        """The label of the hidden state."""
        if self._s is None:
            raise WorkbenchError("no episode has begun: call reset first")
        return self._model.S[self._s][0] if self._pairs else self._model.S[self._s]

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[int, dict[str, Any]]:
        super().reset(seed=seed)
        self._s = int(self._starts[self._drawn(self._start_prob)])
        self._steps, self._last = 0, ""
        return self._seen()

    def step(self, action: Any) -> tuple[int, float, bool, bool, dict[str, Any]]:
        if self._s is None or self._model.terminal.mask[self._s]:
            raise WorkbenchError("the episode is over, or has not begun: call reset")
        if not self.action_space.contains(action):
            raise WorkbenchError(
                f"an action is a number from 0 to {len(self.P.A) - 1}, not {action!r}"
            )
        p = self._model.p
        row = self._s * len(self.P.A) + int(action)
        first, last = int(p.row_ptr[row]), int(p.row_ptr[row + 1])
        k = first + self._drawn(p.prob.floats[first:last])
        self._s, r = int(p.s_next[k]), float(p.r.floats[k])
        self._steps += 1
        self._last = f"{show(self.P.A[int(action)])} pays {r:g}; "
        o, info = self._seen()
        return o, r, bool(self._model.terminal.mask[self._s]), False, info

    def _drawn(self, prob: Any) -> int:
        """Which of the outcomes a uniform number falls on."""
        upto = np.cumsum(prob)
        upto[-1] = 1.0  # rounding may leave a last sliver
        return int(np.argmax(upto > self.np_random.random()))

    def _seen(self) -> tuple[int, dict[str, Any]]:
        o = int(self._o[self._s])
        return o, {"o": self.P.O[o]}

    def render(self) -> str | None:
        if self.render_mode is None:
            return None
        o, _ = self._seen()
        over = "; the episode is over" if self._model.terminal.mask[self._s] else ""
        return f"{self.P.name}, step {self._steps}: {self._last}{show(self.P.O[o])}{over}"
