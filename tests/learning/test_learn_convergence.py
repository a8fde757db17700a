"""Learners against exact answers: fixed points of Sarsa(0) and Sarsa(1), the policy gradient, the
paper's own tasks."""

import numpy as np
import pytest
from reference_learn import (
    ActorCriticTwin,
    episodes_of,
    expected_actor_update,
    monte_carlo_values,
    td0_values,
)
from toy_tasks import small_task

from pomdps import gravity, recall, recall4
from workbench import POMDP, Policy, augment, evaluate, uniform
from workbench.core.learners import QLearning, Sarsa
from workbench.core.steps import decreasing
from workbench.core.td import td_values
from workbench.learning.actor_critic import ActorCritic
from workbench.learning.learn import learn
from workbench.learning.textbook_learners import MonteCarlo, Prediction


def noisy() -> POMDP:
    """Four states behind two observations that err, rewards and moves that depend on chance."""
    p = {
        (0, "l"): {(1, 0): 0.7, (2, 1): 0.3},
        (0, "r"): {(2, -1): 0.4, (3, 0): 0.6},
        (1, "l"): {(0, 1): 0.5, ("end", 2): 0.5},
        (1, "r"): {(3, 0): 1.0},
        (2, "l"): {("end", 0): 0.6, (1, 3): 0.4},
        (2, "r"): {(0, 0): 0.8, ("end", -2): 0.2},
        (3, "l"): {(2, 1): 0.9, ("end", 5): 0.1},
        (3, "r"): {("end", -1): 0.5, (0, 0): 0.5},
    }
    omega = {
        0: {"x": 0.9, "y": 0.1},
        1: {"x": 0.3, "y": 0.7},
        2: {"y": 1.0},
        3: {"x": 1.0},
        "end": {"x": 1.0},
    }
    return small_task(
        "noisy",
        lambda s, a: p[s, a],
        {0: 0.5, 3: 0.5},
        A=["l", "r"],
        omega=omega.__getitem__,
        gamma=0.9,
    )


def blue(E):
    """The optimal policy of recall with OA1 (Section 5), softened so that every pair is visited."""
    push = {(None,): (1, "push"), (("o", 1),): (2, "push"), (("o", 2),): (3, "push")}
    return Policy.deterministic(E, {(m, "o"): push.get(m, (1, "push")) for m, _ in E.O}).toward(
        uniform(E), 0.3
    )


def soft(P, seed):
    """A random policy in which no action is rare."""
    return Policy.random(P, seed).toward(uniform(P), 0.4)


RECALL = augment(recall(), "OA1")
CASES = {
    "recall and the blue policy": (RECALL, blue(RECALL)),
    "a noisy model": (noisy(), soft(noisy(), 3)),
    "a noisy model with a bit": (augment(noisy(), "B1"), soft(augment(noisy(), "B1"), 4)),
}


# ---------------------------------------------------------------------- prediction


FIRST, *OTHERS = CASES


@pytest.mark.parametrize(
    "name", [FIRST, *(pytest.param(name, marks=pytest.mark.slow) for name in OTHERS)]
)
@pytest.mark.parametrize("lam", [0, 0.5, 1])
def test_sarsa_with_decreasing_steps_finds_its_fixed_point(name, lam):
    """The mean over seeds lies within five standard errors of the exact answer, and not of the
    other lambda's.

    A step of alpha leaves a bias of order alpha (a pair visited twice in an episode corrects itself
    twice), which is allowed for; the last step is 2.5e-4.
    """
    P, pi = CASES[name]
    mine, other = (td_values(P, pi, lam=x).q.raw for x in (lam, 0 if lam == 1 else 1))
    learner = Prediction(pi, lam=lam, step=decreasing(0.1, halving=5000))
    q = learn(P, learner, steps=2_000_000, seeds=8, policies=False).tables["q"]
    allowed = 5 * q.std(axis=0, ddof=1) / np.sqrt(len(q)) + 10 * 2.5e-4
    seen = ~np.isnan(mine)
    assert seen.any()
    assert np.all(np.abs(q.mean(axis=0) - mine)[seen] <= allowed[seen])
    assert not np.all(np.abs(q.mean(axis=0) - other)[seen] <= allowed[seen])


@pytest.mark.parametrize("name", CASES)
def test_the_exact_answers_by_hand_are_those_of_the_workbench(name):
    P, pi = CASES[name]
    arguments = (P, pi.prob.floats, float(P.gamma))
    assert np.allclose(
        td0_values(*arguments), td_values(P, pi, lam=0).q.raw, atol=1e-12, equal_nan=True
    )
    assert np.allclose(
        monte_carlo_values(*arguments), td_values(P, pi, lam=1).q.raw, atol=1e-12, equal_nan=True
    )
    assert np.allclose(
        monte_carlo_values(*arguments), evaluate(P, pi).q.raw, atol=1e-12, equal_nan=True
    )


def test_one_step_values_see_the_shortcut_of_section_5_1_and_monte_carlo_values_do_not():
    """TD(0) prefers (2 push) to the blue policy's (1 push) when the memory is empty; Monte Carlo
    finds it worthless."""
    P, pi = CASES["recall and the blue policy"]
    o, a = P.O.index(((None,), "o")), P.A.index((2, "push"))
    td, mc = td0_values(P, pi.prob.floats, 0.95), monte_carlo_values(P, pi.prob.floats, 0.95)
    assert td[o, a] > td[o, P.A.index((1, "push"))]
    assert mc[o, a] < mc[o, P.A.index((1, "push"))] / 10


# ---------------------------------------------------------------------- the policy gradient


