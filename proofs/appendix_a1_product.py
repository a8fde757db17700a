"""Appendix A.1: the compiled POMDP is the memory-augmented environment.

E = <P, memory> is run as the pair it is defined as (Definition 4.2): s_0 ~ mu, o_0 ~ omega, m_0 ~
eta; then (s', r) ~ p(.|s,a), o' ~ omega(.|s'), m' ~ Gamma(.|m,w,o,a,r,o'). The compiled POMDP P'
has states <s,m,o>. With

    alpha_t(<s,m,o>) = P(what the agent saw, did and got up to t, and the hidden rest is <s,m,o> at
    t)

both satisfy alpha_0 = mu' and alpha_{t+1} = sum over <s,m,o> of alpha_t pi(a,w|m,o) times the
kernel of one step, and the agent sees (m, o) in both. So they are equivalent as soon as mu' and the
kernels are the same functions:

    mu'(<s,m,o>) = mu(s) eta(m) omega(o|s)
    p'(<s',m',o'>, r | <s,m,o>, <a,w>) = p(s',r|s,a) Gamma(m'|m,w,o,a,r,o') omega(o'|s')

The paper's list leaves out gamma' = gamma; returns need it. Terminal states are those of P.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

import sympy

from pomdps import recall4
from proofs.ledger import Evidence, Proof, claim, machine, proved
from proofs.ledger.bellman import first_broken
from proofs.ledger.generic import generic_memory, generic_policy, generic_product, generic_task
from proofs.ledger.product_letters import letters_of_product
from proofs.ledger.prose import text
from proofs.ledger.theory import Interpretation, Theory, trouble_in
from workbench import POMDP, Memory, Policy, augment
from workbench.agents.simulate import alone, pair, sequences
from workbench.core.space import Label
from workbench.memories import attach
from workbench.results.json import encode, model_json, policy_json

Compile = Callable[[POMDP, Memory], POMDP]


def compiled(P: POMDP, memory: Memory) -> POMDP:
    """The product of the workbench. That of the generic task and memory is kept."""
    return generic_product() if memory.name == "generic memory" else augment(P, memory)


def gives_the_next_observation_for_the_current_one(P: POMDP, memory: Memory) -> POMDP:
    """A product whose Gamma is told o' where it should be told o."""
    wrong = Memory(
        memory.name,
        memory.M,
        memory.W,
        lambda m, w, o, a, r, o_next: memory.Gamma(m, w, o_next, a, r, o_next),
        memory.eta,
    )
    return augment(P, wrong)


def forgets_the_reward(P: POMDP, memory: Memory) -> POMDP:
    """A product whose Gamma is told 0 in the place of every reward."""
    wrong = Memory(
        memory.name,
        memory.M,
        memory.W,
        lambda m, w, o, a, r, o_next: memory.Gamma(m, w, o, a, 0, o_next),
        memory.eta,
    )
    return augment(P, wrong)


def product_differences(P: POMDP, memory: Memory, E: POMDP) -> list[str]:
    """Where the compiled POMDP and the pair differ: the start, what is seen, the end, one step."""
    process = pair(P, memory)
    found = []
    if not _same(dict(E.mu.items()), process.start):
        found.append("mu'")
    for state in E.S:
        if E.omega(state) != {process.seen(state): 1}:
            found.append(f"what is seen in {state}")
        if (state in E.terminal) != process.ended(state):
            found.append(f"the end in {state}")
        if state in E.terminal:
            continue
        for action in E.A:
            if not _same(E.p(state, action), process.step(state, action)):
                found.append(f"p'(. | {state}, {action})")
    return found


def _same(one: Any, other: Any) -> bool:
    return one.keys() == other.keys() and all(
        sympy.expand(one[key] - other[key]) == 0 for key in one
    )


