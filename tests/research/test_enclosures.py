"""Zeros in boxes: all of them, each alone, and honest about what is left."""

import flint
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.research.enclosures import ball, isolate, krawczyk


class Circle:
    """x^2 + y^2 = 1 and y = c x^2: two zeros for c > 0."""

    radii = ([1.0, 1.0],)

    def __init__(self, c):
        self.c = flint.arb(c)

    def value(self, x):
        return [x[0] * x[0] + x[1] * x[1] - 1, x[1] - self.c * x[0] * x[0]]

    def slopes(self, x):
        return flint.arb_mat(2, 2, [2 * x[0], 2 * x[1], -2 * self.c * x[0], 1])

    def contract(self, x):
        return x


class Cubic:
    """(x - a)(x - b)(x - c) on a line."""

    radii = ([1.0],)

    def __init__(self, roots):
        self.roots = roots

    def value(self, x):
        y = flint.arb(1)
        for r in self.roots:
            y = y * (x[0] - r)
        return [y]

    def slopes(self, x):
        a, b, c = (x[0] - r for r in self.roots)
        return flint.arb_mat(1, 1, [a * b + a * c + b * c])

    def contract(self, x):
        return x


@given(st.lists(st.integers(-20, 20), min_size=3, max_size=3, unique=True))
@settings(max_examples=30)
def test_all_zeros_are_found_and_each_is_in_its_own_box(roots):
    found = isolate(Cubic(roots), [ball(-21.3, 22.1)])
    assert found.complete
    assert sorted(round(float(x[0])) for x in found.zeros) == sorted(roots)
    assert all(float(x[0].rad()) < 1e-20 for x in found.zeros)


def test_zeros_outside_the_box_are_not_all_looked_for():
    found = isolate(Cubic([1, 2, 50]), [ball(-1, 10)])
    assert found.complete
    assert sorted(round(float(x[0])) for x in found.zeros)[:2] == [1, 2]


def test_two_equations():
    found = isolate(Circle(1), [ball(-2, 3), ball(-3, 2)])
    assert found.complete
    (low, high) = sorted(found.zeros, key=lambda x: float(x[0]))
    golden = (5**0.5 - 1) / 2
    assert float(high[1]) == pytest.approx(golden, abs=1e-12)
    assert float(low[0]) == pytest.approx(-(golden**0.5), abs=1e-12)


def test_where_there_is_none_none_is_found():
    found = isolate(Circle(1), [ball(2, 3), ball(-3, 2)])
    assert found.complete
    assert not found.zeros


def test_a_double_zero_is_never_called_certain():
    """At x = 1 the slope vanishes: a box around it stays open, and is told."""
    found = isolate(Cubic([1, 1, 8]), [ball(-3, 4)], most=200)
    assert not found.complete
    assert not found.zeros


def test_a_budget_is_kept():
    found = isolate(Circle(1), [ball(-2, 3), ball(-3, 2)], most=1)
    assert found.looked_at == 1
    assert not found.complete


@given(st.floats(-0.5, 0.5), st.floats(0.01, 0.4))
def test_the_image_of_a_box_holds_its_zeros(shift, radius):
    x = [flint.arb(3 + shift * radius, radius)]
    image = krawczyk(Cubic([3, -5, 9]), x)
    assert image is not None
    assert image[0].contains(3)
