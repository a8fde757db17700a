"""TD fixed points: the paper's numbers in gamma, limits that are Monte Carlo, the slow twin, what
is undefined."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from reference_td import td_by_sweeps
from strategies import policies, pomdps
from toy_tasks import a_coin_known_to_three_digits, small_task, task_like

from pomdps import load_unload, recall, recall_variant
from workbench import POMDP, Policy, augment, evaluate, uniform
from workbench.core import chain
from workbench.core.errors import NeverEnds, NotExact, TooLarge, WorkbenchError, WrongType
from workbench.core.td import td_values
from workbench.evaluation.discrepancy import discrepancy_loss, lambda_discrepancy

EMPTY, ONE, TWO, THREE = (((cell,), "o") for cell in (None, ("o", 1), ("o", 2), ("o", 3)))
GAMMA = sympy.Symbol("gamma", positive=True)
HALF = Fraction(1, 2)


def blue(E: POMDP) -> Policy:
    """The optimal policy of the paper's Figure 3: 1 push, 2 push, 3 push."""
    return Policy.deterministic(
        E, {EMPTY: (1, "push"), ONE: (2, "push"), TWO: (3, "push"), THREE: (1, "keep")}
    )


def same(exact, floats) -> bool:
    """An exact table and a table of floats agree, undefined entries included."""
    ours = np.array([[np.nan if x is None else float(x) for x in row] for row in exact])
    return np.allclose(ours, floats, rtol=1e-9, atol=1e-9, equal_nan=True)


# ---------------------------------------------------------------------- known answers


def test_the_papers_shortcut_has_true_value_0_and_td_value_gamma_where_v_is_gamma_squared():
    E = augment(recall(gamma=GAMMA), "OA1")
    td = td_values(E, blue(E))
    assert evaluate(E, blue(E)).q[EMPTY, (2, "push")] == 0
    assert td.q[EMPTY, (2, "push")] == GAMMA
    assert td.v[EMPTY] == GAMMA**2
    assert td.q[TWO, (3, "push")] == 1
    assert td.value == evaluate(E, blue(E)).value == GAMMA**2


def test_entries_that_lead_to_observations_never_visited_are_undefined():
    E = augment(recall(gamma=GAMMA), "OA1")
    td = td_values(E, blue(E))
    assert td.q[EMPTY, (3, "push")] is None  # the memory ((o, 3),) is never seen
    assert all(x is None for x in td.q.row(THREE).values())
    assert td.v[THREE] is None
    assert td.reached[TWO]
    assert not td.reached[THREE]


def test_what_n_steps_and_lambda_read_decides_what_is_undefined():
    E = augment(recall(), "OA1")
    pair = (
        EMPTY,
        (2, "push"),
    )  # then pi does 3 push and the memory is ((o, 3),), which it never sees
    assert td_values(E, blue(E), n=1, exact=True).q[pair] == Fraction(19, 20)
    assert td_values(E, blue(E), n=2, exact=True).q[pair] is None
    assert td_values(E, blue(E), lam=HALF, exact=True).q[pair] is None
    assert td_values(E, blue(E), n=3, exact=True).q[pair] == 0  # the episode is over by then
    assert np.isnan(td_values(E, blue(E), n=2).q[pair])


def test_td_lambda_with_a_symbol_for_lambda_interpolates_between_one_step_and_monte_carlo():
    E = augment(recall(gamma=GAMMA), "OA1")
    lam = sympy.Symbol("lambda")
    mixed = td_values(E, blue(E), lam=lam).q[EMPTY, (1, "keep")]
    assert sympy.expand(mixed - GAMMA**3 * (1 - lam**2)) == 0
    assert mixed.subs(lam, 0) == td_values(E, blue(E), n=1).q[EMPTY, (1, "keep")] == GAMMA**3
    assert mixed.subs(lam, 1) == evaluate(E, blue(E)).q[EMPTY, (1, "keep")] == 0


# ---------------------------------------------------------------------- the identity of the return


@settings(max_examples=25)
@given(st.data())
def test_with_discounted_weights_one_step_td_promises_the_true_return(data):
    P = data.draw(pomdps())
    pi = data.draw(policies(P))
    assert (
        td_values(P, pi, exact=True, weights="discounted").value
        == evaluate(P, pi, exact=True).value
    )


