"""The fields that evaluation runs over, and a POMDP's numbers as arrays over one of them.

Every algorithm of the workbench is written once, on numpy arrays: float64, or object arrays whose
elements belong to one of the exact fields. Which one is chosen at the edge:

    FLOATS                 float64; linear systems with bounds on errors (`linear`)
    RATIONALS              flint rationals; linear systems block by block
    RationalFunctions(..)  quotients of flint polynomials in the symbols of the model and the policy

A field turns `Numbers` into an array (`enter`), turns results back into Fractions or sympy
expressions (`leave`) and solves x = b + gamma P x (`solve_system`). Numbers that floats have no
room for are refused by their label.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import flint
import numpy as np
import scipy.sparse as sp
import sympy
from numpy.typing import NDArray

from workbench.core.double_kernels import UNIT, action_values
from workbench.core.errors import NotExact, NotSolved
from workbench.core.kernels import read_only
from workbench.core.linear import LinearSystem, Solution
from workbench.core.numbers import Number, Numbers, is_symbolic, number, to_float
from workbench.core.policy import Policy
from workbench.core.pomdp import POMDP
from workbench.core.rows import add_groups, add_rows, own_rows

if TYPE_CHECKING:
    from workbench.core.chain import Chain


class Bounded(float):
    """A float and a bound on its error. A bound of infinity makes it NaN."""

    error: float

    def __new__(cls, x: float, error: float) -> Bounded:
        found = super().__new__(cls, x if error < math.inf else math.nan)
        found.error = float(error)
        return found


class Field:
    """What the algorithms need to know of the numbers they run on.

    Exact fields implement `one` and `back`.
    """

    is_exact = True
    nothing: Any = None
    """The sign for undefined."""

    def one(self, x: Number) -> Any:
        """A single number as an element."""
        raise NotImplementedError

    def back(self, x: Any) -> Number:
        """An element as a float, a Fraction or a sympy expression."""
        raise NotImplementedError

    def enter(self, numbers: Numbers) -> NDArray[Any]:
        """An array of numbers as an array of elements."""
        assert numbers.codes is not None
        return array_of([self.one(x) for x in numbers.values])[numbers.codes]

    def enter_side(self, numbers: Numbers) -> NDArray[Any]:
        """Numbers as the right side of a system: floats have three rows, as `linear` asks."""
        return self.enter(numbers)

    def leave(self, array: NDArray[Any]) -> NDArray[Any]:
        """An array of elements as an array of Fractions or expressions. None stays None."""
        flat = [None if x is None else self.back(x) for x in array.ravel()]
        return array_of(flat).reshape(array.shape)

    def zeros(self, shape: int | tuple[int, ...]) -> NDArray[Any]:
        return np.full(shape, self.one(0), dtype=object if self.is_exact else float)

    def undefined(self, shape: int | tuple[int, ...]) -> NDArray[Any]:
        """An array of the sign for undefined: None, or NaN among floats."""
        return np.full(shape, self.nothing)

    def sums(self, keys: NDArray[Any], values: NDArray[Any], n: int) -> NDArray[Any]:
        """For each of n keys the sum of the values that have it."""
        return add_groups(keys, values, self.zeros((n, *values.shape[1:])))

    def solve_system(
        self, system: LinearSystem, b: NDArray[Any], what: str, transposed: bool = False
    ) -> Solution:
        """x with x = b + gamma P x, or with P^T."""
        places = np.arange(len(system.P))
        shape = (system.n, system.n)
        pattern = sp.csr_array((places, system.indices, system.indptr), shape=shape)
        if transposed:
            pattern = sp.csr_array(pattern.T)
        return self.solve(pattern, system.P[pattern.data], system.gamma, b, what)

    def solve(
        self, P: sp.csr_array, data: NDArray[Any], gamma: Any, b: NDArray[Any], what: str
    ) -> Solution:
        """x with x = b + gamma P x, where `data` holds the entries of the pattern `P`."""
        from workbench.core.exact import solve_blocks

        return solve_blocks(self, P, data, gamma, b, what)


def array_of(items: list[Any]) -> NDArray[np.object_]:
    """An array of exact numbers."""
    found = np.empty(len(items), dtype=object)
    found[:] = items
    return found


class _Floats(Field):
    is_exact = False
    nothing = math.nan

    def one(self, x: Number) -> Any:
        return to_float(x)

    def back(self, x: Any) -> Number:
        return float(x)

    def enter(self, numbers: Numbers) -> NDArray[Any]:
        return numbers.floats

    def enter_side(self, numbers: Numbers) -> NDArray[Any]:
        tails = np.broadcast_to(numbers.tails, numbers.shape)
        return np.stack([numbers.floats, tails, np.abs(numbers.floats)])

    def leave(self, array: NDArray[Any]) -> NDArray[Any]:
        return array

    def sums(self, keys: NDArray[Any], values: NDArray[Any], n: int) -> NDArray[Any]:
        return np.bincount(keys, values, minlength=n)

    def solve_system(
        self, system: LinearSystem, b: NDArray[Any], what: str, transposed: bool = False
    ) -> Solution:
        return system.solve(b, transposed)


class _Rationals(Field):
    def one(self, x: Number) -> Any:
        q = number(x)
        return flint.fmpq(q.numerator, q.denominator)

    def back(self, x: Any) -> Number:
        return Fraction(int(x.p), int(x.q))


FLOATS = _Floats()
RATIONALS = _Rationals()


def exact_field(symbols: Iterable[sympy.Symbol]) -> Field:
    """The smallest exact field that holds the rationals and these symbols."""
    symbols = tuple(symbols)
    if not symbols:
        return RATIONALS
    from workbench.core.exact import RationalFunctions

    return RationalFunctions(symbols)


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
        self.entry_s = P.omega.s
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
    p, nA = P.p, len(P.A)
    large, least = (
        f"larger than {_LARGEST:.0e}, too large",
        f"smaller than {_SMALLEST:.0e}, too small",
    )
    for refused, states, what, size, advice in (
        (p.r.where(lambda x: abs(x) > _LARGEST), p, "reward of p", large, "scale_rewards"),
        (p.prob.where(_is_faint), p, "probability of p", least, "leave it out"),
        (P.omega.prob.where(_is_faint), P.omega, "probability of omega", least, "leave it out"),
        (P.mu.prob.where(_is_faint), None, "probability of mu", least, "leave it out"),
    ):
        if refused.any():
            place = int(refused.argmax())
            row = place if states is None else int(own_rows(states.row_ptr)[place])
            s = P.S.text(P.S[row // nA if states is p else row])
            raise NotSolved(
                f"{P.name}: a {what} at s={s} is {size} for floats: {instead}, or {advice}"
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
