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
from bisect import bisect_right
from functools import cache, partial
from operator import index
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench.core.augment import augment
from workbench.core.errors import WorkbenchError, WrongType
from workbench.core.pomdp import POMDP, Transitions
from workbench.core.space import Label
from workbench.extras import need

gymnasium = need("gymnasium")


def to_gymnasium(P: POMDP, render_mode: str | None = None) -> POMDPEnv:
    """A POMDP as a `gymnasium.Env` with Discrete spaces.

    Parameters
    ----------
    P : for instance `augment(gravity(), "OA1")`.
    render_mode : "ansi" for a line of text per step from `render()`.

    Where P allows some actions only, `info["action_mask"]` says which, as in Gymnasium's own
    environments.

    >>> P = POMDP.from_functions(
    ...     name="guess",
    ...     A=["heads", "tails"],
    ...     p=lambda s, a: {("end", int(s == a)): 1},
    ...     omega=lambda s: {"a coin": 1},
    ...     mu={"heads": 1},
    ...     gamma=1,
    ...     terminal={"end"},
    ... )
    >>> env = to_gymnasium(P, render_mode="ansi")
    >>> env.reset(seed=0)
    (0, {'o': 'a coin'})
    >>> env.step(P.A.index("heads"))
    (0, 1.0, True, False, {'o': 'a coin'})
    >>> env.render()
    'guess, step 1: heads pays 1; a coin; the episode is over'

    See also: `from_gymnasium`, `MemoryWrapper`, `augment`.
    """
    return POMDPEnv(P, render_mode)


class POMDPEnv(gymnasium.Env):  # type: ignore[name-defined]
    """A POMDP as an environment. `P` is the model, `state` the label of the hidden state."""

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
        # A spec lets it be made anew, with another render mode for instance.
        self.spec = gymnasium.envs.registration.EnvSpec(
            id=f"workbench/{re.sub(r'[^A-Za-z0-9]+', '-', P.name).strip('-') or 'task'}-v0",
            entry_point=lambda **arguments: POMDPEnv(P, **arguments),
        )
        self._pairs = not P.omega.is_deterministic
        self._model = (
            augment(P, "none") if self._pairs else P
        )  # states (s, "-", o) with one observation each
        model = self._model
        seen = np.array([P.O.index(o) for _, o in model.O]) if self._pairs else np.arange(len(P.O))
        self._o: list[int] = seen[model.omega.o].tolist()
        support = model.mu.support
        self._start = _upto(model.mu.prob.floats[support]), support.tolist()
        self._terminal = model.terminal.mask.tolist()
        self._count = len(P.A)
        # the type that `action_space.sample(mask)` asks for
        self._may = None if P.allowed is None else P.allowed.astype(np.int8)
        # Caches that are functions: they are not part of what an explorer takes for the state.
        self._row = cache(partial(_row_of, model.p))
        self._label = cache(P.O.__getitem__)
        self._s: int | None = None
        self._last: tuple[int, float] | None = None

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
        upto, starts = self._start
        self._s = starts[bisect_right(upto, self.np_random.random())]
        self._steps, self._last = 0, None
        return self._seen(self._s)

    def step(self, action: Any) -> tuple[int, float, bool, bool, dict[str, Any]]:
        s = self._s
        if s is None or self._terminal[s]:
            raise WorkbenchError("the episode is over, or has not begun: call reset")
        try:
            a = index(action)
        except TypeError:
            a = -1
        if not 0 <= a < self._count:
            raise WorkbenchError(
                f"an action is a number from 0 to {self._count - 1}, not {action!r}"
            )
        number = s * self._count + a
        row = self._row(number)
        if not row.s_next:
            o = self.P.O[self._o[s]]
            raise WorkbenchError(
                f"{self.P.name} does not allow {self.P.A.text(self.P.A[a])} at "
                f"o={self.P.O.text(o)}; info['action_mask'] says what it does"
            )
        k = bisect_right(row.upto, self.np_random.random())
        self._s = s = row.s_next[k]
        r = row.r[k]
        self._steps += 1
        self._last = a, r
        o, info = self._seen(s)
        return o, r, self._terminal[s], False, info

    def _seen(self, s: int) -> tuple[int, dict[str, Any]]:
        o = self._o[s]
        info = {"o": self._label(o)}
        return o, info if self._may is None else info | {"action_mask": self._may[o].copy()}

    def render(self) -> str | None:
        if self.render_mode is None or self._s is None:
            return None
        _, info = self._seen(self._s)
        over = "; the episode is over" if self._terminal[self._s] else ""
        last = (
            ""
            if self._last is None
            else f"{self.P.A.text(self.P.A[self._last[0]])} pays {self._last[1]:g}; "
        )
        return f"{self.P.name}, step {self._steps}: {last}{self.P.O.text(info['o'])}{over}"


class _Row(NamedTuple):
    """The outcomes of one (s, a): cumulated probabilities, next states, rewards."""

    upto: list[float]
    s_next: list[int]
    r: list[float]


def _row_of(p: Transitions, number: int) -> _Row:
    """The outcomes of (s, a) as lists, which are faster to look into than arrays."""
    part = slice(int(p.row_ptr[number]), int(p.row_ptr[number + 1]))
    return _Row(_upto(p.prob.floats[part]), p.s_next[part].tolist(), p.r.floats[part].tolist())


def _upto(prob: NDArray[np.float64]) -> list[float]:
    upto = np.cumsum(prob)
    upto[-1:] = 1.0  # rounding may leave a last sliver
    return upto.tolist()
