"""Values and visits of a chain in floats, with bounds on their errors that hold.

    v = r + gamma P v           |v - computed|        <= error[s]
    d = mu + gamma P^T d        |d - computed| / d    <= error[s]        relative: P(s|o) is a ratio

A solution is judged by its residual, which is computed in pairs of floats (`pair_kernels`) from the
numbers of the model as they were written, so that the rounding of fractions to floats is part of
it. Where the model or the policy was written in floats, the bounds hold for all whose numbers round
to these. I - gamma P is an M-matrix: its inverse has no negative entry. Hence a vector h with

    h - gamma P h >= |residual|    implies    |error| <= h,

and it does not matter how h was found, since the inequality is checked, in pairs again. For small
chains h is the solution for |residual| itself. For large ones it is a multiple of the expected
number of steps left, of 1 / (1 - gamma), or (for visits, `reversal`) of the expected age.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from workbench.core import pair_kernels as pairs
from workbench.core import solve as linear
from workbench.core.elimination_kernels import eliminate, substitute, substitute_transposed
from workbench.core.errors import NotSolved
from workbench.core.reversal import Backwards
from workbench.core.solve import Solution

MOST_ELIMINATED = 200
"""Chains of up to so many states are solved by elimination without subtractions."""

_LAST_RESORT = 2_000
"""So are the visits of chains of up to so many, where nothing else gives them any accuracy."""

_ROUNDS = 4
"""Corrections of a solution by its own residual, at most."""

_AGE_AIMS = (0.5, 0.9, 0.99)
"""How much of what is asked of ages they have in floats, until they have some of it in pairs."""

_LEAST_ASKED = (0.0, 2.0**-46)
"""Where h is large beside what a state asks of it, its own rounding is more than that: then so
large a share of h is asked instead."""

_UNDERFLOW = 1e-280
_SMALLEST = 1e-250
"""Visits below this are too few for floats: parts of their products underflow."""

Floats = NDArray[np.float64]
Residual = Callable[[Floats, Floats], tuple[Floats, Floats]]
Solver = Callable[[Floats], Floats]


class PairChain:
    """A substochastic matrix in pairs of floats, compressed rows, and a discount.

    Attributes
    ----------
    indptr, indices : the rows.
    P : `P[0]` and `P[1]`, both parts of the entries.
    gamma : both parts of the discount.
    leave : 1 - gamma times the sum of each row.
    excess : by how much a sum of a row may exceed one, where numbers were given as floats.
    given : by which share an entry may be off, where numbers were given as floats.
    """

    def __init__(
        self,
        indptr: NDArray[Any],
        indices: NDArray[Any],
        P: Floats,
        gamma: Floats,
        leave: Floats,
        excess: float,
        given: float,
    ):
        self.indptr, self.indices, self.P, self.gamma = indptr, indices, P, gamma
        self.leave, self.excess, self.given = leave, excess, given
        self.n = len(indptr) - 1

    @property
    def matrix(self) -> sp.csr_array:
        return sp.csr_array((self.P[0], self.indices, self.indptr), shape=(self.n, self.n))

    def forward(self, b: Floats, x: Floats) -> tuple[Floats, Floats]:
        """b + gamma P x - x, and a bound on its rounding."""
        found, bound = np.empty(self.n), np.empty(self.n)
        pairs.residual_forward(
            self.indptr, self.indices, self.P, self.gamma, b, x, self.given, found, bound
        )
        return found, bound

    def backward(self, b: Floats, x: Floats) -> tuple[Floats, Floats]:
        """b + gamma P^T x - x, and a bound on its rounding."""
        found, bound = np.empty(self.n), np.empty(self.n)
        pairs.residual_backward(
            self.indptr, self.indices, self.P, self.gamma, b, x, self.given, found, bound
        )
        return found, bound

    def solvers(self) -> tuple[Solver, Solver]:
        """Functions that solve x = b + gamma P x and x = b + gamma P^T x, to some accuracy."""
        if self.n <= MOST_ELIMINATED:
            F = self.factors()
            return (lambda y: substitute(F, y)), (lambda y: substitute_transposed(F, y))
        system = sp.eye_array(self.n) - float(self.gamma[0]) * self.matrix
        lu = linear.factorize(system)
        return lu.solve, (lambda y: lu.solve(y, "T"))

    def factors(self) -> Floats:
        found: Floats = eliminate(self.indptr, self.indices, self.P[0], self.gamma[0], self.leave)
        return found


def bounded_values(chain: PairChain, b: Floats) -> Solution:
    """x = b + gamma P x with `error`, a bound for each state; `b` has both parts of each number and
    its size."""
    if chain.n <= MOST_ELIMINATED:
        F = chain.factors()
        return _small(chain.forward, lambda y: substitute(F, y), b, "elimination")
    found = linear.solve(chain.matrix, chain.gamma[0], b[0])
    x, residual, bound = _refined(chain.forward, found.again, b, found.x)
    size = float(np.max(np.abs(residual) + bound, initial=0.0))
    error = np.abs(x[1]) + size * _steps_left(chain, found.again)
    return Solution(x[0], found.method, size, error)


def bounded_visits(chain: PairChain, start: Floats, visited: NDArray[np.bool_]) -> Solution:
    """d = start + gamma P^T d with `error`, a bound on |d - computed| / d for each state;
    `start` has both parts of each number and its size.

    States whose visits are too few for floats have an error of infinity.
    """
    if chain.n <= MOST_ELIMINATED:
        return _eliminated_visits(chain, start, visited)
    gamma = float(chain.gamma[0])
    back = Backwards(chain.indptr, chain.indices, chain.P[0], gamma, chain.leave)
    d, method = back.visits(start[0])
    error = _shares_in_doubt(chain, back, start, visited, d)
    if chain.n <= _LAST_RESORT and np.isinf(error[visited]).all():
        return _eliminated_visits(chain, start, visited)
    return Solution(d, method, 0.0, error)


def _eliminated_visits(chain: PairChain, start: Floats, visited: NDArray[np.bool_]) -> Solution:
    F = chain.factors()
    found = _small(chain.backward, lambda y: substitute_transposed(F, y), start, "elimination")
    return _relative(found, visited)


def _shares_in_doubt(
    chain: PairChain, back: Backwards, start: Floats, visited: NDArray[np.bool_], d: Floats
) -> Floats:
    """A bound on |visits - d| / visits for each state that is visited; infinite if none was found.

    States with too few visits for floats are given a few, and all of them are in doubt.
    """
    x = np.zeros((2, chain.n))
    x[0] = np.where(visited, np.maximum(d, _SMALLEST), 0.0)
    residual, bound = chain.backward(start, x)
    share = (np.abs(residual) + bound)[visited] / x[0, visited]
    few = d[visited] < _SMALLEST
    usual = max(float(np.max(share, where=~few, initial=0.0)), 1e-15)
    needed = np.zeros(chain.n)
    needed[visited] = np.where(few, np.maximum(share, usual), usual)
    g = None
    for aim in _AGE_AIMS:
        g = back.ages(x[0], needed, aim, g)
        h = np.zeros_like(x)
        h[0] = x[0] * g
        if not np.isfinite(h[0]).all():
            break
        negative, rounding = chain.backward(np.zeros((3, chain.n)), h)
        slack = (-negative - rounding)[visited] / (x[0] * needed)[visited]
        if (enough := float(np.min(slack, initial=1.0))) > 0.1:
            share = g * ((1 + 1e-12) / enough)
            found: Floats = np.where(share < 0.5, share / np.maximum(1 - share, 0.5), np.inf)
            return np.where(visited, found, 0.0)
    return np.where(visited, np.inf, 0.0)


def _small(residual_of: Residual, solver: Solver, b: Floats, method: str) -> Solution:
    """A solution by factors, corrected by its residual, with a bound for each entry."""
    x, error, size = enclose_solution(residual_of, solver, b)
    return Solution(x[0], method, size, np.abs(x[1]) + error)


def enclose_solution(
    residual_of: Residual, solver: Solver, b: Floats
) -> tuple[Floats, Floats, float]:
    """A solution in pairs, a bound on the error of each entry, infinite if none was found, and the
    largest residual; `solver` need only be a little right."""
    x, residual, bound = _refined(residual_of, solver, b, solver(b[0].copy()))
    # twice what is needed, and more than what underflows: the check below then has room for its own
    # rounding
    needed = 2 * (np.abs(residual) + bound) + _UNDERFLOW
    h, error = np.zeros_like(x), np.full(len(needed), np.inf)
    for least in _LEAST_ASKED:
        needed = np.maximum(needed, least * h[0])
        h[0] = solver(needed)
        if not np.isfinite(h[0]).all():
            break
        negative, rounding = residual_of(np.zeros((3, len(needed))), h)
        enough = float(np.min((-negative - rounding) / needed, initial=1.0))
        if enough > 0.25:
            error = h[0] * (0.5 / enough)
            break
    return x, error, float(np.max(np.abs(residual), initial=0.0))


def _relative(found: Solution, visited: NDArray[np.bool_]) -> Solution:
    share = np.full(len(found.x), np.inf)
    np.divide(found.error, found.x, out=share, where=found.x > found.error)
    # |d - x| <= e x means |d - x| / d <= e / (1 - e)
    share = np.where(share < 0.5, share / np.maximum(1 - share, 0.5), np.inf)
    share[(found.x == 0) & ~visited] = 0.0
    return Solution(found.x, found.method, found.residual, share)


def _refined(
    residual_of: Residual, solver: Solver | None, b: Floats, first: Floats
) -> tuple[Floats, Floats, Floats]:
    """A solution in pairs, corrected by its residual as long as that halves it; its residual."""
    x = np.zeros((2, len(first)))
    x[0] = first
    residual, bound = residual_of(b, x)
    size = float(np.max(np.abs(residual), initial=0.0))
    for _ in range(_ROUNDS):
        if solver is None or not size > float(np.max(bound, initial=0.0)):
            break
        trial = x.copy()
        pairs.add_correction(trial, solver(residual))
        after, its_bound = residual_of(b, trial)
        left = float(np.max(np.abs(after), initial=0.0))
        if not left < size / 2:
            break
        x, residual, bound, size = trial, after, its_bound, left
    return x, residual, bound


def _steps_left(chain: PairChain, solver: Solver | None) -> Any:
    """h with h - gamma P h >= 1 everywhere; infinite if none was found."""
    most = float(chain.gamma[0]) * (1 + chain.excess)
    if most < 1:
        return 1 / (1 - most) * (1 + 1e-12)
    ones = np.ones(chain.n)
    try:
        g = (
            solver(ones)
            if solver is not None
            else linear.solve(chain.matrix, float(chain.gamma[0]), ones, tolerance=1e-3).x
        )
    except NotSolved:
        return np.inf
    h = np.zeros((2, chain.n))
    h[0] = g
    negative, rounding = chain.forward(np.zeros((3, chain.n)), h)
    slack = float(np.min(-negative - rounding))
    return g * ((1 + 1e-12) / slack) if slack > 0 else np.inf
