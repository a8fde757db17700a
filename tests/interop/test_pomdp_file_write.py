"""`save_pomdp`: what is written reads back to the same model."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
import reference_files as reference
import sympy
from hypothesis import given
from hypothesis import strategies as st
from strategies import distributions, families, pomdps
from strategies_files import files
from toy_tasks import small_task

from pomdps import gravity, recall, recall4, recall_variant
from workbench import POMDP, augment, from_arrays, memories
from workbench.interop.pomdp_file import (
    PomdpFileError,
    load_pomdp,
    parse_pomdp,
    pomdp_text,
    save_pomdp,
)

LABELS = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 10**20)
    | st.text(max_size=3)
    | st.floats(-2, 1e300),
    lambda inner: st.lists(inner, max_size=3).map(tuple),
    max_leaves=4,
)


def same(P: POMDP, Q: POMDP) -> bool:
    """The same labels, in the same order, and the same numbers; outcomes of probability zero do not
    count."""

    def without_zeros(found):
        return {outcome: x for outcome, x in found.items() if x != 0}

    return (
        P.name == Q.name
        and list(P.S) == list(Q.S)
        and list(P.O) == list(Q.O)
        and list(P.A) == list(Q.A)
        and P.is_exact == Q.is_exact
        and P.gamma == Q.gamma
        and dict(P.mu) == dict(Q.mu)
        and set(P.terminal) == set(Q.terminal)
        and all(P.actions(o) == Q.actions(o) for o in P.O)
        and all(without_zeros(P.omega(s)) == without_zeros(Q.omega(s)) for s in P.S)
        and all(without_zeros(P.p(s, a)) == without_zeros(Q.p(s, a)) for s in P.S for a in P.A)
    )


@given(pomdps(most_observations=3, some_actions=True))
def test_a_random_pomdp_reads_back_to_itself(P):
    text = pomdp_text(P)
    assert same(parse_pomdp(text), P)


@given(pomdps(), families(1))
def test_an_augmented_pomdp_reads_back_to_itself(P, family):
    E = augment(P, family)
    assert same(parse_pomdp(pomdp_text(E)), E)


@given(files(), st.booleans())
def test_a_file_that_was_read_reads_back_after_writing(text, exact):
    P = parse_pomdp(text, exact=exact)
    assert same(parse_pomdp(pomdp_text(P)), P)


@given(st.data())
def test_floats_read_back_bit_for_bit(data):
    n = data.draw(st.integers(1, 4))
    seed = data.draw(st.integers(0, 2**32))
    rng = np.random.default_rng(seed)
    p, omega = rng.dirichlet(np.ones(n), size=(n, 2)), rng.dirichlet(np.ones(2), size=n)
    P = from_arrays(
        p=p, r=rng.normal(size=(n, 2, n)), omega=omega, mu=rng.dirichlet(np.ones(n)), gamma=0.7
    )
    Q = parse_pomdp(pomdp_text(P))
    assert same(Q, P)
    assert Q.p.prob.floats.tobytes() == P.p.prob.floats.tobytes()


@given(st.lists(LABELS, min_size=3, max_size=3, unique=True), st.data())
def test_any_labels_read_back(labels, data):
    start = data.draw(distributions(labels))
    P = POMDP.from_functions(
        name='odd "labels"\n#',
        A=labels,
        S=labels,
        O=labels,
        p=lambda s, a: {(a, 1): 1},
        omega=lambda s: {s: 1},
        mu=start,
        gamma=Fraction(1, 3),
        terminal=data.draw(st.lists(st.sampled_from(labels), max_size=2)),
    )
    assert same(parse_pomdp(pomdp_text(P)), P)


@pytest.mark.parametrize(
    "P", [gravity(), recall(), recall4(), recall_variant(), recall4(gamma=Fraction(1, 7))]
)
def test_the_papers_tasks_read_back_from_a_path(P, tmp_path):
    save_pomdp(P, tmp_path / "task.POMDP")
    assert same(load_pomdp(tmp_path / "task.POMDP"), P)


def test_gravity_with_a_buffer_reads_back():
    E = augment(gravity(), memories.O(1))
    assert same(parse_pomdp(pomdp_text(E)), E)


def _two_rewards() -> POMDP:
    third = Fraction(1, 3)
    return small_task(
        "lottery",
        lambda s, a: (
            {("home", 10): third, ("home", -1): third, ("lost", -1): third}
            if a == "buy"
            else {("home", 0): 1}
        ),
        "home",
        A=["buy", "wait"],
        gamma=Fraction(1, 2),
        terminal={"lost"},
    )


def others(text: str) -> str:
    """What other programs read: the text without its comments."""
    return "".join(line for line in text.splitlines(True) if not line.startswith("#"))


def test_other_programs_see_the_mean_of_several_rewards_for_one_transition():
    P = _two_rewards()
    assert same(parse_pomdp(pomdp_text(P)), P)
    slow = reference.read(others(pomdp_text(P)))
    assert slow.S == ["home", "lost"]
    assert [float(slow.R[0][0][t][0]) for t in (0, 1)] == [4.5, -1]
    assert [float(slow.T[0][0][t]) for t in (0, 1)] == pytest.approx([2 / 3, 1 / 3])
    assert slow.T[1][1] == [0, 1]  # an end is absorbing


@given(pomdps(most_observations=3, some_actions=True))
def test_other_programs_read_the_task_with_every_action_everywhere(P):
    E = P.with_all_actions()
    slow = reference.read(others(pomdp_text(P)))
    for (i, s), (j, a) in itertools.product(enumerate(E.S), enumerate(E.A)):
        if s in E.terminal:
            continue
        chances = {t: Fraction(0) for t in E.S}
        paid = dict(chances)
        for (t, r), x in E.p(s, a).items():
            chances[t] += x
            paid[t] += x * r
        assert [float(x) for x in slow.T[j][i]] == pytest.approx([float(chances[t]) for t in E.S])
        for k, t in enumerate(E.S):
            if chances[t]:
                expected = pytest.approx(float(paid[t] / chances[t]))
                assert all(float(r) == expected for r in slow.R[j][i][k])


def test_without_its_notes_a_written_file_is_the_same_process_with_absorbing_ends():
    P = parse_pomdp(others(pomdp_text(recall4())), exact=True, goals=[recall4().S.index("end")])
    assert [len(P.S), len(P.terminal)] == [6, 1]
    assert reference.pomdp_process(P, (0, 2)) == {("o", 0, "o", 1, "o", "over"): 1}


def test_a_file_that_was_changed_is_not_taken_for_what_it_was():
    text = pomdp_text(recall4())
    assert same(parse_pomdp(text.replace("\nT:", "\n# a remark\nT:", 1)), recall4())
    changed = text.replace("discount: 1.0", "discount: 0.5")
    with pytest.raises(PomdpFileError, match="the file was changed after save_pomdp") as error:
        parse_pomdp(changed)
    assert error.value.line == 3
    assert parse_pomdp(changed, goals=[5]).gamma == 0.5


def test_exact_numbers_keep_apart_even_where_floats_do_not():
    near = Fraction(1, 3) + Fraction(1, 10**40)
    P = small_task(
        "near",
        lambda s, a: {("x", Fraction(1, 3)): near, ("x", near): 1 - near},
        "x",
        A=["a"],
        gamma=Fraction(3333333333333333, 10**16),
    )
    assert same(parse_pomdp(pomdp_text(P)), P)


def test_reading_an_exact_file_in_floats_is_possible():
    P = parse_pomdp(pomdp_text(_two_rewards()), exact=False)
    assert not P.is_exact
    assert P.p("home", "buy")["lost", -1.0] == 1 / 3
    assert P.p("home", "buy")["home", 4.5] == 2 / 3


def test_probabilities_of_zero_are_left_out():
    P = small_task("zero", lambda s, a: {(0, 1): 0, (0, 2): 1}, 0, A=["a"], gamma=0)
    Q = parse_pomdp(pomdp_text(P))
    assert same(Q, P)
    assert dict(Q.p(0, "a")) == {(0, 2): 1}


@pytest.mark.parametrize("digits", [500, 5_000])
def test_numbers_of_too_many_digits_are_refused(digits):
    with pytest.raises(PomdpFileError, match="so many digits"):
        pomdp_text(recall(gamma=1 - Fraction(1, 10**digits)))


def test_symbols_are_refused():
    x = sympy.Symbol("x")
    with pytest.raises(PomdpFileError, match="symbols x: give them values"):
        pomdp_text(recall(gamma=x))


def test_a_label_that_no_file_can_hold_is_refused_and_named():
    P = recall().relabel(O=lambda o: frozenset({1, 2}))
    with pytest.raises(PomdpFileError, match=r"frozenset\(\{1, 2\}\)"):
        pomdp_text(P)


def test_nothing_is_left_behind_when_writing_is_refused(tmp_path):
    with pytest.raises(PomdpFileError):
        save_pomdp(recall(gamma=sympy.Symbol("x")), tmp_path / "x.POMDP")
    assert not list(tmp_path.iterdir())
