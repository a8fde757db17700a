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
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from workbench.agents.beliefs import BeliefGraph
from workbench.core.augment import augment
from workbench.core.errors import WorkbenchError
from workbench.core.evaluate import Evaluation, evaluate
from workbench.core.numbers import Number
from workbench.core.policy import Policy
from workbench.core.pomdp import POMDP
from workbench.core.space import Label
from workbench.memories import Memory
from workbench.optima.act_by_belief import BeliefActor, BeliefStep
from workbench.text import counted

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
