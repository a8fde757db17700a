"""Acting by belief: values and actions against the belief MDP and a slow look-ahead."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest
from toy_tasks import small_task

from pomdps import recall4, t_maze, tiger
from workbench import best_history, figures, load_pomdp, reachable_beliefs
from workbench.agents.beliefs import belief
from workbench.core.errors import WorkbenchError
from workbench.core.pomdp import POMDP

DATA = Path(__file__).parent.parent / "data"


@pytest.fixture(scope="module")
def tigers():
    return best_history(tiger(), tolerance=1e-4)


def test_at_every_belief_that_can_be_reached_actions_are_worth_what_the_belief_mdp_says():
    P = recall4()
    policy, graph = best_history(P).policy, reachable_beliefs(P)

    def q(n, a):
        later = (e.prob * max(q(e.node, b) for b in range(4)) for e in graph.edges[n][a])
        return graph.reward(n, a) + P.gamma * sum(later)

    for n in range(len(graph)):
        exact = {P.A[a]: q(n, a) for a in range(4)}
        history = graph.history(n)
        assert policy.value_at(history) == max(exact.values())
        assert exact[policy.action(history)] == max(exact.values())
        assert policy.action_values(graph.nodes[n].b) == policy.action_values(history)
        assert all(policy.action_values(history)[a] <= exact[a] for a in P.A)


def test_the_start_is_worth_the_best_value():
    P = t_maze()
    found = best_history(P)
    starts = reachable_beliefs(P).start
    assert sum(p * found.policy.value_at((node.o,)) for node, p in starts.items()) == found.value


def test_the_tiger_is_listened_to_until_one_is_sure(tigers):
    def at(x):
        return {("left", "hear-left"): x, ("right", "hear-left"): 1 - x}

    assert [tigers.policy.action(at(x)) for x in (0.0, 0.03, 0.5, 0.9, 0.97, 1.0)] == [
        "open-left", "open-left", "listen", "listen", "open-right", "open-right",
    ]  # fmt: skip
    q = tigers.policy.action_values(at(1.0))
    # the tiger is behind the left door for certain: 10, and the game begins anew
    assert q["open-right"] == pytest.approx(
        10 + 0.95 * tigers.policy.value_at(("start",)), abs=1e-6
    )
    assert float(tigers.policy.value_at(("start",))) >= tigers.lower - 1e-9
    assert float(tigers.policy.value_at(("start",))) <= tigers.upper + 1e-9


def test_values_of_beliefs_are_convex(tigers):
    ends = ("left", "hear-left"), ("right", "hear-left")
    values = [
        float(tigers.policy.value_at({ends[0]: 1 - x, ends[1]: x})) for x in np.linspace(0, 1, 21)
    ]
    assert (np.diff(values, 2) >= -1e-9).all()


def test_a_simulated_agent_believes_what_its_history_tells(tigers):
    steps = tigers.policy.simulate(seed=3, max_steps=6)
    assert len(steps) == 6
    history = []
    for step in steps:
        history.append(step.o)
        exact = tigers.policy._actor.read(history)
        assert step.belief == pytest.approx({s: float(x) for s, x in exact.items()})
        assert step.belief[step.s] > 0
        assert step.a == tigers.policy.action(history)
        history.append(step.a)
    assert tigers.policy.simulate(seed=3, max_steps=6) == steps
    assert [t.r for t in best_history(recall4()).policy.simulate(0)][-1] == 1


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ({"lefd": 1}, "no state 'lefd'"),
        ({("left", "start"): 2}, "probability is from 0 to 1"),
        ({("left", "start"): Fraction(1, 2)}, "sums to 1/2"),
        (("start", "listen"), "odd number of entries"),
        (("start", "listen", "start"), "probability 0"),
    ],
)
def test_what_is_no_belief_is_refused_by_name(tigers, where, words):
    with pytest.raises(WorkbenchError, match=words):
        tigers.policy.action(where)


def test_a_terminal_state_is_not_believed_in():
    P = recall4()
    with pytest.raises(WorkbenchError, match="it is terminal"):
        best_history(P).policy.action({next(iter(P.terminal)): 1})


def three_doors() -> POMDP:
    """A prize behind one of three doors, which nothing tells apart."""
    third = Fraction(1, 3)
    return small_task(
        "three doors",
        lambda s, a: {("end", 10 if a == s else -8): 1},
        {"1": third, "2": third, "3": third},
        A=["1", "2", "3"],
        omega=lambda s: {"?": 1},
    )


def test_pictures_name_the_best_actions(tigers):
    axes = figures.belief_values(tigers.policy, "hear-left")
    assert {x.get_text() for x in axes.get_legend().get_texts()} == set(tiger().A)
    assert axes.lines[0].get_ydata().min() == pytest.approx(19.37, abs=0.01)
    plt.close(axes.figure)
    axes = figures.belief_values(best_history(three_doors()).policy)
    assert {x.get_text() for x in axes.get_legend().get_texts()} == {"1", "2", "3"}
    plt.close(axes.figure)
    with pytest.raises(WorkbenchError, match="no observation 'heer-left'"):
        figures.belief_values(tigers.policy, "heer-left")
    with pytest.raises(WorkbenchError, match="two or three"):
        figures.belief_values(best_history(recall4()).policy)


@pytest.mark.parametrize("file", ["tiger.95", "bridge-repair"])
def test_a_file_in_floats_is_acted_on_by_history(file):
    """Files are read in floats; those of bridge-repair are no distributions as decimals."""
    P = replace(load_pomdp(DATA / f"{file}.POMDP"), gamma=0.95)
    agent = best_history(P, max_backups=50 if file == "tiger.95" else 12).policy
    for step in agent.simulate(seed=0, max_steps=3):
        assert step.a == agent.action(step.belief)
    history = ["start", "listen", "tiger-left", "listen", "tiger-left"]
    if file == "tiger.95":
        assert agent.action(history) == "open-right"
        left = {s[0]: x for s, x in belief(P, history).items()}["tiger-left"]
        assert left == pytest.approx(0.85**2 / (0.85**2 + 0.15**2))
    else:
        assert agent.action(["start"]) == "structural-repair-and-visual-inspect"
