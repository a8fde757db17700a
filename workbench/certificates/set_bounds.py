"""Sets of greedy policies that hold no fixed point, as plain JSON that `workbench.checker` derives
again.

A set is D(o), the actions that are possible in each row o. `GreedyBounds` tells in floats which of
them cannot be greedy at a fixed point; here every such bound becomes a *potential*, a number U(s)
for each place s, with

    U(s) >= r(s) + sum_{s'} p_b(s'|s) U(s')   for every behaviour b of the set,      mu . U <= 0

which shows  sum_s d_b(s) r(s) <= 0  for all of them (`checker.greedy_set_claims` says what r is).
A potential is found by policy iteration, lifted by a small multiple of h, h >= 1 + P_b h, and
written in whole multiples of a unit; bounds on v are given a little room, eta for each step, so
that lifting and rounding do not touch what is shown.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from workbench.certificates.fixed_points import learning_fields, one_step_target
from workbench.core.augment import augment
from workbench.core.errors import NotExact, TooLarge, WorkbenchError
from workbench.core.fields import RATIONALS
from workbench.core.learners import Learner, check_count
from workbench.core.numbers import to_float
from workbench.core.pomdp import POMDP
from workbench.equilibrium.equilibria import MOST_BRANCHED, GreedySearch
from workbench.equilibrium.greedy_cells import DenseTask, Floats
from workbench.equilibrium.learned_values import check_epsilon
from workbench.research.greedy_bounds import (
    Domains,
    GreedyBounds,
    ValueBounds,
    branching_row,
    count_choices,
    value_range,
)
from workbench.results.json import encode

MOST_SETS = 2_000
"""So many sets are bounded unless `sets` says otherwise."""

_LISTED = 64
"""Sets with no more policies than this are listed."""

_ROOM = 1e-6
_LIFT = 1e-12
_SWEEPS = 400
_CHALLENGERS = 3


@dataclass
class _Round:
    """One pass over a set: bounds on v, and what they take out."""

    low: list[int]
    high: list[int]
    lower: list[Any] = field(default_factory=list)
    upper: list[Any] = field(default_factory=list)
    out: list[Any] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        return vars(self)


class _Proofs:
    """Potentials for the sets of one task."""

    def __init__(self, P: POMDP, bounds: GreedyBounds, epsilon: Fraction):
        self.bounds, self.epsilon, self.gamma = bounds, epsilon, P.gamma
        self.places = [int(i) for i in bounds.task.states[bounds.kept]]
        index = {s: i for i, s in enumerate(self.places)}
        row_of = {int(o): k for k, o in enumerate(bounds.task.rows)}
        self.row = [row_of[int(P.omega.o[P.omega.row_ptr[s]])] for s in self.places]
        p, nA = P.p, len(P.A)
        prob, r = p.prob.objects, p.r.objects
        self.R: list[list[Any]] = []
        self.into: list[list[list[tuple[int, Any]]]] = []  # rows that follow, with probabilities
        for s in self.places:
            span = [range(p.row_ptr[s * nA + a], p.row_ptr[s * nA + a + 1]) for a in range(nA)]
            self.R.append([sum((prob[k] * r[k] for k in ks), Fraction(0)) for ks in span])
            self.into.append(
                [
                    [
                        (self.row[index[int(p.s_next[k])]], prob[k])
                        for k in ks
                        if int(p.s_next[k]) in index
                    ]
                    for ks in span
                ]
            )
        self.bottom, self.top = value_range(bounds.task)
        size = max(abs(self.bottom), abs(self.top), float(np.abs(bounds.R).max()))
        self.size = 2.0 ** math.ceil(math.log2(size)) if size > 0 else 1.0
        self.unit = Fraction(self.size) / 2**46
        self.behind = [np.flatnonzero(bounds.W[:, o]) for o in range(bounds.W.shape[1])]

    # ------------------------------------------------------------------ potentials

    def potentials(self, r: Floats, domains: Domains, strict: bool) -> list[list[int] | None]:
        """For each r[k] a potential that shows sum d r <= 0 (< 0), in units. None if none was
        found."""
        if not len(r):
            return []
        b = self.bounds
        U = b.iterate(r, domains) + _LIFT * self.size * b.steps
        whole = np.rint(U / float(self.unit))
        U = whole * float(self.unit)
        slack = (U - r - b.backed_up(U, domains)).min(axis=1)
        total = U @ b.mu
        blur = b.unit * (np.abs(U).max(axis=1) + np.abs(r).max(axis=1))
        sure = (slack > blur) & (total < -blur if strict else total <= -blur)
        return [list(map(int, whole[k])) if sure[k] else None for k in range(len(r))]

    def _backups(self, v: list[int]) -> list[list[Any]]:
        """Exact backups B_a(s, V), for v in units."""
        worth = [x * self.unit for x in v]
        return [
            [
                r + self.gamma * sum((x * worth[o] for o, x in onward), Fraction(0))
                for r, onward in zip(rewards, here, strict=True)
            ]
            for rewards, here in zip(self.R, self.into, strict=True)
        ]

    def _target(self, B: list[Any], a: int) -> Any:
        if self.bounds.task.target.greedy:
            return B[a]
        return (1 - self.epsilon) * B[a] + self.epsilon * sum(B, Fraction(0)) / len(B)

    # ------------------------------------------------------------------ rounds

    def values(self, domains: Domains, eta: float) -> ValueBounds:
        """Bounds on v with room for eta at each step."""
        b = self.bounds
        shares = [b.by_row(x) for x in b.shares(domains)]
        rows = len(domains)
        v = ValueBounds(np.full(rows, self.bottom), np.full(rows, self.top))
        for _ in range(_SWEEPS):
            up, down = b.backups(domains, shares[0], shares[1], v)
            new = ValueBounds(np.maximum(v.low, down - eta), np.minimum(v.high, up + eta))
            moved = max((v.high - new.high).max(), (new.low - v.low).max())
            v = new
            if moved < 1e-3 * eta:
                break
        return v

    def bounded(self, domains: Domains) -> _Round | None:
        """Certified bounds on v, or None if floats are too coarse for them."""
        for eta in (_ROOM, 10 * _ROOM, 100 * _ROOM, 1000 * _ROOM):
            v = self.values(domains, eta * self.size)
            found = self._shown(domains, v)
            if found is not None:
                return found
        return None

    def _shown(self, domains: Domains, v: ValueBounds) -> _Round | None:
        unit = float(self.unit)
        one = _Round(
            [math.floor(x / unit) - 1 for x in v.low], [math.ceil(x / unit) + 1 for x in v.high]
        )
        from_low, from_high = self._backups(one.low), self._backups(one.high)
        asked: list[tuple[int, int, dict[int, Any]]] = []
        ways: dict[tuple[int, int], Any] = {}
        for o, behind in enumerate(self.behind):
            for a in np.flatnonzero(domains[o]).tolist():
                high = one.high[o] * self.unit
                r = {int(s): self._target(from_high[s], a) - high for s in behind}
                if any(x > 0 for x in r.values()):
                    asked.append((o, a, r))
            low = one.low[o] * self.unit
            for a in range(domains.shape[1]):
                r = {int(s): low - self._target(from_low[s], a) for s in behind}
                if all(x <= 0 for x in r.values()):
                    ways[o, a] = None
                    break
                ways[o, a] = r
        found = self.potentials(self._dense([r for _, _, r in asked]), domains, strict=False)
        if any(U is None for U in found):
            return None
        one.upper = [[o, a, U] for (o, a, _), U in zip(asked, found, strict=True)]
        open_ways = [(key, r) for key, r in ways.items() if r is not None]
        shown = dict.fromkeys(key for key, r in ways.items() if r is None)
        tried = self.potentials(self._dense([r for _, r in open_ways]), domains, strict=False)
        for (key, _), U in zip(open_ways, tried, strict=True):
            if U is not None and not any(o == key[0] for o, _ in shown):
                shown[key] = U
        one.lower = sorted([o, a, U] for (o, a), U in shown.items())
        return one if len(one.lower) == len(domains) else None

    def _dense(self, parts: list[dict[int, Any]]) -> Floats:
        r = np.zeros((len(parts), len(self.places)))
        for k, part in enumerate(parts):
            for s, x in part.items():
                r[k, s] = float(x)
        return r

    def narrowed(self, domains: Domains) -> tuple[Domains, list[_Round]]:
        """What is left of a set, and the rounds that show it."""
        domains = domains.copy()
        rounds: list[_Round] = []
        while True:
            one = self.bounded(domains)
            if one is None:
                return domains, rounds
            asked = self._challenges(domains, one)
            found = self.potentials(np.array([r for *_, r in asked]), domains, strict=True)
            for (o, a, better, _), U in zip(asked, found, strict=True):
                if U is not None and domains[o, a]:
                    domains[o, a] = False
                    one.out.append([o, a, better, U])
            if not one.out:
                return domains, rounds
            rounds.append(one)
            if not domains.any(axis=1).all():
                return domains, rounds

    def _challenges(self, domains: Domains, one: _Round) -> list[tuple[int, int, int, Floats]]:
        """(row, action, a better one, r) for those that bounds could refute."""
        b, unit = self.bounds, float(self.unit)
        low, high = (np.array(x) * unit for x in (one.low, one.high))
        found = []
        for o, behind in enumerate(self.behind):
            for a in np.flatnonzero(domains[o]).tolist():
                change = b.K[behind][:, [a]] - b.K[behind]  # [s, other, row]
                lag = b.R[behind][:, [a]] - b.R[behind]
                lag = lag + b.gamma * (np.maximum(change, 0) @ high + np.minimum(change, 0) @ low)
                lag += b.unit * self.size
                best = np.argsort(lag.sum(axis=0))
                hopeful = [c for c in best.tolist() if c != a and lag[:, c].min() < 0]
                for better in hopeful[:_CHALLENGERS]:
                    r = np.zeros(len(self.places))
                    r[behind] = lag[:, better]
                    found.append((o, a, better, r))
        return found


def set_bounds_certificate(
    P: POMDP, memory: str, learner: Learner, *, sets: int = MOST_SETS
) -> dict[str, Any]:
    """A certificate that a learner has exactly these fixed points. Bounds refute sets of greedy
    policies, and the remaining policies are treated one by one.

    Parameters
    ----------
    P : the task, exact; the memory is attached to it.
    learner : `QLearning(...)` or `Sarsa(lam=0, ...)`, with an exact epsilon above 0.
    sets : bound so many sets at most.

    >>> from workbench import QLearning
    >>> P = POMDP.from_functions(
    ...     name="one step",
    ...     A=[0, 1],
    ...     p=lambda s, a: {("end", a): 1},
    ...     omega=lambda s: {"o": 1},
    ...     mu={"s": 1},
    ...     gamma=1,
    ...     terminal={"end"},
    ... )
    >>> set_bounds_certificate(P, "none", QLearning(epsilon=Fraction(1, 2)))["fixed"]
    [[[1], True, '1']]
    """
    check_count("sets", sets)
    target = one_step_target(learner)
    assert hasattr(learner, "epsilon")
    assert hasattr(learner, "gamma")
    epsilon = check_epsilon(learner.epsilon)
    if learner.gamma is not None:
        P = P.with_gamma(learner.gamma)
    P.require_exact()
    if isinstance(epsilon, float):
        raise NotExact(f"exact arithmetic needs an exact epsilon, not {epsilon!r}: use a Fraction")
    E = augment(P, memory)
    task = DenseTask(E, target, to_float(epsilon), MOST_BRANCHED)
    proofs = _Proofs(E, GreedyBounds(task), Fraction(epsilon))
    if not np.isfinite([proofs.bottom, proofs.top]).all():
        raise WorkbenchError(f"{E.name} has no bounds on v: gamma is 1 and rewards come on the way")
    search = GreedySearch(E, learner, target, epsilon, RATIONALS, task.cells, symmetry=False)
    waiting = [np.ones((len(task.rows), task.nA), dtype=bool)]
    nodes: list[dict[str, Any]] = []
    while waiting:
        if len(nodes) >= sets:
            left = sum(map(count_choices, waiting)) / task.cells
            raise TooLarge(
                f"after {sets:,} sets a share of {left:.2g} of the greedy policies of {E.name} is "
                "left; allow more sets or take a smaller memory"
            )
        domains, rounds = proofs.narrowed(waiting.pop())
        node: dict[str, Any] = {"rounds": [one.to_json() for one in rounds]}
        many = count_choices(domains)
        if many == 0:
            node["then"] = "empty"
        elif many <= _LISTED:
            node |= {"then": "listed", "refuted": _decided(search, task, domains)}
        else:
            row = branching_row(task, domains)
            node |= {"then": "divided", "row": row}
            for a in np.flatnonzero(domains[row])[::-1].tolist():
                child = domains.copy()
                child[row] = np.arange(task.nA) == a
                waiting.append(child)
        nodes.append(node)
    return {
        "kind": "fixed-point-bounds",
        **learning_fields(P, memory, E, target, epsilon, task.rows),
        "fixed": [
            [e.policy.actions[task.rows].tolist(), e.strict, str(e.value)] for e in search.found
        ],
        "places": [encode(E.S[s]) for s in proofs.places],
        "unit": str(proofs.unit),
        "sets": nodes,
    }


def _decided(search: GreedySearch, task: DenseTask, domains: Domains) -> list[Any]:
    """The policies of a small set that are refuted, each with a row and a better action."""
    before = len(search.refuted)
    search.decide_block(task, np.array(list(product(*map(np.flatnonzero, domains)))))
    return [[g.tolist(), row, a] for g, row, a in search.refuted[before:]]
