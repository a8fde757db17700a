"""Appendix A.4, Proposition A.2 (1): how many bits are sufficiently expressive.

With u = max_o |{b(H) : H ends in o}|, the paper's f stores in the memory the last observation, the
last action and the number of the belief before it, o, a and i, which together with the next
observation give the next belief. That is right after the first step. But the memory *starts* at
0^k, which is the code of some (o, a, i): before the first step there is no last action, and yet the
memory says there was one. If all 2^k words are codes of triples that occur, the start has no word
of its own.

Call a *situation* a reachable (o, b) followed by an action, or the start: it is a map from
the next observation to the next belief. Two ways that lead to different beliefs with the same
observation must not leave the same word in memory; ways that do not disagree anywhere may share
one, and then agree with one total map O -> {1, ..., u}. So B(k) is sufficiently expressive if

    2^k >= |O| |A| u + 1      a word for each triple, one for the start                          (1)
    2^k >= u^|O|              a word for each total map                                          (2)

(1) says: one more than the product. 2^k >= |O| |A| u follows from the paper's bound, with equality
only if |O|, |A| and u are powers of two; so the printed bound can fail only then, and only if u^|O|
> |O| |A| u. The smallest such numbers have |O| |A| u = 8: two observations and four beliefs behind
each, or four and two, and one action.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, product
from math import ceil, log2
from typing import Any

from pomdps import gravity, recall, recall4, recall_variant
from proofs.appendix_a2_optimal import swap
from proofs.appendix_c_setting import words
from proofs.ledger import Evidence, Proof, argued, checked, claim, human, machine, refuted
from proofs.ledger.prose import table_text, text
from workbench import POMDP, is_sufficiently_expressive, reachable_beliefs
from workbench.agents.beliefs import BeliefGraph
from workbench.certificates.values import clique_certificate, update_certificate
from workbench.core.space import Label
from workbench.results.json import model_json
from workbench.sufficiency.update import verify_f
from workbench.text import show


def printed_bound(P: POMDP) -> int:
    """ceil(log2 |O|) + ceil(log2 |A|) + ceil(log2 u)."""
    return sum(ceil(log2(n)) for n in (len(P.O), len(P.A), reachable_beliefs(P).u))


# ---------------------------------------------------------------------- as printed


def smallest_product() -> int:
    """The smallest |O| |A| u for which the printed bound can fail. All are powers of two, and u^|O|
    > |O| |A| u.

    >>> smallest_product()
    8
    """
    powers = (1, 2, 4, 8)
    return min(o * a * u for o, a, u in product(powers, repeat=3) if u**o > o * a * u)


def turning() -> POMDP:
    """Two places, x and y, and a hidden side, 1 or 2: stay or move with equal chance. The way from
    y to x turns the side.

    In x the side is 1 for sure at first, in y it is 1 with probability 1/3.
    """
    half = Fraction(1, 2)

    def p(s: tuple[str, int], a: str) -> dict[tuple[tuple[str, int], int], Fraction]:
        place, side = s
        moved = ("y", side) if place == "x" else ("x", 3 - side)
        return {(s, 0): half, (moved, 0): half}

    return POMDP.from_functions(
        name="turning",
        A=("go",),
        p=p,
        omega=lambda s: {s[0]: 1},
        mu={("x", 1): Fraction(1, 4), ("y", 1): Fraction(1, 4), ("y", 2): half},
        gamma=half,
    )


def ways_to_go_on(graph: BeliefGraph) -> Iterator[tuple[tuple[Label, ...], dict[Label, Any]]]:
    """Each situation, named by a history and an action (the start by nothing), as a map {o':
    belief}."""
    yield (), {node.o: node.b for node in graph.start}
    for n, node in enumerate(graph.nodes):
        for a in graph.P.A:
            yield (*graph.history(n), a), {after.o: after.b for after in graph.after(node, a)}


def exclude_each_other(one: dict[Label, Any], other: dict[Label, Any]) -> bool:
    """Whether two situations lead to different beliefs with the same observation."""
    return any(other.get(o, b) != b for o, b in one.items())


@claim(
    "A4.bk",
    place="App. A.4",
    statement="Proposition A.2 (1) as printed: B(k) is sufficiently expressive if k >= ceil(log2 "
    "|O|) + ceil(log2 |A|) + ceil(log2 u). (Beliefs start with b_0(s) proportional to mu(s) "
    "omega(o_0|s), as for A2.optimal*.)",
    verdict="refuted",
    corrected_by="A4.bk*",
    steps=(
        machine("bound", "the printed bound of the task is 3 bits"),
        machine("clique", "any two of nine situations lead to different beliefs"),
        machine("words", "nine are more than the words of B(k)"),
    ),
)
def as_printed(proof: Proof, extra: int = 0, bound: int = 3, ways_count: int = 9) -> Evidence:
    """The task `turning`, with `extra` bits more than the printed bound asks for."""
    P = turning()
    graph = reachable_beliefs(P)
    k = printed_bound(P) + extra
    proof.step("bound", None if printed_bound(P) == bound else f"it is {printed_bound(P)}")
    found = is_sufficiently_expressive(P, f"B{k}")
    ways = list(ways_to_go_on(graph))
    apart = all(exclude_each_other(one, other) for (_, one), (_, other) in combinations(ways, 2))
    whole = apart and len(ways) == ways_count
    proof.step("clique", None if whole else f"{len(ways)} ways, not all apart or not {ways_count}")
    fits = f"B{k} has {2**k} words, and an f: {found}"
    proof.step("words", None if len(ways) > 2**k and not found else fits)
    if proof.failed:
        return checked(f"B{k} is sufficiently expressive", str(found))
    lines = [
        [", ".join(map(show, way)) or "the start", *(_side(after.get(o)) for o in P.O)]
        for way, after in ways
    ]
    shown = table_text(["after", *(f"then {o}: side 1" for o in P.O)], lines)
    task = (
        "One action; observations x, y; hidden side 1 or 2. With equal chance stay or move to the "
        "other place; "
        "from y to x the side turns. Start: x, side 1 (1/4); y, side 1 (1/4) or 2 (1/2)."
    )
    argument = text(
        task,
        f"|O| = {len(P.O)}, |A| = {len(P.A)}, u = {graph.u}, so the printed bound is k = {k}. The "
        f"{len(graph)} reachable beliefs, each followed by the action, and the start, are ways to "
        "go on; each leads, by the next observation, to a belief (the probability of side 1):",
        shown,
        f"Any two of the {len(ways)} lines differ somewhere. If two of them left the same word in "
        "memory, two different beliefs would share a memory state and an observation. So "
        f"{len(ways)} words are needed, and B{k} has {2**k}.",
        "The proof in the paper stores (o, a, number of the belief), which is right from the first "
        "step on; the start, 0^k, means one of these triples already. The bound can fail only if "
        "|O|, |A| and u are powers of two and u^|O| > |O||A|u (A4.bk*), and the smallest such "
        f"product |O||A|u is {smallest_product()}, that of this example.",
    )
    return refuted(
        f"nine situations must be told apart; B{k} gives eight",
        argument,
        counterexample={"model": model_json(P), "k": k, "ways": shown, "shown": text(task, shown)},
        certificates=[clique_certificate(P, f"B{k}", [way for way, _ in ways])],
    )


def _side(b: Any) -> str:
    return "-" if b is None else str(sum(x for s, x in b.items() if s[1] == 1))


as_printed.twin("a printed bound of 2", guards="bound", bound=2)
as_printed.twin("ten situations", guards="clique", ways_count=10)
as_printed.twin("one more bit", guards="words", extra=1)


# ---------------------------------------------------------------------- as it holds


def by_triples(P: POMDP, k: int) -> dict[tuple[str, Label, Label], str]:
    """The paper's f, with word 0 left to the start. It writes word 1 + (o |A| + a) u + i for the
    belief number i at o, and action a.

    >>> f = by_triples(swap(), 3)
    >>> f["000", "o", "b"], f["011", "o", "a"]
    ('011', '010')
    """
    graph = reachable_beliefs(P)
    number = {node: graph.beliefs(node.o).index(node.b) for node in graph.nodes}
    code = {
        (node, a): words(k)[1 + (P.O.index(node.o) * len(P.A) + i) * graph.u + number[node]]
        for node in graph.nodes
        for i, a in enumerate(P.A)
    }
    f = {("0" * k, node.o, a): code[node, a] for node in graph.start for a in P.A}
    for (node, a), word in code.items():
        for after in graph.after(node, a):
            f |= {(word, after.o, b): code[after, b] for b in P.A}
    return f


def by_maps(P: POMDP, k: int) -> dict[tuple[str, Label, Label], str]:
    """An f with a word for each total map O -> {0, ..., u - 1}. A map says which belief comes with
    which observation, and word 0 is that of the start."""
    graph = reachable_beliefs(P)
    number = {node: graph.beliefs(node.o).index(node.b) for node in graph.nodes}

    def total(after: Any) -> tuple[int, ...]:
        known = {node.o: number[node] for node in after}
        return tuple(known.get(o, 0) for o in P.O)

    start = total(graph.start)
    maps = [start, *(m for m in product(range(graph.u), repeat=len(P.O)) if m != start)]
    word = {m: words(k)[i] for i, m in enumerate(maps)}
    f: dict[tuple[str, Label, Label], str] = {}
    for m in maps:
        for o, i in zip(P.O, m, strict=True):
            if i < len(beliefs := graph.beliefs(o)):
                f |= {(word[m], o, a): word[total(graph.after((o, beliefs[i]), a))] for a in P.A}
    return f


def few_beliefs() -> POMDP:
    """A task in which few triples of observation, action and belief occur. It has three
    observations and a hidden bit that is seen only in c. Neither |O| nor u^|O| is small."""
    third = Fraction(1, 3)
    follow = {"a": "b", "b": "c", "c": "a"}
    return POMDP.from_functions(
        name="three places",
        A=("on", "turn"),
        p=lambda s, a: {((follow[s[0]], s[1] if a == "on" else 1 - s[1]), 0): 1},
        omega=lambda s: {s[0]: 1},
        mu={("a", 0): third, ("b", 0): third, ("c", 1): third},
        gamma=third,
    )


LISTED = (recall, recall4, recall_variant, gravity, turning, swap, few_beliefs)


@claim(
    "A4.bk*",
    place="App. A.4",
    statement="B(k) is sufficiently expressive if 2^k >= |O| |A| u + 1, or if 2^k >= u^|O|. The "
    "printed bound is enough unless |O|, |A| and u are all powers of two with u^|O| > |O| |A| u. "
    "One bit more than the printed bound is always enough.",
    verdict="argued",
    steps=(
        human("triples", "a word for each (o, a, i) and one for the start: f by induction"),
        human("maps", "a word for each map from O to numbers of beliefs: f by induction"),
        human("bound", "2^k >= |O||A|u is strict unless all three are powers of two"),
        machine("room", "the words of the rule suffice to build f, on seven tasks"),
        machine("separates", "both f keep the beliefs apart, on all histories of seven tasks"),
    ),
)
def corrected(proof: Proof, room: int = 1, mixed_up: bool = False) -> Evidence:
    """Judge the claim. `room`: how many words are asked for beyond |O| |A| u. `mixed_up`: whether f
    writes the first word in the place of the last."""
    lines, certificates = [], []
    for task in LISTED:
        P = task()
        u = reachable_beliefs(P).u
        for rule, least, make in (
            ("|O||A|u + 1", len(P.O) * len(P.A) * u + room, by_triples),
            ("u^|O|", u ** len(P.O), by_maps),
        ):
            k = max(1, ceil(log2(least)))
            if k > 9:
                continue
            try:
                f = make(P, k)
            except IndexError:
                shown = f"{P.name}: the triples and the start do not fit into the words of B{k}"
                proof.step("room", shown)
                continue
            proof.step("room")
            if mixed_up and f:
                f = {key: min(f.values()) if w == max(f.values()) else w for key, w in f.items()}
            shown = f"{P.name}, {rule}: f does not keep the beliefs apart with B{k}"
            proof.step("separates", None if verify_f(P, f"B{k}", f) else shown)
            smallest = next(
                j for j in range(k + 1) if is_sufficiently_expressive(P, f"B{j}" if j else "none")
            )
            lines.append([P.name, len(P.O), len(P.A), u, rule, k, printed_bound(P), smallest])
            if len(f) <= 200:
                certificates.append(update_certificate(P, f"B{k}", f))
    argument = text(
        "(1) 2^k >= |O||A|u + 1. Give the start the word 0^k and every triple (o, a, i) one of the "
        "others, i the number of a belief among those that come with o. Let f at (m, o', a'): if m "
        "is the word of (o, a, i), the belief now is the update of the i-th belief at o by a and "
        "o'; if m = 0^k it is b_0 for o'; let i' be its number at o'; write the word of (o', a', "
        "i'). By induction on the history the word in memory is that of the last o, a and the "
        "number of the belief before, so (m, o') determines the belief, and f separates.",
        "(2) 2^k >= u^|O|. Let a word stand for a map g: O -> {0, ..., u-1}, the start's map for "
        "0^k. At (m, o, a) the belief is number g_m(o) at o; write the word of a map that sends "
        "each o' possible after it to the number of the next belief.",
        "The printed bound gives 2^k >= |O||A|u, with equality only if |O|, |A| and u are powers "
        "of two; otherwise (1) holds. If u^|O| <= |O||A|u, (2) holds. One bit more gives 2^(k+1) "
        ">= 2 |O||A|u >= |O||A|u + 1.",
        "Both f, built and verified on all histories of these tasks (k as asked for by the rule; "
        "'least' is the smallest k that is sufficiently expressive, by the decision procedure):",
        table_text(["task", "|O|", "|A|", "u", "rule", "k", "printed", "least"], lines),
    )
    return argued(
        "an update function of (m, o, a) is given for both bounds; 7 tasks agree",
        argument,
        certificates,
    )


corrected.twin("2^k >= |O| |A| u", guards="room", room=0)
corrected.twin("two beliefs in one word", guards="separates", mixed_up=True)
