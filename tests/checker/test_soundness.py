"""Lines of the checker whose change once passed all its tests: each has its own here."""

import copy
import json
import random
from fractions import Fraction
from itertools import pairwise, permutations
from math import prod
from types import SimpleNamespace

import pytest
from arithmetic import polynomial_of
from certified import CERTIFICATES

from pomdps import recall_variant
from workbench import augment, critical_points
from workbench.certificates.critical import critical_certificate
from workbench.certificates.loop import certify
from workbench.checker.critical_claims import (
    _determinant,
    _plus,
    _quotient,
    _range,
    _require_root,
    _scaled,
    _terms_range,
    _times,
)
from workbench.checker.every_k_claims import _stays
from workbench.checker.expressions import Polynomial, read_polynomial
from workbench.checker.fixed_point_claims import check_fixed_point
from workbench.checker.loop_claims import bound_of_states
from workbench.checker.place_graph import is_positive_down_to
from workbench.checker.polynomials import at, determinant, eliminated, keeps_sign, times
from workbench.checker.positivity import is_positive_on_box
from workbench.checker.reader import read_fraction, read_task
from workbench.checker.recheck import recheck
from workbench.checker.spoiled import Spoiled
from workbench.improvement.batch import sequence_task

F = Fraction


def test_an_interval_keeps_its_ends_in_order_whatever_it_is_multiplied_by():
    assert _scaled((F(1), F(2)), F(-3)) == (F(-6), F(-3))
    assert _scaled((F(-1), F(2)), F(3)) == (F(-3), F(6))
    assert _times((F(-1), F(2)), (F(-3), F(1))) == (F(-6), F(3))
    assert _plus((F(1), F(2)), (F(10), F(30))) == (F(11), F(32))
    assert _quotient((F(1), F(2)), (F(-4), F(-2))) == (F(-1), F(-1, 4))
    for below in ((F(0), F(1)), (F(-1), F(0)), (F(-1), F(1))):
        with pytest.raises(Spoiled, match="keep its sign"):
            _quotient((F(1), F(2)), below)


def test_ranges_hold_every_value_on_their_box():
    f = read_polynomial("x**2*y - 3*x*y**2 + x/2 - 1")
    box = {"x": (F(-1, 2), F(3, 4)), "y": (F(1, 5), F(2))}
    for found in (_range(f, box), _terms_range(f, box)):
        for i in range(6):
            for j in range(6):
                at = {"x": F(-1, 2) + F(i, 4), "y": F(1, 5) + F(9 * j, 25)}
                assert found[0] <= f.at(at) <= found[1]
    wide, exact = _range(f, box), _range(f, {"x": (F(1), F(1)), "y": (F(2), F(2))})
    assert exact == (f.at({"x": F(1), "y": F(2)}),) * 2
    assert wide[0] < wide[1]


def test_a_determinant_of_intervals_holds_that_of_their_ends():
    A = [[(F(1), F(2)), (F(-1), F(0)), (F(0), F(0))],
         [(F(3), F(3)), (F(1), F(4)), (F(-2), F(1))],
         [(F(0), F(1)), (F(5), F(5)), (F(1), F(1))]]  # fmt: skip
    low, high = _determinant(A)
    for end in (0, 1):
        a = [[x[end] for x in row] for row in A]
        exact = (
            a[0][0] * (a[1][1] * a[2][2] - a[1][2] * a[2][1])
            - a[0][1] * (a[1][0] * a[2][2] - a[1][2] * a[2][0])
            + a[0][2] * (a[1][0] * a[2][1] - a[1][1] * a[2][0])
        )
        assert low <= exact <= high


