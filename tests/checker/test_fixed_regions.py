"""Certificates of fixed points for all epsilon and gamma: true ones hold, and a cell, a curve or a
policy that is left out is missed."""

import copy
import json
from dataclasses import replace
from fractions import Fraction

import pytest
import sympy
from certified import are_regions, paid_at_once, regions_of, returning
from hypothesis import given, settings
from hypothesis import strategies as st
from toy_tasks import small_task

from pomdps import recall, recall4, recall_variant
from workbench import QLearning, Sarsa, augment, subdivide
from workbench.certificates.fixed_regions import fixed_regions_certificate
from workbench.checker.expressions import Polynomial, read_polynomial, renew_budget
from workbench.checker.plane_polynomials import check_cells
from workbench.checker.polynomials import RootCounter
from workbench.checker.recheck import recheck
from workbench.checker.spoiled import Spoiled
from workbench.core.errors import TooLarge, WorkbenchError

GAMMA = sympy.Symbol("gamma")
SMALL = st.integers(-3, 3).map(Fraction)


def stored(certificate):
    return json.loads(json.dumps(certificate))


@pytest.mark.parametrize(
    ("P", "memory", "said"),
    [
        (recall_variant(gamma=GAMMA), "none", "in (0, 1): no fixed point, among 2 greedy"),
        (
            recall4().with_gamma(GAMMA),
            "B1",
            "off the curves epsilon**2 + 7*epsilon*gamma - 8*epsilon - 16*gamma + 16 = 0: no fixed "
            "point where the signs are -; fixed points worth gamma/2 (tied) 2 times where the "
            "signs are +",
        ),
        (recall4(), "B1", "discount 1 on recall4 with B1, for all epsilon in (0, 1): no fixed"),
    ],
    ids=["variant", "recall4", "recall4 undiscounted"],
)
def test_what_is_known_is_said(P, memory, said):
    assert said in recheck(stored(regions_of(P, memory)))


@given(
    st.lists(st.integers(0, 2), min_size=4, max_size=4),
    st.sampled_from([QLearning(), Sarsa(lam=0)]),
    st.sampled_from([Fraction(1, 2), Fraction(1), GAMMA]),
)
@settings(max_examples=8)
def test_certificates_of_small_tasks_hold_and_lose_nothing(rewards, learner, gamma):
    P = paid_at_once([rewards[:2], rewards[2:]], gamma)
    made = stored(
        regions_of(P, learner=learner, epsilon=Fraction(1, 5) if gamma == GAMMA else None)
    )
    assert recheck(made)
    assert are_regions(made)
    for k in range(len(made["cells"])):
        less = {**made, "cells": made["cells"][:k] + made["cells"][k + 1 :]}
        try:
            recheck(less)
        except Spoiled:
            continue
        assert are_regions(less)  # another point lies in the same cell
    for field in ("fixed", "curves"):
        if made[field]:
            with pytest.raises(Spoiled):
                recheck({**made, field: made[field][1:]})


def test_a_cell_without_a_sample_is_missed():
    made = stored(regions_of(paid_at_once([[0, 1], [0, 0]])))
    assert len(made["cells"]) == 4
    for k in range(4):
        with pytest.raises(Spoiled, match="cell"):
            recheck({**made, "cells": made["cells"][:k] + made["cells"][k + 1 :]})


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"epsilon": "2*epsilon"}, "epsilon is a number or one of the names"),
        ({"epsilon": "3/2"}, r"epsilon 3/2 does not lie in \(0, 1\]"),
        ({"names": ["epsilon", "epsilon"]}, "named twice"),
        ({"names": ["epsilon", "x", "y"]}, "one or two names"),
        ({"names": ["epsilon"]}, "x is none of the names epsilon"),
        ({"names": ["x", "y"]}, "epsilon is a number or one of the names"),
        ({"curves": ["epsilon - x", "2"]}, "a number is no curve"),
        ({"curves": ["(epsilon - x)**2"]}, "zero everywhere"),  # the resultant with its slope
        ({"curves": ["epsilon - x", "2*epsilon - 2*x"]}, "zero everywhere"),
        ({"curves": ["epsilon - x"] * 17}, "more than 16 curves"),
        ({"curves": ["epsilon**41 - x"]}, "a curve of degree 41"),
        ({"curves": []}, "not shown to have one sign"),
        ({"cells": []}, "do not lie between 0 and 1 in order"),
        ({"cells": [[["1/2", "1/2"], []]]}, "where the cells are parted"),
        ({"cells": [[["1/2"], []]]}, "a point of 2 numbers"),
        ({"learner": "Sarsa"}, "unknown learner"),
        ({"memory": "B(k)"}, "not about all"),
    ],
)
def test_other_certificates_are_refused(change, says):
    made = stored(regions_of(paid_at_once([[0, 2], [0, 0]])))
    assert recheck(made)
    with pytest.raises(Spoiled, match=says):
        recheck({**made, **change})