@pytest.mark.parametrize("how", [{"n": 2}, {"lam": HALF}])
def test_the_identity_is_one_of_one_step_td_only(how):
    E = augment(recall_variant(gamma=HALF), "OA1")
    promised = td_values(E, uniform(E), exact=True, weights="discounted", **how).value
    assert promised != evaluate(E, uniform(E), exact=True).value


def test_with_undiscounted_weights_td_promises_another_return():
    E = augment(recall(gamma=GAMMA), "none")
    pi = uniform(E)
    true = evaluate(E, pi).value
    assert sympy.expand(true - GAMMA**2 / 27) == 0
    promised = td_values(
        E, pi, weights="visits"
    ).value  # v = 1/81 + (2/3) gamma v, whatever the order of the steps
    assert sympy.cancel(promised - Fraction(1, 81) / (1 - sympy.Rational(2, 3) * GAMMA)) == 0
    assert sympy.cancel(promised - true) != 0
    assert sympy.cancel(promised - true).subs(GAMMA, 1) == 0
    assert sympy.cancel(td_values(E, pi, weights="discounted").value - true) == 0


# ---------------------------------------------------------------------- limits


@settings(max_examples=25)
@given(st.data())
def test_lambda_one_is_what_evaluate_says(data):
    P = data.draw(pomdps())
    pi = data.draw(policies(P))
    weights = data.draw(st.sampled_from(["visits", "discounted", "stationary"]))
    true = evaluate(P, pi, exact=True, weights=weights)
    td = td_values(P, pi, lam=1, exact=True, weights=weights)
    assert (td.q.array == true.q.array).all()
    assert (td.v.array == true.v_given_o.array).all()


@settings(max_examples=25)
@given(st.data())
def test_where_observations_are_states_every_target_gives_the_true_values(data):
    P = data.draw(pomdps())
    seen = task_like(P, "seen", omega=lambda s: {s: 1}, S=P.S)
    pi = data.draw(policies(seen))
    true = evaluate(seen, pi, exact=True).q.array
    for how in ({"n": 1}, {"n": 3}, {"lam": HALF}):
        td = td_values(seen, pi, exact=True, **how).q.array
        defined = td != None  # noqa: E711
        assert (td[defined] == true[defined]).all()
    assert lambda_discrepancy(seen, pi, exact=True) == 0


# ---------------------------------------------------------------------- the slow twin


@settings(max_examples=25)
@given(st.data(), st.integers(1, 4), st.sampled_from(["visits", "discounted"]))
def test_n_step_td_is_where_repeated_expected_updates_end(data, n, weights):
    P = data.draw(pomdps(most_states=3))
    pi = data.draw(policies(P))
    slow = td_by_sweeps(P, pi, n=n, discounted=weights == "discounted")
    assert same(td_values(P, pi, n=n, exact=True, weights=weights).q.array, slow)


@settings(max_examples=12)
@given(
    st.data(),
    st.sampled_from([0, Fraction(1, 4), HALF, Fraction(3, 4)]),
    st.sampled_from(["visits", "discounted"]),
)
def test_td_lambda_is_where_repeated_expected_updates_end(data, lam, weights):
    P = data.draw(pomdps(most_states=3))
    pi = data.draw(policies(P))
    slow = td_by_sweeps(P, pi, lam=float(lam), discounted=weights == "discounted")
    assert same(td_values(P, pi, lam=lam, exact=True, weights=weights).q.array, slow)


# ---------------------------------------------------------------------- lambda discrepancy


def test_lambda_discrepancy_is_the_visit_weighted_norm_of_the_difference():
    E = augment(recall(), "OA1")
    pi = uniform(E)
    one, other = td_values(E, pi, lam=0).q.raw, evaluate(E, pi).q.raw
    visits = evaluate(E, pi).visits.raw
    rho = np.zeros(len(E.O))
    np.add.at(rho, E.omega.o, np.where(E.terminal.mask, 0, visits))
    weight = (rho / rho.sum())[:, None] * pi.prob.floats
    d = np.abs(one - other)
    assert lambda_discrepancy(E, pi) == pytest.approx(np.sqrt((weight * d**2).sum()))
    assert lambda_discrepancy(E, pi, norm=1) == pytest.approx((weight * d).sum())
    assert lambda_discrepancy(E, pi, norm=np.inf) == pytest.approx(d.max())
    exact = [lambda_discrepancy(E, pi, norm=norm, exact=True) for norm in (1, 2, np.inf)]
    assert isinstance(exact[0], Fraction)
    assert [float(x) for x in exact] == pytest.approx(
        [lambda_discrepancy(E, pi, norm=n) for n in (1, 2, np.inf)]
    )


