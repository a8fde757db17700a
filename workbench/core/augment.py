"""A POMDP with a memory is again a POMDP (Appendix A.1).

    S' = S x M x O      O' = M x O      A' = A x W      R' = R
    p'((s',m',o'), r | (s,m,o), (a,w)) = p(s',r|s,a) Gamma(m'|m,w,o,a,r,o') omega(o'|s')
    omega'((m,o) | (s,m,o)) = 1
    mu'(s,m,o) = mu(s) eta(m) omega(o|s)

Only the reachable part is built, states and observations in the order in which a breadth-first walk
from mu' meets them; (s, m, o) is terminal when s is. For the paper's families the walk is compiled
and works on places alone: a pair (s, o) is a row `e` of omega's table, a state of S' is the code `e
|M| + m`. A memory given as a Python function is asked once for each argument that occurs, and the
walk goes level by level (`gamma_walk`).
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.errors import TooLarge, WrongType
from workbench.core.gamma_walk import GammaWalk, split_levels
from workbench.core.memories import Family, IndexRule, Memory, attach
from workbench.core.numbers import Numbers, frozen, join_numbers
from workbench.core.origin import Origin
from workbench.core.pomdp import POMDP, Distribution, Emissions, StateSet, Transitions
from workbench.core.product_room import ProductRoom
from workbench.core.product_size import (
    ProductSize,
    compiled_tables,
    least_buffered_size,
    least_size,
    start_codes,
)
from workbench.core.rows import own_rows, point_rows
from workbench.core.space import Bits, Label, Product, Space, Subset
from workbench.core.walk_kernels import discover_states, fill_product_rows
from workbench.progress import Waiting

_PIECE = 1 << 20
"""Outcomes of a level that are looked at together."""


class _Joint(Product):
    """A product whose text leaves out what is the same in all labels: the only observation of a
    task, the only write of a memory.

    >>> both = MemoryAndObservation(Space(["0", "1"]), Space(["o"]))
    >>> both.text(("1", "o")), both.legend
    ('1', 'memory')
    """

    words: tuple[str, ...]
    alone: int
    """The factor that is written where none has two labels."""

    @property
    def _between(self) -> str:
        return " / "

    @cached_property
    def _written(self) -> list[int]:
        return [i for i, factor in enumerate(self.factors) if len(factor) > 1] or [self.alone]

    def text(self, label: Label) -> str:
        return self._between.join(self.factors[i].text(label[i]) for i in self._written)

    @property
    def legend(self) -> str:
        legends = [self.factors[i].legend for i in self._written]
        named = [self.words[i] for i in self._written]
        return self._between.join(
            f"{word} ({legend})" if legend else word
            for word, legend in zip(named, legends, strict=True)
        )


class StateMemoryObservation(_Joint):
    """S x M x O, of which S' is the reachable part."""

    words, alone = ("state", "memory", "observation"), 0


class MemoryAndObservation(_Joint):
    """M x O, of which O' is the reachable part."""

    words, alone = ("memory", "observation"), 1


class ActionsAndWrites(_Joint):
    """A' = A x W; greedy policies break ties by the write first, and so have to know which part it
    is."""

    words, alone = ("action", "write"), 0

    @property
    def _between(self) -> str:
        return ":" if isinstance(self.factors[1], Bits) else " "  # 2:01, but 2 push


def memory_states(E: POMDP) -> Space:
    """M of an augmented POMDP, whose labels it can write in short."""
    parent = E.O.parent if isinstance(E.O, Subset) else E.O
    if not isinstance(parent, MemoryAndObservation):
        raise WrongType(f"{E.name} is no augmented POMDP")
    return parent.factors[0]


def augment(P: POMDP, memory: Memory | Family | str, most: int | None = None) -> POMDP:
    """The memory-augmented environment <P, memory> as a POMDP.

    Parameters
    ----------
    P : the sub-environment.
    memory : a `Memory`, a family such as `memories.OA(1)`, or its name "OA1".
    most : a product with more outcomes is refused; None: ten million for a memory that is a Python
        function, or a product of several. One that may not fit into three quarters of the free
        memory is refused in any case.

    >>> from workbench.core.pomdp import POMDP
    >>> P = POMDP.from_functions(
    ...     name="guess",
    ...     A=[0, 1],
    ...     p=lambda s, a: {("end", a): 1},
    ...     omega=lambda s: {"o": 1},
    ...     mu={"s": 1},
    ...     gamma=1,
    ...     terminal={"end"},
    ... )
    >>> E = augment(P, "B1")
    >>> E
    POMDP guess×B1: 3 states (2 terminal), 2 observations, 4 actions, 4 outcomes, gamma 1
    >>> E.S[0], E.O[0], E.A[3]
    (('s', '0', 'o'), ('0', 'o'), (1, '1'))
    """
    if not isinstance(P, POMDP):
        raise WrongType(f"augment needs a POMDP, not {P!r}")
    memory = attach(memory, P)
    nM, nO = len(memory.M), len(P.O)
    if len(P.S) * nM * nO > 1 << 62:
        raise TooLarge(
            f"S x M x O of {P.name} and {memory.name} has {len(P.S) * nM * nO:.1e} members"
        )
    room = ProductRoom(P, memory, most)
    try:
        return _join(P, memory, room)
    except MemoryError:
        pass  # what was built is given back before anything is said
    raise room.exhausted()


