"""`POMDP.from_functions`: a breadth-first walk from mu discovers S and O.

The walk builds compressed rows and leaves the judging to `check`. What it alone can see, it refuses
itself: a function that returns something else than a distribution, a label that nobody declared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.errors import ModelError, TooLarge, UnknownLabel, WorkbenchError, WrongType
from workbench.core.numbers import Number, Numbers, frozen, number
from workbench.core.rows import Emissions, Transitions
from workbench.core.space import Distribution, Label, Space, StateSet
from workbench.text import show

_MOST_STATES = 5_000_000
"""A walk that has discovered more states is taken for one without end."""


class Asked:
    """A function that a user wrote: p, omega, Gamma, .... Errors name its arguments.

    >>> Asked(lambda s, a: {}[s], "p(. | ", ("s=", ", a="))(2, "up")
    Traceback (most recent call last):
    ...
    workbench.core.errors.ModelError: p(. | s=2, a=up) raised KeyError: 2
    """

    def __init__(
        self,
        function: Any,
        head: str,
        names: tuple[str, ...] = (),
        tail: str = ")",
        keys: str = "label",
        members: str = "members",
    ):
        self.function, self.names, self.ends = function, names, (head, tail)
        self.keys, self.members = keys, members

    def at(self, *labels: Label) -> str:
        """The name of one of its values."""
        told = (f"{name}{show(x)}" for name, x in zip(self.names, labels, strict=True))
        return "".join(told).join(self.ends)

    def __call__(self, *labels: Label) -> Any:
        try:
            return self.function(*labels)
        except WorkbenchError:
            raise  # it names what is wrong already
        except Exception as error:
            raise ModelError(
                f"{self.at(*labels)} raised {type(error).__name__}: {error}"
            ) from error

    def outcomes(self, *labels: Label) -> list[tuple[Any, Number]]:
        """A distribution that it returns, without what has probability zero."""
        found = self(*labels)
        if not isinstance(found, Mapping):
            raise WrongType(
                f"{self.at(*labels)} must be a distribution {{{self.keys}: probability}}, not "
                f"{found!r}"
            )
        likely = [(x, prob) for x, prob in found.items() if self.number(prob, *labels) != 0]
        if not likely:
            raise ModelError(f"{self.at(*labels)} has no {self.members}")
        return likely

    def number(self, x: Number, *labels: Label) -> Number:
        """A number as it is given, or an error that says where something else was."""
        if type(x) in (int, float, Fraction):
            return x
        try:
            return number(x)
        except WrongType as error:
            raise WrongType(f"{self.at(*labels)}: {error}") from None

    def choice(self, A: Space, *labels: Label) -> NDArray[np.bool_]:
        """The mask of the members of A in a set that it returns."""
        found = self(*labels)
        if isinstance(found, str) or not isinstance(found, Iterable):
            raise WrongType(f"{self.at(*labels)} must be a set of labels, not {found!r}")
        mask = np.zeros(len(A), dtype=bool)
        for a in found:
            if a not in A:
                raise UnknownLabel(f"{self.at(*labels)}: {A._unknown(a)}")
            mask[A.index(a)] = True
        if not mask.any():
            raise ModelError(f"{self.at(*labels)} is empty: something has to be allowed")
        return mask


def require_function(name: str, f: Any, returns: str) -> None:
    if not callable(f):
        raise WrongType(f"{name} must be a function that returns {returns}, not {f!r}")


class _Met:
    """Labels in the order they are met, or a declared set that admits no others."""

    def __init__(self, declared: Iterable[Label] | None, kind: str, limit: float):
        self.kind, self.limit = kind, limit
        self.declared = None if declared is None else Space(declared)
        self.labels: list[Label] = list(self.declared or ())
        self.places: dict[Label, int] = {label: i for i, label in enumerate(self.labels)}

    def index(self, label: Label, asked: Asked, *labels: Label) -> int:
        """The place of a label in a value of a function."""
        try:
            place = self.places.setdefault(label, len(self.labels))
        except TypeError:
            raise WrongType(f"{asked.at(*labels)}: label {label!r} is not hashable") from None
        if place == len(self.labels):
            if self.declared is not None:
                raise UnknownLabel(f"{asked.at(*labels)}: {self.declared._unknown(label)}")
            if len(self.labels) >= self.limit:
                raise TooLarge(
                    f"more than {self.limit:,} {self.kind} were discovered; the last one is "
                    f"{show(label)}. Bound the model"
                )
            self.labels.append(label)
        return place

    def space(self) -> Space:
        return self.declared or Space(self.labels)


def discover(
    A: Iterable[Label],
    p: Callable[[Label, Label], Mapping[tuple[Label, Number], Number]],
    omega: Callable[[Label], Mapping[Label, Number]],
    mu: Mapping[Label, Number],
    terminal: Iterable[Label] | Callable[[Label], bool],
    S: Iterable[Label] | None,
    O: Iterable[Label] | None,
    allowed: Callable[[Label], Iterable[Label]] | None,
) -> dict[str, Any]:
    """The fields of the POMDP. Actions and outcomes come in the order in which they are written."""
    A_ = Space(A)
    actions = tuple(A_)
    require_function("p", p, "a distribution")
    require_function("omega", omega, "a distribution")
    if allowed is not None:
        require_function("allowed", allowed, "a set")
    if isinstance(terminal, str):
        raise WrongType(
            f"terminal must be a set of labels or a function, not the single string {terminal!r}"
        )
    ends = () if callable(terminal) else tuple(terminal)
    is_over = Asked(
        terminal if callable(terminal) else frozenset(ends).__contains__, "terminal(", ("s=",)
    )
    moves = Asked(p, "p(. | ", ("s=", ", a="), keys="(s_next, r)", members="outcomes")
    emits = Asked(omega, "omega(. | ", ("s=",), keys="o", members="observation")
    may = Asked(allowed, "allowed(", ("",))
    begins = Asked(lambda: mu, "mu(.", keys="s", members="states: an episode needs one to start in")
    states, seen = _Met(S, "states", _MOST_STATES), _Met(O, "observations", np.inf)
    for s, x in mu.items() if isinstance(mu, Mapping) else ():
        Asked(mu, "mu(", ("",)).number(x, s)
    start = {states.index(s, Asked(mu, "mu", tail="")): x for s, x in begins.outcomes()}

    row_ptr, s_next, r, prob = [0], [], [], []
    o_ptr, o_col, o_prob = [0], [], []
    ended: list[bool] = []
    table: dict[int, NDArray[np.bool_]] = {}
    everything = np.ones(len(A_), dtype=bool)
    for s in states.labels:  # grows while we walk
        for o, x in emits.outcomes(s):
            o_col.append(seen.index(o, emits, s))
            o_prob.append(x)
        ended.append(bool(is_over(s)))
        here = everything
        if allowed is not None and not ended[-1]:
            for i in o_col[o_ptr[-1] :]:
                if i not in table:
                    table[i] = may.choice(A_, seen.labels[i])
                here = table[i]  # `check` refuses states whose observations differ in this
        o_ptr.append(len(o_col))
        for a, may_be_taken in zip(actions, here.tolist(), strict=True):
            for outcome, x in moves.outcomes(s, a) if may_be_taken and not ended[-1] else ():
                if not isinstance(outcome, tuple) or len(outcome) != 2:
                    raise WrongType(
                        f"{moves.at(s, a)}: an outcome is a pair (s_next, r), not {outcome!r}"
                    )
                s_next.append(states.index(outcome[0], moves, s, a))
                r.append(moves.number(outcome[1], s, a))
                prob.append(x)
            row_ptr.append(len(s_next))

    S_, O_ = states.space(), seen.space()
    for label in ends:
        if label not in S_:
            raise UnknownLabel(
                f"terminal: {S_._unknown(label)} (a terminal state must be reachable; "
                "a function that says whether a state is terminal may speak of others too)"
            )
    pointers = [frozen(np.array(x, dtype=np.int64)) for x in (row_ptr, o_ptr)]
    columns = [frozen(np.array(x, dtype=np.int32)) for x in (s_next, o_col)]
    return {
        "S": S_,
        "O": O_,
        "A": A_,
        "p": Transitions(S_, A_, pointers[0], columns[0], Numbers.of(r), Numbers.of(prob)),
        "omega": Emissions(S_, O_, pointers[1], columns[1], Numbers.of(o_prob)),
        "mu": Distribution(S_, Numbers.of([start.get(i, 0) for i in range(len(S_))])),
        "terminal": StateSet(S_, np.array(ended, dtype=bool)),
        "allowed": np.array([table.get(i, everything) for i in range(len(O_))]),
    }