def toy() -> tuple[POMDP, Memory]:
    """A small task with numbers, and a stochastic memory that reads everything."""
    half = Fraction(1, 2)
    P = POMDP.from_functions(
        name="toy",
        A=["a", "b"],
        p=lambda s, a: (
            {("s", 1): half, ("t", 0): half / 2, ("end", 1): half / 2}
            if a == "a"
            else {("t", s == "s"): 1}
        ),
        omega=lambda s: (
            {"x": 1}
            if s == "end"
            else {"x": half / 2, "y": 1 - half / 2}
            if s == "s"
            else {"x": half, "y": half}
        ),
        mu={"s": half / 2, "t": 1 - half / 2},
        gamma=half,
        terminal={"end"},
    )

    def Gamma(m: int, w: str, o: str, a: str, r: Any, o_next: str) -> dict[int, Fraction]:
        known = [m == 1, w == "w", o == "x", a == "a", r == 1, o_next == "x"]
        x = Fraction(sum(2**i * bit for i, bit in enumerate(known)), 63)
        return {0: x, 1: 1 - x} if 0 < x < 1 else {int(x == 0): Fraction(1)}

    return P, Memory("reads everything", [0, 1], ["v", "w"], Gamma, {0: half / 2, 1: 1 - half / 2})


def memory_json(P: POMDP, memory: Memory) -> dict[str, Any]:
    """A memory as a table: every row of Gamma for the labels of P."""
    return {
        "eta": [[encode(m), str(x)] for m, x in memory.eta.items()],
        "W": [encode(w) for w in memory.W],
        "Gamma": [
            [
                *map(encode, (m, w, o, a)),
                str(r),
                encode(o_next),
                [[encode(n), str(x)] for n, x in row.items()],
            ]
            for m in memory.M
            for w in memory.W
            for o in P.O
            for a in P.A
            for r in P.R
            for o_next in P.O
            if (row := memory.Gamma(m, w, o, a, r, o_next))
        ],
    }


def sequences_certificate(
    P: POMDP, memory: Memory, E: POMDP, pi: Policy, horizon: int
) -> dict[str, Any]:
    """P and the memory, the compiled product, a policy: to be run side by side."""
    return {
        "kind": "same-sequences",
        "model": model_json(P),
        "memory": memory_json(P, memory),
        "compiled": model_json(E),
        "policy": policy_json(pi),
        "horizon": horizon,
    }


SIDE_BY_SIDE = Theory(
    {
        "pair0": "pair(0,s,m,o) == mu(s)*eta(m)*om(s,o)",
        "pair+": "pair(n+1,s1,m1,o1) == sum[s,m,o,a,w,r](pair(n,s,m,o)*pi(m,o,a,w)*f(n,m,o,a,w,r)"
        "*p(s,a,s1,r)*om(s1,o1)*Gamma(m,w,o,a,r,o1,m1))",
        "start": "mu1(s,m,o) == mu(s)*eta(m)*om(s,o)",
        "kernel": "p1(s,m,o,a,w,s1,m1,o1,r) == p(s,a,s1,r)*Gamma(m,w,o,a,r,o1,m1)*om(s1,o1)",
        "seen": "om1(s,m,o,m2,o2) == eq(m,m2)*eq(o,o2)",
        "compiled0": "compiled(0,s,m,o) == mu1(s,m,o)",
        "compiled+": "compiled(n+1,s1,m1,o1) == sum[s,m,o,m2,o2,a,w,r](compiled(n,s,m,o)"
        "*om1(s,m,o,m2,o2)*pi(m2,o2,a,w)*f(n,m2,o2,a,w,r)*p1(s,m,o,a,w,s1,m1,o1,r))",
    }
)
"""The pair as Definition 4.2 runs it, and the compiled POMDP as a POMDP is run: the chance of the
hidden (s, m, o) after n steps, each step weighted by any f of what was seen, done and got."""


