"""One step at a time, in labels."""

from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import policies, pomdps

from pomdps import gravity, recall
from workbench import Policy, augment, evaluate, simulate, uniform
from workbench.agents.simulate import alone, discounted_return, pair, sequences
from workbench.core.errors import WorkbenchError, WrongType


def test_a_seed_gives_the_same_episodes():
    P = gravity()
    pi = uniform(P)
    one, again, other = (simulate(P, pi, seed, episodes=3) for seed in (1, 1, 2))
    assert one == again != other


def test_an_episode_is_a_chain_of_steps_that_ends():
    E = augment(recall(), "OA1")
    for steps in simulate(E, uniform(E), seed=0, episodes=20):
        assert len(steps) == 3
        assert all(one.state_next == two.state for one, two in pairwise(steps))
        assert steps[-1].state_next[0] in E.terminal


def test_the_pair_and_the_product_step_alike():
    P = recall()
    E = augment(P, "B2")
    pi = uniform(E)
    from_pair = [
        [(t.o, t.a, t.r) for t in steps]
        for steps in simulate(pair(P, "B2"), pi, seed=5, episodes=10)
    ]
    from_product = [
        [(t.o, t.a, t.r) for t in steps] for steps in simulate(E, pi, seed=5, episodes=10)
    ]
    assert from_pair == from_product


@given(pomdps(most_states=3), st.data())
def test_sequences_carry_probability_one_and_the_value(P, data):
    pi = data.draw(policies(P))
    found = sequences(alone(P), pi, 4)
    assert sum(found.values()) == 1
    cut = sum(
        x * sum(P.gamma**t * r for t, r in enumerate(past[2::3])) for past, x in found.items()
    )  # the return of the first four steps
    assert (
        abs(float(cut) - evaluate(P, pi).value) <= 3 * float(Fraction(4, 5)) ** 4 / (1 - 0.8) + 1e-9
    )


def test_the_return_discounts_later_rewards():
    P = recall(gamma=Fraction(1, 2))
    E = augment(P, "OA1")
    blue = Policy.deterministic(
        E, {((None,), "o"): (1, "push"), ((("o", 1),), "o"): (2, "push")}, otherwise=(3, "push")
    )
    (steps,) = simulate(E, blue, seed=0)
    assert discounted_return(steps, P.gamma) == Fraction(1, 4)


def test_bad_arguments_are_refused():
    P = gravity()
    with pytest.raises(WorkbenchError, match="not over after 50 steps; it is in"):
        simulate(P, Policy.deterministic(P, {}, otherwise="left"), seed=0, max_steps=50)
    with pytest.raises(WrongType, match="needs a Policy"):
        simulate(P, "left", seed=0)
