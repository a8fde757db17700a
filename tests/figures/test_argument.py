"""Figures draw what people have; what they cannot draw is refused with the call that makes it."""

import matplotlib as mpl

mpl.use("Agg")

import re
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from matplotlib import pyplot

from pomdps import TASKS, gravity, recall, recall4, recall_variant, t_maze
from workbench import (
    QLearning,
    augment,
    best_history,
    best_memoryless,
    can_encode_optimal,
    controller_of,
    critical_points,
    diagnose,
    equilibria,
    evaluate,
    figures,
    frontier,
    improve,
    is_sufficiently_expressive,
    learn,
    memories,
    needs_memory,
    phase_plane,
    policy_slice,
    reachable_beliefs,
    shortcuts,
    sweep_lambda,
    switch_values,
    td_values,
    transition_diagram,
    uniform,
)
from workbench.core.errors import WrongType

P = recall()
E = augment(P, "OA1")
GRAVITY = TASKS["gravity"].drawing


@cache
def loop():
    return improve(E)


@cache
def best():
    return best_memoryless(E)


@cache
def run():
    return learn(E, QLearning(), steps=2_000, seeds=2, every=500, policies=True)


NATURAL = {
    "beliefs of a task": lambda: figures.belief_graph(t_maze(2)),
    "beliefs with a memory": lambda: figures.belief_graph(recall4(), "B1"),
    "the best controller": lambda: figures.controller_graph(t_maze(2), "O1"),
    "the controller of a policy": lambda: figures.controller_graph(P, "OA1", best().policy),
    "the frontier of a task": lambda: figures.frontier_plot(recall4()),
    "the values of a run": lambda: figures.greedy_values(run()),
    "the values of all seeds": lambda: figures.greedy_raster(run()),
    "a task on its grid": lambda: figures.grid_policy(gravity(), GRAVITY),
    "a policy on its grid": lambda: figures.grid_policy(gravity(), uniform(gravity()), GRAVITY),
    "a lambda sweep of a task": lambda: figures.lambda_sweep(E),
    "a lambda sweep of a policy": lambda: figures.lambda_sweep(E, best().policy),
    "a lambda sweep with a memory": lambda: figures.lambda_sweep(P, "OA1"),
    "a run": lambda: figures.learning_curves(run()),
    "several runs": lambda: figures.learning_curves([run(), run()]),
    "a memory": lambda: figures.memory_diagram(P, "OA1"),
    "a product": lambda: figures.memory_diagram(E),
    "a product and a policy": lambda: figures.memory_diagram(E, best().policy),
    "the diagram of an optimum": lambda: figures.memory_diagram(best()),
    "the diagram of a loop": lambda: figures.memory_diagram(loop()),
    "a loop": lambda: figures.oracle_values(loop()),
    "several loops": lambda: figures.oracle_values([loop(), loop()]),
    "the loop of a memory": lambda: figures.oracle_values(recall4(), memories.B(1)),
    "a learner on a task": lambda: figures.phase_portrait(recall4(), QLearning(epsilon=0.1)),
    "the flow of a task": lambda: figures.policy_flow(recall4()),
    "the flow around a policy": lambda: figures.policy_flow(recall4(), uniform(recall4())),
    "a learner with a memory": lambda: figures.phase_portrait(
        recall4(), "B1", QLearning(epsilon=0.1)
    ),
    "a task on the grid that it shows": lambda: figures.grid_policy(gravity(), "B1"),
    "the best policy with a memory": lambda: figures.policy_table(P, "OA1"),
    "the policy of a product": lambda: figures.policy_table(E, best().policy),
    "values over beliefs": lambda: figures.belief_values(t_maze(2)),
    "the policy of a loop": lambda: figures.policy_table(loop()),
    "the policy of an optimum": lambda: figures.policy_table(best()),
    "the policy of a run": lambda: figures.policy_table(run()),
    "q-values of a product": lambda: figures.q_table(E),
    "q-values of a policy": lambda: figures.q_table(E, best().policy),
    "q-values with a memory": lambda: figures.q_table(recall4(), "B1"),
    "q-values of an optimum": lambda: figures.q_table(best()),
}


def is_drawn(found) -> bool:
    axes = np.atleast_1d(np.asarray(found, dtype=object)).ravel()
    return any(one.has_data() or one.texts or one.patches for one in axes)


@pytest.mark.parametrize("call", NATURAL)
def test_what_people_have_is_drawn(call):
    assert is_drawn(NATURAL[call]())
    pyplot.close("all")


