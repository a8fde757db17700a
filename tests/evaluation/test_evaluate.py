"""Exact evaluation: the paper's numbers, closed forms, twins and symmetries."""

import math
import statistics
from fractions import Fraction

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from paper_numbers import UNIFORM_Q_B1
from reference import expected_visits, q_values, value_function
from strategies import families, policies, pomdps
from toy_tasks import small_task

from pomdps import gravity, recall, recall4, short_corridor
from workbench import Policy, augment, evaluate, random_pomdp, simulate, td_values, uniform
from workbench.agents.simulate import discounted_return
from workbench.core import linear
from workbench.core.chain import exact_value
from workbench.core.errors import (
    NeverEnds,
    NotExact,
    NotSolved,
    PolicyError,
    TooLarge,
    UnknownLabel,
    WorkbenchError,
    WrongType,
)

F = Fraction


def endless():
    """Go on for ever in one of two rooms, or leave."""

    def p(s, a):
        return {(s, 1): 1} if a == "stay" else {("end", 0): 1}

    return small_task(
        "endless",
        p,
        {0: F(1, 4), 1: F(3, 4)},
        A=["stay", "leave"],
        omega=lambda s: {str(s): 1},
        gamma=F(1, 2),
    )


# ---------------------------------------------------------------------- the paper's numbers


def test_uniform_q_values_are_the_table_of_lemma_c4():
    E = augment(recall4(), "B1")
    q = evaluate(E, uniform(E), exact=True).q
    assert {(m, a): q[(m, "o"), a] for m, _ in E.O for a in E.A} == UNIFORM_Q_B1


def test_the_closed_form_of_the_short_corridor():
    x = sympy.Symbol("x")  # the probability of going right
    P = short_corridor()
    pi = Policy.from_mapping(P, {"o": {"right": x, "left": 1 - x}})
    value = evaluate(P, pi).value
    # first-step analysis by hand: v0 = -1 + x v1 + (1-x) v0, v1 = -1 + x v0 + (1-x) v2, v2 = -1 +
    # (1-x) v1
    assert sympy.simplify(value - (2 * x - 4) / (x * (1 - x))) == 0
    best = 2 - sympy.sqrt(2)
    assert sympy.simplify(sympy.diff(value, x).subs(x, best)) == 0
    assert float(value.subs(x, best)) == pytest.approx(
        -11.657, abs=1e-3
    )  # "about -11.6" in the book
    assert (
        evaluate(
            P, Policy.from_mapping(P, {"o": {"right": F(1, 2), "left": F(1, 2)}}), exact=True
        ).value
        == -12
    )
    greedy = Policy.from_mapping(P, {"o": {"right": F(19, 20), "left": F(1, 20)}})
    assert float(evaluate(P, greedy).value) == pytest.approx(
        -44.2, abs=0.1
    )  # the book: less than -44
    other = Policy.from_mapping(P, {"o": {"right": F(1, 20), "left": F(19, 20)}})
    assert float(evaluate(P, other).value) == pytest.approx(-82.1, abs=0.1)  # and less than -82


def test_the_best_path_of_gravity_is_worth_its_eleventh_power():
    E = augment(gravity(), "B1")
    there = {(x, 0): "right" for x in range(4)}
    pi = Policy.deterministic(
        E,
        {
            **{(m, o): ("up", m) for m, o in E.O},
            **{("0", o): (a, "0") for o, a in there.items()},
            ("0", (3, 0)): ("right", "1"),
            **{("1", (x, 0)): ("left", "1") for x in range(1, 5)},
        },
    )
    assert evaluate(E, pi, exact=True).value == F(19, 20) ** 11


def test_symbols_in_the_discount():
    g = sympy.Symbol("gamma")
    P = augment(recall(gamma=g), "OA1")
    empty, one, two, three = (
        ((None,), "o"),
        ((("o", 1),), "o"),
        ((("o", 2),), "o"),
        ((("o", 3),), "o"),
    )
    blue = Policy.deterministic(
        P, {empty: (1, "push"), one: (2, "push"), two: (3, "push"), three: (3, "push")}
    )
    E = evaluate(P, blue)
    assert E.q[empty, (2, "push")] == 0
    assert E.q[empty, (1, "push")] == E.v_given_o[empty] == g**2
    assert not E.reached[three]
    assert E.q[three, (1, "keep")] is None


# ---------------------------------------------------------------------- twins


