"""Greedy colouring of graphs, and cliques."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st
from strategies_beliefs import graphs

from workbench.sufficiency.expressive import colour_greedily, large_clique


def proper(neighbours, colours) -> bool:
    return all(colours[i] != colours[j] for i, near in enumerate(neighbours) for j in near)


@given(graphs(), st.integers(1, 3))
def test_what_is_said_of_a_graph_is_so(neighbours, colours):
    found = colour_greedily(neighbours, colours)
    assert found is None or (proper(neighbours, found) and max(found, default=0) < colours)
    clique = large_clique(neighbours)
    assert all(j in neighbours[i] for i, j in itertools.combinations(clique, 2))


def test_an_even_circle_is_coloured_and_an_odd_one_holds_no_large_clique():
    even, odd = ([{(i - 1) % n, (i + 1) % n} for i in range(n)] for n in (6, 7))
    assert colour_greedily(even, 2) is not None
    assert colour_greedily(odd, 2) is None
    assert len(large_clique(odd)) == 2
