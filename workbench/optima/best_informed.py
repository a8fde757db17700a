"""The best value if the agent saw the state: an upper bound on every policy of histories.

    v(s) = max_a [ R(s,a) + gamma sum_{s'} p(s'|s,a) v(s') ],      the answer is mu . v

With gamma = 1 a policy that may go on for ever has no value and is left out; if none is left,
`NeverEnds` is raised.
"""

from __future__ import annotations

from workbench.core.fields import FLOATS, RATIONALS
from workbench.core.numbers import Number
from workbench.core.pomdp import POMDP
from workbench.optima.arguments import require_real_numbers
from workbench.optima.mdp import from_states, optimal, require_end


def best_informed(P: POMDP, exact: bool = False) -> Number:
    """The best value if the agent saw the state: no history and no memory gives more.

    >>> from pomdps import recall4
    >>> best_informed(recall4())
    1.0
    """
    require_real_numbers(P, exact)
    field = RATIONALS if exact else FLOATS
    M = from_states(P, field)
    # rationals only confirm what floats have found: few exact solves, however many iterations
    first = optimal(from_states(P, FLOATS)).policy if exact else None
    found = optimal(M, first=first)
    require_end(P, found)
    return found.value if isinstance(found.value, float) else field.back(found.value)
