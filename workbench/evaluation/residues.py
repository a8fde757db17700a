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

from workbench.evaluation.fields import Field
from workbench.model.numbers import Number, number

_BITS = 62


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

    def _dense_solve(self, matrix: list[list[Any]], right: list[Any]) -> list[Any]:
        n = len(right)
        if n == 1:
            return [right[0] / matrix[0][0]]
        entries = [int(x) for row in matrix for x in row]
        sides = [int(x) for x in right]
        found = flint.nmod_mat(n, n, entries, self.prime).solve(
            flint.nmod_mat(n, 1, sides, self.prime)
        )
        return [found[i, 0] for i in range(n)]
