"""Numbers and labels as text: short, unambiguous, and never a zero that is none."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st
from strategies import families, pomdps

import workbench
from pomdps import gravity, recall, recall4
from workbench import QLearning, augment, best_history, best_memoryless, equilibria, memories
from workbench.core.augment import memory_states
from workbench.core.evaluate import evaluate
from workbench.core.policy import Policy, uniform
from workbench.core.shortcuts import shortcuts
from workbench.text import did_you_mean, escape_html, nearest, shorten, shown


@pytest.mark.parametrize(
    ("x", "text"),
    [
        (Fraction(1, 3), "1/3"),
        (Fraction(116490258898219, 204800000000000), "0.5688"),
        (Fraction(10**400, 3), "3.33333e+399"),
        (Fraction(1, 10**400), "1e-400"),
        (-(10**400), "-1e+400"),
        (Fraction(7**6000, 3), "1.29157e+5070"),
        (0.1 + 0.2, "0.3"),
        (1e-17, "1e-17"),
        (None, "-"),
        (np.nan, "-"),
        (np.bool_(True), "yes"),
        (False, "no"),
    ],
)
def test_numbers_as_text(x, text):
    assert shown(x) == text


@given(st.fractions(max_denominator=10**9))
def test_a_fraction_is_written_as_itself_or_to_six_digits(x):
    text = shown(x)
    assert len(text) <= 14
    assert Fraction(text) == x if "/" in text or len(str(x)) <= 14 else True
    assert float(Fraction(text)) == pytest.approx(float(x), rel=1e-5)


@given(pomdps(), families())
def test_short_labels_tell_the_labels_of_an_augmented_pomdp_apart(P, family):
    E = augment(P, family)
    for space in (E.S, E.O, E.A, memory_states(E)):
        texts = {space.text(label) for label in space}
        assert len(texts) == len(space)
        assert not any("((" in text for text in texts)


def test_what_never_changes_is_not_written_and_the_legend_says_what_is():
    E = augment(recall(), memories.OA(1))
    assert [E.O.text(o) for o in E.O] == ["∅", "o 1", "o 2", "o 3"]
    assert E.O.legend == "memory (stored pair, ∅ empty)"
    assert (E.A.text((1, "push")), E.A.legend) == ("1 push", "action write")
    two = augment(gravity(), memories.OA(2))
    label = ((None, ((4, 0), "up")), (4, 1))
    assert two.O.text(label) == "∅ | (4, 0) up / (4, 1)"
    assert two.O.legend == "memory (stored pairs, oldest first, ∅ empty) / observation"
    bare = augment(recall(), memories.none)
    assert [bare.O.text(o) for o in bare.O] == ["o"]
    assert [bare.A.text(a) for a in bare.A] == ["1", "2", "3"]


def test_a_table_ends_with_its_legend():
    E = augment(recall(), "OA1")
    lines = evaluate(E, uniform(E), exact=True).q.text().splitlines()
    assert lines[0].split() == [
        "q(o,",
        "a)",
        *["1", "keep", "1", "push", "2", "keep", "2", "push", "3", "keep", "3", "push"],
    ]
    assert [line.split("  ")[0] for line in lines[1:5]] == ["∅", "o 1", "o 2", "o 3"]
    assert lines[5:] == ["rows: memory (stored pair, ∅ empty); columns: action write"]
    plain = evaluate(recall(), uniform(recall())).q.text()
    assert "rows:" not in plain


def test_a_shortcut_is_printed_in_the_short_form():
    E = augment(recall(), "OA1")
    found = shortcuts(E, best_memoryless(E).policy, exact=True)
    assert found
    assert all("((" not in str(x) and ":" in str(x) for x in found)
    assert str(found[0]).startswith(f"{E.O.text(found[0].o)}, {E.A.text(found[0].a)}: TD ")


def test_a_policy_of_an_augmented_task_prints_its_rows_in_short():
    E = augment(recall(), "OA1")
    pi = Policy.deterministic(E, {}, otherwise=(1, "keep"))
    assert "o 1" in repr(pi)
    assert "((" not in repr(pi)


@pytest.mark.parametrize(
    ("name", "meant"),
    [("b1", "B1"), ("OA 1", "OA1"), ("oa-1", "OA1"), ("none ", "none"), ("k 1", "K1")],
)
def test_the_name_that_was_meant(name, meant):
    known = ["none", "B1", "K1", "O1", "OA1"]
    assert nearest(name, known) == [meant]
    assert did_you_mean(name, known) == f" (did you mean {meant}?)"
    assert did_you_mean("something else", known) == ""


@given(st.text())
def test_nothing_escapes_from_html(text):
    assert not set(escape_html(text)) & set("<>\"'")
    assert len(shorten(text, 10)) <= 10


# ---------------------------------------------------------------------- one short form


def test_labels_of_a_space_are_written_by_their_space():
    """`show(P.O[i])` writes (((o, 1),), o), which nobody reads; `P.O.text` writes o 1."""
    longhand = re.compile(r"(?<![.\w])show\((?:\w+\.)*[SOAMW]\[")
    root = Path(workbench.__file__).parents[1]
    found = [
        f"{path.relative_to(root)}: {match[0]}"
        for room in ("workbench", "proofs")
        for path in sorted((root / room).rglob("*.py"))
        for match in longhand.finditer(path.read_text())
    ]
    assert found == []


def test_fixed_points_and_their_legend_are_short():
    found = equilibria(augment(recall(), "OA1"), QLearning(epsilon=Fraction(1, 10)), exact=True)
    assert "{∅: 2 push, o 1: 3 keep, o 2: 3 keep, o 3: " in repr(found[0])
    assert "played: memory (stored pair, ∅ empty) → action write." in str(found.sheet())


def test_long_fractions_of_optima_are_decimals_and_best_says_of_what():
    best = best_history(gravity())
    assert best.value == Fraction(116490258898219, 204800000000000)
    assert repr(best).startswith("best history-based value of gravity: 0.568800092 (")
    E = augment(recall4(), "none")
    assert repr(best_memoryless(E, exact=True)).startswith(
        "best deterministic memoryless policy of recall4: value 1/2, certified"
    )
    assert repr(best_memoryless(E, deterministic=False, seed=1)).startswith(
        "best stochastic memoryless policy of recall4: value 0.5625"
    )


def test_powers_are_written_with_a_caret():
    x = sympy.Symbol("gamma")
    assert shown(x**2 - 2 * x**3) == "-2*gamma^3 + gamma^2"


def test_a_longer_name_is_understood_by_the_name_in_it():
    assert nearest("lemma-c.3", ["C3", "C5", "A2.optimal"]) == ["C3"]
    assert nearest("lemma-x.9", ["C3", "C5"]) == []
