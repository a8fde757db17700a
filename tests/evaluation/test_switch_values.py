"""Switches: each against an evaluation of its own, and where no switch helps."""

from fractions import Fraction

import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import policies, pomdps
from toy_tasks import small_task

from pomdps import recall4
from workbench import Policy, augment, best_memoryless, evaluate, switch_values, uniform
from workbench.evaluation.switch_values import improving_switches

F = Fraction


@given(pomdps(), st.booleans(), st.data())
@settings(max_examples=25)
def test_each_switch_is_the_value_of_the_switched_policy(P, deterministic, data):
    pi = data.draw(policies(P, deterministic=deterministic))
    found, floats = switch_values(P, pi, exact=True), switch_values(P, pi)
    for o in P.O:
        for a in P.A:
            rows = {x: {a: 1} if x == o else pi.row(x) for x in P.O}
            value = evaluate(P, Policy.from_mapping(P, rows), exact=True).value
            assert found[o, a] == value
            assert abs(F(floats[o, a]) - value) <= floats.error[o, a] < 1e-12


@given(pomdps(most_states=3), st.data())
@settings(max_examples=15)
def test_nothing_improves_the_best_and_a_better_neighbour_is_found(P, data):
    best = best_memoryless(P, exact=True)
    assert improving_switches(P, best.policy) == {}
    pi = data.draw(policies(P, deterministic=True))
    value = evaluate(P, pi, exact=True).value
    for x in improving_switches(P, pi).values():
        assert x > value


def test_a_switch_that_never_ends_is_undefined():
    P = small_task("door", lambda s, a: {("end" if a == "go" else s, -1): 1}, "s", A=["wait", "go"])
    found = switch_values(P, Policy.deterministic(P, {"o": "go"}), exact=True)
    assert found["o", "wait"] is None
    assert found["o", "go"] == -1


def test_one_bit_on_recall4_has_a_worse_policy_that_no_switch_improves():
    E = augment(recall4(), "B1")
    stuck = Policy.deterministic(E, {("0", "o"): (1, "1"), ("1", "o"): (3, "1")})
    assert evaluate(E, stuck, exact=True).value == F(3, 4)
    assert improving_switches(E, stuck) == {}
    assert best_memoryless(E, exact=True).value == 1


def test_symbols_run_through_switches():
    g = sympy.Symbol("g")
    P = small_task("two steps", lambda s, a: {(s + 1, a): 1}, 0, gamma=g, terminal={2})
    for exact in (True, False):
        assert switch_values(P, uniform(P), exact=exact)["o", 1] == g + 1
