"""Gymnasium environments explored into exact POMDPs."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from strategies import pomdps
from toy_tasks import small_task

gymnasium = pytest.importorskip(
    "gymnasium", reason="gymnasium is not installed: pip install 'memory-workbench[gym]'"
)

import toy_environments as toys  # noqa: E402

from pomdps import gravity, recall  # noqa: E402
from workbench import POMDP, evaluate, simulate, uniform  # noqa: E402
from workbench.agents.simulate import alone, sequences  # noqa: E402
from workbench.agents.step_limit import with_step_limit  # noqa: E402
from workbench.core.errors import ModelError, TooLarge, WorkbenchError, WrongType  # noqa: E402
from workbench.interop.gym import CannotEnumerate, from_gymnasium, to_gymnasium  # noqa: E402


def line(x0=2, noisy=False) -> POMDP:
    """What `toys.Line` is."""

    def p(x, a):
        move = 1 if a == 1 else -1
        return {
            (x + d, {0: -1, 4: Fraction(3, 2)}.get(x + d, 0)): q
            for d, q in ((-move, Fraction(3, 10)), (move, Fraction(7, 10)))
        }

    half = Fraction(1, 2)
    omega = (lambda x: {x: half, x + 1: half}) if noisy else (lambda x: {x: 1})
    return small_task("line", p, {x0: 1}, omega=omega, gamma=Fraction(99, 100), terminal={0, 4})


def same_law(P: POMDP, Q: POMDP, horizon: int = 4) -> bool:
    """Whether an agent that acts at random sees the same sequences with the same probabilities."""
    return sequences(alone(P), uniform(P), horizon) == sequences(alone(Q), uniform(Q), horizon)


def test_a_line_is_what_it_is_said_to_be():
    P = from_gymnasium(toys.Line())
    assert set(P.S) == {1, 2, 3, ("end", 0), ("end", 4)}
    assert P.p(1, 0) == {(("end", 0), -1): Fraction(7, 10), (2, 0): Fraction(3, 10)}
    assert P.is_exact
    assert P.name == "Line"
    assert same_law(P, line(), 5)
    assert (
        evaluate(P, uniform(P), exact=True).value
        == evaluate(line(), uniform(line()), exact=True).value
    )


def test_draws_that_decide_what_is_seen_make_pairs_of_state_and_observation():
    P = from_gymnasium(toys.Line(noisy=True))
    assert (2, 3) in P.S
    assert P.omega((2, 3)) == {3: 1}
    assert P.mu[2, 2] == Fraction(1, 2)
    assert same_law(P, line(noisy=True))


@pytest.mark.parametrize("slippery", [True, False])
def test_frozen_lake_is_its_own_table(slippery):
    env = gymnasium.make("FrozenLake-v1", is_slippery=slippery)
    P = from_gymnasium(env, state=["s"])
    table = env.unwrapped.P
    for s in P.S:
        if s in P.terminal:
            continue
        for a in P.A:
            expected: dict = {}
            for prob, s_next, r, over in table[s][a]:
                key = (("end", s_next) if over else s_next, r)
                expected[key] = expected.get(key, 0) + Fraction(prob).limit_denominator(1000)
            assert P.p(s, a) == expected


@given(pomdps(most_states=3))
@settings(max_examples=15)
def test_there_and_back_again_is_the_same_process(P):
    back = from_gymnasium(to_gymnasium(P), state=lambda env: env.unwrapped.state, gamma=P.gamma)
    assert back.gamma == P.gamma
    seen = back.relabel(O=lambda o: P.O[o], A=lambda a: P.A[a])
    assert same_law(seen, P, 3)


@pytest.mark.parametrize("make", [gravity, recall])
def test_tasks_come_back_row_by_row(make):
    P = make()
    env = to_gymnasium(P)
    back = from_gymnasium(env, state=lambda env: env.unwrapped.state, gamma=P.gamma)
    assert len(back.S) == len(P.S)

    def there(s):
        return ("end", s) if s in P.terminal else s

    for s in P.S:
        for a in P.A if s not in P.terminal else ():
            expected = {(there(s_next), r): x for (s_next, r), x in P.p(s, a).items()}
            assert back.p(s, P.A.index(a)) == expected


def test_a_counter_of_its_own_is_part_of_the_state_and_ends_episodes():
    P = from_gymnasium(toys.Clock())
    limited = with_step_limit(line(), 3)
    assert same_law(P, limited, 5)
    assert all(not step or len(step) <= 3 for step in simulate(P, uniform(P), seed=1, episodes=20))


def test_a_state_without_the_counter_refuses_to_be_cut_off():
    with pytest.raises(CannotEnumerate, match="time was up"):
        from_gymnasium(toys.Clock(limit=1), state=["x"])


def test_step_limits_of_wrappers_come_off():
    limited = gymnasium.wrappers.TimeLimit(toys.Line(), 2)
    assert same_law(from_gymnasium(limited), line(), 4)


def test_starts_can_be_declared():
    Q = from_gymnasium(toys.Scattered(), starts=range(20))
    real = [toys.Scattered().reset(seed=seed)[0] for seed in range(20)]
    assert dict(Q.mu) == {x: Fraction(real.count(x), 20) for x in dict.fromkeys(real)}
    assert set(Q.mu) == {1, 3}


@pytest.mark.parametrize(
    ("starts", "error"),
    [
        ([], ModelError),
        (["x"], WrongType),
    ],
)
def test_starts_that_are_none_are_refused(starts, error):
    with pytest.raises(error, match="starts"):
        from_gymnasium(toys.Line(), starts=starts)


def test_actions_can_be_left_out():
    assert tuple(from_gymnasium(toys.Line(), actions=[1]).A) == (1,)
    with pytest.raises(ModelError, match="unknown action 7"):
        from_gymnasium(toys.Line(), actions=[7])


def test_actions_of_several_parts_are_tuples():
    P = from_gymnasium(toys.Pair())
    assert tuple(P.A) == ((0, 0), (0, 1), (1, 0), (1, 1))
    assert P.p((0, 0), (1, 1)) == {(("end", (1, 1)), 0): 1}


def test_observations_can_be_read_in_another_way():
    P = from_gymnasium(toys.Line(), observe=lambda env, o: "odd" if o % 2 else "even")
    assert set(P.O) == {"odd", "even"}


def test_the_environment_is_left_as_it_was():
    env = toys.Line()
    env.reset(seed=3)
    twin = toys.Line()
    twin.reset(seed=3)
    from_gymnasium(env)
    assert [env.step(0) for _ in range(1)] == [twin.step(0) for _ in range(1)]
    assert env.np_random.random() == twin.np_random.random()


@pytest.mark.parametrize(
    ("env", "said"),
    [
        (toys.Scattered, "starts="),
        (toys.Worldly, "global generator"),
        (toys.Tupled, "a tuple that holds a random generator"),
        (toys.Floating, "infinitely many values"),
        (toys.Forgetful, "second time"),
        (toys.Pushed, "cannot be listed"),
        (lambda: gymnasium.make("CartPole-v1"), "as a number"),
    ],
)
def test_what_cannot_be_enumerated_is_refused(env, said):
    toys.COUNTER[0] = 0
    with pytest.raises(CannotEnumerate, match=said):
        from_gymnasium(env())


@pytest.mark.parametrize("kind", list(toys.OWN_DRAWS))
def test_generators_of_its_own_are_driven_however_deep(kind):
    P = from_gymnasium(toys.Own(kind))
    assert P.p(2, 0) == {(1, 0): Fraction(1, 3), (3, 0): Fraction(2, 3)}
    assert len(P.S) == 5


def test_a_generator_kept_from_the_reset_is_driven():
    P = from_gymnasium(toys.Hoarder())
    assert P.p(2, 0) == {(1, 0): Fraction(1, 2), (3, 0): Fraction(1, 2)}


def test_a_generator_that_cannot_be_found_is_refused_when_it_is_used():
    with pytest.raises(CannotEnumerate, match="kept from an earlier"):
        from_gymnasium(toys.Hidden())


def test_functions_may_return_what_cannot_be_hashed():
    P = from_gymnasium(
        toys.Line(), state=lambda env: [env.x], observe=lambda env, o: np.array([o, 0])
    )
    assert (2,) in P.S
    assert P.omega((2,)) == {(2, 0): 1}


def test_too_many_states_are_refused_with_the_last_one():
    with pytest.raises(TooLarge, match="more than 50 states"):
        from_gymnasium(toys.Endless(), max_states=50)


@pytest.mark.parametrize("env_id", ["NoSuch-v0", "FrozenLake", "a\0b"])
def test_an_id_that_gymnasium_does_not_know_is_refused_in_our_words(env_id):
    with pytest.raises(WorkbenchError, match="Gymnasium cannot make"):
        from_gymnasium(env_id)


def test_what_is_no_environment_is_refused():
    with pytest.raises(WrongType):
        from_gymnasium(3)


def test_progress_appears_after_two_seconds(monkeypatch, capsys):
    monkeypatch.setattr("workbench.progress.PATIENCE", 0.0)
    monkeypatch.setattr("workbench.progress._BETWEEN", 0.0)
    monkeypatch.setenv("FORCE_COLOR", "1")
    from_gymnasium(toys.Line())
    assert "states found" in capsys.readouterr().err
    from_gymnasium(toys.Line(), progress=False)
    assert capsys.readouterr().err == ""
