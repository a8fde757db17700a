"""Section 5.2: is an optimal solution stable under the oracle loop?

"If the memory can represent the optimal policy, then that solution will be stable given accurate
q-value estimations." Let pi be a memoryless policy (of the task with its memory) that is worth V*,
the best history-based value. It is greedy on its own q-values, so the loop has no reason to leave
it; but with equal q-values it has no reason to stay either. Two actions that are as good as the
chosen ones, each by itself, need not be good together.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import product
from types import MappingProxyType
from typing import Any

import sympy

from pomdps import recall4, recall_variant
from proofs.ledger import Evidence, Proof, claim, machine, open_, proved, refuted
from proofs.ledger.bellman import (
    CHANCES,
    VALUES,
    first_broken,
    interpret,
    mixed_policy,
    small_task,
)
from proofs.ledger.inequalities import DecidedInequality, impossible, lowest_terms
from proofs.ledger.prose import table_text, text
from proofs.ledger.theory import Factors, Theory, trouble_with
from proofs.ledger.walks import walk_letters
from proofs.section52_tiny import Tiny, returns_along_a_step, tiny_tasks
from workbench import POMDP, Policy, augment, best_history, evaluate
from workbench.certificates.values import step_certificate
from workbench.checker.recheck import recheck
from workbench.core.ties import greedy_actions, tie_order

eps = sympy.Symbol("eps")


def best_of(one: Tiny) -> Fraction:
    """The best history-based value of a tiny task: whoever remembers knows the state."""
    later = max(one.rewards[2:])
    return max(one.rewards[i] + one.gamma * one.goes_on[i] * later for i in (0, 1))


# ---------------------------------------------------------------------- S52.stable


@claim(
    "S52.stable",
    place="Sec. 5.2",
    statement="If the memory can represent the optimal policy, that solution is stable. With "
    "accurate q-values the loop does not leave it, whatever the rule for ties. (The paper gives a "
    "rule for writes only. Here the lower of two equal actions wins.)",
    verdict="refuted",
    corrected_by="S52.stable*",
    steps=(machine("left", "the loop leaves an optimal policy whose q-values tie"),),
)
def optimum_is_stable(proof: Proof, ties: bool = True) -> Evidence:
    """Search the smallest tasks for an optimal policy that the loop leaves. `ties`: whether its
    q-values may be equal."""
    for one in tiny_tasks(1, (Fraction(1),)):
        for p in (Fraction(0), Fraction(1)):
            before, first, second, tie = returns_along_a_step(one, p, False)
            if before == best_of(one) and (first, second) != (0, 0) and (ties or not tie):
                proof.step("left")
                return _left(one, p, before, first, second)
    proof.step("left", "no optimum of the smallest tasks is left")
    return open_(
        "no optimum of the smallest tasks is left",
        "All deterministic policies worth the best history-based value.",
    )


def _left(one: Tiny, p: Fraction, before: Fraction, first: Fraction, second: Fraction) -> Evidence:
    P = one.model
    pi = Policy.from_mapping(P, {"o": {"l": 1 - p, "r": p}})
    if best_history(P).value != before:
        raise AssertionError(f"the best history-based value of {one} is not {before}")
    cycle = _values(P, pi, Fraction(1), 6)
    slow = _values(P, pi, Fraction(1, 10), 4)
    q = evaluate(P, pi, exact=True).q
    table = table_text(["state", "action", "reward", "next"], one.table())
    certificates = [
        step_certificate(P, pi, eps, before, f"{before} + ({first})*eps + ({second})*eps**2"),
        step_certificate(P, pi, 1, before, before + first + second),
    ]
    argument = text(
        "One observation, two states, no memory needed:",
        table,
        f"The policy that always takes {'r' if p else 'l'} is worth {before}, as much as any "
        f"history-based policy can be. Its q-values are q(o,l) = {q['o', 'l']} and q(o,r) = "
        f"{q['o', 'r']}: the other action is as good once, from the first state, if the chosen one "
        "follows. The rule for ties (the lower action wins; with other names, the higher) takes "
        f"the other one, and a step eps gives the return {before} + ({first}) eps + ({second}) "
        f"eps^2 < {before}.",
        f"With steps of 1 the returns are {', '.join(map(str, cycle))}, ... for ever. With a "
        "small step the loop leaves the "
        f"optimum, here {', '.join(str(round(float(v), 4)) for v in slow)}, ..., and comes back "
        "only in the limit.",
        "Missing hypothesis: the rule for ties must prefer the optimal policy's own actions, or "
        "no other action may tie.",
        "If 'the optimal policy' is read as the best memoryless one, it may have to be stochastic, "
        "and then greedy always leaves it: in the first task of S52.local the best policy takes l "
        "and r with probability 1/2, their q-values are equal, and every step away lowers the "
        "return.",
        f"A second way: {recheck(certificates[1])}.",
    )
    return refuted(
        "where actions tie, two changes that are harmless alone can be bad together",
        argument,
        counterexample=table,
        certificates=certificates,
    )


def _values(P: POMDP, pi: Policy, step: Fraction, count: int) -> list[Fraction]:
    """The returns of the loop's first iterates."""
    found = []
    for _ in range(count):
        now = evaluate(P, pi, exact=True)
        found.append(now.value)
        pi = pi.toward(pi.greedy(now.q.array), step)
    return found


