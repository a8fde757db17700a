"""A tree of sets of greedy policies. Rows are decided one after the other, and branches that hold
no fixed point are cut without being walked through.

A node is a set of greedy policies, D(o) in each row o. `GreedyBounds.narrow` takes out the actions
that cannot be greedy; what is left is nothing (the branch is done), few policies (they are listed,
for somebody to look at), or many: then the row that is visited most is decided, one branch for each
of its actions. Of actions that write exchangeable memory states one branch stands for all.

    covered = (all greedy policies) - (those in branches that are still open)

so that a search that runs out of its budget can tell how much it knows.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from workbench.core.pomdp import POMDP
from workbench.equilibrium.greedy_cells import DenseTask
from workbench.optima.symmetry import interchangeable
from workbench.research.greedy_bounds import Domains, GreedyBounds

MOST_LISTED_AT_ONCE = 1_024
"""Branches with no more policies than this are listed."""


@dataclass
class _Node:
    domains: Domains
    choice: NDArray[np.int64]
    """What was chosen by branching, by observation, -1 elsewhere: what symmetry looks at."""
    copies: int
    """So many branches it stands for, itself included."""


class GreedyTree:
    """A walk through the tree of greedy policies. `lists` yields the policies that bounds leave.

    Attributes
    ----------
    nodes : how many nodes were looked at so far; open : how many policies lie in branches that were
        not, all when it begins and 0 at the end.
    """

    def __init__(self, P: POMDP, task: DenseTask, symmetry: bool = True):
        self.P, self.task = P, task
        self.bounds = GreedyBounds(task)
        self.exchange = interchangeable(P) if symmetry else None
        whole = np.ones((len(task.rows), task.nA), dtype=bool)
        self.waiting = [_Node(whole, np.full(len(P.O), -1, dtype=np.int64), 1)]
        self.nodes = 0
        self.cells = task.cells

    @property
    def open(self) -> int:
        return sum(node.copies * count_choices(node.domains) for node in self.waiting)

    def lists(self, most_nodes: int, until: float = math.inf) -> Iterator[NDArray[np.int64]]:
        """Yield the greedy actions `[cell, row]` of small branches. The walk ends after so many
        nodes, or when the clock passes `until`. If nothing stays open, every fixed point, up to
        symmetry, is among them."""
        while self.waiting and self.nodes < most_nodes and time.monotonic() <= until:
            node = self.waiting.pop()
            self.nodes += 1
            domains = self.bounds.narrow(node.domains)
            if domains is None:
                continue
            if count_choices(domains) <= MOST_LISTED_AT_ONCE:
                yield np.array(list(product(*map(np.flatnonzero, domains))), dtype=np.int64)
                continue
            self.waiting += self._branches(domains, node)

    def _branches(self, domains: Domains, node: _Node) -> list[_Node]:
        row = branching_row(self.task, domains)
        o = int(self.task.rows[row])
        possible = np.flatnonzero(domains[row])
        copies = dict.fromkeys(possible.tolist(), 1)
        if self.exchange is not None:
            copies = self._stand_ins(possible, node.choice, o)
        found = []
        for a, many in copies.items():
            child, choice = domains.copy(), node.choice.copy()
            child[row] = np.arange(self.task.nA) == a
            choice[o] = a
            found.append(_Node(child, choice, node.copies * many))
        return found

    def _stand_ins(
        self, possible: NDArray[np.int64], choice: NDArray[np.int64], o: int
    ) -> dict[int, int]:
        """For each action that is tried, how many of the possible ones it stands for."""
        assert self.exchange is not None
        tried = self.exchange.worth_trying(choice, o)
        w_of, group = self.exchange.w_of, self.exchange.group
        W = int(w_of.max()) + 1
        found: dict[int, int] = {}
        for a in possible.tolist():
            stand_in = a
            if not tried[a]:  # the same action, writing the member of the group that is tried
                stand_in = next(
                    b
                    for b in range(a - a % W, a - a % W + W)
                    if tried[b]
                    and group[w_of[b]] == group[w_of[a]]
                    and w_of[b] != w_of[a]
                    and not self._is_mentioned(int(w_of[b]), choice, o)
                )
            found[stand_in] = found.get(stand_in, 0) + 1
        return found

    def _is_mentioned(self, m: int, choice: NDArray[np.int64], o: int) -> bool:
        assert self.exchange is not None
        said = choice >= 0
        written = self.exchange.w_of[choice[said]]
        return bool(
            m == self.exchange.m_of[o]
            or (self.exchange.m_of[said] == m).any()
            or (written == m).any()
        )


def branching_row(task: DenseTask, domains: Domains) -> int:
    """The next row to decide. Of those with several actions it is the one visited most under the
    behaviour that takes what is left."""
    b = domains / domains.sum(axis=1, keepdims=True)
    b = (1 - task.epsilon) * b + task.epsilon / task.nA
    _, total, _ = task.shares(b[None])
    return int(np.where(domains.sum(axis=1) > 1, total[0], -1.0).argmax())


def count_choices(domains: Domains) -> int:
    """How many greedy policies there are with these actions."""
    return math.prod(domains.sum(axis=1).tolist())
