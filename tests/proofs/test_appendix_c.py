"""Appendix C in the ledger: closed forms on random policies, certificates and their spoiling."""

import copy
from fractions import Fraction

import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from judging import entry
from strategies import distributions

from pomdps import recall4
from proofs import (  # noqa: F401
    appendix_c_every_k,
    appendix_c_figure,
    appendix_c_lemmas,
    appendix_c_step,
    appendix_c_task,
)
from proofs.appendix_c_setting import (
    A,
    closed_form,
    local_optimum,
    mixed_rows,
    policy_rows,
    recall4_task,
    words,
)
from proofs.ledger.inequalities import (
    Interval,
    identical,
    impossible,
    prove_positive,
    relation_text,
)
from workbench import (
    Policy,
    augment,
    best_history,
    evaluate,
    improve,
    is_sufficiently_expressive,
    uniform,
)
from workbench.checker.recheck import recheck
from workbench.checker.spoiled import Spoiled
from workbench.core.ties import tie_order
from workbench.results.json import model_json

# ---------------------------------------------------------------------- closed forms


@st.composite
def sparse_policies(draw, E):
    """Exact policies, most of whose rows leave many actions out."""
    return Policy.from_mapping(E, {o: draw(distributions(list(E.A), 4)) for o in E.O})


REWARDS = st.lists(
    st.lists(st.fractions(-5, 5, max_denominator=4), min_size=4, max_size=4), min_size=4, max_size=4
)