def test_a_policy_that_never_ends_has_no_visit_weighted_norm():
    P = load_unload()
    for exact in (False, True):
        with pytest.raises(NeverEnds, match="pass weights='discounted' or 'stationary'"):
            lambda_discrepancy(P, uniform(P), exact=exact)


def test_the_blue_policy_has_no_lambda_discrepancy_although_it_has_a_shortcut():
    E = augment(recall(gamma=GAMMA), "OA1")
    assert lambda_discrepancy(E, blue(E)) == 0  # the norm sees only what pi itself does


# ---------------------------------------------------------------------- bad input, undefined fixed
# points


def endless(gamma) -> POMDP:
    """From `start` one action ends, the other goes round for ever."""
    table = {
        ("start", "stop"): ("end", 1),
        ("start", "on"): ("round", 0),
        ("round", "stop"): ("round", 1),
    }
    table["round", "on"] = "round", 1
    return small_task(
        "endless",
        lambda s, a: {table[s, a]: 1},
        "start",
        A=["stop", "on"],
        omega=lambda s: {s: 1},
        gamma=gamma,
    )


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("how", [{"n": 1}, {"n": 2}, {"lam": HALF}])
def test_a_fixed_point_that_does_not_exist_is_refused_by_name(how, exact):
    P = endless(1)
    pi = Policy.deterministic(P, {"start": "on", "round": "on"})
    with pytest.raises(NeverEnds, match="o=round"):
        td_values(P, pi, exact=exact, weights="stationary", **how)


def test_where_visits_are_infinite_td_values_are_undefined_and_spread_to_what_reads_them():
    P = endless(HALF)
    pi = Policy.deterministic(P, {"start": "on", "round": "on"})
    td = td_values(P, pi, exact=True)
    assert td.v["round"] is None
    assert td.v["start"] is None
    assert td.value is None
    assert td.q["start", "stop"] == 1
    assert td_values(P, pi, exact=True, weights="discounted").v["round"] == 2


def test_gamma_zero_reads_nothing():
    E = augment(recall(gamma=0), "OA1")
    td = td_values(E, blue(E), exact=True)
    assert td.q[EMPTY, (3, "push")] == 0
    assert td.q[TWO, (3, "keep")] == 1


@pytest.mark.parametrize(
    ("how", "error", "message"),
    [
        ({"n": 0}, WorkbenchError, "at least 1"),
        ({"n": 1.5}, WrongType, "number of steps"),
        ({"n": True}, WrongType, "number of steps"),
        ({"lam": 1.2}, WorkbenchError, r"\[0, 1\]"),
        ({"lam": "x"}, WrongType, "not a number"),
        ({"n": 2, "lam": 0.5}, WorkbenchError, "not both"),
        ({"lam": 0.5, "exact": True}, NotExact, "0.5"),
        ({"weights": "none"}, WorkbenchError, "weights"),
    ],
)
def test_bad_arguments_are_named(how, error, message):
    P = recall()
    with pytest.raises(error, match=message):
        td_values(P, uniform(P), **how)


def test_exact_needs_an_exact_policy_and_a_known_norm():
    P = recall()
    with pytest.raises(NotExact, match="policy"):
        td_values(P, Policy.random(P, seed=0), exact=True)
    with pytest.raises(WorkbenchError, match="norm"):
        lambda_discrepancy(P, uniform(P), norm=3)


def test_results_print_with_labels():
    E = augment(recall(), "OA1")
    text = repr(td_values(E, blue(E), exact=True))
    assert text.startswith("recall×OA1: one-step TD, weights='visits'")
    assert "19/20" in text
    assert "TD(1/2)" in repr(td_values(E, blue(E), lam=HALF))
    assert td_values(E, blue(E)).to_frame().shape == (4, 6)
    assert "<table>" in td_values(E, blue(E))._repr_html_()


@given(pomdps(most_states=3), st.data())
def test_the_published_loss_weighs_observations_alike(P, data):
    pi = data.draw(policies(P))
    zero, one = (td_values(P, pi, lam=x, exact=True, weights="discounted") for x in (0, 1))
    met = [o for o in P.O if one.reached[o]]
    by_hand = sum(
        Fraction(1, len(met)) * pi[o, a] * (one.q[o, a] - zero.q[o, a]) ** 2
        for o in met
        for a in P.A
        if pi[o, a]
    )
    assert discrepancy_loss(P, pi, exact=True) == by_hand
    assert discrepancy_loss(P, pi) == pytest.approx(float(by_hand), abs=1e-10)