optimum_is_stable.twin("no ties", guards="left", ties=False)


# ---------------------------------------------------------------------- S52.stable*

SWITCHED = Theory(
    {
        **VALUES,
        "g0": "g(0) == 1",
        "g+": "g(n+1) == gamma*g(n)",
        "a0": "alpha(0,s) == mu(s)",
        "a+": "alpha(n+1,s1) == sum[s,o,a](alpha(n,s)*om(s,o)*pi(o,a)*p(s,a,s1))",
        "C0": "C(0) == 0",
        "C+": "C(n+1) == C(n) + g(n)*sum[s,o,a](alpha(n,s)*om(s,o)*pi(o,a)*R(s,a))",
        "head": "J == C(n) + g(n)*sum[s](alpha(n,s)*v(s))",
        "loss": "loss(n,o,a) == sum[s](alpha(n,s)*om(s,o)*(sum[a1](pi(o,a1)*q(s,a1)) - q(s,a)))",
        "switch": "W(n,o,a) == C(n) + g(n)*(sum[s](alpha(n,s)*v(s)) - loss(n,o,a))",
        "best": "J - W(n,o,a) >= 0",
        "h+": "h(n) >= 0",
        "h": "h(n)*g(n) == 1",
        "each": "loss(n,o,a) >= 0",
        "gn+": "g(n) >= 0",
        "D0": "D(0,s) == 0",
        "D+": "D(n+1,s) == D(n,s) + alpha(n,s)",
        "F0": "F(0,s) == 0",
        "F+": "F(n+1,s) == F(n,s) + g(n)*alpha(n,s)",
    }
)
"""g is gamma^n, h one over it, alpha the chance of s at time n, C what was paid before, W what the
switch at time n is worth; D and F are visits and discounted visits before time n, whose limits are
the visits. "head" and "each" are what is shown."""


def _heads(theory: Theory) -> list[dict[str, Any]]:
    return [
        theory.without("head").shows(
            "the first n steps and the rest",
            "J == C(n) + g(n)*sum[s](alpha(n,s)*v(s))",
            [
                ("add", "hypothesis", "-1"),
                *(("unfold", name) for name in ("C+", "g+", "a+")),
                ("add", "v", "-g(n)*alpha(n,s)"),
                ("add", "q", "-g(n)*alpha(n,s)*om(s,o)*pi(o,a)"),
            ],
            base=[("unfold", name) for name in ("J", "C0", "g0", "a0")],
        )
    ]


def _switches(theory: Theory) -> list[dict[str, Any]]:
    return [
        theory.without("each").shows(
            "a switch loses",
            "loss(n,o,a) >= 0",
            [
                ("add", "h", "loss(n,o,a)"),
                ("less", 1, (("h+", {}), ("best", {}))),
                ("unfold", "switch"),
                ("add", "head", "h(n)"),
            ],
        )
    ]


def _visits(theory: Theory) -> list[dict[str, Any]]:
    lost = "om(s,o)*(sum[a1](pi(o,a1)*q(s,a1)) - q(s,a))"
    return [
        theory.shows(
            f"over {name}",
            f"sum[s]({sum_}(n,s)*{lost}) >= 0",
            [
                ("unfold", f"{sum_}+"),
                ("less", 1, (("hypothesis", {}),)),
                ("less", 1, factors),
                ("unfold", "loss"),
            ],
            base=[("unfold", f"{sum_}0")],
        )
        for name, sum_, factors in (
            ("visits", "D", (("each", {}),)),
            ("discounted visits", "F", (("gn+", {}), ("each", {}))),
        )
    ]


