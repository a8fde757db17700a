"""Appendix A.4, Proposition A.2 (2) and (3): when buffers of pairs and of observations are
sufficiently expressive.

Let f always push. After H = o_0, a_0, ..., a_{t-1}, o_t the buffer of OA(k) holds the last k pairs
before the present,

    (o_{t-k}, a_{t-k}), ..., (o_{t-1}, a_{t-1})           if t >= k,
    empty, ..., empty, (o_0, a_0), ..., (o_{t-1}, a_{t-1})  if t < k,

that of O(k) and K(k) the observations alone, and the agent sees o_t beside it. So equal buffers
belong to histories that are both long (t >= k) and agree on the last k pairs, or both short, of the
same length, and agree on all pairs. With the same o_t: if the belief depends only on the last k
pairs (with or without o_t), it is the same in the first case by hypothesis and in the second
because the histories are the same. For observations the second case needs the hypothesis, too: two
short histories with the same observations may differ in their actions. The paper's "any history"
includes them.

"The last k observations" may count o_t or not; the buffer and o_t hold k + 1 of them, so both
readings are covered, and if o_t counts, k - 1 cells are enough. Which belief is meant, with mu or
without, does not matter to the argument.
"""

from __future__ import annotations

from collections import deque
from fractions import Fraction
from functools import cache
from typing import Any

import sympy

from pomdps import recall, recall4, recall_variant
from proofs.ledger import Evidence, Proof, claim, machine, proved
from proofs.ledger.cells import k, keeps_the_last, t
from proofs.ledger.inequalities import DecidedInequality, impossible
from proofs.ledger.prose import table_text, text
from workbench import POMDP, is_sufficiently_expressive, reachable_beliefs
from workbench.certificates.values import update_certificate
from workbench.core.space import Label
from workbench.sufficiency.update import verify_f
from workbench.text import show


def pushes(m: Label, o: Label, a: Label) -> str:
    """The memory-update function that always pushes."""
    return "push"


def what_counts(history: tuple[Label, ...], k: int, what: str) -> tuple[Label, ...]:
    """What a belief may depend on: the last k pairs and o_t, or the last k observations. Then o_t
    is "besides" them or "counted" among them."""
    o = history[-1]
    pairs = list(zip(history[:-1:2], history[1::2], strict=True))
    if what == "pairs":
        return (*pairs[-k:], o)
    kept = k if what == "besides" else k - 1
    return (*(pair[0] for pair in pairs[len(pairs) - min(kept, len(pairs)) :]), o)


def depends_only_on(
    P: POMDP, k: int, what: str, any_history: bool = True
) -> tuple[tuple[Label, ...], ...] | None:
    """None if the belief of every history depends only on what counts. Else two histories that show
    the contrary.

    Decided on all histories: they matter only through their belief and their last k + 1 steps, of
    which there are finitely many if the beliefs are.

    Parameters
    ----------
    any_history : if False, nothing is asked of histories that are too short to have all that
        counts.
    """
    graph = reachable_beliefs(P)
    known: dict[Any, tuple[Any, tuple[Label, ...]]] = {}
    queue = deque((node, (node.o,)) for node in graph.start)
    seen = set(queue)
    while queue:
        node, recent = queue.popleft()
        counts = what_counts(recent, k, what)
        full = k if what == "counted" else k + 1
        if any_history or len(counts) >= full:
            b, other = known.setdefault(counts, (node.b, recent))
            if b != node.b:
                return other, recent
        for a in P.A:
            for after in graph.after(node, a):
                longer = (*recent, a, after.o)[-2 * k - 1 :]
                if (after, longer) not in seen:
                    seen.add((after, longer))
                    queue.append((after, longer))
    return None


# ---------------------------------------------------------------------- tasks


def last_actions(k: int) -> POMDP:
    """Nothing to see. The state is the last k actions."""
    return POMDP.from_functions(
        name=f"last {k} actions",
        A=(0, 1),
        p=lambda s, a: {((*s[1:], a), 0): 1},
        omega=lambda s: {"o": 1},
        mu={(None,) * k: 1},
        gamma=Fraction(1, 2),
    )


def last_coins(k: int) -> POMDP:
    """A coin is thrown and seen at each step. The state is the last k + 1 coins."""
    half = Fraction(1, 2)
    return POMDP.from_functions(
        name=f"last {k + 1} coins",
        A=("go",),
        p=lambda s, a: {((*s[1:], x), 0): half for x in (0, 1)},
        omega=lambda s: {s[-1]: 1},
        mu={((None,) * k + (x,)): half for x in (0, 1)},
        gamma=half,
    )


