"""Actions that depend on what is seen: A(o), and writes that depend on (m, o)."""

from dataclasses import replace
from fractions import Fraction
from itertools import islice

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import augmented, q_values, same_model, value_function
from reference_improvement import oracle_loop
from strategies import families, policies, pomdps
from toy_tasks import doors, small_task

from workbench import (
    POMDP,
    Memory,
    Policy,
    augment,
    evaluate,
    improve,
    memories,
    td_values,
    uniform,
)
from workbench.core.errors import ModelError, PolicyError, UnknownLabel, WrongType
from workbench.core.improve import iterates

some_actions = pomdps(some_actions=True)


def as_if_all(P, pi):
    """The same policy where every action is there: the twin written with the classic trick."""
    return Policy(P.with_all_actions(), pi.prob)


@given(some_actions, st.data(), st.sampled_from(["visits", "discounted"]))
def test_values_are_those_of_the_definition_over_the_actions_there_are(P, data, weights):
    pi = data.draw(policies(P))
    found, q = evaluate(P, pi, exact=True, weights=weights), q_values(P, pi, weights)
    v = value_function(P, pi, Fraction(P.gamma))
    assert all(found.v[s] == v[s] for s in P.S)
    assert {(o, a): found.q[o, a] for o in P.O for a in P.A} == {
        (o, a): q.get((o, a)) for o in P.O for a in P.A
    }
    floats = evaluate(P, pi, weights=weights)
    for o in P.O:
        for a in P.A:
            if (o, a) in q:
                assert abs(floats.q[o, a] - q[o, a]) <= floats.q_error[o, a] + 1e-15
            else:
                assert np.isnan(floats.q[o, a])


@given(some_actions, st.data(), st.sampled_from([{"n": 1}, {"n": 3}, {"lam": Fraction(1, 2)}]))
def test_td_values_are_those_of_the_classic_trick_where_there_are_any(P, data, how):
    pi = data.draw(policies(P))
    for exact in (True, False):
        found = td_values(P, pi, exact=exact, **how)
        other = td_values(P.with_all_actions(), as_if_all(P, pi), exact=exact, **how)
        for o in P.O:
            assert found.v[o] == other.v[o] or not found.reached[o]
            for a in P.A:
                if a in P.actions(o) and found.reached[o]:
                    assert found.q[o, a] == other.q[o, a]
                else:
                    assert found.q[o, a] is None or np.isnan(found.q[o, a])


@given(pomdps(most_states=3, some_actions=True), families())
def test_a_memory_takes_what_is_allowed_along(P, family):
    assert same_model(augment(P, family), augmented(P, family))


@settings(max_examples=40)
@given(pomdps(most_states=3, most_actions=3, some_actions=True), st.data())
def test_the_loop_is_the_one_of_the_definition(P, data):
    start, step = data.draw(policies(P)), Fraction(1, 3)
    for ours, (value, rows, greedy) in zip(
        islice(iterates(P, start, step, exact=True), 4), oracle_loop(P, start, step), strict=False
    ):
        assert ours.value == value
        assert all(ours.pi[o, a] == rows[o][a] for o in P.O for a in P.A)
        assert all(ours.greedy[o, a] == 1 for o, a in greedy.items())


@settings(max_examples=40)
@given(pomdps(most_states=3, most_actions=3, some_actions=True), st.booleans())
def test_where_the_loop_ends_nothing_is_done_that_is_not_allowed(P, exact):
    run = improve(P, step=Fraction(1, 4), exact=exact, budget=60)
    for pi in (run.pi, run.greedy, run.limit or run.pi):
        pi.fits(P)
    if run.ended == "fixed":
        q = evaluate(P, run.limit, exact=True).q
        for o in P.O:
            row = [q[o, a] for a in P.actions(o)]
            if None not in row:
                taken = next(a for a in P.A if run.limit[o, a] == 1)
                assert q[o, taken] == max(row) or not run.decided