TAIL = Theory(
    {
        **CHANCES,
        "b0": "beta(0,s) == mu(s)",
        "b+": "beta(n+1,s1) == z*sum[s,o,a](beta(n,s)*om(s,o)*pi(o,a)*p(s,a,s1))",
        "D0": "D(0,s) == 0",
        "D+": "D(n+1,s) == D(n,s) + beta(n,s)",
        "d": "d(s1) == mu(s1) + z*sum[s,o,a](d(s)*om(s,o)*pi(o,a)*p(s,a,s1))",
        "l": "z*sum[o,a,s1](om(s,o)*pi(o,a)*p(s,a,s1)*l(s1)) == l(s) - 1",
        "k": "z*sum[o,a,s1](om(s,o)*pi(o,a)*p(s,a,s1)*k(s1)) == k(s) - l(s)",
        "K": "K == sum[s](mu(s)*k(s))",
        "f0": "f(0) == 0",
        "f+": "f(n+1) == f(n) + 1",
        "mu+": "mu(s) >= 0",
        "d+": "d(s) >= 0",
        "k+": "k(s) >= 0",
        "z+": "z >= 0",
        "f>": "f(n) >= 0",
        "A+": "A >= 0",
        "X": "X(s) + A >= 0",
        "so far": "sum[s](D(n,s)*X(s)) >= 0",
        "flow": "D(n,s1) + beta(n,s1) == mu(s1) + z*sum[s,o,a](D(n,s)*om(s,o)*pi(o,a)*p(s,a,s1))",
        "b>": "beta(n,s1) >= 0",
        "e>": "d(s1) - D(n,s1) >= 0",
        "left": "sum[s](d(s) - D(n,s)) == sum[s](beta(n,s)*l(s))",
        "rare": "K - f(n)*sum[s](beta(n,s)*l(s)) - sum[s](beta(n,s)*k(s)) >= 0",
    }
)
"""D(n,s) are the visits before time n, beta those at time n, d all of them; z = 1, or gamma if they
are discounted. l(s) is the mean number of steps from s, k(s) that of the steps that are still to
come, summed over all times; X(s) what a switch loses in s, at least -A. "so far" is what the step
before shows; what follows it is shown here."""


DERIVED = ("flow", "b>", "e>", "left", "rare")
"""The formulas of `TAIL` that are shown, in this order."""


def _tails(theory: Theory) -> list[dict[str, Any]]:
    """n sum_s d(s) X(s) >= -A K for every n: so the sum itself is not negative."""
    before: Factors = (
        ("z+", {}),
        ("om+", {}),
        ("pi+", {}),
        ("p+", {}),
        ("hypothesis", {"s1": "s"}),
    )
    named = {"s1": "s"}
    # each is shown from what is given and from what was shown before it
    known = [theory.without(*DERIVED[i:]) for i in range(len(DERIVED) + 1)]
    return [
        known[0].shows(
            "visits before a time",
            theory.given["flow"],
            [
                ("unfold", "D+"),
                ("unfold", "b+"),
                ("add", "hypothesis", "-1"),
            ],
            base=[("unfold", "D0"), ("unfold", "b0")],
        ),
        known[1].shows(
            "chances are not negative",
            theory.given["b>"],
            [("unfold", "b+"), ("less", 1, before)],
            base=[("unfold", "b0"), ("less", 1, (("mu+", {"s": "s1"}),))],
        ),
        known[2].shows(
            "visits to come are not negative",
            theory.given["e>"],
            [
                ("unfold", "D+"),
                ("add", "flow", "1"),
                ("add", "d", "-1"),
                ("less", 1, before),
            ],
            base=[("unfold", "D0"), ("less", 1, (("d+", {"s": "s1"}),))],
        ),
        known[3].shows(
            "visits to come",
            theory.given["left"],
            [
                ("add", "l", "-(d(s) - D(n,s))"),
                ("add", "d", "-l(s1)"),
                ("add", "flow", "l(s1)"),
            ],
        ),
        known[4].shows(
            "n times what is to come",
            theory.given["rare"],
            [
                ("unfold", "f+"),
                ("unfold", "b+"),
                ("add", "l", "(f(n) + 1)*beta(n,s)"),
                ("add", "k", "beta(n,s)"),
                ("less", 1, (("hypothesis", {}),)),
                ("less", 1, (("f>", {}), ("b>", named))),
                ("less", 1, (("b>", named),)),
            ],
            base=[("unfold", "f0"), ("unfold", "b0"), ("unfold", "K")],
        ),
        known[5].shows(
            "all visits",
            "f(n)*sum[s](d(s)*X(s)) + A*K >= 0",
            [
                ("less", 1, (("f>", {}), ("so far", {}))),
                ("less", 1, (("f>", {}), ("e>", named), ("X", {}))),
                ("add", "left", "A*f(n)"),
                ("less", 1, (("A+", {}), ("rare", {}))),
                ("less", 1, (("A+", {}), ("b>", named), ("k+", {}))),
            ],
        ),
    ]


