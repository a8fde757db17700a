"""Sliding equilibria of more than two greedy policies: known answers, flows, and what is
refused."""

from fractions import Fraction

import pytest
from toy_tasks import small_task

from pomdps import recall_variant
from workbench import POMDP, Policy, QLearning, Sarsa, augment, equilibria, mean_field
from workbench.core.errors import TooLarge, WorkbenchError, WrongType
from workbench.research.slides import slides, slides_of

TENTH = Fraction(1, 10)
TABLE = ((0, 3, 1), (1, 0, 4), (5, 1, 0))
"""What the second action is paid after the first: after each of the three, the next one is best."""


def chase(table=TABLE) -> POMDP:
    """Two steps that look alike, three actions; the pay is that of a table."""
    return small_task(
        "chase",
        lambda s, a: {(f"s{a}", 0) if s == "*" else ("end", table[int(s[1])][a]): 1},
        "*",
        A=[0, 1, 2],
    )


def two_chases(mu) -> POMDP:
    """One of two tasks of two actions begins, and is seen: do the other thing at the second step.

    What it pays differs by action, so that the shares are not one half.
    """
    pay = {"x": ((0, 3), (1, 0)), "y": ((0, 1), (4, 1))}

    def p(s, a):
        return {(s + str(a), 0) if len(s) == 1 else ("end", pay[s[0]][int(s[1])][a]): 1}

    return small_task("two chases", p, mu, omega=lambda s: {s[0]: 1})


def test_three_actions_that_chase_one_another_have_a_third_of_the_time_each():
    P = chase(((0, 1, 0), (0, 0, 1), (1, 0, 0)))
    assert equilibria(P, QLearning(epsilon=TENTH), exact=True).none_exists
    found = slides(P, QLearning(epsilon=TENTH), Policy.deterministic(P, {"o": 0}), {"o": [0, 1, 2]})
    assert found.complete
    (slide,) = found.found
    assert slide.policies == 3
    assert slide.shares["o"] == pytest.approx({0: 1 / 3, 1: 1 / 3, 2: 1 / 3}, abs=1e-12)
    assert "of 3 policies" in repr(slide)


@pytest.mark.parametrize("learner", [QLearning, Sarsa])
def test_a_flow_slides_where_the_equations_say(learner):
    P = chase()
    extra = {"lam": 0} if learner is Sarsa else {}
    record = learner(epsilon=TENTH, **extra)
    found = slides(P, record, Policy.deterministic(P, {"o": 0}), {"o": [0, 1, 2]})
    assert found.complete
    (slide,) = found.found
    off = {}
    for dt in (0.05, 0.01):
        flow = mean_field(P, learner(epsilon=0.1, **extra), time=400, dt=dt)
        assert flow.ended == "sliding"
        off[dt] = max(abs(flow.policy["o", a] - slide.shares["o"][a]) for a in P.A)
    assert off[0.01] < 0.01
    assert off[0.01] < off[0.05]
    (again,) = slides_of(flow, TENTH).found
    assert again.shares["o"] == pytest.approx(slide.shares["o"])


def test_rows_that_chatter_on_their_own_mix_on_their_own():
    """Whatever is seen first stays seen: each row's share is the one it has alone."""
    P = two_chases({"x": Fraction(1, 3), "y": Fraction(2, 3)})
    learner = QLearning(epsilon=TENTH)
    start = Policy.deterministic(P, {"x": 0, "y": 0})
    found = slides(P, learner, start, {"x": [0, 1], "y": [0, 1]})
    assert found.complete
    (slide,) = found.found
    assert slide.policies == 4
    flow = mean_field(P, QLearning(epsilon=0.1), time=800, dt=0.01)
    for o in ("x", "y"):
        assert flow.policy[o, 1] == pytest.approx(slide.shares[o][1], abs=0.01)
    for o in ("x", "y"):
        P = two_chases({o: Fraction(1)})
        (alone,) = slides(P, learner, Policy.deterministic(P, {o: 0}), {o: [0, 1]}).found
        assert alone.shares[o][1] == pytest.approx(slide.shares[o][1])


@pytest.mark.parametrize(
    ("ties", "error", "message"),
    [
        ({}, WorkbenchError, "no row mixes"),
        ({"o": [0]}, WorkbenchError, "two different actions"),
        ({"o": [0, 0]}, WorkbenchError, "two different actions"),
    ],
)
def test_ties_that_are_none_are_refused(ties, error, message):
    P = chase()
    with pytest.raises(error, match=message):
        slides(P, QLearning(epsilon=TENTH), Policy.deterministic(P, {"o": 0}), ties)


def test_too_many_policies_are_named():
    E = augment(recall_variant(), "B2")
    pi = Policy.deterministic(E, {}, otherwise=(0, "00"))
    ties = {o: list(E.A) for o in list(E.O)[:3]}
    with pytest.raises(TooLarge, match="512 greedy policies would be mixed; up to 64"):
        slides(E, QLearning(epsilon=TENTH), pi, ties)


def test_only_deterministic_policies_tie():
    P = chase()
    with pytest.raises(WrongType, match="deterministic policies"):
        slides(P, QLearning(epsilon=TENTH), "greedy", {"o": [0, 1]})
