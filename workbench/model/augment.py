"""A POMDP with a memory is again a POMDP (Appendix A.1).

    S' = S x M x O      O' = M x O      A' = A x W      R' = R
    p'((s',m',o'), r | (s,m,o), (a,w)) = p(s',r|s,a) Gamma(m'|m,w,o,a,r,o') omega(o'|s')
    omega'((m,o) | (s,m,o)) = 1
    mu'(s,m,o) = mu(s) eta(m) omega(o|s)

Only the reachable part is built, states and observations in the order in which a breadth-first walk
from mu' meets them; (s, m, o) is terminal when s is. For the paper's families the walk is compiled
and works on places alone: a pair (s, o) is a row `e` of omega's table, a state of S' is the code `e
|M| + m`. A memory given as a Python function is asked once for each argument that occurs.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.errors import TooLarge, WrongType, ask
from workbench.model.memories import Family, IndexRule, Memory, attach, check_distribution
from workbench.model.numbers import Number, Numbers, frozen
from workbench.model.origin import Origin
from workbench.model.pomdp import POMDP, Distribution, Emissions, StateSet, Transitions
from workbench.model.room import free_bytes
from workbench.model.rows import own_rows, row_places
from workbench.model.space import Bits, Label, Product, Space, Subset
from workbench.model.walk_kernels import (
    ProductTables,
    discover_states,
    empty_map,
    fill_product_rows,
)
from workbench.text import show

_DENSE_CODES = 1 << 28
"""Up to this many codes the walk looks states up in an array (pages that stay untouched cost
nothing), then in a map."""

_MOST_OUTCOMES = 1 << 31
_BYTES_FOR_AN_OUTCOME = 64
"""What an outcome of the product takes while it is built, its share of rows and states included."""


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


def augment(P: POMDP, memory: Memory | Family | str) -> POMDP:
    """The memory-augmented environment <P, memory> as a POMDP.

    Parameters
    ----------
    P : the sub-environment.
    memory : a `Memory`, a family such as `memories.OA(1)`, or its name "OA1".

    >>> from workbench.model.pomdp import POMDP
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
    starts = _starts(P, memory)
    start_codes = np.array(list(starts), dtype=np.int64)
    if memory.rule is not None:
        codes, row_ptr, s_next, k, e = _walk_compiled(P, memory, memory.rule, start_codes)
        written = None
    else:
        codes, row_ptr, s_next, k, e, written = _walk_python(P, memory, start_codes)

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


def _starts(P: POMDP, memory: Memory) -> dict[int, Number]:
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


def _observed(parent: Product, places: NDArray[np.int64]) -> tuple[Subset, NDArray[np.int32]]:
    """O' in order of first appearance, and the place in it of each state's observation."""
    distinct, first, inverse = np.unique(places, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(order), dtype=np.int32)
    rank[order] = np.arange(len(order))
    return Subset(parent, distinct[order]), rank[inverse.ravel()]