# ---------------------------------------------------------------------- what floats can tell


def slow(escape: Fraction) -> POMDP:
    """Two states that are seen as such, left for good with a small chance."""
    stay = 1 - escape
    return small_task(
        "slow",
        lambda s, a: {
            (1 - s, Fraction(s + 1, 7)): stay / 3,
            (s, 0): 2 * stay / 3,
            ("end", 0): escape,
        },
        0,
        A=[0],
        omega=lambda s: {s: 1},
    )


@pytest.mark.parametrize("norm", [1, 2, np.inf])
@pytest.mark.parametrize("digits", [1, 6, 10, 14])
def test_a_norm_in_floats_is_right_however_long_episodes_are(digits, norm):
    P = slow(Fraction(1, 10**digits))
    size = max(evaluate(P, uniform(P), exact=True).q[o, 0] for o in (0, 1))
    assert lambda_discrepancy(P, uniform(P), norm=norm, exact=True) == 0
    found = lambda_discrepancy(P, uniform(P), norm=norm)
    assert found <= found.error + 0 <= 1e-6 * size
    pi = Policy.random(P, 0)  # in floats, so that rationals do not help
    found = lambda_discrepancy(P, pi, norm=norm)  # observations are states
    assert found <= found.error <= 1e-10 * size


def two_rooms(escape: Fraction | float) -> POMDP:
    """Two rooms that look alike, one of which pays."""
    return small_task(
        "two rooms", lambda s, a: {(1 - s, s): 1 - escape, ("end", 0): escape}, 0, A=[0]
    )


@pytest.mark.parametrize("digits", [1, 4, 8, 12])
def test_differences_of_large_values_are_within_their_bounds(digits):
    P = two_rooms(Fraction(1, 10**digits))
    for measure in (lambda_discrepancy, discrepancy_loss):
        exact, found = (measure(P, uniform(P), exact=e) for e in (True, False))
        assert abs(float(exact) - found) <= found.error + 1e-15
        assert found.error < 1e-5 * max(float(exact), 1)


@pytest.mark.parametrize("digits", [2, 6, 10])
def test_differences_of_values_of_floats_lose_what_the_values_lose_and_no_more(digits):
    """A row of floats sums to one: how long a room is kept is as right as how soon it is left."""
    P = two_rooms(Fraction(1, 10**digits))
    for measure in (lambda_discrepancy, discrepancy_loss):
        exact, found = (
            measure(P, uniform(P), exact=True),
            measure(two_rooms(10.0**-digits), uniform(P)),
        )
        assert abs(float(exact) - found) <= found.error <= 2e-14 * 10**digits


@pytest.mark.parametrize("as_floats", [False, True])
@pytest.mark.parametrize("lam", [Fraction(1, 10), Fraction(1, 2), Fraction(99, 100)])
def test_bounds_of_lambda_targets_do_not_grow_with_the_length_of_an_episode(lam, as_floats):
    for digits in (3, 6, 12):
        P = two_rooms(Fraction(1, 10**digits))
        exact = td_values(P, uniform(P), lam=lam, exact=True)
        found = td_values(two_rooms(10.0**-digits) if as_floats else P, uniform(P), lam=lam)
        off = abs(exact.q["o", 0] - Fraction(found.q["o", 0]))
        assert off <= found.q_error["o", 0] < 2e-13 * float(exact.q["o", 0])


def test_ten_thousand_steps_are_next_to_monte_carlo_and_a_billion_are_refused():
    P = two_rooms(Fraction(1, 100))
    long = td_values(P, uniform(P), n=10**4)
    true = evaluate(P, uniform(P), exact=True)
    assert abs(true.q["o", 0] - Fraction(long.q["o", 0])) <= long.q_error["o", 0] < 1e-8
    with pytest.raises(TooLarge, match="take a smaller n"):
        td_values(P, uniform(P), n=10**9)


