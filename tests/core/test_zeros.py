"""A zero that is written in a distribution is no outcome: nothing depends on it."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction as F

import flint
import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st
from reference import same_model
from strategies import policies, pomdps
from toy_tasks import small_task, task_like

from workbench import (
    POMDP,
    Memory,
    Policy,
    augment,
    evaluate,
    from_arrays,
    load_pomdp,
    td_values,
    uniform,
)
from workbench.core.errors import ModelError
from workbench.evaluation.discrepancy import lambda_discrepancy

X = sympy.Symbol("x")


def with_zeros(P: POMDP, zero: object, S: object = None, O: object = None) -> POMDP:
    """The same task with every distribution written out over all outcomes, zeros included."""
    pairs = [(s, r) for s in P.S for r in P.R]

    def p(s, a):
        return dict.fromkeys(pairs, zero) | P.p(s, a)

    return task_like(
        P,
        P.name,
        p=p,
        omega=lambda s: dict.fromkeys(P.O, zero) | P.omega(s),
        mu=dict.fromkeys(P.S, zero) | dict(P.mu),
        S=S,
        O=O,
    )


@given(pomdps(most_states=3), st.sampled_from([0, F(0)]), st.data())
def test_zeros_change_nothing(P, zero, data):
    Q = with_zeros(P, zero)
    assert same_model(P, Q)
    assert len(Q.p.s_next) == len(P.p.s_next)
    assert Q.omega.is_deterministic == P.omega.is_deterministic
    pi = data.draw(policies(P))
    twin = Policy.from_mapping(Q, {o: pi.row(o) for o in Q.O})
    for exact in (True, False):
        one, other = evaluate(P, pi, exact=exact), evaluate(Q, twin, exact=exact)
        assert one.value == pytest.approx(other.value, rel=1e-14)
        assert all(one.reached[o] == other.reached[o] for o in P.O)
        for weights in ("visits", "stationary"):
            gaps = [
                lambda_discrepancy(task, policy, exact=exact, weights=weights)
                for task, policy in ((P, pi), (Q, twin))
            ]
            assert float(gaps[0]) == pytest.approx(float(gaps[1]), abs=1e-9)


def room(omega, p=None, S=None, O=None, mu=None) -> POMDP:
    return small_task(
        "room",
        p or (lambda s, a: {("end", 1): 1}),
        mu or {"s": 1},
        A=["go"],
        omega=omega,
        gamma=F(1, 2),
        S=S,
        O=O,
    )


ZEROS = [
    0,
    0.0,
    F(0),
    False,
    np.int64(0),
    np.float32(0),
    np.bool_(False),
    Decimal(0),
    flint.fmpq(0),
    sympy.Integer(0),
    sympy.Float(0),
    (X + 1) ** 2 - X**2 - 2 * X - 1,
    X * (1 / X + 1 - (1 + X) / X),
]


@pytest.mark.parametrize("zero", ZEROS, ids=repr)
def test_what_has_no_chance_is_not_discovered(zero):
    P = room(
        lambda s: {"x": 1, "never": zero},
        lambda s, a: {("end", 1): 1, ("nowhere", 5): zero},
        mu={"s": 1, "elsewhere": zero},
    )
    assert (list(P.S), list(P.O), P.R) == (["s", "end"], ["x"], (1,))


@pytest.mark.parametrize("zero", [0, 0.0])
def test_declared_labels_stay_and_are_not_reached(zero):
    P = room(
        lambda s: {"x": 1, "never": zero},
        lambda s, a: {("end", 1): 1, ("nowhere", 5): zero},
        S=["s", "nowhere", "end"],
        O=["x", "never"],
    )
    found = evaluate(P, uniform(P))
    assert not found.reached["never"]
    assert np.isnan(found.q["never", "go"])
    assert P.p("s", "go") == {("end", 1): 1}
    assert P.omega("s") == {"x": 1}
    assert td_values(P, uniform(P)).q["x", "go"] == 1


@pytest.mark.parametrize("zero", ZEROS, ids=repr)
def test_an_action_without_a_chance_is_not_taken(zero):
    P = small_task(
        "two",
        lambda s, a: {("end", 1) if a == "go" else ("s", 0): 1},
        "s",
        A=["go", "never"],
        omega=lambda s: {"x": 1},
    )
    pi = Policy.from_mapping(P, {"x": {"go": 1, "never": zero}})
    assert pi.row("x") == {"go": 1}
    assert evaluate(P, pi).value == 1


def test_zeros_of_arrays_of_expressions_are_none_either():
    nothing = (X + 1) ** 2 - X**2 - 2 * X - 1
    P = from_arrays(
        p=np.array([[[nothing, 1]], [[0, 0]]], dtype=object),
        r=np.ones((2, 1), dtype=int),
        omega=np.array([[1, nothing], [1, 0]], dtype=object),
        mu=[1, 0],
        gamma=1,
        terminal=[1],
    )
    assert P.p(0, 0) == {(1, 1): 1}
    assert not evaluate(P, uniform(P), exact=True).reached[1]


def test_zeros_of_memories_and_arrays_are_none_either():
    P = room(lambda s: {"x": 1})
    memory = Memory("m", [0, 1], ["w"], lambda m, w, o, a, r, o_next: {0: 1, 1: 0}, {0: 1, 1: 0})
    E = augment(P, memory)
    assert [m for _, m, _ in E.S] == [0, 0]
    Q = from_arrays(
        p=np.array([[[0.0, 1.0]], [[0.0, 0.0]]]),
        r=np.ones((2, 1)),
        omega=np.array([[1.0, 0.0], [1.0, 0.0]]),
        mu=[1, 0],
        gamma=0.5,
        terminal=[1],
    )
    assert (len(Q.p.s_next), len(Q.omega.o)) == (1, 2)


def test_zeros_of_a_file_are_none(tmp_path):
    text = """discount: 0.5
values: reward
states: a b
actions: go
observations: x y
start: 1.0 0.0
T: go
1.0 0.0
0.5 0.5
O: go
1.0 0.0
0.0 1.0
R: go : * : * : * 1
"""
    (tmp_path / "zeros.POMDP").write_text(text)
    P = load_pomdp(tmp_path / "zeros.POMDP")
    found = evaluate(P, uniform(P), weights="discounted")
    assert not (P.p.prob.floats == 0).any()
    assert not (P.omega.prob.floats == 0).any()
    assert not any(
        reached and "y" in str(o) for o, reached in zip(P.O, found.reached.raw, strict=True)
    )


def test_a_row_of_zeros_is_refused():
    with pytest.raises(ModelError, match=r"p\(\. \| s=s, a=go\) has no outcomes"):
        room(lambda s: {"x": 1}, lambda s, a: {("end", 1): 0})
    with pytest.raises(ModelError, match=r"omega\(\. \| s=s\) has no observation"):
        room(lambda s: {"x": int(s == "end")})
