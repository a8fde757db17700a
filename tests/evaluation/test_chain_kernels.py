"""The kernels of chains, one by one, against their formulas in fractions or in numpy."""

from __future__ import annotations

from fractions import Fraction as F

import numpy as np
import pytest

from workbench.core import double_kernels as double
from workbench.core import linear_kernels as linear

SEEDS = pytest.mark.parametrize("seed", range(8))
LEAST = F(1, 2**102)


def parts(numbers):
    """Numbers as sums of two floats; the second parts are drawn."""
    x = np.asarray(numbers, dtype=float)
    return np.array([x, x * 2.0**-54 * np.cos(1e3 * x)])


def exact(pair, *at):
    """The number that two floats stand for."""
    return F(float(pair[0][at])) + F(float(pair[1][at]))


def chain(rng, n=4):
    """Rows of at most n entries, some of them to the state itself, and what leaves beside them."""
    table = rng.random((n, n)) * (rng.random((n, n)) < 0.7)
    table /= table.sum(axis=1, keepdims=True) + 0.1 + rng.random((n, 1))
    indptr = np.concatenate(([0], np.cumsum((table > 0).sum(axis=1))))
    rows, columns = np.nonzero(table)
    return table, indptr, columns.astype(np.int32), table[rows, columns]


@SEEDS
def test_sums_and_products_of_two_floats_have_twice_the_digits(seed):
    rng = np.random.default_rng(seed)
    a, b = parts(rng.normal(size=2) * 10.0 ** rng.integers(-9, 9, 2)).T
    x, y = F(a[0]) + F(a[1]), F(b[0]) + F(b[1])
    for found, due, size in (
        (double.add(*a, *b), x + y, abs(x) + abs(y)),
        (double.multiply(*a, *b), x * y, abs(x * y)),
    ):
        assert abs(F(found[0]) + F(found[1]) - due) <= LEAST * size
        assert abs(F(found[1])) <= abs(F(found[0])) / 2**52 or due == 0


@SEEDS
@pytest.mark.parametrize("off", [0.0, 1e-16, 1e-3])
def test_residuals_are_those_of_the_formulas_and_so_are_their_bounds(seed, off):
    rng = np.random.default_rng(seed)
    _, indptr, indices, data = chain(rng)
    n = 4
    P, gamma, leave, x = parts(data), parts(0.9), parts(rng.random(n)), parts(rng.normal(size=n))
    if seed % 3 == 0:
        x[:, 1] = 0.0
    b = np.concatenate([parts(rng.normal(size=n)), rng.random((1, n)) + 1])
    given_off = off * rng.random(n)
    g = exact(gamma)
    entries = [(i, int(indices[k]), exact(P, k), F(float(P[0, k])))
               for i in range(n) for k in range(indptr[i], indptr[i + 1])]  # fmt: skip
    tables = indptr, indices, P, gamma, leave
    for backward, kernel in ((False, double.residual_forward), (True, double.residual_backward)):
        found, bound = np.empty(n), np.empty(n)
        kernel(*tables, b, x, given_off, found, bound)
        for i in range(n):
            out = exact(leave, i) * exact(x, i)
            size, flow, whole, doubt, terms = F(0), F(0), F(0), F(0), 0
            if backward:
                for s, t, p, _ in entries:
                    y = p * exact(x, s)
                    if i in (s, t) and s != t:
                        flow += y if t == i else -y
                        doubt += F(given_off[s]) * abs(y)
                        size += abs(y)
                        terms += t == i and x[0, s] != 0
                terms += int(indptr[i + 1] - indptr[i]) * (x[0, i] != 0)
                # what leaves a state is one sum
                shown = F(float(given_off[i])) * (F(float(b[2, i])) + abs(out)) + g * doubt
                rest = LEAST * (terms + 16) * (g * size + F(float(b[2, i])) + abs(out))
            else:
                for s, t, p, p_hi in entries:
                    if s == i and t != i:
                        y = p * (exact(x, t) - exact(x, i))
                        flow += y
                        size += abs(y)
                        whole += p_hi * (abs(F(float(x[0, t]))) + abs(F(float(x[0, i]))))
                size = g * size + F(float(b[2, i])) + abs(out)
                shown = F(float(given_off[i])) * size
                rest = LEAST * (int(indptr[i + 1] - indptr[i]) + 16) * (size + g * whole)
            due = exact(b[:2], i) + g * flow - out
            assert abs(F(float(found[i])) - due) <= abs(due) / 2**52 + LEAST * 100
            assert bound[i] == pytest.approx(float(shown + rest), rel=1e-9)


