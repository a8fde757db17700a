"""Running a program once for every way its draws can fall: laws, probabilities, refusals."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.interop.gym.draws import MOST_BRANCHES, CannotEnumerate, every_run, read_number


def law(program) -> dict:
    """{result: probability} of a program."""
    found: dict = {}
    for prob, result in every_run(program):
        found[result] = found.get(result, 0) + prob
    return found


@given(st.lists(st.integers(1, 4), min_size=1, max_size=4))
def test_integers_are_uniform_and_independent(widths):
    found = law(lambda g: tuple(int(g.integers(0, n)) for n in widths))
    assert found == {
        x: Fraction(1, math.prod(widths)) for x in itertools.product(*map(range, widths))
    }


def test_integers_take_the_forms_of_numpy():
    assert set(law(lambda g: int(g.integers(3)))) == {0, 1, 2}
    assert set(law(lambda g: int(g.integers(1, 3, endpoint=True)))) == {1, 2, 3}
    assert law(lambda g: tuple(g.integers(0, 2, size=2).tolist()))[1, 0] == Fraction(1, 4)
    assert isinstance(next(iter(every_run(lambda g: g.integers(3))))[1], np.int64)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=4).filter(any))
def test_choice_follows_its_probabilities(weights):
    total = sum(weights)
    found = law(lambda g: int(g.choice(len(weights), p=[w / total for w in weights])))
    assert found == {i: Fraction(w, total) for i, w in enumerate(weights) if w}


def test_choice_merges_equal_items_and_draws_without_replacement():
    runs = list(every_run(lambda g: int(g.choice([1, 2, 2, 2]))))
    assert runs == [(Fraction(1, 4), 1), (Fraction(3, 4), 2)]
    pairs = law(lambda g: tuple(g.choice(3, size=2, replace=False).tolist()))
    assert pairs == {x: Fraction(1, 6) for x in itertools.permutations(range(3), 2)}


@given(st.integers(1, 4))
def test_shuffle_and_permutation_are_uniform(n):
    def shuffled(g):
        items = list(range(n))
        g.shuffle(items)
        return tuple(items)

    expected = {x: Fraction(1, math.factorial(n)) for x in itertools.permutations(range(n))}
    assert law(shuffled) == law(lambda g: tuple(g.permutation(n).tolist())) == expected


@given(st.lists(st.fractions(0, 1, max_denominator=12), min_size=1, max_size=5))
def test_a_uniform_number_splits_at_what_it_is_compared_with(thresholds):
    found = law(lambda g: (lambda u: tuple(u < float(x) for x in thresholds))(g.random()))
    cuts = sorted({Fraction(0), Fraction(1), *thresholds})
    expected = {
        tuple((a + b) / 2 < x for x in thresholds): b - a for a, b in itertools.pairwise(cuts)
    }
    assert found == expected


@given(st.lists(st.integers(1, 5), min_size=1, max_size=5))
def test_the_cumulated_sum_of_gymnasium_s_toys_is_enumerated(weights):
    prob = np.array(weights) / sum(weights)
    found = law(lambda g: int(np.argmax(np.cumsum(prob) > g.random())))
    assert found == {i: Fraction(w, sum(weights)) for i, w in enumerate(weights)}


@given(st.integers(1, 6), st.integers(-3, 3))
def test_scaled_and_cut_numbers_are_integers_of_equal_probability(n, shift):
    assert law(lambda g: math.floor(g.random() * n + shift)) == {
        i + shift: Fraction(1, n) for i in range(n)
    }
    assert law(lambda g: int(g.uniform(0, n))) == {i: Fraction(1, n) for i in range(n)}
    assert law(lambda g: math.floor(1 - g.random() * n)) == {-i: Fraction(1, n) for i in range(n)}


@pytest.mark.parametrize(
    "compare",
    [
        lambda u: u < np.float64(0.25),
        lambda u: np.float64(0.25) > u,
        lambda u: not u >= 0.25,
        lambda u: 4 * u - 1 < 0,
        lambda u: bool(np.array([0.25])[0] >= u),
        lambda u: bool((np.array([0.25, 0.25]) > u).all()),
        lambda u: bool((u < np.array([0.25]))[0]),
        lambda u: -u > -0.25,
        lambda u: u / 2 < 0.125,
    ],
)
def test_every_way_to_ask_is_the_same_question(compare):
    assert law(lambda g: compare(g.random())) == {True: Fraction(1, 4), False: Fraction(3, 4)}


def test_arrays_of_uniform_numbers_are_independent():
    found = law(lambda g: tuple(bool(x) for x in g.random(2) < 0.5))
    assert found == dict.fromkeys(itertools.product([True, False], repeat=2), Fraction(1, 4))


def test_the_law_is_that_of_a_real_generator():
    def program(g):
        first = int(g.integers(3))
        if g.random() < 0.3:
            return first, int(g.choice([5, 7], p=[0.25, 0.75]))
        return first, tuple(g.permutation(first).tolist())

    exact = law(program)
    assert sum(exact.values()) == 1
    real = np.random.default_rng(0)
    n = 20_000
    seen = Counter(program(real) for _ in range(n))
    assert set(seen) == set(exact)
    chi_square = sum((seen[x] - n * float(p)) ** 2 / (n * float(p)) for x, p in exact.items())
    assert chi_square < len(exact) - 1 + 6 * math.sqrt(2 * (len(exact) - 1))


def test_floats_are_read_as_what_they_stand_for():
    assert read_number(1 / 3) == Fraction(1, 3)
    assert read_number(np.cumsum([0.1] * 7)[-1]) == Fraction(7, 10)
    assert read_number(0.123456789) == Fraction(123456789, 10**9)
    assert read_number(np.float32(0.5)) == Fraction(1, 2)
    with pytest.raises(CannotEnumerate):
        read_number(math.nan)


def until_even(g):
    while (x := int(g.integers(1, 3))) % 2:
        pass
    return x


@pytest.mark.parametrize(
    ("program", "said"),
    [
        (lambda g: g.normal(), "'normal'"),
        (lambda g: g.bit_generator, "bit_generator"),
        (lambda g: float(g.random()), "as a number"),
        (lambda g: np.array([g.uniform(-1, 1), 0.0]), "as a number"),
        (lambda g: np.sin(g.random()), "as a number"),
        (lambda g: np.searchsorted([0.5, 1.0], g.random()), "as a number"),
        (lambda g: g.random() < g.random(), "with each other"),
        (lambda g: g.integers(2**31), "2,147,483,648 results"),
        (lambda g: int(g.random() * 10 * MOST_BRANCHES), "too many to list"),
        (lambda g: g.integers([1, 2], 5), "arrays of bounds"),
        (until_even, "starts="),
    ],
)
def test_what_cannot_be_enumerated_is_refused(program, said):
    with pytest.raises(CannotEnumerate, match=said):
        list(every_run(program))
