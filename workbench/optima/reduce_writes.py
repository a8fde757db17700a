"""Among the best deterministic policies of a task with a memory, one that writes least.

Many policies are worth the optimum v* and differ in what they write where it does not matter. A
small price c on every change of the memory, r - c [m' != m], decides between them: for c below the
gap to the next best value, a best policy of the priced task is a best one of the task, and among
these one with the fewest expected (discounted) changes. The price here is a small one and not below
that gap by proof, so the policy that it finds is kept only if it is worth v* without the price.
"""

from __future__ import annotations

from fractions import Fraction

from workbench.core.augment import memory_states
from workbench.core.chain import exact_value
from workbench.core.evaluate import evaluate
from workbench.core.policy import Policy
from workbench.core.pomdp import POMDP
from workbench.optima.best_memoryless import best_memoryless

MOST_PRICED = 100_000
"""Outcomes of a product whose best policies are compared by their writes."""

_PRICE = 1e-5
"""Of a change of the memory, in units of the largest reward."""


def reduce_writes(E: POMDP, pi: Policy, max_seconds: float = 10) -> Policy | None:
    """Find a policy that is worth as much as `pi` and changes the memory as seldom as can be.

    Parameters
    ----------
    E : a task with a memory, as `augment` makes it.
    pi : a best deterministic policy of it.
    max_seconds : for the search on the priced task, which then takes the best one so far.

    Returns
    -------
    The policy, or None where there is nothing to write, the product is large, or nothing as good
    was found.
    """
    if len(memory_states(E)) == 1 or len(E.p.s_next) > MOST_PRICED:
        return None
    price = Fraction(_PRICE) * max((abs(Fraction(float(r))) for r in E.R), default=Fraction(1))
    priced = POMDP.from_functions(
        name=E.name,
        A=list(E.A),
        p=lambda s, a: {
            (t, r - price if t[1] != s[1] else r): x for (t, r), x in E.p(s, a).items()
        },
        omega=E.omega,
        mu=dict(E.mu.items()),
        gamma=E.gamma,
        terminal=E.terminal.__contains__,
    )
    found = best_memoryless(priced, max_seconds=max_seconds).policy
    calm = type(pi).from_mapping(E, {o: found.row(o) for o in priced.O})
    if E.is_exact:
        same = exact_value(E, calm) == exact_value(E, pi)
    else:  # as good as floats can tell
        ours, theirs = evaluate(E, calm), evaluate(E, pi)
        same = abs(ours.value - theirs.value) <= float(ours.error) + float(theirs.error)
    return calm if same else None
