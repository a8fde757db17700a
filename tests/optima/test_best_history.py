"""best_history: exact where beliefs are few, certain bounds where they are not."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import reference_beliefs
import reference_optimum as reference
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import families, pomdps, wandering
from strategies_beliefs import tiger, timed
from test_best_memoryless import forbidden, recalls
from toy_tasks import small_task, task_like

import pomdps as tasks
from pomdps import gravity, recall, recall4, recall_variant
from workbench import POMDP, augment, from_arrays
from workbench.agents.beliefs import reachable_beliefs
from workbench.core.errors import NeverEnds, NotExact, TooLarge, WorkbenchError, WrongType
from workbench.core.fields import FLOATS
from workbench.core.numbers import Numbers
from workbench.optima import history
from workbench.optima.best_history import best_history
from workbench.optima.best_informed import best_informed
from workbench.optima.best_memoryless import best_memoryless
from workbench.optima.history import belief_process
from workbench.optima.hsvi import BeliefModel, Bounds
from workbench.optima.mdp import from_states, lower_bound, optimal, superharmonic, upper_bound

F = Fraction
HALF = st.just(F(1, 2))


def in_floats(P: POMDP) -> POMDP:
    """The same model written with floats."""
    return replace(
        P,
        p=replace(P.p, prob=Numbers(floats=P.p.prob.floats), r=Numbers(floats=P.p.r.floats)),
        gamma=float(P.gamma),
    )


# ---------------------------------------------------------------------- finite horizons and
# finitely many beliefs


@given(st.one_of(timed(2), timed(3), recalls()))
def test_it_is_the_best_of_all_histories(P):
    found = best_history(P)
    assert found.exact
    assert found.value == found.lower == found.upper == reference.best_of_horizon(P, 4)
    assert found.gap == 0


@given(timed(3))
def test_floats_certify_what_rationals_find(P):
    exact, floats = best_history(P, exact=True), best_history(P, exact=False)
    assert not floats.exact
    assert floats.lower <= exact.value <= floats.upper
    assert floats.gap < 1e-9
    written = best_history(in_floats(P))
    assert written.lower <= exact.value <= written.upper
    assert written.gap < 1e-9


@settings(max_examples=25)
@given(pomdps(most_states=3, gammas=HALF))
def test_bounds_hold_whatever_the_beliefs(P):
    """A horizon of 5 leaves out at most gamma^5 max|r| / (1 - gamma)."""
    near = reference.best_of_horizon(P, 5)
    tail = F(1, 2) ** 5 * reference.rewards_bound(P) * 2
    found = best_history(P, max_beliefs=60, max_backups=60)
    assert found.lower <= near + tail
    assert found.upper >= near - tail
    assert found.lower <= found.upper
    assert found.gap == pytest.approx(float(found.upper - found.lower))


@settings(max_examples=25)
@given(pomdps(most_states=3), st.integers(0, 40))
def test_it_lies_between_the_best_memoryless_policy_and_full_information(P, backups):
    found = best_history(P, max_beliefs=40, max_backups=backups)
    assert found.upper >= float(best_memoryless(P, exact=True).value) - 1e-12
    assert found.lower <= float(best_informed(P, exact=True)) + 1e-12
    if found.exact:
        assert best_memoryless(P, exact=True).value <= found.value <= best_informed(P, exact=True)


@settings(max_examples=20)
@given(timed(2), families(1))
def test_a_memory_that_reads_no_rewards_adds_nothing_to_the_history(P, family):
    E = augment(P, family)
    assert best_history(E).value == best_history(P).value
    assert best_memoryless(E, exact=True).value <= best_history(P).value


@settings(max_examples=60)
@given(wandering(3))
def test_at_gamma_one_only_policies_that_end_count(P):
    if reference.best_informed(P) is None:
        with pytest.raises(NeverEnds):
            best_history(P)
        return
    try:
        found = best_history(P, max_beliefs=30, max_backups=30)
    except NeverEnds:
        assert reference.best_deterministic(P) is None
        return
    memoryless = reference.best_deterministic(P)
    assert found.lower <= found.upper
    if memoryless is not None:
        assert found.upper >= float(memoryless) - 1e-9
    if found.exact and found.upper < float("inf"):
        assert float(found.value) <= best_informed(P) + 1e-9


def test_the_papers_tasks():
    assert best_history(recall()).value == F(361, 400)
    assert best_history(recall_variant()).value == 3
    assert best_history(recall4()).value == 1
    found = best_history(gravity())
    assert found.value == F(19, 20) ** 11
    assert found.exact
    assert found.beliefs == 48
    assert best_history(gravity(gamma=1)).value == 1
    assert best_history(augment(gravity(), "B1")).value == F(19, 20) ** 11


def test_rewards_collected_in_a_loop_are_unbounded():
    P = small_task(
        "till",
        lambda s, a: {("end", 0): 1} if a == "leave" else {(s, 1): 1},
        "s",
        A=["stay", "leave"],
    )
    for found in (best_history(P), best_history(P, exact=False)):
        assert found.value == found.upper == float("inf")
        assert "unbounded" in found.how
    assert best_memoryless(P, exact=True).value == 0  # to stay for ever has no value, to leave has
    assert best_history(P.with_gamma(F(1, 2))).value == 2


# ---------------------------------------------------------------------- infinitely many beliefs


def test_bounds_close_in_on_the_tiger():
    P = tiger()
    found = best_history(P, max_beliefs=300)
    low, high = reference_beliefs.best_history(P, most=60)
    assert not found.exact
    assert found.beliefs is None
    assert found.gap <= 1e-4
    assert found.lower <= high + 1e-9
    assert found.upper >= low - 1e-9
    assert "more than 150 beliefs" in found.how
    assert "gap" in repr(found)


def test_backups_only_tighten_the_bounds():
    gaps = [best_history(tiger(F(9, 10)), max_beliefs=10, max_backups=n) for n in (0, 10, 100)]
    assert gaps[0].lower <= gaps[1].lower + 1e-9
    assert gaps[1].lower <= gaps[2].lower + 1e-9
    assert gaps[0].upper >= gaps[1].upper - 1e-9
    assert gaps[1].upper >= gaps[2].upper - 1e-9
    assert gaps[2].gap < gaps[0].gap / 4


def test_states_that_remember_the_last_observation_are_one_to_a_belief():
    P = tiger()
    lifted = augment(P, "none")  # states (s, -, o): twice as many, with the same future
    M = from_states(lifted, FLOATS)
    model = BeliefModel(lifted, np.unique(M.behind))
    assert len(np.unique(M.behind)) == 4
    assert model.shape[0] == 2
    ours, theirs = best_history(lifted, max_beliefs=100), best_history(P, max_beliefs=100)
    assert ours.lower == pytest.approx(theirs.lower, abs=1e-4)
    assert ours.upper == pytest.approx(theirs.upper, abs=1e-4)


def test_at_gamma_one_bounds_close_in_if_every_policy_ends():
    def p(s, a):
        if a == "listen":
            return {(s, F(-1, 10)): F(9, 10), ("end", 0): F(1, 10)}
        return {("end", -1 if a == s else 1): 1}

    P = replace(tiger(), gamma=F(1))
    P = task_like(P, "hasty tiger", p=p, gamma=1, terminal={"end"})
    found = best_history(P, max_beliefs=50)
    assert "point-based" in found.how
    assert found.gap < 1e-3
    low, high = reference_beliefs.best_history(P, most=60)
    assert found.lower <= high + 1e-9
    assert found.upper >= low - 1e-9


def test_at_gamma_one_bounds_close_in_from_policies_that_end():
    P = tiger(F(1))  # to listen for ever has no value, to open a door at any time has
    found = best_history(P, max_beliefs=50)
    low, high = reference_beliefs.best_history(P.with_gamma(F(999_999, 1_000_000)), most=60)
    assert found.gap < 1e-3
    assert found.lower <= high + 1e-3
    assert found.upper >= low - 1e-3


def test_at_gamma_one_loops_without_reward_leave_simple_bounds():
    P = tiger(F(1))

    def p(s, a):
        return {(s, 0): 1} if a == "listen" else {("end", -1 if a == s else 1): 1}

    free = task_like(P, "patient", p=p, gamma=1, terminal={"end"})
    found = best_history(
        free, max_beliefs=50
    )  # listening is free: any value below 1 is reached, 1 is not
    assert "no bounds by vectors" in found.how
    assert found.lower == pytest.approx(0.7)
    assert found.policy.evaluate().value == pytest.approx(found.lower)
    assert found.upper >= 1


def test_floats_that_are_no_distribution_as_decimals_still_have_bounds():
    third = from_arrays(
        p=np.full((3, 2, 3), 1 / 3),
        r=np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]),
        mu=[1, 0, 0],
        gamma=0.5,
        omega=np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]),
    )
    found = best_history(third)
    assert found.lower <= found.upper
    assert found.gap < 1e-5
    assert found.lower <= best_informed(third) + 1e-9


def test_ctrl_c_leaves_the_bounds_so_far(monkeypatch):
    calls = []
    search = Bounds.search

    def interrupted(self, aim, until):
        calls.append(1)
        if len(calls) == 4:
            raise KeyboardInterrupt
        search(self, aim, until)

    monkeypatch.setattr(Bounds, "search", interrupted)
    found = best_history(tiger(F(19, 20)), max_beliefs=10)
    assert found.interrupted
    assert found.lower <= found.upper
    assert "interrupted" in found.how


# ---------------------------------------------------------------------- certificates


@given(st.one_of(pomdps(), wandering()))
def test_a_certificate_bounds_the_optimum_and_is_near_it(P):
    best = reference.best_informed(P) if len(P.S) <= 3 else None
    M = from_states(P, FLOATS)
    found = optimal(M)
    if not np.isfinite(found.value):
        return
    u = superharmonic(M, found)
    upper, lower = upper_bound(M, found), lower_bound(M, found)
    assert lower <= found.value <= upper
    if u is not None:
        room = u[:, None] - np.where(found.allowed, M.q(u), -np.inf)
        assert (room[found.alive] >= 0).all()
        assert upper - lower < 1e-8 * max(1.0, M.scale(found.v))
    if best is not None:
        assert lower <= best <= upper


@given(timed(2))
def test_the_belief_process_gives_memoryless_policies_the_values_they_have(P):
    from workbench.optima.follow import follow

    M, N = from_states(P, FLOATS), belief_process(reachable_beliefs(P), FLOATS)
    for choice in reference.all_choices(P)[:6]:
        actions = np.array([P.A.index(choice[o]) for o in P.O])
        assert follow(M, actions).value == pytest.approx(follow(N, actions).value, abs=1e-12)
        assert follow(M, actions).value == pytest.approx(
            float(reference.worth(P, choice)), abs=1e-12
        )


# ---------------------------------------------------------------------- bad input


def test_too_many_beliefs_cannot_be_exact():
    with pytest.raises(TooLarge, match="more than 20 beliefs"):
        best_history(tiger(), exact=True, max_beliefs=20)
    with pytest.raises(NotExact):
        best_history(recall(gamma=0.95), exact=True)


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"P": 3}, WrongType, "expected a POMDP, not 3"),
        ({"exact": "yes"}, WrongType, "exact is True or False, not 'yes'"),
        ({"max_beliefs": 0}, WorkbenchError, "max_beliefs must be at least 1, not 0"),
        ({"max_backups": -1}, WorkbenchError, "max_backups must be at least 0, not -1"),
        ({"tolerance": -1.0}, WorkbenchError, "tolerance must be positive"),
    ],
)
def test_bad_arguments_are_named(arguments, error, words):
    with pytest.raises(error, match=words):
        best_history(**{"P": recall(), **arguments})


# ---------------------------------------------------------------------- the policy


@settings(max_examples=30)
@given(st.one_of(timed(2), timed(3), recalls()))
def test_the_controller_over_beliefs_is_worth_the_optimum(P):
    found = best_history(P)
    assert found.policy.evaluate(exact=True).value == found.value
    assert len(found.policy) == found.beliefs


@settings(max_examples=20)
@given(pomdps(most_states=3, gammas=HALF), st.integers(0, 60))
def test_the_controller_of_alpha_vectors_is_worth_the_lower_bound(P, backups):
    found = best_history(P, max_beliefs=20, max_backups=backups)
    worth = found.policy.evaluate().value
    assert worth >= float(found.lower) - 1e-9
    assert worth <= float(found.upper) + 1e-9


@pytest.mark.slow
def test_the_tigers_controller_listens_and_then_opens():
    found = best_history(tiger(F(19, 20)), max_beliefs=50)
    policy = found.policy
    assert policy.evaluate().value == pytest.approx(found.lower, abs=1e-6)
    k = policy.start("quiet") if "quiet" in policy.P.O else policy.start(policy.P.O[0])
    assert policy.act(k, policy.P.O[0]) == {"listen": 1}
    assert policy.policy[("start", policy.P.O[0]), ("listen", "-")] == 1
    assert "controller of" in repr(policy)


def test_a_controller_says_where_no_episode_begins():
    P = gravity()
    policy = best_history(P).policy
    first = next(iter(P.omega(next(iter(P.mu)))))
    assert policy.start(first) >= 0
    other = next(o for o in P.O if o != first)
    with pytest.raises(WorkbenchError, match="begins with"):
        policy.start(other)


def test_a_time_limit_leaves_valid_bounds():
    hasty = best_history(tiger(F(19, 20)), max_beliefs=10, max_seconds=1e-6)
    long = best_history(tiger(F(19, 20)), max_beliefs=10, max_backups=300)
    assert "stopped after 1e-06 seconds" in hasty.how
    assert hasty.lower <= long.upper + 1e-9
    assert hasty.upper >= long.lower - 1e-9
    with pytest.raises(WorkbenchError, match="max_seconds must be positive"):
        best_history(tiger(), max_seconds=0)


# ---------------------------------------------------------------------- penalties


def test_the_lower_bound_is_what_the_policy_is_worth_be_there_a_large_penalty():
    """Vectors leave room for the rounding of the penalty, which the policy never pays."""
    found = best_history(forbidden(-(10**12), F(3, 100)), max_beliefs=2, max_backups=50)
    assert found.lower == pytest.approx(0.03, abs=1e-12)
    assert found.lower <= found.policy.evaluate(exact=True).value <= found.upper
    assert found.upper == pytest.approx(0.03, abs=1e-12)


@pytest.mark.parametrize("states", [[0, 1, "end"], [1, 0, "end"]])
def test_a_bound_is_found_where_every_action_may_end(states):
    small, dear = F(1, 10**4), -(10**12)
    p = {
        (0, 0): {(0, small): F(3, 8), (1, -2 * small): F(3, 8), ("end", -2 * small): F(1, 4)},
        (0, 1): {(0, -2 * small): F(7, 8), ("end", small): F(1, 8)},
        (0, 2): {(0, 3 * small): F(3, 4), ("end", 3 * small): F(1, 4)},
        (1, 0): {(0, -small): F(5, 12), ("end", 0): F(1, 4), (1, dear): F(1, 3)},
        (1, 1): {(1, dear): F(7, 8), ("end", dear): F(1, 8)},
        (1, 2): {(1, dear): F(3, 4), ("end", dear): F(1, 4)},
    }
    P = small_task("dear", lambda s, a: p[s, a], 1, A=[0, 1, 2], S=states)
    found = best_history(P, max_beliefs=100)
    assert found.gap < 1e-9 * 10**12
    assert "no bounds" not in found.how


def test_where_floats_certify_no_bound_the_best_policy_without_memory_is_left(monkeypatch):
    monkeypatch.setattr(history, "superharmonic", lambda *args, **options: None)
    monkeypatch.setattr(history, "upper_bound", lambda *args, **options: math.inf)
    found = best_history(tiger(F(9, 10)), max_beliefs=3)
    assert found.upper == math.inf
    assert "no bounds by vectors" in found.how
    assert found.lower <= found.policy.evaluate(exact=True).value


def test_the_tiger_problem_is_closed_to_the_tolerance():
    """Listing beliefs whose numbers only grow is given up early."""
    found = best_history(tasks.tiger())
    assert found.how == "more than 150 beliefs; point-based bounds after 1,032 backups"
    assert found.lower <= 19.3713683 <= found.upper
    assert found.gap < 1.7e-4
    worth = found.policy.evaluate()
    assert found.lower - 1e-9 <= worth.value <= found.upper
