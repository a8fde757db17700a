"""The oracle loop on many sequence tasks at once: against the loop of the workbench, task by
task."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference_lab_batch import encodable_sequences, ending

from pomdps import recall4, recall_variant
from pomdps.recalls import RECALL4_REWARDS, VARIANT_REWARDS
from workbench import Memory, augment, best_memoryless, evaluate, improve, uniform
from workbench.certificates.loop import certify
from workbench.core import batch_kernels as kernels
from workbench.core.batch import best_values, sequence_task, structure, stuck
from workbench.core.errors import WorkbenchError, WrongType
from workbench.core.loop_kernels import choose_greedy
from workbench.core.numbers import Numbers
from workbench.core.policy import Policy, tie_order
from workbench.core.residue_kernels import (
    ASKED,
    PRIME,
    SYNCED,
    begin_asking,
    power,
    residue,
)

MEMORIES = ("none", "K1", "K2", "B1", "B2", "O1", "O2", "OA1", "OA2")

RECALL4 = np.array(RECALL4_REWARDS, dtype=float)
VARIANT = np.array(
    [[[VARIANT_REWARDS[a, b, c] for c in (0, 1)] for b in (0, 1)] for a in (0, 1)], dtype=float
)

LIMIT_AND_CYCLE = np.array([[[0.25, 0.25], [0.25, 0]], [[-0.25, 0.25], [0.25, -0.125]]])
"""With B1 and steps of 0.3 rows that the limit does not visit go round for ever."""


@st.composite
def reward_tables(draw: st.DrawFn, most_actions: int = 3) -> np.ndarray:
    """Halves between -2 and 2 (so that ties are common), or any floats."""
    length = draw(st.sampled_from([2, 3, 4]))
    actions = draw(st.integers(2, most_actions if length < 4 else 2))
    entries = st.one_of(st.integers(-4, 4).map(lambda x: x / 2), st.floats(-3, 3, width=16))
    flat = draw(st.lists(entries, min_size=actions**length, max_size=actions**length))
    return np.array(flat).reshape((actions,) * length)


def test_a_sequence_task_is_the_papers_task():
    for P, table in ((recall4(), RECALL4_REWARDS), (recall_variant(), VARIANT)):
        mine, theirs = augment(sequence_task(table), "B1"), augment(P, "B1")
        assert np.array_equal(
            evaluate(mine, uniform(mine)).q.raw, evaluate(theirs, uniform(theirs)).q.raw
        )


@pytest.mark.parametrize(
    ("memory", "recall4_value", "variant_value"),
    [
        ("B1", 0.75, 3),
        ("B2", 0.75, 3),
        ("B3", 0.75, 3),
        ("OA1", 1, 25 / 16),
        ("OA2", 1, 3),
        ("K2", 0.75, 3),
    ],
)
def test_the_papers_tasks_end_where_the_paper_says(memory, recall4_value, variant_value):
    assert stuck([RECALL4], memory).value == [recall4_value]
    assert stuck([VARIANT], memory).value == pytest.approx(variant_value, abs=2e-3)


def test_stuck_is_below_the_best_value_and_chattering_around_the_best_point_is_not():
    assert stuck([RECALL4], "B1").stuck.item()
    assert not stuck([RECALL4], "OA1").stuck.item()
    chattering = stuck([VARIANT], "OA1")
    assert chattering.ended.item() == "limit cycle"
    assert chattering.stuck.item()
    without_memory = stuck(
        [RECALL4], "none"
    )  # the best stochastic policy is worth 9/16, and the loop moves around it
    assert without_memory.best.item() == pytest.approx(9 / 16)
    assert not without_memory.stuck.item()


@given(
    reward_tables(),
    st.sampled_from(MEMORIES),
    st.sampled_from([0.02, 0.1, 0.3]),
    st.sampled_from(["last", "first"]),
)
def test_the_batch_ends_as_improve_does(rewards, memory, step, ties):
    exact = np.vectorize(Fraction, otypes=[object])(rewards).tolist()
    slow = ending(exact, memory, step, ties)
    fast = stuck([rewards], memory, step, ties)
    assert fast.unsure.item() <= slow.unsure  # where floats cannot tell, `improve` was asked
    assert fast.ended.item() == slow.ended
    near = 1e-9 if slow.ended == "fixed" else 1e-6 + 0.2 * slow.amplitude
    assert fast.value.item() == pytest.approx(slow.value, abs=near)
    assert fast.amplitude.item() == pytest.approx(slow.amplitude, abs=1e-6 + 0.2 * slow.amplitude)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_residue_is_that_of_the_fraction(x):
    exact = Fraction(x)
    assert int(residue(x)) == exact.numerator * pow(exact.denominator, -1, PRIME) % PRIME


@given(st.integers(0, PRIME - 1), st.integers(0, 2**40))
def test_a_power_is_that_of_whole_numbers(x, n):
    assert int(power(np.uint64(x), n)) == pow(x, n, PRIME)


@given(reward_tables(), st.sampled_from(MEMORIES))
def test_columns_alike_at_the_start_are_those_with_equal_q_values_whatever_the_rewards(
    rewards, memory
):
    shape = structure(rewards.ndim, rewards.shape[0], memory)
    E = augment(sequence_task(np.vectorize(Fraction, otypes=[object])(rewards).tolist()), memory)
    q = evaluate(E, uniform(E), exact=True).q.array
    rows, order = (
        sorted({int(o) for s, o in enumerate(E.omega.o) if not E.terminal.mask[s]}),
        tie_order(E.A, "last").tolist(),
    )
    for m, o in enumerate(rows):
        for i, j in combinations(range(len(E.A)), 2):
            if shape.alike_at_start[m, i] == shape.alike_at_start[m, j]:
                assert q[o, order[i]] == q[o, order[j]]


@pytest.mark.parametrize(
    ("memory", "length", "most"), [("OA1", 2, 1), ("B1", 2, 1), ("B1", 3, 2), ("OA1", 3, 2)]
)
def test_columns_that_a_loop_calls_equal_for_ever_are_equal_whatever_the_policy(
    memory, length, most
):
    shape, rng, budget = structure(length, 2, memory), np.random.default_rng(5), 400
    plan, ask = shape.plan(0.1, budget, False), shape.ask(0.1, budget)
    room = shape.room(), shape.forms(), ask, shape.progress(budget), np.empty(budget + 2, np.int64)
    how_far = set()
    for _ in range(25):
        rewards = rng.integers(0, 3, (2,) * length)
        flat, out = rewards.reshape(1, -1).astype(float), np.empty((1, 2))
        kernels.run_many(shape.tables, flat, plan, *room, out, np.empty((1, 4), np.int64))
        E = augment(sequence_task(rewards.tolist()), memory)
        order = tie_order(E.A, "last").tolist()
        rows = sorted({int(o) for s, o in enumerate(E.omega.o) if not E.terminal.mask[s]})
        q = [evaluate(E, random_policy(E, rng), exact=True).q.array for _ in range(2)]
        how_far.add(int(ask.counts[ASKED]))
        for m, o in enumerate(rows):
            for i, j in combinations(range(len(E.A)), 2):
                equal = all(x[o, order[i]] == x[o, order[j]] for x in q)
                if ask.always[m, i] == ask.always[m, j]:
                    assert equal
                elif ask.counts[ASKED] == 2 or (
                    ask.counts[ASKED] == 1 and shape.tables.only[m] >= 0
                ):
                    assert not equal
    assert {1, most} <= how_far
    assert (shape.tables.only >= 0).any() == (memory == "OA1" and length == 2)


def random_policy(E, rng):
    table = rng.integers(1, 1_000, (len(E.O), len(E.A)))
    shares = [[Fraction(int(x), int(row.sum())) for x in row] for row in table]
    return Policy(E, Numbers.of(np.array(shares, dtype=object)))


def test_rows_that_the_limit_does_not_visit_may_change_for_ever():
    """With OA1 the row of an action that is given up chatters; the others have long settled."""
    table = np.random.default_rng(2).normal(size=(12, 2, 2, 2))
    found = stuck(table, "OA1")
    E = [augment(sequence_task(np.vectorize(Fraction)(t).tolist()), "OA1") for t in table]
    runs = [improve(P, uniform(P), step=0.02) for P in E]
    told = [i for i, run in enumerate(runs) if "go on changing" in run.note]
    assert told
    for i in told:
        assert found.ended[i] == "fixed"
        assert found.value[i] == float(runs[i].limit_value)
        assert table[i].ravel()[found.sequence[i]] == found.value[i]


def test_actions_that_tie_at_the_limit_do_not_mislead_the_batch():
    """In rationals the loop with K2 goes to 1/2; close to the limit float q-values differ by less
    than rounding."""
    half = Fraction(1, 2)
    table = [[[-1, 1], [half, 0]], [[-half, half], [half, half]]]
    assert certify(sequence_task(table), "K2")["value"] == "1/2"
    assert stuck([np.array(table, dtype=float)], "K2").value == [0.5]


def test_a_loop_that_floats_cannot_follow_ends_soon_and_says_so():
    """It does not go on until the budget: what comes is no longer known to be the loop."""
    tables = np.random.default_rng(0).integers(0, 4, (300, 2, 2, 2))
    found = stuck(tables, "B1", budget=20_000, settle=False)
    assert 0 < found.unsure.sum() < 30
    assert found.iterates[found.unsure].max() < 6_000
    assert set(found.ended[~found.unsure].tolist()) <= {"fixed", "limit cycle"}


def test_tasks_do_not_depend_on_their_neighbours_or_on_the_number_of_threads():
    tables = np.random.default_rng(3).integers(-2, 3, (4_100, 3, 3))
    together = stuck(tables, "B1", workers=2, settle=False)
    alone = [
        stuck(tables[i : i + 1], "B1", workers=1, settle=False).value.item()
        for i in range(0, 4_100, 100)
    ]
    assert together.value[::100].tolist() == alone


@given(reward_tables(), st.sampled_from(["B1", "OA1", "K1"]), st.sampled_from([0.5, 2.0, 4.0]))
def test_scaling_the_rewards_scales_the_outcome(rewards, memory, factor):
    """Powers of two, so that nothing is rounded differently."""
    plain, scaled = stuck([rewards], memory), stuck([rewards * factor], memory)
    assert scaled.value.item() == plain.value.item() * factor


def told(found):
    """What no constant and no power of two may change."""
    return [
        x.item() for x in (found.ended, found.sequence, found.iterates, found.unsure, found.stuck)
    ]


@given(
    reward_tables(),
    st.sampled_from(["B1", "OA1", "K1"]),
    st.sampled_from([0.02, 0.1, 0.3]),
    st.one_of(st.integers(-1_000, 1_000), st.sampled_from([2.0**20, -(2.0**35)])),
    st.sampled_from([-1_040, -400, -60, -1, 0, 40, 50, 400, 1_000]),
)
def test_neither_a_constant_nor_the_unit_of_reward_changes_a_run(
    rewards, memory, step, constant, power
):
    rewards = np.round(rewards * 64) / 64  # so that sums and powers of two are exact
    plain = told(stuck([rewards], memory, step, "first"))
    assert told(stuck([rewards + constant], memory, step, "first")) == plain
    assert told(stuck([np.ldexp(rewards, power)], memory, step, "first")) == plain


def test_where_improve_cannot_tell_either_a_constant_changes_nothing():
    rewards = np.array([[[0, 0.5], [0, 0]], [[-0.5, 0], [0, 0]]])
    plain, moved = (told(stuck([r], "OA1", 0.02, "first")) for r in (rewards, rewards + 2.0**20))
    assert plain[3]  # else this test would say nothing
    assert moved == plain


@pytest.mark.parametrize("constant", [0, 1, 5, 100, 579, 1_000])
def test_a_limit_where_it_matters_is_found_whatever_is_added_to_all_rewards(constant):
    found = stuck([LIMIT_AND_CYCLE + constant], "B1", 0.3, "first")
    assert told(found)[:4] == ["fixed", 0, 64, False]


def test_where_bounds_alone_are_in_the_way_of_a_limit_it_is_decided_by_improve():
    """One reward that is large beside the others makes their bounds large, too."""
    rewards = LIMIT_AND_CYCLE.copy()
    rewards[1, 1, 1] = -1_000
    assert stuck([rewards], "B1", 0.3, "first", settle=False).unsure.item()
    assert told(stuck([rewards], "B1", 0.3, "first"))[:2] == ["fixed", 0]


@pytest.mark.parametrize("power", [-1_060, -60, -10, 0, 40, 50, 60, 400, 1_000])
def test_whole_numbers_are_whole_in_any_unit(power):
    rewards = np.array([[[0, 1], [2, 0]], [[2, 1], [0, 0]]])
    assert stuck([np.ldexp(rewards, power)], "OA1", 0.1, "first").iterates.item() == 11


def test_rewards_that_cannot_be_normalised_exactly_are_told_apart_as_they_are_given():
    """Less the least, which is tiny, 1 is a float again, and beside 1e240 the tiny ones vanish."""
    for rewards in ([[-(2.0**-60), 0], [1, 1]], [[1e-240, 0], [1e240, 1e240]]):
        slow = ending(np.vectorize(Fraction, otypes=[object])(rewards).tolist(), "B1", 0.1, "last")
        fast = stuck([rewards], "B1", 0.1, "last")
        assert (fast.ended.item(), fast.value.item()) == (slow.ended, slow.value)


@pytest.mark.parametrize(("length", "actions"), [(2, 2), (2, 3), (3, 2), (3, 3)])
@pytest.mark.parametrize("memory", ["none", "K1", "K2", "B1", "O1"])
def test_encodable_sequences_are_those_that_some_policy_makes(length, actions, memory):
    zeros = np.zeros((actions,) * length).tolist()
    told = structure(length, actions, memory).encodable.reshape((actions,) * length)
    assert {tuple(map(int, s)) for s in np.argwhere(told)} == encodable_sequences(
        augment(sequence_task(zeros), memory), length
    )


@pytest.mark.parametrize("memory", ["none", "K1", "B1", "O1"])
@pytest.mark.parametrize("length", [2, 3])
def test_best_values_are_no_worse_than_those_of_the_workbench_and_no_more_than_the_largest_reward(
    memory, length
):
    tables = np.random.default_rng(5).integers(-2, 3, (4, *(3,) * length)).astype(float)
    best, exact = best_values(tables.reshape(4, -1), structure(length, 3, memory))
    for rewards, found, certain in zip(tables, best, exact, strict=True):
        E = augment(sequence_task(rewards.tolist()), memory)
        ascent = best_memoryless(E, deterministic=False, seed=0, starts=8).value
        assert found >= ascent - 1e-6
        assert found <= rewards.max() + 1e-12
        assert not certain or found == rewards.max()


@pytest.mark.parametrize(
    ("coefficients", "strict", "z"),
    [
        ((-1.0, 2.0, 0.0), False, 0.5),
        ((1.0, 2.0, 0.0), True, 0.0),
        ((0.0, 0.0, 0.0), False, 0.0),
        ((0.0, 0.0, 0.0), True, np.inf),
        ((2.0, -3.0, 1.0), False, 2.0),
        ((1.0, -2.0, 1.0), False, 0.0),
        ((1.0, -2.0, 1.0), True, 1.0),
        ((0.0, 0.0, -1.0), False, np.inf),
        ((-2.0, 1.0, 1.0), True, 1.0),
    ],
)
def test_where_greedy_first_leaves(coefficients, strict, z):
    assert kernels.last_violation(*coefficients, strict, 0.0) == z


@given(st.lists(st.integers(-6, 6).map(float), min_size=4, max_size=4), st.booleans())
def test_where_greedy_first_leaves_along_a_cubic(coefficients, strict):
    """Against the roots that numpy finds, for polynomials that are positive far out."""
    c0, c1, c2, c3 = coefficients
    c3 = abs(c3) + 1
    z = kernels.last_violation_of_cubic(c0, c1, c2, c3, strict, 0.0)
    f = np.polynomial.Polynomial([c0, c1, c2, c3])
    beyond = z + np.geomspace(1e-3, 1e3, 200) * max(z, 1)
    assert (f(beyond) > -1e-9).all()
    if z > 0:
        assert f(z) == pytest.approx(
            0, abs=1e-9 * (1 + abs(c0) + abs(c1) * z + abs(c2) * z**2 + c3 * z**3)
        )
    elif np.isreal(f.roots()).all():
        just_below = f(np.linspace(1e-4, 20, 4001))
        assert (just_below > -1e-9).all()


@pytest.mark.parametrize("length", [2, 3, 4])
def test_iterates_that_are_passed_over_are_those_of_a_loop_that_looks_at_each(length):
    """After 150 iterates the batch, which does not look at those where `last_leaving` says that
    greedy stays, is where a loop is that evaluates all of them."""
    rng = np.random.default_rng(11)
    step, budget, passed_over = 0.01, 150, 0
    shape = structure(length, 2, "B1")
    room, greedy = shape.room(), np.empty(shape.shape[0], dtype=np.int64)
    none, is_open = np.full(len(greedy), -1), np.empty(len(greedy), dtype=np.uint8)
    tables = rng.normal(size=(100, *(2,) * length))
    found = stuck(tables, "B1", step, budget=budget, settle=False)
    for i in np.flatnonzero((found.ended == "budget") & ~found.unsure):
        pi = np.full(shape.shape, 1 / shape.shape[1])
        changes, value = [], np.nan
        for n in range(budget):
            before = greedy.copy()
            value = kernels.evaluate_sequence(shape.tables, tables[i].ravel(), pi, room)
            choose_greedy(room.q, room.weight, 1e-14, shape.alike, none, greedy, is_open)
            changes += [n] * (not np.array_equal(before, greedy))
            kernels.mix(pi, greedy, 1 - step)
        assert found.value[i] == pytest.approx(value, rel=1e-11)
        passed_over += max(np.diff(changes), default=0) > 10
    assert passed_over > 5


@pytest.mark.slow  # its twin above goes by a kernel that is compiled anyhow
@pytest.mark.parametrize("length", [2, 3, 4])
def test_the_way_that_is_left_agrees_with_looking_at_it(length):
    """`last_leaving` says where the greedy policy first changes; a walk over a fine grid finds the
    same place."""
    rng = np.random.default_rng(11)
    shape = structure(length, 2, "B1")
    room, greedy = shape.room(), np.empty(shape.shape[0], dtype=np.int64)
    none, is_open = np.full(len(greedy), -1), np.empty(len(greedy), dtype=np.uint8)
    changes = 0
    for _ in range(60):
        r = rng.normal(size=2**length)
        share = np.ones(shape.shape[1]) / shape.shape[1]
        pi = rng.multinomial(1024, share, shape.shape[0]) / 1024  # floats that sum to one exactly
        kernels.evaluate_sequence(shape.tables, r, pi, room)
        choose_greedy(room.q, room.weight, 1e-14, shape.alike, none, greedy, is_open)
        tau = greedy.copy()
        ask = shape.ask(0.1, 10)
        begin_asking(ask)
        ask.counts[SYNCED] = 0
        ask.pi[:] = [[residue(x) for x in row] for row in pi.tolist()]  # as if the loop came to pi
        ask.rewards[:] = [residue(x) for x in r.tolist()]
        forms = shape.forms()
        x, _, _ = kernels.last_leaving(
            shape.tables, r, r, pi, tau, 0, 1e-14, False, 2.0, shape.alike, forms, ask
        )
        grid = np.linspace(1, 0, 2_001)[1:-1]
        first = 0.0
        for share in grid:
            there = pi.copy()
            kernels.mix(there, tau, share)
            kernels.evaluate_sequence(shape.tables, r, there, room)
            choose_greedy(room.q, room.weight, 1e-14, shape.alike, none, greedy, is_open)
            if not np.array_equal(greedy, tau):
                first = share
                break
        assert first <= x + 1e-12
        assert first >= x - 1.1 / 2_000 or x < 1 / 2_000
        changes += x > 0
    assert 1 < changes < 60


def test_a_memory_of_ones_own_works_and_one_with_chance_is_refused():
    flip = Memory("flip", [0, 1], ["-"], lambda m, w, o, a, r, o_next: {1 - m: 1}, {0: 1})
    assert stuck([RECALL4], flip).value == stuck([RECALL4], "K1").value
    coin = Memory(
        "coin",
        [0, 1],
        ["-"],
        lambda m, w, o, a, r, o_next: {0: Fraction(1, 2), 1: Fraction(1, 2)},
        {0: 1},
    )
    with pytest.raises(WorkbenchError, match="without chance"):
        stuck([RECALL4], coin)


def test_what_makes_no_sense_is_refused():
    for rewards in (RECALL4, [RECALL4[:3]], np.zeros((1, 2, 2, 2, 2, 2))):
        with pytest.raises(WorkbenchError, match="shape"):
            stuck(rewards, "B1")
    with pytest.raises(WorkbenchError, match="not finite"):
        stuck([[[np.nan, 0], [0, 0]]], "B1")
    with pytest.raises(WrongType, match="array of numbers"):
        stuck([[["x", 0], [0, 0]]], "B1")
    for step in (0, 1, -0.1, 2):
        with pytest.raises(WorkbenchError, match="step"):
            stuck([RECALL4], "B1", step=step)
    with pytest.raises(WorkbenchError, match="ties"):
        stuck([RECALL4], "B1", ties="random")
    with pytest.raises(WorkbenchError, match="workers"):
        stuck([RECALL4], "B1", workers=0)
    assert len(stuck(np.zeros((0, 2, 2)), "B1")) == 0


@pytest.mark.parametrize("digits", ["0.1", "0.9999", "0.99999", "0.999999"])
def test_what_a_step_leaves_is_rounded_once(digits):
    keep = structure(2, 2, "B1").plan(float(digits), 100, False).keep
    assert abs(Fraction(keep) / (1 - Fraction(digits)) - 1) <= Fraction(1, 2**53)
