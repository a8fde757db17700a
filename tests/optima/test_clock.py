"""Every step of a search looks at the clock: climbs and ascents as well as branches."""

import math

import numpy as np
import pytest

from pomdps import gravity, recall4, short_corridor
from workbench import augment, best_memoryless, evaluate
from workbench.core.errors import NeverEnds
from workbench.core.fields import FLOATS
from workbench.optima import ascent, branch_and_bound
from workbench.optima.ascent import ascend
from workbench.optima.best_informed import best_informed
from workbench.optima.branch_and_bound import ReturnCriterion, search_over_states
from workbench.optima.mdp import from_states


class Clock:
    """A clock that shows how often it was looked at."""

    def __init__(self):
        self.looks = 0

    def monotonic(self):
        self.looks += 1
        return float(self.looks)


def climbing(P, until):
    criterion = ReturnCriterion(P)
    options = search_over_states(criterion, 1e-9, False).options
    choice = np.zeros(len(P.O), dtype=np.int64)
    top = criterion.climb(options, choice, criterion.follow(choice).value, until)
    return criterion.follow(top).value


def test_a_climb_takes_no_step_after_its_time(monkeypatch):
    P = augment(recall4(), "OA1")
    top = climbing(P, math.inf)
    values = []
    for until in range(12):
        monkeypatch.setattr(branch_and_bound, "time", clock := Clock())
        values.append(climbing(P, until))
        assert clock.looks <= until + 1
    assert values == sorted(values)
    assert values[0] == values[1] == -5
    assert -5 < values[-1] <= top


def test_an_ascent_takes_no_step_after_its_time(monkeypatch):
    M = from_states(gravity(), FLOATS)
    even = np.full((len(gravity().O), 4), 0.25)
    whole = ascend(M, even, 1e-9, 50)
    steps = []
    for until in range(5):
        monkeypatch.setattr(ascent, "time", Clock())
        steps.append(ascend(M, even, 1e-9, 50, until).steps)
    assert steps[0] == 0
    assert steps == sorted(steps)
    assert steps[-1] < whole.steps


def test_a_search_without_time_has_a_policy_and_a_bound_where_there_is_a_discount():
    E = augment(gravity(), "K1")
    found = best_memoryless(E, max_seconds=1e-9)
    assert not found.certified
    assert evaluate(E, found.policy).value == pytest.approx(found.value)
    assert found.value <= found.bound <= best_informed(gravity()) + 1e-9


def test_without_a_discount_a_search_without_time_says_that_none_was_found():
    with pytest.raises(NeverEnds, match="the search of short corridor ended before it found"):
        best_memoryless(short_corridor(), max_seconds=1e-9)


def test_without_time_a_policy_that_ends_is_returned():
    """A task of two steps was said to have no policy that ends."""
    found = best_memoryless(augment(recall4(), "B1"), max_seconds=1e-9)
    assert found.value <= found.bound
    assert "stopped" in found.how
