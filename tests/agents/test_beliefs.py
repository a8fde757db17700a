"""Beliefs and their graph (Appendix A.2)."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import pytest
import reference_histories as reference
import sympy
from hypothesis import given
from hypothesis import strategies as st
from strategies import pomdps
from strategies_beliefs import HALF, crisp, tiger
from toy_tasks import small_task, task_like

from pomdps import gravity, recall, recall4, recall_variant
from workbench import POMDP, Policy, augment, evaluate, uniform
from workbench.agents.beliefs import (
    Belief,
    TooManyBeliefs,
    belief,
    explore_beliefs,
    reachable_beliefs,
)
from workbench.core.errors import NotExact, WorkbenchError


def nodes_within(P: POMDP, actions: int) -> set:
    """The nodes (o, b) of histories of at most so many actions, by Bayes' rule on each history."""
    return {(H[-1], Belief(b)) for H, b in reference.beliefs(P, actions).items()}


# ---------------------------------------------------------------------- known answers


@pytest.mark.parametrize(
    ("task", "nodes", "u"),
    [(recall(), 5, 5), (recall4(), 5, 5), (recall_variant(), 7, 7), (gravity(), 48, 2)],
)
def test_sizes_of_the_belief_graphs_of_the_papers_tasks(task, nodes, u):
    graph = reachable_beliefs(task)
    assert (len(graph), graph.u, graph.complete) == (nodes, u, True)


def test_every_belief_about_the_force_in_gravity_is_certain():
    assert all(len(node.b) == 1 for node in reachable_beliefs(gravity()).nodes)


def test_b_0_weighs_the_states_by_mu():
    P = tiger()
    skewed = task_like(P, "skewed", mu={"left": Fraction(9, 10), "right": Fraction(1, 10)}, gamma=0)
    assert belief(P, ("left",)) == {"left": Fraction(17, 20), "right": Fraction(3, 20)}
    assert belief(skewed, ("left",)) == {"left": Fraction(51, 52), "right": Fraction(1, 52)}


def test_a_belief_conditions_on_the_episode_going_on_unless_told_otherwise():
    P = small_task("maybe", lambda s, a: {("on", 0): HALF, ("end", 0): HALF}, "start", A=["go"])
    assert belief(P, ("o", "go", "o")) == {"on": 1}


def test_listening_moves_the_belief_about_the_tiger_without_end():
    with pytest.raises(TooManyBeliefs, match=r"tiger has more than 50 beliefs .* infinitely many"):
        reachable_beliefs(tiger(), limit=50)
    found = explore_beliefs(tiger(), limit=50)
    assert not found.complete
    assert len(found) > 50
    assert explore_beliefs(tiger(), crowd=3).u == 4


def test_a_limit_of_just_enough_nodes_is_enough():
    assert reachable_beliefs(recall(), limit=5).complete
    with pytest.raises(TooManyBeliefs, match="more than 4 beliefs"):
        reachable_beliefs(recall(), limit=4)


def test_a_history_of_probability_zero_has_no_belief():
    with pytest.raises(
        WorkbenchError, match=r"no episode of recall goes on after .*o, 1, o, 2, o, 3, o"
    ):
        belief(recall(), ("o", 1, "o", 2, "o", 3, "o"))
    with pytest.raises(WorkbenchError, match="odd number"):
        belief(recall(), ("o", 1))


def test_floats_and_symbols_are_refused_by_name():
    with pytest.raises(NotExact, match=r"omega of noisy was given as floats: .*rationalised"):
        reachable_beliefs(_noisy(0.9, 0.1))
    x = sympy.Symbol("x")
    with pytest.raises(NotExact, match=r"omega of noisy holds x"):
        reachable_beliefs(_noisy(x, 1 - x))
    with pytest.raises(TooManyBeliefs):
        reachable_beliefs(_noisy(0.9, 0.1).rationalised(), limit=20)


def _noisy(right, wrong):
    return small_task(
        "noisy",
        lambda s, a: {(s, 0): 1},
        {"a": HALF, "b": HALF},
        A=["look"],
        omega=lambda s: {s: right, "ab"["ba".index(s)]: wrong},
        gamma=HALF,
    )


# ---------------------------------------------------------------------- properties


@given(st.one_of(crisp(), pomdps()))
def test_graph_and_b_of_a_history_are_what_bayes_rule_says(P):
    expected = reference.beliefs(P, 3)
    for H, b in expected.items():
        assert belief(P, H) == b
    graph = explore_beliefs(P, limit=200)
    short = {node for n, node in enumerate(graph.nodes) if len(graph.history(n)) <= 7}
    if graph.complete or len(graph.history(len(graph) - 1)) > 7:
        assert short == nodes_within(P, 3)
    for n, node in enumerate(graph.nodes):
        assert belief(P, graph.history(n)) == node.b


@given(crisp())
def test_edges_carry_the_probabilities_of_the_next_observation(P):
    graph = explore_beliefs(P, limit=60)
    joint = reference.joint(P, 2)
    for H, row in joint.items():
        if len(H) == 5:
            continue
        node = (H[-1], {s: x / sum(row.values()) for s, x in row.items()})
        for a in P.A:
            if graph.index(node) >= len(graph.edges):
                continue
            for following, prob in graph.after(node, a).items():
                longer = joint.get((*H, a, following.o))
                assert longer is not None
                assert prob == sum(longer.values()) / sum(row.values())
    assert sum(graph.start.values()) == sum(
        sum(row.values()) for H, row in joint.items() if len(H) == 1
    )


@given(crisp(most_states=3))
def test_u_counts_the_beliefs_of_the_busiest_observation(P):
    graph = explore_beliefs(P, limit=60)
    deepest = max((len(graph.history(n)) // 2 for n in range(len(graph))), default=0)
    if graph.complete and deepest <= 4:
        count = Counter(o for o, _ in nodes_within(P, 5))
        assert graph.u == max(count.values(), default=0)
        assert {o: len(graph.beliefs(o)) for o in count} == count


@given(crisp(), st.data())
def test_a_policy_of_beliefs_is_worth_the_same_in_the_belief_mdp(P, data):
    """A memoryless policy of P is one policy of the nodes (o, b), and the expected return does not
    change."""
    graph = explore_beliefs(P, limit=60)
    if not graph.complete:
        return
    mdp = graph.mdp()
    choice = {o: data.draw(st.sampled_from(list(P.A))) for o in P.O}
    pi = Policy.deterministic(P, choice)
    lifted = Policy.deterministic(
        mdp, {s: choice[s.o] for s in mdp.O if s is not None}, otherwise=P.A[0]
    )
    assert evaluate(P, pi, exact=True).value == evaluate(mdp, lifted, exact=True).value
    assert (
        evaluate(P, uniform(P), exact=True).value == evaluate(mdp, uniform(mdp), exact=True).value
    )


@given(crisp(most_states=3))
def test_the_belief_of_an_augmented_task_knows_the_memory(P):
    E = augment(P, "B1")
    graph = explore_beliefs(E, limit=60)
    assert all(s[1:] == node.o for node in graph.nodes for s in node.b)
