"""What a policy is worth by its average reward, with labels (`gain` has the mathematics)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.assess import mean_over_starts, mix_actions
from workbench.core.chain import follow_policy
from workbench.core.dynamics import dynamics, field_of
from workbench.core.evaluate import Evaluation, describe_doubt
from workbench.core.fields import RATIONALS
from workbench.core.gain import Differential, differential_values
from workbench.core.linear import Solution
from workbench.core.policy import Policy
from workbench.core.pomdp import POMDP
from workbench.core.repetition import repeat_episodes
from workbench.core.weights import look_behind
from workbench.tables.table import Conditional, Table, Vector

_MOST_RATIONAL = 300
"""Up to so many states, whether an action changes the average is told in rationals where floats
cannot."""


def evaluate_average(P: POMDP, pi: Policy, exact: bool) -> Evaluation:
    """What a policy is worth by its average reward."""
    R = repeat_episodes(P)
    field = field_of(P, pi, exact)
    D = dynamics(R, field)
    chain = follow_policy(D, pi)
    found = differential_values(chain)
    weighed = Solution(found.share, "", found.share_error)
    seen = look_behind(D, weighed, np.asarray(found.share != 0, dtype=bool))
    astray, unclear = found.astray()
    if unclear.any() and P.is_exact and pi.is_exact and len(R.S) <= _MOST_RATIONAL:
        exactly = differential_values(follow_policy(dynamics(R, RATIONALS), pi))
        astray, unclear = exactly.astray()
    q_state, q_state_error = found.action_values(astray | unclear)
    q, q_error = seen.observe(D, q_state, q_state_error)
    doubtful = np.zeros(q.shape, dtype=bool)
    if not field.is_exact:
        doubtful = np.isinf(q_error) & np.isfinite(q)
        q[np.isinf(q_error)] = np.nan
    value, value_error = mean_over_starts(D, found.gain, found.gain_error)
    alive = np.flatnonzero(~P.terminal.mask)
    shown = field if field.is_exact else None

    def placed(values: NDArray[Any], elsewhere: Any) -> NDArray[Any]:
        """Over all states, the terminal ones included."""
        whole = np.empty((len(P.S), *values.shape[1:]), dtype=values.dtype)
        whole[:] = elsewhere
        whole[alive] = values
        return whole

    notes = describe_clash(R, found), describe_doubt(P, doubtful), _describe_unclear(R, unclear)
    undefined, nothing = field.undefined(1)[0], field.one(0)
    v_error = placed(found.bias_error, float(np.max(found.bias_error)))
    return Evaluation(
        P=P,
        pi=pi,
        weights="stationary",
        value=field.back(value),
        v=Vector(placed(found.bias, (D.mu * found.bias).sum()), P.S, shown, "bias"),
        q_state=Table(placed(q_state, undefined), P.S, P.A, shown, "q(s, a)"),
        visits=Vector(placed(found.share, nothing), P.S, shown, "stationary"),
        o_visits=Vector(seen.total, P.O, shown, "d(o)"),
        s_given_o=Conditional(seen.share[:, 0], alive[D.entry_s], D.entry_o, P.S, P.O, shown),
        q=Table(q, P.O, P.A, shown, "q(o, a)"),
        v_given_o=Vector(mix_actions(D, chain.pi, q), P.O, shown, "v(o)"),
        reached=Vector(seen.reached, P.O, None, "reached"),
        error=max(value_error, float(np.max(found.gain_error))),
        v_error=Vector(v_error, P.S, None, "error of the bias"),
        q_state_error=Table(placed(q_state_error, np.inf), P.S, P.A, None, "error of q(s, a)"),
        visits_error=Vector(placed(found.share_error, 0.0), P.S, None, "relative error"),
        q_error=Table(q_error, P.O, P.A, None, "error of q(o, a)"),
        method="exact" if field.is_exact else "sums until a reference state, bounded",
        note=" ".join(filter(None, notes)),
        criterion="average",
        gain=Vector(placed(found.gain, value), P.S, shown, "g(s)"),
    )


def _describe_unclear(P: POMDP, unclear: NDArray[np.bool_]) -> str:
    """A sentence on actions `[s, a]` that may change the average reward, as far as floats can tell,
    or ""."""
    if not unclear.any():
        return ""
    s, a = (int(x) for x in np.argwhere(unclear)[0])
    return (
        f"Floats cannot tell whether a={P.A.text(P.A[a])} in s={P.S.text(P.S[s])} changes the "
        "average reward: its value is undefined."
    )


def describe_clash(P: POMDP, found: Differential) -> str:
    """A sentence on recurrent classes with different average rewards, or ""."""
    if (clash := found.clash()) is None:
        return ""
    s, t = (P.S.text(P.S[int(found.classes[c][0])]) for c in clash)
    return (
        f"The policy is multichain: it may stay for ever around s={s} or around s={t}, with "
        "different average rewards; q(o, a) is undefined where an action leads from one to the "
        "other."
    )