def test_a_wide_box_around_a_root_is_seen_to_hold_it_and_one_beside_it_is_not():
    """The root 1/2 of x^2 - 1/4, and 2/3, 1/2 of a pair whose equations are mixed."""
    f = [read_polynomial("x**2 - 1/4")]
    J = [[read_polynomial("2*x")]]

    def held(low, high, F=f, J=J, names=("x",)):
        boxes = [(low, high)] * len(names)
        box = dict(zip(names, boxes, strict=True))
        H = [[_terms_range(g, box) for g in row] for row in J]
        try:
            _require_root(F, J, H, list(names), tuple(boxes))
        except Spoiled:
            return False
        return True

    assert held(F(1, 4), F(3, 4))
    assert held(F(2, 5), F(13, 20))
    assert not held(F(11, 20), F(3, 4))
    assert not held(F(1, 20), F(3, 4))
    two = [read_polynomial("x + y - 7/6 + (x - 2/3)**2"), read_polynomial("x - y - 1/6")]
    slopes = [["1 + 2*x - 4/3", "1"], ["1", "-1"]]
    J = [[read_polynomial(text) for text in row] for row in slopes]
    assert held(F(2, 5), F(4, 5), two, J, ("x", "y"))
    assert not held(F(7, 10), F(4, 5), two, J, ("x", "y"))


@pytest.mark.parametrize("root", [F(1, 3), F(2, 5), F(5, 7), F(1, 16)])
@pytest.mark.parametrize("above", [F(1, 1000), F(1, 50), F(-1, 1000), F(-1, 50), F(0)])
def test_a_parabola_is_positive_if_its_lowest_point_is_above_zero(root, above):
    p = polynomial_of([root**2 + above, -2 * root, F(1)])
    assert is_positive_down_to(p, F(0), strict=True) == (above > 0)
    assert is_positive_down_to(p, F(0), strict=False) == (above >= 0)


def test_an_action_stays_only_if_nothing_after_it_pays_more():
    table = [[F(x) for x in row] for row in ([5, 6, 1], [0, -9, 9], [0, -9, 9])]
    with pytest.raises(Spoiled, match="not the best of its row"):
        _stays(table, 0, F(1, 50), F(1, 2))


def test_numbers_of_any_length_are_read_digit_by_digit():
    for digits in (3_999, 4_000, 4_001, 9_000):
        assert read_fraction("7" + "0" * (digits - 2) + "3") == 7 * 10 ** (digits - 1) + 3


@pytest.mark.parametrize(("stays", "holds"), [(F(0), True), (F(1, 2), True), (F(1), False)])
def test_a_negative_bound_without_discount_needs_a_task_that_ends_whatever_is_done(stays, holds):
    """From s `go` ends and pays -1; `wait` stays there with this chance and pays nothing."""
    model = {
        "name": "waiting", "actions": ["go", "wait"], "mu": [["s", "1"]], "gamma": "1",
        "terminal": ["end"], "omega": [["s", [["o", "1"]]], ["end", [["o", "1"]]]],
        "p": [
            ["s", "go", [["end", "-1", "1"]]],
            ["s", "wait", [["s", "0", str(stays)], ["end", "-1", str(1 - stays)]]],
        ],
    }  # fmt: skip
    if holds:
        assert bound_of_states([["s", "-1"]], read_task(model)) == -1
    else:
        with pytest.raises(Spoiled, match="surely ends"):
            bound_of_states([["s", "-1"]], read_task(model))


def test_iterates_are_those_of_the_greedy_policy_and_of_no_other():
    """OA1 on the variant of recall: greedy is not the first action, and 120 iterates stay below."""
    made = json.loads(json.dumps(certify(recall_variant(), "OA1", F(1, 50))))
    assert made["status"] == "checked"
    assert "120" in recheck(made)
    for lower in (F(-2), F(-1137688, 1000000)):
        with pytest.raises(Spoiled):
            recheck({**made, "highest": str(lower)})
    with pytest.raises(Spoiled):
        recheck({**made, "ties": "first"} | {"highest": made["highest"], "iterates": 121})


def test_greedy_is_unique_only_if_no_other_action_ties_before_or_behind_it():
    """An action that does what the greedy one does, listed first or last, makes greedy two."""
    made = json.loads(json.dumps(CERTIFICATES["falling-step"]()))
    assert recheck(made)
    found = [
        [trouble_with_a_twin(made, action, first) for first in (True, False)]
        for action in made["model"]["actions"]
    ]
    assert ["greedy is not unique"] * 2 in found


def trouble_with_a_twin(made, action, first):
    """What is said where another action does the same as a given one."""
    twice = copy.deepcopy(made)
    model = twice["model"]
    model["p"] += [[s, "again", row] for s, a, row in model["p"] if a == action]
    model["actions"] = ["again", *model["actions"]] if first else [*model["actions"], "again"]
    try:
        return recheck(twice)
    except Spoiled as error:
        return str(error)


