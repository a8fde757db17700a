"""POMDPs: writing, reading, changing and refusing them."""

import dataclasses
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
import sympy
from hypothesis import given
from reference import same_model
from strategies import pomdps

from workbench import POMDP, from_arrays, to_arrays
from workbench.core.errors import ModelError, NotExact, TooLarge, UnknownLabel, WorkbenchError


def write(**changes):
    """A small valid model with some elements changed."""
    elements = {
        "name": "small",
        "A": ["go", "stay"],
        "p": lambda s, a: (
            {("end", 1): 1} if a == "go" else {(s, 0): Fraction(1, 2), ("end", 0): Fraction(1, 2)}
        ),
        "omega": lambda s: {"o": 1},
        "mu": {"s": 1},
        "gamma": 1,
        "terminal": {"end"},
    }
    return POMDP.from_functions(**{**elements, **changes})


def arrays(**changes):
    elements = {
        "p": np.array([[[0.5, 0.5], [0.0, 1.0]], [[0, 0], [0, 0]]]),
        "r": np.array([[0.0, 1.0], [0.0, 0.0]]),
        "omega": np.array([[1.0], [1.0]]),
        "mu": [1, 0],
        "gamma": 0.9,
        "S": ["s", "end"],
        "A": ["wait", "go"],
        "O": ["o"],
        "terminal": ["end"],
    }
    return from_arrays(**{**elements, **changes})


def test_states_and_observations_are_discovered_in_breadth_first_order():
    P = POMDP.from_functions(
        name="tree",
        A=[0, 1],
        p=lambda s, a: {((*s, a), 0): 1},
        omega=lambda s: {len(s): 1},
        mu={(): 1},
        gamma=1,
        terminal=lambda s: len(s) == 2,
    )
    assert list(P.S) == [(), (0,), (1,), (0, 0), (0, 1), (1, 0), (1, 1)]
    assert list(P.O) == [0, 1, 2]
    assert set(P.terminal) == {(0, 0), (0, 1), (1, 0), (1, 1)}
    assert P.decides.tolist() == [True, True, False]


def test_the_parts_answer_in_labels():
    P = write()
    assert P.p("s", "stay") == {("s", 0): Fraction(1, 2), ("end", 0): Fraction(1, 2)}
    assert P.omega("end") == {"o": 1}
    assert dict(P.mu) == {"s": 1}
    assert P.mu["end"] == 0
    assert P.R == (0, 1)
    assert "end" in P.terminal
    assert "s" not in P.terminal
    assert "nowhere" not in P.terminal
    assert P.terminal == {"end"}
    assert P.terminal | {"s"} == {"end", "s"}
    assert (
        repr(P)
        == "POMDP small: 2 states (1 terminal), 1 observation, 2 actions, 3 outcomes, gamma 1"
    )
    assert "<caption>POMDP small</caption>" in P._repr_html_()
    with pytest.raises(UnknownLabel, match="'start'"):
        P.p("start", "go")


def test_a_label_as_long_as_a_screen_is_shown_in_part():
    long = "x" * 500
    P = POMDP.from_functions(
        name="long",
        A=["a"],
        p=lambda s, a: {("end", 0): 1},
        omega=lambda s: {"o": 1},
        mu={long: 1},
        gamma=1,
        terminal={"end"},
    )
    assert "x" * 59 + "…" in P._repr_html_()
    assert "x" * 60 not in P._repr_html_()


@given(pomdps())
def test_a_model_written_from_its_own_parts_is_the_same_model(P):
    again = POMDP.from_functions(
        name=P.name,
        A=P.A,
        p=P.p,
        omega=P.omega,
        mu=P.mu,
        gamma=P.gamma,
        terminal=lambda s: s in P.terminal,
    )
    assert same_model(P, again)
    assert list(again.S) == list(P.S)


@given(pomdps())
def test_arrays_and_back_is_the_same_model_exactly(P):
    again = from_arrays(**to_arrays(P))
    assert again.is_exact
    assert same_model(P, again)


@given(pomdps())
def test_sparse_arrays_and_back_is_the_same_model_in_floats(P):
    again = from_arrays(**to_arrays(P, sparse=True))
    assert not again.is_exact
    dense, dense_again = to_arrays(P), to_arrays(again)
    assert [float(r) for r in P.R] == list(again.R)
    for part in ("p", "omega", "mu"):
        np.testing.assert_allclose(
            dense_again[part].astype(float), dense[part].astype(float), atol=1e-15
        )


