"""Visits by groups of states: against fractions, on chains that stay in some sets for very long."""

from fractions import Fraction as F

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from workbench.core import aggregation
from workbench.core.aggregation import Aggregation
from workbench.core.aggregation_kernels import (
    join_flows,
    join_states,
    missing_flow,
    split_rows,
    sweep_to_and_fro,
    sweep_upwards,
)
from workbench.core.krylov_kernels import scale_rows
from workbench.core.reversal import Backwards
from workbench.core.reversal_kernels import turn_rows
from workbench.core.rows import without_signs
from workbench.core.walk_kernels import reverse_edges


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


def in_groups(P, leave, b, d):
    """Groups for visits d, and the right-hand side of the system that is scaled by d."""
    moving = leave + P.sum(axis=1)
    T = sp.csr_array(P.T / moving[:, None])
    rows = without_signs(T.indptr, T.indices)
    scaled, right = np.empty_like(T.data), np.zeros(len(b))
    scale_rows(*rows, T.data, b / moving, d, scaled, right)
    return Aggregation(*rows, T.data, scaled, moving, leave, d), right


def backwards(P, leave):
    rows = sp.csr_array(P)
    return Backwards(rows.indptr, rows.indices, rows.data, 1.0, leave)


@pytest.mark.parametrize("escape", [1e-2, 1e-5, 1e-9, 1e-12])
@pytest.mark.parametrize(("traps", "size"), [(5, 4), (12, 3)])
@pytest.mark.parametrize("seed", range(3))
def test_visits_have_small_relative_errors_however_long_an_episode_stays(
    monkeypatch, seed, traps, size, escape
):
    monkeypatch.setattr(aggregation, "_COARSEST", 8)
    P, leave = chain_of_traps(seed, traps, size, escape)
    b = np.zeros(len(P))
    b[0] = 1.0
    d, method = backwards(P, leave).visits(b)
    assert method == "aggregation" or escape > 1e-9
    exact = visits_in_fractions(P, leave, b)
    for found, x in zip(d.tolist(), exact, strict=True):
        assert abs(F(found) - x) <= F(1, 10**12) * x
    assert max(exact) > 0.1 / escape or escape == 1e-2


@pytest.mark.parametrize("escape", [1e-2, 1e-9])
@pytest.mark.parametrize("seed", range(4))
def test_groups_alone_settle_visits_whatever_they_start_from(monkeypatch, seed, escape):
    """By sums, products and quotients, some of what is missing at a time."""
    monkeypatch.setattr(aggregation, "_COARSEST", 8)
    P, leave = chain_of_traps(seed, 5, 4, escape)
    b, d = np.zeros(len(P)), np.ones(len(P))
    b[0] = 1.0
    for _ in range(120):
        groups, right = in_groups(P, leave, b, d)
        assert len(groups.levels) > 1
        x = groups.settle(right)
        assert (x > 0).all()
        d *= x
    exact = visits_in_fractions(P, leave, b)
    for found, y in zip(d.tolist(), exact, strict=True):
        assert abs(F(found) - y) <= F(1, 10**12) * y


@given(st.integers(0, 10**6))
def test_a_state_is_in_the_group_of_one_that_it_mostly_comes_from_or_goes_to(seed):
    P, _ = chain_of_traps(seed, 4, 5, 0.01)
    T = sp.csr_array(P.T)
    group = np.empty(len(P), dtype=np.int32)
    count = join_states(*without_signs(T.indptr, T.indices), T.data, group)
    sizes = np.bincount(group, minlength=count)
    assert len(sizes) == count
    assert sizes.min() >= 1
    mostly = P.argmax(axis=0)
    for s in range(len(P)):
        beside = group[s] == group[mostly[s]]
        assert beside or (group[mostly == s] == group[s]).any() or sizes[group[s]] == 1


