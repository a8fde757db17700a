"""How common it is that learning cannot settle: the batch against the statements, and intervals."""

from fractions import Fraction as F

import numpy as np
import pytest

from workbench import Sarsa
from workbench.core.errors import TooLarge, WorkbenchError
from workbench.improvement.batch import sequence_task
from workbench.lab.fixed_point_shares import how_settled, settle_tables
from workbench.lab.frequencies import random_tables
from workbench.lab.statements import as_statement
from workbench.learning.textbook_learners import MonteCarlo

NAMES = ("no-fixed-point", "only-worst-fixed-point", "several-fixed-points")


@pytest.mark.parametrize(
    ("memory", "length", "count"), [("none", 2, 12), ("B1", 2, 8), ("OA1", 2, 6), ("B1", 3, 4)]
)
@pytest.mark.parametrize("learner", ["qlearning", "sarsa"])
def test_the_batch_says_what_the_statements_say_in_rationals(memory, length, count, learner):
    tables = np.concatenate(
        [
            random_tables("integers", 2, length, count, seed=3),
            random_tables("one reward", 2, length, 2, seed=4),
        ]
    )
    record = Sarsa(lam=0) if learner == "sarsa" else None
    found = settle_tables(tables, memory, record)
    for name, told in zip(NAMES, (found.none, found.only_worst, found.several), strict=True):
        statement = as_statement(name, memory=memory, learner=learner)
        exact = [statement.exactly(sequence_task(t.astype(int).tolist())).holds for t in tables]
        assert exact == told.tolist()


@pytest.mark.parametrize("memory", ["none", pytest.param("OA1", marks=pytest.mark.slow)])
@pytest.mark.parametrize("apart", [-36, -44, -52, -1000])
def test_leads_below_any_constant_are_decided(memory, apart):
    """Rewards that nearly are a tie, by a power of two, against the statements in rationals."""
    rng = np.random.default_rng(-apart)
    tied = np.array([[[0, 1], [1, 0]], [[1, 1], [0, 1]], [[3, 3], [3, 3]], [[0, 21], [20, 20]]])
    tables = np.concatenate([tied + np.ldexp(rng.integers(-2, 3, tied.shape), apart), tied])
    found = settle_tables(tables, memory)
    for name, told in zip(NAMES, (found.none, found.only_worst, found.several), strict=True):
        statement = as_statement(name, memory=memory)
        fractions = [[[F(x) for x in row] for row in t] for t in tables.tolist()]
        exact = [statement.exactly(sequence_task(t)).holds for t in fractions]
        assert exact == told.tolist()


def test_with_oa1_a_two_step_task_can_be_without_a_fixed_point():
    """2 for 0, 1, and a loss for 0, 0 that is felt through exploration alone."""
    tables = np.array([[[-24.0, 2], [1, 1]], [[-5, 2], [1, 1]], [[-60, 2], [1, 1]]])
    assert settle_tables(tables, "OA1").none.tolist() == [True, False, False]


@pytest.mark.slow
def test_with_oa1_21_is_the_smallest_largest_reward_without_a_fixed_point():
    """All two-step tables of whole numbers from 0 on, up to scale and shift."""
    for most in range(1, 22):
        e = np.arange(most + 1)
        tables = np.stack(np.meshgrid(e, e, e, e, indexing="ij"), -1).reshape(-1, 4)
        tables = tables[(tables.min(axis=1) == 0) & (tables.max(axis=1) == most)]
        hits = tables[settle_tables(tables.reshape(-1, 2, 2).astype(float), "OA1").none]
        assert hits.tolist() == ([[0, 21, 20, 20], [20, 20, 21, 0]] if most == 21 else [])


def test_shares_come_with_intervals_by_memory():
    shares = how_settled(random_tables("normal", 2, 2, 200, seed=0), ["none", "B1"])
    assert set(shares) == {"none", "B1"}
    share = shares["none"]["no-fixed-point"]
    low, high = share.interval
    assert share.of == 200
    assert 0 < low < share.share < high < 1


def test_scale_does_not_matter():
    tables = random_tables("normal", 2, 2, 30, seed=1)
    one = settle_tables(tables, "B1")
    for unit in (1e6, 2.0**-900, 2.0**900):
        other = settle_tables(unit * tables, "B1")
        assert np.array_equal(one.none, other.none)
        assert np.array_equal(one.several, other.several)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: settle_tables(np.zeros((3, 2, 4)), "none"), WorkbenchError, "not of shape"),
        (lambda: settle_tables(np.zeros((1, 2, 2)), "B3"), TooLarge, "greedy policies; up to"),
        (
            lambda: settle_tables(np.zeros((1, 2, 2)), "none", MonteCarlo()),
            WorkbenchError,
            "one-step targets",
        ),
        (lambda: settle_tables(np.zeros((1, 2, 2)), "none", epsilon=0), WorkbenchError, "epsilon"),
        (lambda: settle_tables(np.full((1, 2, 2), np.nan), "none"), WorkbenchError, "finite"),
    ],
)
def test_bad_arguments_are_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()
