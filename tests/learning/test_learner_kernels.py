"""Every kernel equals its plain-Python twin to the last bit, however it is compiled and wherever it
is paused."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference_learn import Generator, exponential, twin
from strategies import families, policies, pomdps
from toy_tasks import doors, small_task

from pomdps import four_by_three, gravity, recall_variant
from workbench import POMDP, Policy, augment
from workbench.core.errors import ModelError
from workbench.core.learners import ExpectedSarsa, QLearning, Sarsa
from workbench.core.steps import decreasing, per_visit
from workbench.learning import learn as runner
from workbench.learning.actor_critic import ActorCritic
from workbench.learning.learn import learn
from workbench.learning.sampling import SamplingTables
from workbench.learning.sampling_kernels import next_word, seed_words
from workbench.learning.softmax_kernels import exp
from workbench.learning.textbook_learners import (
    MonteCarlo,
    NStepSarsa,
    Prediction,
    RLearning,
    SoftQLearning,
    SoftSarsa,
)

LEARNERS = [
    QLearning(),
    QLearning(epsilon=0.3, step=0.5, initial=0, gamma=0.7, max_episode_steps=11),
    ExpectedSarsa(epsilon=0.1),
    ExpectedSarsa(epsilon=1, step=per_visit(), initial=0, gamma=0.7, max_episode_steps=11),
    MonteCarlo(max_episode_steps=50),
    MonteCarlo(epsilon=0.2, step=0.01, gamma=1),
    RLearning(),
    RLearning(epsilon=0.2, step=per_visit(power=0.75), rate=0.1, initial=1, max_episode_steps=9),
    Sarsa(lam=0),
    Sarsa(lam=0.5),
    Sarsa(lam=1),
    Sarsa(lam=0.9, epsilon=0.2, trace_cutoff=0, max_episode_steps=40),
    QLearning(epsilon=0.2, step=decreasing(0.7, halving=90)),
    QLearning(epsilon=0.2, step=per_visit()),
    MonteCarlo(epsilon=0.2, step=decreasing(), max_episode_steps=50),
    MonteCarlo(epsilon=0.2, step=per_visit(power=0.75), max_episode_steps=5000),
    Sarsa(lam=0.5, step=decreasing(0.3)),
    Sarsa(lam=0.5, step=per_visit(0.5, power=0.6)),
    SoftQLearning(),
    SoftQLearning(temperature=0.02, step=per_visit(power=0.7), initial=0, max_episode_steps=15),
    SoftSarsa(temperature=0.3),
    SoftSarsa(temperature=5, lam=0, step=decreasing(0.4, halving=100), gamma=0.8),
    NStepSarsa(),
    NStepSarsa(n=1, epsilon=0.2),
    NStepSarsa(n=9, epsilon=0.2, step=0.3, initial=0, gamma=0.7, max_episode_steps=33),
    NStepSarsa(n=3, epsilon=0.2, step=per_visit(0.5, power=0.6)),
    NStepSarsa(n=3, epsilon=0.2, step=decreasing(0.3)),
    ActorCritic(),
    ActorCritic(n=1, v=1),
    ActorCritic(n=20, v=0.5, policy_step=0.5, value_step=0.1, max_episode_steps=33),
    ActorCritic(update="batch", v=1),
    ActorCritic(n=7, update="batch", v=0.5, policy_step=0.5, value_step=0.1, max_episode_steps=33),
]


def assert_same(P, learner, seed=5, steps=3001, every=700):
    fast, slow = (
        learn(P, learner, steps=steps, seeds=[seed], every=every),
        twin(P, learner, seed, steps, every),
    )
    for name, table in slow.tables.items():
        missing = np.isneginf(table)  # what is not allowed has no number
        expected = np.where(missing, np.nan, table)
        assert np.array_equal(fast.tables[name][0], expected, equal_nan=True), (
            f"{learner} on {P.name}: table {name}"
        )
    assert fast.rewards[0].tolist() == slow.rewards
    assert fast.episodes[0].tolist() == slow.episodes
    assert fast.actions[0].tolist() == slow.greedy


# ---------------------------------------------------------------------- kernels and twins


@pytest.mark.parametrize("learner", LEARNERS, ids=str)
@pytest.mark.parametrize(
    "E",
    [four_by_three(), pytest.param(augment(gravity(), "B1"), marks=pytest.mark.slow)],
    ids=lambda E: E.name,
)
def test_a_kernel_and_its_twin_agree_to_the_last_bit_for_thousands_of_steps(E, learner):
    """Each step pays, and episodes are long enough to be cut off."""
    assert_same(E, learner)


@pytest.mark.parametrize("learner", LEARNERS, ids=str)
def test_nothing_is_done_or_bootstrapped_from_that_is_not_allowed(learner):
    """The twin knows the actions that there are, and no others."""
    E = augment(doors(), "OA1")
    assert_same(E, learner)
    run = learn(E, learner, steps=500, seeds=2, every=100)
    run.policy(1).fits(E)
    assert np.isfinite(run.values()).all()
    assert np.array_equal(run.values()[:, -1], run.final_values())
    for table in run.tables.values():
        if table.shape[1:] == E.allowed.shape:
            assert np.array_equal(np.isnan(table), np.broadcast_to(~E.allowed, table.shape))
    if isinstance(learner, ActorCritic):
        run.softmax(1).fits(E)


def test_a_policy_is_followed_where_its_last_action_is_not_allowed():
    P = doors()
    assert_same(P, Prediction(Policy.random(P, 1), lam=0.7, step=0.2))


def test_one_step_sarsa_is_sarsa_0():
    """Where nothing is chosen by the table: rounding, which differs, would decide ties."""
    E = augment(gravity(), "B1")
    one, other = (
        learn(E, learner, steps=5000, seeds=2)
        for learner in (NStepSarsa(n=1, epsilon=1), Sarsa(lam=0, epsilon=1))
    )
    assert np.allclose(one.tables["q"], other.tables["q"], rtol=0, atol=1e-12)
    assert np.array_equal(one.rewards, other.rewards)


@pytest.mark.parametrize("step", [0.2, decreasing(0.2, halving=500.0)])
def test_prediction_and_its_twin_agree_to_the_last_bit(step):
    E = augment(recall_variant(), "B1")
    assert_same(E, Prediction(Policy.random(E, 1), lam=0.7, step=step))


numbers = st.floats(0, 1)
steps = st.one_of(
    st.floats(0.01, 1),
    st.builds(decreasing, st.floats(0.01, 1), st.floats(1, 100)),
    st.builds(per_visit, st.floats(0.01, 1), st.sampled_from([0.5, 1.0])),
)
limits = st.none() | st.integers(1, 20)
settings_of = {
    QLearning: {"epsilon": numbers, "step": steps, "gamma": numbers, "initial": st.floats(-2, 2)},
    Sarsa: {
        "lam": numbers,
        "epsilon": numbers,
        "step": steps,
        "trace_cutoff": st.sampled_from([0, 1e-8, 0.1, 1]),
    },
    ActorCritic: {
        "n": st.integers(1, 6),
        "policy_step": st.floats(0, 2),
        "value_step": numbers,
        "v": numbers,
        "update": st.sampled_from(["window", "batch"]),
    },
}
settings_of[NStepSarsa] = {"n": st.integers(1, 6), **settings_of[QLearning]}
settings_of[RLearning] = {
    "epsilon": numbers,
    "step": steps,
    "rate": numbers,
    "initial": st.floats(-2, 2),
}
settings_of[SoftQLearning] = {
    "temperature": st.floats(1e-3, 10),
    "step": steps,
    "gamma": numbers,
    "initial": st.floats(-2, 2),
}
settings_of[SoftSarsa] = {
    "temperature": st.floats(1e-3, 10),
    "lam": numbers,
    "step": steps,
    "trace_cutoff": st.sampled_from([0, 1e-8, 0.1, 1]),
}
for kind in (MonteCarlo, ExpectedSarsa):
    settings_of[kind] = settings_of[QLearning]


@st.composite
def learners(draw):
    kind = draw(st.sampled_from(list(settings_of)))
    return kind(
        max_episode_steps=draw(limits),
        **{name: draw(values) for name, values in settings_of[kind].items()},
    )


@given(
    pomdps(most_observations=3, most_actions=3), families(1), learners(), st.integers(0, 2**64 - 1)
)
@settings(max_examples=60)
def test_kernel_and_twin_agree_on_random_models_with_random_settings(P, family, learner, seed):
    assert_same(augment(P, family), learner, seed, steps=150, every=40)
    assert_same(P, learner, seed, steps=100, every=100)  # stochastic observations


@given(st.data())
@settings(max_examples=20)
def test_prediction_and_twin_agree_on_random_models_and_policies(data):
    P = data.draw(pomdps(most_observations=3, most_actions=3))
    pi = data.draw(policies(P))
    assert_same(P, Prediction(pi, lam=data.draw(numbers), step=data.draw(steps)), 3, 150, 40)


@pytest.mark.parametrize(
    "learner",
    [
        QLearning(),
        ExpectedSarsa(),
        MonteCarlo(max_episode_steps=50),
        Sarsa(lam=0.5),
        ActorCritic(),
    ],
    ids=str,
)
def test_a_kernel_that_knows_the_number_of_actions_gives_the_same_bits(learner, monkeypatch):
    P = gravity()
    open_run = learn(P, learner, steps=5000, seeds=2)
    monkeypatch.setattr(runner, "_WORTH_COMPILING", 0)
    known = learn(P, learner, steps=5000, seeds=2)
    assert all(np.array_equal(open_run.tables[name], known.tables[name]) for name in known.tables)
    assert np.array_equal(open_run.rewards, known.rewards)


# ---------------------------------------------------------------------- sampling


def lottery(prizes: int) -> POMDP:
    """One draw among many prizes, then, from one of many starts, the end."""
    weights = {k: Fraction(k + 1, prizes * (prizes + 1) // 2) for k in range(prizes)}
    return small_task(
        "lottery",
        lambda s, a: (
            {(("won", k), k): x for k, x in weights.items()} if s[0] == "start" else {("end", 1): 1}
        ),
        {("start", k): x for k, x in weights.items()},
        A=["draw"],
        omega=lambda s: {s: 1},
    )


@pytest.mark.parametrize("prizes", [2, 9, 10, 40])
def test_long_rows_are_searched_like_short_ones(prizes):
    assert_same(lottery(prizes), QLearning(step=0.01), steps=2000, every=500)


def test_outcomes_come_as_often_as_they_should():
    """Each prize of a lottery, to five standard errors. An episode has two steps and is a block."""
    prizes, draws = 40, 100_000
    run = learn(lottery(prizes), QLearning(), steps=2 * draws, seeds=1, every=2, policies=False)
    counts = np.bincount(run.rewards[0].astype(int) - 1, minlength=prizes)
    expected = np.arange(1, prizes + 1) / (prizes * (prizes + 1) / 2)
    error = np.sqrt(expected * (1 - expected) / draws)
    assert np.all(np.abs(counts / draws - expected) < 5 * error)


def test_episodes_that_start_at_the_end_are_not_played():
    half = Fraction(1, 2)
    P = small_task(
        "late", lambda s, a: {("end", s): 1}, {1: half, 3: half / 2, "end": half / 2}, A=[0]
    )
    assert SamplingTables.of(P).starts["threshold"].tolist() == [math.floor(2 / 3 * 2**53), 2**53]
    assert_same(P, QLearning(), steps=500, every=100)


def test_a_task_that_starts_at_its_end_is_refused():
    P = small_task("over", lambda s, a: {}, "end", A=[0])
    with pytest.raises(ModelError, match="every episode of over starts in a terminal state"):
        learn(P, QLearning(), steps=10, seeds=1)


def test_outcomes_of_probability_zero_are_never_drawn():
    P = small_task("sure", lambda s, a: {("end", 5): 0, ("end", 1): 1, ("end", 7): 0}, "s", A=[0])
    model = SamplingTables.of(P)
    assert model.rows[0]["r"] == 1
    assert model.rows[0]["first"] == model.rows[0]["last"]
    assert learn(P, QLearning(), steps=100, seeds=1).rewards.sum() == 100


# ---------------------------------------------------------------------- words and the exponential


def test_the_generator_gives_the_published_words():
    """xoroshiro128+ from the words 1, 2 and splitmix64 from 0, computed by hand from their
    definitions."""
    g0, g1, word = next_word(np.uint64(1), np.uint64(2))
    assert word == 3
    assert (int(g0), int(g1)) == ((1 << 24) ^ 3 ^ (3 << 16), 3 << 37)
    assert seed_words(0) == (0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4)


@given(st.integers(0, 2**64 - 1))
def test_the_generator_and_its_twin_draw_the_same_words(seed):
    slow, (g0, g1) = Generator(seed), seed_words(seed)
    for _ in range(20):
        with np.errstate(over="ignore"):  # as compiled code does
            g0, g1, word = map(int, next_word(np.uint64(g0), np.uint64(g1)))
        assert word == slow.word()


@given(st.floats(-700, 0))
def test_the_exponential_is_within_two_units_of_the_last_place(x):
    assert exp(x) == exponential(x)
    assert abs(exp(x) - math.exp(x)) <= 2 * math.ulp(math.exp(x))


def test_the_exponential_is_one_at_zero_and_tiny_far_below():
    assert exp(0.0) == 1.0
    assert 0 < exp(-1e6) < 1e-300
