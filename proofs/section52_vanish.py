"""Section 5.2: on the variant of recall the problem of OA1 vanishes with every larger memory.

With a step of 1/50, from uniform, K = 2^k:

    OA2, OA3      greedy is one policy at all x pi_u + (1-x) pi, 0 < x <= 1
    OA(k), k > 3  an episode pushes at most three times: OA3 behind empty cells
    B(k), k <= 16 greedy is g0 at the uniform policy, g1 ever after (as in S52.fig-variant)
    B(k), k >= 17 greedy is g0, then g1' once, and g2 ever after

The last two differ in what the last memory state does at the second iterate: <1, 0> leads <0, last>
there by a multiple of 111,573 - K. g1' takes <0, last> in it, and from then on 0 prefers to write
the last but one, where nothing has happened yet. So the memory states are in four classes: 0, the
last, the last but one ("next") and the rest, K - 3 of them, which no greedy policy writes.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import cache
from typing import Any

import sympy
from sympy import Interval, Rational

from pomdps import recall_variant
from proofs.appendix_b_oa1 import variant
from proofs.appendix_c_setting import lumped_memory, lumped_uniform, mixed_rows, policy_rows
from proofs.ledger import Evidence, Proof, claim, machine, proved
from proofs.ledger.cells import drops_nothing
from proofs.ledger.greedy_region import Region, actions_taken, stays_greedy
from proofs.ledger.prose import table_text, text
from workbench import POMDP, Memory, Policy, augment, evaluate, uniform
from workbench.certificates.loop import certify

x, K = sympy.symbols("x K")
ALONG = {x: Interval.Lopen(0, 1)}
FEW, MANY = Interval(2, 2**16), Interval(2**17, sympy.oo)
"""The numbers of memory states up to k = 16 and from k = 17 on."""

CLASSES = ("0", "rest", "next", "last")


def in_four_classes() -> POMDP:
    """The variant with B(k), its memory states in four classes."""
    return augment(
        variant(), Memory("B in four", CLASSES, CLASSES, lambda m, w, *_: {w: 1}, {"0": 1})
    )


def uniform_in_four(E: POMDP, size: Any = K) -> Policy:
    """The uniform policy of B(k): each class is written as often as its members together."""
    members = {"0": 1, "rest": size - 3, "next": 1, "last": 1}
    half = Fraction(1, 2 * size) if isinstance(size, int) else 1 / (2 * size)
    row = {(a, w): members[w] * half for a, w in E.A}
    return Policy.from_mapping(E, dict.fromkeys(E.O, row))


def policy_of(E: POMDP, *actions: tuple[int, str]) -> Policy:
    """The deterministic policy with these actions, row by row."""
    return Policy.deterministic(E, dict(zip(E.O, actions, strict=True)))


def phases(E: POMDP) -> tuple[Policy, Policy, Policy]:
    """g0, g1', g2: what is greedy at the uniform policy, at the next iterate, and ever after."""
    return (
        policy_of(E, (0, "last"), (1, "last"), (1, "last"), (1, "last")),
        policy_of(E, (0, "last"), (1, "0"), (1, "0"), (0, "last")),
        policy_of(E, (0, "next"), (1, "0"), (1, "0"), (1, "0")),
    )


def first_iterates(E: POMDP, start: Policy) -> tuple[Policy, Policy, Policy]:
    """The uniform policy and the two that follow it."""
    g0, g1, _ = phases(E)
    kept = Fraction(49, 50)
    one = mixed_rows(E, policy_rows(start), g0, kept)
    return start, one, mixed_rows(E, policy_rows(one), g1, kept)


@cache
def many_bits(where: Any = MANY) -> Region:
    """Whether the loop takes the three phases with every B(k), K in an interval.

    With a constant step below 1 no iterate is the limit itself, where writes tie.
    """
    E = in_four_classes()
    *early, third = first_iterates(E, uniform_in_four(E))
    region = Region()
    box = {K: where, **ALONG}
    for pi, goal in zip(early, phases(E), strict=False):
        if region.holds:
            region = _both(region, stays_greedy(E, evaluate(E, pi), actions_taken(E, goal), box))
    last = phases(E)[2]
    if region.holds:
        along = evaluate(E, mixed_rows(E, policy_rows(third), last, x))
        region = _both(region, stays_greedy(E, along, actions_taken(E, last), box))
    return region


