"""All Kuhn-Tucker points: against roots by hand, against ascent from many starts, and certified."""

from __future__ import annotations

import math
from fractions import Fraction
from types import SimpleNamespace

import flint
import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import pomdps
from toy_tasks import small_task

from pomdps import gravity, load_unload, recall, recall4, recall_variant, short_corridor
from workbench import POMDP, Policy, augment, critical_points, evaluate
from workbench.core.errors import NotExact, TooLarge, WrongType
from workbench.core.exact import RationalFunctions
from workbench.core.fields import FLOATS
from workbench.core.numbers import Numbers
from workbench.optima.ascent import ascend
from workbench.optima.best_memoryless import best_memoryless
from workbench.optima.mdp import from_states
from workbench.research.critical_points import _kind
from workbench.research.enclosures import PolynomialSystem, ball, isolate

F = Fraction


def sequence_task(rewards: dict, steps: int = 2, A: tuple = (0, 1)) -> POMDP:
    """Nothing is seen, and the sequence of actions is paid at the end."""

    def p(s: tuple, a: int) -> dict:
        done = (*s, a)
        return {(done, 0): 1} if len(done) < steps else {("end", rewards.get(done, 0)): 1}

    return small_task("sequence", p, (), A=A)


# ---------------------------------------------------------------------- by hand


def test_two_hills_and_the_valley_between_them():
    """J(x) = 4 x^2 + 5 (1 - x)^2: both ends are strict maxima, the minimum is at 5/9."""
    found = critical_points(sequence_task({(0, 0): 4, (1, 1): 5}))
    assert found.complete
    assert [(point.kind, point.strict, point.dimension) for point in found] == [
        ("maximum", True, 0),
        ("maximum", True, 0),
        ("minimum", False, 1),
    ]
    assert [point.value for point in found[:2]] == [5, 4]
    assert found[2].policy["o", 0] == pytest.approx(5 / 9, abs=1e-15)
    assert found.most == (3,)


def test_a_saddle_on_a_face():
    """J = x^2 + y^2 + z^2: hills at the vertices, saddles halfway between two of them, a minimum in
    the middle."""
    found = critical_points(sequence_task({(a, a): 1 for a in range(3)}, A=(0, 1, 2)))
    assert found.complete
    assert {(point.kind, point.dimension) for point in found} == {
        ("maximum", 0),
        ("saddle", 1),
        ("minimum", 2),
    }
    assert [len(found.of_kind(kind)) for kind in ("maximum", "saddle", "minimum")] == [3, 3, 1]
    lower = critical_points(sequence_task({(0, 0): 1, (1, 1): 1, (2, 2): -1}, A=(0, 1, 2)))
    saddles = lower.of_kind("saddle")
    assert [(point.dimension, float(point.value)) for point in saddles] == [(1, 0.5)]


def test_the_short_corridor_has_one_point():
    found = critical_points(short_corridor())
    assert len(found) == 1
    assert found[0].strict
    assert found[0].policy[found.P.O[0], "right"] == pytest.approx(2 - math.sqrt(2), abs=1e-15)
    assert found[0].radius < 1e-14


def test_recalls():
    assert [point.kind for point in critical_points(recall_variant())] == [
        "maximum",
        "maximum",
        "minimum",
    ]
    flat = critical_points(recall())  # every policy that leaves an action out is worth 0
    assert flat.of_kind("maximum")[0].value == pytest.approx(0.9025 / 27)
    assert flat.flat == 3
    assert len(flat.of_kind("degenerate")) == 3
    assert critical_points(recall4())[0].value == pytest.approx(9 / 16)


@pytest.mark.slow
def test_load_unload_has_a_stochastic_maximum_and_a_saddle_below_it():
    found = critical_points(load_unload())
    best = best_memoryless(load_unload(), deterministic=False)
    assert found[0].strict
    assert found[0].value == pytest.approx(best.value, abs=1e-9)


# ---------------------------------------------------------------------- properties


@settings(max_examples=30)
@given(pomdps(most_states=3, most_observations=2, most_actions=2), st.integers(0, 100))
def test_ascent_ends_at_a_point_that_is_listed(P, seed):
    found = critical_points(P)
    best = best_memoryless(P, deterministic=False, starts=2)
    for point in found:
        assert float(point.value) <= best.bound + 1e-9
        assert evaluate(P, point.policy).value == pytest.approx(float(point.value), abs=1e-9)
    if not found.complete or found.flat:
        return
    assert float(found[0].value) == pytest.approx(best.value, abs=1e-7)
    M = from_states(P, FLOATS)
    climbed = ascend(M, Policy.random(P, seed).prob.floats, 1e-12, 2_000)
    assert min(abs(climbed.value - float(point.value)) for point in found) < 1e-5


