"""Probabilities and times of reaching a goal, against values computed by hand."""

from __future__ import annotations

from fractions import Fraction as F

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import pomdps
from toy_tasks import small_task

from workbench import (
    POMDP,
    Policy,
    augment,
    best_history,
    best_memoryless,
    evaluate,
    uniform,
    with_goal,
)
from workbench.core.errors import NeverEnds, UnknownLabel, WorkbenchError


def walk(start=None, **changes) -> POMDP:
    """Five cells in a row, all alike but for the ends; a step succeeds with probability 3/4."""

    def p(s, a):
        s_next = s + (1 if a == "right" else -1)
        return {(s_next, -7): F(3, 4), (s, 2): F(1, 4)}

    given = {
        "name": "walk",
        "A": ["left", "right"],
        "p": p,
        "omega": lambda s: {{0: "pit", 4: "top"}.get(s, "on the way"): 1},
        "mu": {2: 1} if start is None else start,
        "gamma": F(1, 2),
        "terminal": {0, 4},
    }
    return POMDP.from_functions(**(given | changes))


def right(P: POMDP) -> Policy:
    return Policy.deterministic(P, {}, "right")


def value(P: POMDP, pi: Policy):
    return evaluate(P, pi, exact=True).value


@pytest.mark.parametrize("goal", [4, "4", "top", {4}, ["top"], lambda s: s == 4])
def test_a_goal_is_named_by_state_observation_or_function(goal):
    Q = with_goal(walk(), goal)
    assert value(Q, uniform(Q)) == F(1, 2)
    assert value(Q, right(Q)) == 1
    assert Q.gamma == 1


def test_several_goals_are_one():
    Q = with_goal(walk({1: 1}), [0, "top"], steps=True)
    assert value(Q, uniform(Q)) == -F(4, 3) * 3  # the fair walk takes 1 * 3 moves of 4/3 steps
    assert Q.name == "walk, steps to 0 or top"


def test_within_n_steps():
    for n, chance in enumerate([0, F(9, 16), F(27, 32), F(243, 256)], start=1):
        Q = with_goal(walk(), "top", within=n)
        assert value(Q, right(Q)) == chance  # negative binomial: 2 successes in n steps of 3/4
    assert value(with_goal(walk(), "top", 1), right(walk())) == 0


def test_expected_steps():
    Q = with_goal(walk(), "top", steps=True)
    assert value(Q, right(Q)) == -F(8, 3)
    assert best_memoryless(Q, exact=True).value == -F(8, 3)
    with pytest.raises(NeverEnds):  # half of the episodes never get there
        value(Q, uniform(Q))
    limited = with_goal(walk(), "top", 3, steps=True)
    assert value(limited, right(Q)) == -(2 * F(9, 16) + 3 * F(7, 16))


def test_an_episode_that_starts_in_the_goal_has_reached_it():
    start = {2: F(1, 2), 4: F(1, 3), 0: F(1, 6)}
    P = walk(start)
    assert value(with_goal(P, "top"), uniform(P)) == F(1, 3) + F(1, 2) * F(1, 2)
    assert value(with_goal(P, "top", 1), uniform(P)) == F(1, 3)
    start = {2: F(1, 2), 4: F(1, 2)}
    assert value(with_goal(walk(start), "top", steps=True), right(P)) == -F(1, 2) * F(8, 3)


def test_states_without_hope_end_the_episode_and_make_the_time_infinite():
    P = walk(terminal=lambda s: s == 4, p=lambda s, a: {(s, 1): 1} if s == 0 else walk().p(s, a))
    assert value(with_goal(P, 4), uniform(P)) == F(1, 2)
    lost = walk({0: F(1, 2), 3: F(1, 2)})
    assert best_memoryless(with_goal(lost, 4), exact=True).value == F(1, 2)
    with pytest.raises(NeverEnds):
        best_history(with_goal(lost, 4, steps=True))


def guess() -> POMDP:
    """Two locks that look alike; the wrong key jams them."""
    return small_task(
        "two locks",
        lambda s, a: {("open" if s == a else "jammed", 0): 1},
        {"a": F(2, 3), "b": F(1, 3)},
        A=["a", "b"],
        omega=lambda s: {"door": 1},
        terminal={"open"},
    )


def test_the_best_reach_of_memoryless_memory_and_history():
    Q = with_goal(guess(), "open")
    assert best_memoryless(Q, exact=True).value == F(2, 3)
    assert best_memoryless(augment(Q, "OA1"), exact=True).value == F(2, 3)
    assert best_history(Q, exact=True).value == F(2, 3)


def sticky() -> POMDP:
    """Going on leads out or into a cell that looks like the hall, and holds who goes on."""

    def p(s, a):
        if s == "hall":
            return {("exit", 0): F(1, 2), ("cell", 0): F(1, 2)} if a == "go" else {("hall", 0): 1}
        return {("cell", 0): 1} if a == "go" else {("hall", 0): 1}

    return small_task(
        "sticky", p, "hall", A=["go", "back"], omega=lambda s: {"dark": 1}, terminal={"exit"}
    )


def test_a_policy_that_may_wander_has_no_value_but_within_n_steps():
    Q = with_goal(sticky(), "exit")
    with pytest.raises(NeverEnds):
        value(Q, Policy.deterministic(Q, {}, "go"))
    with pytest.raises(NeverEnds):
        best_memoryless(Q)
    assert best_history(Q, exact=True).value == 1
    limited = with_goal(sticky(), "exit", 30)
    assert best_memoryless(limited, exact=True).value == F(1, 2)
    assert best_history(with_goal(sticky(), "exit", 3), exact=True).value == F(3, 4)


def test_unclear_goals_are_refused():
    with pytest.raises(UnknownLabel, match=r"the goal topp is neither .* the nearest of 3: 'top'"):
        with_goal(walk(), "topp")
    with pytest.raises(WorkbenchError, match="no state of walk is a goal"):
        with_goal(walk(), lambda s: False)
    with pytest.raises(WorkbenchError, match="no state of walk is a goal"):
        with_goal(walk(), [])
    blurred = walk(omega=lambda s: {"top": F(1, 2), "fog": F(1, 2)} if s == 4 else {"fog": 1})
    with pytest.raises(WorkbenchError, match="shows top in state 4 only sometimes"):
        with_goal(blurred, "top")
    alike = walk(omega=lambda s: {4 if s in (3, 4) else "fog": 1})
    with pytest.raises(WorkbenchError, match="4 names different sets of states of walk"):
        with_goal(alike, 4)
    with pytest.raises(WorkbenchError, match="a step limit is at least 1"):
        with_goal(walk(), 4, within=0)


@given(pomdps(), st.integers(0, 10), st.integers(1, 4))
def test_within_n_is_the_chance_counted_step_by_step(P, which, n):
    goal = P.S[which % len(P.S)]
    pi = uniform(P)

    def chance(s, left):
        if s == goal:
            return F(1)
        if not left or s in P.terminal:
            return F(0)
        return sum(
            (
                F(1, len(P.A)) * x * chance(s_next, left - 1)
                for a in P.A
                for (s_next, _), x in P.p(s, a).items()
            ),
            F(0),
        )

    Q = with_goal(P, lambda s: s == goal, within=n)
    assert value(Q, uniform(Q)) == sum(x * chance(s, n) for s, x in P.mu.items())
    assert pi.prob.shape == uniform(Q).prob.shape