def test_one_better_action_is_enough_to_make_a_policy_no_fixed_point():
    cells = SimpleNamespace(actions=(0, 1, 2), action_values=lambda g: lambda i, j: F(3 - j))
    with pytest.raises(Spoiled, match="is no fixed point"):
        check_fixed_point(cells, (1,), False, F(2))


def test_every_way_out_of_the_face_of_a_point_needs_its_slope():
    P = sequence_task([[5, 4], [0, 6]])
    found = critical_points(augment(P, "none"))
    made = json.loads(json.dumps(critical_certificate(P, "none", found)))
    assert recheck(made)
    left = [i for i, point in enumerate(made["points"]) if point["outside"]]
    assert left
    for i in left:
        bad = copy.deepcopy(made)
        bad["points"][i]["outside"] = []
        with pytest.raises(Spoiled, match="nothing is said about taking"):
            recheck(bad)


def test_one_formula_among_the_probabilities_of_a_family_is_refused():
    made = json.loads(json.dumps(CERTIFICATES["greedy-family"]()))
    made["model"]["gamma"] = "x"
    with pytest.raises(Spoiled, match="only rewards and the policy may be formulas"):
        recheck(made)


def test_an_interval_without_end_is_moved_to_its_low_end():
    box = {"x": "[7/2, oo)", "y": "[0, 1]"}
    assert is_positive_on_box("y*(x**2 - 49/4) + 1", box)
    assert is_positive_on_box("y*(x**3 - 343/8)", box, strict=False)
    assert not is_positive_on_box("y*(x**2 - 50/4) + 1/9", box)


def test_the_sign_of_a_polynomial_is_that_between_its_roots():
    draw = random.Random(0)
    for _ in range(150):
        roots = [F(draw.randint(-6, 6), draw.choice((1, 2, 3))) for _ in range(draw.randint(1, 4))]
        low = F(draw.randint(-6, 5), 2)
        high = low + F(draw.randint(1, 8), 2)
        p = [F(draw.choice((-1, 1, 2)))]
        for root in roots:
            p = times(p, [-root, F(1)])
        ends = draw.random() < 0.5, draw.random() < 0.5
        marks = sorted({low, high, *(r for r in roots if low < r < high)})
        between = [at(p, (x + y) / 2) for x, y in pairwise(marks)]
        inside = [x for x in marks if low < x < high]
        held = inside + [x for x, belongs in zip((low, high), ends, strict=True) if belongs]
        for strict in (True, False):
            true = all(x > 0 for x in between) and all(at(p, x) > 0 or not strict for x in held)
            assert keeps_sign(p, low, high, ends, strict) == true, (roots, low, high, ends, strict)


def test_determinants_and_solutions_are_those_of_the_numbers_at_a_point():
    draw, at, n = random.Random(1), {"x": F(5, 7), "y": F(2, 3)}, 3
    for _ in range(30):
        A = [[drawn_polynomial(draw) for _ in range(n)] for _ in range(n)]
        A[0][0] = Polynomial({})
        numbers = [[f.at(at) for f in row] for row in A]
        exact = sum(
            prod((numbers[i][p[i]] for i in range(n)), start=F(odd(p)))
            for p in permutations(range(n))
        )
        assert determinant(A).at(at) == exact
        right = [drawn_polynomial(draw) for _ in range(n)]
        rows = [{j: f for j, f in enumerate(row) if f.terms} for row in A]
        N, D = eliminated(rows, right)
        assert D.at(at) == exact
        assert bool(N) == bool(determinant(A).terms)
        for row, side in zip(numbers, right, strict=True):
            total = sum(a * f.at(at) for a, f in zip(row, N, strict=bool(N)))
            assert total == D.at(at) * side.at(at)


def drawn_polynomial(draw):
    """A polynomial of degree at most two in x or y, often 0."""
    p = [F(draw.randint(-2, 2)) for _ in range(draw.randint(0, 3))]
    return polynomial_of(p, draw.choice("xxy"))


def odd(order):
    """The sign of a permutation."""
    swaps = sum(order[i] > order[j] for i in range(len(order)) for j in range(i + 1, len(order)))
    return -1 if swaps % 2 else 1
