"""What the compiled loop decides on numbers with bounds, against the same in a few lines."""

from __future__ import annotations

from fractions import Fraction as F

import numpy as np
import pytest
from toy_tasks import small_task

from pomdps import recall4
from workbench import POMDP, Policy, augment, evaluate
from workbench.core import loop_kernels as kernels
from workbench.core import segment_kernels as segment
from workbench.core.horizon import CompiledLoops, Unrolled, unroll
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
        tied_at = rng.integers(-1, 1, nO)
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


def test_a_tie_names_all_that_may_be_the_largest():
    tied_at, tied, taken = np.array([-1]), np.zeros((1, 3), bool), np.array([9])
    q, one = np.array([[0.5, 1.0, 0.75]]), np.ones(1)
    kernels.note_ties(4, q, one, 0.125, np.array([1]), one, tied_at, tied, taken)
    assert (tied_at[0], taken[0], tied.tolist()) == (4, 1, [[False, True, True]])


@pytest.mark.parametrize("error", [1e-9, 0.02, 0.05, 0.2])
def test_actions_that_are_close_at_a_random_policy_too_are_alike(error):
    unrolled = unroll(augment(recall4(), "B1"), np.arange(8), "visits")
    tables, R = unrolled.tables, unrolled.R
    nO, nA, rivals = 2, len(tables.column), 0
    for seed in range(60):
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


def test_the_smallest_period_is_the_smallest():
    rng = np.random.default_rng(3)
    for _ in range(300):
        marks = rng.integers(0, 3, rng.integers(1, 12)).tolist()
        slow = next(p for p in range(1, len(marks) + 1) if marks[p:] == marks[: len(marks) - p])
        assert kernels.smallest_period(marks, np.empty(len(marks) + 1, np.int64)) == slow


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


# ---------------------------------------------------------------------- tasks with layers of states


def layers(seed: int, steps: int, plain: bool = False, twins: bool = False) -> POMDP:
    """Layers of two states that are seen through noise, with whole rewards; some outcomes end. In a
    plain task nothing but the start is left to chance. Twins are the last two actions."""
    rng = np.random.default_rng(seed)

    def chances(n: int) -> list[F]:
        x = (1 - plain) * rng.integers(0, 4, n) + np.eye(n, dtype=int)[rng.integers(n - plain)]
        return [F(int(y), int(x.sum())) for y in x]

    p, omega = {}, {}
    for t in range(steps):
        for i in range(2):
            seen = [1 - i, i] if plain else chances(2)
            omega[t, i] = {o: x for o, x in enumerate(seen) if x}
            for a in range(3):
                ends = ["end"] * 3 if t == steps - 1 else [(t + 1, 0), (t + 1, 1), "end"]
                row: dict = {}
                for s_next, x in zip(ends, chances(3), strict=True):
                    to = s_next, int(rng.integers(-3, 4))
                    row[to] = row.get(to, 0) + x
                same = p[(t, i), 1] if twins and a == 2 else row
                p[(t, i), a] = {to: x for to, x in same.items() if x}
    return small_task(
        "layers",
        lambda s, a: p[s, a],
        {(0, 0): F(1, 3), (0, 1): F(2, 3)},
        A=[0, 1, 2],
        omega=lambda s: {"end": 1} if s == "end" else omega[s],
        gamma=F(9, 10),
    )


def drawn_policy(P: POMDP, rng: np.random.Generator) -> np.ndarray:
    """Rows of floats with large and small chances."""
    rows = rng.random((len(P.O), len(P.A))) ** 4
    return rows / rows.sum(axis=1, keepdims=True)


