"""Environments read from their own tables, and every import compared with the environment
itself."""

from __future__ import annotations

from fractions import Fraction
from functools import partial

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium", reason="the extra gym is not installed")

import toy_environments as toys  # noqa: E402

from workbench import evaluate, uniform  # noqa: E402
from workbench.agents.simulate import alone, sequences  # noqa: E402
from workbench.core.errors import TooLarge  # noqa: E402
from workbench.interop.gym import from_gymnasium  # noqa: E402
from workbench.interop.gym.draws import every_run, read_number  # noqa: E402
from workbench.interop.gym.import_env import _Exploration, _Reading  # noqa: E402
from workbench.interop.gym.rollout import Disagreement, compare_with_rollouts  # noqa: E402
from workbench.interop.gym.subject import Subject, without_limits  # noqa: E402
from workbench.interop.gym.toy_text import law_of  # noqa: E402

F = Fraction


@pytest.mark.parametrize(
    ("name", "states", "terminal"),
    [("FrozenLake-v1", 16, 5), ("CliffWalking-v1", 38, 1), ("Taxi-v4", 404, 4)],
)
def test_listed_outcomes_are_read_and_agree_with_the_environment(name, states, terminal):
    P = from_gymnasium(name)
    assert (len(P.S), len(P.terminal)) == (states, terminal)
    assert P.is_exact
    assert P.note.startswith("read from its own table; agrees with ")


def test_the_table_and_the_enumeration_of_draws_make_the_same_task():
    read, run = from_gymnasium("FrozenLake-v1"), from_gymnasium("FrozenLake-v1", state=["s"])
    assert run.note.startswith("every draw enumerated; agrees with 1,000 steps")
    assert sequences(alone(read), uniform(read), 4) == sequences(alone(run), uniform(run), 4)
    values = [evaluate(P, uniform(P), exact=True).value for P in (read, run)]
    assert values[0] == values[1] > 0


def test_a_table_that_the_environment_does_not_keep_to_is_not_believed():
    honest, cheat = from_gymnasium(toys.Listed()), from_gymnasium(toys.Listed(cheats=True))
    assert honest.note.startswith("read")
    assert honest.p(0, 0) == {(0, -1): F(1, 2), (("end", 1), 2): F(1, 2)}
    assert cheat.note.startswith("every draw enumerated")
    assert {
        x
        for row in (cheat.p(s, 0) for s in cheat.S if s not in cheat.terminal)
        for x in row.values()
    } == {
        F(3, 4),
        F(1, 4),
    }


def test_a_passenger_who_changes_his_mind_is_not_in_the_table_of_taxi(monkeypatch):
    """Random play does not get far enough to see it: a tour through every row does, and the
    environment is run instead."""

    def run_instead(self, starts):
        raise TooLarge("the environment is run")

    monkeypatch.setattr(_Exploration, "begin", run_instead)
    env = gymnasium.make("Taxi-v4", is_rainy=True, fickle_passenger=True)
    with pytest.raises(TooLarge, match="the environment is run"):
        from_gymnasium(env)


@pytest.mark.slow
def test_a_passenger_changes_his_mind_once():
    env = gymnasium.make("Taxi-v4", fickle_passenger=True)
    P = from_gymnasium(env, state=["s", "fickle_step"], max_states=3_000)
    destination = lambda s: list(env.unwrapped.decode(s[0]))[3]  # noqa: E731
    changes = [
        (s, s_next)
        for s in P.S
        if s not in P.terminal
        for s_next, _ in P.p(s, 0)
        if s[1] and s_next not in P.terminal and not s_next[1]
    ]
    assert changes
    assert all(destination(s) != destination(s_next) for s, s_next in changes)


def test_a_table_is_read_only_where_playing_it_agrees_in_every_row():
    P = from_gymnasium("CliffWalking-v1")
    assert "in 148 of 148 states and actions" in P.note


@pytest.mark.parametrize("rules", [{}, {"sab": True}, {"natural": True}])
@pytest.mark.parametrize(
    ("player", "dealer"),
    [
        ([1, 10], [10, 6]),
        ([1, 10], [10, 1]),
        ([5, 1, 3], [9, 5]),
        ([10, 9], [1, 4]),
        ([1, 1], [2, 10]),
    ],
)
def test_the_law_of_blackjack_is_that_of_the_environment(rules, player, dealer):
    env = without_limits(gymnasium.make("Blackjack-v1", disable_env_checker=True, **rules))
    law = law_of(env)

    def run(action, draws):
        env.player, env.dealer, env.unwrapped.np_random = list(player), list(dealer), draws
        obs, r, over, _, _ = env.step(action)
        return over, law.state_of(env, over), read_number(r), obs

    env.player, env.dealer = player, dealer
    state = law.state_of(env, over=False)
    for action in (0, 1):
        found = {}
        for prob, (over, s_next, r, obs) in every_run(partial(run, action)):
            assert law.see(s_next) == obs
            found[over, s_next, r] = found.get((over, s_next, r), 0) + prob
        assert found == law.outcomes(state, action)


@pytest.mark.slow
def test_blackjack_is_a_task_of_a_few_thousand_states():
    P = from_gymnasium("Blackjack-v1", gamma=1, max_states=6_000)
    assert "agrees with 1,000 steps" in P.note
    assert len(P.O) <= 32 * 11 * 2
    env, rng = gymnasium.make("Blackjack-v1"), np.random.default_rng(5)
    returns = [_random_episode(env, rng) for _ in range(4_000)]
    error = np.std(returns) / len(returns) ** 0.5
    assert abs(evaluate(P, uniform(P)).value - np.mean(returns)) < 4 * error


def _random_episode(env, rng) -> float:
    env.reset(seed=int(rng.integers(2**31)))
    over = False
    while not over:
        _, r, over, _, _ = env.step(int(rng.integers(2)))
    return r


def test_a_state_that_leaves_something_out_is_refused_by_playing():
    with pytest.raises(Disagreement, match="calls impossible"):
        from_gymnasium(toys.Ageing(), state=lambda env: "always the same", observe=lambda env, o: 0)
    P = from_gymnasium(
        toys.Ageing(), state=lambda env: "always the same", observe=lambda env, o: 0, rollouts=0
    )
    assert P.note == "every draw enumerated"


def test_frequencies_that_differ_are_refused():
    with pytest.raises(Disagreement, match="chi-square"):
        from_gymnasium(toys.Partial())


def test_an_observation_that_the_model_does_not_show_is_refused():
    law = law_of(toys.Listed())
    law.see = lambda state: ("something else", state)
    walk = _Reading(law, [0], 10, lambda text: None)
    starts = [None]
    walk.begin(starts)
    walk.walk()
    played = walk.played(toys.Listed(), starts)
    with pytest.raises(Disagreement, match=r"showed 0, its model \(something else, 0\)"):
        compare_with_rollouts(played, walk.mu, walk.rows, 10, lambda text: None)


def test_seeds_that_start_episodes_do_not_fix_what_follows():
    P = from_gymnasium(toys.Line(), starts=[3, 4], rollouts=2_000)
    assert "chi-square" in P.note
    assert np.isclose(float(P.mu[2]), 1)


def test_copies_share_the_tables_of_gymnasium_s_toys_and_no_other():
    for env, shares in ((gymnasium.make("FrozenLake-v1"), True), (toys.Listed(), False)):
        bare = env.unwrapped
        one = Subject(bare, None, None)
        twin = one.copy(bare)
        assert (twin.P is bare.P) is shares
        assert ("P" not in dict(one.state(bare))) is shares
