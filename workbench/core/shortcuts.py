"""Non-Markovian shortcuts (Section 5.1, Figure 3): where one-step TD values lead a greedy learner
away from a policy.

A shortcut of pi is a pair (o, a), a not in the support of pi(.|o), with

    q_TD(o,a) > v_TD(o)   although   q_pi(o,a) <= v_pi(o)          strict
    q_TD(o,a) = v_TD(o)   although   q_pi(o,a) <  v_pi(o)          weak

Greedy on TD values leaves pi for a strict one and may leave it for a weak one; greedy on the true
values does neither. An action that is as good as pi's own and looks so too is no shortcut. Only
pairs whose two values are both defined count.

Floats are compared by bounds on their errors. What these leave open is decided in rationals, where
model and policy are exact and not too large; otherwise it counts as equal.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.errors import NotWeighted, WorkbenchError, WrongType
from workbench.core.evaluate import MOST_DECIDED
from workbench.core.numbers import Number
from workbench.core.policy import Policy
from workbench.core.pomdp import POMDP
from workbench.core.space import Label
from workbench.core.td import TDValues, td_values
from workbench.core.ties import sign_of_difference
from workbench.core.weights import Weighting
from workbench.tables.sheet import Column, Drawn, Sheet, Showing
from workbench.text import counted, show, shown

MOST_POLICIES = 10_000
"""`count_shortcuts` looks at no more optimal policies than this, unless told otherwise."""

Actions = NDArray[np.int64]


@dataclass(frozen=True)
class Shortcut:
    """A non-Markovian shortcut (o, a) with its values. It has the true value and the one-step TD
    value of a, those of o under pi, and is "strict" or "weak"."""

    o: Label
    a: Label
    q: Number
    td: Number
    v: Number
    v_td: Number
    kind: str
    words: str = field(default="", compare=False, repr=False)
    """The pair in the short form of its POMDP's labels."""

    def __str__(self) -> str:
        return (
            f"{self.words or f'{show(self.o)}, {show(self.a)}'}: TD {shown(self.td)} against "
            f"{shown(self.v_td)}, truly {shown(self.q)} against {shown(self.v)} ({self.kind})"
        )


class Shortcuts(Showing, Drawn, list[Shortcut]):
    """The shortcuts of one policy: a list that shows itself as a table.

    `plot` draws them as red arrows in the diagram of the policy, or of the best one where pi is not
    known.
    """

    figure = "memory_diagram"

    def __init__(self, P: POMDP, found: Iterable[Shortcut] = (), pi: Policy | None = None):
        super().__init__(found)
        self.P, self.pi = P, pi

    def drawn_from(self) -> tuple[Any, ...]:
        return (self.P,) if self.pi is None else (self.P, self.pi)

    def sheet(self) -> Sheet:
        """A row for each shortcut."""
        columns = (
            Column("o", "the observation"),
            Column("a", "an action that the policy does not take there"),
            Column("q_TD(o,a)", "its value by one-step TD"),
            Column("v_TD(o)", "the value of o by one-step TD"),
            Column("q(o,a)", "its true value"),
            Column("v(o)", "the true value of o"),
            Column(
                "kind",
                "strict: TD prefers a although it is no better; weak: TD values it as much as the "
                "policy's own action although it is worse",
            ),
        )
        rows = tuple(
            (self.P.O.text(x.o), self.P.A.text(x.a), x.td, x.v_td, x.q, x.v, x.kind) for x in self
        )
        strict = sum(x.kind == "strict" for x in self)
        said = (
            f"At {counted(len(self), 'pair')} (o, a) one-step TD values a as high as the policy's "
            f"own action or higher, although a is no better: {strict} strict."
            if self
            else "No shortcut: one-step TD does not lead away from this policy."
        )
        return Sheet(f"Shortcuts on {self.P.name}", columns, rows, said)


