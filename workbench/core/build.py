"""`POMDP.from_functions`: a breadth-first walk from mu discovers S and O.

The walk builds compressed rows and leaves the judging to `check`. What it alone can see, it refuses
itself: a function that returns something else than a distribution, a label that nobody declared.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from workbench.core.errors import ModelError, TooLarge, UnknownLabel, WorkbenchError, WrongType
from workbench.core.numbers import Number, Numbers, frozen, number
from workbench.core.pomdp import POMDP, Distribution, Emissions, StateSet, Transitions
from workbench.core.space import Label, Space
from workbench.text import show

Where = Callable[[], str]
"""Names the place of an error; called when there is one."""


def ask(where: Where, function: Callable[..., Any], *labels: Any) -> Any:
    """Call a user's p, omega or Gamma. An error inside it becomes one that names the arguments.

    >>> ask(lambda: "p(. | s=2, a=up)", lambda s, a: {}[s], 2, "up")
    Traceback (most recent call last):
    ...
    workbench.core.errors.ModelError: p(. | s=2, a=up) raised KeyError: 2
    """
    try:
        return function(*labels)
    except WorkbenchError:
        raise  # it names what is wrong already
    except Exception as error:
        raise ModelError(f"{where()} raised {type(error).__name__}: {error}") from error


_MOST_STATES = 5_000_000
"""A walk that has discovered more states is taken for one without end."""


class _Discovered:
    """Labels in the order they are met, or a declared set that admits no others."""

    def __init__(self, declared: Iterable[Label] | None, kind: str, limit: float):
        self.kind, self.limit = kind, limit
        self.declared = None if declared is None else Space(declared)
        self.labels: list[Label] = [] if self.declared is None else list(self.declared)
        self.places: dict[Label, int] = {label: i for i, label in enumerate(self.labels)}

    def index(self, label: Label, where: Where) -> int:
        try:
            place = self.places.get(label)
        except TypeError:
            raise WrongType(f"{where()}: label {label!r} is not hashable") from None
        if place is not None:
            return place
        if self.declared is not None:
            raise UnknownLabel(f"{where()}: {self.declared._unknown(label)}")
        if len(self.labels) >= self.limit:
            raise TooLarge(
                f"more than {self.limit:,} {self.kind} were discovered; the last one is "
                f"{show(label)}. Bound the model"
            )
        self.places[label] = len(self.labels)
        self.labels.append(label)
        return self.places[label]

    def space(self) -> Space:
        return self.declared if self.declared is not None else Space(self.labels)


def number_at(x: Number, where: Where) -> Number:
    """A number as it is given, or an error that says where something else was.

    >>> number_at("half", lambda: "mu(s)")
    Traceback (most recent call last):
    ...
    workbench.core.errors.WrongType: mu(s): 'half' is not a number: give an int, a Fraction, a
    float or a sympy expression
    """
    if type(x) in (int, float, Fraction):
        return x
    try:
        return number(x)
    except WrongType as error:
        raise WrongType(f"{where()}: {error}") from None


def _outcomes(found: Any, where: Where, keys: str, members: str) -> list[tuple[Any, Number]]:
    """The outcomes of a distribution, without those of probability zero."""
    if not isinstance(found, Mapping):
        raise WrongType(f"{where()} must be a distribution {{{keys}: probability}}, not {found!r}")
    if not found:
        raise ModelError(f"{where()} has no {members}")
    return [(outcome, x) for outcome, x in found.items() if number_at(x, where) != 0]


def chosen_actions(
    allowed: Callable[..., Iterable[Label]], A: Space, o: Label, name: str, *before: Label
) -> frozenset[Label]:
    """What a user's `allowed` says of an observation (for writes: of a memory state and one)."""

    def where() -> str:
        return f"{name}({', '.join(map(show, (*before, o)))})"

    found = ask(where, allowed, *before, o)
    if isinstance(found, str) or not isinstance(found, Iterable):
        raise WrongType(f"{where()} must be a set of labels, not {found!r}")
    if not (found := tuple(found)):
        raise ModelError(f"{where()} is empty: something has to be allowed")
    for a in found:
        if a not in A:
            raise UnknownLabel(f"{where()}: {A._unknown(a)}")
    return frozenset(found)


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
    allowed: Callable[[Label], Iterable[Label]] | None = None,
) -> POMDP:
    """`POMDP.from_functions`: actions and outcomes come in the order in which they are written."""
    A_ = Space(A)
    actions = tuple(A_)
    for what, f in (("p", p), ("omega", omega)):
        if not callable(f):
            raise WrongType(f"{what} must be a function that returns a distribution, not {f!r}")
    if allowed is not None and not callable(allowed):
        raise WrongType(f"allowed must be a function that returns a set, not {allowed!r}")
    if isinstance(terminal, str):
        raise WrongType(
            f"terminal must be a set of labels or a function, not the single string {terminal!r}"
        )
    ends = () if callable(terminal) else tuple(terminal)
    is_terminal = terminal if callable(terminal) else frozenset(ends).__contains__
    states = _Discovered(S, "states", _MOST_STATES)
    observations = _Discovered(O, "observations", np.inf)
    for s, x in mu.items() if isinstance(mu, Mapping) else ():

        def begun(s: Label = s) -> str:
            return f"mu({show(s)})"

        number_at(x, begun)
    starts = _outcomes(mu, lambda: "mu(.)", "s", "states: an episode needs one to start in")
    start = {states.index(s, lambda: "mu"): x for s, x in starts}

    row_ptr, s_next, r, prob = [0], [], [], []
    o_ptr, o_col, o_prob = [0], [], []
    ended: list[bool] = []
    may: dict[int, frozenset[Label]] = {}
    for s in states.labels:  # grows while we walk

        def emitted(s: Label = s) -> str:
            return f"omega(. | s={show(s)})"

        def asked(s: Label = s) -> str:
            return f"terminal(s={show(s)})"

        for o, x in _outcomes(ask(emitted, omega, s), emitted, "o", "observation"):
            o_col.append(observations.index(o, emitted))
            o_prob.append(x)
        o_ptr.append(len(o_col))
        ended.append(bool(ask(asked, is_terminal, s)))
        here: Collection[Label] = actions
        for i in () if ended[-1] else o_col[o_ptr[-2] :]:
            if allowed is None:
                break
            if i not in may:
                may[i] = chosen_actions(allowed, A_, observations.labels[i], "allowed")
            here = may[i]  # `check` refuses states whose observations allow different actions
        for a in actions:

            def moved(s: Label = s, a: Label = a) -> str:
                return f"p(. | s={show(s)}, a={show(a)})"

            if not ended[-1] and a in here:
                for outcome, x in _outcomes(ask(moved, p, s, a), moved, "(s_next, r)", "outcomes"):
                    if not isinstance(outcome, tuple) or len(outcome) != 2:
                        raise WrongType(
                            f"{moved()}: an outcome is a pair (s_next, r), not {outcome!r}"
                        )
                    s_next.append(states.index(outcome[0], moved))
                    r.append(number_at(outcome[1], moved))
                    prob.append(x)
            row_ptr.append(len(s_next))

    S_, O_ = states.space(), observations.space()
    for label in ends:
        if label not in S_:
            raise UnknownLabel(
                f"terminal: {S_._unknown(label)} (a terminal state must be reachable; "
                "a function that says whether a state is terminal may speak of others too)"
            )
    table = np.ones((len(O_), len(A_)), dtype=bool)
    for i, some in may.items():
        table[i] = [a in some for a in actions]
    pointers = [frozen(np.array(x, dtype=np.int64)) for x in (row_ptr, o_ptr)]
    columns = [frozen(np.array(x, dtype=np.int32)) for x in (s_next, o_col)]
    return cls(
        name=name,
        S=S_,
        O=O_,
        A=A_,
        p=Transitions(S_, A_, pointers[0], columns[0], Numbers.of(r), Numbers.of(prob)),
        omega=Emissions(S_, O_, pointers[1], columns[1], Numbers.of(o_prob)),
        gamma=gamma,
        mu=Distribution(S_, Numbers.of([start.get(i, 0) for i in range(len(S_))])),
        terminal=StateSet(S_, np.array(ended, dtype=bool)),
        allowed=table,
    )