@cache
def side_by_side(P: POMDP, memory: Memory) -> Interpretation:
    """The letters of `SIDE_BY_SIDE` read off a pair and its product, which run for three steps."""
    E = augment(P, memory)
    pi, zero = uneven_policy(E), Fraction(0)
    places = {label: i + 1 for each in (P.O, P.A, memory.M, memory.W, P.R) for i, label in
              enumerate(each)}  # fmt: skip

    def f(n: int, *seen: Any) -> Fraction:
        return Fraction(1, n + sum(places[x] * (i + 1) for i, x in enumerate(seen)))

    def rows(m: Any, o: Any, a: Any, w: Any) -> Fraction:
        return pi[(m, o), (a, w)] if (m, o) in E.O else Fraction(1, len(E.A))

    def weight(n: int, m: Any, o: Any, a: Any, w: Any, r: Any) -> Fraction:
        return rows(m, o, a, w) * f(n, m, o, a, w, r)

    compiled: list[dict[Any, Fraction]] = [dict(E.mu.items())]
    both: list[dict[Any, Fraction]] = [
        {
            (s, m, o): x * y * z
            for s, x in P.mu.items()
            for m, y in memory.eta.items()
            for o, z in P.omega(s).items()
        }
    ]
    for n in range(3):
        now, then = dict[Any, Fraction](), dict[Any, Fraction]()
        for (s, m, o), x in compiled[-1].items():
            for a, w in E.A if (s, m, o) not in E.terminal else ():
                for (later, r), y in E.p((s, m, o), (a, w)).items():
                    now[later] = now.get(later, zero) + x * weight(n, m, o, a, w, r) * y
        for (s, m, o), x in both[-1].items():
            for a, w in E.A if s not in P.terminal else ():
                for (s1, r), y in P.p(s, a).items():
                    for o1, z in P.omega(s1).items():
                        for m1, v in memory.Gamma(m, w, o, a, r, o1).items():
                            due = x * weight(n, m, o, a, w, r) * y * z * v
                            then[s1, m1, o1] = then.get((s1, m1, o1), zero) + due
        compiled.append(now)
        both.append(then)
    return letters_of_product(
        P,
        memory,
        E,
        {
            "pi": rows,
            "f": f,
            "compiled": lambda n, *at: compiled[n].get(at, zero),
            "pair": lambda n, *at: both[n].get(at, zero),
        },
    )


