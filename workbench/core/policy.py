"""Memoryless policies pi(a | o), and the two moves of Section 5.2. A policy can become greedy on
q-values, or move towards another policy.

A policy belongs to the observations and actions of one POMDP; in an augmented POMDP o is (m, o) and
a is (a, w), so a memoryless policy there decides what to do and what to remember. Probabilities are
floats, Fractions or symbols.

>>> from pomdps import recall4
>>> pi = uniform(recall4()).toward(Policy.deterministic(recall4(), {"o": 3}), Fraction(1, 2))
>>> pi["o", 3]
Fraction(5, 8)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from workbench.core.asked import Asked
from workbench.core.build import check_rows
from workbench.core.errors import ModelError, PolicyError, WorkbenchError, WrongType
from workbench.core.numbers import Number, Numbers, is_symbolic, number
from workbench.core.pomdp import POMDP
from workbench.core.space import Label, Space
from workbench.core.ties import greedy_actions, tie_order
from workbench.tables.sheet import Drawn
from workbench.text import brief, counted

if TYPE_CHECKING:
    import pandas as pd

    from workbench.tables.table import Table


class Policy(Drawn):
    """pi(a | o) for the observations and actions of a POMDP.

    Parameters
    ----------
    P : the POMDP whose O and A it speaks of.
    table : probabilities `[o, a]` in the order of P.O and P.A: an array of floats, or of exact
        numbers; or {o: {a: probability}}, as `from_mapping` takes it.

    >>> from pomdps import recall4
    >>> pi = Policy(recall4(), {"o": {0: 0.25, 3: 0.75}})
    >>> pi["o", 3]
    0.75

    See also: `uniform`, `evaluate`, `improve`, `Controller`.
    """

    figure: ClassVar[str] = "policy_table"

    def __init__(self, P: POMDP, table: Any):
        if not isinstance(P, POMDP):
            raise WrongType(f"a policy belongs to a POMDP, not to {P!r}")
        self.O, self.A = P.O, P.A
        if isinstance(table, Mapping):
            table = _numbers_by_label(P, table)
        self.prob = table if isinstance(table, Numbers) else Numbers.of(np.asarray(table))
        if self.prob.shape != (len(P.O), len(P.A)):
            raise PolicyError(
                f"a policy for {P.name} has {len(P.O)} rows (observations) and {len(P.A)} columns "
                f"(actions); this table has the shape {self.prob.shape}"
            )
        try:
            check_rows(
                np.arange(len(P.O) + 1) * len(P.A),
                self.prob.ravel(),
                lambda row: f"pi(. | o={P.O.text(P.O[row])})",
                lambda k: f"pi({P.A.text(P.A[k % len(P.A)])} | o={P.O.text(P.O[k // len(P.A)])})",
            )
        except ModelError as error:
            raise PolicyError(str(error)) from None
        self._keeps_to(P)

    @classmethod
    def _of(cls, O: Space, A: Space, prob: Numbers) -> Policy:
        """A policy whose table needs no check."""
        made = object.__new__(cls)
        made.O, made.A, made.prob = O, A, prob
        return made

    @classmethod
    def deterministic(
        cls, P: POMDP, choice: Mapping[Label, Label], otherwise: Label | None = None
    ) -> Policy:
        """The policy that takes action `choice[o]` on observation o.

        Observations that only terminal states emit need no choice. `otherwise` (the first action
        that is allowed, where it is not) is taken where `choice` is silent; without it every other
        observation must be there.
        """
        if not isinstance(choice, Mapping):
            raise WrongType(f"a deterministic policy is a mapping {{o: a}}, not {choice!r}")
        chosen = np.full(len(P.O), -1)
        for o, a in choice.items():
            chosen[P.O.index(o)] = P.A.index(a)
        if otherwise is not None:
            other = P.A.index(otherwise)
            may = True if P.allowed is None else P.allowed[:, other]
            chosen[(chosen < 0) & may] = other
        elif (silent := np.flatnonzero((chosen < 0) & P.decides)).size:
            named = ", ".join(P.O.text(P.O[int(i)]) for i in silent[:5])
            more = f" and {silent.size - 5} more" if silent.size > 5 else ""
            raise PolicyError(
                f"no action was chosen for o={named}{more}; give one, or otherwise=action for the "
                "rest"
            )
        return cls.from_actions(P, chosen)

    @classmethod
    def from_actions(cls, P: POMDP, actions: NDArray[np.integer[Any]]) -> Policy:
        """The deterministic policy that takes the action at place `actions[o]`, for each
        observation in order. -1 stands for the first that is allowed."""
        first = 0 if P.allowed is None else P.allowed.argmax(axis=1)
        taken = np.where(np.asarray(actions) < 0, first, actions)
        if taken.shape != (len(P.O),) or (taken >= len(P.A)).any():
            raise PolicyError(
                f"a deterministic policy for {P.name} has {len(P.O)} places of actions below "
                f"{len(P.A)}, not {actions!r}"
            )
        made = cls._of(P.O, P.A, _ones(taken, len(P.A)))
        made._keeps_to(P)
        return made

    @classmethod
    def within(cls, P: POMDP, table: Any) -> Policy:
        """The table `[o, a]` of a policy of `P.with_all_actions()`, as one of P that does the
        same."""
        prob = table if isinstance(table, Numbers) else Numbers.of(np.asarray(table))
        if P.allowed is None:
            return cls(P, prob)
        rows = prob.objects if prob.is_exact else prob.floats.copy()
        missing = np.where(P.allowed, 0, rows).sum(axis=1)
        rows[~P.allowed] = 0
        rows[np.arange(len(P.O)), P.allowed.argmax(axis=1)] += missing
        return cls(P, rows)

    @classmethod
    def from_mapping(cls, P: POMDP, rows: Mapping[Label, Mapping[Label, Number]]) -> Policy:
        """A policy from {o: {a: probability}}. Observations that are not named get the uniform
        row."""
        return cls(P, _numbers_by_label(P, rows))

    @classmethod
    def random(cls, P: POMDP, seed: int) -> Policy:
        """Each row drawn uniformly from the simplex."""
        rows = np.random.default_rng(seed).dirichlet(np.ones(len(P.A)), len(P.O))
        if P.allowed is not None:  # the allowed part, scaled up, is uniform on its simplex
            rows = np.where(P.allowed, rows, 0.0)
            rows /= rows.sum(axis=1, keepdims=True)
        return cls(P, rows)

    # ------------------------------------------------------------------ reading it

    def __getitem__(self, pair: tuple[Label, Label]) -> Number:
        """pi(a | o)."""
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise WrongType(f"ask a policy for pi[o, a], not for {pair!r}")
        return self.prob[self.O.index(pair[0]), self.A.index(pair[1])]

    def row(self, o: Label) -> dict[Label, Number]:
        """pi(. | o) as {a: probability}, without the zeros."""
        i = self.O.index(o)
        return {a: x for j, a in enumerate(self.A) if (x := self.prob[i, j]) != 0}

    @property
    def is_exact(self) -> bool:
        return self.prob.is_exact

    @property
    def is_deterministic(self) -> bool:
        if self.prob.symbols:
            return False
        return bool(np.all((self.prob.floats == 0) | (self.prob.floats == 1)))

    @property
    def actions(self) -> NDArray[np.int64]:
        """The place of the most probable action of each observation, the first among equals."""
        return np.argmax(self.prob.floats, axis=1)

    def lines(self, rows: Iterable[int], most: int = 6) -> list[str]:
        """What it does on some observations, by their places: a line each, such as "o → left".

        >>> from pomdps import recall_variant
        >>> P = recall_variant()
        >>> uniform(P).lines([0]), Policy.deterministic(P, {"o": 1}).lines([0])
        (['o → 1/2: 0, 1/2: 1'], ['o → 1'])
        """
        rows, found = list(rows), []
        for o in (self.O[i] for i in rows[:most]):
            # what is smaller is a rounding error, and not worth a word
            taken = {self.A.text(a): brief(x) for a, x in self.row(o).items() if x > 1e-12}
            acts = [f"{x}: {a}" if len(taken) > 1 else a for a, x in taken.items()]
            found.append(f"{self.O.text(o)} → {', '.join(acts)}")
        more = len(rows) - most
        return [*found, f"... and {counted(more, 'more row')}"] if more > 0 else found

    @property
    def legend(self) -> str:
        """How `lines` are to be read."""
        return f"{self.O.legend or 'observation'} → {self.A.legend or 'action'}"

    def fits(self, P: POMDP) -> None:
        """Raise `PolicyError` unless this policy speaks of the observations and actions of P."""
        for what, mine, theirs in (("observations", self.O, P.O), ("actions", self.A, P.A)):
            if mine is not theirs and mine != theirs:
                raise PolicyError(
                    f"this policy has other {what} than {P.name}: {mine} instead of {theirs}"
                )
        self._keeps_to(P)

    def _keeps_to(self, P: POMDP) -> None:
        """Refuse an action with a probability where P does not allow it."""
        if P.allowed is None:
            return
        if (bad := np.argwhere(~self.prob.zeros & ~P.allowed)).size:
            o, a = bad[0].tolist()
            raise PolicyError(
                f"{P.name} does not allow {P.A.text(P.A[a])} at o={P.O.text(P.O[o])}, but "
                f"pi({P.A.text(P.A[a])} | o={P.O.text(P.O[o])}) is {self.prob[o, a]}"
            )

    def _table(self) -> Table:
        """Its probabilities, with labels."""
        from workbench.tables.table import Table

        return Table.of_numbers(self.prob, self.O, self.A, title="pi(a | o)")

    def to_frame(self) -> pd.DataFrame:
        return self._table().to_frame()

    def __repr__(self) -> str:
        return self._table().text()

    def _repr_html_(self) -> str:
        return self._table()._repr_html_()

    # ------------------------------------------------------------------ improving it

    def toward(self, other: Policy, step: Number) -> Policy:
        """(1 - step) pi + step other: Section 5.2's move, with the paper's epsilon as `step`."""
        step = number(step)
        if not is_symbolic(step) and not 0 <= step <= 1:
            raise WorkbenchError(f"a step lies in [0, 1], not {step}")
        if other.O != self.O or other.A != self.A:
            raise PolicyError("the two policies belong to different POMDPs")
        if self.is_exact and other.is_exact and not isinstance(step, float):
            prob = Numbers.of((1 - step) * self.prob.objects + step * other.prob.objects)
        else:
            keep = float(1 - Fraction(step))  # rounded once: few digits are left of 1 - 0.99999
            prob = Numbers(floats=keep * self.prob.floats + float(step) * other.prob.floats)
        return Policy._of(self.O, self.A, prob)

    def greedy(
        self, q: NDArray[Any], ties: str = "last", error: NDArray[np.float64] | float = 0.0
    ) -> Policy:
        """The deterministic policy that is greedy on `q[o, a]`. Rows without q-values keep this
        policy's row.

        Parameters
        ----------
        q : floats with NaN, or exact numbers with None, where undefined; in the order of O and A.
        ties : see `tie_order`.
        error : a bound on the errors of q, such as `Evaluation.q_error`: for each row, or each
            entry; actions that it does not tell apart count as equal.
        """
        chosen = greedy_actions(q, tie_order(self.A, ties), error)
        prob, kept = _ones(chosen, len(self.A)), chosen < 0
        if kept.any():
            # the kept rows stand below the others
            rows = np.arange(len(kept)) + np.where(kept, len(kept), 0)
            tables = [prob, self.prob]
            both = [x.objects if self.is_exact else x.floats for x in tables]
            prob = Numbers.of(np.concatenate(both)[rows])
        return Policy._of(self.O, self.A, prob)


def _ones(actions: NDArray[np.integer[Any]], n: int) -> Numbers:
    """One at `actions[o]` and zero elsewhere, for n actions. -1: nowhere."""
    codes = (np.asarray(actions)[:, None] == np.arange(n)).astype(np.uint8)
    return Numbers(codes=codes, values=(Fraction(0), Fraction(1)))


def uniform(P: POMDP) -> Policy:
    """pi(a | o) = 1/|A|, exactly, over the actions that are allowed at o.

    >>> from pomdps import recall4
    >>> uniform(recall4())["o", 3]
    Fraction(1, 4)

    See also: `Policy`, `evaluate`, `improve`.
    """
    return Policy(P, _uniform_table(P))


def _uniform_table(P: POMDP) -> Numbers:
    may = np.ones((len(P.O), len(P.A)), dtype=int) if P.allowed is None else P.allowed
    shares = Numbers.of([0, *(Fraction(1, n + 1) for n in range(len(P.A)))])
    return shares.take(may * may.sum(axis=1, keepdims=True))


def _numbers_by_label(P: POMDP, rows: Mapping[Label, Mapping[Label, Number]]) -> Numbers:
    """The table of {o: {a: probability}}, uniform where it is silent."""
    table = _uniform_table(P).objects
    for o, row in rows.items():
        i = P.O.index(o)
        if not isinstance(row, Mapping):
            raise WrongType(
                f"pi(. | o={P.O.text(o)}) is a distribution {{a: probability}}, not {row!r}; "
                "Policy.deterministic takes {o: a}"
            )
        table[i] = Fraction(0)
        named = Asked(None, "pi({} | o={})")
        for a, x in row.items():
            table[i, P.A.index(a)] = named.number(x, a, o)
    return Numbers.of(table)