def test_names_in_probabilities_and_a_discount_of_0_are_refused():
    made = stored(regions_of(paid_at_once([[0, 2], [0, 0]])))
    bad = copy.deepcopy(made)
    bad["model"]["mu"] = [["s*", "x"], ["s0", "1 - x"]]
    with pytest.raises(Spoiled, match="probabilities of the task hold no names"):
        recheck(bad)
    bad = copy.deepcopy(made)
    bad["model"]["gamma"] = "0"
    with pytest.raises(Spoiled, match="a discount of 0"):
        recheck(bad)
    bad["model"]["gamma"] = "x*x"
    with pytest.raises(Spoiled, match="the discount is a number or one of the names"):
        recheck(bad)


def test_a_task_that_comes_back_has_no_such_certificate():
    made = stored(regions_of(returning()))
    with pytest.raises(Spoiled, match="no place is met twice"):
        recheck(made)


def test_what_has_no_certificate_says_so():
    P = recall(gamma=GAMMA)
    epsilon = sympy.Symbol("epsilon")
    whole = subdivide(P, QLearning(), epsilon=epsilon, symmetry=False)
    many = subdivide(P, Sarsa(lam=Fraction(1, 2)), epsilon=epsilon, symmetry=False)
    with pytest.raises(WorkbenchError, match=r"Q-learning and Sarsa\(0\)"):
        fixed_regions_certificate(P, "none", many)
    with pytest.raises(WorkbenchError, match="symmetry=False"):
        fixed_regions_certificate(P, "none", replace(whole, looked_at=1))
    with pytest.raises(TooLarge, match="5,000 greedy policies"):
        fixed_regions_certificate(P, "none", replace(whole, cells=5_000, looked_at=5_000))


# ---------------------------------------------------------------------- polynomials in the plane


@given(*[st.dictionaries(st.tuples(st.integers(0, 3), st.integers(0, 3)), SMALL)] * 2)
def test_a_product_is_divided_by_its_factors_and_by_nothing_else(one, two):
    renew_budget()
    f, g = (
        Polynomial(
            {tuple((v, k) for v, k in zip("xy", e, strict=True) if k): c for e, c in h.items()}
        )
        for h in (one, two)
    )
    if not g.terms:
        with pytest.raises(Spoiled, match="zero polynomial"):
            f.over(g)
        return
    assert (f * g).over(g) == f
    x, y = sympy.symbols("x y")
    one, two = (sum((c * x**i * y**j for (i, j), c in h.items()), sympy.S(0)) for h in (one, two))
    _, rest = sympy.div(one, two, x, y, domain="QQ")
    if rest != 0:
        assert f.over(g) is None


@given(st.lists(SMALL, min_size=1, max_size=6))
def test_roots_are_counted_as_sympy_counts_them(p):
    while p and p[-1] == 0:
        p.pop()
    if not p:
        return
    x = sympy.Symbol("x")
    f = sympy.Poly(p[::-1], x)
    inside = {r for r in f.real_roots() if 0 < r < 1} if len(p) > 1 else set()
    assert RootCounter(p).count(Fraction(0), Fraction(1)) == len(inside)


CURVES = ["x + y - 1", "x - y + 1/2", "x*x + y*y - 1/4", "4*x*y - 1", "2*y - 1", "3*x - 1"]


@pytest.mark.slow
@given(st.lists(st.sampled_from(CURVES), max_size=2, unique=True).map(lambda c: ["x - y", *c]))
@settings(max_examples=10)
def test_the_cells_of_a_subdivision_are_all_of_them_and_none_can_be_left_out(shown):
    """Curves as differences of rewards: each is the border of one action."""
    renew_budget()
    x, y = sympy.symbols("x y")
    curves = [sympy.sympify(c, rational=True) for c in shown]
    P = small_task(
        "borders",
        lambda s, a: {("end", curves[a - 1] if a else sympy.S(0)): 1},
        "s",
        A=[0, *range(1, len(curves) + 1)],
    )
    found = subdivide(P, QLearning(epsilon=Fraction(1, 2)))
    assert found.symbols == (x, y)
    here = [read_polynomial(str(sympy.expand(c))) for c in found.curves]
    points = [tuple(cell.sample.values()) for cell in found]
    check_cells(here, points, "xy")
    for k in range(len(points)):
        if len(points) > 1:
            with pytest.raises(Spoiled):
                check_cells(here, points[:k] + points[k + 1 :], "xy")


def test_a_curve_that_enters_through_a_side_needs_a_point_on_each_side_of_it():
    renew_budget()
    half, tenth = Fraction(1, 2), Fraction(1, 10)
    line = read_polynomial("x - y + 1/2")
    with pytest.raises(Spoiled, match=r"cell|parted"):
        check_cells([line], [(half, half)], "xy")
    with pytest.raises(Spoiled, match="cell"):
        check_cells([line], [(half, tenth)], "xy")
    check_cells([line], [(half, tenth), (tenth, 9 * tenth), (half, 9 * tenth)], "xy")


def test_augmented_tasks_have_the_certificates_of_their_memories():
    P = recall(gamma=GAMMA)
    made = stored(regions_of(P, "K1"))
    assert recheck(made).startswith("Q-learning with epsilon epsilon and discount gamma on recall ")
    assert len(made["rows"]) == len(augment(P, "K1").O)
