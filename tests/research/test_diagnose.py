"""What theory says about agent states: each number against listing, each bound against the
truth."""

from dataclasses import replace
from fractions import Fraction
from math import isclose

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from reference_diagnosis import (
    facts_by_listing,
    observability_by_floats,
    rank_by_listing,
    windows,
)
from strategies import distributions, families, pomdps
from toy_tasks import small_task

from pomdps import float_reset, parity_check, recall4, t_maze, tiger
from workbench import augment, best_history, diagnose, uniform
from workbench.agents.beliefs import explore_beliefs
from workbench.core.errors import TooLarge
from workbench.evaluation.discrepancy import lambda_discrepancy
from workbench.research.diagnose import has_no_discrepancy
from workbench.research.information_state import (
    facts_of_beliefs,
    facts_of_states,
    information_state,
)
from workbench.research.theories import (
    READING,
    decodable_after,
    dynamics_rank,
    filter_rate,
    least_difference,
    observability,
    states_that_go_on,
    window_bound,
)

F = Fraction

# ---------------------------------------------------------------------- of the task


@given(pomdps(most_states=3))
@settings(max_examples=15)
def test_the_rank_is_that_of_all_histories_and_tests(P):
    assert dynamics_rank(P) == rank_by_listing(P, 2)


def test_ranks_that_are_known():
    assert dynamics_rank(float_reset()) == 5  # Littman, Sutton and Singh 2001
    for n in (2, 3, 4):
        ring = small_task(
            "ring",
            lambda s, a, n=n: {((s + 1) % n, 0): 1},
            0,
            A=["on"],
            omega=lambda s: {"x" if s else "y": 1},
            gamma=F(1, 2),
        )
        assert dynamics_rank(ring) == n
        assert decodable_after(ring) == n - 1


@given(st.lists(distributions(["x", "y", "z"]), min_size=2, max_size=3), st.data())
@settings(max_examples=40)
def test_two_mixtures_come_as_close_as_floats_say(rows, data):
    n = len(rows)
    left = data.draw(st.sets(st.integers(0, n - 1), min_size=1, max_size=n - 1))
    best = min(least_difference(rows, side) for side in _sides(n))
    assert isclose(best, observability_by_floats(rows, n), abs_tol=1e-9)
    assert best <= least_difference(rows, left) == least_difference(rows, set(range(n)) - left)


def _sides(n):
    return [{i for i in range(n) if k >> i & 1} for k in range(1, 2**n - 1)]


@given(pomdps(most_states=3, most_observations=3))
@settings(max_examples=30)
def test_observability_is_that_of_the_states_that_go_on(P):
    S = states_that_go_on(P)
    assume(len(S) > 1)
    found = observability(P)
    assert isclose(found, observability_by_floats([P.omega(s) for s in S], len(S)), abs_tol=1e-9)
    aliased = any(P.omega(s) == P.omega(t) for s in S for t in S if s != t)
    assert not (aliased and found > 0)


def test_ears_of_the_tiger_and_full_sight():
    half = {"l": F(1, 2), "r": F(1, 2)}

    def heard(right):
        return small_task(
            "ears",
            lambda s, a: {(s, 0): 1},
            half,
            A=["listen"],
            omega=lambda s: {o: right if o == s else 1 - right for o in "lr"},
            gamma=F(1, 2),
        )

    assert observability(heard(F(17, 20))) == F(7, 10)
    assert observability(heard(F(1, 2))) == 0
    assert observability(heard(F(1))) == 1
    many = small_task(
        "many",
        lambda s, a: {((s + 1) % 11, 0): 1},
        0,
        A=["a"],
        omega=lambda s: {s: F(1, 2), (s + 1) % 11: F(1, 2)},
        gamma=F(1, 2),
    )
    with pytest.raises(TooLarge, match="its observability is above 0"):
        observability(many)


