"""A tree of sets of greedy policies. Rows are decided one after the other, and branches that hold
no fixed point are cut without being walked through.

A node is a set of greedy policies, D(o) in each row o. `GreedyBounds.narrow` takes out the actions
that cannot be greedy; what is left is nothing (the branch is done), few policies (they are listed,
for somebody to look at), or many: then the row that is visited most is decided, one branch for each
of its actions.

    covered = (all greedy policies) - (those in branches that are still open)

so that a search that runs out of its budget can tell how much it knows.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from itertools import product

import numpy as np
from numpy.typing import NDArray

from workbench.equilibrium.greedy_cells import DenseTask
from workbench.research.greedy_bounds import Domains, GreedyBounds

MOST_LISTED_AT_ONCE = 1_024
"""Branches with no more policies than this are listed."""


class GreedyTree:
    """A walk through the tree of greedy policies. `lists` yields the policies that bounds leave.

    Attributes
    ----------
    nodes : how many nodes were looked at so far; open : how many policies lie in branches that were
        not, all when it begins and 0 at the end.
    """

    def __init__(self, task: DenseTask):
        self.task, self.bounds = task, GreedyBounds(task)
        self.waiting = [np.ones((len(task.rows), task.nA), dtype=bool)]
        self.nodes = 0
        self.cells = task.cells

    @property
    def open(self) -> int:
        return sum(map(count_choices, self.waiting))

    def lists(self, most_nodes: int, until: float = math.inf) -> Iterator[NDArray[np.int64]]:
        """Yield the greedy actions `[cell, row]` of small branches. The walk ends after so many
        nodes, or when the clock passes `until`. If nothing stays open, every fixed point is among
        them."""
        while self.waiting and self.nodes < most_nodes and time.monotonic() <= until:
            node = self.waiting.pop()
            self.nodes += 1
            domains = self.bounds.narrow(node)
            if domains is None:
                continue
            if count_choices(domains) <= MOST_LISTED_AT_ONCE:
                yield np.array(list(product(*map(np.flatnonzero, domains))), dtype=np.int64)
                continue
            row = branching_row(self.task, domains)
            for a in np.flatnonzero(domains[row]).tolist():
                child = domains.copy()
                child[row] = np.arange(self.task.nA) == a
                self.waiting.append(child)


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
