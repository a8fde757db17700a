"""From a Gymnasium environment to an exact POMDP.

A finite environment is deterministic given its random draws. From every start and for every action
it is run once for each way the draws can fall (`draws`), on copies, until no new state turns up:

    mu(s)            = probability of the runs of reset that end in s
    p(s', r | s, a)  = probability of the runs of step from s under a that end in s' and pay r
    omega(o | s)     = 1 for the observation that came with s

Where draws also decide what is seen, states are pairs of the environment's state and the
observation. A terminated run leads to a terminal state ("end", s). Environments that list their
outcomes are read instead of run (`toy_text`). Whichever way it was found, the model is compared
with the environment itself, played at random (`rollout`), and says so in its note.
"""

from __future__ import annotations

import random
import time
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from workbench.core.errors import ModelError, TooLarge, WorkbenchError, WrongType
from workbench.core.numbers import Number, Numbers, frozen, number
from workbench.core.pomdp import POMDP, Distribution, Emissions, StateSet, Transitions
from workbench.core.space import Label, Space
from workbench.extras import need
from workbench.interop.gym.draws import CannotEnumerate, every_run, read_number
from workbench.interop.gym.rollout import Disagreement, Played, Seeds, compare_with_rollouts
from workbench.interop.gym.subject import (
    Observer,
    Parts,
    StateReader,
    Subject,
    canonical,
    without_limits,
)
from workbench.interop.gym.toy_text import Law, law_of
from workbench.plain_numbers import deadline, whole_number
from workbench.progress import Waiting
from workbench.text import show

_TWICE = 97
"""One pair of a state and an action out of this many is run a second time, to find out randomness
from elsewhere."""

Node = tuple[bool, Hashable, Hashable]
"""Whether the episode is over, the state, and the observation unless the state decides it."""


def from_gymnasium(
    env: Any,
    *,
    gamma: Number = Fraction(99, 100),
    state: StateReader = None,
    observe: Observer = None,
    actions: Sequence[Label] | None = None,
    starts: Iterable[int] | None = None,
    max_states: int = 100_000,
    max_seconds: float | None = None,
    name: str | None = None,
    progress: bool = True,
    rollouts: int = 1_000,
    mask: str | None = None,
) -> POMDP:
    """Explore a finite Gymnasium environment into an exact POMDP.

    The environment itself is left as it is; copies of it are run. Draws from `env.np_random` and
    from every random generator among its attributes, however deep, are enumerated; what cannot be
    enumerated is refused with `CannotEnumerate`. Rewards
    are read as the fractions that their floats stand for. Step limits of wrappers are taken off
    (`with_step_limit` makes one).

    Parameters
    ----------
    env : an environment, or the id of one.
    gamma : the discount factor, which environments do not have.
    state : what tells states apart: attribute names, or a function of the environment; by default
        all its attributes. MiniGrid environments have a default of their own: the grid, the agent,
        what it carries.
    observe : `observe(env, obs)` gives the label of an observation; by default its contents.
        `MiniGridView` for MiniGrid.
    actions : the labels of some actions to keep.
    starts : seeds for reset, equally likely; by default the draws of a plain reset are enumerated.
    max_states, max_seconds : refuse to go beyond, with `TooLarge`.
    progress : show the number of states after two seconds.
    rollouts : how many steps of the environment to compare the model with; what the model calls
        impossible, or improbable, is refused with `Disagreement`.
    mask : the entry of `info` that says which actions may be taken, such as "action_mask". It has
        to be a function of what is observed. A method of that name, as Taxi has, is asked for it
        state by state, which is much faster.

    >>> lake = from_gymnasium("FrozenLake-v1", gamma=1)
    >>> lake
    POMDP FrozenLake-v1: 16 states (5 terminal), 16 observations, 4 actions, 128 outcomes, gamma 1
    >>> lake.note[:37], "in 44 of 44 states and actions" in lake.note
    ('read from its own table; agrees with ', True)
    >>> {s_next: str(x) for (s_next, r), x in lake.p(0, 1).items()}
    {0: '1/3', 4: '1/3', 1: '1/3'}

    See also: `to_gymnasium`, `MemoryWrapper`, `POMDP`.
    """
    env = _made(env)
    subject = _subject(env, state, observe)
    offered = _chosen(actions, subject.actions())
    name = name or (env.spec.id if env.spec is not None else type(env.unwrapped).__name__)
    given = _seeds(starts)
    is_plain = state is observe is starts is None
    until = deadline(max_seconds)
    with Waiting(f"exploring {name}", progress) as waiting:

        def tell(words: str) -> None:
            waiting.tell(words)
            if time.monotonic() > until:
                raise TooLarge(
                    f"exploring was ended after {max_seconds:g} s: {words}. With a larger "
                    "max_seconds it goes on; with starts=[0] it explores what seed 0 begins with"
                )

        def found_by(walk: type[_Reading | _Exploration], source: Any, how: str) -> POMDP:
            found = walk(source, list(offered.values()), max_states, tell, mask)
            found.begin(given)
            found.walk()
            note = how
            tour = getattr(source, "is_claim", False)
            if rollouts:
                played = found.played(without_limits(env), given)
                compared = compare_with_rollouts(
                    played, found.mu, found.rows, rollouts, waiting.tell, tour
                )
                note += f"; {compared}"
            return found.model(name, list(offered), gamma, note)

        law = law_of(subject.env) if is_plain else None
        if mask is not None and not callable(getattr(subject.env.unwrapped, mask, None)):
            law = None  # masks are known where the environment is run
        if law is not None:
            try:
                P = found_by(_Reading, law, "read from its own table")
            except Disagreement:
                law = None  # something happens that the table does not hold: run the environment
        if law is None:
            P = found_by(_Exploration, subject, "every draw enumerated")
    return P


