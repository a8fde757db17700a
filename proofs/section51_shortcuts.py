"""Section 5.1: how many non-Markovian shortcuts a memory brings, and what becomes of them as it
grows.

A shortcut of pi is a pair (o, a) outside its support whose one-step TD value exceeds v_TD(o)
(strict) or equals it (weak) although its true value does not exceed v_pi(o) (or is below it):
`workbench.shortcuts`. Counted here for every optimal deterministic policy of recall and every gamma
in (0, 1) at once: the values are polynomials in gamma.

Rows that a policy never uses are set to the uniform ones. If a pair has true value 0 under these it
has 0 whatever the rows are, since no reward is negative and the uniform row gives every action a
chance; all pairs that matter here have 0.

**B(k) for every k.** An optimal policy of recall goes through three different memory states 0, x1,
x2 and writes some w at the end. A permutation of the memory states that fixes 0 turns an optimal
policy into an optimal policy with as many shortcuts (Gamma is m' = w), and pairs that lead to other
memory states have no TD value. So x1 = 01, x2 = 10 and w in {00, 01, 10, 11} are all the cases
there are, for every k >= 2.

**OA(k) for every k.** An episode has three steps, so with k >= 3 no push ever drops a pair: the
buffers of OA(k) are those of OA(3) with empty cells in front. k = 1, 2, 3 are all the cases there
are.
"""

from __future__ import annotations

from functools import cache
from types import MappingProxyType
from typing import Any

import sympy
from sympy import Interval

from pomdps import recall
from proofs.ledger import Evidence, Proof, argued, claim, human, machine
from proofs.ledger.generic import GAMMA
from proofs.ledger.inequalities import prove_positive
from proofs.ledger.prose import table_text, text
from proofs.section5_recall import behaviours
from proofs.section51_td import BETWEEN
from workbench import POMDP, Policy, augment, evaluate, td_values
from workbench.certificates.values import q_certificate, td_certificate
from workbench.core.shortcuts import shortcuts
from workbench.core.space import Label
from workbench.optima.shortcut_count import ShortcutCount, count_shortcuts
from workbench.optima.symmetry import interchangeable

FRESH = ("00", "01", "10")
"""The memory states that stand for the three that an optimal policy of recall with B(k) goes
through."""


# ---------------------------------------------------------------------- counting with gamma a
# symbol


class NoSign(Exception):
    """A difference that has no one sign on the range of gamma."""


def sign(f: Any, where: Interval) -> int:
    """1, 0 or -1 if f is positive, zero or negative for every gamma of the range."""
    f = sympy.expand(f)
    if f == 0:
        return 0
    for candidate in (1, -1):
        if prove_positive(candidate * f, {GAMMA: where}).holds:
            return candidate
    raise NoSign(f"{f} has no one sign on {where}")


def count_along(
    E: POMDP, path: tuple[tuple[Label, Label], ...], where: Interval
) -> tuple[int, int, Any]:
    """Count the strict and the weak shortcuts of all policies that behave like `path`. It is for
    every gamma of the range. TD values come with them."""
    pi = Policy.from_mapping(E, {o: {a: 1} for o, a in path})
    true, td = evaluate(E, pi), td_values(E, pi)
    found = [0, 0]
    for o, taken in dict(path).items():
        for a in E.A:
            if a == taken or td.q[o, a] is None or (looks := sign(td.q[o, a] - td.v[o], where)) < 0:
                continue
            if sympy.expand(true.q[o, a] - true.v_given_o[o]) == 0 and looks == 0:
                continue  # as good as it looks
            assert true.q[o, a] == 0, "its value might depend on rows that are not used"
            found[looks == 0] += 1
    return found[0], found[1], td


def optimal_paths(E: POMDP, memory: str) -> list[tuple[tuple[Label, Label], ...]]:
    """What the optimal deterministic policies do. For B2 a representative of those alike but for
    names of memory states."""
    if memory == "B2":
        zero, x1, x2 = ((m, "o") for m in FRESH)
        return [((zero, (1, "01")), (x1, (2, "10")), (x2, (3, w))) for w in (*FRESH, "11")]
    return [path for path, value in behaviours(E).items() if value == GAMMA**2]


@cache
def counted_pairs(
    memory: str, where: Any = BETWEEN
) -> tuple[frozenset[tuple[int, int]], int, tuple[dict[str, Any], ...]]:
    """The pairs (strict, weak) that occur in recall, how many behaviours there are, and
    certificates."""
    P = recall(gamma=GAMMA)
    E = augment(P, memory)
    paths = optimal_paths(E, memory)
    found, certificates = set(), []
    for path in paths:
        strict, weak, td = count_along(E, path, where)
        found.add((strict, weak))
        certificates.append(td_certificate(P, memory, td))
    return frozenset(found), len(paths), tuple(certificates)