def early_choice() -> POMDP:
    """The first action leads to one of two states that look alike. Then both lead to the same place
    for ever."""
    leads = {"x": {"l": "left", "r": "right"}}
    return POMDP.from_functions(
        name="early choice",
        A=("l", "r"),
        p=lambda s, a: {(leads.get(s, {}).get(a, "z"), 0): 1},
        omega=lambda s: {s if s in ("x", "z") else "y": 1},
        mu={"x": 1},
        gamma=Fraction(1, 2),
    )


# ---------------------------------------------------------------------- the two statements


CELL = k - t - 1
"""The last cell that a history of t < k steps leaves empty."""


@cache
def _lengths(apart: int) -> tuple[DecidedInequality, ...]:
    other = sympy.Symbol("t1")
    return (
        impossible([t <= k - 1, CELL < 0]),
        impossible([other >= t + apart, other - k + CELL < 0]),
    )


def same_lengths(proof: Proof, apart: int = 1) -> list[dict[str, Any]]:
    """Certify that histories of t < k and t1 > t steps leave different buffers. The cell i = k - t
    - 1 is there. It is empty after the first, since it is e_{t-k+i} with t - k + i < 0, and not
    after the second."""
    found: list[dict[str, Any]] = []
    empty = sympy.expand(t - k + CELL)
    proof.step("same", None if empty == -1 else f"the cell holds e_{empty}")
    for decided in _lengths(apart):
        proof.step("same", None if decided.holds else f"equal buffers at {decided.witness}")
        found += decided.certificates
    return found


Case = tuple[POMDP, int]
PAIRS: tuple[Case, ...] = (
    (last_actions(1), 1),
    (last_actions(2), 2),
    (last_actions(3), 3),
    (recall4(), 1),
    (recall(), 2),
    (recall_variant(), 2),
    (last_coins(1), 1),
    (early_choice(), 1),
)
OBSERVATIONS: tuple[Case, ...] = ((last_coins(1), 1), (last_coins(2), 2), (last_coins(3), 3))


def judged_cases(
    cases: tuple[Case, ...],
    kinds: tuple[str, ...],
    readings: tuple[str, ...],
    smaller: int,
    any_history: bool,
    proof: Proof,
) -> tuple[list[list[Any]], list[dict[str, Any]]]:
    """For each case whose hypothesis holds: does always pushing separate the beliefs? Rows and
    certificates."""
    rows: list[list[Any]] = []
    certificates: list[dict[str, Any]] = []
    for P, least in cases:
        for reading in readings:
            k = least + (reading == "counted")  # o_t is one observation more
            broken = depends_only_on(P, k, reading, any_history)
            proof.step("hypothesis", None if broken is None else f"{P.name}: {broken}")
            for kind in kinds:
                memory = f"{kind}{k - smaller}" if k > smaller else "none"
                found = (
                    verify_f(P, memory, pushes)
                    if memory != "none"
                    else is_sufficiently_expressive(P, memory)
                )
                why = getattr(found, "collision", None) or found
                shown = f"{P.name}, k = {k}, {memory}: {why}"
                if not proof.step("separates", None if found else shown):
                    continue
                rows.append([P.name, k, reading, memory])
                if len(certificates) < 8:
                    arguments = getattr(found, "arguments", ())
                    certificates.append(
                        update_certificate(P, memory, dict.fromkeys(arguments, "push"))
                    )
    return rows, certificates


@claim(
    "A4.oak",
    place="App. A.4",
    statement="Proposition A.2 (2): OA(k) is sufficiently expressive if beliefs depend only on "
    "the last k observation-action pairs (and the current observation).",
    verdict="proved",
    steps=(
        machine("buffer", "always pushing leaves the last k pairs, or all of fewer; every k, t"),
        machine("same", "equal buffers: both long, or of the same length; every k, t, t'"),
        machine("hypothesis", "the belief depends only on the last k pairs, in eight tasks"),
        machine("separates", "always pushing keeps the beliefs apart there, on all histories"),
    ),
)
def buffers_of_pairs(
    proof: Proof,
    smaller: int = 0,
    any_history: bool = True,
    cases: tuple[Case, ...] = PAIRS,
    claimed: int = 0,
    apart: int = 1,
) -> Evidence:
    """Judge the claim. `smaller`: cells taken from the buffer. `any_history`: whether the
    hypothesis speaks of short histories as well. `claimed`: pairs more than k that the buffer is
    said to hold. `apart`: how much longer the other history is at least."""
    proof.step("buffer", keeps_the_last("OA", recall(), claimed))
    lengths = same_lengths(proof, apart)
    rows, certificates = judged_cases(cases, ("OA",), ("pairs",), smaller, any_history, proof)
    argument = text(
        "Let f always push. The buffer then holds the last k pairs, with empty cells in front if "
        "there have been fewer. Let H1 and H2 end with the same observation and the same buffer. "
        "An empty cell in it: both have the same length t < k, and the buffer holds all their "
        "pairs, so H1 = H2. None: both have their last k pairs in the buffer, and these are the "
        "same; by hypothesis b(H1) = b(H2). So different beliefs have different buffers, and f "
        "separates.",
        "It does not matter whether the current observation counts as part of the hypothesis, nor "
        "what it says of short histories, nor whether b_0 holds mu. Hypothesis and conclusion, "
        "each decided on all histories:",
        table_text(["task", "k", "depends on", "memory"], rows),
    )
    return proved(
        "who always pushes can compute the belief from the buffer and o, for every k",
        argument,
        [*lengths, *certificates],
    )


