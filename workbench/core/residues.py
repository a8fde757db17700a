"""Arithmetic modulo a large prime: whether a rational number is zero, without its digits.

A rational function of the model's numbers, evaluated modulo a prime p, is the residue of its value
wherever p divides no denominator. A number that is zero has the residue zero. One that is not zero
has it only if p divides its numerator, of whose bits a prime of 62 bits takes 62: among the 10^17
primes of that length at most a handful do. Two primes drawn at random make an error less likely
than one in 10^25 even for numerators of a million bits.
"""

from __future__ import annotations

import random
from typing import Any

import flint
import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as sla
from numpy.typing import NDArray

from workbench.core.fields import Field
from workbench.core.linear import Solution
from workbench.core.modular_kernels import solve_modulo
from workbench.core.numbers import Number, number
from workbench.core.walk_kernels import strong_components

_BITS = 62

MOST_IN_A_COMPONENT = 20_000
"""Larger systems are refused: new entries of elimination take up too much."""

_SHORT = 60
"""Components of fewer states are eliminated in the order in which they are."""


class Residues(Field):
    """The integers modulo a prime below 2^63."""

    name = "residues"
    is_exact = True

    def __init__(self, prime: int):
        self.prime = prime

    @classmethod
    def drawn(cls, rng: random.Random) -> Residues:
        """Modulo a prime of 62 bits drawn at random."""
        while True:
            candidate = rng.getrandbits(_BITS) | 1 << (_BITS - 1) | 1
            if flint.fmpz(candidate).is_prime():
                return cls(candidate)

    def one(self, x: Number) -> Any:
        q = number(x)
        return flint.nmod(q.numerator, self.prime) / flint.nmod(q.denominator, self.prime)

    def back(self, x: Any) -> Number:
        return int(x)

    def solve(
        self,
        P: sp.csr_array,
        data: NDArray[Any],
        gamma: Any,
        b: NDArray[Any],
        what: str,
        norm: float = np.inf,
    ) -> Solution:
        _, component = strong_components(P.indptr, P.indices)
        self._require_small(component, MOST_IN_A_COMPONENT, what)
        order = elimination_order(P.indptr, P.indices, component)
        p = self.prime
        told, found = solve_modulo(
            P.indptr, P.indices, _words(gamma * data), _words(b), order, component,
            np.uint64(p), np.uint64(-pow(p, -1, 2**64) % 2**64), np.uint64(2**128 % p),
        )  # fmt: skip
        if not told:
            raise ZeroDivisionError(f"{what}: {p} divides a minor")
        x = np.empty(len(found), dtype=object)
        x[:] = [flint.nmod(y, p) for y in found.tolist()]
        return Solution(x, "residues", np.zeros(len(x)))


def _words(residues: NDArray[Any]) -> NDArray[np.uint64]:
    return np.array([int(x) for x in residues], dtype=np.uint64)


def elimination_order(
    indptr: NDArray[Any], indices: NDArray[Any], component: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The states by component, and within each so that elimination makes few new entries (minimum
    degree, as sparse LU in floats finds it)."""
    n = len(component)
    if np.bincount(component, minlength=1).max() < _SHORT:
        return np.argsort(component, kind="stable")
    inside = component[indices] == np.repeat(component, np.diff(indptr))
    # only the places count: any numbers do for which the diagonal is large enough to be a pivot
    weights = np.where(inside, -1.0, 0.0)
    matrix = sp.csc_array(sp.csr_array((weights, indices, indptr), shape=(n, n)))
    matrix = matrix + (1.0 + n) * sp.eye_array(n, format="csc")
    factors = sla.splu(
        matrix, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True}
    )
    rank = np.asarray(factors.perm_c)
    return np.lexsort((rank, component))
