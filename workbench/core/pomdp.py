"""The POMDP <S, O, A, R, p, omega, gamma, mu> of Section 2, as labelled sparse tables.

    p(s', r | s, a)     the next state and the reward together: a memory may read r
    omega(o | s)        stochastic in general
    mu(s)               where episodes start

`terminal` is the one addition to the paper's tuple: an episode ends on reaching a terminal state;
no action is taken there and its value is 0. `allowed` says which actions there are at each
observation, where that is not all of them. Inside, p is stored in compressed rows: row `s * |A| +
a` holds the columns `s_next`, `r`, `prob` from `row_ptr[row]` to `row_ptr[row + 1]`; omega
likewise, one row for each state.

The parts of a POMDP answer in labels: `P.p(s, a)`, `P.omega(s)` and `P.mu` are distributions
`{outcome: probability}`, which is also how a model is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.asked import Asked, require_function
from workbench.core.build import check, discover
from workbench.core.errors import NeedsAllActions, NotExact
from workbench.core.numbers import Number, Numbers, frozen, is_symbolic, number
from workbench.core.rows import Emissions, Transitions, own_rows, pick_rows
from workbench.core.space import Distribution, Label, Space, StateSet
from workbench.text import counted, escape_html

if TYPE_CHECKING:
    from workbench.core.augment import Origin


@dataclass(frozen=True, eq=False, repr=False)
class POMDP:
    """A partially observable Markov decision process with labels for states and actions.

    It is checked when it is made, and frozen. Write one with `POMDP.from_functions`, or with
    `from_arrays`. To change one, use `dataclasses.replace`, `with_gamma`, `scale_rewards` or
    `relabel`: each returns another POMDP. `note` says where the model comes from, if it was not
    written by hand. `allowed[o, a]` says where an action may be taken; None: everywhere. All
    observations of a state allow the same actions, and p has no outcomes for the others. `origin`
    names the task and the memory that `augment` made it of. A changed model has no origin.

    >>> from pomdps import recall4
    >>> recall4()
    POMDP recall4: 6 states (1 terminal), 1 observation, 4 actions, 20 outcomes, gamma 1
    >>> recall4().p("s*", 2)
    {('s2', Fraction(0, 1)): Fraction(1, 1)}

    See also: `from_arrays`, `load_pomdp`, `augment`, `evaluate`.
    """

    name: str
    S: Space
    O: Space
    A: Space
    p: Transitions
    omega: Emissions
    gamma: Number
    mu: Distribution
    terminal: StateSet
    note: str = ""
    allowed: NDArray[np.bool_] | None = None
    origin: Origin | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "gamma", number(self.gamma))
        if self.allowed is not None:
            # where episodes are over nothing is forbidden
            allowed = frozen(np.asarray(self.allowed, dtype=bool) | ~self.decides[:, None])
            object.__setattr__(self, "allowed", None if allowed.all() else allowed)
        check(self)
        # a zero that is written in a distribution is no outcome: nothing may depend on it
        object.__setattr__(self, "p", self.p.keep(~self.p.prob.zeros))
        object.__setattr__(self, "omega", self.omega.keep(~self.omega.prob.zeros))

    # ------------------------------------------------------------------ writing a model

    @classmethod
    def from_functions(
        cls,
        *,
        name: str,
        A: Iterable[Label],
        p: Callable[[Label, Label], Mapping[tuple[Label, Number], Number]],
        omega: Callable[[Label], Mapping[Label, Number]],
        mu: Mapping[Label, Number],
        gamma: Number,
        terminal: Iterable[Label] | Callable[[Label], bool] = (),
        S: Iterable[Label] | None = None,
        O: Iterable[Label] | None = None,
        allowed: Callable[[Label], Iterable[Label]] | None = None,
    ) -> POMDP:
        """A POMDP from functions that return distributions. S and O are discovered from mu.

        Parameters
        ----------
        A : the actions.
        p : `p(s, a)` returns {(s_next, r): probability}.
        omega : `omega(s)` returns {o: probability}; terminal states emit too.
        mu : {s: probability}.
        terminal : labels, or a function that says whether a state is terminal.
        S, O : give them to fix their order or to forbid any other label; S then holds unreachable
            states as well.
        allowed : `allowed(o)` returns the actions that may be taken at o; None: all. `p` is asked
            for these alone.

        >>> corridor = POMDP.from_functions(
        ...     name="two rooms",
        ...     A=["go"],
        ...     p=lambda s, a: {(s + 1, 1): 1},
        ...     omega=lambda s: {"dark": 1},
        ...     mu={0: 1},
        ...     gamma=1,
        ...     terminal={2},
        ... )
        >>> corridor.S
        {0, 1, 2} (3)
        """
        found = discover(A, p, omega, mu, terminal, S, O, allowed)
        return cls(name=name, gamma=gamma, **found)

    # ------------------------------------------------------------------ reading it

    @cached_property
    def R(self) -> tuple[Number, ...]:
        """The rewards that occur, in order of size (of appearance, if symbolic)."""
        r = self.p.r
        if r.codes is None:
            return tuple(np.unique(r.floats).tolist())
        used = [r.values[i] for i in np.unique(r.codes).tolist()]
        return tuple(used if any(map(is_symbolic, used)) else sorted(used))

    @property
    def is_exact(self) -> bool:
        """Whether every number is an int, a Fraction or a symbolic expression."""
        return all(x.is_exact for x in self._numbers()) and not isinstance(self.gamma, float)

    def _numbers(self) -> tuple[Numbers, ...]:
        return (self.p.prob, self.p.r, self.omega.prob, self.mu.prob)

    @cached_property
    def symbols(self) -> frozenset[Any]:
        """The symbols that occur in its numbers."""
        free = self.gamma.free_symbols if is_symbolic(self.gamma) else set()
        return frozenset(free).union(*(numbers.symbols for numbers in self._numbers()))

    @cached_property
    def decides(self) -> NDArray[np.bool_]:
        """For each observation, whether some state that is not terminal emits it: only there a
        policy matters."""
        found = np.zeros(len(self.O), dtype=bool)
        found[self.omega.o[~self.terminal.mask[self.omega.s]]] = True
        return frozen(found)

    def actions(self, o: Label) -> tuple[Label, ...]:
        """The actions that may be taken at an observation."""
        i = self.O.index(o)
        return tuple(a for j, a in enumerate(self.A) if self.allowed is None or self.allowed[i, j])

    def __repr__(self) -> str:
        ends = f" ({len(self.terminal):,} terminal)" if len(self.terminal) else ""
        some = "" if self.allowed is None else " (not all allowed everywhere)"
        return (
            f"POMDP {self.name}: {counted(len(self.S), 'state')}{ends}, "
            f"{counted(len(self.O), 'observation')}, {counted(len(self.A), 'action')}{some}, "
            f"{counted(len(self.p.s_next), 'outcome')}, gamma {self.gamma}"
        )

    def _repr_html_(self) -> str:
        told = {"S": self.S, "O": self.O, "A": self.A, "mu": self.mu, "terminal": self.terminal}
        told |= {"gamma": self.gamma} | ({"note": self.note} if self.note else {})
        rows = "".join(
            f"<tr><th>{letter}</th><td>{escape_html(what)}</td></tr>"
            for letter, what in told.items()
        )
        return f"<table><caption>POMDP {escape_html(self.name)}</caption>{rows}</table>"

    def __getstate__(self) -> dict[str, Any]:
        """Leave the origin out of pickles: its memory may hold functions that no pickle can
        name."""
        return {name: value for name, value in self.__dict__.items() if name != "origin"}

    # ------------------------------------------------------------------ changing it

    def with_gamma(self, gamma: Number) -> POMDP:
        """The same task with another discount factor."""
        changed = replace(self, gamma=gamma)
        if self.origin is not None:  # discounting and attaching a memory commute
            source = replace(self.origin, P=self.origin.P.with_gamma(gamma))
            object.__setattr__(changed, "origin", source)
        return changed

    def scale_rewards(self, factor: Number) -> POMDP:
        """The same task with every reward multiplied by `factor`."""
        factor = number(factor)
        return replace(self, p=replace(self.p, r=self.p.r.map(lambda r: r * factor)))

    def rationalised(self) -> POMDP:
        """The same task with each float read as the decimal it prints as (0.1 becomes 1/10). Its
        rows must sum to one."""
        return replace(
            self,
            p=replace(self.p, r=self.p.r.rationalised(), prob=self.p.prob.rationalised()),
            omega=replace(self.omega, prob=self.omega.prob.rationalised()),
            mu=Distribution(self.S, self.mu.prob.rationalised()),
            gamma=Numbers.of([self.gamma]).rationalised()[0],
        )

    def relabel(
        self,
        *,
        S: Callable[[Label], Label] | None = None,
        O: Callable[[Label], Label] | None = None,
        A: Callable[[Label], Label] | None = None,
        name: str | None = None,
    ) -> POMDP:
        """The same task with other labels, each given as a function from old to new (one to
        one)."""
        S2, O2, A2 = (
            Space(map(f, space)) if f else space
            for f, space in ((S, self.S), (O, self.O), (A, self.A))
        )
        p, omega = replace(self.p, S=S2, A=A2), replace(self.omega, S=S2, O=O2)
        mu, terminal = Distribution(S2, self.mu.prob), StateSet(S2, self.terminal.mask)
        parts: dict[str, Any] = {"p": p, "omega": omega, "mu": mu, "terminal": terminal}
        return replace(self, name=name or self.name, S=S2, O=O2, A=A2, **parts)

    def with_allowed(self, allowed: Callable[[Label], Iterable[Label]]) -> POMDP:
        """The same task where `allowed(o)` are the only actions at o."""
        require_function("allowed", allowed, "a set")
        may = Asked(allowed, "allowed({})")
        table = np.ones((len(self.O), len(self.A)), dtype=bool)
        for o in np.flatnonzero(self.decides).tolist():
            table[o] = may.choice(self.A, self.O[o])
        nA = len(self.A)
        s, a = np.divmod(own_rows(self.p.row_ptr), nA)
        kept = table[self.omega.o[self.omega.row_ptr[s]], a]
        return replace(self, p=self.p.keep(kept), allowed=table)

    def with_all_actions(self) -> POMDP:
        """The same task with every action everywhere. One that is not allowed at an observation
        does there what the first allowed one does, so that the best values are the same."""
        if self.allowed is None:
            return self
        nA = len(self.A)
        s, a = np.divmod(np.flatnonzero(np.diff(self.p.row_ptr) == 0), nA)
        rows = np.arange(len(self.S) * nA)
        seen = self.omega.o[self.omega.row_ptr[s]]
        rows[s * nA + a] = s * nA + self.allowed[seen].argmax(axis=1)
        return replace(self, p=self.p.pick(*pick_rows(self.p.row_ptr, rows)), allowed=None)

    def require_all_actions(self, function: str) -> None:
        """Raise `NeedsAllActions` if some action is not allowed somewhere."""
        if self.allowed is not None:
            o, a = np.argwhere(~self.allowed)[0].tolist()
            raise NeedsAllActions(
                f"{function} needs all actions in every observation; {self.name} does not allow "
                f"{self.A.text(self.A[a])} at {self.O.text(self.O[o])}. P.with_all_actions() lets "
                "it do there what the first allowed action does"
            )

    def require_exact(self) -> None:
        """Raise `NotExact`, naming a place, if some number was given as a float."""
        names = ("p", "a reward", "omega", "mu", "gamma")
        parts = (*self._numbers(), Numbers.of([self.gamma]))
        for what, numbers in zip(names, parts, strict=True):
            if not numbers.is_exact:
                raise NotExact(
                    f"exact arithmetic needs exact numbers, but {what} of {self.name} was given as "
                    f"floats (such as {numbers[0]!r}): write ints and Fractions, or use "
                    "P.rationalised(), which reads each float as the decimal it prints as"
                )
