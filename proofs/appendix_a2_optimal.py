"""Appendix A.2, Proposition A.1: a sufficiently expressive memory is as good as the whole history.

A memory is sufficiently expressive (Definition A.2) if some memory-update function f never lets two
histories with the same last observation and different beliefs share a memory state. Two hypotheses
are missing for what the proposition says:

- **mu.** The paper starts beliefs with b_0(s) proportional to omega(o_0|s), without mu. Such a b is
  not what the history tells about the state, and memories that keep it apart may be useless. The
  belief is b_0(s) proportional to mu(s) omega(o_0|s).
- **rewards.** Histories hold observations and actions; Gamma may read rewards. Then (m, o) may tell
  more than the history, and the best memoryless policy may be better than the best history-based
  one: not equivalent, though no worse.

With both of them (A2.optimal*): let beta(m, o) be the one belief of the histories H with last
observation o and m in Omega_f(H), let pi* be optimal in the (finite) MDP of beliefs, and let the
agent at (m, o) do a = pi*(beta(m, o)) and write f(m, o, a). By induction on t it does, after every
history H, what pi* does at b(H); so it is worth what pi* is worth.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import sympy
from sympy import Interval

from pomdps import gravity, recall, recall4, recall_variant
from proofs.ledger import Evidence, Proof, argued, claim, human, machine, misprint
from proofs.ledger.bellman import first_broken
from proofs.ledger.generic import symbol
from proofs.ledger.inequalities import prove_positive
from proofs.ledger.prose import table_text, text
from proofs.ledger.theory import Interpretation, Theory, trouble_in
from proofs.ledger.walks import Histories
from proofs.own.tables import two_step_task
from workbench import (
    POMDP,
    Memory,
    Policy,
    augment,
    best_history,
    best_memoryless,
    evaluate,
    is_sufficiently_expressive,
    reachable_beliefs,
)
from workbench.certificates.values import update_certificate, value_certificate
from workbench.core.fields import RATIONALS
from workbench.core.numbers import Numbers
from workbench.core.pomdp import Distribution
from workbench.core.space import Label
from workbench.memories import attach
from workbench.optima.mdp import from_states, optimal
from workbench.results.json import model_json

HALF = Fraction(1, 2)


# ---------------------------------------------------------------------- as printed


def swap() -> POMDP:
    """Two states that look alike. Every action changes the state. a pays 1 in L, b pays 1 in R.
    Starts in L."""
    other = {"L": "R", "R": "L"}
    return POMDP.from_functions(
        name="swap",
        A=("a", "b"),
        p=lambda s, a: {(other[s], int((s, a) in (("L", "a"), ("R", "b")))): 1},
        omega=lambda s: {"o": 1},
        mu={"L": 1},
        gamma=HALF,
    )


def without_mu(P: POMDP) -> POMDP:
    """P with its start replaced by any state alike: its beliefs are the paper's, b_0(s)
    proportional to omega(o_0|s).

    It has all histories of P, so what holds for all its histories holds for those of P.
    """
    even = [Fraction(1, len(P.S))] * len(P.S)
    return replace(P, mu=Distribution(P.S, Numbers.of(even)))


def coin() -> POMDP:
    """A hidden coin. Each step is a guess that pays 1 if right."""
    return POMDP.from_functions(
        name="coin",
        A=("heads", "tails"),
        p=lambda s, a: {(s, int(s == a)): 1},
        omega=lambda s: {"o": 1},
        mu={"heads": HALF, "tails": HALF},
        gamma=HALF,
    )


def reads_reward(M: tuple[str, ...] = ("heads", "tails")) -> Memory:
    """Remembers which side the last reward has shown."""

    def Gamma(m: str, w: str, o: str, a: str, r: Any, o_next: str) -> dict[str, int]:
        return {a if r == 1 else M[1 - M.index(a)]: 1}

    return Memory("last winner", M, ["-"], Gamma, {M[0]: 1})


@claim(
    "A2.optimal",
    place="App. A.2",
    statement="Proposition A.1 as printed: if a memory is sufficiently expressive, the best "
    "memoryless policy of the augmented environment is equivalent to the best history-based one. "
    "(Beliefs start with b_0(s) proportional to omega(o_0|s).)",
    verdict="misprint",
    corrected_by="A2.optimal*",
    steps=(
        machine("premise", "with b_0 as printed, no memory at all is sufficiently expressive"),
        machine("below", "every memoryless policy is worth less than a, b, a, b, ..."),
        machine("meant", "with mu in b_0 the premise fails, and nothing is broken"),
    ),
)
def as_printed(
    proof: Proof, with_mu: bool = False, best_is: Fraction | None = None, meant: str = "none"
) -> Evidence:
    """The task `swap` without memory: the printed belief never changes, but the best action does.

    `best_is`: the value that memoryless policies are compared with; `meant`: the memory that the
    intended premise is asked of.
    """
    P = swap()
    premise = is_sufficiently_expressive(P if with_mu else without_mu(P), "none")
    proof.step("premise", None if premise else str(premise))
    intended = is_sufficiently_expressive(P, meant)
    proof.step("meant", str(intended) if intended else None)
    history = best_history(P, exact=True).value
    x = symbol("x")
    value = evaluate(P, Policy.from_mapping(P, {"o": {"a": x, "b": 1 - x}})).value
    below = prove_positive((best_is or history) - value, {x: Interval(0, 1)})
    proof.step("below", None if below.holds else f"x = {below.witness}")
    best = best_memoryless(P, exact=True)
    E = augment(P, "B1")
    alternate = Policy.deterministic(E, {("0", "o"): ("a", "1"), ("1", "o"): ("b", "0")})
    task = text(
        "Two states L, R with one observation; every action changes the state; gamma = 1/2; start "
        "in L.",
        table_text(
            ["state", "a pays", "b pays", "then"],
            [["L", 1, 0, "R"], ["R", 0, 1, "L"]],
        ),
    )
    argument = text(
        task,
        "The printed b_0 is (1/2, 1/2), and so is the belief after every history. One memory state "
        "is enough to keep one belief apart, so 'none' is sufficiently expressive as printed. The "
        f"best history-based policy a, b, a, b, ... is worth {history}; the memoryless policy that "
        f"does a with probability x is worth {sympy.factor(value)}, at most {best.value}. With b_0 "
        "proportional to mu omega the beliefs L and R alternate, and 'none' does not keep them "
        "apart.",
        "Nothing smaller breaks it: with one state, or one action, a memoryless policy is optimal.",
        "What is meant is plain: the update that the paper gives for later beliefs is Bayes' rule, "
        "and for the first one it is b_0(s) proportional to mu(s) omega(o_0|s). Under that "
        "reading, which A4.bk is judged under as well, the proposition is A2.optimal*. That a "
        "memory which reads rewards may even do better than every history is A2.rewards.",
    )
    return misprint(
        "b_0 leaves out mu; meant is mu(s) omega(o|s)",
        argument,
        counterexample={
            "model": model_json(P),
            "memory": "none",
            "memoryless": str(best.value),
            "history": str(history),
            "shown": task,
        },
        certificates=[
            update_certificate(P, "none", {}, with_mu=False),
            value_certificate(P, "none", best.policy, best.value),
            value_certificate(P, "B1", alternate, history),
            *below.certificates,
        ],
    )


as_printed.twin("b_0 with mu", guards="premise", with_mu=True)
as_printed.twin("compared with 4/3", guards="below", best_is=Fraction(4, 3))
as_printed.twin("B1, which keeps L and R apart", guards="meant", meant="B1")


# ---------------------------------------------------------------------- as it holds


def beta(P: POMDP, memory: Memory, f: Any) -> dict[tuple[Label, Label], Any]:
    """The belief behind each pair (m, o) that can be reached with f, whatever the actions.

    Rewards are hidden from histories but not from Gamma, so the state is followed beside the
    belief.
    """
    graph = reachable_beliefs(P)
    found: dict[tuple[Label, Label], Any] = {}
    queue = [
        (s, node, m)
        for node in graph.start
        for s in node.b
        for m, x in memory.eta.items()
        if x != 0
    ]
    seen = set(queue)
    for s, node, m in queue:  # grows while we walk
        assert found.setdefault((m, node.o), node) == node, "f does not keep the beliefs apart"
        for a in P.A:
            after = {n.o: n for n in graph.after(node, a)}
            w = f.get((m, node.o, a), memory.W[0])
            for (s_next, r), _ in P.p(s, a).items():
                if s_next in P.terminal:
                    continue
                for o_next in P.omega(s_next):
                    for m_next, x in memory.Gamma(m, w, node.o, a, r, o_next).items():
                        reached = (s_next, after[o_next], m_next)
                        if x != 0 and reached not in seen:
                            seen.add(reached)
                            queue.append(reached)
    return found


def read_off(P: POMDP, memory: Memory, f: Any) -> Policy:
    """Read a policy of (m, o) off the optimal one of beliefs. It does what is best at the belief
    behind (m, o), the first of such actions, and writes what f says."""
    belief_mdp = reachable_beliefs(P).mdp()
    process = from_states(belief_mdp, RATIONALS)
    v = optimal(process).v
    q = process.q(v)
    places = {s: i for i, s in enumerate(s for s in belief_mdp.S if s not in belief_mdp.terminal)}
    choice = {}
    for (m, o), node in beta(P, memory, f).items():
        s = places[node]
        a = next(a for i, a in enumerate(belief_mdp.A) if q[s, i] == v[s])
        choice[m, o] = a, f.get((m, o, a), memory.W[0])
    E = augment(P, memory)
    return Policy.deterministic(E, choice, otherwise=E.A[0])


def noisy_bit() -> Memory:
    """B1 whose start is random and whose write 1 ends in one of two memory states by chance."""

    def Gamma(m: Any, w: str, *rest: Any) -> dict[str, Fraction]:
        return {"0": Fraction(1)} if w == "0" else {"1": HALF, "1'": HALF}

    return Memory("noisy bit", ["0", "0'", "1", "1'"], ["0", "1"], Gamma, {"0": HALF, "0'": HALF})


LISTED: tuple[tuple[Any, Any], ...] = (
    (recall, "B3"),
    (recall, "OA2"),
    (recall4, "B3"),
    (recall4, "OA1"),
    (recall_variant, "B3"),
    (recall_variant, "OA2"),
    (gravity, "B1"),
    (gravity, noisy_bit()),
    (swap, "B1"),
    (swap, noisy_bit()),
)


ENCODED = Theory(
    {
        "U0": "U(0,s,m) == 0",
        "U+": "U(n+1,s,m) == sum[a](G(m,a)*(R(s,a)"
        " + gamma*sum[r,s1,o,m1](p(s,a,r,s1)*om(s1,o)*T(m,a,r,o,m1)*U(n,s1,m1))))",
        "V0": "V(0,s,h) == 0",
        "V+": "V(n+1,s,h) == sum[a](g(h,a)*(R(s,a)"
        " + gamma*sum[r,s1,o,h1](p(s,a,r,s1)*om(s1,o)*on(h,a,o,h1)*V(n,s1,h1))))",
        "act": "rel(h,m)*G(m,a) == rel(h,m)*g(h,a)",
        "run": "rel(h,m)*g(h,a)*on(h,a,o,h1)*T(m,a,r,o,m1)"
        " == rel(h,m)*g(h,a)*on(h,a,o,h1)*T(m,a,r,o,m1)*rel(h1,m1)",
        "T": "sum[m1](T(m,a,r,o,m1)) == 1",
        "on": "sum[h1](on(h,a,o,h1)) == 1",
    }
)
"""n more steps: V(n,s,h) what pi* = g is worth in s after the history h, U(n,s,m) what the policy
that is read off is worth where memory and observation are m. rel(h,m) = 1 if h makes m possible:
then both do the same ("act"), and what follows is possible again ("run"), since the writes are
those of f. T is Gamma, which may read the reward r, and on(h,a,o,h1) says that h1 is h, a, o."""


def does_as_histories_do(theory: Theory) -> dict[str, Any]:
    """Wherever h makes m possible the two are worth the same, for every n and s."""
    later = "gamma*p(s,a,r,s1)*om(s1,o)"
    return theory.shows(
        "as pi* does",
        "rel(h,m)*U(n,s,m) == rel(h,m)*V(n,s,h)",
        [
            ("unfold", "U+"),
            ("unfold", "V+"),
            (
                "add",
                "act",
                "-(R(s,a) + gamma*sum[r,s1,o,m1](p(s,a,r,s1)*om(s1,o)*T(m,a,r,o,m1)*U(n,s1,m1)))",
            ),
            ("add", "run", f"-{later}*U(n,s1,m1)"),
            (
                "add",
                "hypothesis",
                f"-rel(h,m)*g(h,a)*on(h,a,o,h1)*T(m,a,r,o,m1)*{later}",
                {"h": "h1", "m": "m1", "s": "s1"},
            ),
            ("add", "run", f"{later}*V(n,s1,h1)"),
        ],
        base=[("unfold", "U0"), ("unfold", "V0")],
    )


NO_MORE = Theory(
    {
        "U0": "U(0,s,m) == 0",
        "U+": "U(n+1,s,m) == sum[a](G(m,a)*(R(s,a)"
        " + gamma*sum[s1,o,m1](p(s,a,s1)*om(s1,o)*T(m,a,o,m1)*U(n,s1,m1))))",
        "x": "on(h,a,o,h1)*x(h1,s1) == on(h,a,o,h1)*sum[s](x(h,s)*p(s,a,s1))*om(s1,o)",
        "z": "on(h,a,o,h1)*z(h1,m1) == on(h,a,o,h1)*sum[m](z(h,m)*G(m,a)*T(m,a,o,m1))",
        "r": "r(h,a) == sum[s](x(h,s)*R(s,a))",
        "B0": "B(0,h) == 0",
        "F": "F(n,h,a) == r(h,a) + gamma*sum[o,h1](on(h,a,o,h1)*B(n,h1))",
        "most": "B(n+1,h) - F(n,h,a) >= 0",
        "G": "sum[a](G(m,a)) == 1",
        "G+": "G(m,a) >= 0",
        "z+": "z(h,m) >= 0",
        "T": "sum[m1](T(m,a,o,m1)) == 1",
        "on": "sum[h1](on(h,a,o,h1)) == 1",
        "on+": "on(h,a,o,h1) >= 0",
        "gamma+": "gamma >= 0",
    }
)
"""Any policy G of memory and observation, m; T is Gamma with what is written, and reads no reward.
x(h,s) is the chance of s and the observations of h, given its actions, z(h,m) that of m and the
actions; B(n,h) is the best that n more steps after h can be worth, times the chance of h."""


def gains_nothing(theory: Theory) -> dict[str, Any]:
    """A policy of memory and observation is worth no more than B after any h, for every n."""
    return theory.shows(
        "no more than histories",
        "B(n,h)*sum[m](z(h,m)) - sum[s,m](x(h,s)*z(h,m)*U(n,s,m)) >= 0",
        [
            ("unfold", "U+"),
            ("less", 1, (("z+", {}), ("G+", {}), ("most", {}))),
            ("unfold", "F"),
            ("unfold", "r"),
            ("less", 1, (("gamma+", {}), ("on+", {}), ("hypothesis", {"h": "h1"}))),
            ("add", "z", "gamma*B(n,h1)"),
            ("add", "z", "-gamma*x(h1,s1)*U(n,s1,m1)"),
            ("add", "x", "-gamma*sum[m](z(h,m)*G(m,a)*T(m,a,o,m1))*U(n,s1,m1)"),
        ],
        base=[("unfold", "B0"), ("unfold", "U0")],
    )


@cache
def encoded_letters(encoded: tuple[tuple[str, str], ...]) -> str | None:
    """Find a formula that a task of two steps with OA1 does not obey. It is one of `ENCODED`,
    changed or not, or of `NO_MORE`. Two steps of the policy read off that are not its value are
    told as well."""
    P = two_step_task(14)
    memory = attach("OA1", P)
    E, f = augment(P, memory), is_sufficiently_expressive(P, memory).f
    pi = read_off(P, memory, f)
    read = Histories(P, 1)
    A, going = list(P.A), read.going
    (empty,) = memory.eta

    def behind(h: Any) -> Any:
        """The memory and the observation after a history, by Gamma with the writes of f."""
        m = empty
        for o, a, later in zip(h[::2], h[1::2], h[2::2], strict=False):
            (m,) = memory.Gamma(m, f.get((m, o, a), memory.W[0]), o, a, 0, later)
        return m, h[-1]

    M = list(dict.fromkeys((*E.O, *map(behind, read.H))))

    def row(m: Any, a: Any) -> Fraction:
        return (
            sum((pi[m, (a, w)] for w in memory.W), Fraction(0)) if m in E.O else Fraction(a == A[0])
        )

    def T(m: Any, a: Any, r: Any, o: Any, m1: Any) -> Fraction:
        """Gamma, with what f writes."""
        write = f.get((*m, a), memory.W[0])
        found = memory.Gamma(m[0], write, m[1], a, r, o)
        return Fraction(found.get(m1[0], 0)) if m1[1] == o else Fraction(0)

    for m in M:  # and what Gamma makes of these
        for a in A:
            for o in P.O:
                later = memory.Gamma(m[0], f.get((*m, a), memory.W[0]), m[1], a, 0, o)
                M += [(n, o) for n in later if (n, o) not in M]

    def g(h: Any, a: Any) -> Fraction:
        return row(behind(h), a)

    @cache
    def U(n: int, s: Any, m: Any) -> Fraction:
        """What n steps in the product pay, by walking."""
        if n == 0:
            return Fraction(0)
        total = Fraction(0)
        for a in A:
            if not (chance := row(m, a)):
                continue
            for (t, r), y in P.p(s, a).items():
                later = Fraction(0)
                for o, z in P.omega(t).items() if t in going else ():
                    later += z * sum(T(m, a, r, o, k) * U(n - 1, t, k) for k in M if k[1] == o)
                total += chance * y * (r + P.gamma * later)
        return total

    R = sorted({r for s in going for a in A for _, r in P.p(s, a)})
    letters = read.letters()
    whole = letters["p"]
    sets = {"s": going, "a": A, "o": list(P.O), "h": read.H, "m": M, "r": R}
    # histories that go on from the longest ones are not listed: there nothing is said
    longest = [h for h in read.H if len(h) > 1]
    first = [h for h in read.H if len(h) == 1]
    common = letters | {
        "U": U, "G": row, "g": g, "rel": lambda h, m: int(m == behind(h)),
        "V": lambda n, s, h: read.worth(lambda n, h, a: g(h, a), n, s, h),
    }  # fmt: skip
    rewarded = common | {
        "p": lambda s, a, r, t: Fraction(P.p(s, a).get((t, r), 0)), "T": T,
    }  # fmt: skip

    def z(h: Any, m: Any) -> Fraction:
        """The chance of m and of the actions of h, given its observations."""
        chance = Fraction(m == behind(h))
        for i in range(1, len(h), 2):
            chance *= g(h[:i], h[i])
        return chance

    plain = common | {"p": whole, "T": lambda m, a, o, m1: T(m, a, 0, o, m1), "z": z}
    value = evaluate(E, pi, exact=True).value
    walked = sum(x * y * U(2, s, (empty, o)) for s, x in P.mu.items() if x
                 for o, y in P.omega(s).items())  # fmt: skip
    if walked != value:
        return f"two steps pay {walked}, the evaluator says {value}"
    leaves_off = {"on"}  # that some h1 follows: not of the longest, which are the last of a task
    both = ((dict(encoded), rewarded), (NO_MORE.given, plain))
    for formulas, numbers in both:
        kept = Theory({name: x for name, x in formulas.items() if name not in leaves_off})
        if trouble := first_broken(kept, Interpretation(sets, numbers, 2)):
            return trouble
    goes_on = all(sum(read.on(h, a, o, h1) for h1 in longest) == 1
                  for h in first for a in A for o in P.O)  # fmt: skip
    return None if goes_on else "a history does not go on"


@claim(
    "A2.optimal*",
    place="App. A.2",
    statement="If a memory is sufficiently expressive, some memoryless policy of the augmented "
    "environment is worth the best history-based value. (Beliefs start with mu, and gamma < 1 or "
    "episodes are bounded.) If Gamma reads no rewards, none is worth more.",
    verdict="argued",
    steps=(
        human(
            "belief",
            "all histories that make (m, o) possible have one belief, so beliefs are finitely many "
            "and some policy of beliefs, pi*, is best (textbook); values are limits of n steps",
        ),
        machine(
            "givens",
            "the formulas below hold of a task of two steps with OA1, whose policy is read off by "
            "the code, and two steps of it pay what the evaluator says",
        ),
        machine("policy", "do what pi* does there and write f: n steps are worth the same, any n"),
        machine("read off", "the policy read off f is worth the best history-based value"),
        machine(
            "no more", "without rewards in Gamma n steps are worth no more than the best, any n"
        ),
        machine("never more", "no memoryless policy of swap with B1 is worth more"),
    ),
)
def corrected(
    proof: Proof,
    cases: Any = LISTED,
    never_more: Any = ((swap, "B1"),),
    encoded: Theory = ENCODED,
    no_more: Theory = NO_MORE,
    givens: Theory = ENCODED,
) -> Evidence:
    """Judge the claim. `cases`: where the policy read off is evaluated. `never_more`: where the
    best memoryless policy is looked for."""
    proof.step("givens", encoded_letters(tuple(givens.given.items())))
    shown_same, shown_less = does_as_histories_do(encoded), gains_nothing(no_more)
    proof.step("policy", trouble_in(shown_same))
    proof.step("no more", trouble_in(shown_less))
    lines: list[list[Any]] = []
    certificates: list[dict[str, Any]] = [shown_same, shown_less]
    for task, name in cases:
        P = task()
        memory = attach(name, P)
        best = best_history(P, exact=True).value
        found = is_sufficiently_expressive(P, memory)
        if not found:
            reached = best_memoryless(augment(P, memory), exact=True).value
            shown = f"{P.name} with {memory.name}: best memoryless {reached}, history {best}"
            proof.step("read off", shown if reached < best else None)
            continue
        pi = read_off(P, memory, found.f)
        value = evaluate(augment(P, memory), pi, exact=True).value
        shown = f"{P.name} with {memory.name}: read off {value}, history {best}"
        proof.step("read off", None if value == best else shown)
        lines.append(
            [
                P.name,
                memory.name,
                len(beta(P, memory, found.f)),
                value if len(str(value)) < 12 else f"~{float(value):.6f}",
            ]
        )
        if isinstance(name, str):
            certificates.append(update_certificate(P, name, found.f))
            certificates.append(value_certificate(P, name, pi, value))
    for task, memory in never_more:
        P = task()
        reached, best = (
            best_memoryless(augment(P, memory), exact=True).value,
            best_history(P, exact=True).value,
        )
        shown = f"{P.name} with {attach(memory, P).name}: memoryless {reached}, history {best}"
        proof.step("never more", shown if reached > best else None)
    argument = text(
        "Let f separate the beliefs. For a pair (m, o) that some history H makes possible, m in "
        "Omega_f(H), o its last observation, the belief b(H) is the same for all such H: call it "
        "beta(m, o). At most |M| beliefs share an observation, so the MDP of beliefs is finite; "
        "let pi* be a deterministic optimal policy of it (gamma < 1, or bounded episodes). At (m, "
        "o) do a = pi*(beta(m, o)) and write f(m, o, a).",
        "After any history H with a chance the memory is in Omega_f(H), because the writes are "
        "those of f; so the action is pi*(b(H)). By induction the histories have the probabilities "
        "that pi* gives them, and the returns are the same. eta and Gamma may be stochastic, and "
        "Gamma may read rewards.",
        "Conversely, if Gamma reads no rewards, m_t is drawn from o_0, a_0, ..., o_t, the writes "
        "and chance, all independent of s_t given the history; so a memoryless policy of the "
        "augmented environment is a randomised history-based policy and is worth no more than the "
        "best of them. If beliefs are infinitely many, no finite memory is sufficiently "
        "expressive, and nothing is claimed.",
        "The policy that the proof describes, built from the f found and evaluated in rationals:",
        table_text(["task", "memory", "pairs (m,o)", "value = best history"], lines),
    )
    return argued(
        "a policy of (m, o) acts as pi* does, whatever the sizes; 10 tasks agree",
        argument,
        certificates,
    )


corrected.twin(
    "a memory that is not sufficiently expressive", guards="read off", cases=((recall, "B1"),)
)
corrected.twin(
    "values that are not discounted",
    guards="givens",
    givens=ENCODED.replaced(**{"U+": ENCODED.given["U+"].replace("gamma*", "")}),
)
corrected.twin("memories that f does not lead to", guards="policy", encoded=ENCODED.without("run"))
corrected.twin("a B that is not the best", guards="no more", no_more=NO_MORE.without("most"))
corrected.twin(
    "never more, although Gamma reads rewards",
    guards="never more",
    cases=((swap, "B1"),),
    never_more=((coin, reads_reward()),),
)
