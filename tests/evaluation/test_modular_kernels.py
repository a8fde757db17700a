"""Elimination modulo a prime against rationals."""

import random
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.core import residues
from workbench.core.errors import TooLarge
from workbench.core.fields import RATIONALS
from workbench.core.residues import Residues, elimination_order
from workbench.core.walk_kernels import strong_components


def random_system(seed: int, n: int) -> tuple[sp.csr_array, list[Fraction], list[Fraction]]:
    """A sparse chain of a few components, in fractions, and a right side."""
    rng = np.random.default_rng(seed)
    states = np.arange(n)
    rows = np.repeat(states, 3)
    towards = rng.integers(0, n, (n, 2))
    towards = np.where(rng.random((n, 2)) < 0.8, (states[:, None] + towards % 5 - 2) % n, towards)
    # some states lead to later ones alone, so that not all are in one component
    gate = rng.random(n) < 0.1
    towards[gate] = np.maximum(towards[gate], states[gate, None])
    columns = np.column_stack([towards, (states + 1) % n])
    columns[n // 3 - 1], columns[n - 1] = n // 3 - 1, n // 3
    weights = rng.integers(1, 9, (n, 3))
    matrix = sp.coo_array((np.ones(3 * n), (rows, columns.ravel())), shape=(n, n)).tocsr()
    matrix.sum_duplicates()
    entries: dict[tuple[int, int], Fraction] = {}
    for i, j, w in zip(rows, columns.ravel(), weights.ravel(), strict=True):
        share = Fraction(int(w), int(weights[i].sum()))
        entries[int(i), int(j)] = entries.get((int(i), int(j)), Fraction(0)) + share
    places = zip(np.repeat(states, np.diff(matrix.indptr)), matrix.indices, strict=True)
    data = [entries[int(i), int(j)] for i, j in places]
    return matrix, data, [Fraction(int(x), 7) for x in rng.integers(-9, 10, n)]


def over(field, numbers):
    found = np.empty(len(numbers), dtype=object)
    found[:] = [field.one(x) for x in numbers]
    return found


@settings(max_examples=15)
@given(st.integers(0, 10**6), st.sampled_from([1, 3, 20, 90, 130]))
def test_a_solution_modulo_a_prime_is_the_residue_of_the_solution(seed, n):
    P, data, b = random_system(seed, n)
    gamma, field = Fraction(9, 10), Residues.drawn(random.Random(seed))
    exact, modular = (
        f.solve(P, over(f, data), f.one(gamma), over(f, b), "it").x for f in (RATIONALS, field)
    )
    assert modular.tolist() == [field.one(RATIONALS.back(x)) for x in exact]


def test_states_are_eliminated_by_component_and_so_that_rows_stay_short():
    """A wheel: where its hub comes first, every state on its rim meets every other."""
    n = 100
    rim = np.arange(1, n)
    rows = np.concatenate([np.zeros(n - 1, dtype=int), rim])
    P = sp.csr_array((np.ones(2 * n - 2), (rows, np.concatenate([rim, 0 * rim]))), shape=(n, n))
    _, component = strong_components(P.indptr, P.indices)
    assert elimination_order(P.indptr, P.indices, component).tolist().index(0) >= n - 2
    P, _, _ = random_system(3, 200)
    _, component = strong_components(P.indptr, P.indices)
    order = elimination_order(P.indptr, P.indices, component)
    assert sorted(order) == list(range(200))
    assert (np.diff(component[order]) >= 0).all()
    assert component.max() > 0


def test_a_component_that_is_too_large_is_refused(monkeypatch):
    P, data, b = random_system(1, 90)
    field = Residues.drawn(random.Random(1))
    monkeypatch.setattr(residues, "MOST_IN_A_COMPONENT", 5)
    with pytest.raises(TooLarge, match="the chain has 90 states"):
        field.solve(P, over(field, data), field.one(1), over(field, b), "the chain")


def test_a_prime_that_divides_a_pivot_is_named():
    field = Residues(101)
    P = sp.csr_array(np.array([[1.0]]))
    with pytest.raises(ZeroDivisionError, match="101 divides"):
        field.solve(P, over(field, [Fraction(1)]), field.one(1), over(field, [Fraction(1)]), "it")