@cache
def few_bits(where: Any = FEW) -> Region:
    """Whether the loop takes two phases with every B(k), K in an interval, three classes."""
    E = augment(variant(), lumped_memory())
    rows = list(E.O)
    g0 = Policy.deterministic(E, dict(zip(rows, [(0, "last"), *[(1, "last")] * 2], strict=True)))
    g1 = Policy.deterministic(E, dict(zip(rows, [(0, "last"), *[(1, "0")] * 2], strict=True)))
    start = lumped_uniform(E, K)
    box, about = {K: where, **ALONG}, (variant(), "B(k)")
    region = stays_greedy(
        E, evaluate(E, Policy.from_mapping(E, start)), actions_taken(E, g0), box, about=about
    )
    if region.holds:
        after = policy_rows(mixed_rows(E, start, g0, Rational(49, 50)))
        along = evaluate(E, mixed_rows(E, after, g1, x))
        region = _both(region, stays_greedy(E, along, actions_taken(E, g1), box, about=about))
    if region.holds:
        end = evaluate(E, g1, exact=True)
        seen = [o for o in E.O if end.reached[o]]
        region = _both(
            region, stays_greedy(E, end, actions_taken(E, g1), box, rows=seen, about=about)
        )
    return region


def _both(one: Region, other: Region) -> Region:
    return Region(
        other.failure,
        [*one.lines, *other.lines],
        [*one.polynomials, *other.polynomials],
        [*one.certificates, *other.certificates],
    )


@cache
def classes_differ(named: int = -2) -> str | None:
    """Where the q-values of the first four iterates of B3 and B4 are not those of the four classes.
    `named`: the place of the memory state that is called the last but one."""
    E, step = in_four_classes(), Fraction(1, 50)
    for k in (3, 4):
        size = 2**k
        first = first_iterates(E, uniform_in_four(E, size))
        lumped = (*first, first[2].toward(phases(E)[2], step))
        F = augment(variant(), f"B{k}")
        words = [m for m, _ in F.O]
        name = dict.fromkeys(words, "rest") | dict(
            zip((words[0], words[named], words[-1]), ("0", "next", "last"), strict=True)
        )
        back = {"0": words[0], "next": words[-2], "last": words[-1]}
        g0, g1, g2 = (
            Policy.deterministic(
                F,
                {
                    (m, "o"): (a, back[w])
                    for m in words
                    for a, w in [next(iter(pi.row((name[m], "o"))))]
                },
            )
            for pi in phases(E)
        )
        real = [uniform(F)]
        for g in (g0, g1, g2):
            real.append(real[-1].toward(g, step))
        for pi, small in zip(real, lumped, strict=True):
            q, told = (evaluate(M, each, exact=True).q for M, each in ((F, pi), (E, small)))
            for (m, o), (a, w) in ((o, a) for o in F.O for a in F.A):
                if q[(m, o), (a, w)] != told[(name[m], o), (a, name[w])]:
                    return f"B{k}: q({m}, {a} {w}) is {q[(m, o), (a, w)]}"
    return None


@cache
def buffers_reach_it(memory: str) -> tuple[str | None, Any, tuple[dict[str, Any], ...]]:
    """Whether greedy is one policy along the whole way with a buffer: what fails, what it is
    worth, and certificates."""
    E = augment(variant(), memory)
    start = uniform(E)
    g = start.greedy(evaluate(E, start, exact=True).q.array)
    along = evaluate(E, mixed_rows(E, policy_rows(start), g, x))
    region = stays_greedy(E, along, actions_taken(E, g), ALONG, about=(variant(), memory))
    end = evaluate(E, g, exact=True)
    if region.holds:
        seen = [o for o in E.O if end.reached[o]]
        region = _both(region, stays_greedy(E, end, actions_taken(E, g), {}, rows=seen))
    return region.failure, end.value, tuple(region.certificates)


@cache
def as_run(memory: str) -> str:
    """Where the loop from uniform with step 1/50 ends, by a certificate in rationals."""
    found = certify(recall_variant(), memory, Fraction(1, 50))
    return str(found.get("value", f"{found['claim']} in {found.get('iterates')} iterates"))