def shortcuts(
    P: POMDP, pi: Policy, exact: bool = False, weights: str | Weighting = "visits"
) -> Shortcuts:
    """The non-Markovian shortcuts of a policy, in the order of O and A.

    Parameters
    ----------
    P : the POMDP, as a rule an augmented one.
    pi : a policy for it.
    exact : rationals; otherwise the values are floats, compared as the module's text says.
    weights : which P_pi(s|o), as for `evaluate`.

    >>> from pomdps import recall
    >>> from workbench import augment, best_memoryless
    >>> E = augment(recall(), "OA1")
    >>> for shortcut in shortcuts(E, best_memoryless(E).policy, exact=True):
    ...     print(shortcut)
    ∅, 2 push: TD 19/20 against 361/400, truly 0 against 361/400 (strict)

    See also: `td_values`, `evaluate`, `diagnose`.
    """
    require_numbers(P, pi)
    true, td = (td_values(P, pi, lam=lam, exact=exact, weights=weights) for lam in (1, 0))
    rows = np.flatnonzero(true.reached.raw)
    if len(rows) and not any(is_defined(true.v[P.O[i]]) for i in rows.tolist()):
        raise NotWeighted(
            f"P(s|o) by {weights} is not defined where the policy gets in {P.name}, since it never "
            "ends: weigh by discounted or stationary visits"
        )
    off = td_error(true), td_error(td)
    pairs = []
    for i, j in np.argwhere((pi.prob.floats == 0) & true.reached.raw[:, None]).tolist():
        values = _values_of(true, td, o := P.O[i], a := P.A[j])
        if all(is_defined(x) for x in values):
            pairs.append((o, a, values))
    can_decide = not exact and P.is_exact and pi.is_exact and len(P.S) <= MOST_DECIDED
    if can_decide and any(is_open(*values, *off) for _, _, values in pairs):
        true, td = (td_values(P, pi, lam=lam, exact=True, weights=weights) for lam in (1, 0))
        off = 0.0, 0.0
    found = Shortcuts(P, pi=pi)
    for o, a, values in pairs:
        if kind := kind_of(*_values_of(true, td, o, a), *off):
            found.append(Shortcut(o, a, *values, kind, words_of(P, o, a)))
    return found


def _values_of(
    true: TDValues, td: TDValues, o: Label, a: Label
) -> tuple[Number, Number, Number, Number]:
    return true.q[o, a], td.q[o, a], true.v[o], td.v[o]


def td_error(found: TDValues) -> float:
    """A bound on the error of every number of q and v. It is 0 in exact arithmetic."""
    if found.q.raw.dtype == object:
        return 0.0
    return float(np.max(found.q_error.raw, where=~np.isnan(found.q.raw), initial=found.error))


def is_open(q: Number, td: Number, v: Number, v_td: Number, error: float, td_error: float) -> bool:
    """Whether errors of single numbers leave open which of two is larger."""
    return (
        sign_of_difference(td, v_td, 2 * td_error) is None
        or sign_of_difference(q, v, 2 * error) is None
    )


def words_of(P: POMDP, o: Label, a: Label) -> str:
    """A pair (o, a) in the short form of labels."""
    return f"{P.O.text(o)}, {P.A.text(a)}"


def require_numbers(P: Any, pi: Any) -> None:
    if not isinstance(P, POMDP) or not (pi is None or isinstance(pi, Policy)):
        raise WrongType(f"shortcuts belong to a POMDP and a policy, not to {P!r} and {pi!r}")
    if symbols := P.symbols | (pi.prob.symbols if pi is not None else frozenset()):
        names = ", ".join(sorted(map(str, symbols)))
        raise WorkbenchError(
            f"shortcuts compare values, which needs numbers: give {names} a value, or use td_values"
        )


def is_defined(x: Number) -> bool:
    return x is not None and x == x


def kind_of(
    q: Number, td: Number, v: Number, v_td: Number, error: float = 0.0, td_error: float = 0.0
) -> str:
    """The kind of shortcut: "strict", "weak", or "" for none. The action is worth q, and td
    according to TD, where the policy is worth v and v_td. Numbers that the error bounds cannot
    separate count as equal."""
    looks = sign_of_difference(td, v_td, 2 * td_error) or 0
    is_truly = sign_of_difference(q, v, 2 * error) or 0
    if looks > 0 and is_truly <= 0:
        return "strict"
    return "weak" if looks == 0 and is_truly < 0 else ""