@SEEDS
def test_what_leaves_a_state_is_the_discount_and_what_is_cut_off(seed):
    rng = np.random.default_rng(seed)
    _, indptr, _, data = chain(rng)
    P, gamma, out = parts(data), parts(0.95), rng.random(4) * (rng.random(4) < 0.7)
    cut = rng.random(len(data)) < 0.4
    for kept in (cut, cut[:0]):
        leave = np.empty((2, 4))
        double.leaving(indptr, P, kept, out, gamma, leave)
        for i in range(4):
            lost = sum(
                (exact(P, k) for k in range(indptr[i], indptr[i + 1]) if len(kept) and cut[k]), F(0)
            )
            due = 1 - exact(gamma) + exact(gamma) * (F(float(out[i])) + lost)
            assert abs(exact(leave, i) - due) <= 8 * LEAST


@SEEDS
@pytest.mark.parametrize("off", [0.0, 1e-16, 1e-3])
def test_a_weighted_sum_has_the_bound_of_its_parts(seed, off):
    rng = np.random.default_rng(seed)
    w, x = parts(rng.random(5) * (rng.random(5) < 0.8)), rng.normal(size=5)
    x_error = off * rng.random(5)
    found, error = double.weighted_sum(w, x, x_error, 3 * off)
    terms = [exact(w, i) * F(x[i]) for i in range(5)]
    assert abs(F(found) - sum(terms)) <= abs(sum(terms)) / 2**52 + LEAST * 10
    carried = sum(F(float(w[0, i])) * F(x_error[i]) for i in range(5))
    size = sum(map(abs, terms))
    due = float(carried + (LEAST * 21 + F(3 * off)) * size)
    assert due * (1 - 1e-9) <= error <= due * (1 + 1e-9) + 2.0**-53 * abs(found) + 1e-289


@SEEDS
def test_a_policy_mixes_rows_and_what_they_pay(seed):
    rng = np.random.default_rng(seed)
    nS, nA, nO = 3, 2, 2
    omega = parts(rng.random(4))
    row_ptr, seen = np.array([0, 1, 3, 4]), np.array([0, 0, 1, 1])
    pi, pi_lo = parts(rng.random((nO, nA)) * (rng.random((nO, nA)) < 0.7))
    acts, acts_lo = np.zeros((2, nS, nA))
    double.mix_rows(row_ptr, seen, omega, pi, pi_lo, acts, acts_lo)
    for s in range(nS):
        for a in range(nA):
            due = sum(
                exact(omega, k) * (F(pi[seen[k], a]) + F(pi_lo[seen[k], a]))
                for k in range(row_ptr[s], row_ptr[s + 1])
            )
            assert abs(F(acts[s, a]) + F(acts_lo[s, a]) - due) <= 8 * LEAST
    p, r = parts(rng.random(nS * nA)), parts(rng.normal(size=nS * nA) * (rng.random(6) < 0.7))
    ptr, s_next = np.arange(nS * nA + 1), rng.integers(0, nS, nS * nA)
    short = seed % 2 == 0  # a tail of one number stands for zeros
    tails = [np.zeros(1), np.zeros(1), np.zeros((1, 1))] if short else [p[1], r[1], acts_lo]
    indptr, indices = np.zeros(nS + 1, np.int64), np.zeros(6, np.int32)
    b, P = np.zeros((3, nS)), np.zeros((2, 6))
    at, lost = double.follow_rows(
        ptr, s_next, p[0], tails[0], r[0], tails[1], acts, tails[2], indptr, indices, b, P
    )
    assert (at, lost) == (int((acts > 0).sum()), False)
    k = 0
    for s in range(nS):
        paid, size = F(0), F(0)
        for a in np.flatnonzero(acts[s]):
            w = F(acts[s, a]) + (0 if short else F(acts_lo[s, a]))
            row = s * nA + a
            share = w * (F(p[0, row]) if short else exact(p, row))
            assert abs(exact(P, k) - share) <= 8 * LEAST
            assert indices[k] == s_next[row]
            y = share * (F(r[0, row]) if short else exact(r, row))
            paid, size, k = paid + y, size + abs(y), k + 1
        assert abs(exact(b[:2], s) - paid) <= 16 * LEAST * (1 + size)
        assert b[2, s] == pytest.approx(float(size), rel=1e-12)
        assert indptr[s + 1] == k


def test_a_product_that_is_too_small_for_floats_is_told():
    tiny, one, none = np.array([1e-200]), np.array([1.0]), np.zeros(1)
    room = np.zeros(2, np.int64), np.zeros(1, np.int32), np.zeros((3, 1)), np.zeros((2, 1))
    tables = np.array([0, 1]), np.array([0]), tiny, none, one, none
    assert double.follow_rows(*tables, np.array([[1e-200]]), np.zeros((1, 1)), *room) == (0, True)


