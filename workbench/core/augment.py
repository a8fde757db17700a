"""A POMDP with a memory is again a POMDP (Appendix A.1).

    S' = S x M x O      O' = M x O      A' = A x W      R' = R
    p'((s',m',o'), r | (s,m,o), (a,w)) = p(s',r|s,a) Gamma(m'|m,w,o,a,r,o') omega(o'|s')
    omega'((m,o) | (s,m,o)) = 1
    mu'(s,m,o) = mu(s) eta(m) omega(o|s)
    (a,w) is allowed at (m,o) where P allows a at o, and the memory w at (m,o)

Only the reachable part is built, states and observations in the order in which a breadth-first walk
from mu' meets them; (s, m, o) is terminal when s is. Inside, a pair (s, o) is an entry `e` of
omega's table and a state of S' is the code `e |M| + m`. Where the memory is a rule on indices
(`Memory.step`) the walk is compiled; elsewhere it asks Gamma, once for each argument that occurs.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench.core.asked import Asked, Met
from workbench.core.errors import TooLarge, WrongType
from workbench.core.families import attach
from workbench.core.footprint import most_outcomes
from workbench.core.kernels import read_only
from workbench.core.memory import Gamma, IndexStep, Memory, MemoryFamily, outcomes_in
from workbench.core.numbers import Number, Numbers, frozen
from workbench.core.pomdp import POMDP, Distribution, Emissions, StateSet, Transitions
from workbench.core.product_kernels import expand_states, fill_hash_table
from workbench.core.rows import point_rows, row_places
from workbench.core.space import Bits, Label, Product, Space, Subset
from workbench.progress import check_time

_PIECE = 1 << 12
"""States that are expanded together."""

_MOST_SLOTS = 1 << 24
"""Up to so many codes (64 MB) each has its slot, which saves half of the walk. Beyond, codes are
hashed."""

_MOST_ASKED = 10_000_000
"""Outcomes of a product whose Gamma is a Python function: more would take minutes."""


class Walked(NamedTuple):
    """The reachable product of a POMDP and a memory, in compressed rows. A state is an entry (s, o)
    of omega and a memory state. An outcome has its state, its outcome of p and its entry of omega.
    `written` is what Gamma gave it (None: 1)."""

    entry: NDArray[np.int64]
    m: NDArray[np.int64]
    counts: NDArray[np.int64]
    s_next: NDArray[np.int32]
    k: NDArray[np.int32]
    e: NDArray[np.int32]
    written: Numbers | None


@dataclass(frozen=True, eq=False)
class Origin:
    """The sub-environment and the memory that `augment` has joined.

    What is known about the task is known about the product: its best history-based value bounds
    every memoryless policy of <P, memory>, as long as Gamma reads no rewards, because (m, o) is
    then a function of the history and of chance.
    """

    P: POMDP
    memory: Memory


class ActionsAndWrites(Product):
    """The augmented actions A' = A x W. Greedy policies break ties by the write first, so they ask
    which part it is."""

    def __init__(self, A: Space, W: Space):
        between = ":" if isinstance(W, Bits) else " "  # 2:01, but 2 push
        super().__init__(A, W, words=("action", "write"), between=between)


def memory_states(E: POMDP) -> Space:
    """M of an augmented POMDP, whose labels it can write in short."""
    if not isinstance(E.A, ActionsAndWrites) or not isinstance(E.O, Subset):
        raise WrongType(f"{E.name} is no augmented POMDP")
    found: Space = E.O.parent.factors[0]  # type: ignore[attr-defined]
    return found


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
    fits = most_outcomes() if most is None else min(most, most_outcomes())
    if most is None and memory.step is None:
        fits = min(fits, _MOST_ASKED)

    def check_size(states: int, outcomes: int) -> None:
        if outcomes > fits:
            raise TooLarge(
                f"{product_name(P, memory)} has more than {states:,} states and {outcomes:,} "
                f"outcomes; {fits:,} fit into the free memory, or are the limit: take a smaller "
                "memory"
            )

    starts = starts_of(P, memory, memory.M)
    try:
        if memory.step is None:
            return _product(P, memory, starts, walk_gamma(P, memory, memory.M, check_size))
        codes = np.array([e * len(memory.M) + m for e, m in starts], dtype=np.int64)
        return _product(P, memory, starts, _walk_rule(P, memory, memory.step, codes, check_size))
    except MemoryError:
        pass  # what was built is given back before anything is said
    raise TooLarge(
        f"memory ran out while {product_name(P, memory)} was built: take a smaller memory"
    )


def starts_of(P: POMDP, memory: Memory, M: Any) -> dict[tuple[int, int], Number]:
    """mu' by entry and memory state, in the order s, m, o."""
    return {
        (e, M.index(m)): prob
        for s in P.mu.support.tolist()
        for m, x in memory.eta.items()
        for e in row_places(P.omega.row_ptr, s)
        if (prob := P.mu.prob[s] * x * P.omega.prob[e]) != 0
    }