def softmax(h):
    weights = np.exp(h - h.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


def frozen_update(P, h, gamma, n, baseline):
    """The expected update of the preferences over an episode, all episodes enumerated, nothing
    changed meanwhile."""
    learner = ActorCritic(n=n, policy_step=1, value_step=0, gamma=gamma, v=baseline)
    twin = ActorCriticTwin(P, learner, seed=0, steps=0, every=1)
    moved = np.zeros_like(h)
    for probability, episode in episodes_of(P, softmax(h)):
        for t, (o, a, _) in enumerate(episode):
            twin.tables["h"] = h.tolist()
            after = episode[t + n][0] if t + n < len(episode) else None
            twin.update(o, a, [r for *_, r in episode[t : t + n]], after)
            moved += probability * (np.array(twin.tables["h"]) - h)
    return moved


@pytest.mark.parametrize("task", [recall4(), recall().with_gamma(1)], ids=lambda P: P.name)
@pytest.mark.parametrize("memory", ["none", "B1", "OA1"])
def test_the_expected_update_of_actor_critic_is_the_exact_gradient_where_n_covers_the_episode(
    task, memory
):
    P = augment(task, memory)
    h = np.random.default_rng(7).normal(size=(len(P.O), len(P.A)))
    gradient = np.zeros_like(h)
    for place in np.ndindex(*h.shape):
        shift = np.zeros_like(h)
        shift[place] = 1e-5
        up, down = (float(evaluate(P, Policy(P, softmax(x))).value) for x in (h + shift, h - shift))
        gradient[place] = (up - down) / 2e-5
    found = frozen_update(P, h, gamma=1.0, n=3, baseline=0.4)
    assert np.allclose(found, gradient, atol=1e-8)
    assert np.allclose(found, expected_actor_update(P, softmax(h), 1.0), atol=1e-12)
    one_step = frozen_update(P, h, gamma=1.0, n=1, baseline=0.4)
    assert np.abs(one_step - gradient).max() > 0.1 * np.abs(gradient).max()


def test_with_a_discount_the_expected_update_weighs_observations_by_their_undiscounted_visits():
    P = augment(recall4(), "B1")
    h = np.random.default_rng(8).normal(size=(len(P.O), len(P.A)))
    found = frozen_update(P, h, gamma=0.6, n=2, baseline=-1)
    assert np.allclose(found, expected_actor_update(P, softmax(h), 0.6), atol=1e-12)


def test_the_actor_critic_kernel_moves_along_the_gradient_on_average():
    """Steps so small that the tables hardly change; the mean over 30 seeds, to five standard
    errors."""
    P = noisy().with_gamma(1)
    learner = ActorCritic(n=200, policy_step=1e-9, value_step=0, v=0.5)
    run = learn(P, learner, steps=200_000, seeds=30, policies=False)
    moves = run.tables["h"] / learner.policy_step / run.episodes.sum(axis=1)[:, None, None]
    mean, error = moves.mean(axis=0), moves.std(axis=0, ddof=1) / np.sqrt(len(moves))
    gradient = expected_actor_update(P, uniform(P).prob.floats, 1.0)
    assert np.all(np.abs(mean - gradient) <= 5 * error)
    assert np.max(np.abs(gradient) / error) > 20  # the test can tell the gradient from nothing


# ---------------------------------------------------------------------- the paper's tasks


def late(memory, learner, steps=1_000_000, seeds=4):
    return learn(
        augment(gravity(), memory), learner, steps=steps, seeds=seeds, policies=False
    ).late()


def test_q_learning_solves_gravity_with_o1_but_not_without_a_memory():
    """One seed of what follows."""
    assert late("none", QLearning(), seeds=1).max() < 0.3
    assert late("O1", QLearning(), seeds=1).min() > 6.5


@pytest.mark.slow
def test_q_learning_solves_gravity_with_o1_and_oa1_but_not_with_none_k1_or_b1():
    """At most 100/12 = 8.33 per 100 steps. [Figure 2]"""
    assert all(late(memory, QLearning()).max() < 0.3 for memory in ("none", "K1", "B1"))
    assert all(late(memory, QLearning()).mean() > 6.5 for memory in ("O1", "OA1"))


@pytest.mark.slow
def test_actor_critic_solves_gravity_with_o1_and_oa1_if_v_starts_at_0():
    assert all(late(memory, ActorCritic(), seeds=2).max() < 0.3 for memory in ("none", "B1"))
    assert all(late(memory, ActorCritic(), seeds=2).min() > 8 for memory in ("O1", "OA1"))


@pytest.mark.slow
def test_sarsa_one_half_solves_gravity_with_o1():
    """[Figure 11]"""
    assert late("O1", Sarsa(lam=0.5)).min() > 7.5
    assert late("none", Sarsa(lam=0.5)).max() < 0.3


def test_q_learning_on_recall_jumps_between_value_one_and_value_zero_and_more_often_with_b2():
    """The greedy policy every 10,000 steps. [Figure 3]"""
    jumps = {}
    for memory in ("OA1", "B2"):
        values = learn(
            augment(recall(), memory), QLearning(), steps=1_000_000, seeds=6, every=10_000
        ).values(gamma=1)
        settled = values[:, 10:]
        assert set(np.unique(settled)) == {0.0, 1.0}
        jumps[memory] = np.abs(np.diff(settled)).sum()
    assert jumps["B2"] > 2 * jumps["OA1"] > 0


def test_monte_carlo_control_stays_at_the_optimum_of_recall():
    run = learn(augment(recall(), "OA1"), MonteCarlo(), steps=300_000, seeds=4, every=10_000)
    assert np.all(run.values(gamma=1)[:, 5:] == 1)