@given(st.integers(0, 10**6), st.integers(1, 9))
def test_flows_between_groups_are_sums_of_flows_between_their_states(seed, count):
    P, _ = chain_of_traps(seed, 4, 5, 0.01)
    T = sp.csr_array(P.T)
    group = np.random.default_rng(seed).integers(count, size=len(P)).astype(np.int32)
    members = reverse_edges(np.arange(len(P) + 1), group)
    rows = without_signs(T.indptr, T.indices)
    indptr, indices, flow = join_flows(*rows, T.data, group, count, *members)
    found = sp.csr_array((flow, indices, indptr), shape=(count, count)).toarray()
    member = np.eye(count)[group]
    expected = member.T @ P.T @ member
    np.fill_diagonal(expected, 0)
    assert np.allclose(found, expected, rtol=1e-14, atol=0)
    assert len(indices) == (expected > 0).sum()
    for g in range(count):
        later = indices[indptr[g] : indptr[g + 1]] > g
        assert (np.diff(later.astype(int)) >= 0).all()  # from earlier groups first


@given(st.integers(0, 10**6))
def test_what_later_states_contribute_need_not_be_added_up_twice(seed):
    """Sweeps that keep it, and what they miss, against those that do not."""
    P, _ = chain_of_traps(seed, 3, 4, 0.1)
    n, rng = len(P), np.random.default_rng(seed)
    T = sp.csr_array(P.T)
    indptr, indices = without_signs(T.indptr, T.indices)
    rows = indptr, split_rows(indptr, indices), indices, T.data
    r, x, later = rng.random(n), np.empty(n), np.zeros(n)
    sweep_upwards(*rows, r, later, x)
    plain = np.zeros(n)
    for i in range(n):
        plain[i] = r[i] + P[:, i] @ plain
    assert x == pytest.approx(plain, rel=1e-13)
    group, weight, missed = np.arange(n) % 5, rng.random(n), np.empty(5)
    for _ in range(2):
        missing_flow(*rows, later, x, weight, group, missed)
        left = weight * (r - plain + P.T @ plain)
        assert missed == pytest.approx(np.bincount(group, left), rel=1e-9, abs=1e-13)
        x, plain = 2 * x, 2 * plain
        sweep_to_and_fro(*rows, r, later, x)
        for i in [*reversed(range(n)), *range(n)]:
            plain[i] = r[i] + P[:, i] @ plain
        assert x == pytest.approx(plain, rel=1e-13)


def test_at_the_solution_a_cycle_changes_nothing():
    P, leave = chain_of_traps(7, 80, 5, 1e-3)
    b = np.full(len(P), 1 / len(P))
    d, _ = backwards(P, leave).visits(b)
    groups, right = in_groups(P, leave, b, d)
    assert len(groups.levels) > 1
    assert np.abs(groups.settle(right) - 1).max() < 1e-12
    assert groups.improve(right, np.ones(len(P)), 0.0, 3) < 1e-12
    far, right = in_groups(P, leave, b, np.ones(len(P)))
    x = np.ones(len(P))
    assert far.improve(right, x, 0.0, 8) > 1e-6  # it can tell
    assert np.abs(x - 1).max() > 1e-3


@given(st.integers(0, 10**6))
def test_rows_are_turned_round_without_diagonal_zeros_or_doubles(seed):
    rng = np.random.default_rng(seed)
    n, each = 6, 5
    indptr = np.arange(n + 1) * each
    indices = rng.integers(n, size=n * each).astype(np.int32)
    data = rng.integers(0, 4, n * each) / 16
    moving = rng.random(n) + 0.5
    by_row = np.argsort(indices.reshape(n, each), axis=1, kind="stable")
    indices = np.take_along_axis(indices.reshape(n, each), by_row, axis=1).ravel()
    turned = turn_rows(indptr, indices, data, 0.5, moving)
    P = np.zeros((n, n))
    np.add.at(P, (np.repeat(np.arange(n), each), indices), data)
    np.fill_diagonal(P, 0)
    found = sp.csr_array((turned[2], turned[1], turned[0]), shape=(n, n))
    assert np.allclose(found.toarray(), 0.5 * P.T / moving[:, None], rtol=1e-14, atol=0)
    assert found.nnz == (P > 0).sum()