def make_env(env_id: str, **settings: Any) -> Any:
    """An environment by its id, of Gymnasium or of a package that is known here."""
    for beginnings, package in ((("MiniGrid-", "BabyAI-"), "minigrid"), ("popgym-", "popgym")):
        if env_id.startswith(beginnings):
            need(package)  # importing it registers its ids
    gymnasium = need("gymnasium")
    try:
        return gymnasium.make(env_id, disable_env_checker=True, **settings)
    except Exception as error:  # foreign code: a setting that does not suit raises anything
        raise WorkbenchError(f"Gymnasium cannot make {env_id}: {error}") from error


def _made(env: Any) -> Any:
    gymnasium = need("gymnasium")
    if isinstance(env, str):
        return make_env(env)
    if not isinstance(env, gymnasium.Env):
        raise WrongType(f"from_gymnasium needs a gymnasium.Env or the id of one, not {env!r}")
    return env


def _subject(env: Any, state: StateReader, observe: Observer) -> Subject:
    from workbench.interop.gym.minigrid_view import MiniGridSubject, is_minigrid
    from workbench.interop.gym.popgym_deck import PopgymSubject, is_popgym

    bare = without_limits(env)
    kind = PopgymSubject if is_popgym(bare) else Subject
    kind = MiniGridSubject if is_minigrid(bare) else kind
    return kind(bare, state, observe)


def _chosen(wanted: Sequence[Label] | None, offered: dict[Label, Any]) -> dict[Label, Any]:
    if wanted is None:
        return offered
    if unknown := [a for a in wanted if a not in offered]:
        raise ModelError(
            f"unknown action {show(unknown[0])}; there are {', '.join(show(a) for a in offered)}"
        )
    return {a: offered[a] for a in wanted}


def _seeds(starts: Iterable[int] | None) -> Seeds:
    if starts is None:
        return [None]
    if not (given := [whole_number("each of starts", x, 0) for x in starts]):
        raise ModelError("starts is empty: an episode needs somewhere to start")
    return [*given]


@contextmanager
def _nothing_drawn_elsewhere() -> Iterator[None]:
    """Refuse what draws from the generators that all programs share."""

    def shared() -> tuple[Any, ...]:
        kind, keys, *rest = np.random.get_state()  # noqa: NPY002
        return random.getstate(), kind, np.asarray(keys).tobytes(), rest

    before = shared()
    yield
    if shared() != before:
        raise CannotEnumerate(
            "the environment draws from the global generator random or numpy.random, not from "
            "env.np_random"
        )