def test_a_chance_of_leaving_near_rounding_costs_no_digits():
    e = Fraction(1, 10**15)
    P = small_task(
        "very slow", lambda s, a: {(0, 1): 1 - e, ("end", 0): e}, 0, A=[0], omega=lambda s: {s: 1}
    )
    for how in ({}, {"n": 3}, {"lam": HALF}):
        found = td_values(P, uniform(P), **how)
        assert td_values(P, uniform(P), exact=True, **how).q[0, 0] == 10**15 - 1
        assert abs(Fraction(found.q[0, 0]) - 10**15 + 1) <= found.q_error[0, 0] < 1e-9 * 10**15


def test_rewards_that_cancel_are_in_the_bound_of_lambda_targets():
    """Floats stand for all numbers that round to them."""

    def coins(number) -> POMDP:
        def p(s, a):
            if s == 0:
                return {("end", number(0)): number(1)} if a == 0 else {(1, number(0)): number(1)}
            large = Fraction(10**15)
            return {("end", number(r)): number(HALF) for r in (large + Fraction(3, 7), -large)}

        return small_task(
            "coins",
            p,
            {0: number(1)},
            omega=lambda s: {"over" if s == "end" else "o": number(1)},
            gamma=number(1),
        )

    exact, floats = coins(Fraction), coins(float)
    for lam in (0, Fraction(1, 4), HALF, 1):
        one, other = (
            td_values(P, Policy.deterministic(P, {"o": 0}), lam=lam, exact=P is exact)
            for P in (exact, floats)
        )
        off = abs(one.q["o", 1] - Fraction(other.q["o", 1]))
        assert off <= other.q_error["o", 1]


def test_exact_losses_of_long_fractions_are_found():
    long = 10**90
    P = small_task(
        "long",
        lambda s, a: {(s + 1, Fraction(s * s + 1, long + 9 + s)): 1},
        0,
        A=[0],
        omega=lambda s: {s // 2: 1},
        gamma=HALF,
        terminal={4},
    )
    assert isinstance(discrepancy_loss(P, uniform(P), exact=True), Fraction)
    root = lambda_discrepancy(P, uniform(P), exact=True, weights="discounted")
    found = lambda_discrepancy(P, uniform(P), weights="discounted")
    assert float(root) == pytest.approx(found, rel=1e-9, abs=0)


def test_what_is_endless_is_said_of_td_values_too():
    P = small_task("loop", lambda s, a: {(s, 1): 1}, 0, A=[0], omega=lambda s: {s: 1}, gamma=HALF)
    for exact in (True, False):
        found = td_values(P, uniform(P), exact=exact)
        assert "never ends from s=0" in found.note
        assert found.note in repr(found)
        assert found.note.split(":")[0] in found._repr_html_()


@pytest.mark.parametrize("how", [{}, {"n": 2}, {"n": 9}, {"lam": HALF}, {"lam": 1}])
def test_bounds_are_no_larger_than_what_a_policy_known_to_three_digits_may_cost(how, monkeypatch):
    """A coin says whether to stop with -1 or to go on with 1: the worst of all policies that round
    to it is off by as much as the bound says, so that half a bound would be no bound."""
    monkeypatch.setattr(chain, "UNIT", 1e-3)  # what a probability of a policy may be off by
    P, known, worst = a_coin_known_to_three_digits()
    rough = td_values(P, known, **how)
    true = td_values(P, worst, exact=True, **how)
    assert true.v[0] - Fraction(rough.v[0]) <= rough.error < 1.5 * float(true.v[0])
    off = true.q[0, "go"] - Fraction(rough.q[0, "go"])
    assert off <= rough.q_error[0, "go"] < 1.5 * float(off)


@given(st.data())
def test_the_promised_return_is_within_its_bound(data):
    P = data.draw(pomdps())
    pi = data.draw(policies(P))
    exact, floats = (td_values(P, pi, exact=e, weights="stationary") for e in (True, False))
    assert abs(exact.value - Fraction(floats.value)) <= floats.error


@pytest.mark.parametrize("exact", [False, True])
def test_shares_of_infinite_visits_are_undefined(exact):
    P = small_task(
        "trap",
        lambda s, a: {("x", 1): HALF, ("end", 0): HALF} if s == "s" else {("x", 1): 1},
        "s",
        A=["go"],
        omega=lambda s: {s: 1},
        gamma=Fraction(9, 10),
    )
    found = td_values(P, uniform(P), exact=exact)
    assert all(x is None or math.isnan(x) for x in found.share.array)
    discounted = td_values(P, uniform(P), weights="discounted", exact=exact)
    assert discounted.share["s"] == pytest.approx(2 / 11)
