"""Optima in exact numbers: critical systems of several free probabilities, solved by resultants."""

from __future__ import annotations

from fractions import Fraction

import flint
import mpmath
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from reference_algebraic import DIGITS, precise_optimum

from pomdps import gravity, load_unload, recall, short_corridor, tiger
from workbench import POMDP, Policy, augment, best_memoryless, evaluate, uniform
from workbench.core.errors import NotExact, NotSolved, TooLarge
from workbench.research.algebraic import find_algebraic
from workbench.research.enclosures import PolynomialSystem, isolate_near

F = Fraction


def corridors(
    *, gamma=1, falls: bool, looks=("first", "second"), reward=-1, last=-1, slip=0
) -> POMDP:
    """Short corridors in a row, one for each look; who leaves the second on its left is back in the
    first, if he `falls`, or stays. A step goes the other way with probability `slip`."""

    def step(s, right):
        room, i = s
        j = i + (1 if right != (i == 1) else -1)
        if j < 0:
            room, j = (0 if falls else room), 0
        if j < 3:
            return (room, j), reward
        return ((room + 1, 0), reward) if room + 1 < len(looks) else ("end", last)

    def p(s, a):
        right = a == "right"
        return {step(s, right): 1 - slip} | ({step(s, not right): slip} if slip else {})

    return POMDP.from_functions(
        name="corridors",
        A=("right", "left"),
        p=p,
        omega=lambda s: {"out" if s == "end" else looks[s[0]]: 1},
        mu={(0, 0): 1},
        gamma=gamma,
        terminal={"end"},
    )


def four_steps(pay) -> POMDP:
    """Two looks of two steps each, and in the end a reward for the four actions."""

    def p(s, a):
        s = (*s, a)
        return {(s, 0): 1} if len(s) < 4 else {("end", pay(*s)): 1}

    return POMDP.from_functions(
        name="four steps",
        A=(0, 1),
        p=p,
        omega=lambda s: {"end" if s == "end" else "early" if len(s) < 2 else "late": 1},
        mu={(): 1},
        gamma=1,
        terminal={"end"},
    )


def vanishes(polynomial: sympy.Poly, x: mpmath.mpf) -> bool:
    """Whether a polynomial vanishes within 10^-DIGITS of a number, to first order."""
    with mpmath.workdps(4 * DIGITS):
        at, slope = (
            mpmath.polyval([int(c) for c in f.all_coeffs()], x)
            for f in (polynomial, polynomial.diff())
        )
        return bool(abs(at) <= abs(slope) * mpmath.mpf(10) ** -DIGITS)


def test_two_corridors_in_a_row_are_each_at_two_minus_the_root_of_two():
    found = best_memoryless(corridors(falls=False), deterministic=False)
    exact = found.require_algebraic()
    assert found.certified
    assert exact.free == (("first", "right"), ("second", "right"))
    assert exact.probabilities == (2 - sympy.sqrt(2),) * 2
    assert exact.value == -12 - 8 * sympy.sqrt(2)
    assert found.value <= float(exact.value) + 1e-9 <= found.bound + 2e-9
    assert repr(exact) == (
        "exactly -12 - 8*sqrt(2), with pi('right' | 'first') = 2 - sqrt(2), "
        "pi('right' | 'second') = 2 - sqrt(2)"
    )


@pytest.mark.parametrize(("gamma", "degrees"), [(1, (2, 4, 4)), (F(19, 20), (3, 9, 9))])
def test_two_corridors_that_depend_on_each_other(gamma, degrees):
    """The first is left as before; in the second, a fall costs a walk through the first."""
    P = corridors(falls=True, gamma=gamma)
    found = best_memoryless(P, deterministic=False)
    exact = found.require_algebraic()
    polynomials = (*exact.polynomials, exact.value_polynomial)
    assert tuple(f.degree() for f in polynomials) == degrees
    assert all(f.is_irreducible for f in polynomials)
    near = {o: float(x) for (o, _), x in zip(exact.free, exact.probabilities, strict=True)}
    point, value = precise_optimum(P, near)
    assert all(vanishes(f, x) for f, x in zip(polynomials, (*point.values(), value), strict=True))
    for (o, _), x in zip(exact.free, exact.probabilities, strict=True):
        assert float(x) == pytest.approx(float(point[o]), abs=1e-15)
        assert float(x) == pytest.approx(found.policy[o, "right"], abs=1e-5)
    assert float(exact.value) == pytest.approx(float(value), rel=1e-15)
    assert found.certified
    assert found.value - 1e-9 <= float(exact.value) <= found.bound
    assert evaluate(P, exact.policy).value == pytest.approx(float(exact.value), abs=1e-9)
    assert "a root of" in repr(exact)


def test_the_average_reward_of_a_corridor_that_is_walked_again_and_again():
    """One reward for each walk, whose expected length is least at 2 - sqrt 2: 6 + 4 sqrt 2."""
    P = corridors(falls=False, looks=("o",), reward=0, last=1)
    exact = best_memoryless(P, deterministic=False, criterion="average").require_algebraic()
    assert exact.probabilities == (2 - sympy.sqrt(2),)
    assert sympy.simplify(exact.value - 1 / (6 + 4 * sympy.sqrt(2))) == 0
    two = best_memoryless(
        corridors(falls=True, reward=0, last=1), deterministic=False, criterion="average"
    )
    # per step as many rewards as a walk has steps less: the same polynomial, read backwards
    whole = best_memoryless(corridors(falls=True), deterministic=False).require_algebraic()
    y = whole.value_polynomial.gens[0]
    turned = sympy.Poly(
        sympy.numer(sympy.together(whole.value_polynomial.as_expr().subs(y, -1 / y))), y
    )
    assert two.require_algebraic().value_polynomial.monic() == turned.monic()