SHOWN = MappingProxyType(
    {
        "head": (SWITCHED, _heads),
        "switch": (SWITCHED, _switches),
        "visits": (SWITCHED, _visits),
        "limit": (TAIL, _tails),
    }
)
"""What carries each step of S52.stable* for all sizes."""


@cache
def misread_switch(later: int = 0) -> str | None:
    """Where the value of a switch, by a clock of three states, is not what the formulas say."""
    P = small_task(3, Fraction(1, 2))
    pi = mixed_policy(P, 3)
    found = evaluate(P, pi, exact=True)
    going = [s for s in P.S if s not in P.terminal]
    E = augment(P, "counter4")
    alpha = {s: Fraction(P.mu[s]) for s in going}
    model = interpret(P, pi, pi)
    om, p = model.functions["om"], model.functions["p"]
    for n in range(2):
        for o, a in product(P.O, P.A):
            rows = {
                (m, seen): (
                    {(a, "-"): 1}
                    if (m, seen) == (n + later, o)
                    else {(b, "-"): pi[seen, b] for b in P.A}
                )
                for m, seen in E.O
            }
            value = evaluate(E, Policy.from_mapping(E, rows), exact=True).value
            loss = sum(
                alpha[s]
                * om(s, o)
                * (pi[o, b] * found.q_state[s, b] - (b == a) * found.q_state[s, a])
                for s in going
                for b in P.A
            )
            if value != found.value - P.gamma**n * loss:
                return f"at {n}, {o}, {a}: {value}, not {found.value - P.gamma**n * loss}"
        alpha = {
            t: sum(
                alpha[s] * om(s, o) * pi[o, a] * p(s, a, t) for s in going for o in P.O for a in P.A
            )
            for t in going
        }
    return None


HYPOTHESES = ("best", "each", "switch", "so far")
"""What is assumed of an optimum, or shown; the value of a switch is compared by a clock below."""


@cache
def switch_letters(seed: int, z: Fraction, theory: tuple[tuple[str, str], ...]) -> str | None:
    """The first formula of `SWITCHED`, changed or not, or of `TAIL` that a task does not obey."""
    P = small_task(seed, Fraction(4, 5))
    pi = mixed_policy(P, seed)
    found = evaluate(P, pi, exact=True, weights="visits" if z == 1 else "discounted")
    letters = walk_letters(P, pi, z)

    def lost(s: Any, o: Any, a: Any) -> Fraction:
        q = found.q_state
        return sum((pi[o, b] * q[s, b] for b in P.A), Fraction(0)) - q[s, a]

    going = [s for s in P.S if s not in P.terminal]
    o, a = P.O[0], P.A[0]
    losses = {s: Fraction(P.omega(s).get(o, 0)) * lost(s, o, a) for s in going}
    more = {
        "loss": lambda n, o, a: sum(
            (
                letters["alpha"](n, s) * Fraction(P.omega(s).get(o, 0)) * lost(s, o, a)
                for s in going
            ),
            Fraction(0),
        ),
        "X": losses.__getitem__,
        "A": max(map(abs, losses.values())),
        "d": lambda s: found.visits[s],
    }
    read = interpret(P, pi, pi, **{**letters, **more})
    held = {name: x for name, x in theory if name not in HYPOTHESES and name[0] not in "DF"}
    tail = {name: x for name, x in TAIL.given.items() if name not in HYPOTHESES}
    plain = {**letters, "D": walk_letters(P, pi, Fraction(1))["D"], **more}
    first = interpret(P, pi, pi, **plain)
    sums = {name: x for name, x in theory if name[0] in "DF"}
    return (
        first_broken(Theory(held), read)
        or first_broken(Theory(sums), first)
        or first_broken(Theory(tail), read)
    )