# ---------------------------------------------------------------------- B2 against OA1


@claim(
    "S51.b2-more",
    place="Sec. 5.1",
    statement="In recall every optimal deterministic policy has one strict shortcut with OA1, for "
    "every gamma in (0, 1). With B2, and with every B(k), k >= 2, it has three strict and four "
    "weak ones.",
    verdict="argued",
    steps=(
        machine("signs", "each difference has one sign for all gamma in (0, 1)"),
        machine("OA1", "every optimal policy with OA1 has one strict shortcut"),
        machine("B2", "every optimal policy with B2 has three strict and four weak ones"),
        machine("names", "exchanging memory states other than 0 carries recall x B2 to itself"),
        human("every k", "the same four cases stand for every B(k), k >= 2"),
    ),
)
def b2_has_more(
    proof: Proof,
    where: Any = BETWEEN,
    fewer_count: int = 1,
    more_count: tuple[int, int] = (3, 4),
    exchanged: str = "B2",
) -> Evidence:
    """Counted for every optimal policy, gamma a symbol. `fewer_count`, `more_count`: what is
    counted with OA1, and with B2."""
    fewer, more = "OA1", "B2"
    try:
        few, few_paths, first = counted_pairs(fewer, where)
        many, many_paths, second = counted_pairs(more, where)
    except NoSign as trouble:
        proof.step("signs", str(trouble))
        few, few_paths, first = counted_pairs(fewer)
        many, many_paths, second = counted_pairs(more)
    proof.step("signs")
    shown = f"{more}: {sorted(many)}, {fewer}: {sorted(few)} (strict, weak)"
    proof.step("OA1", None if {s for s, _ in few} == {fewer_count} else shown)
    proof.step("B2", None if set(many) == {more_count} else shown)
    same = interchangeable(augment(recall(), exchanged))
    all_but_first = same is not None and same.group.tolist() == [0, 1, 1, 1]
    proof.step("names", None if all_but_first else f"{exchanged}: not all can be exchanged")
    argument = text(
        "Shortcuts of the optimal deterministic policies of recall, gamma in (0, 1), TD and true "
        "values polynomials in gamma, their differences positive by their coefficients:",
        table_text(
            ["memory", "cases", "strict", "weak"],
            [
                [name, n, *_spans(found)]
                for name, n, found in ((fewer, few_paths, few), (more, many_paths, many))
            ],
        ),
        "With OA1 it is the red arrow of Figure 3, (empty, 2 push). With B2 an optimal policy goes "
        "0 -> x1 -> x2, and at 0 each of the three actions with the write x2 promises gamma v(x2) "
        "= gamma, more than gamma^2: three strict ones, the 12, 22, 32 of the figure. At 0 the "
        "actions 2 and 3 with the write x1, and at x1 the actions 1 and 3 with the write x2, look "
        "exactly as good as the right ones: four weak ones. Rows that a policy does not use do not "
        "matter: all these pairs have true value 0 even if the unused rows are uniform.",
        "Permutations of the memory states that fix 0^k carry optimal policies to optimal "
        "policies, so the four cases (what is written at the end: 0, x1, x2 or another) stand for "
        "all, and for every k >= 2.",
        "For gamma = 1 nothing is strict. That learning is less stable with B2 is S51.b2-unstable.",
    )
    return argued(
        "every optimal policy has 3 strict shortcuts with B2 and 1 with OA1",
        argument,
        [*first, *second],
    )


def _spans(found: frozenset[tuple[int, int]]) -> list[str]:
    return [" or ".join(map(str, sorted({pair[i] for pair in found}))) for i in (0, 1)]


b2_has_more.twin("gamma = 1 as well", guards="signs", where=Interval.Lopen(0, 1))
b2_has_more.twin("two with OA1", guards="OA1", fewer_count=2)
b2_has_more.twin("three weak ones with B2", guards="B2", more_count=(3, 3))
b2_has_more.twin("the states of O1 exchanged", guards="names", exchanged="O1")


# ---------------------------------------------------------------------- larger memories

REPEAT = (1, 1, 1)
"""Do 1 three times: without memory optimal and without shortcuts."""


@cache
def ranges(sequence: tuple[int, ...], memory: str) -> ShortcutCount:
    """The shortcuts of all optimal deterministic policies of a sequence task of two actions, gamma
    = 19/20."""
    return count_shortcuts(augment(two_actions(sequence), memory), exact=True)


