"""A POMDP with a memory is again a POMDP (Appendix A.1).

    S' = S x M x O      O' = M x O      A' = A x W      R' = R
    p'((s',m',o'), r | (s,m,o), (a,w)) = p(s',r|s,a) Gamma(m'|m,w,o,a,r,o') omega(o'|s')
    omega'((m,o) | (s,m,o)) = 1
    mu'(s,m,o) = mu(s) eta(m) omega(o|s)
    (a,w) is allowed at (m,o) where P allows a at o, and the memory w at (m,o)

Only the reachable part is built, states and observations in the order in which a breadth-first walk
from mu' meets them; (s, m, o) is terminal when s is. Inside, a pair (s, o) is an entry `e` of
omega's table and a state of S' is the code `e |M| + m`. Where the memory is a rule on indices
(`Memory.step`) the walk is compiled. Where Gamma is a Python function it is asked once for each
argument that occurs.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench.core.build import ask
from workbench.core.errors import TooLarge, WrongType
from workbench.core.families import attach
from workbench.core.footprint import least_size, most_outcomes, outcomes_by_state, refuse_if_larger
from workbench.core.kernels import read_only
from workbench.core.memory import IndexStep, Memory, MemoryFamily, check_distribution
from workbench.core.numbers import Number, Numbers, frozen
from workbench.core.pomdp import POMDP, Distribution, Emissions, StateSet, Transitions
from workbench.core.rows import own_rows, point_rows, row_places
from workbench.core.space import Bits, Label, Product, Space, Subset
from workbench.core.walk_kernels import expand_states, fill_hash_table
from workbench.text import show

_PIECE = 1 << 12
"""States that are expanded together."""

_MOST_SLOTS = 1 << 24
"""Up to so many codes (64 MB) each has its slot; beyond, codes are hashed."""

_MOST_ASKED = 10_000_000
"""Outcomes of a product whose Gamma is a Python function: more would take minutes."""


@dataclass(frozen=True, eq=False)
class Origin:
    """The sub-environment and the memory that `augment` has joined.

    What is known about the task is known about the product: its best history-based value bounds
    every memoryless policy of <P, memory>, as long as Gamma reads no rewards, because (m, o) is
    then a function of the history and of chance.
    """

    P: POMDP
    memory: Memory


class _Walked(NamedTuple):
    """The reachable product in compressed rows. Each outcome has its state, its outcome of p, its
    entry of omega, and what Gamma gave it (None: 1)."""

    codes: NDArray[np.int64]
    row_ptr: NDArray[np.int64]
    s_next: NDArray[np.int32]
    k: NDArray[np.int32]
    e: NDArray[np.int32]
    written: Numbers | None


class _Joint(Product):
    """A product space whose text leaves out the parts that all labels share, such as a task's only
    observation.

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
    """The augmented actions A' = A x W. Greedy policies break ties by the write first, so they ask
    which part it is."""

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


def augment(P: POMDP, memory: Memory | MemoryFamily | str, most: int | None = None) -> POMDP:
    """The memory-augmented environment <P, memory> as a POMDP.

    Parameters
    ----------
    P : the sub-environment.
    memory : a `Memory`, a family such as `memories.OA(1)`, or its name "OA1".
    most : a product with more outcomes is refused; None: what fits into three quarters of the free
        memory, and at most ten million where Gamma is a Python function.

    >>> from pomdps import recall4
    >>> E = augment(recall4(), "B1")
    >>> E
    POMDP recall4×B1: 11 states (2 terminal), 2 observations, 8 actions, 72 outcomes, gamma 1
    >>> E.S[0], E.O[0], E.A[3]
    (('s*', '0', 'o'), ('0', 'o'), (1, '1'))

    See also: `Memory`, `evaluate`, `improve`, `MemoryPair`.
    """
    memory = attach(memory, P)
    if (size := len(P.S) * len(memory.M) * len(P.O)) > 1 << 62:
        raise TooLarge(f"S x M x O of {P.name} and {memory.name} has {size:.1e} members")
    fits = most_outcomes() if memory.step is not None else min(most_outcomes(), _MOST_ASKED)
    limit = fits if most is None else min(most, most_outcomes())
    refuse_if_larger(P, memory, limit, *least_size(P, memory))
    starts = _start_codes(P, memory)
    try:
        if memory.step is not None:
            walked = _walk_rule(P, memory, memory.step, np.array([*starts], dtype=np.int64), limit)
        else:
            walked = _walk_gamma(P, memory, starts, limit)
        return _product(P, memory, starts, walked)
    except MemoryError:
        pass  # what was built is given back before anything is said
    raise TooLarge(f"memory ran out while {P.name}×{memory.name} was built: take a smaller memory")