def product_name(P: POMDP, memory: Memory) -> str:
    """The name of a task with a memory: its own where there is none."""
    return P.name if memory.name == "none" else f"{P.name}×{memory.name}"


def _product(
    P: POMDP, memory: Memory, starts: dict[tuple[int, int], Number], walked: Walked
) -> POMDP:
    n, nM, nO = len(walked.entry), len(memory.M), len(P.O)
    o = P.omega.o[walked.entry].astype(np.int64)
    s = P.omega.s[walked.entry]
    triples = Product(P.S, memory.M, P.O, words=("state", "memory", "observation"), between=" / ")
    S = Subset(triples, (s * nM + walked.m) * nO + o)
    pairs = Product(memory.M, P.O, words=("memory", "observation"), between=" / ", alone=1)
    O, o_place = _observed(pairs, walked.m * nO + o)
    A = ActionsAndWrites(P.A, memory.W)
    allowed = None
    if P.allowed is not None or memory.allowed is not None:
        may_act = np.ones((nO, len(P.A)), dtype=bool) if P.allowed is None else P.allowed
        may_write = np.ones((len(O), len(memory.W)), dtype=bool)
        for i in np.unique(o_place[~P.terminal.mask[s]]).tolist():
            may_write[i] = memory.may_write(*O[i])
        both = may_act[O.places % nO][:, :, None] & may_write[:, None, :]
        allowed = both.reshape(len(O), len(A))
    prob = P.p.prob.take(walked.k).times(P.omega.prob.take(walked.e))
    if walked.written is not None:
        prob = prob.times(walked.written)
    row_ptr, r = frozen(point_rows(walked.counts)), P.p.r.take(walked.k)
    start = Numbers.of([*starts.values(), 0]).take(np.minimum(np.arange(n), len(starts)))
    product = POMDP(
        name=product_name(P, memory),
        S=S,
        O=O,
        A=A,
        p=Transitions(S, A, row_ptr, frozen(walked.s_next), r, prob),
        omega=Emissions(S, O, frozen(np.arange(n + 1)), frozen(o_place), Numbers.full(n, 1)),
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
    P: POMDP, memory: Memory, step: IndexStep, starts: NDArray[np.int64], check_size: Any
) -> Walked:
    """Explore the product with a memory that is a rule on indices, piece by piece. The rule tells
    where all writes of some states lead, and a compiled kernel appends what is new."""
    nM, nA, nW = len(memory.M), len(P.A), len(memory.W)
    owner = P.omega.s
    # (a, s', r, o') that follow each entry, times the writes: how much a state adds
    seen = np.concatenate(([0], np.cumsum(np.diff(P.omega.row_ptr)[P.p.s_next])))
    width = np.diff(seen[P.p.row_ptr[::nA]])[owner] * nW
    model = read_only(P.p.row_ptr, P.p.s_next, P.omega.row_ptr)
    is_dense = len(owner) * nM <= _MOST_SLOTS
    table = np.zeros(len(owner) * nM if is_dense else 0, dtype=np.int32)
    codes, n, first = starts, len(starts), 0
    fill_hash_table(table, codes, n if is_dense else 0, is_dense)
    counts, outcomes, total = [], [], int(width[starts // nM].sum())
    while first < n:
        last = min(n, first + _PIECE)
        entry, m = np.divmod(codes[first:last], nM)
        new = int(width[entry].sum())
        if n + new > len(codes):
            codes = np.resize(codes, 2 * (n + new))
        if not is_dense and 2 * (n + new) > len(table):  # half is left free: searches are short
            table = np.zeros(1 << (4 * (n + new)).bit_length(), dtype=np.int32)
            fill_hash_table(table, codes, n, is_dense)
        counts.append(np.empty((last - first) * nA * nW, dtype=np.int64))
        outcomes.append(np.empty((3, new), dtype=np.int32))
        (after,) = read_only(step(m, P.omega.o[entry].astype(np.int64)))
        found = counts[-1], outcomes[-1]
        met = expand_states(table, codes, n, first, after, *model, owner, nM, is_dense, *found)
        # outcomes count from when a state is met, not from when it is expanded
        total += int(width[codes[n:met] // nM].sum())
        check_size(met, total)
        first, n = last, met
    entry, m = np.divmod(codes[:n], nM)
    s_next, k, e = (np.concatenate([x[i] for x in outcomes]) for i in range(3))
    return Walked(entry, m, np.concatenate(counts), s_next, k, e, None)


# ---------------------------------------------------------------------- Gamma in Python


def walk_gamma(
    P: POMDP, memory: Memory, M: Any, check_size: Callable[[int, int], None] = lambda *_: None
) -> Walked:
    """Walk a POMDP with its memory, breadth first, where Gamma is a Python function. It is asked
    once for each argument. `check_size` is told how many states and outcomes there are."""
    nA, nW = len(P.A), len(memory.W)
    p_ptr, o_ptr = P.p.row_ptr.tolist(), P.omega.row_ptr.tolist()
    leads_to, o_of = P.p.s_next.tolist(), P.omega.o.tolist()
    owner = P.omega.s.tolist()
    rewards: dict[Number, int] = {}
    r_of = [rewards.setdefault(P.p.r[k], len(rewards)) for k in range(len(P.p.r))]
    r_label = list(rewards)
    form = "Gamma(. | m={}, w={}, o={}, a={}, r={}, o_next={})"
    Gamma = Asked(memory.Gamma, form, of=f" of {memory.name}")

    @cache
    def asked(m: int, w: int, o: int, a: int, r: int, o_next: int) -> list[tuple[int, Number]]:
        labels = M[m], memory.W[w], P.O[o], P.A[a], r_label[r], P.O[o_next]
        return outcomes_in(Gamma, M, *labels)

    @cache
    def may_write(m: int, o: int) -> list[bool]:
        found: list[bool] = memory.may_write(M[m], P.O[o]).tolist()
        return found

    queue = list(starts_of(P, memory, M))
    places = {state: i for i, state in enumerate(queue)}
    counts: list[int] = []
    outcomes: list[tuple[int, int, int]] = []
    written: list[Number] = []
    for e, m in queue:  # grows while we walk
        check_time()
        s, o = owner[e], o_of[e]
        writable = may_write(m, o)
        for a, w in itertools.product(range(nA), range(nW)):
            before = len(outcomes)
            row = s * nA + a
            for k in range(p_ptr[row], p_ptr[row + 1]) if writable[w] else ():
                for e_next in range(o_ptr[leads_to[k]], o_ptr[leads_to[k] + 1]):
                    for m_next, x in asked(m, w, o, a, r_of[k], o_of[e_next]):
                        place = places.setdefault((e_next, m_next), len(queue))
                        if place == len(queue):
                            queue.append((e_next, m_next))
                        outcomes.append((place, k, e_next))
                        written.append(x)
            counts.append(len(outcomes) - before)
        check_size(len(queue), len(outcomes))
    entry, at = np.array(queue, dtype=np.int64).reshape(-1, 2).T
    columns = np.array(outcomes, dtype=np.int32).reshape(-1, 3).T
    s_next, taken, seen = np.ascontiguousarray(columns)
    return Walked(entry, at, np.array(counts), s_next, taken, seen, Numbers.of(written))


@dataclass(frozen=True, eq=False, repr=False)
class Discovered(MemoryFamily):
    """A memory whose states are discovered from Gamma and eta: see `Memory.discovered`."""

    called: str
    W: tuple[Label, ...]
    update: Gamma
    eta: Mapping[Label, Number]
    limit: int
    advice: str

    @property
    def name(self) -> str:
        return self.called

    def on(self, P: POMDP) -> Memory:
        # what is found stays known, so that `augment` asks for nothing again
        Gamma = cache(self.update)
        M = Met(
            None,
            self.limit,
            (
                f"the memory {self.name} does not close on {P.name}: more than {self.limit:,} "
                "memory states, which is its limit, the last one ",
                f": {self.advice}",
            ),
        )
        memory = Memory(self.name, self.eta, self.W, Gamma, self.eta)
        list(map(M.index, self.eta))
        walk_gamma(P, memory, M)
        return Memory(self.name, M.labels, self.W, Gamma, self.eta)
