"""The mean field and its sliding equilibria: fields, flows, shares, and what real runs do."""

from fractions import Fraction

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from reference_equilibrium import drift
from strategies import families, pomdps
from toy_tasks import habit, small_task

from pomdps import recall, recall4, recall_variant
from workbench import (
    POMDP,
    Policy,
    QLearning,
    Sarsa,
    augment,
    equilibria,
    evaluate,
    learn,
    mean_field,
)
from workbench.core.errors import NotExact, TooLarge, WorkbenchError, WrongType
from workbench.equilibrium.greedy_cells import DenseTask
from workbench.equilibrium.learned_values import target_of
from workbench.equilibrium.mean_field import CellFields
from workbench.research.slides import exact_mean_field, slides, slides_of

TENTH = Fraction(1, 10)


def zero(P: POMDP) -> Policy:
    """The first action on the one observation."""
    return Policy.deterministic(P, {"o": P.A[0]})


@given(st.data())
@settings(max_examples=25)
def test_the_field_is_the_expected_change_of_one_step(data):
    P = augment(data.draw(pomdps(most_observations=2, most_states=3)), data.draw(families(1)))
    sarsa = data.draw(st.booleans())
    target = target_of(Sarsa(lam=0) if sarsa else QLearning())
    task = DenseTask(P, target, 0.25)
    q = np.random.default_rng(data.draw(st.integers(0, 99))).normal(size=(len(task.rows), len(P.A)))
    A, c = CellFields(task).of(q.argmax(axis=1))
    field = (A @ q.ravel() + c).reshape(q.shape)
    labelled = {
        (P.O[int(o)], a): q[i, j] for i, o in enumerate(task.rows) for j, a in enumerate(P.A)
    }
    expected = drift(P, labelled, 0.25, sarsa)
    for i, o in enumerate(task.rows):
        for j, a in enumerate(P.A):
            assert field[i, j] == pytest.approx(expected[P.O[int(o)], a], abs=1e-9)


@given(st.data())
@settings(max_examples=20)
def test_fields_in_rationals_and_in_floats_agree(data):
    P = augment(data.draw(pomdps(most_observations=2, most_states=3)), data.draw(families(1)))
    target = target_of(data.draw(st.sampled_from([QLearning(), Sarsa(lam=0)])))
    task = DenseTask(P, target, 0.25)
    actions = np.zeros(len(P.O), dtype=np.int64)
    actions[task.rows] = [data.draw(st.integers(0, len(P.A) - 1)) for _ in task.rows]
    A, c = exact_mean_field(P, target, Fraction(1, 4), Policy.from_actions(P, actions), task.rows)
    A_float, c_float = task.affine(task.greedy(actions[task.rows]))
    assert np.allclose([[float(Fraction(str(x))) for x in row] for row in A], A_float, atol=1e-12)
    assert np.allclose([float(Fraction(str(x))) for x in c], c_float, atol=1e-12)


def test_a_flow_ends_at_a_strict_equilibrium_of_its_side():
    P = habit()
    right, left = equilibria(P, QLearning(epsilon=0.1))
    for e in (left, right):
        flow = mean_field(P, QLearning(epsilon=0.1), time=500, initial=e.q.raw * 0.9)
        assert flow.ended == "settled"
        assert np.abs(flow.mean - e.q.raw).max() < 1e-6
        assert np.array_equal(flow.policy.actions, e.policy.actions)


def test_without_memory_the_variant_slides_at_the_root_of_a_quadratic():
    P = recall_variant()
    (slide,) = slides(P, QLearning(epsilon=TENTH), zero(P), {"o": [0, 1]}).found
    x = sympy.Symbol("x")
    assert slide.polynomial == 36684 * x**2 - 37064 * x + 361
    assert slide.attracts
    assert slide.radius < 1e-12
    flow = mean_field(P, QLearning(epsilon=0.1), time=1000, dt=0.02)
    assert flow.ended == "sliding"
    assert flow.policy["o", 1] == pytest.approx(slide.shares["o"][1], abs=1e-3)
    assert np.abs(flow.mean - slide.q).max() < 0.05


