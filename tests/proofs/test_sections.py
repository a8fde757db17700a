"""The claims of Sections 4, 5 and 5.1: spoiled certificates, and the statements on random tasks."""

from __future__ import annotations

import copy
from fractions import Fraction

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from judging import first, rejected
from reference_montecarlo import monte_carlo
from strategies import distributions, families, policies, pomdps, strange_memories
from strategies_beliefs import timed

from pomdps import gravity, recall
from proofs.section4_gravity import above, promise_gaps
from proofs.section4_ignore import ignoring
from proofs.section5_recall import behaviours, blue, rewards_by_history
from proofs.section51_shortcuts import counted_pairs, optimal_paths
from proofs.section51_targets import (
    episodes,
    error_and_bound,
    monte_carlo_limit,
    one_then_nothing,
)
from proofs.section51_td import RED
from workbench import Policy, augment, best_memoryless, evaluate, td_values, uniform
from workbench.core.shortcuts import shortcuts

# ---------------------------------------------------------------------- spoiled certificates


def test_a_wrong_value_of_a_policy_is_caught():
    c = first("S4.gravity-bit", "policy-value")
    c["value"] = str(Fraction(c["value"]) + Fraction(1, 10**9))
    assert "is worth" in rejected(c)


def test_a_changed_policy_is_caught():
    c = first("S4.gravity-none", "policy-value")
    c["policy"][0][1] = [["down", "1"]]
    assert "is worth 0" in rejected(c)


def test_a_policy_without_a_row_that_it_needs_is_caught():
    c = first("S4.gravity-bit", "policy-value")
    c["policy"] = c["policy"][1:]
    assert "no row" in rejected(c)


def test_a_bound_that_an_action_beats_is_caught():
    c = first("S4.gravity-none", "value-bound")
    c["v"][3][1] = str(Fraction(c["v"][3][1]) / 2)
    assert "promises" in rejected(c)


def test_a_lower_bound_that_is_claimed_is_caught():
    c = first("S4.gravity-none", "value-bound")
    c["bound"] = "1/2"
    assert "the bound is" in rejected(c)


@pytest.mark.parametrize("change", ["value", "missing", "extra", "n"])
def test_td_values_that_are_not_the_fixed_point_are_caught(change):
    c = first("S51.td", "td-values")
    if change == "value":
        c["q"][3][2] = "gamma**2"
    elif change == "missing":
        c["q"] = c["q"][1:]
    elif change == "extra":
        c["q"].append([c["q"][0][0], {"tuple": [3, "push"]}, "0"])
    else:
        c["n"] = 3
    assert rejected(c)


def test_histories_that_do_not_disagree_are_caught():
    c = first("S5.not-mdp", "history-dependence")
    wrong = copy.deepcopy(c)
    wrong["histories"][0][1] = "1"
    assert "the reward is 0" in rejected(wrong)
    c["histories"] = [h for h in c["histories"] if h[1] == "0"]
    assert "the same" in rejected(c)


# ---------------------------------------------------------------------- Section 4


@given(st.data())
def test_a_policy_that_ignores_its_memory_is_worth_what_it_is_worth_without_one(data):
    P = data.draw(pomdps())
    memory = data.draw(families() | strange_memories())
    E = augment(P, memory)
    pi = data.draw(policies(P))
    writes = list(dict.fromkeys(w for _, w in E.A))
    nu = {(m, o, a): data.draw(distributions(writes)) for m, o in E.O for a in P.A}
    careless = Policy.from_mapping(
        E,
        {
            (m, o): {(a, w): x * y for a, x in pi.row(o).items() for w, y in nu[m, o, a].items()}
            for m, o in E.O
        },
    )
    worth = evaluate(P, pi, exact=True).value
    assert evaluate(E, careless, exact=True).value == worth
    assert evaluate(E, ignoring(E, pi), exact=True).value == worth


@settings(max_examples=15)
@given(pomdps(most_states=3), families(most=1))
def test_the_best_deterministic_policy_with_a_memory_is_no_worse_than_without(P, family):
    without = best_memoryless(P, exact=True).value
    assert best_memoryless(augment(P, family), exact=True).value >= without


@settings(max_examples=10)
@given(st.data())
def test_no_random_policy_of_gravity_comes_near_the_optimum(data):
    P = gravity()
    pi = Policy.from_mapping(P, {o: data.draw(distributions(list(P.A))) for o in P.O})
    assert evaluate(P, pi).value < Fraction(19, 20) ** 11


@pytest.mark.parametrize(
    "gamma",
    [Fraction(7, 20), Fraction(3, 5), Fraction(7, 10), Fraction(19, 20), Fraction(999, 1000)],
)
@pytest.mark.parametrize("press", ["enter", "arrive"])
def test_the_function_above_all_values_is_above_them(gamma, press):
    P = gravity(press=press, gamma=gamma)
    for large in {gamma >= Fraction(3, 5), gamma > Fraction(7, 10)}:
        v = {s: Fraction(str(f.subs("gamma", Fraction(gamma)))) for s, f in above(large).items()}
        assert min(promise_gaps(P, v).values()) >= 0
        assert v[(0, 0), "on"] == gamma**11


# ---------------------------------------------------------------------- Section 5