def _most_outcomes() -> int:
    """How many outcomes of a product fit into the memory that is left."""
    return min(_MOST_OUTCOMES, free_bytes() // _BYTES_FOR_AN_OUTCOME)


def _too_large(
    P: POMDP, memory: Memory, states: int, outcomes: int, most: int, base: int = 0
) -> TooLarge:
    """A refusal that says what would fit; `base` is by what the memory shrinks if it keeps one
    entry less, 0 if that is not known."""
    room = most * _BYTES_FOR_AN_OUTCOME / 2**30
    fits = len(memory.M) // base if base > 1 else 0
    # outcomes of all (s, o) with one memory state and one write
    seen = np.concatenate(([0], np.cumsum(np.diff(P.omega.row_ptr)[P.p.s_next])))
    once = int(np.diff(seen[P.p.row_ptr[:: len(P.A)]])[own_rows(P.omega.row_ptr)].sum())
    advice = "take a smaller memory"
    if fits > 0 and once * fits * len(memory.W) <= most:
        advice += f": one of {fits:,} memory states, an entry less, fits"
    return TooLarge(
        f"{P.name}×{memory.name} has more than {states:,} states and {outcomes:,} outcomes; "
        f"{most:,} outcomes fit into {room:.1f} GB of free memory: {advice}"
    )


# ---------------------------------------------------------------------- the compiled walk


def _walk_compiled(
    P: POMDP, memory: Memory, rule: IndexRule, starts: NDArray[np.int64]
) -> tuple[Any, ...]:
    """Codes of the states in discovery order; rows; and for each outcome its state, its outcome k
    of p, its row e of omega."""
    nM, nW = len(memory.M), len(memory.W)
    tables = ProductTables(
        P.p.row_ptr,
        P.p.s_next,
        P.omega.row_ptr,
        P.omega.o,
        own_rows(P.omega.row_ptr),
        len(P.A),
        nW,
        nM,
        rule.overwrite,
        rule.keep_modulus,
        rule.base,
        rule.entry,
        rule.pushes,
    )
    if len(P.omega.o) * nM <= _DENSE_CODES:
        seen: Any = np.zeros(len(P.omega.o) * nM, dtype=np.int32)
    else:
        seen = empty_map()
    most = _most_outcomes()
    codes, outcomes = discover_states(seen, starts, tables, most)
    if outcomes > most:
        base = 0 if rule.overwrite else rule.base
        raise _too_large(P, memory, len(codes), outcomes, most, base)
    row_ptr = np.empty(len(codes) * len(P.A) * nW + 1, dtype=np.int64)
    s_next, k, e = (np.empty(outcomes, dtype=np.int32) for _ in range(3))
    fill_product_rows(seen, codes, row_ptr, s_next, k, e, tables)
    return codes, row_ptr, s_next, k, e


# ---------------------------------------------------------------------- the walk with a Python
# Gamma


def _walk_python(P: POMDP, memory: Memory, starts: NDArray[np.int64]) -> tuple[Any, ...]:
    """As `_walk_compiled`, and for each outcome the probability that Gamma gave."""
    nM, nA, nW = len(memory.M), len(P.A), len(memory.W)
    owner = own_rows(P.omega.row_ptr)
    gamma_rows: dict[tuple[Any, ...], list[tuple[int, Number]]] = {}

    def write(m: int, w: int, o: int, a: int, r: Number, o_next: int) -> list[tuple[int, Number]]:
        key = (m, w, o, a, r, o_next)
        if key not in gamma_rows:
            labels = (memory.M[m], memory.W[w], P.O[o], P.A[a], r, P.O[o_next])
            named = ", ".join(
                f"{n}={show(x)}"
                for n, x in zip(("m", "w", "o", "a", "r", "o_next"), labels, strict=True)
            )
            where = f"Gamma(. | {named}) of {memory.name}"
            found: Mapping[Any, Number] = check_distribution(
                ask(where, memory.Gamma, *labels), memory.M, where
            )
            gamma_rows[key] = [(memory.M.index(m_next), x) for m_next, x in found.items() if x != 0]
        return gamma_rows[key]

    most = _most_outcomes()
    codes = starts.tolist()
    places = {code: i for i, code in enumerate(codes)}
    row_ptr, s_next_out, k_out, e_out, prob_out = [0], [], [], [], []
    for code in codes:  # grows while we walk
        e, m = divmod(code, nM)
        s, o = int(owner[e]), int(P.omega.o[e])
        for a in range(nA):
            for w in range(nW):
                for k in row_places(P.p.row_ptr, s * nA + a):
                    s_next, r = int(P.p.s_next[k]), P.p.r[k]
                    for e_next in row_places(P.omega.row_ptr, s_next):
                        for m_next, x in write(m, w, o, a, r, int(P.omega.o[e_next])):
                            found_code = e_next * nM + m_next
                            if found_code not in places:
                                places[found_code] = len(codes)
                                codes.append(found_code)
                            s_next_out.append(places[found_code])
                            k_out.append(k)
                            e_out.append(e_next)
                            prob_out.append(x)
                row_ptr.append(len(k_out))
        if len(k_out) > most:
            raise _too_large(P, memory, len(codes), len(k_out), most)
    s_next_array, k_array, e_array = (
        np.array(x, dtype=np.int32) for x in (s_next_out, k_out, e_out)
    )
    return np.array(codes), np.array(row_ptr), s_next_array, k_array, e_array, Numbers.of(prob_out)