def test_what_is_reached_too_seldom_for_floats_is_undefined():
    """Room 200 is reached with probability 100^-200, a number in rationals and zero in floats."""
    P = small_task(
        "rooms",
        lambda s, a: {(s + 1 if a == "on" and s < 200 else "end", 1): 1},
        0,
        A=["on", "leave"],
        omega=lambda s: {s: 1},
    )
    pi = Policy.from_mapping(P, {o: {"on": F(1, 100), "leave": F(99, 100)} for o in P.O})
    floats, exact = evaluate(P, pi), evaluate(P, pi, exact=True)
    assert exact.q[200, "on"] == 1
    assert math.isnan(floats.q[200, "on"])
    assert floats.q[100, "leave"] == 1


@given(pomdps(), st.sampled_from(["visits", "discounted"]), st.data())
def test_the_dictionary_twin_agrees_exactly(P, weights, data):
    pi = data.draw(policies(P))
    E = evaluate(P, pi, exact=True, weights=weights)
    v = value_function(P, pi, F(P.gamma))
    d = expected_visits(P, pi, F(P.gamma) if weights == "discounted" else F(1))
    assert {s: E.v[s] for s in P.S} == v
    assert E.value == sum(x * v[s] for s, x in P.mu.items())
    assert {s: E.visits[s] for s in d} == d
    q = q_values(P, pi, weights)
    assert {(o, a): E.q[o, a] for o in P.O for a in P.A if E.reached[o]} == q
    for o in P.O:
        share = E.s_given_o.row(o)
        total = sum(d[s] * P.omega(s).get(o, 0) for s in d)
        assert E.reached[o] == (total != 0)
        for s in d:
            if total and o in P.omega(s):
                assert share[s] == E.s_given_o[o, s] == d[s] * P.omega(s)[o] / total


@given(pomdps(most_states=3, most_observations=1), st.data())
def test_a_symbolic_policy_contains_every_policy(P, data):
    letters = sympy.symbols("x0:8")
    rows, values = {}, {}
    pi = data.draw(policies(P))
    for i, o in enumerate(P.O):
        *first, last = P.A
        rows[o] = {a: letters[i * len(P.A) + j] for j, a in enumerate(first)}
        values.update({rows[o][a]: sympy.Rational(str(pi[o, a])) for a in first})
        rows[o][last] = 1 - sum(rows[o].values())
    symbolic = evaluate(P, Policy.from_mapping(P, rows), exact=True)
    exact = evaluate(P, pi, exact=True)
    assert sympy.sympify(symbolic.value).subs(values) == sympy.Rational(str(exact.value))
    for o in P.O:
        for a in P.A:
            if exact.reached[o]:
                assert sympy.sympify(symbolic.q[o, a]).subs(values) == sympy.Rational(
                    str(exact.q[o, a])
                )


@settings(max_examples=5)
@given(pomdps(most_states=3), families(1), st.data())
def test_simulated_means_lie_within_their_confidence_interval(P, family, data):
    E = augment(P, family)
    pi = data.draw(policies(E))
    returns = [
        float(discounted_return(steps, E.gamma)) for steps in simulate(E, pi, seed=1, episodes=400)
    ]
    spread = statistics.stdev(returns) / math.sqrt(len(returns))
    assert abs(statistics.fmean(returns) - evaluate(E, pi).value) <= 4.5 * spread + 1e-9


# ---------------------------------------------------------------------- symmetries


def test_the_long_run_of_a_continuing_task_by_hand():
    """Two states, p(0 -> 1) = 1/3, p(1 -> 0) = 1/2: shares 3/5 and 2/5; reward 1 for being in 1."""
    move = {0: {(1, 0): F(1, 3), (0, 0): F(2, 3)}, 1: {(0, 1): F(1, 2), (1, 1): F(1, 2)}}
    P = small_task("two", lambda s, a: move[s], 0, A=["go"], gamma=F(9, 10))
    for exact in (True, False):
        E = evaluate(P, uniform(P), exact=exact, weights="stationary")
        assert E.visits[0] == pytest.approx(F(3, 5))
        assert E.average_reward == pytest.approx(F(2, 5))
        assert E.q["o", "go"] == pytest.approx(
            F(3, 5) * E.q_state[0, "go"] + F(2, 5) * E.q_state[1, "go"]
        )


def test_several_recurrent_classes_are_weighted_by_how_often_they_are_entered():
    P = endless()
    stay = Policy.deterministic(P, {"0": "stay", "1": "stay"})
    for exact in (True, False):
        E = evaluate(P, stay, exact=exact, weights="stationary")
        assert (E.visits[0], E.visits[1]) == (F(1, 4), F(3, 4))
        assert E.value == 2


# ---------------------------------------------------------------------- what is not defined