@given(pomdps(most_states=3))
@settings(max_examples=40)
def test_decodability_is_that_of_all_windows(P):
    found = decodable_after(P)
    for L in (1, 2, 3):
        listed = all(len(states) == 1 for states in windows(P, L, 4).values())
        if found is not None and found <= L:
            assert listed
        if not listed:
            assert found is None or found > L
        # states are few: walks of four steps show every pair that walks of a length end in
        if listed and L < 3:
            assert found is not None
            assert found <= L


def test_windows_that_never_suffice():
    assert decodable_after(t_maze(2)) is None
    assert decodable_after(recall4()) == 2


def test_the_filter_of_a_task_that_forgets():
    P = _forgetful(F(3, 5), F(11, 20))
    assert filter_rate(P) == (1 - F(4, 5)) * (2 - F(9, 10))
    assert filter_rate(t_maze(2)) is None
    assert window_bound(P, F(1, 2), 3) == 4 * F(1, 8) / (1 - F(1, 2)) ** 2
    assert window_bound(P, F(1), 3) is None
    assert READING[1:] in diagnose(P).sheet().notes[-1]
    assert "our reading" in READING
    assert len(diagnose(t_maze(2)).sheet().notes) == 1  # whose theorems these are
    assert window_bound(P.with_gamma(1), F(1, 2), 3) is None


def _forgetful(stay, right):
    """Two states; it pays to guess the one that one is in."""
    return small_task(
        "forgetful",
        lambda s, a: {(t, int(s == a)): stay if t == s else 1 - stay for t in "lr"},
        {"l": F(1, 2), "r": F(1, 2)},
        A=["l", "r"],
        omega=lambda s: {o: right if o == s else 1 - right for o in "lr"},
        gamma=F(1, 2),
    )


@pytest.mark.parametrize("N", [0, 1])
def test_windows_lose_no_more_than_the_filter_allows(N):
    P = _forgetful(F(3, 5), F(11, 20))
    found = diagnose(P, f"window{N}" if N else "none", max_beliefs=50, max_seconds=0.5)
    assert found.window_bound == window_bound(P, filter_rate(P), N)
    assert found.gap[0] <= found.window_bound
    assert (
        diagnose(P, "K1", max_beliefs=50, max_seconds=0.5).window_bound is None
    )  # it forgets its actions


# ---------------------------------------------------------------------- of the agent state


@given(pomdps(most_states=2, gammas=st.sampled_from([F(1, 2), F(9, 10)])), families(1))
@settings(max_examples=8)
def test_what_theory_bounds_is_at_least_what_is_lost(P, family):
    found = diagnose(P, family, max_beliefs=40, max_seconds=0.5)
    assert found.lower <= found.upper
    assert found.gap[0] <= found.gap[1]
    if (info := found.information) is None:  # on a busy machine
        assert "information" in found.late
        return
    assert found.lower - info.value <= info.bound
    if found.uniformity is not None:
        assert found.gap[1] <= found.uniformity.bound
        assert found.lower == best_history(augment(P, family)).value
        if found.uniformity.holds:
            assert found.gap == (0, 0)
    if info.holds and info.exact:
        assert found.uniformity.holds
        assert found.discrepancy_always_zero is not False


@given(pomdps(most_states=3), families(1))
@settings(max_examples=8)
def test_facts_of_beliefs_are_those_of_histories_and_lie_within_those_of_states(P, family):
    E = augment(P, family)
    graph = explore_beliefs(E, 60)
    listed = facts_by_listing(E, 2)
    states = facts_of_states(E)
    for (o, a), facts in listed.items():
        behind = states[E.O.index(o), E.A.index(a)]
        for r, law in facts:
            assert min(x for x, _ in behind) <= r <= max(x for x, _ in behind)
            assert {z for z, _ in law} <= {
                None if z is None else E.O[z] for _, y in behind for z in y
            }
    if graph.complete:
        by_belief = facts_of_beliefs(graph)
        for (o, a), facts in listed.items():
            met = {
                (r, frozenset((None if z is None else E.O[z], x) for z, x in law.items()))
                for r, law in by_belief[E.O.index(o), E.A.index(a)]
            }
            assert facts <= met
        wide = information_state(E, facts_of_states(E), False)
        assert information_state(E, by_belief, True).eps <= wide.eps


