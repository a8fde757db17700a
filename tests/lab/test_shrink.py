"""Shrinking: never a task on which the statement fails, never a larger one, and nothing left to
simplify."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pomdps import recall4
from proofs.appendix_a4_bits import turning
from workbench import augment, evaluate, improve, uniform
from workbench.core.errors import WorkbenchError, WrongType
from workbench.lab.find import Find
from workbench.lab.sequences import SequenceTasks, discounted_sequence_task, table_of
from workbench.lab.shrink import cheaper, cost, is_locally_minimal, shrink, simplifications, size
from workbench.lab.small_models import DeterministicPOMDPs, SparsePOMDPs
from workbench.lab.statements import as_statement

STUCK = as_statement("oracle-stuck", memory="B1", but_not=["OA1"])
LOWERS = as_statement("greedy-lowers")
HALF = Fraction(1, 2)


def ends(P, memory):
    E = augment(P, memory)
    return improve(E, uniform(E), step=0.02).value


def test_the_trap_of_the_paper_shrinks_to_three_actions_and_small_whole_numbers():
    small = shrink(recall4(), STUCK)
    table = np.array(small.rewards)
    assert table.shape == (3, 3)
    assert set(table.ravel().tolist()) <= {-2, -1, 0, 1, 2}
    assert ends(small.task, "B1") < table.max() - 0.1  # by the loop itself
    assert ends(small.task, "OA1") == pytest.approx(table.max())
    assert size(small.task) < size(recall4())
    assert is_locally_minimal(small.task, STUCK)


def test_what_shrinks_to_nothing_else_is_left_as_it_is():
    small = shrink(recall4(), STUCK)
    again = shrink(small)
    assert again.rewards == small.rewards
    assert again.provenance["shrunk_in"] == 0
    assert again.larger is small


@given(st.integers(0, 10_000))
@settings(max_examples=4)
def test_shrinking_a_falling_step_keeps_it_and_never_grows(seed):
    rng = np.random.default_rng(seed)
    space = SparsePOMDPs(3, 2, 2, -2, 2, gamma=HALF)
    for _ in range(40):
        P = space.task(space.sample(rng))
        if LOWERS.score(P) > 0 and LOWERS.exactly(P).holds:
            break
    else:
        return
    small = shrink(P, LOWERS)
    assert size(small.task) <= size(P)
    assert is_locally_minimal(small.task, LOWERS)
    pi = uniform(small.task)
    greedy = pi.greedy(evaluate(small.task, pi, exact=True).q.array)
    before = evaluate(small.task, pi, exact=True).value
    assert evaluate(small.task, pi.toward(greedy, Fraction(1, 10**6)), exact=True).value < before


@given(st.lists(st.integers(-3, 3), min_size=8, max_size=8))
@settings(max_examples=10)
def test_shrinking_a_sequence_task_gives_a_sequence_task(values):
    one = as_statement("oracle-stuck", memory="none")
    P = discounted_sequence_task(np.array(values).reshape(2, 2, 2))
    if not (one.score(P) > 0 and one.exactly(P).holds):
        return
    small = shrink(P, one)
    assert table_of(small.task) is not None
    assert size(small.task) <= size(P)
    assert one.exactly(small.task).holds
    assert is_locally_minimal(small.task, one)


@given(st.integers(0, 10_000))
@settings(max_examples=6)
def test_simplifications_are_smaller_tasks(seed):
    rng = np.random.default_rng(seed)
    for space in (
        SequenceTasks(2, 3, -2, 2),
        SparsePOMDPs(3, 2, 2, -1, 1, noise=2, starts=2, start_parts=3),
    ):
        P = space.task(space.sample(rng))
        found = [size(one) for one in simplifications(P)]
        assert all(each < size(P) for each in found)
        assert found


def test_a_task_that_hides_its_side_shrinks_no_further_than_the_smallest_known():
    one = as_statement("bound-not-expressive")
    small = shrink(turning(), one)
    assert size(small.task)[:3] == size(turning())[:3] == (4, 1, 2)


def test_a_task_with_states_to_spare_loses_them():
    space = DeterministicPOMDPs(3, 2, 2, -1, 1, gamma=HALF)
    rng = np.random.default_rng(4)
    P = next(
        P
        for P in (space.task(space.sample(rng)) for _ in range(2_000))
        if len(P.S) > 2 and LOWERS.score(P) > 0
    )
    small = shrink(P, LOWERS)
    assert size(small.task)[:3] == (2, 2, 1)


def test_numbers_get_cheaper():
    for x in map(Fraction, (5, -5, "1/2", "-3/4", "7/3", 1, -1)):
        assert all(cost(y) < cost(x) for y in cheaper(x))
        assert 0 in cheaper(x)
    assert cheaper(Fraction(0)) == []
    assert cost(Fraction(1)) < cost(Fraction(-1)) < cost(Fraction(2)) < cost(Fraction(1, 2))


def test_a_find_remembers_what_it_was():
    find = Find(recall4(), STUCK, STUCK.exactly(recall4()), {"seed": 7})
    small = find.shrunk()
    assert small.larger is find
    assert small.provenance["seed"] == 7


def test_there_must_be_something_to_shrink():
    with pytest.raises(WorkbenchError, match="does not hold for recall4"):
        shrink(recall4(), as_statement("oracle-stuck", memory="OA1"))
    with pytest.raises(WrongType, match="needs a find"):
        shrink(recall4())