class _Walk:
    """The exploration of an environment from its starts. Nodes are in the order of discovery, with
    one row of outcomes for each node and action.

    Attributes
    ----------
    nodes, seen : the states and what is observed in each.
    mu : the probability of each start.
    rows : for (node, action), the probability of each (next node, reward).
    may : for each node, which actions may be taken; empty where all may be.
    """

    def __init__(
        self,
        source: Any,
        actions: list[Any],
        max_states: int,
        tell: Callable[[str], None],
        mask: str | None = None,
    ):
        self.mask, self.may = mask, dict[int, tuple[bool, ...]]()
        self.source, self.actions, self.max_states, self.tell = source, actions, max_states, tell
        self.places: dict[Node, int] = {}
        self.nodes: list[Node] = []
        self.seen: list[Hashable] = []
        self.mu: dict[int, Fraction] = {}
        self.rows: dict[tuple[int, int], dict[tuple[int, Number], Fraction]] = {}
        self.waiting: deque[tuple[int, Any]] = deque()

    def _enter(self, node: Node, see: Callable[[], Hashable], there: Any) -> int:
        """The index of a node. A new one is noted, and waits to be expanded unless it is an end."""
        place = self.places.setdefault(node, len(self.nodes))
        if place == len(self.nodes):
            if place == self.max_states:
                raise TooLarge(
                    f"more than {self.max_states:,} states; the last one is {show(node[1])}. If a "
                    "counter or something else that does not matter keeps them apart, say what "
                    "the state is with state=...; else pass a larger max_states"
                )
            self.nodes.append(node)
            self.seen.append(see())
            if not node[0]:
                self.waiting.append((place, there))
        return place

    def _name(self, place: int) -> str:
        over, state, _ = self.nodes[place]
        return f"{'the end ' if over else ''}{show(state)}"

    def _let(self, place: int, given: Any) -> None:
        """Note which actions a mask lets through in a state."""
        try:
            may = tuple(bool(given[int(a)]) for a in self.actions)
        except (TypeError, ValueError, IndexError):
            raise ModelError(
                f"{self.mask} has to hold a number for each action of a Discrete space, not "
                f"{given!r}"
            ) from None
        if self.may.setdefault(place, may) != may:
            raise Disagreement(
                f"{self.mask} of {self._name(place)} differs from time to time: the state is more "
                "than was looked at"
            )

    def told(self, place: int | None, info: Any) -> None:
        """Read the mask of a state where the environment tells of one."""
        if self.mask is None or place is None or self.nodes[place][0]:
            return
        if not isinstance(info, Mapping) or self.mask not in info:
            known = ", ".join(map(repr, info)) if isinstance(info, Mapping) and info else "nothing"
            raise ModelError(f"the environment's info holds {known}, and no {self.mask!r}")
        self._let(place, info[self.mask])

    def _agreed(self, place: int | None, seen: Hashable) -> int | None:
        """The place, if the model shows there what was seen."""
        if place is not None and self.seen[place] != seen:
            raise Disagreement(
                f"in {self._name(place)} the environment showed {show(seen)}, its model "
                f"{show(self.seen[place])}"
            )
        return place

    def model(self, name: str, actions: list[Label], gamma: Number, note: str) -> POMDP:
        """The POMDP of what was found."""
        states = _labels([state for _, state, _ in self.nodes])
        observations = (
            _labels(self.seen) if all(isinstance(o, Parts) for o in self.seen) else self.seen
        )
        if len({(over, state) for over, state, _ in self.nodes}) < len(self.nodes):
            states = list(zip(states, observations, strict=True))
        S = Space(
            [("end", s) if over else s for (over, _, _), s in zip(self.nodes, states, strict=True)]
        )
        O, A = Space(dict.fromkeys(observations)), Space(actions)
        rows = [self.rows.get((i, j), {}) for i in range(len(S)) for j in range(len(A))]
        outcomes = [(i, r, x) for row in rows for (i, r), x in row.items()]
        ends = np.concatenate(([0], np.cumsum([len(row) for row in rows])))
        s_next = np.array([i for i, _, _ in outcomes], dtype=np.int32)
        o = np.array([O.index(label) for label in observations], dtype=np.int32)
        allowed = np.ones((len(O), len(A)), dtype=bool)
        for i, may in self.may.items():
            allowed[o[i]] &= may
        return POMDP(
            name=name,
            S=S,
            O=O,
            A=A,
            p=Transitions(
                S,
                A,
                frozen(ends),
                frozen(s_next),
                Numbers.of([r for _, r, _ in outcomes]),
                Numbers.of([x for *_, x in outcomes]),
            ),
            omega=Emissions(
                S, O, frozen(np.arange(len(S) + 1)), frozen(o), Numbers.full(len(S), 1)
            ),
            gamma=gamma,
            mu=Distribution(S, Numbers.of([self.mu.get(i, 0) for i in range(len(S))])),
            terminal=StateSet(S, np.array([over for over, _, _ in self.nodes])),
            note=note,
            allowed=allowed,
        )


class _Reading(_Walk):
    """The walk over the law of an environment that has one."""

    source: Law

    def begin(self, starts: Seeds) -> None:
        for state, x in self.source.starts().items():
            self.mu[self._at(False, state)] = x

    def _at(self, over: bool, state: Hashable) -> int:
        node = over, Parts([("state", state)]), None
        return self._enter(node, lambda: self.source.see(state), state)

    def walk(self) -> None:
        while self.waiting:
            place, state = self.waiting.popleft()
            if self.mask is not None:
                self._let(place, getattr(self.source.bare, self.mask)(state))
            for j, action in enumerate(self.actions):
                if place in self.may and not self.may[place][j]:
                    continue
                row: dict[tuple[int, Number], Fraction] = {}
                for (over, s_next, r), x in self.source.outcomes(state, action).items():
                    outcome = self._at(over, s_next), r
                    row[outcome] = row.get(outcome, Fraction(0)) + x
                self.rows[place, j] = row
            self.tell(f"{len(self.nodes):,} states found, {len(self.waiting):,} to go")

    def played(self, env: Any, starts: Seeds) -> Played:
        def place(env: Any, obs: Any, over: bool) -> int | None:
            state = self.source.state_of(env, over)
            found = self.places.get((over, Parts([("state", state)]), None))
            return self._agreed(found, canonical(obs, "the observation"))

        return Played(
            env, starts, self.actions, place, lambda env, r: number(read_number(r)), self._name,
            self.told,
        )  # fmt: skip


