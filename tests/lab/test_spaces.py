"""Spaces of small tasks: counts against brute force, symmetric copies merged, canonical forms in
their orbits."""

import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference_lab import canonical as canonical_code
from reference_lab import code_of, count_classes, divisor, images, same_pomdp, same_sequence_task

from pomdps import gravity, recall, recall4, recall_variant
from workbench.core.errors import TooLarge, WorkbenchError
from workbench.lab.sequences import SequenceTasks, discounted_sequence_task, table_of
from workbench.lab.small_models import Automata, DeterministicPOMDPs, SparsePOMDPs, distributions
from workbench.lab.statements import as_statement

SEQUENCES = (
    SequenceTasks(2, 2, 0, 1),
    SequenceTasks(2, 2, -1, 2),
    SequenceTasks(2, 2, 1, 3),
    SequenceTasks(2, 2, -1, 1, Fraction(1, 2)),
    SequenceTasks(3, 2, 0, 1),
)
MODELS = (
    DeterministicPOMDPs(2, 1, 1, 0, 1),
    DeterministicPOMDPs(2, 2, 1, 0, 0),
    DeterministicPOMDPs(2, 1, 2, 0, 0, starts=2),
    DeterministicPOMDPs(2, 2, 2, 0, 0, forward=True, gamma=1),
    DeterministicPOMDPs(1, 2, 1, -1, 2),
    Automata(1, 2, 2, 0, 1),
)
ALL = ("states", "observations", "actions", "scale", "shift")


def plain_table(space, code):
    return {done: Fraction(r) for done, r in np.ndenumerate(space.table(code))}


def every_task(space):
    return [space.task(tuple(code)) for code in space.codes(0, space.size).tolist()]


# ---------------------------------------------------------------------- counting


@pytest.mark.parametrize("space", SEQUENCES[:1] + SEQUENCES[2:3], ids=str)
@pytest.mark.parametrize(
    "kinds",
    [(), ("actions",), ("scale",), ("scale", "shift"), ("actions", "scale", "shift")],
    ids=str,
)
def test_sequence_tasks_are_counted_as_by_comparing_all_pairs(space, kinds):
    used = set(kinds)
    if "scale" in used and 0 not in space.values and "shift" not in used:
        used.discard("scale")
    tables = [plain_table(space, tuple(code)) for code in space.codes(0, space.size).tolist()]
    brute = count_classes(tables, lambda a, b: same_sequence_task(a, b, space.actions, used))
    assert space.count(kinds) == brute


@pytest.mark.parametrize("space", MODELS, ids=str)
def test_small_models_are_counted_as_by_comparing_all_pairs(space):
    tasks = every_task(space)
    for kinds in (("states",), ("states", "observations", "actions", "scale")):
        usable = set(space.usable(kinds))
        assert space.count(kinds) == count_classes(
            tasks, lambda P, Q, k=usable: same_pomdp(P, Q, k)
        )


def test_the_recall4_shape_has_as_many_classes_as_counted_by_hand_for_two_values():
    """2^4 tables of 2 x 2: under the swap of the actions 4 places form 2 cycles, so (2^4 + 2^2) /
    2."""
    assert SequenceTasks(2, 2, 0, 1).count(("actions",)) == (2**4 + 2**2) // 2


# ---------------------------------------------------------------------- canonical forms


def codes_of(space):
    return st.tuples(*(st.integers(0, radix - 1) for radix in space.radices))


@given(st.data(), st.sampled_from(SEQUENCES))
def test_the_canonical_form_of_a_sequence_task_is_alike_and_the_same_for_all_that_are(data, space):
    code = data.draw(codes_of(space))
    canonical = canonical_code(space, code)
    used = {"actions", "shift", "scale"}
    assert same_sequence_task(
        plain_table(space, code), plain_table(space, canonical), space.actions, used
    )
    assert canonical_code(space, canonical) == canonical
    assert space.is_canonical(np.array([canonical]))[0]
    assert all(
        canonical_code(space, image) == canonical for image in images(space, code, space.symmetries)
    )
    digits = [x - min(canonical) for x in canonical]
    assert min(canonical) == 0
    assert divisor(digits) in (0, 1)


@given(st.data(), st.sampled_from([*MODELS, SparsePOMDPs(2, 1, 2, -1, 1, starts=2, start_parts=3)]))
@settings(max_examples=25)
def test_the_canonical_form_of_a_small_model_is_alike_and_the_same_for_all_that_are(data, space):
    code = data.draw(codes_of(space))
    canonical = canonical_code(space, code)
    assert same_pomdp(space.task(code), space.task(canonical), set(space.symmetries))
    assert canonical_code(space, canonical) == canonical
    assert all(
        canonical_code(space, image) == canonical for image in images(space, code, space.symmetries)
    )


@pytest.mark.parametrize("space", [*SEQUENCES[:2], *MODELS[:3]], ids=str)
def test_each_class_is_listed_once(space):
    listed = list(space.classes())
    assert len(set(listed)) == len(listed)
    assert {
        canonical_code(space, tuple(code)) for code in space.codes(0, space.size).tolist()
    } == set(listed)


def test_states_that_cannot_be_reached_make_no_difference():
    space = DeterministicPOMDPs(2, 1, 1, 0, 1)
    alone = [
        code
        for code in map(tuple, space.codes(0, space.size).tolist())
        if len(space.task(code).S) == 1
    ]
    assert len(alone) > len({canonical_code(space, code) for code in alone})
    assert (
        len({canonical_code(space, code, ("states",)) for code in alone}) == 2
    )  # stay for ever, with reward 0 or 1


# ---------------------------------------------------------------------- what may be merged


