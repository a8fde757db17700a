"""Section 5.2 and Appendix C: steps in fully observed tasks, and two misprints.

**Steps.** In a fully observed task P(s|o) does not change with the policy, and every step towards
greedy helps:

    J(pi') - J(pi) = sum_s d_pi'(s) sum_a (pi'(a|s) - pi(a|s)) q_pi(s,a)
                   = eps sum_s d_pi'(s) (max_a q_pi(s,a) - v_pi(s))  >=  0,
                     pi' = (1-eps) pi + eps greedy

with d_pi'(s) the discounted visits. Where states look alike, sum_s d_pi'(s) q_pi(s,a) is not
proportional to q_pi(o,a) any more (S52.local, S52.not-global).
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache, partial
from itertools import pairwise
from typing import Any

import sympy

from pomdps import recall4
from proofs.ledger import Evidence, Proof, claim, machine, misprint, proved
from proofs.ledger.bellman import first_broken, interpret, small_task
from proofs.ledger.generic import GAMMA
from proofs.ledger.inequalities import identical
from proofs.ledger.prose import text
from proofs.ledger.theory import Theory, trouble_in
from proofs.ledger.walks import loop_iterates
from proofs.own.histories import FULL
from workbench import POMDP, Policy, augment, evaluate
from workbench.certificates.values import identity_certificate, q_certificate
from workbench.improvement.batch import sequence_task

# ---------------------------------------------------------------------- fully observed


def seen_states() -> POMDP:
    """Two states that are seen, with a symbol for every number. Either action of the first pays and
    goes on with some chance. The second ends."""
    reward = {(s, a): sympy.Symbol(f"r{s}{a}") for s in (1, 2) for a in (0, 1)}
    goes = sympy.symbols("g0 g1")

    def p(s: Any, a: int) -> dict[tuple[Any, Any], Any]:
        if s == 2:
            return {("end", reward[2, a]): 1}
        return {(2, reward[1, a]): goes[a], ("end", reward[1, a]): 1 - goes[a]}

    return POMDP.from_functions(
        name="seen",
        A=(0, 1),
        p=p,
        omega=lambda s: {2 if s == "end" else s: 1},
        mu={1: 1},
        gamma=GAMMA,
        terminal={"end"},
    )


SEEN = Theory(
    {
        "v": "v(s) == sum[a](pi(s,a)*q(s,a))",
        "q": "q(s,a) == R(s,a) + gamma*sum[s1](p(s,a,s1)*v(s1))",
        "J": "J == sum[s](mu(s)*v(s))",
        "v1": "v1(s) == sum[a](pi1(s,a)*q1(s,a))",
        "q1": "q1(s,a) == R(s,a) + gamma*sum[s1](p(s,a,s1)*v1(s1))",
        "J1": "J1 == sum[s](mu(s)*v1(s))",
        "mu": "mu(s) == d1(s) - gamma*sum[s1,a](d1(s1)*pi1(s1,a)*p(s1,a,s))",
        "toward": "pi1(s,a) == pi(s,a) + eps*(g(s,a) - pi(s,a))",
        "pi": "sum[a](pi(s,a)) == 1",
        "pi+": "pi(s,a) >= 0",
        "eps+": "eps >= 0",
        "d1+": "d1(s) >= 0",
        "gains": "sum[a]((g(s,a) - pi(s,a))*q(s,a)) >= 0",
    }
)
"""Bellman's equations of two policies of a fully observed task, the second a step towards g. In
each state g gains: it is greedy there (`CHOICE`), or the loop leaves it alone, and g is pi."""

CHOICE = Theory(
    {
        "pi": "sum[a](pi(s,a)) == 1",
        "pi+": "pi(s,a) >= 0",
        "most": "sum[a1](g(s,a1)*q(s,a1)) - q(s,a) >= 0",
    }
)
"""A policy, and one that takes an action with the largest q-value."""


@cache
def seen_loop_broken(theory: tuple[tuple[str, str], ...]) -> str | None:
    """The first formula that the code's loop does not fit, on seen tasks, steps 1/3 and 1."""
    drawn = small_task(1, Fraction(1, 2))
    table = augment(sequence_task(FULL), "window2")  # full steps leave some of its states alone
    for P, eps in ((drawn, Fraction(1, 3)), (table, Fraction(1))):
        seen = POMDP.from_functions(
            name=f"{P.name}, seen", A=P.A, p=P.p, omega=lambda s: {s: 1}, mu=dict(P.mu.items()),
            gamma=P.gamma, terminal=P.terminal,
        )  # fmt: skip
        for one, other in pairwise(loop_iterates(seen, eps, 4)):
            read = interpret(seen, one.pi, other.pi, eps=eps)
            rows = {"pi": one.pi, "pi1": other.pi, "g": one.greedy}
            by_state = {name: partial(_row, each) for name, each in rows.items()}
            model = replace(read, functions={**read.functions, **by_state})
            if trouble := first_broken(Theory(dict(theory)), model):
                return f"step {eps}, iterate {one.n}: {trouble}"
    return None


