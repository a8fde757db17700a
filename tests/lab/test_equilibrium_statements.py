"""Searches for tasks on which learning cannot settle, settles badly, or at several places."""

from fractions import Fraction

import pytest

from workbench import QLearning, augment, equilibria, search
from workbench.checker.recheck import recheck
from workbench.core.errors import WorkbenchError
from workbench.lab.sequences import SequenceTasks
from workbench.lab.statements import as_statement

SMALL = SequenceTasks(length=2, actions=2, lowest=0, highest=1)


def test_without_memory_the_smallest_task_without_a_fixed_point_asks_for_two_different_actions():
    (find,) = search("no-fixed-point", over=SMALL, memory="none", keep=1)
    assert find.rewards == [[0, 1], [1, 0]]
    (certificate,) = find.verdict.certificates
    assert "no fixed point, among 2 greedy policies" in recheck(certificate)


def test_with_one_bit_one_reward_is_enough():
    (find,) = search("no-fixed-point", over=SMALL, memory="B1", keep=1)
    assert find.rewards == [[0, 0], [1, 0]]


def test_with_oa1_every_two_step_task_of_this_size_has_a_fixed_point():
    found = search("no-fixed-point", over=SMALL, memory="OA1", keep=1)
    assert len(found) == 0
    assert found.exhaustive


def test_all_fixed_points_can_be_the_worst():
    over = SequenceTasks(length=2, actions=2, lowest=0, highest=2)
    (find,) = search("only-worst-fixed-point", over=over, memory="none", keep=1)
    assert find.rewards == [[0, 0], [2, 1]]
    P = find.task
    assert {e.value for e in equilibria(P, QLearning(epsilon=Fraction(1, 10)), exact=True)} == {0}


def test_several_fixed_points_of_different_worth():
    over = SequenceTasks(length=2, actions=2, lowest=0, highest=2)
    (find,) = search("several-fixed-points", over=over, memory="none", keep=1)
    assert find.rewards == [[1, 0], [0, 2]]
    assert "fixed points worth 2 (strict), 1 (strict)" in recheck(find.verdict.certificates[0])


@pytest.mark.parametrize(
    "name", ["no-fixed-point", "only-worst-fixed-point", "several-fixed-points"]
)
@pytest.mark.parametrize("learner", ["qlearning", "sarsa"])
def test_floats_and_rationals_agree_on_every_small_task(name, learner):
    statement = as_statement(name, memory="none", learner=learner)
    answers = []
    for code in SMALL.codes(0, SMALL.size).tolist():
        P = SMALL.task(tuple(code))
        answers.append(statement.exactly(P).holds)
        assert (statement.score(P) > 0) is answers[-1]
    assert len(answers) == 16


def test_tasks_with_too_many_policies_are_left_undecided():
    statement = as_statement("no-fixed-point", memory="B3")
    P = SMALL.task((0, 0, 0, 1))
    assert len(augment(P, "B3").A) == 16
    assert statement.score(P) != statement.score(P)  # not a number
    assert statement.exactly(P).holds is None


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"epsilon": 0}, r"epsilon must lie in \(0, 1\], not 0"),
        ({"epsilon": "much"}, "epsilon of no-fixed-point is a number, not .much."),
        ({"learner": "actor-critic"}, "qlearning or sarsa"),
    ],
)
def test_bad_parameters_are_refused(parameters, message):
    with pytest.raises(WorkbenchError, match=message):
        as_statement("no-fixed-point", **parameters)