@settings(max_examples=40)
@given(st.lists(st.integers(-3, 3), min_size=8, max_size=8))
def test_one_row_of_two_actions_against_roots_of_the_derivative(rewards):
    """The slow twin: J(x) of three steps as a polynomial, its derivative's roots by sympy."""
    table = {tuple((i >> j) & 1 for j in range(3)): r for i, r in enumerate(rewards)}
    P = sequence_task(table, steps=3)
    found = critical_points(P)
    x = sympy.Symbol("x")
    J = sympy.Poly(
        sum(r * math.prod(x if a == 0 else 1 - x for a in done) for done, r in table.items()), x
    )
    slope = J.diff(x)
    if slope.is_zero:
        assert found.flat == 1
        return
    inside = [root for root in slope.real_roots(multiple=False) if 0 < root[0] < 1]
    simple = [root for root, times in inside if times == 1]
    listed = sorted(float(point.policy["o", 0]) for point in found if point.dimension == 1)
    assert listed == pytest.approx(sorted(float(root) for root in simple), abs=1e-12)
    assert found.complete == all(times == 1 for _, times in inside)
    curve = slope.diff(x)
    for point in found:
        if point.dimension == 1:
            up = float(curve.eval(float(point.policy["o", 0])))
            assert point.kind == ("minimum" if up > 0 else "maximum")
    ends = {1: slope.eval(1), 0: -slope.eval(0)}  # the slope outwards: not negative at an optimum
    vertices = {int(point.policy["o", 0]): point.kind for point in found if point.dimension == 0}
    assert vertices == {
        end: "maximum" if out > 0 else "degenerate" for end, out in ends.items() if out >= 0
    }


def test_rows_that_are_never_reached_make_a_maximum_that_is_not_strict():
    P = small_task(
        "beside",
        lambda s, a: {("t", 0): 1} if s == "s" and a == 1 else {("end", 2 if s == "s" else a): 1},
        "s",
        omega=lambda s: {s: 1},
    )
    found = critical_points(P)
    assert [(point.kind, point.strict, point.value) for point in found] == [
        ("maximum", False, 2),
        ("maximum", False, 2),
    ]  # one for each way to act where nobody comes


def test_roots_of_a_circle_and_a_line():
    x, y = flint.fmpq_mpoly_ctx.get(["x", "y"], "lex").gens()
    square = [ball(-2.0, 2.0)] * 2
    circle = x**2 + y**2 - 1
    found = isolate(PolynomialSystem([circle, x - y]), square)
    assert found.complete
    values = sorted(float(root[0].mid()) for root in found.zeros)
    assert values == pytest.approx([-math.sqrt(0.5), math.sqrt(0.5)], abs=1e-15)
    # x = 1 touches the circle: a double root
    double = isolate(PolynomialSystem([circle, x - 1]), square, least=1e-5)
    assert double.zeros == []
    assert double.left


def test_time_that_is_up_leaves_faces_undecided():
    found = critical_points(load_unload(), max_seconds=1e-9)
    assert found.undecided > 1
    assert len(found) == 0
    assert not found.complete


# ---------------------------------------------------------------------- bad input


def test_bad_input_is_named():
    with pytest.raises(TooLarge, match="more than 50 faces"):
        critical_points(gravity(), max_faces=50)
    with pytest.raises(NotExact):
        critical_points(recall(gamma=0.95))
    with pytest.raises(WrongType, match="a whole number as max_boxes"):
        critical_points(recall(), max_boxes=1.5)


def test_boxes_that_run_out_are_undecided():
    found = critical_points(load_unload(), max_boxes=3)
    assert not found.complete
    assert "regions undecided" in repr(found)


def test_a_memory_adds_points():
    found = critical_points(augment(sequence_task({(0, 0): 4, (1, 1): 5, (0, 1): 3}), "K1"))
    assert found[0].value == 5
    table = Numbers.of(found[0].policy.prob.objects)
    assert table.is_exact
    assert np.allclose(table.floats.sum(axis=1), 1)


X = sympy.symbols("x y z")


@pytest.mark.parametrize(
    ("J", "whole", "kind"),
    [
        (-(X[0] ** 2) - X[1] ** 2 + X[0] * X[1], True, "maximum"),
        (X[0] ** 2 + X[1] ** 2, True, "minimum"),
        (X[0] ** 2 + X[1] ** 2, False, "saddle"),
        (X[0] * X[1], True, "saddle"),
        (X[0] * X[2] - X[1] ** 2, True, "saddle"),
        (X[0] ** 2 - X[1] ** 2 + X[2] ** 2, True, "saddle"),
        (-((X[0] - X[1]) ** 2), True, "degenerate"),
        ((X[0] - X[1]) ** 2, True, "degenerate"),
    ],
    ids=str,
)
def test_a_kind_is_said_only_where_signs_are_certain(J, whole, kind):
    """At 0, where the Hessian is that of J; leading minors that vanish do not make a saddle."""
    gens = sorted(J.free_symbols, key=str)
    whole_J = RationalFunctions(gens).one(J).num
    equations = [whole_J.derivative(i) for i in range(len(gens))]
    face = SimpleNamespace(supports=((0, 1),) * len(gens))
    surface = SimpleNamespace(options=[(0, 1) if whole else (0, 1, 2)] * len(gens))
    assert _kind(surface, face, equations, [flint.arb(0)] * len(gens)) == kind