@pytest.mark.parametrize("k", [1, 2, 3, 4])
@settings(max_examples=6)
@given(st.data())
def test_the_closed_form_of_lemma_c1_and_its_analogue_equal_the_evaluator(k, data):
    rewards = data.draw(REWARDS)
    E = augment(recall4_task(rewards), f"B{k}")
    pi = data.draw(sparse_policies(E))
    found = evaluate(E, pi, exact=True)
    for m in words(k):
        for a in A:
            for w in words(k)[:: max(1, 2**k // 4)]:
                assert found.q[(m, "o"), (a, w)] == closed_form(rewards, pi, m, a, w)


@settings(max_examples=15)
@given(st.data())
def test_a_step_towards_pi_l_leaves_pi_l_greedy(data):
    """Lemma C.3 on random policies: the formula always, the conclusion where the hypothesis
    holds."""
    E = augment(recall4(), "B1")
    pi = data.draw(sparse_policies(E)).toward(
        local_optimum(E), data.draw(st.sampled_from([Fraction(0), Fraction(3, 4)]))
    )
    step = data.draw(st.fractions(0, 1, max_denominator=8))
    order, goal = tie_order(E.A), local_optimum(E)

    def is_pi_l(policy):
        chosen = policy.greedy(evaluate(E, policy, exact=True).q.array)
        return policy_rows(chosen) == policy_rows(goal)

    assert list(order[:2]) == [1, 3]  # <0,1>, <1,1>: the higher write first, then the lower action
    if is_pi_l(pi):
        assert is_pi_l(pi.toward(goal, step))


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("step", [Fraction(1, 20), Fraction(1, 2), Fraction(1)])
def test_the_loop_as_run_ends_at_three_quarters_with_binary_memory(k, step):
    E = augment(recall4(), f"B{k}")
    found = improve(E, uniform(E), step=float(step))
    assert (found.ended, found.limit_value) == ("fixed", Fraction(3, 4))


@pytest.mark.parametrize(("memory", "value"), [("B5", Fraction(3, 4)), ("OA1", 1)])
def test_figure_7_as_run(memory, value):
    E = augment(recall4(), memory)
    assert improve(E, uniform(E), step=0.02).limit_value == value


def test_the_setting_is_the_task_and_its_optimum_is_one():
    assert model_json(recall4_task()) == model_json(recall4())
    assert best_history(recall4()).value == 1
    assert [bool(is_sufficiently_expressive(recall4(), f"B{k}")) for k in (1, 2, 3)] == [
        False,
        False,
        True,
    ]


# ---------------------------------------------------------------------- algebra

x, y = sympy.symbols("x y")


def test_the_solver_finds_what_breaks_an_inequality():
    found = prove_positive((x - sympy.Rational(1, 2)) ** 2, {x: Interval(0, 1)})
    assert (found.holds, found.witness) == (False, {"x": "1/2"})
    assert prove_positive((x - sympy.Rational(1, 2)) ** 2, {x: Interval(0, 1)}, strict=False).holds
    assert impossible([x > 1, x < 1]).holds
    assert relation_text(x > y) == "x - y > 0"


def test_formulas_are_compared_as_functions():
    assert identical(1 / (1 - x) - 1, x / (1 - x))


# ---------------------------------------------------------------------- spoiled certificates


def certificate(id, kind):
    return copy.deepcopy(next(c for c in entry(id).certificates if c["kind"] == kind))


def spoil_q(c):
    c["q"][3][2] = "7/5"


def spoil_value(c):
    c["value"] = "2"


def spoil_policy(c):
    c["policy"][0][1] = [[c["policy"][0][1][0][0], "1/2"]]


def spoil_reward(c):
    """1/2 becomes 3/4 after 0, then 1."""
    row = next(row for s, a, row in c["model"]["p"] if (s, a) == ("s0", 1))
    assert row[0][1] == "1/2"
    row[0][1] = "3/4"


def spoil_box(c):
    c["box"]["x"] = "[0, 1]"


def spoil_greedy(c):
    c["greedy"][0][1] = {"tuple": [1, "0"]}


def spoil_ties(c):
    c["ties"] = "first"


def spoil_conditions(c):
    c["conditions"] = c["conditions"][:-1]


def spoil_identity(c):
    c["right"] += " + 1"


def spoil_f(c):
    c["f"][1][3] = c["f"][0][3]


def spoil_histories(c):
    c["histories"] = c["histories"][:4]


@pytest.mark.parametrize(
    ("id", "kind", "spoil"),
    [
        ("C4", "q-values", spoil_q),
        ("C5", "q-values", spoil_q),
        ("C2", "q-values", spoil_value),
        ("C4", "policy-value", spoil_value),
        ("C4", "policy-value", spoil_policy),
        ("C5", "greedy-family", spoil_reward),
        ("C5", "greedy-family", spoil_box),
        ("C5", "greedy-family", spoil_greedy),
        ("C5", "greedy-family", spoil_ties),
        ("C3", "excluded", spoil_conditions),
        ("C1", "identity", spoil_identity),
        ("C6", "memory-update", spoil_f),
        ("C.b2-expressive", "beliefs-outnumber", spoil_histories),
    ],
)
def test_a_spoiled_certificate_is_caught(id, kind, spoil):
    good = certificate(id, kind)
    assert recheck(good)
    spoil(good)
    with pytest.raises(Spoiled):
        recheck(good)


def test_lumped_memory_states_make_the_same_episodes():
    """The three classes of Lemma C.5 against B(3) itself, at a point of the segment, in
    rationals."""
    E = augment(recall4(), "B3")
    pi = mixed_rows(E, policy_rows(uniform(E)), local_optimum(E), Fraction(2, 7))
    found = evaluate(E, pi, exact=True)
    _, lumped, _ = appendix_c_every_k.all_iterates(appendix_c_lemmas.RECALL4_REWARDS)
    at = {appendix_c_every_k.x: sympy.Rational(2, 7), appendix_c_every_k.K: 8}
    classes = {w: "0" if w == "000" else "last" if w == "111" else "others" for w in words(3)}
    for m, c in classes.items():
        for w, d in classes.items():
            formula = sympy.sympify(lumped.q[(c, "o"), (1, d)])
            assert found.q[(m, "o"), (1, w)] == Fraction(str(formula.subs(at)))
    assert found.value == Fraction(str(lumped.value.subs(at)))