RESULTS = {
    "a loop": lambda: loop(),
    "an optimum": lambda: best(),
    "a run": lambda: run(),
    "a policy": lambda: best().policy,
    "an evaluation": lambda: evaluate(E, best().policy),
    "TD values": lambda: td_values(E, best().policy),
    "a frontier": lambda: frontier(recall4(), up_to=1),
    "a controller": lambda: controller_of(P, memories.OA(1), best().policy),
    "beliefs": lambda: reachable_beliefs(recall4()),
    "a sweep of lambda": lambda: sweep_lambda(E, uniform(E), points=3),
    "a transition diagram": lambda: transition_diagram(E, best().policy),
    "a slice": lambda: policy_slice(recall4(), points=3),
    "a phase plane": lambda: phase_plane(recall4(), QLearning(epsilon=0.1), points=3),
    "shortcuts": lambda: shortcuts(E, best().policy),
    "the best history value": lambda: best_history(t_maze(2)),
    "equilibria": lambda: equilibria(
        augment(recall_variant(), "B1"), QLearning(epsilon=Fraction(1, 10)), exact=True
    ),
    "critical points": lambda: critical_points(recall_variant()),
    "a diagnosis": lambda: diagnose(recall4(), "B1"),
    "expressiveness": lambda: is_sufficiently_expressive(recall4(), "B1"),
    "an encoding": lambda: can_encode_optimal(recall4(), "B1"),
    "the need for memory": lambda: needs_memory(recall4()),
    "switch values": lambda: switch_values(E, best().policy),
}


@pytest.mark.parametrize("name", RESULTS)
def test_results_plot_themselves(name):
    result = RESULTS[name]()
    assert is_drawn(result.plot())
    axes = pyplot.figure().add_subplot()
    if getattr(result, "figure", "") != "lambda_sweep":  # a panel for each observation
        assert result.plot(axes) is axes
    pyplot.close("all")


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
        (figures.greedy_raster, "learn(E, learner, policies=True)"),
    ],
)
def test_what_is_no_result_is_refused_with_the_call_that_makes_one(figure, call):
    with pytest.raises(WrongType, match=re.escape(call)):
        figure(3)


def test_a_policy_alone_has_no_values():
    with pytest.raises(WrongType, match=r"q_table draws what evaluate\(E, pi\)"):
        figures.q_table(uniform(E))
    with pytest.raises(WrongType, match="improve"):
        figures.oracle_values({"OA1": E})


def test_a_policy_on_a_grid_asks_for_the_grid():
    with pytest.raises(WrongType, match=r"recall×OA1 on a grid: give its drawing.*TASKS"):
        figures.grid_policy(evaluate(E, uniform(E)))


def test_two_results_of_one_memory_have_two_names():
    axes = figures.learning_curves([run(), run()])
    assert [line.get_label() for line in axes.lines] == ["OA1", "OA1 (2)"]
    pyplot.close("all")


def test_an_equilibrium_has_a_policy_to_draw():
    found = equilibria(E, QLearning(epsilon=0.1))
    assert is_drawn(figures.memory_diagram(found[0]))
    pyplot.close("all")


@pytest.mark.parametrize("call", ["a loop", "a product and a policy", "q-values of a product"])
def test_an_argument_too_many_is_refused(call):
    figure, result = {
        "a loop": (figures.oracle_values, loop()),
        "a product and a policy": (figures.memory_diagram, transition_diagram(E, best().policy)),
        "q-values of a product": (figures.q_table, evaluate(E, best().policy)),
    }[call]
    with pytest.raises(WrongType, match=r"cannot draw 0\.9 beside the rest"):
        figure(result, 0.9)


@pytest.mark.parametrize(
    ("draw", "words"),
    [
        (lambda: figures.greedy_raster(recall4(), "OA1"), "greedy_raster draws what learn"),
        (lambda: figures.greedy_values(recall4(), "OA1"), "greedy_values draws what learn"),
        (lambda: figures.frontier_plot(recall4(), "OA1"), "cannot draw 'OA1' beside the rest"),
        (lambda: figures.oracle_values(a_run()), "oracle_values draws what improve"),
        (lambda: figures.policy_flow(a_run()), "policy_flow draws what policy_slice"),
    ],
)
def test_a_figure_of_something_else_is_refused_in_our_words(draw, words):
    with pytest.raises(WrongType, match=words):
        draw()


def a_run():
    return learn(recall4(), QLearning(), steps=100, seeds=1)
