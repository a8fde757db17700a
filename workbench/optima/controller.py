"""A policy of the whole history as a finite controller, which is an external memory in disguise.

A controller has nodes k, an action (or a memoryless policy) at each, and a node to go to for each
observation that follows:

    k_0 = first(o_0),      a_t ~ act(k_t, o_t),      k_{t+1} = after(k_t, o_{t+1})

Both kinds of policy that `best_history` finds are of this form. Where the reachable beliefs are
finitely many, the nodes are the pairs (o, b). Where they are not, every alpha vector of the lower
bound is the state values of "do a, and on o' go on as the vector alpha_{o'}", or of a memoryless
policy, so the vectors are the nodes (Kaelbling, Littman and Cassandra 1998, policy graphs).

Definition 4.1 holds of it with M = {start} + nodes, one write, and Gamma(m' | m, w, o, a, r, o') =
1 for m' = after(m, o'): the controller is a memory, and following it is a memoryless policy of the
augmented POMDP. So it is evaluated, simulated and compared like any other.

Acting by belief. Every node k has a value v_k(s, o) from each state s in which o is seen: an *alpha
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
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.agents.beliefs import BeliefGraph, belief, first_beliefs, next_beliefs
from workbench.agents.simulate import sample
from workbench.core.augment import augment
from workbench.core.errors import TooLarge, WorkbenchError
from workbench.core.evaluate import Evaluation, evaluate
from workbench.core.numbers import Number, Numbers
from workbench.core.policy import Policy
from workbench.core.pomdp import POMDP, Distribution
from workbench.core.space import Label
from workbench.memories import Memory
from workbench.text import counted, did_you_mean

START = "start"
"""The memory state before the first observation has been used."""

ANYWHERE = 0
"""The node for observations that cannot follow: any will do."""


@dataclass(frozen=True, eq=False, repr=False)
class HistoryPolicy:
    """A policy of the whole history, as a finite controller.

    Attributes
    ----------
    P : the task.
    first : `first[o]`, the node after the first observation, by places; -1 where no episode begins
        with o.
    after : `after[k, o]`, the node after observing o at node k.
    rows : `rows[k]`, the place of the action taken at node k (the first that is allowed, where this
        one is not), or the memoryless policy followed.
    memory : the controller as an external memory; product : the task with it; policy : the
        memoryless policy of the product that follows the controller.
    """

    P: POMDP
    first: NDArray[np.int64]
    after: NDArray[np.int64]
    rows: tuple[int | Policy, ...]

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return f"controller of {counted(len(self), 'node')} for {self.P.name}"

    def start(self, o: Label) -> int:
        """The node after the first observation."""
        k = int(self.first[self.P.O.index(o)])
        if k < 0:
            raise WorkbenchError(f"no episode of {self.P.name} begins with o={self.P.O.text(o)}")
        return k

    def act(self, k: int, o: Label) -> Mapping[Label, Number]:
        """The distribution of the action at a node where o is seen: {a: probability}."""
        row = self.rows[k]
        if isinstance(row, Policy):
            return row.row(o)
        allowed = self.P.actions(o)
        return {self.P.A[row] if self.P.A[row] in allowed else allowed[0]: Fraction(1)}

    def go_on(self, k: int, o_next: Label) -> int:
        """The node after observing `o_next` at a node."""
        return int(self.after[k, self.P.O.index(o_next)])

    @cached_property
    def memory(self) -> Memory:
        def Gamma(
            m: Label, w: Label, o: Label, a: Label, r: Number, o_next: Label
        ) -> dict[Label, Number]:
            k = max(int(self.first[self.P.O.index(o)]), ANYWHERE) if m == START else int(m)
            return {self.go_on(k, o_next): 1}

        return Memory("controller", [START, *range(len(self))], ["-"], Gamma, {START: 1})

    @cached_property
    def product(self) -> POMDP:
        return augment(self.P, self.memory)

    @cached_property
    def policy(self) -> Policy:
        E = self.product
        rows: dict[Label, dict[Label, Number]] = {}
        for m, o in E.O:
            k = max(int(self.first[self.P.O.index(o)]), ANYWHERE) if m == START else int(m)
            rows[m, o] = {(a, "-"): x for a, x in self.act(k, o).items()}
        return Policy.from_mapping(E, rows)

    @cached_property
    def _actor(self) -> BeliefActor:
        return BeliefActor(self)

    @property
    def alphas(self) -> dict[Label, list[dict[Label, Number]]]:
        """Alpha vectors `alphas[o][k]`: {s: value} of node k over the states that show o. They are
        exact where task and controller are small. A state in which the node may never end is left
        out."""
        return self._actor.alphas

    def action_values(self, where: Mapping[Label, Number] | Sequence[Label]) -> dict[Label, Number]:
        """The value of each action at a belief {s: probability}, or after a history o_0, a_0, ...,
        o_t. From the next observation on, the best node of the controller is followed."""
        return self._actor.action_values(self._actor.read(where))

    def action(self, where: Mapping[Label, Number] | Sequence[Label]) -> Label:
        """The best action at a belief {s: probability}, or after a history o_0, a_0, ..., o_t. Of
        several that tie it is the first.

        Acting so at every step is worth at least what the controller is worth.
        """
        values = self.action_values(where)
        return max(values, key=lambda a: values[a])

    def value_at(self, where: Mapping[Label, Number] | Sequence[Label]) -> Number:
        """The value of the best action at a belief or after a history. It is a lower bound on the
        best history-based value there. It is that value where `best_history` is exact and the
        belief can be reached."""
        return max(self.action_values(where).values())

    def simulate(self, seed: int, max_steps: int = 100) -> list[BeliefStep]:
        """An episode of an agent that acts by belief, or its first steps."""
        return self._actor.simulate(seed, max_steps)

    def evaluate(self, exact: bool = False, weights: str = "visits") -> Evaluation:
        """What the controller is worth, by the evaluation of every other policy."""
        return evaluate(self.product, self.policy, exact=exact, weights=weights)


def follow_beliefs(P: POMDP, graph: BeliefGraph, actions: NDArray[np.int64]) -> HistoryPolicy:
    """The controller that takes the action `actions[n]` at the n-th node of a complete graph of
    beliefs."""
    first = np.full(len(P.O), -1)
    for e in graph.starts:
        first[e.o] = e.node
    after = np.full((len(graph), len(P.O)), ANYWHERE)
    for n, by_action in enumerate(graph.edges):
        for e in by_action[int(actions[n])]:
            after[n, e.o] = e.node
    return HistoryPolicy(P, first, after, tuple(int(a) for a in actions))


def follow_memoryless(P: POMDP, pi: Policy) -> HistoryPolicy:
    """A memoryless policy as the controller that it is: one node."""
    nowhere = np.zeros((1, len(P.O)), dtype=np.int64)
    return HistoryPolicy(P, nowhere[0], nowhere, (pi,))


# ---------------------------------------------------------------------- acting by belief


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

    `alphas[o][k]` are the values {s: v_k(s, o)} of node k in the states that show o. A state from
    which the node has no value, because it may never end, is left out.
    """

    def __init__(self, controller: HistoryPolicy):
        self.P = controller.P
        self._tables = _alpha_vectors(controller)

    @property
    def alphas(self) -> dict[Label, list[dict[Label, Number]]]:
        return {
            o: [
                {s: row[i] for s, i in places.items() if row[i] > -np.inf} for row in table.tolist()
            ]
            for o, (places, table) in self._tables.items()
        }

    def value(self, b: Beliefs, o: Label) -> Number:
        """V(b, o), of the best node at the belief b where o is seen."""
        places, table = self._tables[o]
        used = {places[s]: x for s, x in b.items() if x}
        weights = np.array([*used.values()], dtype=table.dtype)
        found: Number = (table[:, [*used]] @ weights).max()
        return found

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
            for o, after in next_beliefs(P, b, a).items():
                # V is homogeneous: weights that are not divided by P(o | b, a) count it in
                total += P.gamma * self.value(after, o)
            found[a] = total
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
        s, weights = sample(P.mu, draw), first_beliefs(P)
        while s not in P.terminal and len(steps) < max_steps:
            o = sample(P.omega(s), draw)
            total = sum(weights[o].values())
            b = {x: float(y / total) for x, y in weights[o].items()}
            values = self.action_values(b)
            a = max(values, key=lambda x: float(values[x]))
            (s_next, r) = sample(P.p(s, a), draw)
            steps.append(BeliefStep(s, o, b, a, r))
            s, weights = s_next, next_beliefs(P, b, a)
        return steps


def _alpha_vectors(
    controller: HistoryPolicy,
) -> dict[Label, tuple[dict[Label, int], NDArray[Any]]]:
    """Evaluate the controller from every node in every state, exactly where that is small.

    For each observation the places of the states that show it, and `[node, place]`: minus infinity
    where the node may never end.
    """
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
    found = {}
    for o in P.O:
        places = {s: i for i, s in enumerate(s for s in P.S if o in P.omega(s))}
        table = np.full((nodes, len(places)), -np.inf, dtype=object if exact else np.float64)
        found[o] = places, table
    for label, value in zip(E.S, v.raw, strict=True):
        s, m, o = label
        if value is not None and s not in P.terminal and not np.isnan(float(v[label])):
            places, table = found[o]
            table[int(m), places[s]] = v[label]
    return found
