"""Every numeric parameter of a task takes a symbol, and the number put in its place gives the
task."""

from __future__ import annotations

import inspect
from fractions import Fraction as F

import pytest
import sympy

import pomdps
from pomdps import gravity, hallway_cookie, recall4, recall_variant
from pomdps.recalls import RECALL4_REWARDS
from workbench.core.errors import WorkbenchError
from workbench.core.numbers import Numbers, number

x = sympy.Symbol("x")
COMPILED = ("memory_s7", "red_blue_doors")  # read from another package, which takes seconds
PARAMETERS = [
    (make, parameter.name, parameter.default)
    for name, make in sorted(vars(pomdps).items())
    if inspect.isfunction(make) and name not in COMPILED
    for parameter in inspect.signature(make).parameters.values()
    if parameter.annotation == "Number"
]


def put(numbers: Numbers, value: F) -> list:
    exact = sympy.Rational(value.numerator, value.denominator)
    return [number(sympy.sympify(y).subs(x, exact)) for y in numbers.values]


def test_there_are_such_parameters():
    assert {name for _, name, _ in PARAMETERS} >= {"gamma", "slip", "p_down", "hears", "bump"}


@pytest.mark.parametrize(
    ("make", "name", "default"), PARAMETERS, ids=[f"{m.__name__}-{n}" for m, n, _ in PARAMETERS]
)
def test_a_symbol_stands_for_a_number(make, name, default):
    P, Q = make(**{name: x}), make(**{name: number(default)})
    assert x in P.symbols
    if name == "gamma":
        assert P.gamma == x
        return
    tables = [(P.p.prob, Q.p.prob), (P.p.r, Q.p.r), (P.omega.prob, Q.omega.prob)]
    for symbolic, plain in tables:
        assert symbolic.shape == plain.shape
        found = put(symbolic, number(default))
        assert [found[i] for i in symbolic.codes.tolist()] == plain.objects.tolist()


def test_rewards_may_be_symbols():
    rows = [list(row) for row in RECALL4_REWARDS]
    rows[0][0] = x
    assert x in recall4(rewards=rows).symbols
    assert x in recall_variant(rewards={(0, 0, 0): x, (1, 1, 1): 1}).symbols


def test_numbers_that_are_no_probabilities_are_still_refused():
    with pytest.raises(WorkbenchError, match="p_down must lie in"):
        gravity(p_down=2)
    with pytest.raises(WorkbenchError, match="slip is a probability"):
        hallway_cookie(slip=-1)