def test_a_policy_that_may_not_end_has_a_value_but_no_visits():
    P = endless()
    pi = Policy.deterministic(P, {"0": "stay", "1": "leave"})
    for exact in (True, False):
        E = evaluate(P, pi, exact=exact)
        assert E.value == F(1, 4) * 2
        assert "never ends from s=0" in E.note
        assert E.reached["0"]
        undefined = [E.q["0", "stay"], E.s_given_o["0", 0], E.v_given_o["0"]]
        assert all(x is None or math.isnan(x) for x in undefined)
        assert E.visits[0] is None if exact else math.isinf(E.visits[0])
        assert E.visits[1] == F(3, 4)
        assert E.q["1", "leave"] == 0
        assert evaluate(P, pi, exact=exact, weights="discounted").q["0", "stay"] == 2


def test_gamma_one_needs_a_policy_that_ends():
    P = endless().with_gamma(1)
    with pytest.raises(NeverEnds, match="never ends from s=0, which it visits"):
        evaluate(P, Policy.deterministic(P, {"0": "stay", "1": "leave"}))
    with pytest.raises(NeverEnds, match="s=1"):
        evaluate(P, Policy.deterministic(P, {"0": "leave", "1": "stay"}), exact=True)


def test_gamma_one_forgives_states_that_are_not_visited():
    def p(s, a):
        if s == "trap":
            return {("trap", 1): 1}
        return {("trap", 0): 1} if a == "fall" else {("end", 1): 1}

    P = small_task("trap", p, "start", A=["fall", "walk"], omega=lambda s: {s: 1})
    pi = Policy.deterministic(P, {"start": "walk", "trap": "walk"})
    for exact in (True, False):
        E = evaluate(P, pi, exact=exact)
        assert E.value == 1
        assert E.q["start", "walk"] == 1
        undefined = [
            E.v["trap"],
            E.q["start", "fall"],
            E.q_state["start", "fall"],
            E.q["trap", "walk"],
        ]
        assert all(x is None or math.isnan(x) for x in undefined)


# ---------------------------------------------------------------------- large models


def test_krylov_and_direct_solutions_agree_and_are_certified(monkeypatch):
    E = augment(gravity(), "O1")
    pi = Policy.random(E, 3)
    krylov = evaluate(E, pi)
    monkeypatch.setattr(linear, "ELIMINATED", len(E.S))
    direct = evaluate(E, pi)
    assert direct.method == "v: elimination, weights: elimination"
    assert krylov.method == "v: bicgstab, weights: bicgstab"
    assert krylov.error < 1e-10
    assert krylov.value == pytest.approx(direct.value, abs=2e-11)
    assert np.max(np.abs(krylov.v.array - direct.v.array)) <= krylov.error + direct.error
    off = np.abs(krylov.visits.array / direct.visits.array - 1)
    assert (off <= krylov.visits_error.array + direct.visits_error.array + 1e-15).all()


def test_a_solver_that_misses_is_replaced_and_never_believed(monkeypatch):
    E = augment(gravity(), "O1")
    pi = Policy.random(E, 3)
    right = evaluate(E, pi).value
    monkeypatch.setattr(linear.Krylov, "__call__", lambda self, y, accuracy=0: 0.5 * y)
    fallen_back = evaluate(E, pi)
    assert fallen_back.method.startswith("v: elimination, ")
    assert fallen_back.value == pytest.approx(right, abs=1e-12)
    monkeypatch.setattr(linear, "ELIMINATED_AT_LAST", 0)
    with pytest.raises(NotSolved, match="singular in floats"):
        evaluate(E, pi)


def test_a_model_too_large_for_exact_arithmetic_says_so():
    E = augment(gravity(), "O2")
    with pytest.raises(
        TooLarge,
        match=r"gravity×O2 has 30,050 states, 27,648 of them in one strongly .* exact=False",
    ):
        evaluate(E, uniform(E), exact=True)


# ---------------------------------------------------------------------- bad input


def test_bad_arguments_are_refused_by_name():
    P, Q = recall(), recall4()
    with pytest.raises(WrongType, match="needs a POMDP as P, not 'recall'"):
        evaluate("recall", uniform(P))
    with pytest.raises(WrongType, match="needs a Policy"):
        evaluate(P, {"o": 1})
    with pytest.raises(PolicyError, match="other actions than recall"):
        evaluate(P, uniform(Q))
    with pytest.raises(
        WorkbenchError, match=r"weights must be one of visits, .*, first-visit, not 'mean'"
    ):
        evaluate(P, uniform(P), weights="mean")
    with pytest.raises(NotExact, match="this one was given as floats"):
        evaluate(P, Policy.random(P, 0), exact=True)
    with pytest.raises(NotExact, match="gamma of recall was given as floats"):
        evaluate(recall(gamma=0.9), uniform(P), exact=True)
    E = evaluate(P, uniform(P))
    with pytest.raises(UnknownLabel, match="unknown label 4"):
        _ = E.q["o", 4]
    with pytest.raises(WrongType, match=r"\[row, column\]"):
        _ = E.q["o"]