def test_behaviours_are_those_of_all_policies_tried_one_by_one():
    E = augment(recall(), "B1")
    tried = {
        evaluate(E, Policy.deterministic(E, {("0", "o"): a, ("1", "o"): b}), exact=True).value
        for a in E.A
        for b in E.A
    }
    assert {Fraction(str(x)) for x in behaviours(E).values()} == tried


def test_rewards_by_history_are_what_simulated_histories_pay():
    E = augment(recall(), "OA1")
    rewards = rewards_by_history(E)
    assert sum(len(x) for x in rewards.values()) == 6 + 36 + 216
    assert rewards[((("o", 2),), "o"), (3, "push")][(1, "push"), (2, "push")] == 1


# ---------------------------------------------------------------------- Section 5.1

inside = st.fractions(Fraction(1, 50), Fraction(49, 50), max_denominator=100)


@given(st.data())
def test_every_visit_monte_carlo_converges_to_q(data):
    P = data.draw(pomdps())
    pi = data.draw(policies(P))
    found = evaluate(P, pi, exact=True)
    for o in P.O:
        for a in pi.row(o):
            assert monte_carlo(P, pi, (o, a)) == found.q[o, a]


@given(timed())
def test_walking_through_episodes_and_solving_equations_give_the_same_limits(P):
    pi = uniform(P)
    assert sum(x for x, _ in episodes(P, pi)) == 1
    for o in P.O:
        for a in P.A:
            for visits in ("every", "first"):
                limit = monte_carlo(P, pi, (o, a), visits)
                if limit is not None:
                    assert Fraction(str(monte_carlo_limit(P, pi, o, a, visits))) == limit


def test_first_visit_monte_carlo_converges_to_something_else():
    P = one_then_nothing()
    assert monte_carlo(P, uniform(P), ("o", "go"), "first") == 1
    assert (
        monte_carlo(P, uniform(P), ("o", "go"), "every")
        == Fraction(1, 2)
        == evaluate(P, uniform(P)).q["o", "go"]
    )


@given(inside, st.data())
def test_for_every_discount_every_optimal_policy_with_oa1_has_the_one_shortcut(gamma, data):
    E = augment(recall(gamma=gamma), "OA1")
    rest = data.draw(st.sampled_from(list(E.A)))
    last = data.draw(st.sampled_from(["keep", "push"]))
    empty, one, two, three = (((cell,), "o") for cell in (None, ("o", 1), ("o", 2), ("o", 3)))
    pi = Policy.deterministic(
        E, {empty: (1, "push"), one: (2, "push"), two: (3, last), three: rest}
    )
    assert evaluate(E, pi, exact=True).value == gamma**2
    (only,) = shortcuts(E, pi, exact=True)
    assert (only.o, only.a, only.kind, only.q, only.td, only.v_td) == (
        empty,
        RED,
        "strict",
        0,
        gamma,
        gamma**2,
    )


@settings(max_examples=25)
@given(inside, st.sampled_from([2, 3]), st.data())
def test_for_every_discount_every_optimal_policy_with_bits_has_three_and_four(gamma, k, data):
    E = augment(recall(gamma=gamma), f"B{k}")
    words = [m for m, _ in E.O]
    x1, x2 = data.draw(st.permutations(words[1:]))[:2]
    rows = {m: data.draw(st.sampled_from(list(E.A))) for m in words}
    rows |= {words[0]: (1, x1), x1: (2, x2), x2: (3, data.draw(st.sampled_from(words)))}
    pi = Policy.deterministic(E, {(m, "o"): action for m, action in rows.items()})
    assert evaluate(E, pi, exact=True).value == gamma**2
    found = [x.kind for x in shortcuts(E, pi, exact=True)]
    assert (found.count("strict"), found.count("weak")) == (3, 4)


def test_the_representatives_are_the_optimal_behaviours_up_to_names():
    """24 behaviours, six ways to name x1 and x2."""
    E = augment(recall(), "B2")
    optimal = {path for path, value in behaviours(E).items() if value != 0}
    assert len(optimal) == 24
    assert set(optimal_paths(E, "B2")) == {
        p for p in optimal if (p[0][1][1], p[1][1][1]) == ("01", "10")
    }
    assert counted_pairs("OA1")[0] == {(1, 0)}


@given(timed(), st.data())
def test_as_many_steps_as_an_episode_has_give_the_true_values(P, data):
    pi = data.draw(policies(P))
    true, td = evaluate(P, pi, exact=True), td_values(P, pi, n=2, exact=True)
    for o in P.O:
        for a in P.A:
            assert td.q[o, a] is None or td.q[o, a] == true.q[o, a]
            assert true.q[o, a] is None or td.q[o, a] is not None


@given(st.data())
def test_the_error_of_n_steps_is_within_its_bound(data):
    P = data.draw(pomdps())
    pi = data.draw(policies(P))
    visits = evaluate(P, pi, exact=True).visits
    assume(all(visits[s] > 0 for s in P.S if s not in P.terminal))
    for n in (1, 2, 5):
        error, bound = error_and_bound(P, pi, n)
        assert error <= bound


def test_the_blue_policy_is_that_of_figure_3():
    E = augment(recall(), "OA2")
    pi = blue(E)
    assert pi[((None, None), "o"), (1, "push")] == pi[((None, ("o", 1)), "o"), (2, "push")] == 1
    assert pi[((("o", 1), ("o", 2)), "o"), (3, "push")] == 1