@claim(
    "A1.equivalent",
    place="App. A.1",
    statement="The compiled POMDP gives every sequence of observations, actions and rewards the "
    "probability that the memory-augmented environment gives it. That is so for every task, "
    "memory and policy.",
    verdict="proved",
    steps=(
        machine(
            "kernel", "mu', what is seen, the end and p' of the product, every number a symbol"
        ),
        machine("gamma", "gamma' = gamma, which the definition leaves out"),
        machine(
            "givens",
            "The formulas of the induction hold of the compiled product and of the pair as they "
            "run: a small task, a stochastic memory that reads everything, three steps",
        ),
        machine("induction", "alpha_n is the same in both, for every n, sequence and all sizes"),
        machine("sequences", "sequences of two steps, 7 pairs of a task and a memory in numbers"),
    ),
)
def equivalent(
    proof: Proof,
    compile_: Compile = compiled,
    compile_small: Compile = compiled,
    gamma: Any = None,
    theory: Theory = SIDE_BY_SIDE,
    givens: Theory = SIDE_BY_SIDE,
) -> Evidence:
    """Compare the kernels of one step with all numbers symbols. Then compare sequences of small
    tasks with numbers.

    `compile_`, `compile_small`: the product of the generic task, and of the small ones; `gamma`:
    another discount of the product.
    """
    small, strange = toy()
    cases: list[tuple[POMDP, Memory]] = [(small, strange)]
    cases += [(small, attach(name, small)) for name in ("K1", "B1", "O1", "OA1", "O2")] + [
        (recall4(), attach("OA1", recall4()))
    ]
    shown = theory.shows(
        "both give every sequence the same chance",
        "compiled(n,s,m,o) == pair(n,s,m,o)",
        [("unfold", "compiled+"), ("unfold", "hypothesis"), ("unfold", "kernel"),
         ("unfold", "seen"), ("unfold", "pair+")],
        base=[("unfold", "compiled0"), ("unfold", "start"), ("unfold", "pair0")],
    )  # fmt: skip
    proof.step("induction", trouble_in(shown))
    proof.step("givens", first_broken(givens, side_by_side(small, strange)))
    certificates: list[dict[str, Any]] = []
    for P, memory in cases:
        E = compile_small(P, memory)
        pi = uneven_policy(E)
        one, other = (sequences(process, pi, 2) for process in (alone(E), pair(P, memory)))
        differs = [H for H in {**one, **other} if one.get(H) != other.get(H)]
        other_chance = f"{P.name} with {memory.name}: {differs[:1]} has another probability"
        proof.step("sequences", other_chance if differs else None)
        if len(certificates) < 2:
            certificates.append(sequences_certificate(P, memory, E, pi, 2))
    P, memory = generic_task(), generic_memory()
    E = compile_(P, memory)
    wrong = product_differences(P, memory, E)
    proof.step("kernel", "; ".join(wrong[:3]))
    discount = E.gamma if gamma is None else gamma
    proof.step("gamma", None if discount == P.gamma else f"{discount}, not {P.gamma}")
    if not wrong:
        pi = generic_policy(E)
        one, other = (sequences(process, pi, 1) for process in (alone(E), pair(P, memory)))
        proof.step("kernel", None if _same(one, other) else "sequences of one step differ")
    argument = text(
        "Let alpha_t(s,m,o) be the probability of what the agent has seen, done and got up to t, "
        "together with "
        "s_t = s and (m_t, o_t) = (m, o). In the pair and in the compiled POMDP alike",
        "  alpha_0(s,m,o)        = mu(s) eta(m) omega(o|s)",
        "  alpha_{t+1}(s',m',o') = sum_s alpha_t(s,m,o) pi(a,w|m,o)",
        "                                p(s',r|s,a) omega(o'|s') Gamma(m'|m,w,o,a,r,o')",
        "for the (m,o), (a,w), r and (m',o') of the sequence, so by induction on t they agree; "
        "summing out s gives the probability of the sequence. It is enough that mu', the "
        "observations and the kernels of one step are the same functions: compared entry by entry, "
        f"{len(E.S)} states and {len(E.A)} actions, for a task and a memory whose numbers (p, "
        "rewards, omega, mu, Gamma, eta) are all symbols, Gamma reading all its arguments, and for "
        "sequences of one step with a policy of symbols. The induction itself is a certificate: "
        "with f(n, m, o, a, w, r) any weight on what is seen, done and got at n (1 along the "
        "sequence and 0 elsewhere), both sides are the same sum, over index sets of any size.",
        f"With numbers, sequences of two steps, exactly: {len(cases)} pairs of a task and a "
        "memory, one stochastic.",
        "The paper's definition of P' leaves out gamma' = gamma, which returns need.",
    )
    return proved(
        "both give every step the same probability, whatever the sizes",
        argument,
        [*certificates, shown],
    )


def uneven_policy(E: POMDP) -> Policy:
    """A policy that gives every action another probability, the same ones in every row."""
    total = sum(range(1, len(E.A) + 1))
    row: dict[Label, Fraction] = {a: Fraction(i + 1, total) for i, a in enumerate(E.A)}
    return Policy.from_mapping(E, dict.fromkeys(E.O, row))


equivalent.twin(
    "Gamma told o' in the place of o",
    guards="kernel",
    compile_=gives_the_next_observation_for_the_current_one,
)
equivalent.twin("Gamma not told the reward", guards="kernel", compile_=forgets_the_reward)
equivalent.twin(
    "the agent sees another memory state",
    guards="induction",
    theory=SIDE_BY_SIDE.replaced(seen="om1(s,m,o,m2,o2) == eta(m2)*eq(o,o2)"),
)
equivalent.twin("a product without discount", guards="gamma", gamma=1)
equivalent.twin(
    "Gamma not told the reward, in the small tasks",
    guards="sequences",
    compile_small=forgets_the_reward,
)
equivalent.twin(
    "a memory that is not told the next observation",
    guards="givens",
    givens=SIDE_BY_SIDE.replaced(
        kernel="p1(s,m,o,a,w,s1,m1,o1,r) == p(s,a,s1,r)*Gamma(m,w,o,a,r,o,m1)*om(s1,o1)"
    ),
)
