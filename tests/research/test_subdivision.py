"""Fixed points with symbols: the cells say what numbers say, and signs on the square are right."""

from fractions import Fraction

import flint
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import pomdps
from toy_tasks import small_task

from pomdps import recall, recall4, recall_variant
from workbench import Policy, QLearning, Sarsa, augment, equilibria, subdivide
from workbench.core.errors import TooLarge, WorkbenchError, WrongType
from workbench.core.fields import RATIONALS
from workbench.equilibrium.learned_values import Learned, target_of
from workbench.research.square_sign import coefficients, sign_inside
from workbench.research.subdivision import refute_everywhere

EPSILON, GAMMA = sympy.symbols("epsilon gamma")
TENTHS = st.integers(1, 9).map(lambda k: Fraction(k, 10))


def policies_of(P, found):
    return {tuple(e.policy.actions[found.rows]) for e in found}


@given(st.data())
@settings(max_examples=12)
def test_every_cell_says_what_its_sample_says_in_rationals(data):
    P = data.draw(pomdps(most_observations=2, most_states=3, gammas=st.just(Fraction(1, 2))))
    learner = data.draw(st.sampled_from([QLearning(), Sarsa(lam=0)]))
    both = data.draw(st.booleans())
    found = subdivide(P, learner, epsilon=EPSILON, gamma=GAMMA if both else None)
    assert len(found) >= 1
    for cell in list(found)[:6]:
        numbers = equilibria(
            P.with_gamma(cell.sample.get(GAMMA, Fraction(1, 2))),
            learner,
            epsilon=cell.sample[EPSILON],
            exact=True,
        )
        here = {tuple(found.policies[i].actions[numbers.rows]) for i in cell.settled}
        assert here == policies_of(P, numbers)


def test_with_one_bit_recall_has_a_fixed_point_exactly_beyond_a_curve():
    """Below epsilon = 1 / (2 - gamma) Q-learning has none; above, one that is worth nothing."""
    found = subdivide(augment(recall(), "B1"), QLearning(), epsilon=EPSILON, gamma=GAMMA)
    assert [sympy.expand(c - (EPSILON * GAMMA - 2 * EPSILON + 1)) for c in found.curves] == [0]
    assert found.values == (0,)
    for cell in found:
        beyond = cell.sample[EPSILON] * (2 - cell.sample[GAMMA]) > 1
        assert cell.settled == ((0,) if beyond else ())
    assert found.refuted == 35


def test_without_memory_the_variant_has_no_fixed_point_whatever_the_settings():
    found = subdivide(recall_variant(), QLearning(), epsilon=EPSILON, gamma=GAMMA)
    assert found.none_exists
    assert [cell.settled for cell in found] == [()]
    assert "no fixed point" in repr(found)


def test_one_symbol_cuts_an_interval():
    """Recall4 with a bit, undiscounted as in the paper: no fixed point for any epsilon in (0,
    1)."""
    found = subdivide(augment(recall4(), "B1"), QLearning(), epsilon=EPSILON)
    assert found.none_exists
    discount = subdivide(augment(recall4(), "B1"), QLearning(epsilon=Fraction(1, 10)), gamma=GAMMA)
    (root,) = sympy.Poly(discount.curves[0], GAMMA).real_roots()
    assert root == Fraction(1521, 1530)  # 16 - 16 g + e^2 + 7 e g - 8 e at e = 1/10
    assert [bool(cell.settled) for cell in discount] == [True, False]


def test_a_model_may_hold_the_symbol_itself():
    x = sympy.Symbol("x")
    P = small_task("biased", lambda s, a: {("end", 1 if a == "l" else 2 * x): 1}, "s", A=["l", "r"])
    found = subdivide(P, QLearning(epsilon=Fraction(1, 10)))
    assert [c.sample[x] < Fraction(1, 2) for c in found] == [True, False]
    assert [found.policies[c.settled[0]].row("o") for c in found] == [{"l": 1}, {"r": 1}]
    assert found.values[found[1].settled[0]] == 2 * x


def paying(first, second):
    return small_task(
        "one step", lambda s, a: {("end", first if a == "l" else second): 1}, "s", A=["l", "r"]
    )


@pytest.mark.parametrize("shift", [Fraction(-1, 2), Fraction(1, 2), Fraction(1, 3)], ids=str)
def test_a_curve_may_enter_the_square_through_a_side(shift):
    """x against y + shift: the line passes through the side x = 0 or x = 1 and nothing else marks
    the place, but both answers have a cell."""
    x, y = sympy.symbols("x y")
    shifted = y + sympy.Rational(shift.numerator, shift.denominator)
    found = subdivide(paying(x, shifted), QLearning(epsilon=Fraction(1, 10)))
    answers = {cell.sample[x] > cell.sample[y] + shift: cell.settled for cell in found}
    assert set(answers) == {False, True}
    assert answers[True] != answers[False]


