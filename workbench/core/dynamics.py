"""A POMDP's numbers as arrays over a field: the part of a Markov chain that no policy changes.

Numbers that floats have no room for are refused by their label.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.double_kernels import UNIT, action_values
from workbench.core.errors import NotExact, NotSolved
from workbench.core.fields import FLOATS, Field, exact_field
from workbench.core.kernels import read_only
from workbench.core.numbers import Numbers, is_symbolic
from workbench.core.policy import Policy
from workbench.core.pomdp import POMDP
from workbench.core.rows import add_rows, own_rows

if TYPE_CHECKING:
    from workbench.core.chain import Chain

Mask = NDArray[np.bool_]

_LARGEST, _SMALLEST = 1e250, 1e-280
"""Rewards and probabilities beyond these leave floats no room for the sums and products that bound
errors."""


class Dynamics:
    """A POMDP's numbers as arrays over a field.

    Attributes
    ----------
    prob, r : one for each outcome of p.
    R : `R[s, a]`, the expected reward.
    omega : one for each entry (s, o) of omega; `entry_s`, `entry_o` name it.
    mu, gamma
    """

    def __init__(self, P: POMDP, field: Field):
        self.P = P
        self.field = field
        if not field.is_exact:
            check_range(P)
        self.prob = field.enter(P.p.prob)
        self.r = field.enter(P.p.r)
        self.omega = field.enter(P.omega.prob)
        self.mu = field.enter(P.mu.prob)
        self.gamma: Any = field.one(P.gamma)
        self.shape = (len(P.S), len(P.A))
        self.entry_s = own_rows(P.omega.row_ptr)
        self.entry_o = P.omega.o
        self.alive = ~P.terminal.mask
        self.is_undiscounted = not is_symbolic(P.gamma) and P.gamma == 1

    @cached_property
    def mu_side(self) -> NDArray[Any]:
        """mu as the right side of a system."""
        return self.field.enter_side(self.P.mu.prob)

    @cached_property
    def gamma_side(self) -> Any:
        """gamma as systems ask for it: in floats both parts."""
        if self.field.is_exact:
            return self.gamma
        return self.field.enter_side(Numbers.of([self.P.gamma]))[:2, 0]

    @cached_property
    def given(self) -> float:
        """By which share a product of the model's numbers may be off, where they are floats."""
        floats = [not numbers.is_exact for numbers in self.P._numbers()]
        return (sum(floats) + isinstance(self.P.gamma, float)) * UNIT

    @cached_property
    def R(self) -> NDArray[Any]:
        zeros = self.field.zeros(self.shape[0] * self.shape[1])
        return add_rows(self.P.p.row_ptr, self.prob * self.r, zeros).reshape(self.shape)

    @cached_property
    def no_action(self) -> Mask:
        """`[s, a]`: where no action is taken, or not that one."""
        if self.P.allowed is None:
            return np.broadcast_to(~self.alive[:, None], self.shape)
        return np.asarray(np.diff(self.P.p.row_ptr).reshape(self.shape) == 0)

    def expected(self, v: NDArray[Any]) -> NDArray[Any]:
        """sum_{s'} p(s' | s, a) v(s') for each `[s, a]`."""
        zeros = self.field.zeros(self.shape[0] * self.shape[1])
        terms = self.prob * v[self.P.p.s_next]
        return add_rows(self.P.p.row_ptr, terms, zeros).reshape(self.shape)

    def action_values(
        self,
        v: NDArray[Any],
        v_error: NDArray[np.float64],
        undefined: Mask,
        discounted: bool = True,
    ) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """q(s,a) = R(s,a) + gamma sum_{s'} p(s'|s,a) v(s'), and bounds on its errors. It is
        undefined in terminal states and where a successor's v may be undefined."""
        gamma = self.gamma if discounted else self.field.one(1)
        if self.field.is_exact:
            q, error = self.R + gamma * self.expected(v), np.zeros(self.shape)
        else:
            q, error = np.empty(self.shape), np.empty(self.shape)
            p, flat, bound = self.P.p, q.reshape(-1), error.reshape(-1)
            read = read_only(p.row_ptr, p.s_next, self.prob, self.r, gamma, v, v_error)
            action_values(*read, flat, bound)
        unknown = self.no_action
        if undefined.any() and gamma != 0:
            hits = add_rows(self.P.p.row_ptr, undefined[self.P.p.s_next].astype(np.float64))
            unknown = unknown | (hits.reshape(self.shape) > 0)
        q[unknown] = self.field.undefined(1)[0]
        error[unknown] = 0.0 if self.field.is_exact else np.inf
        return q, error

    def follow(self, pi: NDArray[Any], tail: NDArray[np.float64] | None = None) -> Chain:
        """The Markov chain of the policy with table `pi[o, a]`. `tail` is the rounding error of an
        exact table."""
        from workbench.core.chain import Chain

        return Chain(self, pi, tail)


