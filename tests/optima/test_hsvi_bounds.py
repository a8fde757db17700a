"""The upper bound of `hsvi`: its teeth by their formula."""

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from pomdps import tiger
from workbench.core.fields import FLOATS, dynamics
from workbench.optima.hsvi import BeliefModel, Bounds
from workbench.optima.mdp import from_states, optimal, superharmonic


def searched(ways: int) -> Bounds:
    P = tiger()
    M = from_states(P, FLOATS)
    states, first = np.unique(M.behind, return_index=True)
    above = superharmonic(M, optimal(M))[first]
    D = dynamics(P, FLOATS)
    listening = np.full((1, len(states)), D.R[states, P.A.index("listen")].min() / 0.05)
    bounds = Bounds(BeliefModel(P, states), above, listening)
    for _ in range(ways):
        bounds.search(1e-9)
    return bounds


def slow_upper(bounds: Bounds, b: np.ndarray) -> float:
    """The least of the plane of the corners, full information, and every tooth on either."""

    def rest(x):
        return min(float(bounds.corner @ x), float((x @ bounds.Q).max()))

    found = [rest(b)]
    for i in range(bounds._count):
        point = bounds._points[i]
        ratio = min(b[s] / point[s] for s in range(len(b)) if point[s] > 0)
        found.append(ratio * bounds._values[i] + rest(b - ratio * point))
    return min(found)


@given(st.integers(0, 12), st.lists(st.integers(0, 9), min_size=2, max_size=2))
@settings(max_examples=25)
def test_the_bound_is_the_least_of_all_teeth(ways, weights):
    bounds = searched(ways)
    n = bounds.model.shape[0]
    b = np.ones(n)
    b[: len(weights)] += weights
    b /= b.sum()
    assert np.isclose(bounds.upper(b[None])[0], slow_upper(bounds, b), atol=1e-9)


def test_a_point_that_a_new_one_undercuts_is_forgotten():
    bounds = searched(60)
    n = bounds._count
    assert n < bounds.backups / 4
    points, values = bounds._points[:n], bounds._values[:n]
    for i in range(n):
        for j in range(i + 1, n):  # added later
            ratio = min(points[i, s] / points[j, s] for s in np.flatnonzero(points[j]))
            rest = points[i] - ratio * points[j]
            above = min(float(bounds.corner @ rest), float((rest @ bounds.Q).max()))
            assert ratio * values[j] + above > values[i] - 1e-9


def test_bounds_close_and_never_part():
    gaps = [searched(ways).gap() for ways in (0, 5, 20, 60)]
    for before, after in itertools.pairwise(gaps):
        assert after.upper <= before.upper + 1e-9
        assert after.lower >= before.lower - 1e-9
    # 19.3713 is what the published solvers find
    assert gaps[-1].lower <= 19.3715
    assert gaps[-1].upper >= 19.3713
    assert gaps[-1].upper - gaps[-1].lower < 0.5