@claim(
    "S52.vanish",
    place="Sec. 5.2",
    statement="On the variant of recall the problem of OA1 vanishes with every larger memory. "
    "With step 1/50 the loop reaches the optimum 3 with OA(k) for every k >= 2 and with B(k) for "
    "every k >= 1.",
    verdict="proved",
    steps=(
        machine("buffers", "OA2, OA3: greedy is one policy worth 3 along the whole way."),
        machine("larger", "Three pushes drop nothing from OA(k), k >= 3: it is OA3, padded."),
        machine("classes", "Four classes of memory states have the q-values of B3 and B4."),
        machine("few", "B(k), k <= 16: two phases, all iterates at once."),
        machine("many", "B(k), k >= 17: three phases, all iterates at once, K without end."),
        machine("worth", "The last policies of both are worth 3."),
        machine(
            "loops",
            "The loop in rationals ends at 3 with OA2, OA3, B1 to B4; with OA1 it is below in 120 "
            "iterates.",
        ),
    ),
)
def larger_memories_reach_it(
    proof: Proof,
    buffers: Mapping[str, Any] = {"OA2": 3, "OA3": 3},
    pushes: int = 3,
    named: int = -2,
    few: Any = FEW,
    many: Any = MANY,
    worth: int = 3,
    stuck: tuple[str, ...] = ("OA1",),
) -> Evidence:
    """Sizes without end. Then the loop as it is run."""
    P = recall_variant()
    certificates: list[dict[str, Any]] = []
    for memory, due in buffers.items():
        failure, value, shown = buffers_reach_it(memory)
        proof.step("buffers", failure or (None if value == due else f"{memory}: {value}"))
        certificates += shown
    steps = _longest_episode(P)
    enough = steps <= 3 and pushes <= 3
    proof.step("larger", None if enough else f"{max(steps, pushes)} pushes may drop one from OA3")
    proof.step("larger", drops_nothing("OA", P, pushes))
    proof.step("classes", classes_differ(named))
    for key, region in (("few", few_bits(few)), ("many", many_bits(many))):
        proof.step(key, region.failure)
        certificates += region.certificates
    E = in_four_classes()
    values = {evaluate(E, pi, exact=True).value for pi in phases(E)[2:]}
    E3 = augment(P, "B2")
    two = Policy.deterministic(E3, {("00", "o"): (0, "11")}, otherwise=(1, "00"))
    values.add(evaluate(E3, two, exact=True).value)
    proof.step("worth", None if values == {worth} else f"they are worth {values}")
    lines = []
    for memory in ("OA1", "OA2", "OA3", "B1", "B2", "B3", "B4"):
        end = as_run(memory)
        lines.append([memory, end])
        good = (end == "3") == (memory not in stuck)
        proof.step("loops", None if good else f"{memory}: {end}")
    argument = text(
        "OA2 and OA3: greedy at the uniform policy is greedy at all x pi_u + (1-x) pi, 0 < x <= 1, "
        "and worth 3. An episode has three steps, so OA(k) with k >= 3 never drops a pair: pushed "
        "pairs stand behind empty cells, run on the code of Gamma with k a symbol.",
        "B(k), K = 2^k. At the uniform policy greedy is g0: <0,last> in 0, <1,last> elsewhere. At "
        "the next iterate <1,0> leads <0,last> in the last memory state by a multiple of 111,573 - "
        "K. For k <= 16 greedy is <0,last> in 0 and <1,0> elsewhere from then on, which does 0, 1, "
        "0. For k >= 17 the last memory state takes <0,last> once; then 0 prefers to write the "
        "last but one, and greedy is <0,next> in 0 and <1,0> elsewhere ever after: 0, 1, 0 again. "
        "The rest, K - 3 memory states, are never written. All differences of q-values are "
        "positive for all 0 < x <= 1 and all K up to 2^16, or from 2^17 on.",
        "The oracle loop from uniform with step 1/50, in rationals:",
        table_text(["memory", "ends at"], lines),
        "For small steps in general, OA2 and B1 to B5 are in S52.fig-variant.",
    )
    return proved("followed for every OA(k) with k >= 2 and every B(k)", argument, certificates)


def _longest_episode(P: POMDP) -> int:
    """The number of steps after which every episode is over."""
    now, steps = {s for s, chance in P.mu.items() if chance}, 0
    while now - set(P.terminal):
        now = {s_next for s in now - set(P.terminal) for a in P.A for (s_next, _) in P.p(s, a)}
        steps += 1
    return steps


larger_memories_reach_it.twin("OA1 as well", guards="buffers", buffers={"OA1": 3})
larger_memories_reach_it.twin("four pushes", guards="larger", pushes=4)
larger_memories_reach_it.twin("the last but two as next", guards="classes", named=-3)
larger_memories_reach_it.twin("two phases for k = 17", guards="few", few=Interval(2, 2**17))
larger_memories_reach_it.twin(
    "three phases from k = 16 on", guards="many", many=Interval(2**16, sympy.oo)
)
larger_memories_reach_it.twin("worth 4", guards="worth", worth=4)
larger_memories_reach_it.twin("nothing stuck", guards="loops", stuck=())