@SEEDS
@pytest.mark.parametrize("gamma", [0.0, 0.9, 1.0])
def test_values_of_actions_and_their_bounds(seed, gamma):
    rng = np.random.default_rng(seed)
    row_ptr, s_next = np.array([0, 2, 2, 5]), rng.integers(0, 3, 5)
    prob, r, v = rng.random(5), rng.normal(size=5), rng.normal(size=3)
    v_error = rng.random(3) * 10.0 ** -rng.integers(1, 18)
    q, q_error = np.zeros(3), np.zeros(3)
    double.action_values(row_ptr, s_next, prob, r, gamma, v, v_error, q, q_error)
    for row in range(3):
        k = slice(row_ptr[row], row_ptr[row + 1])
        later = gamma * v[s_next[k]]
        assert q[row] == pytest.approx((prob[k] * (r[k] + later)).sum(), rel=1e-12, abs=1e-15)
        size = (prob[k] * (np.abs(r[k]) + np.abs(later))).sum()
        carried = gamma * (prob[k] * v_error[s_next[k]]).sum()
        due = carried + (k.stop - k.start + 8) * 2.0**-53 * size
        assert q_error[row] == pytest.approx(due, rel=1e-9, abs=1e-280)


@SEEDS
@pytest.mark.parametrize("by_action", [False, True])
@pytest.mark.parametrize("off", [0.2, 1e-9])
def test_means_over_states_and_their_bounds(seed, by_action, off):
    rng = np.random.default_rng(seed)
    nS, nO, nA = 5, 3, 2
    s, o = rng.permutation(nS), rng.integers(0, nO, nS)
    share = rng.random((nS, nA if by_action else 1)) * (rng.random((nS, 1)) < 0.8)
    share_error = off * rng.random((nS, share.shape[1])) * 10.0 ** rng.integers(-3, 1)
    values, errors = rng.normal(size=(nS, nA)), 1e-9 * rng.random((nS, nA))
    q, q_error = np.empty((nO, nA)), np.empty((nO, nA))
    double.observe(s, o, share, share_error, 0.1, values, errors, q, q_error)
    unit = 2.0**-53
    for row in range(nO):
        for a in range(nA):
            c = a if by_action else 0
            k = np.flatnonzero((o == row) & (share[:, c] > 0))
            u, x, e = share[k, c], values[s[k], a], share_error[s[k], c] + 8 * unit
            doubt = (u * e).sum()
            if not len(k):
                assert np.isnan(q[row, a])
                assert q_error[row, a] == np.inf
                continue
            mean = min(max((u * x).sum(), x.min()), x.max())
            assert q[row, a] == pytest.approx(mean, rel=1e-12)
            each = e * np.abs(x - mean) + errors[s[k], a] + (len(k) + 8) * unit * np.abs(x)
            due = (u * each).sum() / (1 - doubt) if doubt < 0.1 else np.inf
            assert q_error[row, a] == pytest.approx(due, rel=1e-6)


# ---------------------------------------------------------------------- systems


@SEEDS
@pytest.mark.parametrize("transposed", [False, True])
def test_elimination_solves_what_numpy_solves(seed, transposed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 9))
    table, indptr, indices, data = chain(rng, n)
    leave, gamma = rng.random(n) + 0.01, 0.9
    away = gamma * (table - np.diag(np.diag(table)))
    system = np.diag(leave + away.sum(axis=1)) - away
    b = rng.random(n) * (rng.random(n) < 0.7)
    factors = linear.eliminate(indptr, indices, data, gamma, leave)
    x = linear.substitute(*factors, b, transposed)
    assert x == pytest.approx(np.linalg.solve(system.T if transposed else system, b), rel=1e-12)


@SEEDS
def test_sweeps_and_the_method_of_krylov_solve_what_numpy_solves(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 9))
    table, indptr, indices, data = chain(rng, n)
    b, x = rng.random(n), rng.random(n)
    for upwards in (True, False):
        due, largest = x.copy(), 0.0
        for i in range(n) if upwards else reversed(range(n)):
            total = b[i] + table[i] @ due
            largest, due[i] = max(largest, abs(total - due[i]) / total), total
        y = x.copy()
        assert linear.sweep(indptr, indices, data, b, y, upwards) == pytest.approx(largest)
        assert y == pytest.approx(due, rel=1e-13)
    solution = np.linalg.solve(np.eye(n) - table, b)
    size, taken = linear.bicgstab(indptr, indices, data, b, x, 1e-12, 100)
    assert size <= 1e-12
    assert 0 < taken <= 3 * n + 3
    assert x == pytest.approx(solution, rel=1e-10)
    before = x.copy()
    assert linear.bicgstab(indptr, indices, data, b, x, 1e-12, 100)[1] == 0
    assert (x == before).all()
    assert linear.bicgstab(indptr, indices, data, b, rng.random(n), 0.0, 2)[1] in (1, 2)


@SEEDS
def test_scaled_rows_are_those_of_the_shares(seed):
    rng = np.random.default_rng(seed)
    _, indptr, indices, data = chain(rng)
    d = rng.random(4) * (rng.random(4) < 0.7)
    scaled = np.full(len(data), 9.0)
    linear.scale_rows(indptr, indices, data, d, scaled)
    rows = np.repeat(np.arange(4), np.diff(indptr))
    due = np.where(d[rows] > 0, data * d[indices] / np.where(d[rows] > 0, d[rows], 1), 0.0)
    assert scaled == pytest.approx(due, rel=1e-14)
