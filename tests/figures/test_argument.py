"""Figures that are given something else than a result say which call makes one."""

import re

import pytest

from pomdps import recall
from workbench import augment, evaluate, figures, uniform
from workbench.core.errors import WrongType

E = augment(recall(), "OA1")


@pytest.mark.parametrize(
    ("figure", "call"),
    [
        (figures.belief_graph, "reachable_beliefs(P)"),
        (figures.lambda_sweep, "sweep_lambda(E, pi)"),
        (figures.memory_diagram, "transition_diagram(E, pi, shortcuts(E, pi))"),
        (figures.policy_flow, "policy_slice(E, pi, x, y)"),
        (figures.policy_table, "uniform(E)"),
        (figures.q_table, "evaluate(E, pi) or td_values(E, pi)"),
        (figures.learning_curves, "learn(E, learner)"),
        (figures.oracle_values, "improve(E, pi)"),
        (figures.grid_policy, "evaluate(E, pi)"),
    ],
)
def test_a_pomdp_is_no_result(figure, call):
    with pytest.raises(WrongType, match=re.escape(call)):
        figure(E)


def test_a_policy_is_no_evaluation():
    with pytest.raises(WrongType, match=r"q_table draws what evaluate\(E, pi\)"):
        figures.q_table(uniform(E))
    with pytest.raises(WrongType, match="improve"):
        figures.oracle_values({"OA1": E})


def test_a_policy_on_a_grid_asks_for_the_grid():
    with pytest.raises(WrongType, match=r"recall×OA1 on a grid: give its drawing.*TASKS"):
        figures.grid_policy(evaluate(E, uniform(E)))
