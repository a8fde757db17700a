"""What the compiled loop decides on numbers with bounds, against the same in a few lines."""

from __future__ import annotations

import numpy as np
import pytest

from pomdps import recall4
from workbench import augment
from workbench.core import loop_kernels as kernels
from workbench.core.horizon import unroll
from workbench.core.horizon_kernels import evaluate_policy

SEEDS = range(300)


def choice(q, weight, error, alike, before, stays):
    """The action of a row, -1 where it has no weight, and whether bounds leave it open."""
    if weight <= kernels.FEWEST:
        return -1, False
    may = [a for a in range(len(q)) if q[a] >= max(q) - 2 * error * weight]
    is_open = any(alike[a] != alike[may[0]] for a in may)
    return (before if is_open and stays and before in may else may[0]), is_open


def test_a_row_is_open_where_two_actions_that_differ_may_be_the_largest():
    n = 7
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        nO, nA = rng.integers(1, 4), rng.integers(1, 5)
        q = rng.integers(-4, 5, (nO, nA)) / 4
        weight = rng.choice([0.0, 1e-250, 2e-250, 0.5, 1.0, 3.0], nO)
        alike, before = rng.integers(0, 3, (nO, nA)), rng.integers(-1, nA, nO)
        error, stays = rng.choice([0.0, 0.125, 0.25, 1.0]), bool(seed % 2)
        found, is_open = np.full(nO, 9), np.full(nO, 9, np.uint8)
        tied_at = rng.integers(-1, 3, nO)
        tied, taken, earlier = np.zeros((nO, nA), bool), np.zeros(nO, np.int64), tied_at.copy()
        undecided = kernels.choose_here(q, weight, error, alike, before, stays, found, is_open)
        kernels.note_ties(n, q, weight, error, found, is_open, tied_at, tied, taken)
        due = [choice(q[o], weight[o], error, alike[o], before[o], stays) for o in range(nO)]
        assert list(zip(found, is_open == 1, strict=True)) == due
        assert undecided == any(row for _, row in due)
        for o, (action, row) in enumerate(due):
            if row and earlier[o] < 0:
                assert (tied_at[o], taken[o]) == (n, action)
                assert list(tied[o]) == [x >= q[o].max() - 2 * error * weight[o] for x in q[o]]
            else:
                assert tied_at[o] == earlier[o]
                assert not tied[o].any()


@pytest.mark.parametrize("error", [1e-9, 0.02, 0.05, 0.2])
def test_actions_that_are_close_at_a_random_policy_too_are_alike(error):
    unrolled = unroll(augment(recall4(), "B1"), np.arange(8), "visits")
    tables, R = unrolled.tables, unrolled.R
    nO, nA, rivals = 2, len(tables.column), 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        pi, rho = (x / x.sum(axis=1, keepdims=True) for x in rng.random((2, nO, nA)) ** 4)
        if seed % 2:
            pi[:] = rho[:] = 1 / nA  # where writes tie
        work, there = unrolled.make_work(nO), unrolled.make_work(nO)
        evaluate_policy(tables, R, pi, work)
        evaluate_policy(tables, R, rho, there)
        q, weight = work.q.copy(), work.weight.copy()
        alike = np.tile(np.arange(nA), (nO, 1))
        before, found = rng.integers(-1, nA, nO), np.zeros(nO, np.int64)
        is_open = np.array([1, rng.integers(2)], np.uint8)
        due_alike = alike.copy()
        for o in np.flatnonzero(is_open):
            may = [a for a in range(nA) if q[o, a] >= q[o].max() - 2 * error * weight[o]]
            for a in may[1:]:
                if abs(there.q[o, a] - there.q[o, may[0]]) <= 2 * error * there.weight[o]:
                    due_alike[o, a] = due_alike[o, may[0]]
            rivals += len(may) - 1
        due = [choice(q[o], weight[o], error, due_alike[o], before[o], True) for o in range(nO)]
        undecided = kernels.compare_at_random(
            tables, R, rho, error, alike, before, work, found, is_open
        )
        assert (alike == due_alike).all()
        assert list(zip(found, is_open == 1, strict=True)) == due
        assert undecided == any(row for _, row in due)
    assert rivals


def test_marks_of_greedy_policies_are_those_of_the_hash_that_is_named():
    greedy, due = np.array([3, -1, 0, 7]), 14695981039346656037
    for action in greedy:
        due = (due ^ int(action + 1)) * 1099511628211 % 2**64
    with np.errstate(over="ignore"):
        assert int(kernels.mark_here(greedy)) == due


def test_a_new_greedy_policy_moves_the_random_one_and_an_old_one_does_not():
    rng = np.random.default_rng(1)
    for _ in range(5):
        listed, kept = np.zeros(12, np.uint64), []
        rho, same = np.full((2, 3), 1 / 3), np.zeros((2, 3), np.int64)
        due = rho.copy()
        for mark in rng.integers(0, 16, 60).tolist():
            mark, greedy = 2**63 + mark * 2**58, rng.integers(-1, 3, 2)
            alike = np.ones((2, 3), np.int64)
            kernels.widen_span(np.uint64(mark), greedy, rho, listed, alike, same)
            assert (alike == (mark in kept)).all()
            if mark not in kept:
                kept = [mark, *kept][:12]
                share = 0.25 + 0.5 * (mark >> 11) / 2**53
                for o, a in enumerate(greedy):
                    if a >= 0:
                        due[o] = (1 - share) * due[o] + share * np.eye(3)[a]
            assert [int(x) for x in listed if x] == kept
            assert rho == pytest.approx(due, rel=1e-12)


def period(marks, settle):
    """The period of the end of a list, looked at in two lengths."""
    n = len(marks)
    for length in (max(16, 2 * settle), n // 2):
        if settle < length <= n:
            end = marks[n - length :]
            p = next(p for p in range(1, length + 1) if end[p:] == end[: length - p])
            if 1 < p <= min(length - settle, length // 2):
                return p
    return 0


def test_a_period_is_one_of_the_end_that_earlier_policies_do_not_count_in():
    rng, seen = np.random.default_rng(2), set()
    for _ in range(400):
        before = rng.integers(0, 9, rng.integers(30))
        cycle = rng.integers(0, 3, rng.integers(1, 13))
        marks = [*before.tolist(), *np.tile(cycle, 80)[: rng.integers(80)].tolist()]
        if marks:
            settle, fail = int(rng.integers(30)), np.empty(len(marks) + 1, np.int64)
            found = np.full(1, 9)
            kernels.find_periods(np.array([marks], dtype=np.uint64), settle, fail, found)
            assert found[0] == period(marks, settle)
            seen.add(period(marks, settle))
    assert len(seen) > 8