# ---------------------------------------------------------------------- signs


RING = flint.fmpq_mpoly_ctx.get(["x", "y"], flint.Ordering.degrevlex)
X, Y = RING.gens()


@pytest.mark.parametrize(
    ("f", "sign"),
    [
        (X * Y, 1),
        (-X - Y, -1),
        (X - X, 0),
        (X - Y, None),
        (X + Y - 2, -1),
        ((X - Y) ** 2 + X * 0 + flint.fmpq(1, 50), 1),
        ((2 * X - 1) ** 2 + (2 * Y - 1) ** 2, None),  # vanishes at one point inside
        ((2 * X - 1) ** 2, None),  # vanishes on a line inside
        (X**2 + Y**2 - flint.fmpq(1, 1000), None),
    ],
    ids=str,
)
def test_signs_on_the_square(f, sign):
    assert sign_inside(coefficients(f, 2)) == sign


@given(st.lists(st.integers(-4, 4), min_size=1, max_size=9), TENTHS, TENTHS)
def test_a_certain_sign_is_the_sign_at_every_point(numbers, x, y):
    f = sum((c * X ** (i % 3) * Y ** (i // 3) for i, c in enumerate(numbers)), start=X * 0)
    sign = sign_inside(coefficients(f, 2))
    if sign is not None:
        at = f(flint.fmpq(x.numerator, x.denominator), flint.fmpq(y.numerator, y.denominator))
        assert (at > 0) - (at < 0) == sign


# ---------------------------------------------------------------------- what is refused


def test_bad_arguments_are_refused():
    a, b, c = sympy.symbols("a b c")
    with pytest.raises(WorkbenchError, match="one or two symbols, not 0"):
        subdivide(recall(), QLearning(epsilon=Fraction(1, 10)))
    with pytest.raises(WorkbenchError, match="one or two symbols, not 3"):
        subdivide(recall(gamma=a * b), QLearning(), epsilon=c)
    with pytest.raises(WrongType, match=r"epsilon must be exact, not the float 0.01"):
        subdivide(recall(), QLearning(), gamma=GAMMA)
    with pytest.raises(WrongType, match="needs a POMDP"):
        subdivide("recall", QLearning(), gamma=GAMMA)
    with pytest.raises(TooLarge, match=r"32,768 greedy policies \(8 actions in 5 rows\)"):
        subdivide(augment(recall4(), "OA1"), QLearning(), epsilon=EPSILON)


@given(st.data())
@settings(max_examples=10)
def test_who_is_refuted_everywhere_is_a_fixed_point_nowhere(data):
    P = data.draw(pomdps(most_observations=2, most_states=3)).with_gamma(GAMMA)
    learner = data.draw(st.sampled_from([QLearning(), Sarsa(lam=0)]))
    pi = Policy.from_actions(P, [data.draw(st.integers(0, len(P.A) - 1)) for _ in P.O])
    better = refute_everywhere(P, learner, pi, EPSILON)
    epsilon, gamma = data.draw(TENTHS), data.draw(TENTHS)
    found = equilibria(P.with_gamma(gamma), learner, epsilon=epsilon, exact=True, symmetry=False)
    rows = found.rows
    fixed = tuple(pi.actions[rows]) in policies_of(P, found)
    assert not (fixed and better is not None)
    if better is not None:
        o, a = better
        own = pi.actions[P.O.index(o)]
        exact = Learned(P.with_gamma(gamma), target_of(learner), epsilon, RATIONALS).q(pi)
        assert exact[P.O.index(o), P.A.index(a)] > exact[P.O.index(o), own]


def test_an_optimal_policy_of_recall_is_refuted_everywhere_by_a_shortcut():
    E = augment(recall(gamma=GAMMA), "OA1")
    blue = {((None,), "o"): (1, "push"), ((("o", 1),), "o"): (2, "push")}
    pi = Policy.deterministic(E, {**blue, ((("o", 2),), "o"): (3, "push")}, otherwise=(1, "keep"))
    assert refute_everywhere(E, QLearning(), pi, EPSILON) == (((None,), "o"), (2, "push"))


@pytest.mark.slow
def test_on_recall_with_oa1_no_fixed_point_earns_anything_whatever_epsilon_and_gamma():
    found = subdivide(augment(recall(), "OA1"), QLearning(), epsilon=EPSILON, gamma=GAMMA)
    assert found.values == (0, 0)
    assert found.refuted == 1292
    assert set(found.regions) == {(0,), (1,), ()}
