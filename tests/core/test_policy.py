"""Memoryless policies: making, reading, improving and refusing them."""

from fractions import Fraction

import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st
from strategies import families, policies, pomdps
from toy_tasks import doors

from pomdps import gravity, recall, recall4
from workbench import Policy, augment, evaluate, uniform
from workbench.core.errors import PolicyError, UnknownLabel, WorkbenchError, WrongType
from workbench.core.ties import greedy_actions, tie_order

F = Fraction


@given(pomdps(), families())
def test_uniform_gives_every_action_the_same_probability(P, family):
    E = augment(P, family)
    pi = uniform(E)
    assert pi.is_exact
    assert {pi[o, a] for o in E.O for a in E.A} == {F(1, len(E.A))}


@given(pomdps(), st.data())
def test_a_step_is_the_mixture_of_section_5_2(P, data):
    pi, other = data.draw(policies(P)), data.draw(policies(P))
    step = data.draw(st.fractions(0, 1, max_denominator=8))
    moved, moved_in_floats = pi.toward(other, step), pi.toward(other, float(step))
    for o in P.O:
        for a in P.A:
            assert moved[o, a] == (1 - step) * pi[o, a] + step * other[o, a]
            assert moved_in_floats[o, a] == pytest.approx(float(moved[o, a]), abs=1e-15)


@pytest.mark.parametrize("step", [0.25, F(1, 4)])
def test_a_step_in_floats_makes_floats_and_an_exact_one_fractions(step):
    P = recall4()
    pi = Policy.from_mapping(P, {o: dict.fromkeys(P.A, F(1, 4)) for o in P.O})
    other = Policy.from_mapping(P, {o: {0: F(1, 2), 1: F(1, 2)} for o in P.O})
    moved, (o, *_) = pi.toward(other, step), P.O
    assert [moved[o, a] for a in P.A] == [F(5, 16), F(5, 16), F(3, 16), F(3, 16)]
    assert moved.is_exact == isinstance(step, F)
    assert isinstance(moved[o, 0], type(step))


def test_a_deterministic_policy_needs_a_choice_wherever_one_is_made():
    P = gravity()
    cells = [o for o in P.O if o != (0, 4)]
    pi = Policy.deterministic(P, dict.fromkeys(cells, "up"))  # nothing is decided at the cookie
    assert pi[(0, 0), "up"] == 1
    assert pi.is_deterministic
    assert Policy.deterministic(P, {}, otherwise="left")[(3, 3), "left"] == 1
    first, *_, last = P.A  # what is chosen is kept, the first action too
    assert Policy.deterministic(P, {(3, 3): first}, otherwise=last)[(3, 3), first] == 1
    with pytest.raises(PolicyError, match=r"no action was chosen for o=\(0, 0\); give one"):
        Policy.deterministic(P, dict.fromkeys([o for o in cells if o != (0, 0)], "up"))
    with pytest.raises(PolicyError, match="and 19 more"):
        Policy.deterministic(P, {})


def test_rows_read_back():
    P = recall4()
    pi = Policy.from_mapping(P, {"o": {1: F(1, 3), 3: F(2, 3)}})
    assert pi.row("o") == {1: F(1, 3), 3: F(2, 3)}
    assert (pi["o", 1], pi["o", 0]) == (F(1, 3), 0)
    assert not pi.is_deterministic
    assert pi.to_frame().loc["o", 3] == F(2, 3)
    assert "2/3" in repr(pi)
    assert "<td>2/3</td>" in pi._repr_html_()


def test_the_higher_write_wins_ties_then_the_lower_action():
    E = augment(recall4(), "B1")
    equal = np.zeros((2, 8))
    assert [E.A[i] for i in greedy_actions(equal, tie_order(E.A, "last"))] == [(0, "1"), (0, "1")]
    assert [E.A[i] for i in greedy_actions(equal, tie_order(E.A, "first"))] == [(0, "0"), (0, "0")]
    q = evaluate(E, uniform(E), exact=True).q.array
    greedy = uniform(E).greedy(q, "last")
    assert (greedy[("0", "o"), (1, "1")], greedy[("1", "o"), (3, "1")]) == (
        1,
        1,
    )  # pi_l of Lemma C.2
    assert uniform(E).greedy(q, "first")[("0", "o"), (1, "0")] == 1
    assert tie_order(recall4().A, "last").tolist() == [0, 1, 2, 3]


def test_near_ties_of_floats_are_ties_and_exact_ones_are_not():
    order = np.array([1, 0])
    assert greedy_actions(np.array([[1.0 + 1e-13, 1.0]]), order, 1e-13).tolist() == [1]
    assert greedy_actions(np.array([[1.0 + 1e-13, 1.0]]), order).tolist() == [0]
    third = np.array([[F(1, 3) + F(1, 10**30), F(1, 3)]], dtype=object)
    assert greedy_actions(third, order).tolist() == [0]


@given(pomdps(), families(1), st.data())
def test_greedy_takes_a_best_action_and_keeps_rows_without_values(P, family, data):
    E = augment(P, family)
    pi = data.draw(policies(E))
    for exact in (True, False):
        q = evaluate(E, pi, exact=exact).q
        greedy = pi.greedy(q.array)
        for o in E.O:
            values = {a: q[o, a] for a in E.A}
            if any(x is None or x != x for x in values.values()):
                assert greedy.row(o) == pytest.approx(pi.row(o))
            else:
                (a,) = greedy.row(o)
                assert values[a] == pytest.approx(max(values.values()), abs=1e-9)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ([[0.5, 0.5, 0.5]], r"pi\(\. \| o=o\) sums to 1.5"),
        ([[F(1, 2), F(1, 4), 0]], r"pi\(\. \| o=o\) sums to 3/4"),
        ([[1.5, -0.5, 0]], r"pi\(2 \| o=o\) holds the negative probability -0.5"),
        ([[float("nan"), 0.5, 0.5]], r"pi\(1 \| o=o\) holds the probability nan"),
        (
            [[0.5, 0.5]],
            r"has 1 rows \(observations\) and 3 columns \(actions\); this table has the shape "
            r"\(1, 2\)",
        ),
        ([0.2, 0.3, 0.5], r"the shape \(3,\)"),
    ],
)
def test_a_table_that_is_no_policy_is_refused_by_name(table, message):
    with pytest.raises(PolicyError, match=message):
        Policy(recall(), np.array(table))