def two_actions(sequence: tuple[int, ...]) -> POMDP:
    """The recall task with actions 1 and 2 only and another sequence."""
    P = recall(sequence=sequence)
    return POMDP.from_functions(
        name=f"do {', '.join(map(str, sequence))}",
        A=(1, 2),
        p=P.p,
        omega=P.omega,
        mu=dict(P.mu.items()),
        gamma=P.gamma,
        terminal=P.terminal,
    )


def new_state_each_step() -> list[dict[str, Any]]:
    """The true and the TD values of the policy of B2 that does 1 and writes 01, 10, 11."""
    P = two_actions(REPEAT)
    E = augment(P, "B2")
    pi = Policy.deterministic(
        E,
        {("00", "o"): (1, "01"), ("01", "o"): (1, "10"), ("10", "o"): (1, "11")},
        otherwise=(1, "11"),
    )
    true, td = evaluate(E, pi, exact=True), td_values(E, pi, exact=True)
    assert sum(x.kind == "strict" for x in shortcuts(E, pi, exact=True)) == 2
    return [q_certificate(P, "B2", true), td_certificate(P, "B2", td)]


EXPECTED = MappingProxyType({"OA1": 1, "OA2": 0, "OA3": 0, "B2": 3})
"""Strict shortcuts of every optimal policy; OA3 stands for all larger buffers, B2 for all larger
binary memories."""


@claim(
    "S51.bigger*",
    place="Sec. 5.1",
    statement="In recall every optimal deterministic policy has one strict shortcut with OA1 and "
    "none with OA(k), k >= 2. With B(k) it has three for every k >= 2. That is so for every gamma "
    "in (0, 1).",
    verdict="argued",
    steps=(
        machine("buffers", "OA1 has one strict shortcut, OA2 and OA3 have none, every policy"),
        machine("bits", "B2 has three, every policy"),
        machine("padded", "OA4 is OA3 with an empty cell in front, table by table"),
        human("larger", "no push of three steps drops a pair from OA(k), k >= 3"),
        human("names", "permutations of memory states that fix 0 carry B2 to every B(k)"),
    ),
)
def larger_buffers_remove_it(
    proof: Proof, expected: Any = EXPECTED, smaller: str = "OA3"
) -> Evidence:
    """OA1, OA2, OA3 and B2, gamma a symbol. OA4 is OA3 with an empty cell in front.

    `smaller`: the buffer that OA4 is compared with.
    """
    lines: list[list[Any]] = []
    certificates: list[dict[str, Any]] = []
    for memory, number in expected.items():
        found, paths, parts = counted_pairs(memory)
        lines.append([memory, paths, *_spans(found)])
        same = {strict for strict, _ in found} == {number}
        shown = f"{memory}: {_spans(found)[0]} strict shortcuts"
        proof.step("bits" if memory == "B2" else "buffers", None if same else shown)
        certificates += parts
    same = _padded(augment(recall(), smaller)) == _tables(augment(recall(), "OA4"))
    proof.step("padded", None if same else f"OA4 is not {smaller} with an empty cell in front")
    argument = text(
        "Shortcuts of the optimal deterministic policies of recall, gamma in (0, 1), values "
        "polynomials in gamma:",
        table_text(["memory", "cases", "strict", "weak"], lines),
        "With OA2 the buffer after 1 push is (1), after 1 push, 2 push it is (1,2): 2 push at the "
        "start leads to (2), which an optimal policy never shows, so it has no TD value to be "
        "mistaken for. Keeping leads back to the same buffer one step later, which looks worse by "
        "a factor gamma.",
        "OA(k), k >= 3: an episode has three steps, no push ever drops a pair, and the product is "
        "that of OA3 with empty cells in front (compared table by table for k = 4). B(k), k >= 2: "
        "see S51.b2-more.",
    )
    return argued(
        "1 strict shortcut with OA1, 0 with OA(k), 3 with B(k), for every gamma",
        argument,
        certificates,
    )


def _tables(E: POMDP) -> dict[Any, Any]:
    return {(s, a): E.p(s, a) for s in E.S if s not in E.terminal for a in E.A}


def _padded(E: POMDP) -> dict[Any, Any]:
    """The tables of E with an empty cell in front of each buffer."""

    def pad(state: Any) -> Any:
        s, m, o = state
        return s, (None, *m), o

    return {
        (pad(s), a): {(pad(t), r): x for (t, r), x in row.items()}
        for (s, a), row in _tables(E).items()
    }


larger_buffers_remove_it.twin(
    "OA1 already has none", guards="buffers", expected={**EXPECTED, "OA1": 0}
)
larger_buffers_remove_it.twin("B2 has two", guards="bits", expected={**EXPECTED, "B2": 2})
larger_buffers_remove_it.twin("OA4 is OA2 with a cell in front", guards="padded", smaller="OA2")