def at(task: Unrolled, pi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """q times weight, and the weight, of each observation."""
    work = task.make_work(len(pi))
    evaluate_policy(task.tables, task.R, pi, work)
    return work.q.copy(), work.weight.copy()


@pytest.mark.parametrize(("seed", "steps"), [(0, 1), (2, 3), (4, 7)])
@pytest.mark.parametrize("weights", ["visits", "discounted"])
@pytest.mark.parametrize("plain", [False, True])
def test_layers_are_evaluated_as_any_other_task(seed, steps, weights, plain):
    P, rng = layers(seed, steps, plain), np.random.default_rng(seed)
    task, pi = unroll(P, np.arange(3), weights), drawn_policy(P, rng)
    assert task.tables.is_plain == plain
    work = task.make_work(len(P.O))
    due = evaluate(P, Policy(P, pi), weights=weights)
    assert evaluate_policy(task.tables, task.R, pi, work) == pytest.approx(due.value, abs=1e-13)
    seen = due.reached.raw
    assert work.weight == pytest.approx(np.where(seen, due.o_visits.raw, 0), abs=1e-13)
    q = work.q[seen] / work.weight[seen, None]
    assert q == pytest.approx(due.q.raw[seen], abs=1e-12)
    assert task.levels == steps


def last_negative(nodes, part):
    """Where lines from the last coefficient through the negative ones are zero."""
    if part[-1] <= 0:
        return 1.0 if (part[:-1] < 0).any() else 0.0
    x = [(nodes[i] * part[-1] - part[i]) / (part[-1] - part[i]) for i in np.flatnonzero(part < 0)]
    return max([0.0, *x])


def test_a_line_through_the_last_coefficient_says_from_where_on_all_is_well():
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        nodes = np.linspace(0, 1, rng.integers(2, 6))
        part = rng.integers(-3, 4, len(nodes)) / 2
        assert segment.last_negative(nodes, part) == pytest.approx(last_negative(nodes, part))


def look(task, pi, goal, error, alike):
    """Which rows leave their goal, whether that is sure, and from where on none does."""
    nodes, matrix = task.tables.nodes, task.tables.matrix
    ends = np.where(goal[:, None] >= 0, np.eye(3)[goal], pi)
    looks = [at(task, x * pi + (1 - x) * ends) for x in nodes]
    q, weight = (np.array(x) for x in zip(*looks, strict=True))
    leaves, sure, cut = (goal < 0) & (weight[0] > 0), True, 0.0
    for o in np.flatnonzero(goal >= 0):
        for a in np.flatnonzero(alike[o] != alike[o, goal[o]]):
            ahead = matrix @ (q[:, o, goal[o]] - q[:, o, a])
            bound = abs(matrix) @ (2 * error * weight[:, o])
            sure = sure and ((ahead == 0) | (abs(ahead) > bound)).all()
            if (ahead < -bound).any():
                leaves[o], cut = True, max(cut, last_negative(nodes, ahead - bound))
    return leaves, sure, cut


def test_a_goal_stays_greedy_where_no_coefficient_of_a_difference_is_negative():
    several = set()
    for draw in range(24):
        steps = 2 + draw % 3
        P, rng = layers(steps, steps), np.random.default_rng(draw)
        task, nO = unroll(P, np.arange(3), "visits"), len(P.O)
        pi, error = drawn_policy(P, rng), rng.choice([0.0, 1e-9, 0.05, 0.5])
        work, alike = task.make_work(nO), rng.integers(0, 3, (nO, 3))
        # the greedy actions, so that some stay so; and some others
        goal = np.where(rng.random(nO) < 0.7, at(task, pi)[0].argmax(1), rng.integers(-1, 3, nO))
        is_known, leaves = bool(rng.integers(2)), np.full(nO, 9, np.uint8)
        if is_known:
            evaluate_policy(task.tables, task.R, pi, work)
        found = segment.look_along(
            task.tables, task.R, pi, goal, error, alike, work, leaves, is_known
        )
        due, sure, cut = look(task, pi, goal, error, alike)
        assert (leaves.tolist(), *found[:2]) == (due.tolist(), not due.any(), sure)
        assert found[2] == pytest.approx(cut if is_known else 0.0, rel=1e-6)
        several.add((bool(found[0]), bool(sure), found[2] > 0))
        # a batch looks at pi itself, whatever was worked on before
        evaluate_policy(task.tables, task.R, np.full(pi.shape, 1 / 3), work)
        batch, is_sure, off = np.full((1, nO), 9, np.uint8), np.zeros(1, bool), np.array([error])
        segment.look_ahead(
            task.tables, task.R[None], pi[None], goal[None], off, alike, work, batch, is_sure
        )
        assert (batch[0].tolist(), is_sure[0]) == (due.tolist(), sure)
    assert len(several) >= 4


@pytest.mark.parametrize("twins", [False, True])
@pytest.mark.parametrize(
    ("seed", "steps", "size"),
    [(0, 2, F(1, 20)), (0, 2, F(1, 4)), (3, 2, F(1, 8)), (8, 2, F(1)), (11, 3, F(1, 4))],
)
def test_loops_make_the_iterates_of_the_definition_and_may_pass_over_some(seed, steps, size, twins):
    P, same, first = layers(seed, steps, twins=twins), np.tile(np.arange(3), (3, 1)), 0.5
    task = unroll(P, np.arange(3), "visits")
    R, start = np.stack([task.R, -task.R]), drawn_policy(P, np.random.default_rng(seed))
    every, skipping = (
        CompiledLoops(
            task, R, np.stack([start] * 2), same, lambda n: size, np.ones(2), first, skips=skips
        )
        for skips in (False, True)
    )
    for count in (25, 20):
        every.advance(count)
        skipping.advance(count)
    real, step = np.tile([0, 1, 1 if twins else 2], (3, 1)), float(size)
    for b in range(2):
        own = Unrolled(task.tables, R[b], steps, task.error, task.growth)
        pi, since, before, work = start.copy(), np.zeros(3, int), np.full(3, -1), own.make_work(3)
        is_fixed, kept, due = False, 1.0, first
        for i in range(int(every.state.n[b])):
            assert not is_fixed
            value, (q, weight) = evaluate_policy(own.tables, own.R, pi, work), at(own, pi)
            tau = np.where(weight > 0, (q[:, :2] if twins else q).argmax(axis=1), -1)
            for loop in (every, skipping):
                assert np.isnan(loop.values[b, i]) or abs(loop.values[b, i] - value) < 1e-12
                assert loop.marks[b, i] == kernels.mark_of(tau)
            if (tau != before).any():
                kept, due = 1.0, first
            since[tau != before], before = i, tau
            if kept * (1 - step) <= due:
                leaves, *_ = look(own, pi, tau, 1e-12, real)
                is_fixed, due = not leaves.any(), (kept * (1 - step)) ** 2
            kept *= 1 - step
            pi = np.where(tau[:, None] >= 0, (1 - step) * pi + step * np.eye(3)[tau], pi)
        for loop in (every, skipping):
            assert loop.state.fixed[b] == is_fixed
            assert loop.state.greedy[b].tolist() == before.tolist()
            assert loop.state.since[b].tolist() == since.tolist()
            assert (loop.state.tied_at[b] >= 0).any() <= twins
            assert not loop.state.unsure[b]
            if twins and is_fixed and step < 1:  # it was asked of a random policy as well
                one, other = loop.state.alike[b, before == 1, 1:].T
                assert (one == other).all()
        assert every.state.pi[b] == pytest.approx(pi, abs=1e-12)
        if skipping.state.n[b] == every.state.n[b]:
            assert skipping.state.pi[b] == pytest.approx(pi, abs=1e-12)
        assert not np.isnan(every.values[b, : every.state.n[b]]).any()
    if (seed, size, twins) == (0, F(1, 20), False):
        assert np.isnan(skipping.values).sum() > 8