def test_runs_slide_with_the_variant_the_better_the_smaller_their_steps():
    """The share of the worse action exceeds the predicted one; with a sixteenth of the step, by
    less than a third of that excess."""
    P = recall_variant()
    (slide,) = slides(P, QLearning(epsilon=TENTH), zero(P), {"o": [0, 1]}).found
    excess, error = {}, {}
    for step, steps in ((1.6e-3, 2_000_000), (1e-4, 16_000_000)):
        learner = QLearning(epsilon=0.1, step=step, initial=-4)
        run = learn(P, learner, steps=steps, seeds=6, every=1000)
        share = run.actions[:, steps // 4000 :, 0].mean(axis=1)
        excess[step] = share.mean() - slide.shares["o"][1]
        error[step] = share.std(ddof=1) / np.sqrt(len(share))
    assert abs(excess[1e-4]) < excess[1.6e-3] / 3
    assert excess[1.6e-3] - excess[1e-4] > 5 * (error[1e-4] + error[1.6e-3])


def test_with_one_bit_recall4_slides_at_the_root_of_a_cubic():
    E = augment(recall4(), "B1")
    flow = mean_field(E, QLearning(epsilon=0.1), time=3000, dt=0.1)
    (slide,) = slides_of(flow, TENTH).found
    x = sympy.Symbol("x")
    assert slide.polynomial == 1944 * x**3 - 29556 * x**2 + 26882 * x + 365
    assert slide.attracts
    assert list(slide.shares) == [("0", "o")]  # the other row ties whatever is written
    assert "attracting" in repr(slide)
    off = {}
    for dt in (0.1, 0.02):  # Euler steps are right up to O(dt)
        near = mean_field(E, QLearning(epsilon=0.1), time=600, dt=dt, initial=slide.q)
        off[dt] = np.nanmax(np.abs(near.q.raw - slide.q))
    assert off[0.02] < off[0.1] / 3
    assert off[0.02] < 1e-3


@pytest.mark.parametrize("dt", [0.1, 0.05])
def test_on_recall_with_one_bit_the_mean_field_goes_round(dt):
    """There is no fixed point, and it does not come to rest along ties either: over and over the
    values rise and fall by half, however small they are."""
    flow = mean_field(augment(recall(), "B1"), QLearning(epsilon=0.1), time=5000, dt=dt)
    assert flow.ended == "moving"
    late = flow.tables[len(flow.tables) // 2 :, 0, 3]  # q of doing 2 and writing 1
    middle = (late.min() + late.max()) / 2
    assert late.max() > 1.4 * late.min()
    assert (np.diff(late > middle) != 0).sum() >= 4


@pytest.mark.slow
def test_recall_with_oa1_jumps_without_noise_at_the_papers_step_and_not_with_small_ones():
    """Figure 3's step is 0.1: Euler steps of this length leave the worthless policies over and
    over, shorter ones stay at them."""
    E = augment(recall(), "OA1")
    optimal = {}
    for dt, time in ((0.1, 40_000), (0.02, 20_000)):
        flow = mean_field(E, QLearning(epsilon=0.01), time=time, dt=dt, kept=1000)
        worth = []
        for q in flow.tables[len(flow.tables) // 2 :]:
            actions = np.zeros(len(E.O), dtype=np.int64)
            actions[flow.rows] = q.argmax(axis=1)
            worth.append(evaluate(E, Policy.from_actions(E, actions)).value > 0)
        optimal[dt] = np.array(worth)
    assert (np.diff(optimal[0.1]) != 0).sum() > 10
    assert not optimal[0.02].any()


def test_where_two_policies_do_not_tie_there_is_no_slide():
    P = small_task("one step", lambda s, a: {("end", a): 1}, "s")
    found = slides(P, QLearning(epsilon=TENTH), zero(P), {"o": [0, 1]})
    assert not found.found
    assert found.complete


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda P: mean_field("recall", QLearning()), WrongType, "needs a POMDP"),
        (lambda P: mean_field(P, QLearning(epsilon=0)), WorkbenchError, "never updated"),
        (lambda P: mean_field(P, QLearning(), time=-1), WorkbenchError, "time must be a positive"),
        (lambda P: mean_field(P, QLearning(), dt=2), WorkbenchError, "at most 1"),
        (
            lambda P: mean_field(P, QLearning(), initial=[[1, 2]]),
            WorkbenchError,
            "1 rows and 3 act",
        ),
        (
            lambda P: slides(P, QLearning(), zero(P), {"o": [1, 2]}),
            NotExact,
            "an exact epsilon",
        ),
        (
            lambda P: slides(P, Sarsa(epsilon=TENTH), zero(P), {"o": [1, 2]}),
            WorkbenchError,
            "one-step targets",
        ),
    ],
)
def test_bad_arguments_are_refused(call, error, message):
    with pytest.raises(error, match=message):
        call(recall())


def test_tables_too_large_for_symbols_are_named():
    E = augment(recall4(), "B3")
    pi = Policy.deterministic(E, {}, otherwise=(1, "000"))
    with pytest.raises(TooLarge, match="256 entries that matter; up to 64"):
        slides(E, QLearning(epsilon=TENTH), pi, {("000", "o"): [(1, "000"), (2, "000")]})


def test_it_shows_which_actions_are_greedy_by_turns():
    found = mean_field(recall_variant(), QLearning(epsilon=0.1))
    text = found.sheet().text()
    assert "The table slides along a tie" in text
    assert len(found.to_frame()) == len(found.rows)
    assert all(f"{share:.3g}" in found._repr_html_() for share in found.shares[0])