@claim(
    "S52.stable*",
    place="Sec. 5.2",
    statement="A memoryless policy that is worth the best history-based value takes only actions "
    "with the largest q-value on every observation that it visits. That is so whether states are "
    "weighted by visits or by discounted visits. So the loop stays at it, if it is deterministic, "
    "for every step, exactly if the rule for ties prefers its actions. If no other action ties, "
    "it does.",
    verdict="proved",
    steps=(
        machine(
            "givens",
            "the formulas below hold of what the evaluator finds in two tasks with chance, with "
            "visits and with discounted ones",
        ),
        machine("head", "J = what n steps pay + gamma^n sum_s alpha_n(s) v(s), by induction on n"),
        machine("switch", "to do a at time n on o, and else as pi, gains nothing if pi is best"),
        machine(
            "visits", "so the losses over (discounted) visits before time n are >= 0, any size"
        ),
        machine("limit", "so over all visits: n times their sum is >= -A K, for every n"),
        machine("read", "the value of such a switch, by a clock in memory, is what is said"),
        machine("two steps", "all tasks of two steps that look alike, any rewards and gamma"),
        machine("listed", "all deterministic policies worth V* of three products are greedy"),
    ),
)
def optimum_is_greedy(
    proof: Proof,
    reaches: str = "V*",
    spoil: Fraction = Fraction(0),
    below: Fraction = Fraction(0),
    later: int = 0,
    theories: Any = MappingProxyType({}),
    givens: Theory = SWITCHED,
) -> Evidence:
    """The argument for every POMDP. The solver for all two-step tasks that look alike. Two tasks of
    the paper in full.

    Parameters
    ----------
    reaches : what the policy is worth: "V*", or at least what "constant actions" are.
    spoil : how much the policy may be worth less than that.
    below : how much less than V* the listed policies may be worth.
    later : how many steps later than said the switch is made where it is evaluated.
    theories : other formulas for a step.
    givens : the formulas that are compared with the code.
    """
    for seed in (3, 4):
        for z in (Fraction(1), Fraction(4, 5)):
            proof.step("givens", switch_letters(seed, z, tuple(givens.given.items())))
    certificates: list[dict[str, Any]] = []
    for key, (theory, show) in SHOWN.items():
        shown = show(theories.get(key, theory))
        proof.step(key, trouble_with(shown))
        certificates += shown
    proof.step("read", misread_switch(later))
    for decided in _two_step_tasks(reaches, spoil):
        numbers = ", ".join(f"{name} = {x}" for name, x in (decided.witness or {}).items())
        proof.step("two steps", None if decided.holds else numbers)
        certificates += decided.certificates
    lines = [_all_optimal(P, memory, below) for P, memory in LISTED]
    for line in lines:
        proof.step("listed", line[4])
    argument = text(
        "Let alpha_n(s) be the chance of being in s at time n, C_n what is paid before. Then J = "
        "C_n + gamma^n sum_s alpha_n(s) v(s) for every n. The history-based policy that does as pi "
        "but takes a at time n if it sees o is worth",
        "  J + gamma^n sum_s alpha_n(s) omega(o|s) (q_pi(s,a) - sum_b pi(b|o) q_pi(s,b))",
        "and no more than V*. If J = V* each of these sums is <= 0. Added up over n, as they are "
        "or times gamma^n, they are the visits of o before time n times q_pi(o,a) - v_pi(o). What "
        "is to come after time n is at most K/n visits, K the mean of the steps still to come, "
        "summed over all times, which is finite as the mean length of an episode is, or as gamma "
        "< 1; so the same holds of all visits. So no action is better than pi's mean, and pi takes "
        "only best ones. Every line is a certificate for tasks of any size.",
        "Greedy then is pi itself on every visited observation where its action is the rule's "
        "choice among the best ones, rows "
        "without visits stay as they are, and (1-eps) pi + eps pi = pi.",
        "By combinations of products: for all tasks of two steps with one observation, two "
        "actions, any six rewards and any gamma in (0,1], a policy worth V* with pi(a) > 0 cannot "
        "have q(o,b) > q(o,a), with visits and with discounted visits.",
        "In the paper's tasks, all deterministic policies worth V*, and how many of them the rule "
        "for ties (higher write, then lower action) leaves where they are:",
        table_text(["task", "policies", "worth V*", "fixed"], [line[:4] for line in lines]),
        "If, moreover, every other action is strictly worse after every history that pi produces "
        "(by D at least), pi attracts: let episodes have at most T steps, returns lie within R of "
        "each other, and let pi' take another action than pi on the observations that pi visits "
        "with probability d at most. Then on such an observation, seen w times per episode under "
        "pi, pi's action leads by w (1-d)^T (D - T d R) - T^2 d R or more, over the number of "
        "visits: positive for small d, whatever pi' does elsewhere. So greedy agrees with pi "
        "there, and each step multiplies d by 1-eps.",
    )
    return proved("for every POMDP, whatever its size", argument, certificates)


