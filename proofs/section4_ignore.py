"""Section 4: a memory can be ignored.

"The optimal memoryless policy for E must be at least as good as the optimal memoryless policy for
the original POMDP P": from a policy pi(a|o) of P and any way nu(w|m,o,a) to choose writes, make the
policy

    pi'(a, w | m, o) = pi(a|o) nu(w|m,o,a)

of E = <P, memory>. Whatever Gamma and eta are, the memory and the write can be summed out of every
step of E:

    sum_{w, m'} pi'(a,w|m,o) p'(<s',m',o'>, r | <s,m,o>, <a,w>)  =  pi(a|o) p(s',r|s,a) omega(o'|s')
                                                                                                (1)
    sum_m       mu'(<s,m,o>)                                     =  mu(s) omega(o|s)             (2)

so that by induction on t both environments give every o_0, a_0, r_0, ..., o_t the same probability,
and pi' is worth what pi is worth. If nu is deterministic, pi' is deterministic wherever pi is.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from typing import Any

import sympy

from pomdps import gravity, recall, recall4, recall_variant
from proofs.ledger import Evidence, Proof, claim, machine, proved
from proofs.ledger.bellman import first_broken, mixed_policy
from proofs.ledger.generic import (
    generic_memory,
    generic_policy,
    generic_product,
    generic_task,
    split,
)
from proofs.ledger.product_letters import letters_of_product, worth_of_steps
from proofs.ledger.prose import table_text, text
from proofs.ledger.theory import Interpretation, Theory, trouble_in
from proofs.own.tables import two_step_task
from workbench import POMDP, Policy, augment, best_memoryless, evaluate
from workbench.certificates.values import identity_certificate
from workbench.core.numbers import Number
from workbench.core.space import Label
from workbench.memories import attach

LISTED = (
    (gravity, "B1 K1"),
    (recall, "K1 B1 B2 O1 OA1"),
    (recall_variant, "K1 B1 O1 OA1"),
    (recall4, "K1 B1 O1 OA1"),
)


def ignoring(E: POMDP, pi: Policy) -> Policy:
    """The policy of E that acts as pi and always writes the first write."""
    w = E.A[0][1]
    return Policy.from_mapping(
        E, {(m, o): {(a, w): x for a, x in pi.row(o).items()} for m, o in E.O}
    )


def summed_out(nu_first: Any = 0, eta_first: Any = 0) -> Iterator[tuple[str, str, Any, Any]]:
    """Both sides of (1), for every s, m, o, a and s', r, o', and of (2), all numbers symbols."""
    P, E, M = generic_task(), generic_product(), generic_memory().M
    pi = generic_policy(P)
    for s, x in P.mu.items():
        for o, y in P.omega(s).items():
            left = sum(E.mu[s, m, o] for m in M) + eta_first * E.mu[s, M[0], o]
            yield "start", f"mu'({s}, ., {o})", left, x * y
    for s, m, o in (state for state in E.S if state not in E.terminal):
        for a in P.A:
            nu = split(list(generic_memory().W), "nu", m, o, a)
            nu[next(iter(nu))] += nu_first
            rows = {w: E.p((s, m, o), (a, w)) for w in nu}
            for (s_next, r), x in P.p(s, a).items():
                for o_next, y in P.omega(s_next).items():
                    left = sum(
                        pi[o, a] * nu[w] * rows[w].get(((s_next, m_next, o_next), r), 0)
                        for w in nu
                        for m_next in M
                    )
                    what = f"step {(s, m, o)} {a} to {(s_next, r, o_next)}"
                    yield "step", what, left, pi[o, a] * x * y


@cache
def _best_of(task: str, memory: str) -> Any:
    """The best deterministic memoryless policy of a listed task, with a memory or without."""
    P = next(make() for make, _ in LISTED if make.__name__ == task)
    return best_memoryless(P if memory == "none" else augment(P, memory), exact=True)


def _best_in(E: POMDP) -> Any:
    return best_memoryless(E, exact=True)


def writing_costs(E: POMDP, cost: Number = Fraction(1, 10)) -> POMDP:
    """E with a price on every step that writes, whatever is written."""

    def p(s: Label, a: Label) -> dict[tuple[Label, Number], Number]:
        return {(s_next, r - cost): x for (s_next, r), x in E.p(s, a).items()}

    return POMDP.from_functions(
        name=f"{E.name}, writing costs {cost}",
        A=E.A,
        p=p,
        omega=E.omega,
        mu=dict(E.mu.items()),
        gamma=E.gamma,
        terminal=E.terminal,
        S=E.S,
    )


IGNORED = Theory(
    {
        "nu": "sum[w](nu(m,o,a,w)) == 1",
        "Gamma": "sum[m1](Gamma(m,w,o,a,r,o1,m1)) == 1",
        "eta": "sum[m](eta(m)) == 1",
        "v0": "v(0,s,o) == 0",
        "v+": "v(n+1,s,o) == sum[a,s1,r,o1](pi(o,a)*p(s,a,s1,r)*om(s1,o1)"
        "*(reward(r) + gamma*v(n,s1,o1)))",
        "u0": "u(0,s,m,o) == 0",
        "u+": "u(n+1,s,m,o) == sum[a,w,s1,r,o1,m1](pi(o,a)*nu(m,o,a,w)*p(s,a,s1,r)*om(s1,o1)"
        "*Gamma(m,w,o,a,r,o1,m1)*(reward(r) + gamma*u(n,s1,m1,o1)))",
        "same": "u(n,s,m,o) == v(n,s,o)",
        "J": "J(n) == sum[s,o](mu(s)*om(s,o)*v(n,s,o))",
        "E": "E(n) == sum[s,m,o](mu(s)*eta(m)*om(s,o)*u(n,s,m,o))",
        "best": "best - E(n) + delta(n) >= 0",
    }
)
"""What n steps are worth under pi, v, and in E under pi', u; no step pays in a terminal state.
"same" is what the induction shows. delta(n) is how far the n steps of pi' are from its value, which
is their limit, so that delta(n) tends to 0; the best of E is at least that value."""


@cache
def ignored_with_numbers(name: str) -> Interpretation:
    """The letters of `IGNORED` read off a task of two steps and its product with a memory."""
    P = two_step_task(15)
    memory = attach(name, P)
    E, pi = augment(P, memory), mixed_policy(P, 1)

    def nu(m: Any, o: Any, a: Any, w: Any) -> Fraction:
        first = w == memory.W[0]
        return Fraction(1 if first else 2, 2 * len(memory.W) - 1)

    rows = {
        (m, o): {(a, w): pi[o, a] * nu(m, o, a, w) for a in P.A for w in memory.W} for m, o in E.O
    }
    new = Policy.from_mapping(E, rows)
    in_P = [worth_of_steps(P, pi, n) for n in range(5)]
    in_E = [worth_of_steps(E, new, n) for n in range(5)]

    def next_step(s: Any, a: Any, o: Any, n: int) -> Fraction:
        moves = () if s in P.terminal else P.p(s, a).items()
        later = (x * y * (r + P.gamma * v(n, t, u)) for (t, r), x in moves
                 for u, y in P.omega(t).items())  # fmt: skip
        return pi[o, a] * sum(later, Fraction(0))

    @cache
    def v(n: int, s: Any, o: Any) -> Fraction:
        return Fraction(0) if n == 0 else sum((next_step(s, a, o, n - 1) for a in P.A), Fraction(0))

    def u(n: int, s: Any, m: Any, o: Any) -> Fraction:
        if (s, m, o) in E.S:  # what the compiled product pays; elsewhere it says nothing
            return in_E[n][s, m, o]
        return v(n, s, o)

    def J(n: int) -> Fraction:
        return sum((x * in_P[n][s] for s, x in P.mu.items()), Fraction(0))

    def whole(n: int) -> Fraction:
        return sum((x * in_E[n][s] for s, x in E.mu.items()), Fraction(0))

    value = evaluate(E, new, exact=True).value
    letters = {
        "pi": lambda o, a: pi[o, a], "nu": nu, "v": v, "u": u, "J": J, "E": whole,
        "best": best_memoryless(E, exact=True).value, "delta": lambda n: abs(value - whole(n)),
    }  # fmt: skip
    return letters_of_product(P, memory, E, letters)


@cache
def broken_letters(name: str, theory: tuple[tuple[str, str], ...]) -> str | None:
    """The first formula that does not hold of the code. Or values that are not those of the
    evaluator."""
    read = ignored_with_numbers(name)
    if trouble := first_broken(Theory(dict(theory)), read):
        return trouble
    P = two_step_task(15)
    left, right = read.functions["J"](2), evaluate(P, mixed_policy(P, 1), exact=True).value
    return None if left == right else f"two steps are worth {left}, the evaluator says {right}"


@claim(
    "S4.ignore",
    place="Sec. 4",
    statement="For every POMDP and memory, the best memoryless policy of the augmented "
    "environment is worth at least that of the original.",
    verdict="proved",
    steps=(
        machine("step", "w and m' sum out of one step of the product, every number a symbol (1)"),
        machine("start", "summed over m the start is the task's own (2)"),
        machine(
            "givens",
            "the formulas below hold of a task of two steps and its products with B1 and OA1, "
            "as the code runs and evaluates them",
        ),
        machine("induction", "n steps are worth the same in both, for every n and all sizes"),
        machine(
            "best",
            "n steps of pi are worth at most the best of E and delta(n), which tends to 0: so pi "
            "is worth at most the best of E",
        ),
        machine(
            "listed", "the best of E is no worse in 15 products, and ignoring is worth the same"
        ),
    ),
)
def ignoring_is_free(
    proof: Proof,
    environment: Any = None,
    nu_first: Any = None,
    eta_first: Any = None,
    theory: Theory = IGNORED,
    start: Theory = IGNORED,
    givens: Theory = IGNORED,
) -> Evidence:
    """The memory summed out of a generic product. Then the paper's tasks.

    Parameters
    ----------
    environment : replaces the augmented environment of the listed tasks by something else.
    nu_first, eta_first : extra weight on the first write, and on the first memory state, so that
        they are no distributions any more.
    theory, start, givens : the formulas that are given for a step, for the start, and those that
        are compared with the code.
    """
    for name in ("B1", "OA1"):
        proof.step("givens", broken_letters(name, tuple(givens.given.items())))
    later = theory.without("same").shows(
        "the memory can be ignored for n steps",
        "u(n,s,m,o) == v(n,s,o)",
        [("unfold", "v+"), ("unfold", "u+"), ("unfold", "hypothesis")],
        base=[("unfold", "v0"), ("unfold", "u0")],
    )
    worth = start.shows(
        "the best of E is no worse",
        "best - J(n) + delta(n) >= 0",
        [("add", "E", "-1"), ("add", "J", "1"), ("unfold", "same"), ("less", 1, (("best", {}),))],
    )
    proof.step("induction", trouble_in(later))
    proof.step("best", trouble_in(worth))
    certificates = [later, worth]
    for key, what, left, right in summed_out(nu_first or 0, eta_first or 0):
        same = sympy.expand(left - right) == 0
        proof.step(key, None if same else f"{what}: {sympy.expand(left - right)} is left")
        certificates.append(identity_certificate(what, left, right))
    lines = []
    for task, names in LISTED:
        P = task()
        best = _best_of(P.name, "none")
        for name in names.split():
            E = augment(P, name)
            changed = None if environment is None else environment(E)
            best_of = _best_of(P.name, name) if changed is None else _best_in(changed)
            value = best_of.value
            lines.append([P.name, name, best.value, value])
            worse = f"{P.name} with {name}: best {value}, without memory {best.value}"
            proof.step("listed", None if value >= best.value else worse)
            same = evaluate(E, ignoring(E, best.policy), exact=True).value
            proof.step("listed", None if same == best.value else f"{P.name} with {name}: {same}")
    argument = text(
        "Let pi be a memoryless policy of P and nu(w|m,o,a) any rule for writing. The policy "
        "pi'(a,w|m,o) = pi(a|o) nu(w|m,o,a) of the augmented environment satisfies, for all s, m, "
        "o, a and s', r, o',",
        "  sum_{w,m'} pi'(a,w|m,o) p'(<s',m',o'>,r|<s,m,o>,<a,w>)",
        "                                     = pi(a|o) p(s',r|s,a) omega(o'|s')",
        "  sum_m mu'(<s,m,o>)                 = mu(s) omega(o|s)",
        "because sum_m' Gamma = sum_w nu = sum_m eta = 1. (Checked term by term in the compiled "
        "product of a task and a memory whose numbers are all symbols, Gamma reading all its "
        f"arguments: {len(certificates) - 2} identities.) For tasks and memories of any size, by "
        "induction on n: n steps from (s, m, o) under pi' are worth what they are worth from (s, "
        "o) under pi, as sums over index sets that cancel. The returns are the same, for every "
        "policy and discount, and the best of E is no worse than the best of P. A deterministic nu "
        "keeps pi' deterministic, so the same holds among deterministic policies.",
        "Best deterministic memoryless values, in rationals:",
        table_text(["task", "memory", "without", "with"], [_short(line) for line in lines]),
    )
    return proved(
        "writes can be ignored: every policy of the task has the same value with a memory",
        argument,
        certificates,
    )


def _short(line: list[Any]) -> list[Any]:
    """Long fractions as decimals, marked."""
    return [x if len(str(x)) < 12 or isinstance(x, str) else f"~{float(x):.6f}" for x in line]


ignoring_is_free.twin("a rule for writing that sums to more than one", guards="step", nu_first=1)
ignoring_is_free.twin("an eta that sums to more than one", guards="start", eta_first=1)
ignoring_is_free.twin("a Gamma that forgets", guards="induction", theory=IGNORED.without("Gamma"))
ignoring_is_free.twin("an eta that is no chance", guards="best", start=IGNORED.without("eta"))
ignoring_is_free.twin("writing costs 1/10", guards="listed", environment=writing_costs)
ignoring_is_free.twin(
    "a product that starts in every memory state at once",
    guards="givens",
    givens=IGNORED.replaced(E="E(n) == sum[s,m,o](mu(s)*om(s,o)*u(n,s,m,o))"),
)