def _row(pi: Policy, s: Any, a: Any) -> Any:
    return pi[s, a]


BY_VISITS_SEEN = (
    ("unfold", "J"),
    ("unfold", "J1"),
    ("unfold", "mu"),
    ("add", "v1", "-d1(s)"),
    ("add", "q1", "-d1(s)*pi1(s,a)"),
    ("add", "v", "d1(s)"),
    ("add", "q", "d1(s)*pi1(s,a)"),
)


@claim(
    "S52.mdp",
    place="Sec. 5.2",
    statement="In a fully observed task a step of any size towards the greedy policy does not "
    "decrease the return (gamma < 1 or episodes that end). Small steps are needed where states "
    "look alike.",
    verdict="proved",
    steps=(
        machine(
            "givens",
            "The code's loop fits the formulas below: three steps of 1/3 and three full steps, "
            "which leave states that they do not visit alone.",
        ),
        machine("any size", "J(pi') - J(pi) = sum_s d_pi'(s) sum_a (pi' - pi)(a|s) q_pi(s,a)"),
        machine("choice", "In a state whose action is greedy, sum_a (g - pi)(a|s) q_pi(s,a) >= 0."),
        machine("greedy", "Towards g it is a sum of terms >= 0, whatever the size and eps."),
        machine("difference", "So says the evaluator on two seen states, all numbers symbols."),
    ),
)
def any_step_helps(
    proof: Proof,
    visits: str = "after",
    difference: Theory = SEEN,
    theory: Theory = SEEN,
    choice: Theory = CHOICE,
    givens: Theory = SEEN,
) -> Evidence:
    """Judge the claim. `visits`: whether d is that of the policy after, or before, the step.
    `difference`, `theory`, `choice`: the formulas that are given. `givens`: those that are compared
    with the loop."""
    proof.step("givens", seen_loop_broken(tuple(givens.given.items())))
    general = difference.shows(
        "what another policy changes",
        "J1 - J == sum[s,a](d1(s)*(pi1(s,a) - pi(s,a))*q(s,a))",
        BY_VISITS_SEEN,
    )
    helps = theory.shows(
        "towards greedy",
        "J1 - J >= 0",
        [
            *BY_VISITS_SEEN,
            ("unfold", "toward"),
            ("less", 1, (("eps+", {}), ("d1+", {}), ("gains", {}))),
        ],
    )
    gains = choice.shows(
        "a greedy action gains",
        "sum[a]((g(s,a) - pi(s,a))*q(s,a)) >= 0",
        [("less", 1, (("pi+", {}), ("most", {}))), ("add", "pi", "sum[a1](g(s,a1)*q(s,a1))")],
    )
    proof.step("any size", trouble_in(general))
    proof.step("choice", trouble_in(gains))
    proof.step("greedy", trouble_in(helps))
    P = seen_states()
    before = dict(zip((1, 2), sympy.symbols("p1 p2"), strict=True))
    after = dict(zip((1, 2), sympy.symbols("t1 t2"), strict=True))
    J, q = {}, None
    for name, pi in (("before", before), ("after", after)):
        found = evaluate(P, Policy.from_mapping(P, {s: {0: 1 - x, 1: x} for s, x in pi.items()}))
        J[name] = sympy.sympify(found.value)
        q = found.q if name == "before" else q
    goes = sympy.symbols("g0 g1")
    way = after if visits == "after" else before
    d = {1: sympy.Integer(1), 2: GAMMA * ((1 - way[1]) * goes[0] + way[1] * goes[1])}
    assert q is not None
    right = sum(d[s] * (after[s] - before[s]) * (q[s, 1] - q[s, 0]) for s in (1, 2))
    left = J["after"] - J["before"]
    proof.step("difference", None if identical(left, right) else "the two sides differ")
    argument = text(
        "The difference of the returns is a sum over the states that the new policy visits of what "
        "it gains there, and q_pi(s,a) belongs to the state, not to a mixture of states: greedy "
        "gains in each, and a state that the loop leaves alone loses nothing. So every step in "
        "[0, 1] helps, the full one most. All lines are certificates: sums over index sets of any "
        "size that cancel.",
    )
    certificate = identity_certificate("the difference", str(left), str(right))
    return proved(
        "the return changes by a sum of gains, none negative, whatever the size",
        argument,
        [general, gains, helps, certificate],
    )


any_step_helps.twin("with the visits before the step", guards="difference", visits="before")
any_step_helps.twin("towards what gains nothing", guards="greedy", theory=SEEN.without("gains"))
any_step_helps.twin("an action that is not greedy", guards="choice", choice=CHOICE.without("most"))
any_step_helps.twin(
    "a loop that chooses where it does not go",
    guards="givens",
    givens=SEEN.extended(most=CHOICE.given["most"]),
)
any_step_helps.twin(
    "visits that are not discounted",
    guards="any size",
    difference=SEEN.replaced(mu="mu(s) == d1(s) - sum[s1,a](d1(s1)*pi1(s1,a)*p(s1,a,s))"),
)


