"""MiniGrid environments (Section 6, Appendix D.3) for the explorer.

A state is where the agent is and looks, what it carries, every object on the grid, and the
attributes that a task adds to the package's base class; the step counter is left out. Success then
pays 1: the package pays 1 - 0.9 t/T at step t of at most T, which `with_step_limit` brings back.
Two things are done so that the draws can be listed quickly and exactly:

- the package places things by drawing cells until one is free; here one is drawn among the free
  cells, which is the law of that procedure, and where tries are limited they may all miss;
- copies share walls, spaces and settings, and observations are made once for each state.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from workbench.core.numbers import Number
from workbench.core.space import Label
from workbench.extras import need
from workbench.interop.gym.draws import CannotEnumerate, Draws, read_number
from workbench.interop.gym.subject import Parts, Subject, canonical, layers

DIRECTIONS = ("right", "down", "left", "up")

_BASE = frozenset({
    "mission", "actions", "action_space", "observation_space", "agent_view_size", "reward_range",
    "screen_size", "render_size", "window", "clock", "width", "height", "max_steps",
    "see_through_walls", "agent_pos", "agent_dir", "grid", "carrying", "render_mode", "highlight",
    "tile_size", "agent_pov", "step_count", "spec", "_np_random", "_np_random_seed", "np_random",
    "metadata",
})  # fmt: skip
"""The attributes of the package's base class; those of a task beyond them belong to the state."""

_FOREVER = 10**12

_NEVER = Fraction(1, 10**12)
"""Tries that all miss with less than this probability count as never missing."""


def is_minigrid(env: Any) -> bool:
    """Whether an environment is one of the `minigrid` package, without importing it."""
    package = sys.modules.get("minigrid.minigrid_env")
    return package is not None and isinstance(env.unwrapped, package.MiniGridEnv)


@dataclass(frozen=True)
class MiniGridView:
    """The agent's view: the cells in front of it, and the mission where it varies. Cells go from
    far to near and from left to right.

    The size of the view is the environment's: `gymnasium.make(id, agent_view_size=3)`.

    Attributes
    ----------
    compass : whether it also sees the direction that it looks in, as the package's observation
        does.
    """

    compass: bool = True

    def __call__(self, env: Any, obs: Any) -> Parts:
        image = obs["image"]
        rows = tuple(
            tuple(_cell(*image[i, j].tolist()) for i in range(image.shape[0]))
            for j in range(image.shape[1])
        )
        direction = (("direction", DIRECTIONS[int(obs["direction"])]),) if self.compass else ()
        return Parts([("view", rows), *direction, ("mission", obs["mission"])])


@cache
def _cell(kind: int, colour: int, state: int) -> str:
    """A cell of a view in words: 'wall', 'red door closed', 'green key'."""
    constants = need("minigrid.core.constants")
    word = constants.IDX_TO_OBJECT[kind]
    if word in ("unseen", "empty") or (word == "wall" and constants.IDX_TO_COLOR[colour] == "grey"):
        return word
    states = {number: name for name, number in constants.STATE_TO_IDX.items()}
    return f"{constants.IDX_TO_COLOR[colour]} {word}" + (
        f" {states[state]}" if word == "door" else ""
    )


def _thing(obj: Any) -> Label:
    """An object in words, with what it holds."""
    if obj is None:
        return None
    words = _cell(*map(int, obj.encode()))
    return words if obj.contains is None else (words, _thing(obj.contains))


def _shallow(value: Any) -> Any:
    """A copy that shares all attributes. It is quicker than copy.copy, and is made for every time
    step."""
    twin = object.__new__(type(value))
    vars(twin).update(vars(value))
    return twin