@given(st.data())
@settings(max_examples=10)
def test_relabelled_models_get_the_same_answers(data):
    space = DeterministicPOMDPs(2, 2, 2, -1, 1, starts=2, gamma=Fraction(1, 2))
    code = data.draw(codes_of(space))
    image = data.draw(st.sampled_from(sorted(images(space, code, space.symmetries))))
    for name, settings_ in (
        ("greedy-lowers", {}),
        ("zero-discrepancy-memory-helps", {}),
        ("bound-not-expressive", {}),
    ):
        one = as_statement(name, **settings_)
        assert set(one.symmetries(space)) >= {"states", "observations", "actions"}
        assert one.exactly(space.task(code)).holds == one.exactly(space.task(image)).holds


@given(st.lists(st.integers(-2, 2), min_size=9, max_size=9), st.integers(1, 3), st.integers(-3, 3))
@settings(max_examples=25)
def test_scaled_and_shifted_sequence_tasks_get_the_same_answers(values, factor, shift):
    space = SequenceTasks(2, 3, -20, 20)
    table = np.array(values).reshape(3, 3)
    codes = np.array([code_of(space, table), code_of(space, factor * table + shift)])
    for one in (as_statement("oracle-stuck", memory="B1"), as_statement("larger-does-worse")):
        assert {"scale", "shift"} <= set(one.symmetries(space))
        scores = one.scores(space, codes)
        assert (scores[0] > 0) == (scores[1] > 0)
        assert np.isnan(scores[0]) == np.isnan(scores[1])


def test_relabelled_actions_may_get_another_answer_from_the_loop_because_of_ties():
    """Which is why statements about the loop do not merge them."""
    one = as_statement("oracle-stuck", memory="B1", but_not=["OA1"])
    space = SequenceTasks(2, 3, -1, 1)
    assert "actions" not in one.symmetries(space)
    codes = space.codes(0, 6000)
    holds = one.scores(space, codes) > 0
    images = [
        one.scores(space, relabelling.of(codes[holds])) > 0
        for relabelling in space._group(("actions",))
    ]
    assert holds.any()
    assert not np.all(images)
    always = as_statement("oracle-stuck", memory="B1", but_not=["OA1"], any_order=True)
    assert "actions" in always.symmetries(space)
    assert ((always.scores(space, codes[holds]) > 0) == np.all(images, axis=0)).all()


# ---------------------------------------------------------------------- codes, samples, neighbours


@pytest.mark.parametrize("space", [*SEQUENCES, *MODELS], ids=str)
def test_numbers_and_codes_belong_together(space):
    codes = space.codes(0, min(space.size, 500))
    assert space.ranks(codes).tolist() == list(range(len(codes)))
    assert (codes < np.array(space.radices)).all()


def test_large_spaces_have_whole_numbers_too():
    space = SequenceTasks(3, 4, -9, 9)
    assert space.size == 19**64
    last = space.codes(space.size - 1, space.size)
    assert last.min() == 18
    assert int(space.ranks(last)[0]) == space.size - 1
    with pytest.raises(TooLarge, match="more than"):
        next(space.classes())


@given(st.integers(0, 10_000), st.sampled_from((*SEQUENCES, *MODELS)))
def test_samples_follow_from_the_seed_and_neighbours_differ_in_one_digit(seed, space):
    code = space.sample(np.random.default_rng(seed))
    assert code == space.sample(np.random.default_rng(seed))
    assert all(0 <= x < radix for x, radix in zip(code, space.radices, strict=True))
    around = space.neighbours(code, np.random.default_rng(seed), most=10_000)
    assert len(set(around)) == len(around) == sum(radix - 1 for radix in space.radices)
    assert all(sum(x != y for x, y in zip(code, other, strict=True)) == 1 for other in around)


def test_tables_are_read_back_from_tasks_whatever_their_states_are_called():
    table = table_of(recall4())
    assert table is not None
    assert [list(map(str, row)) for row in table.tolist()][1] == ["0", "1/2", "-1/2", "3/4"]
    assert table_of(recall_variant())[0, 1, 0] == 3
    assert table_of(discounted_sequence_task([[1, 2], [3, 4]], Fraction(1, 2))).tolist() == [
        [1, 2],
        [3, 4],
    ]
    assert table_of(gravity()) is None
    assert table_of(recall()) is not None  # its six states stand for the 27 sequences


def test_distributions_are_all_of_them():
    rows = distributions(3, parts=3, branches=2)
    assert len(set(rows)) == len(rows) == 3 + 3 * 2
    assert all(sum(row) == 3 and sum(x > 0 for x in row) <= 2 for row in rows)


def test_what_makes_no_sense_is_refused():
    with pytest.raises(WorkbenchError, match="length 1"):
        SequenceTasks(length=1)
    with pytest.raises(TooLarge, match=r"a range of 2,000,001 rewards is too large"):
        SequenceTasks(lowest=-1, highest=1, step=Fraction(1, 10**6))
    with pytest.raises(TooLarge, match=r"a range of 1,001 rewards is too large"):
        SparsePOMDPs(lowest=0, highest=1000, gamma=Fraction(1, 2))
    with pytest.raises(WorkbenchError, match="discount must be below 1"):
        SparsePOMDPs(gamma=1)
    with pytest.raises(WorkbenchError, match="nowhere else to go"):
        SparsePOMDPs(forward=True, ends=False)
    with pytest.raises(WorkbenchError, match="unknown symmetry"):
        SequenceTasks().count(("colours",))


def test_distributions_are_counted_before_they_are_listed():
    """In parts of 1/10^9 the list of cuts alone took 17 GB."""
    tracemalloc.start()
    with pytest.raises(TooLarge, match="fewer parts or branches"):
        distributions(3, parts=10**9, branches=3)
    assert tracemalloc.get_traced_memory()[1] < 10**6
    tracemalloc.stop()