def _join(P: POMDP, memory: Memory, room: ProductRoom) -> POMDP:
    nM, nO = len(memory.M), len(P.O)
    starts = start_codes(P, memory)
    first = np.array(list(starts), dtype=np.int64)
    if memory.rule is not None:
        codes, row_ptr, s_next, k, e = _walk_compiled(P, memory, memory.rule, first, room)
        written = None
    else:
        codes, row_ptr, s_next, k, e, written = _walk_python(P, memory, first, room)

    entry, m = codes // nM, codes % nM
    o = P.omega.o[entry].astype(np.int64)
    s = own_rows(P.omega.row_ptr)[entry]
    S = Subset(StateMemoryObservation(P.S, memory.M, P.O), (s * nM + m) * nO + o)
    O, o_place = _observed(MemoryAndObservation(memory.M, P.O), m * nO + o)
    A = ActionsAndWrites(P.A, memory.W)
    prob = P.p.prob.take(k).times(P.omega.prob.take(e))
    if written is not None:
        prob = prob.times(written)
    start = Numbers.of([*starts.values(), 0]).take(np.minimum(np.arange(len(codes)), len(starts)))
    product = POMDP(
        name=f"{P.name}×{memory.name}",
        S=S,
        O=O,
        A=A,
        p=Transitions(S, A, frozen(row_ptr), frozen(s_next), P.p.r.take(k), prob),
        omega=Emissions(
            S, O, frozen(np.arange(len(codes) + 1)), frozen(o_place), Numbers.full(len(codes), 1)
        ),
        gamma=P.gamma,
        mu=Distribution(S, start),
        terminal=StateSet(S, P.terminal.mask[s]),
    )
    object.__setattr__(product, "origin", Origin(P, memory))
    return product


def _observed(parent: Product, places: NDArray[np.int64]) -> tuple[Subset, NDArray[np.int32]]:
    """O' in order of first appearance, and the place in it of each state's observation."""
    distinct, first, inverse = np.unique(places, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(order), dtype=np.int32)
    rank[order] = np.arange(len(order))
    return Subset(parent, distinct[order]), rank[inverse.ravel()]


# ---------------------------------------------------------------------- the compiled walk


def _walk_compiled(
    P: POMDP, memory: Memory, rule: IndexRule, starts: NDArray[np.int64], room: ProductRoom
) -> tuple[Any, ...]:
    """Codes of the states in discovery order; rows; and for each outcome its state, its outcome k
    of p, its row e of omega."""
    nW, base = len(memory.W), 0 if rule.overwrite else rule.base
    least = least_buffered_size(P, memory)
    if not room.holds(least):
        raise room.refuse(least, base)
    tables, seen = compiled_tables(P, memory, room.bytes)
    left = room.bytes - (seen.nbytes if isinstance(seen, np.ndarray) else 0)
    codes, outcomes, spent = discover_states(
        seen, starts, tables, room.width, room.cost, room.most, left
    )
    room.met = ProductSize(len(codes), outcomes)
    if outcomes > room.most or spent > left:
        raise room.refuse(room.met, base)
    row_ptr = np.empty(len(codes) * len(P.A) * nW + 1, dtype=np.int64)
    s_next, k, e = (np.empty(outcomes, dtype=np.int32) for _ in range(3))
    fill_product_rows(seen, codes, row_ptr, s_next, k, e, tables)
    return codes, row_ptr, s_next, k, e


# ---------------------------------------------------------------------- the walk with a Python
# Gamma


def _walk_python(
    P: POMDP, memory: Memory, starts: NDArray[np.int64], room: ProductRoom
) -> tuple[Any, ...]:
    """As `_walk_compiled`, and for each outcome the probability that Gamma gave."""
    if len(memory.parts) > 1:
        least = least_size(P, memory, room.most, room.bytes)
        if not room.holds(least):
            raise room.refuse(least)
    with Waiting(f"product of {P.name} and {memory.name}") as waiting:
        return _asked(P, memory, starts, room, waiting)


def _asked(
    P: POMDP, memory: Memory, starts: NDArray[np.int64], room: ProductRoom, waiting: Waiting
) -> tuple[Any, ...]:
    nM, each = len(memory.M), len(P.A) * len(memory.W)
    owner = own_rows(P.omega.row_ptr)
    width, cost = room.width[owner], room.cost[owner]
    walk = GammaWalk(P, memory)
    places = {code: i for i, code in enumerate(starts.tolist())}
    # Rows count from when a state is met, as in the compiled walk; Gammas left to chance add more.
    met, built = int(width[starts // nM].sum()), 0
    spent = int(cost[starts // nM].sum())
    levels, reached = [], []
    waiting_codes = [starts]
    for level in waiting_codes:  # grows while we walk
        for piece in split_levels(level, max(1, _PIECE // each)):
            found = walk.expand(piece)
            built += len(found.codes)
            distinct, first, inverse = np.unique(
                found.codes, return_index=True, return_inverse=True
            )
            order = np.argsort(first)
            new = [code for code in distinct[order].tolist() if code not in places]
            places.update(zip(new, range(len(places), len(places) + len(new)), strict=True))
            if new:
                waiting_codes.append(np.array(new, dtype=np.int64))
                met += int(width[waiting_codes[-1] // nM].sum())
                spent += int(cost[waiting_codes[-1] // nM].sum())
            room.met = ProductSize(len(places), max(met, built))
            if spent > room.bytes or not room.holds(room.met):
                raise room.refuse(room.met)
            at = np.array([places[code] for code in distinct.tolist()], dtype=np.int32)
            reached.append(at[inverse.ravel()])
            levels.append(found)
            waiting.tell(f"{len(places):,} states met")
    counts, k, e = (np.concatenate([x[i] for x in levels]) for i in (0, 2, 3))
    return (
        np.array(list(places), dtype=np.int64),
        point_rows(counts),
        np.concatenate(reached),
        k.astype(np.int32),
        e.astype(np.int32),
        join_numbers([x.written for x in levels]),
    )