def test_bad_arguments_are_refused_by_name():
    P = recall()
    with pytest.raises(UnknownLabel, match="unknown label 'x'"):
        Policy.deterministic(P, {"x": 1})
    with pytest.raises(UnknownLabel, match="unknown label 9"):
        Policy.deterministic(P, {"o": 9})
    with pytest.raises(WrongType, match="mapping"):
        Policy.deterministic(P, [1])
    with pytest.raises(WrongType, match=r"pi\(1 \| o=o\): 'half' is not a number"):
        Policy.from_mapping(P, {"o": {1: "half"}})
    with pytest.raises(WrongType, match="a policy belongs to a POMDP"):
        Policy("recall", [[1, 0, 0]])
    with pytest.raises(WrongType, match="uniform needs a POMDP"):
        uniform(3)
    with pytest.raises(WrongType, match=r"pi\[o, a\]"):
        _ = uniform(P)["o"]
    with pytest.raises(WorkbenchError, match=r"a step lies in \[0, 1\], not 2"):
        uniform(P).toward(uniform(P), 2)
    with pytest.raises(PolicyError, match="different POMDPs"):
        uniform(P).toward(uniform(recall4()), 0.5)
    with pytest.raises(WorkbenchError, match="ties must be one of last, first, not 'random'"):
        tie_order(P.A, "random")


def test_a_policy_can_be_given_as_rows_by_label():
    P = recall()
    rows = {"o": {1: Fraction(1, 3), 3: Fraction(2, 3)}}
    pi = Policy(P, rows)
    assert pi.row("o") == rows["o"]
    assert np.array_equal(pi.prob.floats, Policy.from_mapping(P, rows).prob.floats)
    with pytest.raises(WrongType, match=r"Policy\.deterministic takes"):
        Policy(P, {"o": 1})


def test_what_an_exact_step_leaves_of_floats_is_rounded_once():
    P = recall()
    pi = Policy(P, np.full((len(P.O), len(P.A)), 1 / len(P.A)))
    step = F(99_999, 100_000)
    moved = pi.toward(Policy.deterministic(P, {}, otherwise=P.A[0]), step)
    assert moved.prob.floats[0, -1] == float(1 - step) * (1 / len(P.A))


def test_rows_without_values_are_kept_and_others_take_their_best():
    E = augment(recall4(), "B1")
    pi, q = Policy.random(E, 1), np.zeros((2, 8))
    for best in (0, 1):
        q[0], q[1] = np.eye(8)[best], np.nan
        greedy = pi.greedy(q).prob.floats
        assert greedy[0].tolist() == np.eye(8)[best].tolist()
        assert greedy[1].tolist() == pi.prob.floats[1].tolist()
    q[0] = np.nan
    q[1, 0] = 1
    assert pi.greedy(q[::-1]).prob.floats[1].tolist() == pi.prob.floats[1].tolist()


def test_what_a_policy_takes_is_said_in_lines():
    E = augment(recall4(), "O2")
    pi = Policy.deterministic(E, {E.O[1]: E.A[2]}, otherwise=E.A[0])
    assert pi.actions.tolist() == [0, 2, 0]
    assert pi.lines([0, 1]) == ["∅ | ∅ → 0 keep", "∅ | o → 1 keep"]
    assert pi.lines(range(3), most=2) == [*pi.lines([0, 1]), "... and 1 more row"]
    assert pi.lines([0, 1], most=2) == pi.lines([0, 1])
    other = Policy.from_actions(E, [1] * 3)
    assert pi.toward(other, 1e-12).lines([1]) == ["∅ | o → 1 keep"]  # rounding errors are left out
    assert pi.toward(other, 1e-11).lines([1]) == ["∅ | o → 1e-11: 0 push, 1: 1 keep"]
    g = sympy.Symbol("g")
    assert not Policy(recall(), [[g, 1 - g, 0]]).is_deterministic


def test_a_policy_fits_an_equal_task_and_no_other():
    uniform(recall4()).fits(recall4())
    with pytest.raises(PolicyError, match="other actions than"):
        uniform(recall4()).fits(recall())
    with pytest.raises(PolicyError, match="other observations than"):
        uniform(recall4()).fits(recall4().relabel(O=str.upper))
    with pytest.raises(WrongType, match="ask a policy for"):
        uniform(recall())["o", 1, 2]


@pytest.mark.parametrize("actions", [[4], [0, 0], 9])
def test_places_that_are_no_actions_are_refused(actions):
    with pytest.raises(PolicyError, match="has 1 places of actions below 4, not"):
        Policy.from_actions(recall4(), actions)


def test_no_place_stands_for_the_first_action_that_is_allowed():
    assert Policy.from_actions(recall4(), [-1]).row("o") == {0: 1}
    assert Policy.from_actions(doors(), [1, -1, 1]).row("door") == {"back": 1}
    with pytest.raises(PolicyError, match="does not allow left"):
        Policy.from_actions(doors(), [0, 0, 0])