buffers_of_pairs.twin("the last k + 1 pairs", guards="buffer", claimed=1)
buffers_of_pairs.twin("histories of one length", guards="same", apart=0)
buffers_of_pairs.twin("one cell less", guards="separates", smaller=1)
buffers_of_pairs.twin(
    "two actions, one of which counts", guards="hypothesis", cases=((recall(), 1),), smaller=-1
)


@claim(
    "A4.ok",
    place="App. A.4",
    statement="Proposition A.2 (3): O(k) and K(k) are sufficiently expressive if beliefs depend "
    "only on the last k observations. This is asked of short histories too, and the current "
    "observation may be counted or not.",
    verdict="proved",
    steps=(
        machine("buffer", "always pushing leaves the last k observations, or all; every k, t"),
        machine("same", "equal buffers: both long, or of the same length; every k, t, t'"),
        machine("hypothesis", "the belief depends only on the last k observations, three tasks"),
        machine("separates", "always pushing keeps the beliefs apart there, on all histories"),
    ),
)
def buffers_of_observations(
    proof: Proof,
    cases: tuple[Case, ...] = OBSERVATIONS,
    smaller: int = 0,
    any_history: bool = True,
    claimed: int = 0,
    apart: int = 1,
) -> Evidence:
    """Judge the claim as for pairs. Both readings of "the last k observations" are looked at."""
    for kind in ("O", "K"):
        proof.step("buffer", keeps_the_last(kind, recall(), claimed))
    lengths = same_lengths(proof, apart)
    readings = ("besides", "counted") if any_history and not smaller else ("besides",)
    rows, certificates = judged_cases(cases, ("O", "K"), readings, smaller, any_history, proof)
    weak = early_choice()
    assert depends_only_on(weak, 2, "besides", any_history=False) is None
    H1, H2 = depends_only_on(weak, 2, "besides") or ((), ())
    argument = text(
        "Let f always push (K(k) can do nothing else). The buffer holds the last k observations "
        "before the current one, with empty cells in front if there have been fewer. Let H1 and H2 "
        "end with the same observation and the same buffer. An empty cell in it: both have the "
        "same length t < k and the same observations. None: the same last k observations before "
        "the current one. In both cases b(H1) = b(H2) by hypothesis, whether the current "
        "observation counts among the k or not.",
        "The hypothesis has to speak of short histories, too, as the paper's 'any history' does: "
        f"the buffer holds no actions. In '{weak.name}' the belief depends on nothing but the last "
        "observation from the second step on, but after one step on the action: "
        f"{', '.join(map(show, H1))} and {', '.join(map(show, H2))} leave the same buffer in O2 "
        "and K2.",
        "If the current observation counts, k - 1 cells are enough. Hypothesis and conclusion, "
        "each decided on all histories:",
        table_text(["task", "k", "o_t", "memory"], rows),
    )
    return proved(
        "who always pushes can compute the belief from the buffer and o, for every k",
        argument,
        [*lengths, *certificates],
    )


buffers_of_observations.twin("the last k + 1 observations", guards="buffer", claimed=1)
buffers_of_observations.twin("histories of one length", guards="same", apart=0)
buffers_of_observations.twin("one cell less", guards="separates", smaller=1)
buffers_of_observations.twin(
    "two coins, one of which counts", guards="hypothesis", cases=((last_coins(2), 1),), smaller=-1
)
buffers_of_observations.twin(
    "said of long histories only",
    guards="separates",
    cases=((early_choice(), 2),),
    any_history=False,
)