def test_every_form_of_arrays_gives_the_same_model():
    P = arrays()
    p = to_arrays(arrays())["p"].sum(axis=3)
    by_action = [p[:, a, :] for a in range(2)]
    r3 = np.repeat(np.array([[0.0, 1.0], [0.0, 0.0]])[:, :, None], 2, axis=2)
    forms = [
        {"p": p},
        {"p": p.tolist()},
        {"p": by_action},
        {"p": [sp.csr_array(m) for m in by_action]},
        {"p": sp.csr_array(p.reshape(4, 2)), "r": sp.csr_array(r3.reshape(4, 2))},
        {"p": p, "r": r3},
        {"p": p, "r": [r3[:, a, :] for a in range(2)]},
        {"p": p, "r": [sp.csr_array(r3[:, a, :]) for a in range(2)]},
        {"omega": sp.csr_array([[1.0], [1.0]])},
    ]
    for form in forms:
        assert same_model(P, arrays(**form)), form


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"p": lambda s, a: {("end", 0): 0.9}}, r"p\(\. \| s=s, a=go\) sums to 0.9, not to 1"),
        (
            {"p": lambda s, a: {("end", 0): Fraction(9, 10)}},
            r"p\(\. \| s=s, a=go\) sums to 9/10, not to 1",
        ),
        (
            {"p": lambda s, a: {("end", 0): 1.5, ("s", 0): -0.5}},
            r"a=go\) holds the negative probability -0.5",
        ),
        (
            {"p": lambda s, a: {("end", 0): 2, ("s", 0): -1}},
            r"a=go\) holds the negative probability -1",
        ),
        ({"p": lambda s, a: {("end", 0): float("nan")}}, r"s=s, a=go\) holds the probability nan"),
        ({"p": lambda s, a: {("end", float("inf")): 1}}, r"s=s, a=go\) holds the reward inf"),
        ({"p": lambda s, a: {}}, r"p\(\. \| s=s, a=go\) has no outcomes"),
        (
            {"p": lambda s, a: {"end": 1}},
            r"s=s, a=go\): an outcome is a pair \(s_next, r\), not 'end'",
        ),
        *(
            ({"p": lambda s, a, odd=odd: {odd: 1}}, "an outcome is a pair")
            for odd in (("end", 0, 1), ("end",), "e0")
        ),
        ({"p": lambda s, a: [("end", 1)]}, r"s=s, a=go\) must be a distribution"),
        ({"p": lambda s, a: {("end", "much"): 1}}, r"s=s, a=go\): 'much' is not a number"),
        ({"p": lambda s, a: {("end", 0): Decimal("NaN")}}, r"s=s, a=go\): .* is not a number"),
        ({"omega": lambda s: {"o": sympy.sqrt(2)}}, r"omega\(\. \| s=s\): sqrt\(2\) is neither"),
        ({"mu": {"s": sympy.zoo}}, r"mu\(s\): zoo is neither"),
        ({"p": 3}, "p must be a function"),
        ({"omega": lambda s: {"o": Fraction(1, 2)}}, r"omega\(\. \| s=s\) sums to 1/2"),
        ({"omega": lambda s: {}}, r"omega\(\. \| s=s\) has no observation"),
        ({"omega": lambda s: "o"}, r"omega\(\. \| s=s\) must be a distribution"),
        ({"mu": {}}, r"mu\(\.\) has no states"),
        ({"mu": {"s": 0.5}}, r"mu\(\.\) sums to 0.5"),
        ({"mu": {"s": 2, "end": -1}}, r"mu\(end\) holds the negative probability -1"),
        ({"mu": ["s"]}, r"mu\(\.\) must be a distribution"),
        ({"gamma": 1.5}, r"gamma must lie in \[0, 1\], not 1.5"),
        ({"gamma": -1}, r"gamma must lie in \[0, 1\]"),
        ({"gamma": float("nan")}, r"gamma must lie in \[0, 1\], not nan"),
        ({"gamma": "0.9"}, "'0.9' is not a number"),
        ({"A": []}, "empty"),
        ({"A": ["go", "go"]}, "label go occurs twice"),
        ({"terminal": {"edn", "end"}}, "terminal: unknown label 'edn'; the nearest of 2: 'end'"),
        ({"terminal": "end"}, "single string 'end'"),
        ({"S": ["s"]}, r"p\(\. \| s=s, a=go\): unknown label 'end'"),
        ({"O": ["x"]}, r"omega\(\. \| s=s\): unknown label 'o'"),
        ({"mu": {"t": 1}, "S": ["s", "end"]}, "mu: unknown label 't'"),
    ],
)
def test_a_model_that_is_not_one_is_refused_by_name(changes, message):
    with pytest.raises(WorkbenchError, match=message):
        write(**changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"p": np.array([[[0.5, 0.4], [0, 1]], [[0, 0], [0, 0]]])},
            r"p\(\. \| s=s, a=wait\) sums to 0.9",
        ),
        (
            {"p": np.array([[[0.5, 0.5], [0, 1]], [[0, 0], [0, 1]]])},
            r"s=end, a=go\) has outcomes, but .* terminal",
        ),
        ({"terminal": []}, r"p\(\. \| s=end, a=wait\) has no outcomes"),
        ({"p": np.ones((2, 2))}, r"p has shape \(2, 2\); expected"),
        ({"p": sp.csr_array(np.ones((3, 2)))}, "3 is not a multiple of"),
        ({"r": np.ones(3)}, r"r has shape \(3,\); expected"),
        ({"r": None}, "needs the expected"),
        ({"R": [1]}, "and no R"),
        ({"mu": [1, 0, 0]}, "mu has shape"),
        ({"mu": [0.5, 0.6]}, r"mu\(\.\) sums to 1.1"),
        ({"S": ["s"]}, "one row for each state: found 2, expected 1"),
        ({"O": ["o", "x"]}, "one column for each observation"),
        ({"A": ["wait"]}, r"p has one row for each \(s, a\): found 2, expected 1"),
        ({"terminal": ["fin"]}, "unknown label 'fin'"),
        ({"omega": np.ones(2)}, "omega must have two dimensions"),
        ({"gamma": 2}, "gamma must lie"),
    ],
)
def test_arrays_that_are_no_model_are_refused_by_name(changes, message):
    with pytest.raises(WorkbenchError, match=message):
        arrays(**changes)