class _Exploration(_Walk):
    """The walk over an environment that is run, once for every way its draws can fall."""

    source: Subject

    def begin(self, starts: Seeds) -> None:
        for seed in starts:
            for prob, (env, obs, info) in every_run(partial(self._reset, seed)):
                place = self._place(env, obs, False, info)
                self.mu[place] = self.mu.get(place, Fraction(0)) + prob / len(starts)
                self.tell(f"{len(self.nodes):,} starts found")

    def _reset(self, seed: int | None, draws: Any) -> tuple[Any, Any, Any]:
        env = self.source.copy(self.source.env)
        self.source.take_draws(env, draws)
        with _nothing_drawn_elsewhere() if not self.nodes else nullcontext():
            obs, info = env.reset(seed=seed)
        return env, obs, info

    def walk(self) -> None:
        pairs = 0
        while self.waiting:
            place, env = self.waiting.popleft()
            for j, action in enumerate(self.actions):
                if place in self.may and not self.may[place][j]:
                    continue
                row = self._row(env, action)
                if pairs % _TWICE == 0:
                    self._again(env, action, row)
                self.rows[place, j] = row
                pairs += 1
            self.tell(f"{len(self.nodes):,} states found, {len(self.waiting):,} to go")

    def _again(self, env: Any, action: Any, row: dict[tuple[int, Number], Fraction]) -> None:
        with _nothing_drawn_elsewhere():
            second = self._row(env, action)
        if second != row:
            raise CannotEnumerate(
                f"action {show(action)} from {show(self.source.state(env))} gave other results "
                "when run a second time: something besides its generators is random, or copies "
                "of the environment share their state"
            )

    def _row(self, env: Any, action: Any) -> dict[tuple[int, Number], Fraction]:
        row: dict[tuple[int, Number], Fraction] = {}
        for prob, outcome in every_run(partial(self._step, env, action)):
            row[outcome] = row.get(outcome, Fraction(0)) + prob
        return row

    def _step(self, env: Any, action: Any, draws: Any) -> tuple[int, Number]:
        env = self.source.copy(env)
        self.source.take_draws(env, draws)
        obs, r, terminated, truncated, info = env.step(action)
        if truncated and not terminated and not self.source.keeps_time:
            raise CannotEnumerate(
                "the environment ended an episode because time was up, but its state does not "
                "count steps: make it with a larger limit, and pass step_limit to have one"
            )
        over = bool(terminated or truncated)
        return self._place(env, obs, over, info), number(self.source.pay(env, r))

    def _node(self, env: Any, obs: Any, over: bool) -> Node:
        o = None if self.source.sees_by_state else self.source.see(env, obs)
        return over, self.source.state(env), o

    def _place(self, env: Any, obs: Any, over: bool, info: Any) -> int:
        place = self._enter(self._node(env, obs, over), lambda: self.source.see(env, obs), env)
        self.told(place, info)
        return place

    def played(self, env: Any, starts: Seeds) -> Played:
        source = self.source

        def place(env: Any, obs: Any, over: bool) -> int | None:
            seen = source.see_outside(env, obs)
            o = None if source.sees_by_state else seen
            return self._agreed(self.places.get((over, source.state(env), o)), seen)

        return Played(
            env,
            starts,
            self.actions,
            place,
            lambda env, r: number(source.pay(env, r)),
            self._name,
            self.told,
        )


def _labels(parts: list[Any]) -> list[Label]:
    """Labels from pairs of names and values. They hold as few parts as tell them apart, and are
    bare if there is only one."""
    names = {tuple(name for name, _ in one) for one in parts}
    distinct = set(parts)
    kept = list(next(iter(names))) if len(names) == 1 else []
    values = {one: dict(one) for one in distinct}
    for name in reversed(list(kept)):
        fewer = [other for other in kept if other != name]
        if fewer and len(
            {tuple(value[other] for other in fewer) for value in values.values()}
        ) == len(distinct):
            kept = fewer
    if len(kept) == 1:
        return [values[one][kept[0]] for one in parts]
    return [tuple(values[one][name] for name in kept) if kept else one for one in parts]