def _start_codes(P: POMDP, memory: Memory) -> dict[int, Number]:
    """mu' by code, in the order s, m, o."""
    nM = len(memory.M)
    return {
        e * nM + memory.M.index(m): prob
        for s in P.mu.support.tolist()
        for m, x in memory.eta.items()
        for e in row_places(P.omega.row_ptr, s)
        if (prob := P.mu.prob[s] * x * P.omega.prob[e]) != 0
    }


def _product(P: POMDP, memory: Memory, starts: dict[int, Number], walked: _Walked) -> POMDP:
    codes, nM, nO = walked.codes, len(memory.M), len(P.O)
    entry, m = codes // nM, codes % nM
    o = P.omega.o[entry].astype(np.int64)
    s = own_rows(P.omega.row_ptr)[entry]
    S = Subset(StateMemoryObservation(P.S, memory.M, P.O), (s * nM + m) * nO + o)
    O, o_place = _observed(MemoryAndObservation(memory.M, P.O), m * nO + o)
    A = ActionsAndWrites(P.A, memory.W)
    allowed = None
    if P.allowed is not None or memory.allowed is not None:
        may_act = np.ones((nO, len(P.A)), dtype=bool) if P.allowed is None else P.allowed
        may_write = np.ones((len(O), len(memory.W)), dtype=bool)
        for i in np.unique(o_place[~P.terminal.mask[s]]).tolist():
            writes = memory.writes(*O[i])
            may_write[i] = [w in writes for w in memory.W]
        both = may_act[O.places % nO][:, :, None] & may_write[:, None, :]
        allowed = both.reshape(len(O), len(A))
    prob = P.p.prob.take(walked.k).times(P.omega.prob.take(walked.e))
    if walked.written is not None:
        prob = prob.times(walked.written)
    start = Numbers.of([*starts.values(), 0]).take(np.minimum(np.arange(len(codes)), len(starts)))
    product = POMDP(
        name=f"{P.name}×{memory.name}",
        S=S,
        O=O,
        A=A,
        p=Transitions(
            S, A, frozen(walked.row_ptr), frozen(walked.s_next), P.p.r.take(walked.k), prob
        ),
        omega=Emissions(
            S, O, frozen(np.arange(len(codes) + 1)), frozen(o_place), Numbers.full(len(codes), 1)
        ),
        gamma=P.gamma,
        mu=Distribution(S, start),
        terminal=StateSet(S, P.terminal.mask[s]),
        allowed=allowed,
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


def _walk_rule(
    P: POMDP, memory: Memory, step: IndexStep, starts: NDArray[np.int64], limit: int
) -> _Walked:
    """Explore the product with a memory that is a rule on indices, piece by piece. The rule tells
    where all writes of some states lead, and a compiled kernel appends what is new."""
    nM, each = len(memory.M), len(P.A) * len(memory.W)
    owner = own_rows(P.omega.row_ptr)
    width = outcomes_by_state(P)[owner] * len(memory.W)
    codes, n, first = starts.copy(), len(starts), 0
    # A slot for each code saves half of the time where that takes little memory.
    dense = len(owner) * nM <= _MOST_SLOTS
    table = np.zeros(len(owner) * nM if dense else 0, dtype=np.int32)
    fill_hash_table(table, codes, n if dense else 0, dense)
    rows, outcomes, total = [], [], int(width[starts // nM].sum())
    while first < n:
        last = min(n, first + _PIECE)
        entry, m = np.divmod(codes[first:last], nM)
        new = int(width[entry].sum())
        if dense:
            codes = np.resize(codes, 2 * (n + new)) if n + new > len(codes) else codes
        elif 2 * (n + new) > len(table):  # at least half is left free, which keeps searches short
            table = np.zeros(1 << (4 * (n + new)).bit_length(), dtype=np.int32)
            codes = np.resize(codes, len(table) // 2)
            fill_hash_table(table, codes, n, dense)
        counts = np.empty((last - first) * each, dtype=np.int64)
        found = np.empty((3, new), dtype=np.int32)
        after = step(m, P.omega.o[entry].astype(np.int64))
        met = expand_states(
            table,
            codes,
            n,
            first,
            *read_only(after, P.p.row_ptr, P.p.s_next, P.omega.row_ptr),
            owner,
            nM,
            dense,
            counts,
            found,
        )
        # Outcomes count from when a state is met, not from when it is expanded.
        total += int(width[codes[n:met] // nM].sum())
        refuse_if_larger(P, memory, limit, met, total)
        rows.append(counts)
        outcomes.append(found)
        first, n = last, met
    s_next, k, e = (np.concatenate([x[i] for x in outcomes]) for i in range(3))
    return _Walked(codes[:n].copy(), point_rows(np.concatenate(rows)), s_next, k, e, None)


def _walk_gamma(P: POMDP, memory: Memory, starts: dict[int, Number], limit: int) -> _Walked:
    """The same walk where Gamma is a Python function, state by state."""
    nM, nA, nW = len(memory.M), len(P.A), len(memory.W)
    p_ptr, o_ptr = P.p.row_ptr.tolist(), P.omega.row_ptr.tolist()
    leads_to, o_of = P.p.s_next.tolist(), P.omega.o.tolist()
    owner = own_rows(P.omega.row_ptr).tolist()
    numbering: dict[Number, int] = {}
    r_of = [
        numbering.setdefault(r, len(numbering)) for r in map(P.p.r.__getitem__, range(len(P.p.r)))
    ]
    rewards = list(numbering)
    answers: dict[tuple[int, ...], list[tuple[int, Number]]] = {}

    def asked(key: tuple[int, ...]) -> list[tuple[int, Number]]:
        m, w, o, a, r, o_next = key
        labels = (memory.M[m], memory.W[w], P.O[o], P.A[a], rewards[r], P.O[o_next])

        def where() -> str:
            names = ("m", "w", "o", "a", "r", "o_next")
            told = ", ".join(f"{n}={show(x)}" for n, x in zip(names, labels, strict=True))
            return f"Gamma(. | {told}) of {memory.name}"

        found = check_distribution(ask(where, memory.Gamma, *labels), memory.M, where)
        return [(memory.M.index(m_next), x) for m_next, x in found.items() if x != 0]

    @cache
    def may_write_at(m: int, o: int) -> frozenset[int]:
        return frozenset(memory.W.index(w) for w in memory.writes(memory.M[m], P.O[o]))

    places = {code: i for i, code in enumerate(starts)}
    queue = list(starts)
    counts: list[int] = []
    outcomes: list[tuple[int, int, int]] = []
    written: list[Number] = []
    for code in queue:  # grows while we walk
        e, m = divmod(code, nM)
        s, o = owner[e], o_of[e]
        may_write = may_write_at(m, o)
        for a, w in itertools.product(range(nA), range(nW)):
            before = len(outcomes)
            for k in range(p_ptr[s * nA + a], p_ptr[s * nA + a + 1]) if w in may_write else ():
                for e_next in range(o_ptr[leads_to[k]], o_ptr[leads_to[k] + 1]):
                    key = m, w, o, a, r_of[k], o_of[e_next]
                    if (row := answers.get(key)) is None:
                        row = answers[key] = asked(key)
                    for m_next, x in row:
                        found = e_next * nM + m_next
                        place = places.setdefault(found, len(queue))
                        if place == len(queue):
                            queue.append(found)
                        outcomes.append((place, k, e_next))
                        written.append(x)
            counts.append(len(outcomes) - before)
        refuse_if_larger(P, memory, limit, len(queue), len(outcomes))
    columns = np.array(outcomes, dtype=np.int32).reshape(-1, 3).T
    s_next, taken, seen = np.ascontiguousarray(columns)
    row_ptr = point_rows(np.array(counts, dtype=np.int64))
    codes = np.array(queue, dtype=np.int64)
    return _Walked(codes, row_ptr, s_next, taken, seen, Numbers.of(written))