def test_floats_that_almost_sum_to_one_are_kept_and_not_renormalised():
    third = 1 / 3
    P = write(p=lambda s, a: {("end", 0): third, ("end", 1): third, ("end", 2): third})
    assert P.p("s", "go")["end", 0.0] == third


def test_discovery_stops_at_its_limit(monkeypatch):
    monkeypatch.setattr("workbench.core.build._MOST_STATES", 10)
    with pytest.raises(TooLarge, match="more than 10 states were discovered; the last one is 10"):
        POMDP.from_functions(
            name="line",
            A=["go"],
            p=lambda s, a: {(s + 1, 0): 1},
            omega=lambda s: {0: 1},
            mu={0: 1},
            gamma=0.9,
        )


def test_changes_return_another_pomdp():
    P = write()
    assert P.with_gamma(Fraction(1, 2)).gamma == Fraction(1, 2)
    assert P.scale_rewards(3).p("s", "go") == {("end", 3): 1}
    assert dataclasses.replace(P, name="other").name == "other"
    Q = P.relabel(S=lambda s: f"<{s}>", A=str.upper, O=lambda o: (o, 0), name="loud")
    assert Q.p("<s>", "GO") == {("<end>", 1): 1}
    assert "<end>" in Q.terminal
    assert Q.omega("<s>") == {("o", 0): 1}
    with pytest.raises(dataclasses.FrozenInstanceError):
        P.name = "new"  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        P.p.s_next[0] = 1


def test_exactness_is_kept_and_can_be_asked_for():
    P = write()
    assert P.is_exact
    P.require_exact()
    loose = write(gamma=0.9)
    assert not loose.is_exact
    with pytest.raises(NotExact, match=r"gamma of small was given as floats \(such as 0.9\)"):
        loose.require_exact()
    assert loose.rationalised().gamma == Fraction(9, 10)
    half = write(p=lambda s, a: {("end", 0): 0.1, ("s", 0): 0.9})
    assert half.rationalised().p("s", "go") == {
        ("end", 0): Fraction(1, 10),
        ("s", 0): Fraction(9, 10),
    }


def test_symbols_are_numbers_too():
    x, g = sympy.symbols("x g")
    P = write(p=lambda s, a: {("end", 1): x, ("s", 0): 1 - x}, gamma=g)
    assert P.symbols == {x, g}
    with pytest.raises(ModelError, match=r"sums to 2\*x, not to 1"):
        write(p=lambda s, a: {("end", 1): x, ("s", 0): x})


# ---------------------------------------------------------------------- errors inside user's code


def test_an_error_inside_p_omega_or_terminal_names_the_state_and_the_action():
    good = {
        "name": "n",
        "A": ["go"],
        "p": lambda s, a: {("end", 0): 1},
        "omega": lambda s: {"o": 1},
        "mu": {"start": 1},
        "gamma": 1,
        "terminal": {"end"},
    }

    def fails(*_):
        return {}["no such key"]

    for element, where in (
        ("p", r"p\(. \| s=start, a=go\)"),
        ("omega", r"omega\(. \| s=start\)"),
        ("terminal", r"terminal\(s=start\)"),
    ):
        with pytest.raises(ModelError, match=f"{where} raised KeyError: 'no such key'") as caught:
            POMDP.from_functions(**{**good, element: fails})
        assert isinstance(caught.value.__cause__, KeyError)
