"""An environment as the explorer handles it: copied, asked for its state, its reading of
observations and rewards.

Two environments are in the same state when their attributes are equal, random generator, spaces and
rendering aside. That is the default; `state` replaces it by named attributes or by a function.
"""

from __future__ import annotations

import copy
import enum
import itertools
import random
import types
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from workbench.core.numbers import Number
from workbench.core.pomdp import POMDP
from workbench.core.space import Label
from workbench.extras import need
from workbench.interop.gym.draws import (
    CannotEnumerate,
    Draws,
    Uniform,
    read_number,
    stand_in,
)


class Parts(tuple[tuple[str, Hashable], ...]):
    """A state or an observation as pairs of a name and a value. Labels hold only the parts that
    differ."""

    __slots__ = ()


_NO_STATE = frozenset({
    "env", "np_random", "_np_random", "_np_random_seed", "spec", "_cached_spec", "metadata",
    "_metadata", "render_mode", "action_space", "_action_space", "observation_space",
    "_observation_space", "window", "clock", "screen", "surface", "isopen",
})  # fmt: skip
"""Attributes that belong to Gymnasium or to drawing."""

_GENERATOR = "random generator"

GENERATORS = (np.random.Generator, np.random.RandomState, random.Random, Draws)

_PLAIN_VALUES = (bool, int, float, complex, str, bytes, np.ndarray, np.generic, enum.Enum, POMDP)
_CODE = (type, types.FunctionType, types.BuiltinFunctionType, types.ModuleType, types.MethodType)
_NO_HOLDERS = (*_PLAIN_VALUES, *_CODE)
"""What is not searched for random generators."""

StateReader = Callable[[Any], Hashable] | Sequence[str] | None
Observer = Callable[[Any, Any], Hashable] | None


def canonical(value: Any, path: str = "state", inside: tuple[int, ...] = ()) -> Hashable:
    """A value as plain hashable data: equal for equal contents.

    >>> canonical({"b": [1, 2.5], "a": np.array([[0, 1]])})
    (('a', ((0, 1),)), ('b', (1, 2.5)))
    """
    if value is None or isinstance(
        value, bool | int | float | complex | str | bytes | Fraction | enum.Enum
    ):
        return value
    if isinstance(value, np.generic):
        return canonical(value.item(), path, inside)
    if isinstance(value, type | types.FunctionType | types.BuiltinFunctionType | types.ModuleType):
        return getattr(value, "__qualname__", value.__name__)
    if isinstance(value, POMDP):
        return repr(value)  # frozen: what it has computed and kept makes no other state
    if isinstance(value, Uniform):
        raise CannotEnumerate(
            f"{path} is a number from random() or uniform(): it has infinitely many values"
        )
    if isinstance(value, GENERATORS):
        return _GENERATOR  # driven by `own_generators`: what it will draw is no state
    if id(value) in inside:
        return ("the one around it", len(inside) - inside.index(id(value)))
    inside = (*inside, id(value))
    if isinstance(value, np.ndarray):
        return canonical(value.tolist(), path, inside)
    if isinstance(value, tuple | list):
        return tuple(canonical(x, f"{path}[{i}]", inside) for i, x in enumerate(value))
    if isinstance(value, Mapping):
        pairs = [
            (canonical(k, path, inside), canonical(x, f"{path}[{k!r}]", inside))
            for k, x in value.items()
        ]
        return tuple(sorted(pairs, key=lambda pair: repr(pair[0])))
    if isinstance(value, set | frozenset):
        return frozenset(canonical(x, path, inside) for x in value)
    if isinstance(value, types.MethodType):
        return value.__qualname__
    if hasattr(value, "__dict__"):
        return type(value).__qualname__, canonical(vars(value), path, inside)
    raise CannotEnumerate(
        f"{path} is a {type(value).__qualname__}, which cannot be compared between states: name "
        "the attributes that make the state with state=(...), or give a function"
    )


def own_generators(holder: Any, draws: Draws, path: str, seen: set[int]) -> None:
    """Replace every random generator among the attributes of an object, however deep, by `draws`.

    Objects, lists and dictionaries are searched. One that only a tuple or a set holds cannot be
    replaced, and is refused.
    """
    if id(holder) in seen or isinstance(holder, GENERATORS):
        return
    seen.add(id(holder))
    pairs: Iterable[tuple[Any, Any]]
    if isinstance(holder, dict):
        pairs = list(holder.items())
    elif isinstance(holder, list | tuple | set | frozenset):
        pairs = list(enumerate(holder))
    else:
        holder = vars(holder)
        pairs = list(holder.items())
    for key, value in pairs:
        if value is None or isinstance(value, _NO_HOLDERS):
            continue
        ours = stand_in(value, draws)
        if ours is None:
            inside = isinstance(value, list | dict | tuple | set | frozenset)
            if (inside or hasattr(value, "__dict__")) and key not in _NO_STATE:
                own_generators(value, draws, f"{path}[{key!r}]", seen)
        elif isinstance(holder, dict | list):
            holder[key] = ours
        else:
            raise CannotEnumerate(
                f"{path} is a {type(holder).__name__} that holds a random generator: its draws "
                "cannot be enumerated. Keep the generator in an attribute or a list"
            )


def layers(env: Any) -> list[Any]:
    """The environment and what it wraps, outermost first."""
    gymnasium = need("gymnasium")
    found = [env]
    while isinstance(found[-1], gymnasium.Wrapper):
        found.append(found[-1].env)
    return found


def _tables(env: Any) -> tuple[str, ...]:
    """The attributes in which Gymnasium's toys list their outcomes. Copying them, and comparing
    them for each state, would take most of the time."""
    listed = type(env.unwrapped).__module__.startswith("gymnasium.envs.toy_text")
    return tuple(x for x in ("P", "initial_state_distrib") if listed and hasattr(env.unwrapped, x))


