"""Tasks of the field's other papers: sizes and answers that those papers, or hands, give."""

from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from strategies import policies

from pomdps import (
    belief_corridor,
    float_reset,
    invisible_door,
    parity_check,
    periodic_counter,
    sutton_grid,
)
from workbench import (
    augment,
    best_history,
    best_memoryless,
    lambda_discrepancy,
    load_pomdp,
    td_values,
)
from workbench.agents.beliefs import belief
from workbench.core.errors import WorkbenchError
from workbench.optima.best_informed import best_informed

F = Fraction
DATA = Path(__file__).parents[1] / "data"


def test_suttons_grid_takes_404_steps_with_the_state_and_416_without():
    P = sutton_grid()
    assert len({o for o in P.O if o != "goal"}) == 30
    assert best_informed(P, exact=True) * 46 == -404
    best = best_memoryless(P, exact=True)
    assert best.certified
    assert best.value * 46 == -416


def test_the_beliefs_of_the_corridor_are_those_of_the_textbook():
    P = belief_corridor()
    assert belief(P, ("-",)) == {0: F(1, 3), 1: F(1, 3), 3: F(1, 3)}
    assert belief(P, ("-", "EAST", "-")) == {0: F(1, 10), 1: F(9, 20), 3: F(9, 20)}
    second = belief(P, ("-", "EAST", "-", "EAST", "-"))
    assert [round(float(second[s]), 3) for s in (0, 1, 2, 3)] == [0.1, 0.164, 0, 0.736]


@given(policies(parity_check()))
@settings(max_examples=15)
def test_the_parity_check_has_no_lambda_discrepancy_under_any_policy(pi):
    P = parity_check()
    low, high = (td_values(P, pi, lam=lam, exact=True) for lam in (0, 1))
    assert low.q.raw.tolist() == high.q.raw.tolist()
    assert lambda_discrepancy(P, pi, exact=True) == 0


def test_one_bit_solves_the_parity_check_nevertheless():
    P, published = (
        parity_check(),
        load_pomdp(DATA / "parity_check.POMDP", exact=True, goals=[12]),
    )
    assert len(P.S) == len(published.S) == 13
    assert best_history(P).value == best_history(published).value == F(81, 100)
    values = {
        m: best_memoryless(augment(P, m), exact=True).value for m in ("none", "K1", "B1", "O1")
    }
    assert values == {"none": 0, "K1": 0, "B1": F(81, 100), "O1": F(81, 100)}


def test_longer_periods_earn_more_on_the_counter():
    P = periodic_counter()
    values = [best_memoryless(augment(P, f"clock{L}")).value for L in (1, 3, 4)]
    assert values == sorted(values)
    assert values[0] < values[1] < values[2] < 10
    assert P.p(7, 0) == {(8, 1): 1}
    assert P.p(8, 0) == {(1, -1): 1}


def test_float_and_reset_do_what_they_say():
    P = float_reset()
    assert P.p((4, 0), "float") == {((3, 0), 0): F(1, 2), ((4, 0), 0): F(1, 2)}
    assert P.p((4, 0), "reset") == {((4, 1), 1): 1}
    assert P.p((3, 0), "reset") == {((4, 0), 0): 1}


def test_the_invisible_door_needs_a_bit():
    P = invisible_door()
    assert best_memoryless(P, exact=True).value == 0
    assert (
        best_memoryless(augment(P, "B1"), exact=True).value
        == best_history(P).value
        == F(9, 10) ** 6
    )


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: periodic_counter(1), "at least two states, not 1"),
        (lambda: float_reset(1), "at least two cells, not 1"),
        (lambda: invisible_door(start=5), "between the button 0 and the goal 5, not at 5"),
    ],
)
def test_tasks_that_make_no_sense_are_refused(make, message):
    with pytest.raises(WorkbenchError, match=message):
        make()
