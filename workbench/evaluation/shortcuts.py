"""Non-Markovian shortcuts (Section 5.1, Figure 3): where one-step TD values lead a greedy learner
away from a policy.

A shortcut of pi is a pair (o, a), a not in the support of pi(.|o), with

    q_TD(o,a) > v_TD(o)   although   q_pi(o,a) <= v_pi(o)          strict
    q_TD(o,a) = v_TD(o)   although   q_pi(o,a) <  v_pi(o)          weak

Greedy on TD values leaves pi for a strict one and may leave it for a weak one; greedy on the true
values does neither. An action that is as good as pi's own and looks so too is no shortcut. Only
pairs whose two values are both defined count.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.errors import WorkbenchError, WrongType
from workbench.evaluation.td import td_values
from workbench.model.numbers import Number
from workbench.model.policy import NEAR, Policy
from workbench.model.pomdp import POMDP
from workbench.model.space import Label
from workbench.text import show, shown

MOST_POLICIES = 10_000
"""`count_shortcuts` looks at no more optimal policies than this, unless told otherwise."""

Actions = NDArray[np.int64]


@dataclass(frozen=True)
class Shortcut:
    """One pair (o, a): its true value and its one-step TD value, those of o under pi, and "strict"
    or "weak"."""

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
            f"{self.words or f'{show(self.o)}, {show(self.a)}'}: TD {shown(self.td)} against {shown(self.v_td)}, "
            f"truly {shown(self.q)} against {shown(self.v)} ({self.kind})"
        )


def shortcuts(P: POMDP, pi: Policy, exact: bool = False, weights: str = "visits") -> list[Shortcut]:
    """The non-Markovian shortcuts of a policy, in the order of O and A.

    Parameters
    ----------
    P : the POMDP, as a rule an augmented one.
    pi : a policy for it.
    exact : rationals; otherwise floats that are close to one another count as equal.
    weights : which P_pi(s|o), as for `evaluate`.

    >>> from fractions import Fraction
    >>> next_room = {"start": {"walk": "corridor", "jump": "pit"}, "corridor": {"walk": "hall", "jump": "hall"}}
    >>> P = POMDP.from_functions(
    ...     name="dark rooms", A=["walk", "jump"], mu={"start": 1}, gamma=Fraction(1, 2), terminal={"end"},
    ...     p=lambda s, a: {(next_room[s][a], 0) if s in next_room else ("end", int(s == "hall")): 1},
    ...     omega=lambda s: {"dark" if s in ("hall", "pit") else s: 1})
    >>> pi = Policy.deterministic(P, {}, otherwise="walk")
    >>> for shortcut in shortcuts(P, pi, exact=True):
    ...     print(shortcut)
    start, jump: TD 1/2 against 1/4, truly 0 against 1/4 (strict)
    """
    require_numbers(P, pi)
    true, td = (td_values(P, pi, lam=lam, exact=exact, weights=weights) for lam in (1, 0))
    rows = np.flatnonzero(true.reached.raw)
    if len(rows) and not any(is_defined(true.v[P.O[i]]) for i in rows.tolist()):
        raise WorkbenchError(
            f"P(s|o) by {weights} is not defined where the policy gets in {P.name}, since it "
            "never ends: "
            "weigh by discounted or stationary visits"
        )
    taken = pi.prob.floats > 0
    found = []
    for i, j in np.argwhere(~taken & true.reached.raw[:, None]).tolist():
        o, a = P.O[i], P.A[j]
        values = true.q[o, a], td.q[o, a], true.v[o], td.v[o]
        if all(is_defined(x) for x in values) and (kind := kind_of(*values)):
            found.append(Shortcut(o, a, *values, kind, words_of(P, o, a)))
    return found


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


def sign_of_difference(x: Number, y: Number) -> int:
    """The sign of x - y, 0 for floats that are close."""
    if isinstance(x, float) or isinstance(y, float):
        near = NEAR * max(1.0, abs(x), abs(y))
        return 0 if abs(x - y) <= near else (1 if x > y else -1)
    return int(x > y) - int(x < y)


def kind_of(q: Number, td: Number, v: Number, v_td: Number) -> str:
    """ "strict", "weak", or "" for none: an action worth q that TD takes to be worth td, where the
    policy is worth v and v_td."""
    looks, is_truly = sign_of_difference(td, v_td), sign_of_difference(q, v)
    if looks > 0 and is_truly <= 0:
        return "strict"
    return "weak" if looks == 0 and is_truly < 0 else ""
