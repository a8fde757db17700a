"""The oracle of the loop for average reward (Jaakkola, Singh and Jordan 1995).

    q(o,a) = sum_s P(s|o) q(s,a),   q(s,a) the differential value, P(s|o) by long-run shares of time

A small step towards greedy on these raises the average reward: its derivative towards another
policy is sum_o d(o) sum_a (pi'(a|o) - pi(a|o)) q(o,a). That holds where the average does not depend
on where the process starts; a policy under which it does is refused by name, `Multichain`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from workbench.core.balls import Balls
from workbench.core.errors import Multichain, NotSolved
from workbench.core.fields import Field
from workbench.core.gain import Differential, differential_values
from workbench.core.linear import Solution
from workbench.core.oracle import UNIT, Look, Oracle, TableArray
from workbench.core.pomdp import POMDP
from workbench.core.residues import Residues
from workbench.core.weights import known, look_behind

_NONE = np.empty(0, dtype=np.int64)


class GainOracle(Oracle):
    """Answers over any field, for tasks without terminal states."""

    def __init__(self, P: POMDP, field: Field):
        super().__init__(P, "stationary", field)

    def look(self, pi: TableArray, roundings: int = 1) -> Look:
        chain = self.D.follow(pi)
        if not self.field.is_exact:
            chain.given += (roundings - 1) * UNIT
        found = differential_values(chain)
        self._require_one(found)
        recurrent = self._recurrent(found)
        if isinstance(self.field, Balls) and not all(x > 0 for x in found.share[recurrent]):
            raise NotSolved("shares of time are smaller than the precision")
        weighed = Solution(found.share, "", found.share_error)
        # where floats cannot tell whether an action changes the average, the bounds say so
        q_state, q_state_error = found.action_values(found.astray()[0])
        q, each = look_behind(self.D, weighed, recurrent).observe(self.D, q_state, q_state_error)
        error = np.where(known(q), each, 0.0).max(axis=1)
        return Look(found.value, q, error, _NONE)

    def _recurrent(self, found: Differential) -> NDArray[np.bool_]:
        """The states that are visited again and again."""
        return np.asarray((found.owner >= 0) & found.visited[np.maximum(found.owner, 0)])

    def _require_one(self, found: Differential) -> None:
        """Refuse policies with several averages. Balls and residues cannot tell, and are asked only
        about policies that floats or rationals have been asked about."""
        if isinstance(self.field, Balls | Residues):
            return
        if (clash := found.clash()) is not None:
            s, t = (self.P.S.text(self.P.S[int(found.classes[c][0])]) for c in clash)
            raise Multichain(
                f"{self.P.name}: the policy is multichain: it may stay for ever around s={s} or "
                f"around s={t}, with different average rewards, so that small steps need not "
                "improve it"
            )