def without_limits(env: Any) -> Any:
    """A copy without the wrappers that check, enforce an order or count steps."""
    wrappers = need("gymnasium.wrappers")
    bookkeeping = (wrappers.TimeLimit, wrappers.OrderEnforcing, wrappers.PassiveEnvChecker)
    try:
        env = copy.deepcopy(env)
    except Exception as error:
        raise CannotEnumerate(f"{env} cannot be copied, which exploring needs: {error}") from error
    while isinstance(env, bookkeeping):
        env = env.env
    for layer in layers(env)[:-1]:
        while isinstance(layer.env, bookkeeping):
            layer.env = layer.env.env
    return env


class Subject:
    """An environment that is being explored.

    Attributes
    ----------
    sees_by_state : whether `see` needs nothing but the state of the environment, so that it is
        asked once for each state.
    keeps_time : whether a step counter of the environment is part of its state, so that a truncated
        episode is over.
    """

    sees_by_state = False

    def __init__(self, env: Any, state: StateReader, observe: Observer):
        self.env = env
        self._state, self._observe = state, observe
        self.keeps_time = state is None
        self.prepare(env)

    def prepare(self, env: Any) -> None:
        """Prepare an environment of this kind for exploration."""

    def copy(self, env: Any) -> Any:
        """An independent copy. Spaces and specifications are shared."""
        spaces, registration = need("gymnasium.spaces"), need("gymnasium.envs.registration")
        shared = (spaces.Space, registration.EnvSpec, np.random.Generator, Draws)
        memo = {id(x): x for x in self.constants(env)}
        for layer in layers(env):
            memo |= {id(x): x for x in vars(layer).values() if isinstance(x, shared)}
        return copy.deepcopy(env, memo)

    def constants(self, env: Any) -> list[Any]:
        """What copies share because it is known not to change."""
        return [getattr(env.unwrapped, name) for name in _tables(env)]

    def take_draws(self, env: Any, draws: Draws) -> None:
        """Have a copy draw from `draws`, whichever generators it holds."""
        seen = {id(x) for layer in layers(env) for x in vars(layer).values() if _is_space(x)}
        seen |= {id(x) for x in self.constants(env)}
        for layer in layers(env):
            own_generators(layer, draws, type(layer).__name__, seen)
        env.unwrapped.np_random = draws

    def state(self, env: Any) -> Parts:
        """What tells the states apart."""
        if callable(self._state):
            return Parts([("state", _hashable(self._state(env), "the state"))])
        if self._state is not None:
            return Parts([(name, canonical(_attribute(env, name), name)) for name in self._state])
        return Parts(
            [
                (name if depth == 0 else f"{type(layer).__name__}.{name}", canonical(value, name))
                for depth, layer in enumerate(reversed(layers(env)))
                for name, value in sorted(vars(layer).items())
                if name not in (*_NO_STATE, *_tables(env)) and not _is_space(value)
            ]
        )

    def see(self, env: Any, obs: Any) -> Hashable:
        """The label of an observation, or its parts."""
        if self._observe is None:
            return canonical(obs, "the observation")
        return _hashable(self._observe(env, obs), "the observation")

    def see_outside(self, env: Any, obs: Any) -> Hashable:
        """The same from the environment itself, rather than from one that is being explored."""
        return self.see(env, obs)

    def pay(self, env: Any, r: Any) -> Number:
        """The reward as a number, floats read as the fractions they stand for."""
        return read_number(r)

    def actions(self) -> dict[Label, Any]:
        """The actions by label."""
        return {
            canonical(a, "action"): a
            for a in every_member(self.env.action_space, "the action space")
        }


def _hashable(value: Any, what: str) -> Hashable:
    """Make what a user's function returned hashable."""
    try:
        hash(value)
    except TypeError:
        return canonical(value, what)
    return value


def _is_space(value: Any) -> bool:
    return isinstance(value, need("gymnasium.spaces").Space)


def _attribute(env: Any, name: str) -> Any:
    for layer in layers(env):
        if hasattr(layer, name):
            return getattr(layer, name)
    raise CannotEnumerate(
        f"{type(env.unwrapped).__qualname__} has no attribute {name!r} to read its state from"
    )


def every_member(space: Any, what: str) -> list[Any]:
    """All members of a finite space, in order.

    >>> from gymnasium.spaces import Discrete, Tuple
    >>> [
    ...     tuple(map(int, pair))
    ...     for pair in every_member(Tuple([Discrete(2), Discrete(2, start=5)]), "it")
    ... ]
    [(0, 5), (0, 6), (1, 5), (1, 6)]
    """
    spaces = need("gymnasium.spaces")
    if isinstance(space, spaces.Discrete):
        return [space.start + i for i in range(int(space.n))]
    if isinstance(space, spaces.MultiDiscrete | spaces.MultiBinary):
        top = space.nvec if isinstance(space, spaces.MultiDiscrete) else np.full(space.shape, 2)
        low = getattr(space, "start", np.zeros(space.shape, dtype=space.dtype))
        grid = itertools.product(*(range(int(n)) for n in np.ravel(top)))
        return [(low + np.reshape(x, space.shape)).astype(space.dtype) for x in grid]
    if isinstance(space, spaces.Tuple):
        return list(itertools.product(*(every_member(part, what) for part in space)))
    if isinstance(space, spaces.Dict):
        parts = itertools.product(*(every_member(part, what) for part in space.values()))
        return [dict(zip(space, part, strict=True)) for part in parts]
    raise CannotEnumerate(f"{what} is {space}, whose members cannot be listed")
