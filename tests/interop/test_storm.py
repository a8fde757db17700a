"""The DRN export, and Storm as an independent check of `evaluate`, where it is installed."""

from __future__ import annotations

from fractions import Fraction

import pytest
import reference_hallway as reference
import sympy
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from strategies import families, policies, pomdps
from toy_tasks import small_task

from pomdps import gravity, recall, recall4
from pomdps.hallway import hallway_cookie
from workbench import Policy, augment, evaluate, export_drn, storm_value, uniform
from workbench.core.errors import NeverEnds, NotExact, PolicyError, WrongType

try:
    import stormpy
except ImportError:
    stormpy = None

needs_storm = pytest.mark.skipif(
    stormpy is None, reason="stormpy is not installed: pip install 'memory-workbench[storm]'"
)


def parsed(text: str) -> dict:
    """A small reader of DRN: {state: (observation, labels, {action: (reward, {state:
    probability})})}."""
    states: dict = {}
    for line in text.split("@model\n")[1].splitlines():
        words = line.split()
        if words[0] == "state":
            o = int(words[2][1:-1]) if words[2].startswith("{") else None
            labels = [word for word in words[2:] if word[0] not in "{["]
            choices: dict = {}
            states[int(words[1])] = (o, labels, choices)
        elif words[0] == "action":
            row: dict = {}
            choices[words[1]] = (Fraction(words[2].strip("[]")), row)
        else:
            row[int(words[0])] = Fraction(words[2])
    return states


@given(pomdps(), st.data())
def test_a_chain_in_drn_has_rows_that_sum_to_one_and_the_return_of_the_policy(P, data):
    pi = data.draw(policies(P))
    states = parsed(export_drn(P, pi))
    (first,) = (s for s, (_, labels, _) in states.items() if "init" in labels)
    for _, _, choices in states.values():
        ((_, row),) = choices.values()
        assert sum(row.values()) == 1
    n = len(states)
    matrix, r = sympy.eye(n), sympy.zeros(n, 1)
    for s, (_, labels, choices) in states.items():
        if "done" not in labels:
            ((reward, row),) = choices.values()
            r[s] = sympy.Rational(reward.numerator, reward.denominator)
            for j, x in row.items():
                matrix[s, j] -= sympy.Rational(x.numerator, x.denominator)
    value = matrix.LUsolve(r)[first]
    assert Fraction(int(value.p), int(value.q)) == evaluate(P, pi, exact=True).value


def test_a_pomdp_in_drn_keeps_states_actions_and_observations():
    P = gravity()
    states = parsed(export_drn(P))
    for s, label in enumerate(P.S):
        o, labels, choices = states[s]
        if label in P.terminal:
            assert (o, labels) == (len(P.O), ["done"])
            continue
        assert P.omega(label) == {P.O[o]: 1}
        for a in P.A:
            r, row = choices[a]
            assert r == sum(x * y for (_, x), y in P.p(label, a).items())
            assert row.pop(len(P.S)) == 1 - P.gamma
            assert row == {P.S.index(t): P.gamma * x for (t, _), x in P.p(label, a).items()}


def test_numbers_are_written_as_they_are():
    g = sympy.Symbol("g")
    assert "@parameters\ng\n" in export_drn(recall(gamma=g))
    assert " 0.5" in export_drn(recall(gamma=0.5))
    assert " : 19/20" in export_drn(recall())


def test_several_starts_get_a_state_before_them():
    P = small_task(
        "two", lambda s, a: {("end", s): 1}, {1: Fraction(1, 4), 2: Fraction(3, 4)}, A=["go"]
    )
    (begin,) = (
        choices
        for _, labels, choices in parsed(export_drn(P, uniform(P))).values()
        if "init" in labels
    )
    assert begin == {"begin": (0, {0: Fraction(1, 4), 1: Fraction(3, 4)})}


def test_what_is_no_pomdp_or_not_its_policy_is_refused():
    with pytest.raises(WrongType):
        export_drn("recall")
    with pytest.raises(PolicyError):
        export_drn(recall(), uniform(recall4()))


@needs_storm
@given(pomdps(some_actions=True), families(1), st.data())
@settings(max_examples=25)
def test_storm_finds_the_same_value_in_rationals(P, family, data):
    E = augment(P, family)
    pi = data.draw(policies(E))
    assert storm_value(E, pi, exact=True) == evaluate(E, pi, exact=True).value


@needs_storm
@given(pomdps(some_actions=True), st.integers(0, 1000))
@settings(max_examples=15)
def test_storm_finds_the_same_value_in_floats(P, seed):
    assume(any(P.R))
    pi = Policy.random(P, seed)
    assert storm_value(P, pi) == pytest.approx(evaluate(P, pi).value, rel=1e-9, abs=1e-12)


@needs_storm
@pytest.mark.parametrize("memory", ["none", "B1"])
def test_storm_agrees_on_gravity_and_recall(memory):
    for P in (augment(gravity(), memory), augment(recall4(), memory)):
        assert storm_value(P, uniform(P), exact=True) == evaluate(P, uniform(P), exact=True).value


@needs_storm
def test_storm_agrees_on_a_continuing_task():
    P = hallway_cookie()
    assert storm_value(P, uniform(P)) == pytest.approx(evaluate(P, uniform(P)).value, rel=1e-9)


@needs_storm
def test_storm_agrees_in_symbols():
    g, x = sympy.symbols("g x")
    P = recall(gamma=g)
    pi = Policy.from_mapping(P, {"o": {1: x, 2: 1 - x}}).toward(uniform(P), Fraction(1, 3))
    assert sympy.cancel(storm_value(P, pi) - evaluate(P, pi).value) == 0


@needs_storm
def test_storm_reads_the_exported_pomdp_and_finds_its_full_information_optimum(tmp_path):
    P = hallway_cookie()
    path = tmp_path / "cookie.drn"
    path.write_text(export_drn(P))
    model = stormpy.build_model_from_drn(path)
    assert (model.nr_states, model.nr_observations) == (len(P.S) + 1, len(P.O) + 1)
    query = stormpy.parse_property('Rmax=? [F "done"]')
    found = stormpy.model_checking(model, query, force_fully_observable=True).get_value(
        model.initial_states[0]
    )
    p, r = reference.tables(list(P.S), list(P.A), reference.cookie_step)
    assert found == pytest.approx(
        reference.best_values(p, r, 0.99)[P.S.index(((8, 2), None))], rel=1e-5
    )


@needs_storm
def test_a_policy_that_never_ends_has_no_value_for_storm_either():
    P = small_task(
        "stay", lambda s, a: {(s if a == "stay" else "end", 1): 1}, "s", A=["stay", "go"]
    )
    for exact in (False, True):
        with pytest.raises(NeverEnds):
            storm_value(P, Policy.deterministic(P, {"o": "stay"}), exact=exact)


@needs_storm
def test_a_task_without_terminal_states_has_a_value_only_with_a_discount():
    rounds = {
        gamma: small_task("rounds", lambda s, a: {(1 - s, s): 1}, 0, A=["go"], gamma=gamma)
        for gamma in (1, Fraction(1, 2))
    }
    with pytest.raises(NeverEnds, match="may never end in rounds"):
        storm_value(rounds[1], uniform(rounds[1]))
    P = rounds[Fraction(1, 2)]
    assert storm_value(P, uniform(P), exact=True) == Fraction(2, 3)


@needs_storm
def test_floats_are_refused_by_the_exact_engine():
    P = recall(gamma=0.5)
    with pytest.raises(NotExact):
        storm_value(P, uniform(P), exact=True)
