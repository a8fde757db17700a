"""How large <P, memory> is at least, before it is built; and which smaller memory surely fits.

A product of memories runs all of its parts beside P, each with writes of its own. A state (s, m_i,
o) that some writes of one part lead to is met in the product as well, whatever the others write;
and where a part is overwritten (m' = w) its last write is free. So with N_i the states of <P, M_i>
that are met after at least one step,

    |S'| >= N_i  prod_{j != i, overwritten} |M_j|        and each has    prod_{j != i} |W_j|

times as many outcomes as in <P, M_i>. The N_i of compiled memories are counted by a walk over P and
one part alone.

A buffer that may keep or push can be filled with anything that is seen in a strongly connected
component C of P: go to the first thing, push it, go to the next while keeping, and in the end go
anywhere in C. With B the entries (o, a) of states of C from which a may stay in C, and k cells,

    |S'| > |entries (s, o) of C|  B^k.

The other way round no product has more outcomes than |M| |W| times those of all (s,
o): a memory that keeps this below the limit fits for certain.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench.core.memories import Family, Memory, parse_memory
from workbench.core.numbers import Number
from workbench.core.pomdp import POMDP
from workbench.core.rows import own_rows, row_places
from workbench.core.walk_kernels import (
    ProductTables,
    discover_states,
    empty_map,
    reachable,
    strong_components,
)

_DENSE_CODES = 1 << 28
"""Up to this many codes the walk looks states up in an array (pages that stay untouched cost
nothing), then in a map."""

_CODE = np.dtype(np.int32)
_SMALL_PART = 8

_MOST_PROPOSALS = 4096
"""Smaller products that are looked at for the one that fits."""


class ProductSize(NamedTuple):
    """A number of states and of outcomes."""

    states: int
    outcomes: int


def start_codes(P: POMDP, memory: Memory) -> dict[int, Number]:
    """mu' by code, in the order s, m, o."""
    nM = len(memory.M)
    found: dict[int, Number] = {}
    for s in P.mu.support.tolist():
        for m, x in memory.eta.items():
            for e in row_places(P.omega.row_ptr, s):
                prob = P.mu.prob[s] * x * P.omega.prob[e]
                if prob != 0:
                    found[e * nM + memory.M.index(m)] = prob
    return found


def compiled_tables(P: POMDP, memory: Memory, room: int) -> tuple[ProductTables, Any]:
    """What the compiled walk reads for a memory with a rule, and where it notes what it has seen:
    an array for all codes where that takes a small part of `room` bytes, else a map."""
    rule, nM = memory.rule, len(memory.M)
    assert rule is not None
    tables = ProductTables(
        P.p.row_ptr,
        P.p.s_next,
        P.omega.row_ptr,
        P.omega.o,
        own_rows(P.omega.row_ptr),
        len(P.A),
        len(memory.W),
        nM,
        rule.overwrite,
        rule.keep_modulus,
        rule.base,
        rule.entry,
        rule.pushes,
    )
    codes = len(P.omega.o) * nM
    dense = codes <= _DENSE_CODES and codes * _CODE.itemsize <= room // _SMALL_PART
    return tables, np.zeros(codes, dtype=_CODE) if dense else empty_map()


def state_outcomes(P: POMDP) -> NDArray[np.int64]:
    """How many (a, s', r, o') follow each state of P."""
    seen = np.concatenate(([0], np.cumsum(np.diff(P.omega.row_ptr)[P.p.s_next])))
    return np.diff(seen[P.p.row_ptr[:: len(P.A)]])


def least_size(P: POMDP, memory: Memory, most: int, room: int) -> ProductSize:
    """A lower bound of the product's size, from its parts alone; a walk over P and one part ends
    where that part has more than `most` outcomes, and has `room` bytes."""
    width = state_outcomes(P)
    owner = own_rows(P.omega.row_ptr)
    found = ProductSize(0, 0)
    for i, part in enumerate(memory.parts):
        if part.rule is None:
            continue
        others = [other for j, other in enumerate(memory.parts) if j != i]
        free = math.prod(len(x.M) for x in others if x.rule is not None and x.rule.overwrite)
        starts = np.array(list(start_codes(P, part)), dtype=np.int64)
        tables, seen = compiled_tables(P, part, room)
        codes, _, _ = discover_states(
            seen, starts, tables, width * len(part.W), np.zeros_like(width), most, room
        )
        # A start may never be met again, and then with the first memory states alone.
        later = owner[codes[len(starts) :] // len(part.M)]
        outcomes = int(width[later].sum()) * len(memory.W)
        found = max(
            found,
            ProductSize(len(later) * free, outcomes * free),
            key=lambda size: size.outcomes,
        )
    return found


def least_buffered_size(P: POMDP, memory: Memory) -> ProductSize:
    """A lower bound of the size of the product with a buffer that may keep or push, from P alone;
    (0, 0) for other memories."""
    rule, nA = memory.rule, len(P.A)
    if rule is None or rule.overwrite or rule.base < 2 or rule.pushes.all():
        return ProductSize(0, 0)
    row_ptr, s_next = P.p.row_ptr, P.p.s_next
    whole = np.ascontiguousarray(row_ptr[::nA])
    count, component = strong_components(whole, s_next)
    met = reachable(whole, s_next, P.mu.support)
    rows = own_rows(row_ptr)
    stays = np.zeros(len(row_ptr) - 1, dtype=bool)
    stays[rows[component[rows // nA] == component[s_next]]] = True
    owner = own_rows(P.omega.row_ptr)
    cells = round(math.log(len(memory.M), rule.base))
    width = state_outcomes(P) * len(memory.W)
    most = ProductSize(0, 0)
    inside = np.bincount(component[owner], minlength=count)
    for c in np.intersect1d(np.flatnonzero(inside), component[met]):
        here = np.flatnonzero(component[owner] == c)
        e, a = np.nonzero(stays.reshape(-1, nA)[owner[here]])
        fills = len(np.unique(rule.entry[P.omega.o[here[e]], a])) ** cells
        size = ProductSize(len(here) * fills, int(width[owner[here]].sum()) * fills)
        most = max(most, size, key=lambda found: found.outcomes)
    return most


def largest_fitting(P: POMDP, memory: Memory, fits: Callable[[int, int], bool]) -> str | None:
    """The name of the product with smaller parts, or without some, that has the most memory states
    of those that surely fit, which `fits` says from their states and writes; None if none does."""
    best, name = 0, None
    for parts in itertools.islice(
        itertools.product(*(_smaller(part, P) for part in memory.parts)), _MOST_PROPOSALS
    ):
        kept = [part for part in parts if part is not None]
        states, writes = (math.prod(len(x) for x in spaces) for spaces in _spaces(kept))
        if kept and best < states and fits(states, writes):
            best, name = states, "*".join(part.name for part in kept)
    return name


def _spaces(parts: list[Memory]) -> tuple[list[Any], list[Any]]:
    return [part.M for part in parts], [part.W for part in parts]


def _smaller(part: Memory, P: POMDP) -> Iterator[Memory | None]:
    """A part, the same family with smaller sizes, and nothing."""
    yield part
    family = parse_memory(part.name) if part.rule is not None else None
    if isinstance(family, Family):
        for k in range(family.k - 1, 0, -1):
            yield Family(family.kind, k).on(P)
    yield None
