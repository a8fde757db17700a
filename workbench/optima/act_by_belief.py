"""Acting by belief: what each action is worth where an agent believes b (Kaelbling, Littman and
Cassandra 1998).

Every node k of a controller has a value v_k(s, o) from each state s in which o is seen: an *alpha
vector*, and V(b, o) = max_k sum_s b(s) v_k(s, o) is what the best node is worth. One step ahead,

    q(b, a) = R(b,a) + gamma sum_o P(o, goes on | b,a) V(b_{a,o}, o),

and the action with the largest q(b, a) is worth at least V(b, o). So an agent that looks one step
ahead at every belief does at least as well as the controller that it looks at.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from workbench.agents.beliefs import belief
from workbench.agents.simulate import sample
from workbench.core.augment import augment
from workbench.core.errors import TooLarge, WorkbenchError
from workbench.core.evaluate import evaluate
from workbench.core.numbers import Number, Numbers
from workbench.core.policy import Policy
from workbench.core.pomdp import POMDP, Distribution
from workbench.core.space import Label
from workbench.memories import Memory
from workbench.text import did_you_mean

if TYPE_CHECKING:
    from workbench.optima.controller import HistoryPolicy

MOST_PAIRS, MOST_EXACT_PAIRS = 200_000, 300
"""Pairs of a state and a node up to which alpha vectors are computed, and computed exactly: some
seconds."""

Beliefs = Mapping[Label, Number]


@dataclass(frozen=True)
class BeliefStep:
    """One time step of an agent that acts by its belief. It holds the hidden state, what the agent
    sees, believes and does, and the reward."""

    s: Label
    o: Label
    belief: dict[Label, float]
    a: Label
    r: Number


class BeliefActor:
    """What actions are worth at a belief, by the alpha vectors of a controller.

    Attributes
    ----------
    alphas : `alphas[o][k]`, the values {s: v_k(s, o)} of node k in the states that show o. A state
        from which the node has no value, because it may never end, is left out.
    """

    def __init__(self, controller: HistoryPolicy):
        self.P = controller.P
        self.alphas, self.exact = _alpha_vectors(controller)
        self._floats = (
            {} if self.exact else {o: _table(self.P, o, x) for o, x in self.alphas.items()}
        )

    def value(self, b: Beliefs, o: Label) -> Number:
        """V(b, o), of the best node at the belief b where o is seen."""
        if not self.exact:
            places, table = self._floats[o]
            used = {s: float(x) for s, x in b.items() if x}
            worth = table[:, [places[s] for s in used]] @ np.array([*used.values()])
            return float(np.max(worth[~np.isnan(worth)], initial=-np.inf))
        return max(
            (
                sum((x * alpha[s] for s, x in b.items() if x), Fraction(0))
                for alpha in self.alphas[o]
                if all(s in alpha for s, x in b.items() if x)
            ),
            default=-np.inf,
        )

    def action_values(self, b: Beliefs) -> dict[Label, Number]:
        """q(b, a) of each action."""
        P = self.P
        found: dict[Label, Number] = {}
        for a in P.A:
            total: Number = Fraction(0)
            moves = [(x, P.p(s, a)) for s, x in b.items() if x]
            if not all(move for _, move in moves):
                continue  # it is not allowed where these states are
            for x, move in moves:
                for (_, r), prob in move.items():
                    total += x * prob * r
            for o, after in self.after(b, a).items():
                # V is homogeneous: weights that are not divided by P(o | b, a) count it in
                total += P.gamma * self.value(after, o)
            found[a] = total
        return found

    def after(self, b: Beliefs, a: Label) -> dict[Label, dict[Label, Number]]:
        """P(o, s' | b, a) by observation, over the states in which the episode goes on."""
        P, found = self.P, dict[Label, dict[Label, Number]]()
        for s, x in b.items():
            for (s_next, _), prob in P.p(s, a).items():
                if s_next not in P.terminal and x:
                    for o, y in P.omega(s_next).items():
                        row = found.setdefault(o, {})
                        row[s_next] = row.get(s_next, Fraction(0)) + x * prob * y
        return found

    def read(self, where: Beliefs | Sequence[Label]) -> Beliefs:
        """Check a given belief, or compute the belief after a given history o_0, a_0, ..., o_t."""
        P = self.P
        if not isinstance(where, Mapping):
            return belief(P, where)
        for s, x in where.items():
            if s not in P.S:
                raise WorkbenchError(
                    f"{P.name} has no state {s!r}{did_you_mean(str(s), map(str, P.S))}"
                )
            if s in P.terminal or not 0 <= x <= 1:
                why = "it is terminal" if s in P.terminal else "a probability is from 0 to 1"
                raise WorkbenchError(f"a belief cannot give {x} to s={P.S.text(s)}: {why}")
        if abs(float(sum(where.values())) - 1) > 1e-9:
            raise WorkbenchError(f"the belief sums to {sum(where.values())}, not to 1")
        return where

    def simulate(self, seed: int, max_steps: int) -> list[BeliefStep]:
        """One episode, or its first steps, of an agent that looks one step ahead."""
        P, draw, steps = self.P, random.Random(seed), list[BeliefStep]()
        s, weights = sample(P.mu, draw), dict[Label, Any]()
        for start, x in P.mu.items():
            if start not in P.terminal:
                for o, y in P.omega(start).items():
                    weights.setdefault(o, {})[start] = float(x * y)
        while s not in P.terminal and len(steps) < max_steps:
            o = sample(P.omega(s), draw)
            total = sum(weights[o].values())
            b = {x: y / total for x, y in weights[o].items()}
            values = self.action_values(b)
            a = max(values, key=lambda x: float(values[x]))
            (s_next, r) = sample(P.p(s, a), draw)
            steps.append(BeliefStep(s, o, b, a, r))
            s, weights = s_next, self.after(b, a)
        return steps


def _table(
    P: POMDP, o: Label, alphas: list[dict[Label, Number]]
) -> tuple[dict[Label, int], NDArray[np.float64]]:
    """Alpha vectors as rows of an array, NaN where they have no value, and the columns by state."""
    states = [s for s in P.S if o in P.omega(s)]
    rows = [[float(alpha.get(s, np.nan)) for s in states] for alpha in alphas]
    return {s: i for i, s in enumerate(states)}, np.array(rows)


def _alpha_vectors(
    controller: HistoryPolicy,
) -> tuple[dict[Label, list[dict[Label, Number]]], bool]:
    """Evaluate the controller from every node in every state, and say whether that is exact."""
    P, nodes = controller.P, len(controller)
    if nodes * len(P.S) > MOST_PAIRS:
        raise TooLarge(
            f"the controller of {P.name} has {nodes:,} nodes, times {len(P.S):,} states: alpha "
            f"vectors are computed up to {MOST_PAIRS:,} pairs"
        )

    def Gamma(m: Label, w: Label, o: Label, a: Label, r: Number, o_next: Label) -> dict[Label, int]:
        return {controller.go_on(int(m), o_next): 1}

    anywhere: dict[Label, Number] = dict.fromkeys(range(nodes), Fraction(1, nodes))
    memory = Memory("nodes", range(nodes), ["-"], Gamma, anywhere)
    goes_on = [int(not ended) for ended in P.terminal.mask]
    mu = Numbers.of([Fraction(x, sum(goes_on)) for x in goes_on])
    E = augment(replace(P, mu=Distribution(P.S, mu)), memory)
    rows: dict[Label, dict[Label, Number]] = {}
    for m, o in E.O:
        rows[m, o] = {(a, "-"): x for a, x in controller.act(int(m), o).items()}
    pi = Policy.from_mapping(E, rows)
    exact = E.is_exact and pi.is_exact and len(E.S) <= MOST_EXACT_PAIRS
    v = evaluate(E, pi, exact=exact).v
    found: dict[Label, list[dict[Label, Number]]] = {o: [{} for _ in range(nodes)] for o in P.O}
    for label, value in zip(E.S, v.raw, strict=True):
        s, m, o = label
        if value is not None and s not in P.terminal and not np.isnan(float(v[label])):
            found[o][int(m)][s] = v[label]
    return found, exact
