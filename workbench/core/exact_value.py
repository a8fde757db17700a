"""The value of one exact policy on a task of any size: only what it reaches is looked at."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from workbench.core.fields import RATIONALS
from workbench.core.numbers import Number, Numbers
from workbench.core.policy import Policy
from workbench.core.pomdp import POMDP
from workbench.core.rows import point_rows, row_places


def exact_value(P: POMDP, pi: Policy) -> Number:
    """The value of an exact policy, by the states that it reaches and no others."""
    nA = len(P.A)
    acts: dict[int, list[tuple[int, Any]]] = {}

    def row_of(o: int) -> list[tuple[int, Any]]:
        if o not in acts:
            row = pi.prob.take(o).objects
            acts[o] = [(a, RATIONALS.one(row[a])) for a in range(nA) if row[a] != 0]
        return acts[o]

    places = {s: i for i, s in enumerate(P.mu.support.tolist())}
    rows, columns, chances, rewards = [], [], [], []
    for s in (states := list(places)):  # grows while we walk
        total = RATIONALS.one(0)
        for e in row_places(P.omega.row_ptr, s):
            seen = RATIONALS.one(P.omega.prob[e])
            for a, chance in row_of(int(P.omega.o[e])):
                row = s * nA + a
                for k in row_places(P.p.row_ptr, row):
                    x = seen * chance * RATIONALS.one(P.p.prob[k])
                    total += x * RATIONALS.one(P.p.r[k])
                    s_next = int(P.p.s_next[k])
                    if x != 0 and s_next not in places:
                        places[s_next] = len(states)
                        states.append(s_next)
                    if x != 0:
                        rows.append(places[s])
                        columns.append(places[s_next])
                        chances.append(x)
        rewards.append(total)
    n = len(states)
    indptr = point_rows(np.bincount(np.array(rows, dtype=np.int64), minlength=n))
    pattern = sp.csr_array(
        (np.ones(len(rows)), np.array(columns, dtype=np.int32), indptr), shape=(n, n)
    )
    data, b = np.array(chances, dtype=object), np.array(rewards, dtype=object)
    v = RATIONALS.solve(pattern, data, RATIONALS.one(P.gamma), b, P.name).x
    start = RATIONALS.enter(Numbers.of([P.mu.prob[s] for s in P.mu.support.tolist()]))
    return RATIONALS.back((start * v[: len(start)]).sum())
