"""Policies that write least: as good as the best, exactly, whatever the unit of reward."""

from fractions import Fraction

import pytest

from pomdps import gravity, recall4
from workbench import augment, best_memoryless
from workbench.core.chain import exact_value
from workbench.core.policy import Policy
from workbench.optima import reduce_writes as module
from workbench.optima.reduce_writes import reduce_writes


def changes(E, pi):
    """Rows whose action may change the memory."""
    found = set()
    for s in E.S:
        for o in E.omega(s):
            for a, x in pi.row(o).items():
                if x and s not in E.terminal and any(t[1] != s[1] for t, _ in E.p(s, a)):
                    found.add(o)
    return found


@pytest.mark.parametrize("unit", [1, Fraction(1, 10**12), 10**12])
def test_a_policy_that_writes_less_is_worth_the_same(unit):
    E = augment(gravity().scale_rewards(unit), "B1")
    best = best_memoryless(E).policy
    calm = reduce_writes(E, best)
    assert exact_value(E, calm) == exact_value(E, best)
    assert len(changes(E, calm)) <= len(changes(E, best))


@pytest.mark.parametrize("unit", [1, Fraction(1, 10**12)])
def test_a_policy_that_is_worth_a_little_less_is_not_taken(monkeypatch, unit):
    """The price may have been too high: then nothing is said."""
    E = augment(recall4().scale_rewards(unit), "B1")
    best = best_memoryless(E).policy
    assert reduce_writes(E, best) is not None

    class Worse:
        policy = Policy.from_actions(E, [0] * len(E.O))

    monkeypatch.setattr(module, "best_memoryless", lambda *_, **__: Worse)
    assert exact_value(E, Worse.policy) < exact_value(E, best)
    assert reduce_writes(E, best) is None
