"""Exact colouring of graphs."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st
from strategies_beliefs import graphs

from workbench.sufficiency.colouring import colour


def proper(neighbours, colours) -> bool:
    return all(colours[i] != colours[j] for i, near in enumerate(neighbours) for j in near)


@given(graphs(), st.integers(1, 3))
def test_a_colouring_is_found_exactly_when_there_is_one(neighbours, colours):
    found = colour(neighbours, colours, budget=10_000)
    exists = any(
        proper(neighbours, c) for c in itertools.product(range(colours), repeat=len(neighbours))
    )
    assert found.finished
    assert (found.colours is not None) == exists
    if found.colours is not None:
        assert proper(neighbours, found.colours)
        assert all(0 <= c < colours for c in found.colours)
    if found.clique:
        assert len(found.clique) > colours
        assert all(j in neighbours[i] for i, j in itertools.combinations(found.clique, 2))


def circle(n: int) -> list[set[int]]:
    return [{(i - 1) % n, (i + 1) % n} for i in range(n)]


def test_an_odd_circle_is_refused_by_search_and_not_by_a_clique():
    found = colour(circle(7), 2, budget=100)
    assert (found.colours, found.clique, found.finished) == (None, (), True)
    assert found.searched > 0
    assert colour(circle(6), 2, budget=100).colours is not None


def test_a_search_given_up_says_so():
    wheel = [*({(i - 1) % 7, (i + 1) % 7, 7} for i in range(7)), set(range(7))]
    found = colour(wheel, 3, budget=1)
    assert (found.colours, found.finished) == (None, False)
    assert colour(wheel, 3, budget=1000).finished
    assert colour(wheel, 4, budget=1000).colours is not None