# ---------------------------------------------------------------------- misprints


def locally_best(E: POMDP, second: int = 3) -> Policy:
    """pi_l of Appendix C: action 1 and the write 1, then 3. Or another second action."""
    return Policy.deterministic(E, {("0", "o"): (1, "1"), ("1", "o"): (second, "1")})


@claim(
    "C2.print",
    place="App. C, Lemma C.2",
    statement="Lemma C.2 as printed: the policy that is greedy on the q-values of pi_l 'is pi_1 "
    "itself'. No pi_1 is defined, and the policy that always takes action 1 is not it.",
    verdict="misprint",
    corrected_by="C2",
    steps=(
        machine("printed", "Greedy on pi_l's q-values does not take 1 twice: then r_13 > r_11."),
        machine("meant", "It is pi_l, which is what the proof of the lemma ends with."),
    ),
)
def pi_one(proof: Proof, printed: int = 1, meant: int = 3) -> Evidence:
    """The greedy policy of pi_l, in rationals."""
    P = recall4()
    E = augment(P, "B1")
    found = evaluate(E, locally_best(E), exact=True)
    greedy = found.pi.greedy(found.q.array)
    taken = {o: E.A[int(greedy.actions[E.O.index(o)])] for o in (("0", "o"), ("1", "o"))}
    print_, right = ({("0", "o"): (1, "1"), ("1", "o"): (a, "1")} for a in (printed, meant))
    proof.step("printed", "greedy is what is printed" if taken == print_ else None)
    proof.step("meant", None if taken == right else f"greedy is {taken}")
    argument = text(
        "pi_l does 1 and writes 1, then 3. Its q-values at memory 1 are r_1a, largest at a = 3 "
        "(3/4 against r_11 = 1/2). 'pi_1' for 'pi_l': the subscript is the digit in the place of "
        "the letter.",
    )
    return misprint(
        "pi_1 is printed and pi_l is meant",
        argument,
        "r_13 = 3/4 > r_11 = 1/2",
        [q_certificate(P, "B1", found)],
    )


pi_one.twin("3 is what is printed", guards="printed", printed=3)
pi_one.twin("2 is what is meant", guards="meant", meant=2)


@claim(
    "C5.print",
    place="App. C, Lemma C.5",
    statement="The proof of Lemma C.5 as printed: t^n_i = p^0_im / sum_i p^0_im, with an m that "
    "is not bound. It is n that is meant.",
    verdict="misprint",
    corrected_by="C5",
    steps=(
        machine("printed", "With m another memory state than n the q-values at n are others."),
        machine("meant", "With m = n they are the evaluator's, for a policy of B2 that is skewed."),
    ),
)
def unbound_index(proof: Proof, shift: int = 1, right: int = 0) -> Evidence:
    """A policy of B2 whose first row is skewed, q at each n >= 1."""
    P = recall4()
    E = augment(P, "B2")
    weight = {a: Fraction(i + 1, sum(range(1, len(E.A) + 1))) for i, a in enumerate(E.A)}
    rows = {o: dict.fromkeys(E.A, Fraction(1, len(E.A))) for o in E.O if o[0] != "00"}
    pi = Policy.from_mapping(E, {("00", "o"): weight, **rows})
    found = evaluate(E, pi, exact=True)
    states = ["01", "10", "11"]
    reward = {(i, a): next(iter(P.p(f"s{i}", a)))[1] for i in P.A for a in P.A}

    def off(by: int) -> str | None:
        for n, state in enumerate(states):
            m = states[(n + by) % 3]
            total = sum(weight[i, m] for i in P.A)
            for a in P.A:
                said = sum(weight[i, m] * reward[i, a] for i in P.A) / total
                if said != found.q[(state, "o"), (a, "00")]:
                    return f"at {state}, {a}: {said}"
        return None

    proof.step("printed", None if off(shift) else "any m will do")
    proof.step("meant", off(right))
    argument = text(
        "At memory n >= 1 the state is s_i with probability t^n_i, the share of action i among the "
        "first steps that wrote n: p^0_in / sum_j p^0_jn. Printed is m, which the sentence does "
        "not bind. With m = n the formula is what the evaluator finds, for a first row that gives "
        "the sixteen pairs (a, w) the probabilities 1/136, 2/136, ...; with another m it is not.",
    )
    return misprint(
        "m is printed and n is meant", argument, off(shift) or "", [q_certificate(P, "B2", found)]
    )


unbound_index.twin("m = n is what is printed", guards="printed", shift=0)
unbound_index.twin("m = n + 1 is what is meant", guards="meant", right=1)