def test_finite_horizons_are_decided_over_the_allowed_actions():
    """On the way to the limit an action that is missing is no rival."""
    two = small_task(
        "two steps",
        lambda s, a: {(s + 1, {"a": 1, "b": 2}[a] if s else -1): 1},
        0,
        A=["a", "b"],
        omega=lambda s: {s: 1},
        terminal={2},
        allowed=lambda o: ["b"] if o == 0 else ["a", "b"],
    )
    run = improve(two, step=Fraction(1, 10), exact=True)
    assert (run.ended, run.decided, run.limit_value) == ("fixed", True, 1)
    assert improve(two).limit_value == 1


def test_what_is_not_allowed_has_no_number_and_no_probability():
    P = doors()
    assert P.actions("hall") == ("left", "right")
    assert P.actions("door") == ("back", "open")
    assert "not all allowed everywhere" in repr(P)
    assert uniform(P).row("hall") == {"left": Fraction(1, 2), "right": Fraction(1, 2)}
    assert uniform(P)["over", "left"] == Fraction(1, 4)  # where episodes are over
    found = evaluate(P, uniform(P))
    assert found.q.text().splitlines()[1].split()[-2:] == ["-", "-"]
    assert np.isnan(found.q["hall", "open"])
    assert evaluate(P, uniform(P), exact=True).q["hall", "open"] is None
    assert evaluate(P, uniform(P), exact=True).q_state["start", "open"] is None
    Policy.random(P, 1).fits(P)
    assert P.relabel(A=str.upper).actions("hall") == ("LEFT", "RIGHT")
    assert Policy.deterministic(P, {"hall": "left", "door": "open"})["over", "left"] == 1


def test_policies_that_do_what_is_not_allowed_are_refused_by_label():
    P = doors()
    with pytest.raises(PolicyError, match=r"doors does not allow open at o=hall, but pi\(open"):
        Policy.deterministic(P, {"hall": "open", "door": "open"})
    with pytest.raises(PolicyError, match=r"open at o=hall"):
        Policy.from_mapping(P, {"hall": {"open": 0.25, "left": 0.75}})
    everywhere = uniform(P.with_all_actions())
    with pytest.raises(PolicyError, match=r"doors does not allow back at o=hall"):
        evaluate(P, everywhere)
    Policy.from_mapping(P, {"hall": {"open": Fraction(0), "left": 1}}).fits(P)


def model(**other):
    parts = {
        "name": "m",
        "A": ["a", "b"],
        "p": lambda s, a: {("end", 1): 1},
        "omega": lambda s: {"o": 1} if s != "end" else {"x": 1},
        "mu": {"s": 1},
        "gamma": 1,
        "terminal": {"end"},
    }
    return POMDP.from_functions(**(parts | other))


@pytest.mark.parametrize(
    ("other", "error", "words"),
    [
        ({"allowed": {"o": ["a"]}}, WrongType, "allowed must be a function that returns a set"),
        ({"allowed": lambda o: "a"}, WrongType, r"allowed\(o\) must be a set of labels, not 'a'"),
        ({"allowed": lambda o: ["c"]}, UnknownLabel, r"allowed\(o\): unknown label 'c'"),
        ({"allowed": lambda o: []}, ModelError, r"allowed\(o\) is empty"),
        ({"allowed": lambda o: {}[o]}, ModelError, r"allowed\(o\) raised KeyError"),
        (
            {"allowed": lambda o: [o], "omega": lambda s: {"a": 0.5, "b": 0.5}},
            ModelError,
            "s=s may show o=a or o=b, which allow different actions",
        ),
    ],
)
def test_what_is_allowed_is_checked_by_label(other, error, words):
    with pytest.raises(error, match=words):
        model(**other)


