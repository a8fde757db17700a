"""Visits by groups of states: against fractions, on chains that stay in some sets for very long."""

from fractions import Fraction as F

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from workbench.evaluation import aggregation
from workbench.evaluation.aggregation import Aggregation
from workbench.evaluation.aggregation_kernels import join_states


def chain_of_traps(seed, traps, size, escape):
    """P[s, s'] and the probability of ending: rings of states that are left with probability
    `escape` from some of their states, to the next ring from the first; the last state ends."""
    rng = np.random.default_rng(seed)
    n = traps * size
    P = np.zeros((n, n))
    for s in range(n):
        first = s // size * size
        for x, share in zip(
            (s + 1 - first, rng.integers(size)), rng.dirichlet([3, 1]), strict=True
        ):
            P[s, first + x % size] += share
        if s == first or rng.random() < 0.5:
            P[s] *= 1 - escape
            P[s, (s + size) % n if s == first else rng.integers(n)] += escape
    leave = np.zeros(n)
    P[-1], leave[-1] = 0.5 * P[-1], 0.5
    np.fill_diagonal(P, 0)
    return P, leave


def visits_in_fractions(P, leave, b):
    """d = b + P^T d with the numbers as they are and c = leave + sums of rows, by elimination."""
    n = len(b)
    A = [[-F(P[t, s]) for t in range(n)] + [F(b[s])] for s in range(n)]
    for s in range(n):
        A[s][s] += F(leave[s]) + sum(map(F, P[s]))
    for k in range(n):
        for i in range(n):
            if i != k and A[i][k]:
                x = A[i][k] / A[k][k]
                A[i] = [y - x * z for y, z in zip(A[i], A[k], strict=True)]
    return [A[s][n] / A[s][s] for s in range(n)]


def solve_by_groups(P, leave, b, sizes, cycles=60):
    T = sp.csr_array(P.T)
    d = np.where(np.linalg.matrix_power(np.eye(len(b)) + (P > 0), len(b))[b > 0].any(axis=0), 1, 0)
    d = d.astype(float)
    changes = []
    groups = [Aggregation(T.indptr, T.indices, T.data, leave, d, most) for most in sizes]
    for i in range(cycles):
        changes.append(groups[i % len(sizes)].improve(b, d))
    return d, changes, groups


@pytest.mark.parametrize("escape", [1e-2, 1e-9])
@pytest.mark.parametrize("seed", range(3))
def test_visits_have_small_relative_errors_however_long_an_episode_stays(monkeypatch, seed, escape):
    monkeypatch.setattr(aggregation, "_COARSEST", 4)
    P, leave = chain_of_traps(seed, 5, 4, escape)
    b = np.zeros(len(P))
    b[0] = 1.0
    d, changes, groups = solve_by_groups(P, leave, b, (3, 8))
    assert len(groups[0].levels) > 1
    assert changes[-1] < 1e-14
    exact = visits_in_fractions(P, leave, b)
    for found, x in zip(d.tolist(), exact, strict=True):
        assert abs(F(found) - x) <= F(1, 10**12) * x
    assert max(exact) > 0.1 / escape or escape == 1e-2


@given(st.integers(0, 10**6), st.integers(2, 9))
def test_a_group_has_no_more_states_than_it_may_and_is_joined_by_what_comes_from_it(seed, most):
    P, _ = chain_of_traps(seed, 4, 5, 0.01)
    T = sp.csr_array(P.T)
    group = np.empty(len(P), dtype=np.int64)
    count = join_states(T.indptr, T.indices, T.data, most, group)
    sizes = np.bincount(group, minlength=count)
    assert len(sizes) == count
    assert sizes.min() >= 1
    assert sizes.max() <= most
    for members in (np.flatnonzero(group == i) for i in range(count)):
        inside = P[np.ix_(members, members)]
        assert len(members) == 1 or (inside.sum(axis=0) + inside.sum(axis=1) > 0).all()


def test_at_the_solution_a_cycle_changes_nothing():
    P, leave = chain_of_traps(7, 30, 5, 1e-3)
    b = np.full(len(P), 1 / len(P))
    d, changes, groups = solve_by_groups(P, leave, b, (8,))
    before = d.copy()
    assert len(groups[0].levels) > 1
    groups[0].improve(b, d)
    assert np.abs(d / before - 1).max() < 1e-12
    assert changes[0] > 1e-3
