"""Every import compared with the environment itself."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium", reason="the extra gym is not installed")

import toy_environments as toys  # noqa: E402

from workbench.interop.gym import from_gymnasium  # noqa: E402
from workbench.interop.gym.draws import read_number  # noqa: E402
from workbench.interop.gym.rollout import Disagreement  # noqa: E402
from workbench.interop.gym.subject import Subject  # noqa: E402

F = Fraction


@pytest.mark.parametrize(
    ("name", "states", "terminal"),
    [("FrozenLake-v1", 16, 5), ("CliffWalking-v1", 38, 1), ("Taxi-v4", 404, 4)],
)
def test_what_the_toys_of_gymnasium_list_is_found_by_running_them(name, states, terminal):
    P, bare = from_gymnasium(name), gymnasium.make(name).unwrapped
    assert (len(P.S), len(P.terminal)) == (states, terminal)
    assert P.is_exact
    assert P.note.startswith("every draw enumerated; agrees with 1,000 steps")
    for s in P.S:
        for a in () if s in P.terminal else P.A:
            listed: dict = {}
            for x, s_next, r, over in bare.P[s][a]:
                outcome = ("end", s_next) if over else s_next, read_number(r)
                listed[outcome] = listed.get(outcome, 0) + read_number(x)
            assert P.p(s, a) == {outcome: x for outcome, x in listed.items() if x}


@pytest.mark.slow
def test_a_passenger_changes_his_mind_once():
    env = gymnasium.make("Taxi-v4", fickle_passenger=True)
    P = from_gymnasium(env, max_states=3_000)
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


def test_an_observation_that_the_model_does_not_show_is_refused(monkeypatch):
    monkeypatch.setattr(Subject, "sees_by_state", True)
    monkeypatch.setattr(Subject, "see_outside", lambda self, env, obs: ("something else", obs))
    with pytest.raises(Disagreement, match=r"showed \(something else, 2\), its model 2"):
        from_gymnasium(toys.Line())


def test_seeds_that_start_episodes_do_not_fix_what_follows():
    P = from_gymnasium(toys.Line(), starts=[3, 4], rollouts=2_000)
    assert "chi-square" in P.note
    assert np.isclose(float(P.mu[2]), 1)


def test_copies_share_the_tables_of_gymnasium_s_toys_and_no_other():
    for env, shares in ((gymnasium.make("FrozenLake-v1"), True), (toys.Line(), False)):
        bare = env.unwrapped
        if not shares:
            bare.P = {0: {}}
        one = Subject(bare, None, None)
        twin = one.copy(bare)
        assert (twin.P is bare.P) is shares
        assert ("P" not in dict(one.state(bare))) is shares
