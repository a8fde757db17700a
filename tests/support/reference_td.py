"""The slow twin of `workbench.core.td`: expected updates of a table, repeated until nothing
moves.

Everything is read from the labelled model into dense float arrays; P(s|o) comes from adding up the
visits of step 0, 1, 2, ...; the fixed point is what sweeping v(o) <- E[target] ends at. TD(lambda)
is its series of n-step targets, cut off.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from workbench import POMDP, Policy

STEPS = 400
SERIES = 130
SWEEPS = 300


def expect(weights: np.ndarray, x: np.ndarray) -> np.ndarray:
    """sum_j weights[..., j] x[j] over the j that have weight, so that NaN elsewhere does no
    harm."""
    return np.where(weights > 0, weights * x, 0.0).sum(axis=-1)


class Tables:
    """A POMDP and a policy as dense arrays."""

    def __init__(self, P: POMDP, pi: Policy):
        S, O, A = list(P.S), list(P.O), list(P.A)
        self.gamma = float(P.gamma)
        self.ended = np.array([s in P.terminal for s in S])
        self.p = np.zeros((len(S), len(A), len(S)))
        self.R = np.zeros((len(S), len(A)))
        self.omega = np.zeros((len(S), len(O)))
        for i, s in enumerate(S):
            for o, x in P.omega(s).items():
                self.omega[i, O.index(o)] += float(x)
            if s in P.terminal:
                continue
            for j, a in enumerate(A):
                for (s_next, r), x in P.p(s, a).items():
                    self.p[i, j, S.index(s_next)] += float(x)
                    self.R[i, j] += float(x) * float(r)
        self.pi = np.array([[float(pi[o, a]) for a in A] for o in O])
        self.acts = self.omega @ self.pi
        self.step = np.einsum("sa,sat->st", self.acts, self.p)
        self.r = (self.acts * self.R).sum(axis=1)
        self.mu = np.array([float(P.mu[s]) for s in S])

    def visits(self, discounted: bool) -> np.ndarray:
        total, now = np.zeros(len(self.mu)), self.mu
        for _ in range(STEPS):
            total = total + now
            now = (self.gamma if discounted else 1.0) * (now @ self.step)
        return np.where(self.ended, 0.0, total)

    def given_observation(self, discounted: bool) -> np.ndarray:
        """P(s|o) as `[o, s]`; NaN for observations that are not visited."""
        joint = (self.visits(discounted)[:, None] * self.omega).T
        total = joint.sum(axis=1, keepdims=True)
        return np.divide(joint, total, out=np.full_like(joint, np.nan), where=total > 0)

    def bootstrap(self, v: np.ndarray) -> np.ndarray:
        return np.where(self.ended, 0.0, expect(self.omega, v))

    def n_step(self, v: np.ndarray, n: int) -> np.ndarray:
        """E[n-step target] for each (s, a)."""
        w = self.bootstrap(v)
        for _ in range(n - 1):
            w = self.r + self.gamma * expect(self.step, w)
        return self.R + self.gamma * expect(self.p, w)

    def mixture(self, v: np.ndarray, lam: float) -> np.ndarray:
        """E[(1 - lam) sum_n lam^(n-1) (n-step target)] for each (s, a), cut off after `SERIES`."""
        w, total = self.bootstrap(v), np.zeros_like(self.R)
        for n in range(1, SERIES):
            total = total + (1 - lam) * lam ** (n - 1) * (self.R + self.gamma * expect(self.p, w))
            w = self.r + self.gamma * expect(self.step, w)
        return total


def td_by_sweeps(
    P: POMDP, pi: Policy, n: int = 1, lam: float | None = None, discounted: bool = False
) -> np.ndarray:
    """q[o, a] of the fixed point."""
    tables = Tables(P, pi)
    share = tables.given_observation(discounted)
    v = np.where(np.isnan(share[:, 0]), np.nan, 0.0)
    for _ in range(SWEEPS):
        target = tables.n_step(v, n) if lam is None else tables.mixture(v, lam)
        q = np.array([[expect(row, column) for column in target.T] for row in share])
        q[np.isnan(share[:, 0])] = np.nan
        v_next = np.array([expect(row, values) for row, values in zip(tables.pi, q, strict=True)])
        if np.nanmax(np.abs(v_next - v), initial=0.0) < 1e-14:
            break
        v = v_next
    return q


def shortcuts_by_definition(P: POMDP, pi: Policy, near: float = 1e-9) -> dict[tuple, str]:
    """{(o, a): kind} straight from the definition, on the values that sweeping finds."""
    tables = Tables(P, pi)
    share = tables.given_observation(discounted=False)
    true = np.array([[expect(row, column) for column in _monte_carlo(tables).T] for row in share])
    td = td_by_sweeps(P, pi)
    found = {}
    for i, o in enumerate(P.O):
        v, v_td = expect(tables.pi[i], true[i]), expect(tables.pi[i], td[i])
        for j, a in enumerate(P.A):
            if np.isnan(share[i, 0]) or tables.pi[i, j] > 0 or np.isnan(td[i, j]) or np.isnan(v_td):
                continue
            if td[i, j] > v_td + near and true[i, j] <= v + near:
                found[o, a] = "strict"
            elif abs(td[i, j] - v_td) <= near and true[i, j] < v - near:
                found[o, a] = "weak"
    return found


def rows_that_matter(P: POMDP, pi: Policy) -> frozenset[tuple]:
    """The choices {(o, a)} of a deterministic policy in the rows that it leads to, or that a
    deviation leads to which TD values as much as the policy's own action or more."""
    tables, td = Tables(P, pi), td_by_sweeps(P, pi)

    def led_to(states: np.ndarray) -> np.ndarray:
        for _ in P.S:
            states = states | (states @ tables.step > 0)
        return states & ~tables.ended

    states = led_to(tables.mu > 0)
    after = np.zeros_like(states)
    for s, o in np.argwhere(states[:, None] & (tables.omega > 0)):
        for a in np.flatnonzero(td[o] >= expect(tables.pi[o], td[o]) - 1e-9):
            after |= tables.p[s, a] > 0
    rows = np.flatnonzero((states | led_to(after)) @ tables.omega)
    return frozenset((P.O[o], P.A[int(tables.pi[o].argmax())]) for o in rows.tolist())


def _monte_carlo(tables: Tables) -> np.ndarray:
    """q_pi(s, a) from rewards added up along pi."""
    v = np.zeros(len(tables.mu))
    for _ in range(STEPS):
        v = tables.r + tables.gamma * tables.step @ v
    return tables.R + tables.gamma * expect(tables.p, v)


def all_deterministic_policies(P: POMDP) -> list[Policy]:
    """Every one of the |A|^|O| policies."""
    return [
        Policy.deterministic(P, dict(zip(P.O, actions, strict=True)))
        for actions in product(P.A, repeat=len(P.O))
    ]