@cache
def _two_step_tasks(reaches: str, spoil: Fraction) -> tuple[DecidedInequality, ...]:
    """Whether a policy worth V* can prefer an action that it does not take. All rewards r_i, r_ij,
    all pi(1) = p and gamma are free."""
    p, gamma = sympy.symbols("p gamma")
    r = {name: sympy.Symbol(f"r{name}") for name in ("0", "1", "00", "01", "10", "11")}

    def transition(s: str, a: int) -> dict[tuple[str, Any], int]:
        return {(str(a), r[str(a)]): 1} if s == "start" else {("end", r[f"{s}{a}"]): 1}

    P = POMDP.from_functions(
        name="two steps",
        A=(0, 1),
        p=transition,
        omega=lambda s: {"o": 1},
        mu={"start": 1},
        gamma=gamma,
        terminal={"end"},
    )
    pi = Policy.from_mapping(P, {"o": {0: 1 - p, 1: p}})
    found = []
    for weights in ("visits", "discounted"):
        value = evaluate(P, pi, weights=weights)
        gap, below = lowest_terms(value.q["o", 0] - value.q["o", 1])
        given = [p >= 0, p <= 1, gamma > 0, gamma <= 1]
        if below.free_symbols:  # 1 + gamma
            found.append(impossible([*given, below <= 0]))
        for i, j in product((0, 1), repeat=2):
            if reaches == "V*" or i == j:
                given.append(value.value + spoil >= r[str(i)] + gamma * r[f"{i}{j}"])
        found.append(impossible([*given, p > 0, gap > 0]))
        found.append(impossible([*given, p < 1, gap < 0]))
    return tuple(found)


LISTED = ((recall4(), "B1"), (recall_variant(), "OA1"), (recall_variant(), "B1"))


@cache
def _all_optimal(
    P: POMDP, memory: str, below: Fraction = Fraction(0)
) -> tuple[str, int, int, int, str]:
    """Task, deterministic policies, those worth V*, those of them that greedy leaves alone, and one
    that is not greedy."""
    E = augment(P, memory)
    best = Fraction(best_history(P).value) - below
    rows = [o for i, o in enumerate(E.O) if E.decides[i]]
    order = tie_order(E.A)
    optimal = fixed = count = 0
    for actions in product(range(len(E.A)), repeat=len(rows)):
        count += 1
        pi = Policy.deterministic(E, {o: E.A[a] for o, a in zip(rows, actions, strict=True)})
        if evaluate(E, pi).value < float(best) - 1e-6:
            continue
        found = evaluate(E, pi, exact=True)
        if found.value < best:
            continue
        optimal += 1
        q = found.q.array
        chosen = greedy_actions(q, order)
        for i in range(len(E.O)):
            if chosen[i] >= 0 and q[i, chosen[i]] != q[i, pi.actions[i]]:
                return E.name, count, optimal, fixed, f"{E.O[i]}: {actions}"
        fixed += all(chosen[i] in (-1, pi.actions[i]) for i in range(len(E.O)))
    return E.name, count, optimal, fixed, ""


optimum_is_greedy.twin(
    "rewards of n steps that are not discounted",
    guards="givens",
    givens=SWITCHED.replaced(**{"g+": "g(n+1) == g(n)"}),
)
optimum_is_greedy.twin(
    "v that forgets to discount",
    guards="head",
    theories={"head": SWITCHED.replaced(q="q(s,a) == R(s,a) + sum[s1](p(s,a,s1)*v(s1))")},
)
optimum_is_greedy.twin(
    "a policy that is not best", guards="switch", theories={"switch": SWITCHED.without("best")}
)
optimum_is_greedy.twin(
    "gains that may be positive", guards="visits", theories={"visits": SWITCHED.without("each")}
)
optimum_is_greedy.twin(
    "losses without a bound", guards="limit", theories={"limit": TAIL.without("X")}
)
optimum_is_greedy.twin("the switch one step later", guards="read", later=1)
optimum_is_greedy.twin("a policy worth a little less", guards="two steps", spoil=Fraction(1, 100))
optimum_is_greedy.twin(
    "no better than constant actions", guards="two steps", reaches="constant actions"
)
optimum_is_greedy.twin("policies worth 2 less", guards="listed", below=Fraction(2))
