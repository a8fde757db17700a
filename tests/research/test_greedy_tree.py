"""Sets of greedy policies that bounds refute: nothing is lost, and much need not be looked at."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import families, pomdps

from pomdps import gravity, recall
from workbench import QLearning, Sarsa, augment, equilibria
from workbench.core.errors import WorkbenchError
from workbench.equilibrium.greedy_cells import DenseTask
from workbench.equilibrium.learned_values import target_of
from workbench.learning.textbook_learners import MonteCarlo
from workbench.research import greedy_bounds
from workbench.research.greedy_bounds import GreedyBounds, extreme

TENTH = Fraction(1, 10)


def drawn_task(data, learner, epsilon=0.1):
    P = augment(data.draw(pomdps(most_observations=2, most_states=3)), data.draw(families(1)))
    return P, DenseTask(P, target_of(learner), epsilon)


def drawn_domains(data, task):
    shape = (len(task.rows), task.nA)
    domains = np.array(
        [[data.draw(st.booleans()) for _ in range(shape[1])] for _ in range(shape[0])]
    )
    domains[~domains.any(axis=1)] = True
    return domains


def drawn_cell(data, domains):
    return np.array([data.draw(st.sampled_from(np.flatnonzero(row).tolist())) for row in domains])


@given(st.data())
@settings(max_examples=40)
def test_a_tree_finds_what_a_list_finds(data):
    sarsa = data.draw(st.booleans())
    learner = Sarsa(lam=0, epsilon=TENTH) if sarsa else QLearning(epsilon=TENTH)
    P, task = drawn_task(data, learner)
    if task.cells > 300:
        return
    listed = equilibria(P, learner, exact=True, symmetry=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(greedy_bounds, "MOST_LISTED_AT_ONCE", 1)
        branched = equilibria(P, learner, exact=True, symmetry=False, branch=True)
    assert branched.complete
    assert branched.nodes >= 1

    def rows(found):
        return {tuple(e.policy.actions[found.rows]) for e in found}

    assert rows(branched) == rows(listed)


@given(st.data())
@settings(max_examples=30)
def test_no_behaviour_of_the_set_has_a_share_outside_its_bounds(data):
    _, task = drawn_task(data, QLearning())
    bounds = GreedyBounds(task)
    domains = drawn_domains(data, task)
    low, high = bounds.shares(domains)
    g = task.greedy(drawn_cell(data, domains)[None])
    share, _, _ = task.shares(0.9 * g + 0.1 / task.nA)
    assert (share[0] >= low - 1e-12).all()
    assert (share[0] <= high + 1e-12).all()


@given(st.data())
@settings(max_examples=30)
def test_no_behaviour_of_the_set_earns_more_than_the_most(data):
    _, task = drawn_task(data, QLearning())
    bounds = GreedyBounds(task)
    domains = drawn_domains(data, task)
    r = np.random.default_rng(data.draw(st.integers(0, 99))).normal(size=(1, bounds.n))
    g = task.greedy(drawn_cell(data, domains)[None])
    b = (0.9 * g + 0.1 / task.nA)[0]
    step = np.einsum("so,oa,sat->st", task.W, b, task.T)
    d = np.linalg.solve(np.eye(bounds.n) - step.T, task.mu)
    assert d @ r[0] <= bounds.most(r, domains)[0]


@given(st.data())
@settings(max_examples=20)
def test_bounds_on_a_single_policy_are_its_own_numbers(data):
    """With one action in each row nothing is left open but rounding."""
    _, task = drawn_task(data, QLearning())
    bounds = GreedyBounds(task)
    actions = drawn_cell(data, np.ones((len(task.rows), task.nA), dtype=bool))
    domains = task.greedy(actions) > 0
    low, high = bounds.shares(domains)
    share, _, _ = task.shares(0.9 * domains[None] + 0.1 / task.nA)
    assert np.abs(high - share[0]).max() < 1e-5
    assert np.abs(low - share[0]).max() < 1e-5


@given(
    st.lists(st.tuples(st.floats(-3, 3), st.floats(0, 1), st.floats(0, 1)), min_size=2, max_size=5)
)
def test_the_extreme_is_the_best_of_a_linear_program(entries):
    from scipy.optimize import linprog

    y, low, high = map(
        np.array, zip(*((y, min(a, b), max(a, b)) for y, a, b in entries), strict=True)
    )
    low = low / len(low)  # some weights exist
    high = np.maximum(high, 1.0)
    found = linprog(
        -y, A_eq=np.ones((1, len(y))), b_eq=[1.0], bounds=list(zip(low, high, strict=True))
    )
    assert extreme(y[None, :, None], low[None], high[None])[0, 0] == pytest.approx(
        -found.fun, abs=1e-7
    )


def test_recall_with_oa1_is_settled_with_a_sixth_of_its_policies():
    found = equilibria(augment(recall(), "OA1"), QLearning(epsilon=TENTH), exact=True, branch=True)
    assert found.complete
    assert found.covered == 1296
    assert found.looked_at <= 216
    assert [(e.value, e.strict) for e in found] == [(0, True)]


def test_of_gravity_with_a_bit_nearly_all_policies_are_refuted_at_once():
    """Of 8^48 policies; how many are left is told."""
    found = equilibria(augment(gravity(), "B1"), QLearning(epsilon=TENTH), nodes=2)
    assert not found.complete
    assert found.cells - found.covered < found.cells / 10**4
    assert "of 8^48 greedy policies" in repr(found)
    assert "not decided" in repr(found)


@pytest.mark.parametrize(
    ("learner", "epsilon"),
    [(MonteCarlo(epsilon=TENTH), TENTH), (QLearning(), 0)],
)
def test_bounds_are_refused_where_there_are_none(learner, epsilon):
    with pytest.raises(
        WorkbenchError, match="one-step targets, tasks that end and an epsilon above"
    ):
        equilibria(recall(), learner, epsilon=epsilon, branch=True)
