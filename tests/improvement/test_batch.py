"""The oracle loop on many sequence tasks at once: against the loop of the workbench, task by
task."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference_lab_batch import encodable_sequences, ending

from pomdps import recall4, recall_variant
from pomdps.recalls import RECALL4_REWARDS, VARIANT_REWARDS
from workbench import Memory, augment, best_memoryless, evaluate, improve, uniform
from workbench.core.errors import WorkbenchError, WrongType
from workbench.improvement.batch import best_values, sequence_task, structure, stuck

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


def test_tasks_do_not_depend_on_their_neighbours_or_on_the_number_of_threads():
    tables = np.random.default_rng(3).integers(-2, 3, (4_100, 3, 3))
    together = stuck(tables, "B1", workers=2)
    alone = [stuck(tables[i : i + 1], "B1", workers=1).value.item() for i in range(0, 4_100, 100)]
    assert together.value[::100].tolist() == alone


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


@pytest.mark.parametrize("constant", [0, 1, 5, 100, 579, 1_000])
def test_a_limit_where_it_matters_is_found_whatever_is_added_to_all_rewards(constant):
    found = stuck([LIMIT_AND_CYCLE + constant], "B1", 0.3, "first")
    assert told(found)[:4] == ["fixed", 0, 64, False]


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
        ascent = best_memoryless(E, deterministic=False, seed=0, starts=8, max_boxes=0).value
        assert found >= ascent - 1e-6
        assert found <= rewards.max() + 1e-12
        assert not certain or found == rewards.max()


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
