"""`POMDP.from_functions`: the walk that discovers S and O.

It builds compressed rows and leaves the judging to `check`. What only the walk can see, it refuses
itself: a function that returns something else than a distribution, a label nobody declared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.errors import ModelError, TooLarge, UnknownLabel, WrongType, ask
from workbench.core.numbers import Number, Numbers, number_at
from workbench.core.pomdp import POMDP, Distribution, Emissions, StateSet, Transitions
from workbench.core.space import Label, Space
from workbench.core.words import show


class _Discovered:
    """Labels in the order they are met, or a declared set that admits no others."""

    def __init__(self, declared: Iterable[Label] | None, kind: str, limit: int | None = None):
        self.kind, self.limit = kind, limit
        self.declared = None if declared is None else Space(declared)
        self.labels: list[Label] = [] if self.declared is None else list(self.declared)
        self.places: dict[Label, int] = {label: i for i, label in enumerate(self.labels)}

    def index(self, label: Label, where: Callable[[], str]) -> int:
        try:
            place = self.places.get(label)
        except TypeError:
            raise WrongType(f"{where()}: label {label!r} is not hashable") from None
        if place is not None:
            return place
        if self.declared is not None:
            raise UnknownLabel(f"{where()}: {self.declared._unknown(label)}")
        if self.limit is not None and len(self.labels) >= self.limit:
            raise TooLarge(
                f"more than {self.limit:,} {self.kind} were discovered; the last one is "
                f"{show(label)}. Bound the model, or pass a larger max_states"
            )
        self.places[label] = len(self.labels)
        self.labels.append(label)
        return self.places[label]

    def space(self) -> Space:
        return self.declared if self.declared is not None else Space(self.labels)


def _distribution(
    found: Any, where: Callable[[], str], keys: str, members: str
) -> Mapping[Any, Number]:
    if not isinstance(found, Mapping):
        raise WrongType(f"{where()} must be a distribution {{{keys}: probability}}, not {found!r}")
    if not found:
        raise ModelError(f"{where()} has no {members}")
    return found


def discover(
    cls: type[POMDP],
    name: str,
    A: Iterable[Label],
    p: Callable[[Label, Label], Mapping[tuple[Label, Number], Number]],
    omega: Callable[[Label], Mapping[Label, Number]],
    mu: Mapping[Label, Number],
    gamma: Number,
    terminal: Iterable[Label] | Callable[[Label], bool],
    S: Iterable[Label] | None,
    O: Iterable[Label] | None,
    max_states: int,
) -> POMDP:
    """`POMDP.from_functions`: a breadth-first walk from mu, actions and outcomes in the order they
    are written."""
    actions = Space(A)
    for what, f in (("p", p), ("omega", omega)):
        if not callable(f):
            raise WrongType(f"{what} must be a function that returns a distribution, not {f!r}")
    states = _Discovered(S, "states", max_states)
    observations = _Discovered(O, "observations")
    starts = _distribution(mu, lambda: "mu(.)", "s", "states: an episode needs one to start in")
    start_places = {
        s: states.index(s, lambda: "mu")
        for s, x in starts.items()
        if number_at(x, lambda: f"mu({show(s)})") != 0  # noqa: B023 - asked at once
    }
    is_terminal, declared_terminal = _terminal_test(terminal)

    row_ptr, s_next, r, prob = [0], [], [], []
    o_ptr, o_col, o_prob = [0], [], []
    ended: list[bool] = []
    i = 0
    while i < len(states.labels):  # grows while we walk
        s = states.labels[i]
        i += 1

        def emitting(s: Label = s) -> str:
            return f"omega(. | s={show(s)})"

        def ending(s: Label = s) -> str:
            return f"terminal(s={show(s)})"

        for o, x in _distribution(ask(emitting, omega, s), emitting, "o", "observation").items():
            if number_at(x, emitting) != 0:  # a zero is no outcome, and nothing to discover
                o_col.append(observations.index(o, emitting))
                o_prob.append(x)
        o_ptr.append(len(o_col))
        ended.append(bool(ask(ending, is_terminal, s)))
        for a in actions:

            def moving(s: Label = s, a: Label = a) -> str:
                return f"p(. | s={show(s)}, a={show(a)})"

            outcomes = {} if ended[-1] else ask(moving, p, s, a)
            if not ended[-1]:
                _distribution(outcomes, moving, "(s_next, r)", "outcomes")
            for outcome, x in outcomes.items():
                if not isinstance(outcome, tuple) or len(outcome) != 2:
                    raise WrongType(
                        f"{moving()}: an outcome is a pair (s_next, r), not {outcome!r}"
                    )
                if number_at(x, moving) != 0:
                    s_next.append(states.index(outcome[0], moving))
                    r.append(number_at(outcome[1], moving))
                    prob.append(x)
            row_ptr.append(len(s_next))

    S_, O_ = states.space(), observations.space()
    for label in declared_terminal:
        if label not in S_:
            raise UnknownLabel(
                f"terminal: {S_._unknown(label)} (a terminal state must be reachable; "
                "a function that says whether a state is terminal may speak of others too)"
            )
    start = [0] * len(S_)
    for s, place in start_places.items():
        start[place] = starts[s]
    return cls(
        name=name,
        S=S_,
        O=O_,
        A=actions,
        p=Transitions(
            S_, actions, _ints(row_ptr), _ints(s_next, np.int32), Numbers.of(r), Numbers.of(prob)
        ),
        omega=Emissions(S_, O_, _ints(o_ptr), _ints(o_col, np.int32), Numbers.of(o_prob)),
        gamma=gamma,
        mu=Distribution(S_, Numbers.of(start)),
        terminal=StateSet(S_, np.array(ended, dtype=bool)),
    )


def _terminal_test(
    terminal: Iterable[Label] | Callable[[Label], bool],
) -> tuple[Callable[[Label], bool], tuple[Label, ...]]:
    if callable(terminal):
        return lambda s: bool(terminal(s)), ()
    if isinstance(terminal, str):
        raise WrongType(
            f"terminal must be a set of labels or a function, not the single string {terminal!r}"
        )
    labels = tuple(terminal)
    return frozenset(labels).__contains__, labels


def _ints(values: Sequence[int], dtype: Any = np.int64) -> NDArray[Any]:
    array = np.array(values, dtype=dtype)
    array.setflags(write=False)
    return array
