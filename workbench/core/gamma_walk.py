"""The walk over <P, memory> where Gamma is a Python function, level by level on arrays of places.

The states of one distance from mu' are expanded together: their outcomes (a, w, k, e') are laid out
in the order of a breadth-first queue, Gamma is asked for the arguments among them that were not
asked before, and what is new is appended in the order of first appearance. A product of memories is
asked part by part (m = (m_1, ..., m_n) is a number in mixed radix), because its parts together have
far fewer arguments than the product; parts with an `IndexRule` are not asked at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench.core.errors import ask
from workbench.core.memories import Memory, check_distribution
from workbench.core.numbers import Number, Numbers
from workbench.core.pomdp import POMDP
from workbench.core.rows import own_rows, pick_rows, point_rows
from workbench.text import show

Places = NDArray[np.int64]


class Level(NamedTuple):
    """The states of one distance from mu': how many outcomes each of their rows has; for each
    outcome its code, its place in p, its entry of omega and its share of Gamma."""

    counts: Places
    codes: Places
    k: Places
    e: Places
    written: Numbers


class GammaWalk:
    """What the walk reads: the outcomes of each (e, a), and the parts of the memory."""

    def __init__(self, P: POMDP, memory: Memory):
        self.P, self.nA, self.nW, self.nM = P, len(P.A), len(memory.W), len(memory.M)
        owner = own_rows(P.omega.row_ptr)
        rows = (owner[:, None] * self.nA + np.arange(self.nA)).ravel()  # (e, a) as rows of p
        of_row, k = pick_rows(P.p.row_ptr, rows)
        of_k, self.e_next = pick_rows(P.omega.row_ptr, P.p.s_next[k].astype(np.int64))
        self.row_ptr = of_k[of_row]
        self.k = k[own_rows(of_k)]
        self.event, self.events = self._events()
        self.parts = [_Part(self, part) for part in reversed(memory.parts)]

    def _events(self) -> tuple[Places, list[tuple[Any, ...]]]:
        """For each outcome the place of its (o, a, r, o'), and those as labels."""
        P, row = self.P, own_rows(self.row_ptr)
        rewards: dict[Number, int] = {}
        paid = (P.p.r[k] for k in range(len(P.p.r)))
        r = np.array([rewards.setdefault(x, len(rewards)) for x in paid], dtype=np.int64)
        o, a, o_next = P.omega.o[row // self.nA], row % self.nA, P.omega.o[self.e_next]
        columns = np.stack([o, a, r[self.k], o_next], axis=1).astype(np.int64)
        distinct, event = np.unique(columns, axis=0, return_inverse=True)
        shown = list(rewards)
        labels = [(P.O[o], P.A[a], shown[r], P.O[z]) for o, a, r, z in distinct.tolist()]
        self.o, self.a = distinct[:, 0], distinct[:, 1]
        return event.ravel(), labels

    def expand(self, codes: Places) -> Level:
        """All outcomes of some states."""
        e, m = codes // self.nM, codes % self.nM
        size = len(codes), self.nA, self.nW
        rows = np.broadcast_to((e[:, None] * self.nA + np.arange(self.nA))[:, :, None], size)
        row_ptr, places = pick_rows(self.row_ptr, rows.ravel())
        row = own_rows(row_ptr)
        m, w = m[row // (self.nA * self.nW)], row % self.nW
        event, written, m_next, scale = self.event[places], None, np.zeros(len(row), np.int64), 1
        for part in self.parts:  # the last one first
            m, m_part = np.divmod(m, part.nM)
            w, w_part = np.divmod(w, part.nW)
            counts, found, share = part.after(m_part, w_part, event)
            if counts is not None:  # left to chance: each outcome becomes several
                again = np.repeat(np.arange(len(row)), counts)
                row, places, event, m, w, m_next = (
                    x[again] for x in (row, places, event, m, w, m_next)
                )
                written = None if written is None else written.take(again)
            if share is not None:
                written = share if written is None else written.times(share)
            m_next += scale * found
            scale *= part.nM
        entries = np.bincount(row, minlength=len(row_ptr) - 1)
        return Level(
            entries,
            self.e_next[places] * self.nM + m_next,
            self.k[places],
            self.e_next[places],
            Numbers.full(len(row), 1) if written is None else written,
        )


class _Part:
    """One memory of the product, asked once for each argument that occurs."""

    def __init__(self, walk: GammaWalk, memory: Memory):
        self.walk, self.memory = walk, memory
        self.nM, self.nW = len(memory.M), len(memory.W)
        self._rows: dict[int, int] = {}
        self._m_next: list[int] = []
        self._share: list[Number] = []
        self._counts: list[int] = []
        self._certain = True
        """Whether all answers so far are a single m'."""

    def after(
        self, m: Places, w: Places, event: Places
    ) -> tuple[Places | None, Places, Numbers | None]:
        """How many m' follow each argument (None if one each), those, and their probabilities
        (None if certain)."""
        rule = self.memory.rule
        if rule is not None:
            if rule.overwrite:
                return None, w, None
            entry = rule.entry[self.walk.o[event], self.walk.a[event]]
            pushed = (m % rule.keep_modulus) * rule.base + entry
            return None, np.where(rule.pushes[w], pushed, m), None
        events = len(self.walk.events)
        keys, inverse = np.unique((m * self.nW + w) * events + event, return_inverse=True)
        rows = np.array([self._row(key) for key in keys.tolist()], dtype=np.int64)[inverse.ravel()]
        m_next = np.array(self._m_next, dtype=np.int64)
        if self._certain:
            return None, m_next[rows], None
        row_ptr, places = pick_rows(point_rows(np.array(self._counts, dtype=np.int64)), rows)
        return np.diff(row_ptr), m_next[places], Numbers.of(self._share).take(places)

    def _row(self, key: int) -> int:
        if key not in self._rows:
            rest, event = divmod(key, len(self.walk.events))
            m, w = divmod(rest, self.nW)
            found = self._ask(m, w, event)
            self._rows[key] = len(self._counts)
            self._counts.append(len(found))
            self._m_next += found
            self._share += found.values()
            self._certain &= list(found.values()) == [1]
        return self._rows[key]

    def _ask(self, m: int, w: int, event: int) -> dict[int, Number]:
        memory = self.memory
        labels = (memory.M[m], memory.W[w], *self.walk.events[event])
        named = ", ".join(
            f"{n}={show(x)}"
            for n, x in zip(("m", "w", "o", "a", "r", "o_next"), labels, strict=True)
        )
        where = f"Gamma(. | {named}) of {memory.name}"
        found: Mapping[Any, Number] = check_distribution(
            ask(where, memory.Gamma, *labels), memory.M, where
        )
        return {memory.M.index(m_next): x for m_next, x in found.items() if x != 0}


def split_levels(codes: Places, longest: int) -> Iterator[Places]:
    """A level in pieces, so that their outcomes fit into a bounded room."""
    for first in range(0, len(codes), longest):
        yield codes[first : first + longest]
