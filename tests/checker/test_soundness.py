"""Lines of the checker whose change once passed all its tests: each has its own here."""

import copy
import json
from fractions import Fraction

import pytest
from certified import CERTIFICATES

from pomdps import recall_variant
from workbench.certificates.loop import certify
from workbench.checker.critical_claims import (
    _determinant,
    _plus,
    _quotient,
    _range,
    _scaled,
    _terms_range,
    _times,
)
from workbench.checker.expressions import read_polynomial
from workbench.checker.recheck import recheck
from workbench.checker.spoiled import Spoiled

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