def dynamics(P: POMDP, field: Field) -> Dynamics:
    """The dynamics of P over a field. Those over floats are kept with P, since every policy needs
    them."""
    if field is not FLOATS:
        return Dynamics(P, field)
    kept: Dynamics | None = P.__dict__.get("_float_dynamics")
    if kept is None:
        kept = P.__dict__["_float_dynamics"] = Dynamics(P, FLOATS)
    return kept


def field_of(P: POMDP, pi: Policy, exact: bool, *others: Any) -> Field:
    """The field to compute in. It is exact if exactness is asked for or there are symbols, and
    floats otherwise."""
    symbols = P.symbols | pi.prob.symbols
    for x in others:
        symbols |= x.free_symbols if is_symbolic(x) else frozenset()
    if not exact and not symbols:
        return FLOATS
    P.require_exact()
    if not pi.is_exact:
        raise NotExact(
            "exact arithmetic needs an exact policy, but this one was given as floats: use "
            "Fractions"
        )
    return exact_field(symbols)


def check_range(P: POMDP) -> None:
    """Refuse a model whose numbers are too large or too small for floats, by its label."""
    instead = "use exact=True" if P.is_exact else "change the unit"
    nA = len(P.A)
    if (large := P.p.r.where(lambda x: abs(x) > _LARGEST)).any():
        s, a = divmod(int(own_rows(P.p.row_ptr)[large.argmax()]), nA)
        where = f"s={P.S.text(P.S[s])}, a={P.A.text(P.A[a])}"
        raise NotSolved(
            f"{P.name}: a reward of p(. | {where}) is larger than {_LARGEST:.0e}, too large for "
            f"floats: {instead}, or scale_rewards"
        )
    starts = np.arange(len(P.S) + 1)
    for prob, row_ptr, what, rows in (
        (P.p.prob, P.p.row_ptr, "p", nA),
        (P.omega.prob, P.omega.row_ptr, "omega", 1),
        (P.mu.prob, starts, "mu", 1),
    ):
        if (faint := prob.where(_is_faint)).any():
            s = int(own_rows(row_ptr)[faint.argmax()]) // rows
            raise NotSolved(
                f"{P.name}: a probability of {what} at s={P.S.text(P.S[s])} is smaller than "
                f"{_SMALLEST:.0e}, too small for floats: {instead}, or leave it out"
            )


def check_policy_range(pi: Policy) -> None:
    """Refuse an exact policy whose probabilities are too small for floats, by its label."""
    if (faint := pi.prob.where(_is_faint).any(axis=1)).any():
        raise NotSolved(
            f"a probability of pi(. | o={pi.O.text(pi.O[faint.argmax()])}) is smaller than "
            f"{_SMALLEST:.0e}, too small for floats: use exact=True"
        )


def _is_faint(x: Any) -> Any:
    return (abs(x) < _SMALLEST) & (x != 0)
