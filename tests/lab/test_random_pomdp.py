"""POMDP.random."""

from __future__ import annotations

from fractions import Fraction as F

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import same_model

from workbench import evaluate, random_pomdp, to_arrays, uniform
from workbench.core.errors import WorkbenchError, WrongType


@given(
    st.integers(0, 10**6),
    st.integers(1, 6),
    st.integers(1, 4),
    st.integers(1, 3),
    st.integers(1, 3),
)
def test_a_random_task_is_exact_ends_and_has_the_sizes_asked_for(seed, nS, nO, nA, few):
    sizes = {"states": nS, "observations": nO, "actions": nA}
    P = random_pomdp(seed, **sizes, gamma=1, successors=few, emissions=few, rewards=(0, 2))
    assert P.is_exact
    assert (len(P.S), len(P.O), len(P.A)) == (nS + 1, nO, nA)
    assert set(P.R) <= {0, 1, 2}
    for s in range(nS):
        assert 1 <= len(P.omega(s)) <= few
        for a in P.A:
            assert sum(x for (t, _), x in P.p(s, a).items() if t == "end") == F(1, 5)
            assert len(P.p(s, a)) <= few + 1
    assert evaluate(P, uniform(P), exact=True).value <= 2 * 5
    assert same_model(
        P, random_pomdp(seed, **sizes, gamma=1, successors=few, emissions=few, rewards=(0, 2))
    )


def test_other_seeds_give_other_tasks():
    assert len({str(to_arrays(random_pomdp(seed))["p"].tolist()) for seed in range(20)}) == 20


def test_impossible_sizes_are_refused():
    with pytest.raises(WorkbenchError, match="states must be at least 1, not 0"):
        random_pomdp(0, states=0)
    with pytest.raises(WorkbenchError, match="ending is a probability, not 2"):
        random_pomdp(0, ending=2)
    with pytest.raises(WorkbenchError, match=r"in order, not in \(3, 1\)"):
        random_pomdp(0, rewards=(3, 1))


@pytest.mark.parametrize("value", [None, 1.5, True, "5"])
@pytest.mark.parametrize(
    "name", ["seed", "states", "observations", "actions", "successors", "emissions"]
)
def test_a_count_that_is_no_whole_number_is_refused_by_name(name, value):
    with pytest.raises(WrongType, match=f"a whole number as {name}, not {value!r}"):
        random_pomdp(**{"seed": 0, name: value})


@pytest.mark.parametrize(
    "rewards", [(0.5, 1.5), 5, (1, 2, 3), ("a", "b"), "ab", None, (True, 2), (0, 2**70)]
)
def test_rewards_are_two_whole_numbers(rewards):
    with pytest.raises(WorkbenchError, match="rewards"):
        random_pomdp(0, rewards=rewards)


def test_a_seed_is_not_negative():
    with pytest.raises(WorkbenchError, match="seed must be at least 0, not -1"):
        random_pomdp(-1)