def test_results_print_with_labels():
    P = recall4()
    E = evaluate(P, uniform(P), exact=True)
    assert repr(E).splitlines()[0] == "recall4: value -41/64; q(o, a) with weights='visits'"
    assert E.q.to_frame().loc["o", 1] == E.q["o", 1]
    assert ">q(o, a)</th>" in E._repr_html_()
    assert E.v.to_frame().loc["s*", "v"] == F(-41, 64)
    augmented_frame = evaluate(augment(P, "B1"), uniform(augment(P, "B1"))).to_frame()
    assert augmented_frame.columns[1] == (0, "1")
    assert augmented_frame.index[0] == ("0", "o")
    assert E.s_given_o.to_frame().shape == (6, 3)


def test_a_task_that_never_pays_has_values_of_zero_and_no_warning():
    """Observations without visits have no error bound, and 0 times infinity must not be asked
    for."""
    E = augment(recall().scale_rewards(0), "OA1")
    found = evaluate(E, Policy.deterministic(E, {}, otherwise=(1, "keep")))
    assert found.value == 0
    assert math.isinf(found.q_error[((("o", 1),), "o"), (1, "keep")])
    assert found.q_error[((None,), "o"), (1, "keep")] < 1e-12


# ---------------------------------------------------------------------- traps


@given(
    st.integers(0, 10**6),
    st.sampled_from([F(1, 2), F(1), sympy.Symbol("g")]),
    st.sampled_from(["visits", "discounted", "stationary"]),
    st.sampled_from(["uniform", "stay", "symbol"]),
)
@settings(max_examples=25)
def test_states_that_absorb_without_being_terminal_are_valued_or_refused(
    seed, gamma, weights, kind
):
    """A trap, and staying in a dark room, visited or not: a number, undefined, or `NeverEnds`."""
    Q = random_pomdp(seed, states=4, observations=2, actions=2, ending=F(0), emissions=1)
    traps = {s for s in range(4) if (seed >> s) % 3 == 0}

    def p(s, a):
        if s in traps or (a == 0 and s == 3):
            return {(s, 1): 1}
        return {(t if t != 2 else "end", r): x for (t, r), x in Q.p(s, a).items()}

    P = small_task("traps", p, 0, omega=Q.omega, gamma=gamma, S=[*range(4), "end"])
    x = sympy.Symbol("x")
    pi = {
        "uniform": uniform(P),
        "stay": Policy.deterministic(P, {}, otherwise=0),
        "symbol": Policy.from_mapping(P, {o: {0: x, 1: 1 - x} for o in P.O}),
    }[kind]
    for how in ({}, {"n": 1}, {"n": 3}, {"lam": F(1, 2)}, {"lam": 1}):
        for exact in (True, False):
            try:
                if how:
                    found = td_values(P, pi, exact=exact, weights=weights, **how)
                else:
                    found = evaluate(P, pi, exact=exact, weights=weights)
            except NeverEnds:
                assert gamma == 1
            else:
                assert found.q.raw.shape == (len(P.O), 2)


def test_what_has_no_discounted_weight_is_undefined_in_every_arithmetic():
    """With gamma 0 nothing after the first step counts: the second observation has no P(s|o)."""
    P = small_task(
        "two steps",
        lambda s, a: {("late", 1): 1} if s == "early" else {("end", 2): 1},
        "early",
        A=["go"],
        omega=lambda s: {s: 1},
        gamma=0,
    )
    exact = evaluate(P, uniform(P), exact=True, weights="discounted")
    floats = evaluate(P, uniform(P), weights="discounted")
    assert exact.q["early", "go"] == floats.q["early", "go"] == 1
    assert exact.q["late", "go"] is None
    assert np.isnan(floats.q["late", "go"])


@settings(max_examples=25)
@given(st.data())
def test_the_value_from_the_states_that_are_reached_is_that_from_all(data):
    P = data.draw(pomdps())
    pi = data.draw(policies(P, deterministic=data.draw(st.booleans())))
    assert exact_value(P, pi) == evaluate(P, pi, exact=True).value
