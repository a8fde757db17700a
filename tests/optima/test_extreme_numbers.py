"""Optima where numbers of very different size meet: penalties, rare exits, long episodes."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from workbench import POMDP, Policy, best_history, best_memoryless, evaluate

F = Fraction


def with_a_price(price: float, seed: int) -> POMDP:
    """Four states that go on for ever, rewards 0 to 3, and one action that costs `price`."""
    rng = np.random.default_rng(seed)
    p = {}
    for s, a in itertools.product(range(4), range(3)):
        chance = rng.dirichlet(np.ones(4))
        r = -price if (s, a) == (0, 0) else float(rng.integers(0, 4))
        p[s, a] = {(t, r): float(x) for t, x in enumerate(chance)}
    return POMDP.from_functions(
        name="priced",
        A=range(3),
        p=lambda s, a: p[s, a],
        omega=lambda s: {s % 2: 1},
        mu=dict.fromkeys(range(4), 0.25),
        gamma=0.9,
    )


@pytest.mark.parametrize("price", [1e6, 1e11, 1e12])
@pytest.mark.parametrize("seed", range(6))
def test_the_price_of_a_forbidden_action_does_not_blur_averages(price, seed):
    P = with_a_price(price, seed)
    best = max(
        float(evaluate(P, Policy.from_actions(P, np.array(x)), criterion="average").value)
        for x in itertools.product(range(3), repeat=2)
    )
    found = best_memoryless(P, criterion="average")
    assert found.certified
    assert found.value == pytest.approx(best, abs=1e-12)
    assert found.tolerance < 1e-9
    assert found.bound >= best


def test_the_price_of_a_forbidden_action_does_not_blur_mixtures_nor_histories():
    P = with_a_price(1e11, 1)
    plain = best_memoryless(with_a_price(10.0, 1), False, criterion="average")
    found = best_memoryless(P, False, criterion="average")
    assert found.value >= plain.value - 1e-6
    assert found.tolerance < 1e-6
    above = best_history(P, criterion="average", max_beliefs=50)
    assert above.lower >= best_memoryless(P, criterion="average").value - 1e-9
