"""The gradient of a policy's value with respect to its own probabilities.

    J(pi)                = sum_s mu(s) v_pi(s)
    d J / d pi(a|o)      = sum_s d(s) omega(o|s) q_pi(s,a),      d = mu + gamma P_pi^T d

each pi(a|o) taken as a variable of its own (Sutton et al. 2000, with rows of pi as parameters).
Along a direction in which rows keep summing to one it is the derivative of the value: towards
another policy pi', sum_{o,a} (pi'(a|o) - pi(a|o)) dJ/dpi(a|o). It is d(o) q_pi(o,a) with the
weights of "discounted", and 0 where o is never seen. Floats come with bounds on their errors, in
`gradient(P, pi).error`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from workbench.core.double_kernels import UNIT
from workbench.core.evaluate import Evaluation, evaluate
from workbench.core.fields import FLOATS, exact_field
from workbench.core.policy import Policy
from workbench.core.pomdp import POMDP
from workbench.core.weights import known
from workbench.tables.table import Table


def gradient(P: POMDP, pi: Policy, exact: bool = False) -> Table:
    """dJ/dpi(a|o) for each `[o, a]`.

    Parameters
    ----------
    P : the POMDP, augmented or not.
    pi : a policy for it.
    exact : rationals instead of floats; symbols anywhere give rational functions in any case.

    >>> from pomdps import recall4
    >>> from workbench import augment, uniform
    >>> E = augment(recall4(), "B1")
    >>> gradient(E, uniform(E), exact=True)[("1", "o"), (3, "1")]
    Fraction(9, 32)

    See also: `evaluate`, `critical_points`, `switch_values`.
    """
    found = evaluate(P, pi, exact=exact, weights="discounted")
    q, reached = found.q.raw, found.reached.raw[:, None]
    weight = np.repeat(found.o_visits.raw[:, None], q.shape[1], axis=1)
    field = exact_field(P.symbols | pi.prob.symbols) if q.dtype == object else FLOATS
    slope = field.zeros(q.shape)
    slope[~known(q) & reached] = field.undefined(1)[0]
    defined = known(q) & reached
    slope[defined] = weight[defined] * q[defined]
    if field.is_exact:
        return Table(slope, P.O, P.A, field, "dJ/dpi(a|o)")
    off = _weight_errors(found)[:, None]
    error = weight * (found.q_error.raw * (1 + off) + np.abs(q) * (off + 4 * UNIT))
    error = np.where(defined, error, np.where(reached, np.inf, 0.0))
    return Table(slope, P.O, P.A, None, "dJ/dpi(a|o)", error)


def _weight_errors(found: Evaluation) -> NDArray[np.float64]:
    """A bound on the relative error of each d(o), a sum of numbers that are not negative."""
    rows, off = found.s_given_o, np.zeros(len(found.P.O))
    used = np.flatnonzero(rows.raw > 0)
    np.maximum.at(off, rows.o[used], found.visits_error.raw[rows.s[used]])
    # |x - x'| <= e x' means |x - x'| <= e / (1 - e) x
    off = np.where(off < 0.5, off / np.maximum(1 - off, 0.5), np.inf)
    return np.asarray(off + (np.bincount(rows.o[used], minlength=len(off)) + 4) * UNIT)
