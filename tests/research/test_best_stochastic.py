"""best_memoryless(deterministic=False): ascent along the exact gradient, its first-order
conditions, known optima."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
import reference_optimum as reference
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import policies, pomdps, wandering
from toy_tasks import small_task

from pomdps import gravity, recall, recall4, recall_variant, short_corridor
from workbench import Policy, augment, evaluate
from workbench.core.errors import NeverEnds
from workbench.core.fields import FLOATS
from workbench.optima.ascent import ascend, project, slope
from workbench.optima.best_informed import best_informed
from workbench.optima.best_memoryless import best_memoryless
from workbench.optima.mdp import from_states

F = Fraction


def test_the_short_corridor_is_best_at_two_minus_the_root_of_two():
    """v(x) = -2 (2 - x) / (x (1 - x)) when right has probability x; its maximum is -(6 + 4 sqrt
    2)."""
    found = best_memoryless(short_corridor(), deterministic=False, starts=5)
    assert found.policy[found.P.O[0], "right"] == pytest.approx(2 - math.sqrt(2), abs=1e-7)
    assert found.value == pytest.approx(-(6 + 4 * math.sqrt(2)), abs=1e-9)
    assert found.kkt < 1e-7
    assert found.first_order
    assert found.certified  # full information takes three steps, which bounds nothing
    assert found.gap < 1e-6
    assert found.left == 0
    with pytest.raises(
        NeverEnds, match="no deterministic memoryless policy of short corridor ends"
    ):
        best_memoryless(short_corridor())


def test_recall_without_memory_repeats_each_action_a_third_of_the_time():
    found = best_memoryless(recall(), deterministic=False)
    assert found.value == pytest.approx(0.9025 / 27)
    assert [found.policy["o", a] for a in (1, 2, 3)] == pytest.approx([1 / 3] * 3, abs=1e-6)


@pytest.mark.parametrize(
    ("task", "memory", "value"),
    [
        (recall_variant, "none", 0),
        (recall_variant, "OA1", 3),
        (recall4, "none", 9 / 16),
        (recall4, "B1", 1),
        (recall, "B1", 0.9025 / 4),  # two memory states do not tell three steps apart: coins help
        (recall, "B2", 0.9025),
    ],
)
def test_the_recall_tasks(task, memory, value):
    found = best_memoryless(augment(task(), memory), deterministic=False, starts=6, max_boxes=0)
    assert found.value == pytest.approx(value, abs=1e-8)
    assert found.first_order


def test_chance_helps_without_memory_in_gravity():
    found = best_memoryless(gravity(), deterministic=False, starts=4, seed=3)
    assert found.value > 9 * best_memoryless(gravity()).value
    assert found.value == pytest.approx(0.10189015, abs=1e-7)
    assert found.first_order


# ---------------------------------------------------------------------- properties


@settings(max_examples=25)
@given(pomdps(most_observations=3, most_actions=3), st.data())
def test_it_is_at_least_every_policy_nearby_and_every_deterministic_one(P, data):
    found = best_memoryless(P, deterministic=False, starts=2)
    assert found.value >= float(reference.best_deterministic(P)) - 1e-9
    assert found.value <= float(best_informed(P, exact=True)) + 1e-9
    assert found.value <= found.bound
    assert found.value == pytest.approx(evaluate(P, found.policy).value, abs=1e-9)
    other = data.draw(policies(P))
    step = evaluate(P, found.policy.toward(other, 1e-4)).value
    assert step <= found.value + 1e-4 * found.kkt + 1e-5  # to first order nothing is gained


@settings(max_examples=25)
@given(pomdps(), st.integers(0, 100))
def test_the_gradient_is_the_slope_of_the_return(P, seed):
    M = from_states(P, FLOATS)
    pi = Policy.random(P, seed)
    here = slope(M, pi.prob.floats)
    assert here.value == pytest.approx(evaluate(P, pi).value, abs=1e-9)
    other = Policy.random(P, seed + 1)
    along = float((here.g * (other.prob.floats - pi.prob.floats)).sum())
    near, far = (evaluate(P, pi.toward(other, h)).value for h in (1e-6, 2e-6))
    assert (4 * near - far - 3 * here.value) / 2e-6 == pytest.approx(
        along, abs=1e-3
    )  # a one-sided difference


@settings(max_examples=25)
@given(pomdps(), st.integers(0, 100))
def test_ascent_never_goes_down(P, seed):
    M = from_states(P, FLOATS)
    start = Policy.random(P, seed).prob.floats
    values = [ascend(M, start, 1e-9, most).value for most in (0, 1, 3, 10)]
    assert all(b >= a - 1e-12 for a, b in pairwise(values))


@given(
    st.lists(st.floats(-5, 5), min_size=2, max_size=5),
    st.lists(st.floats(0.01, 1), min_size=5, max_size=5),
)
def test_the_projection_is_the_nearest_distribution(x, weights):
    row = project(np.array([x]))[0]
    assert row.sum() == pytest.approx(1)
    assert (row >= 0).all()
    other = np.array(weights[: len(x)]) / sum(weights[: len(x)])
    assert np.linalg.norm(row - x) <= np.linalg.norm(other - x) + 1e-9


@settings(max_examples=30)
@given(wandering())
def test_at_gamma_one_it_stays_with_policies_that_end(P):
    M = from_states(P, FLOATS)
    if slope(M, np.full((len(P.O), len(P.A)), 1 / len(P.A))).value == -math.inf:
        return  # even the uniform policy may never end
    found = best_memoryless(P, deterministic=False, starts=1, max_boxes=300)
    assert found.value > -math.inf
    assert found.value <= found.bound
    assert (found.policy.prob.floats >= 0).all()


# ---------------------------------------------------------------------- seeds, interruptions


def test_a_seed_gives_the_same_policy_twice():
    E = augment(recall(), "B1")
    one, two = (
        best_memoryless(E, deterministic=False, starts=3, seed=7, max_boxes=50) for _ in range(2)
    )
    assert np.array_equal(one.policy.prob.floats, two.policy.prob.floats)
    assert one.starts == two.starts


def test_ctrl_c_leaves_the_best_start_so_far(monkeypatch):
    import workbench.research.stochastic_search as memoryless

    calls = []

    def interrupted(*arguments):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return ascend(*arguments)

    monkeypatch.setattr(memoryless, "ascend", interrupted)
    found = best_memoryless(recall4(), deterministic=False)
    assert found.interrupted
    assert len(found.starts) == 2
    assert found.value == pytest.approx(9 / 16)


def test_a_trap_beside_the_way_out_is_left_alone():
    P = small_task(
        "trap",
        lambda s, a: {("end" if a == "leave" else "pit", 0): 1} if s == "s" else {("pit", 0): 1},
        "s",
        A=["wait", "leave"],
    )
    found = best_memoryless(P, deterministic=False)  # only the deterministic start surely ends
    assert found.value == 0
    assert found.policy["o", "leave"] == 1


def test_it_says_so_when_no_start_ends():
    P = small_task(
        "blind",
        lambda s, a: {("end" if a == s else "pit", 0): 1} if s != "pit" else {("pit", 0): 1},
        {"l": F(1, 2), "r": F(1, 2)},
        A=["l", "r"],
    )
    with pytest.raises(NeverEnds, match="none of the starts"):
        best_memoryless(P, deterministic=False)
    with pytest.raises(NeverEnds, match="no deterministic memoryless policy of blind ends"):
        best_memoryless(P)
    assert best_informed(P) == 0


def test_the_value_is_what_the_policy_is_worth_whatever_states_it_avoids():
    """States worth minus a hundred million are mixed into the values of those that are met."""
    dear = -(10**9)
    p = {
        ("a", 0): {
            ("b", 2): F(105, 512),
            ("a", -3): F(21, 32),
            ("end", -1): F(1, 8),
            ("b", dear): F(7, 512),
        },
        ("a", 1): {("s", 2): F(7, 8), ("end", 3): F(1, 8)},
        ("s", 0): {("s", -1): F(1, 2), ("end", 1): F(1, 2)},
        ("s", 1): {("a", 0): F(1, 6), ("s", -3): F(1, 8), ("b", 3): F(5, 24), ("end", -1): F(1, 2)},
        ("b", 0): {
            ("a", 0): F(5, 16),
            ("b", 3): F(1, 6),
            ("end", 3): F(1, 2),
            ("a", dear): F(1, 48),
        },
        ("b", 1): {("s", -2): F(105, 128), ("end", 1): F(1, 8), ("s", dear): F(7, 128)},
    }
    P = small_task(
        "avoided", lambda s, a: p[s, a], "s", omega=lambda s: {"o" if s == "s" else "x": 1}
    )
    found = best_memoryless(P, deterministic=False)
    assert found.value == evaluate(P, found.policy).value == 0
    assert found.certified
    assert found.bound < 1e-10