def test_an_average_reward_that_is_certified():
    """With slips every policy ends, and walks are cycles."""
    P = corridors(falls=True, reward=0, last=1, slip=F(1, 10))
    found = best_memoryless(P, deterministic=False, criterion="average")
    assert found.certified
    exact = found.require_algebraic()
    assert len(exact.free) == 2
    assert found.value - 1e-12 <= float(exact.value) <= found.bound
    walks = best_memoryless(corridors(falls=True, slip=F(1, 10)), deterministic=False)
    assert float(exact.value) == pytest.approx(-1 / float(walks.require_algebraic().value))


def test_one_row_with_several_free_probabilities():
    exact = best_memoryless(recall(), deterministic=False).require_algebraic()
    assert exact.probabilities == (F(1, 3), F(1, 3))
    assert exact.value == F(361, 400) / 27
    cubic = best_memoryless(load_unload(), deterministic=False).require_algebraic()
    x = cubic.polynomials[0].gens[0]
    assert cubic.value_polynomial.degree() == cubic.polynomials[0].degree() == 3
    assert abs(cubic.polynomials[0].eval(cubic.probabilities[0].evalf(50))) < 1e-40
    assert x.name == "x"


def test_a_memory_is_solved_like_a_task():
    exact = best_memoryless(augment(short_corridor(), "K1"), deterministic=False).algebraic
    assert exact.value == -6 - 2 * sympy.sqrt(6)


@pytest.mark.slow
@settings(max_examples=5)
@given(
    st.tuples(st.integers(3, 6), st.integers(3, 6)),
    st.tuples(st.integers(2, 4), st.integers(2, 4)),
    st.lists(st.integers(-1, 1), min_size=4, max_size=4),
)
def test_drawn_tasks_of_two_rows_against_newton_with_many_digits(bend, slope, mixed):
    """J = -m x^2 - n y^2 + k x + l y + (x y, x^2 y, x y^2, x^2 y^2 with small factors)."""

    def pay(a, b, c, d):
        terms = (a * c, a * b * c, a * c * d, a * b * c * d)
        bent = bend[0] * a * b + bend[1] * c * d
        straight = slope[0] * a + slope[1] * c
        return straight - bent + sum(k * term for k, term in zip(mixed, terms, strict=True))

    P = four_steps(pay)
    found = best_memoryless(P, deterministic=False, starts=4)
    exact = found.require_algebraic()
    assert found.certified
    assert found.value - 1e-9 <= float(exact.value) <= found.bound
    if len(exact.free) < 2:
        return
    near = {o: float(x) for (o, _), x in zip(exact.free, exact.probabilities, strict=True)}
    point, value = precise_optimum(P, near)
    assert vanishes(exact.value_polynomial, value)
    for (o, _), polynomial in zip(exact.free, exact.polynomials, strict=True):
        assert vanishes(polynomial, point[o])


# ---------------------------------------------------------------------- roots next to a point


def test_a_double_root_is_not_isolated():
    context = flint.fmpq_mpoly_ctx.get(["x"], "lex")
    (x,) = context.gens()
    assert isolate_near(PolynomialSystem([(2 * x - 1) ** 2]), [0.4], 1e-20) is None
    (root,) = isolate_near(PolynomialSystem([4 * x**2 - 1]), [0.4], 1e-10)
    assert root.contains(0.5)
    assert float(root.rad()) <= 1e-10
    assert isolate_near(PolynomialSystem([context.constant(1)]), [0.4], 1e-10) is None


# ---------------------------------------------------------------------- refusals


def test_what_has_no_small_critical_system_is_refused_by_name():
    written = best_memoryless(recall(gamma=0.95), deterministic=False)
    assert written.algebraic is None
    with pytest.raises(NotExact, match="recall"):
        written.require_algebraic()
    with pytest.raises(TooLarge, match=r"policy of gravity has \d+ free .* for up to 4"):
        find_algebraic(gravity(), uniform(gravity()), 0.1)
    P = short_corridor()
    with pytest.raises(NotSolved, match="policy found of short corridor there is no isolated"):
        find_algebraic(P, uniform(P), -12.0)
    near = Policy.from_mapping(P, {P.O[0]: {"right": 0.5858, "left": 0.4142}})
    with pytest.raises(NotSolved, match="short corridor next to the policy is worth -11"):
        find_algebraic(P, near, -12.0)
    with pytest.raises(NotSolved, match=r"deterministic policy of tiger .* is worth -20, not -19"):
        find_algebraic(tiger(), best_memoryless(tiger()).policy, -19.0)


def test_rows_that_do_not_matter_are_left_out():
    P = POMDP.from_functions(
        name="late",
        A=(0, 1),
        p=lambda s, a: {((*s, a), 0): 1} if len(s) < 2 else {("end", int(s[0] != s[1])): 1},
        omega=lambda s: {"end" if s == "end" else "late" if len(s) == 2 else "o": 1},
        mu={(): 1},
        gamma=1,
        terminal={"end"},
    )
    exact = find_algebraic(P, uniform(P), 0.5)
    assert exact.free == (("o", 0),)
    assert exact.value == F(1, 2)


def test_an_optimum_that_is_not_isolated_is_refused():
    """The return is -(x - y)^2: every policy with the same probabilities in both rows is best."""
    P = four_steps(lambda a, b, c, d: -(a * b - 2 * a * c + c * d))
    with pytest.raises(NotSolved, match="policy found of four steps there is no isolated"):
        find_algebraic(P, uniform(P), 0.0)