class MiniGridSubject(Subject):
    """A MiniGrid environment that is being explored."""

    def prepare(self, env: Any) -> None:
        gymnasium = need("gymnasium")
        plain = (gymnasium.ObservationWrapper, gymnasium.ActionWrapper, gymnasium.RewardWrapper)
        for layer in layers(env)[:-1]:
            if not isinstance(layer, plain):
                raise CannotEnumerate(
                    f"the wrapper {type(layer).__name__} around a MiniGrid environment may have a "
                    "state of its own; take it off"
                )
        self.keeps_time = False
        self._object = need("minigrid.core.world_object").WorldObj
        self.wrapped = env is not env.unwrapped
        if self.wrapped and isinstance(self._observe, MiniGridView):
            raise CannotEnumerate(
                "MiniGridView reads the observations of the package: take the wrappers off"
            )
        self.sees_by_state = not self.wrapped and (
            self._observe is None or isinstance(self._observe, MiniGridView)
        )
        bare = env.unwrapped
        bare.max_steps = _FOREVER
        bare.__class__ = _explored(type(bare), silent=self.sees_by_state)

    def copy(self, env: Any) -> Any:
        if env is not env.unwrapped:
            twin = _shallow(env)
            twin.env = self.copy(env.env)
            return twin
        twins: dict[int, Any] = {}
        twin, grid = _shallow(env), _shallow(env.grid)
        grid.grid = [
            obj if obj is None or obj.type == "wall" else self._twin(obj, twins)
            for obj in env.grid.grid
        ]
        twin.grid = grid
        twin.carrying = self._twin(env.carrying, twins)
        for name, value in vars(env).items():
            if name not in _BASE:
                setattr(twin, name, self._twin(value, twins))
        return twin

    def take_draws(self, env: Any, draws: Draws) -> None:
        """The package has one generator, and what a task adds is seldom searched for more."""
        env.unwrapped.np_random = draws

    def _twin(self, value: Any, twins: dict[int, Any]) -> Any:
        """Copy the objects of the world, once each, inside lists too. Anything else is shared."""
        if isinstance(value, self._object):
            if id(value) not in twins:
                twins[id(value)] = twin = _shallow(value)
                twin.contains = self._twin(value.contains, twins)
            return twins[id(value)]
        if isinstance(value, list):
            return [self._twin(x, twins) for x in value]
        return value

    def state(self, env: Any) -> Parts:
        if self._state is not None:
            return super().state(env)
        bare = env.unwrapped
        things, walls = [], 0
        for i, obj in enumerate(bare.grid.grid):
            if obj is None:
                continue
            if obj.type in (
                "wall",
                "door",
            ):  # with the doors among the things, this says where the walls are
                walls |= 1 << i
            if obj.type != "wall":
                things.append(((i % bare.width, i // bare.width), _thing(obj)))
        x, y = bare.agent_pos
        extra = [
            (name, self._extra(value, name))
            for name, value in vars(bare).items()
            if name not in _BASE
        ]
        return Parts(
            [
                ("agent", (int(x), int(y))),
                ("direction", DIRECTIONS[bare.agent_dir]),
                ("carrying", _thing(bare.carrying)),
                ("things", tuple(things)),
                ("walls", walls),
                ("mission", bare.mission),
                *sorted(extra, key=lambda pair: pair[0]),
            ]
        )

    def _extra(self, value: Any, name: str) -> Hashable:
        if isinstance(value, self._object):
            return _thing(value)
        if isinstance(value, list | tuple):
            found = [self._extra(x, name) for x in value]
            for i, x in enumerate(value):  # which of two alike is meant, only its place tells
                if isinstance(x, self._object) and found.count(found[i]) > 1:
                    found[i] = found[i], canonical(x.cur_pos, name)
            return tuple(found)
        if isinstance(value, dict):
            return tuple((str(k), self._extra(x, name)) for k, x in value.items())
        return canonical(value, name)

    def see(self, env: Any, obs: Any) -> Hashable:
        if self.sees_by_state:
            return (self._observe or MiniGridView())(env, env.what_is_seen())
        if self._observe is None and not self.wrapped:
            return MiniGridView()(env, obs)
        return super().see(env, obs)

    def see_outside(self, env: Any, obs: Any) -> Hashable:
        return (
            (self._observe or MiniGridView())(env, obs)
            if self.sees_by_state
            else self.see(env, obs)
        )

    def pay(self, env: Any, r: Any) -> Number:
        return Fraction(1) if r > 0 else read_number(r)

    def actions(self) -> dict[Label, Any]:
        bare = self.env.unwrapped
        if self.env.action_space != bare.action_space:
            return super().actions()
        return {
            action.name: action
            for action in bare.actions
            if bare.action_space.contains(int(action))
        }


def _explored(kind: type, silent: bool) -> type:
    """The class of an environment with exact placement and, if `silent`, steps that make no
    observations."""
    replaced: dict[str, Any] = {
        "place_obj": _placed_among_free_cells(kind),
        "what_is_seen": kind.gen_obs,  # type: ignore[attr-defined]
    }
    rooms = sys.modules.get("minigrid.core.roomgrid")
    if rooms is not None and issubclass(kind, rooms.RoomGrid):
        replaced["place_agent"] = _placed_with_a_free_view(kind)
    if silent:
        replaced["gen_obs"] = lambda self: None
    return type(kind.__name__, (kind,), replaced)


def _placed_with_a_free_view(kind: Any) -> Callable[..., Any]:
    """`place_agent` of a grid of rooms with one draw among the places that it would accept.

    The package draws a cell and a direction until nothing but a wall stands in front of the agent.
    """

    def place_agent(self: Any, i: Any = None, j: Any = None, rand_dir: bool = True) -> Any:
        if not isinstance(self.np_random, Draws):
            return kind.place_agent(self, i, j, rand_dir)
        i = int(self.np_random.integers(self.num_cols)) if i is None else i
        j = int(self.np_random.integers(self.num_rows)) if j is None else j
        (x0, y0), (width, height) = self.room_grid[j][i].top, self.room_grid[j][i].size
        accepted = []
        for x in range(x0, x0 + width):
            for y in range(y0, y0 + height):
                for direction in range(4) if rand_dir else [self.agent_dir]:
                    self.agent_pos, self.agent_dir = (x, y), direction
                    if self.grid.get(x, y) is None:
                        front = self.grid.get(*self.front_pos)
                        if front is None or front.type == "wall":
                            accepted.append((self.agent_pos, direction))
        if not accepted:
            raise CannotEnumerate(f"no free cell to place the agent in, in room {(i, j)}")
        self.agent_pos, self.agent_dir = accepted[int(self.np_random.integers(len(accepted)))]
        return self.agent_pos

    return place_agent


def _placed_among_free_cells(kind: Any) -> Callable[..., Any]:
    """`place_obj` with one draw among the cells that it would accept."""

    def place_obj(
        self: Any,
        obj: Any,
        top: Any = None,
        size: Any = None,
        reject_fn: Any = None,
        max_tries: float = math.inf,
    ) -> Any:
        # a reset with a seed draws as the package does, or it would begin elsewhere
        if not isinstance(self.np_random, Draws):
            return kind.place_obj(self, obj, top, size, reject_fn, max_tries)
        x0, y0 = (0, 0) if top is None else (max(top[0], 0), max(top[1], 0))
        width, height = (self.grid.width, self.grid.height) if size is None else size
        free = [
            (x, y)
            for x in range(x0, min(x0 + width, self.grid.width))
            for y in range(y0, min(y0 + height, self.grid.height))
            if self.grid.get(x, y) is None
            and not np.array_equal((x, y), self.agent_pos)
            and not (reject_fn and reject_fn(self, (x, y)))
        ]
        if not free and max_tries == math.inf:
            raise CannotEnumerate(f"no free cell to place {_thing(obj) or 'the agent'} in")
        if max_tries != math.inf:
            cells = (min(x0 + width, self.grid.width) - x0) * (
                min(y0 + height, self.grid.height) - y0
            )
            gives_up = Fraction(cells - len(free), cells) ** (int(max_tries) + 1)
            if gives_up > _NEVER:
                shares = [x for x in (gives_up, 1 - gives_up) if x]
                if self.np_random.branches.draw(shares, "whether a free cell is found") == 0:
                    raise RecursionError("no free cell was drawn")  # as the package does
        pos = free[int(self.np_random.integers(len(free)))]
        self.grid.set(*pos, obj)
        if obj is not None:
            obj.init_pos = obj.cur_pos = pos
        return pos

    return place_obj