def test_no_state_is_told_apart_and_yet_td_agrees_on_the_parity_check():
    found = diagnose(parity_check())
    assert found.gap == (F(81, 100), F(81, 100))
    assert found.discrepancy == 0
    assert found.discrepancy_always_zero is True
    assert (found.uniformity.spread, found.uniformity.bound) == (2, 20)
    assert (found.information.eps, found.information.delta) == (1, 0)
    with_coin = diagnose(parity_check(zero=F(2, 3)))
    assert with_coin.discrepancy_always_zero is False


def test_beliefs_are_an_information_state():
    found = diagnose(t_maze(2), "belief")
    assert found.information.holds
    assert found.uniformity.holds
    assert found.gap == (0, 0)
    assert found.states_behind == 1  # the sign was seen, and steps are certain


def test_full_sight_answers_every_question_with_yes():
    P = small_task(
        "seen",
        lambda s, a: {((s + (a == "go")) % 3, int(s == 2)): 1},
        0,
        A=["stay", "go"],
        omega=lambda s: {s: 1},
        gamma=F(1, 2),
    )
    found = diagnose(P)
    assert found.states_behind == 1
    assert found.information.holds
    assert found.uniformity.holds
    assert found.discrepancy_always_zero is True
    assert (found.decodable_after, found.observability, found.rank) == (1, 1, 3)


def test_lines_are_told_in_words():
    sheet = diagnose(t_maze(3), "O1").sheet()
    told = {row[0]: row[1:] for row in sheet.rows}
    assert told["Value of the best policy of the history"] == ("2.6244", "", "")
    assert told["Value of the best policy of (m, o)"] == ("2.6244", "", "0")
    assert told["How many recent steps tell the state [4]"][0] == "no number does"
    assert told["How many numbers predict all that follows [7]"][0] == str(dynamics_rank(t_maze(3)))
    assert sheet.conclusion.startswith("Nothing is lost")
    unlisted = diagnose(tiger(), max_beliefs=20, max_seconds=0.5).sheet()
    infinite = {row[0]: row[1] for row in unlisted.rows}
    assert (
        infinite["Same best q-values for all histories that end in (m, o)? [1]"]
        == "unknown: too many beliefs"
    )
    assert infinite["(m, o) predicts reward and next (m, o)? [2]"].startswith("no: at most")


def test_discrepancies_are_refuted_by_a_policy_or_proved_by_algebra():
    assert has_no_discrepancy(augment(recall4(), "none")) is False
    P = parity_check()
    assert lambda_discrepancy(P, uniform(P), exact=True) == 0
    assert has_no_discrepancy(P) is True


@pytest.mark.parametrize("unit", [F(1, 2**40), F(1), F(2**40)])
def test_bounds_that_are_apart_are_shown_in_any_unit_of_reward(unit):
    """However small rewards are, half of them is not called rounding."""
    found = diagnose(recall4().scale_rewards(unit), "none")
    assert found.gap == (unit / 2, unit / 2)
    near = replace(found, lower=float(unit), upper=float(unit) * (1 + 1e-12))
    assert " to " not in repr(near)
    far = replace(found, lower=float(unit), upper=float(unit) * 1.5)
    low, high = repr(far).rpartition("gap ")[2].split(" to ")
    assert float(high) == pytest.approx(2 * float(low), rel=1e-4)


def test_a_diagnosis_of_floats_says_how_they_are_read():
    P = recall4(gamma=F(1, 2))
    assert "decimals" in diagnose(P.scale_rewards(1.0)).sheet().notes[1]
    assert len(diagnose(P).sheet().notes) == 1