def test_what_a_state_allows_must_be_seen_and_both_states_are_named():
    P = model(
        A=["a", "b", "c"],
        mu={"s": 0.5, "t": 0.5},
        omega=lambda s: {"x" if s == "end" else "o": 1},
        allowed=lambda o: ["a", "b"],
    )
    less = replace(  # s has a and b, t has a alone
        P.p,
        row_ptr=np.array([0, 1, 2, 2, 3, 3, 3, 3, 3, 3]),
        s_next=P.p.s_next[:3],
        r=P.p.r.take([0, 1, 2]),
        prob=P.p.prob.take([0, 1, 2]),
    )
    with pytest.raises(ModelError, match=r"s=t, a=b\) has no outcomes.*allowed at o=o, as in s=s,"):
        replace(P, p=less)
    with pytest.raises(ModelError, match=r"s=s, a=b\) has outcomes.*not allowed at o=o, as in s=t"):
        replace(P, p=less, allowed=np.array([[True, False, False], [True, True, True]]))
    with pytest.raises(ModelError, match="needs the shape"):
        replace(P, allowed=np.array([[False]]))


def test_writes_may_depend_on_memory_and_observation():
    """A bit that can be written in the hall alone knows the door; one at the door knows nothing."""

    def bit(o_free):
        return Memory(
            f"bit at the {o_free}", ["0", "1"], ["0", "1"],
            lambda m, w, o, a, r, o_next: {w: 1}, {"0": 1},
            allowed=lambda m, o: ["0", "1"] if o == o_free else [m],
        )  # fmt: skip

    P = doors()
    free = augment(P, bit("hall"))
    assert free.actions(("0", "hall")) == tuple((a, w) for a in ("left", "right") for w in "01")
    assert free.actions(("1", "door")) == (("back", "1"), ("open", "1"))
    assert same_model(free, augmented(P, bit("hall")))
    both = augment(P, memories.B(1) * bit("hall"))
    assert both.actions((("0", "1"), "door")) == tuple(
        (a, (w, "1")) for a in ("back", "open") for w in "01"
    )
    assert same_model(both, augmented(P, memories.B(1) * bit("hall")))
    with pytest.raises(ModelError, match=r"allowed\(0, hall\) of mute is empty"):
        augment(P, Memory("mute", ["0"], ["0"], lambda *x: {"0": 1}, {"0": 1},
                          allowed=lambda m, o: []))  # fmt: skip
    with pytest.raises(UnknownLabel, match=r"allowed\(0, hall\) of odd: unknown label '2'"):
        augment(P, Memory("odd", ["0"], ["0"], lambda *x: {"0": 1}, {"0": 1},
                          allowed=lambda m, o: ["2"]))  # fmt: skip
    with pytest.raises(WrongType, match="returns a set, not"):
        Memory("none", ["0"], ["0"], lambda *x: {"0": 1}, {"0": 1}, allowed=["0"])


@given(some_actions)
def test_all_actions_add_copies_of_what_there_is(P):
    Q = P.with_all_actions()
    assert Q.allowed is None
    for s in P.S:
        if s not in P.terminal:
            first = P.actions(next(iter(P.omega(s))))[0]
            for a in P.A:
                assert Q.p(s, a) == (P.p(s, a) or P.p(s, first))


@given(some_actions, st.data())
def test_a_policy_of_all_actions_is_as_good_as_one_of_those_there_are(P, data):
    Q = P.with_all_actions()
    wide = data.draw(policies(Q))
    own = Policy.within(P, wide.prob)
    assert evaluate(P, own, exact=True).value == evaluate(Q, wide, exact=True).value


def test_what_is_not_allowed_is_done_by_the_first_action_that_is():
    P = doors()
    tenths = [[1, 2, 3, 4], [1, 2, 3, 4], [4, 3, 2, 1]]
    due = [[8, 2, 0, 0], [0, 0, 6, 4], [4, 3, 2, 1]]
    wide = np.array(tenths) / 10
    assert Policy.within(P, wide).prob.floats == pytest.approx(np.array(due) / 10, abs=1e-15)
    assert (wide == np.array(tenths) / 10).all()
    exact = Policy.within(P, [[Fraction(x, 10) for x in row] for row in tenths])
    assert exact.prob.objects.tolist() == [[Fraction(x, 10) for x in row] for row in due]
    Q = P.with_all_actions()
    assert Policy.within(Q, wide).prob.floats.tolist() == wide.tolist()
