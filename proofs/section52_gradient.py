"""Section 5.2, corrected: a small step towards greedy improves a policy when it should.

For any two memoryless policies of any POMDP

    J(pi') - J(pi) = sum_s d'(s) sum_o omega(o|s) sum_a (pi'(a|o) - pi(a|o)) q_pi(s,a)

where d' = mu + gamma P'^T d' is the discounted occupancy of pi'. It is checked on the evaluator,
for the task in which every number is a symbol, and the rest follows from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import sympy

from proofs.ledger import Evidence, Proof, claim, machine, proved
from proofs.ledger.bellman import DIFFERENCE
from proofs.ledger.prose import text
from proofs.ledger.theory import trouble_with
from proofs.section52_rate import (
    DISCOUNTED,
    ENDING,
    GREEDY,
    misread,
    shown_by_step,
)
from proofs.section52_tiny import tiny_tasks
from workbench import POMDP, Policy, evaluate
from workbench.certificates.values import identity_certificate
from workbench.core.evaluate import Evaluation
from workbench.core.fields import Field, exact_field

S, A, O = ("s", "t"), ("a", "b"), ("x", "y")


def symbol_task(numbers: Mapping[str, Fraction]) -> POMDP:
    """Two states and an end, two observations, two actions, and a symbol for every number that is
    not given."""

    def value(name: str) -> Any:
        return numbers.get(name, sympy.Symbol(name))

    def p(s: str, a: str) -> dict[tuple[str, Any], Any]:
        r = value(f"r{s}{a}")
        on = {(t, r): value(f"p{s}{a}{t}") for t in S}
        return {**on, ("end", r): 1 - sum(on.values())}

    def omega(s: str) -> dict[str, Any]:
        return {"x": 1} if s == "end" else {"x": value(f"w{s}"), "y": 1 - value(f"w{s}")}

    mu = {"s": value("m"), "t": 1 - value("m")}
    return POMDP.from_functions(
        name="any", A=A, p=p, omega=omega, mu=mu, gamma=value("g"), terminal={"end"}
    )


def symbol_policy(P: POMDP, name: str, numbers: Mapping[str, Fraction]) -> Policy:
    chances = {o: numbers.get(f"{name}{o}", sympy.Symbol(f"{name}{o}")) for o in O}
    return Policy.from_mapping(P, {o: {"a": c, "b": 1 - c} for o, c in chances.items()})


def some_numbers() -> dict[str, Fraction]:
    """Values for the symbols of the generic task and of two policies."""
    names = [f"p{s}{a}{t}" for s, a, t in product(S, A, S)] + [
        "ws",
        "wt",
        "m",
        "g",
        "ux",
        "uy",
        "vx",
        "vy",
    ]
    chances = {name: Fraction(1 + i % 3, 7) for i, name in enumerate(names)}
    return chances | {f"r{s}{a}": Fraction(i) for i, (s, a) in enumerate(product(S, A))}


@cache
def difference_identity(occupancy_of: str = "new", weights: str = "discounted") -> str | None:
    """None if the identity holds on the generic task. Else numbers for which it does not.

    It is tried for some numbers first: a false one is seen there at once, and is a large rational
    function otherwise.
    """
    for numbers in (some_numbers(), {}):
        P = symbol_task(numbers)
        pi, pi_new = symbol_policy(P, "u", numbers), symbol_policy(P, "v", numbers)
        old, new = (evaluate(P, each, exact=True, weights=weights) for each in (pi, pi_new))
        field = exact_field(P.symbols | pi.prob.symbols | pi_new.prob.symbols)
        left = field.one(new.value) - field.one(old.value)
        right = weighted_advantage(field, old, pi_new, new if occupancy_of == "new" else old)
        if left != right:
            where = ", ".join(f"{name} = {x}" for name, x in numbers.items()) or "the generic task"
            return f"J(pi') - J(pi) = {left}, but the sum is {right}, for {where}"
    return None


def weighted_advantage(field: Field, old: Evaluation, pi_new: Policy, by: Evaluation) -> Any:
    """sum_s d(s) sum_o omega(o|s) sum_a (pi'(a|o) - pi(a|o)) q_pi(s,a), with the occupancy of
    `by`."""
    P, pi, one = old.P, old.pi, field.one
    total = one(0)
    for s in P.S:
        if s in P.terminal:
            continue
        gain = one(0)
        for (o, w), a in product(P.omega(s).items(), P.A):
            gain = gain + one(w) * (one(pi_new[o, a]) - one(pi[o, a])) * one(old.q_state[s, a])
        total = total + one(by.visits[s]) * gain
    return total


@cache
def no_gain_within(factor: int = 1) -> str | None:
    """Find a task whose return does not increase with a step just below factor times the bound. It
    is small, and has a policy with G > 0. None if there is none."""
    gamma = Fraction(1, 2)
    for one in tiny_tasks(1, (gamma,)):
        P = one.model
        for p in (Fraction(1, 3), Fraction(3, 5)):
            pi = Policy.from_mapping(P, {"o": {"l": 1 - p, "r": p}})
            seen = evaluate(P, pi, exact=True, weights="discounted")
            greedy = pi.greedy(seen.q.array)
            gains = {
                s: sum((greedy["o", a] - pi["o", a]) * seen.q_state[s, a] for a in P.A)
                for s in P.S
                if s not in P.terminal
            }
            G = sum(seen.visits[s] * gain for s, gain in gains.items())
            most = max(map(abs, gains.values()))
            if G <= 0 or most == 0:
                continue
            step = min(Fraction(1), factor * G * (1 - gamma) ** 2 / (2 * gamma * most)) * Fraction(
                99, 100
            )
            if evaluate(P, pi.toward(greedy, step), exact=True).value <= seen.value:
                return f"{one}, pi(r) = {p}, step {step}"
    return None


@claim(
    "S52.local*",
    place="Sec. 5.2",
    statement="Let q_pi(o,a) be weighted by discounted visits (for gamma = 1 these are the "
    "visits). The return changes along pi + eps (greedy - pi) at the rate G = sum_o d(o) (max_a "
    "q_pi(o,a) - v_pi(o)) >= 0 at eps = 0. So unless pi is greedy on its own q-values wherever it "
    "goes, every small enough step increases the return. For gamma < 1 every eps < G (1-gamma)^2 "
    "/ (2 gamma A) does, with A = max_s |sum_{o,a} omega(o|s) (greedy - pi)(a|o) q_pi(s,a)|. For "
    "gamma = 1 every eps <= 1/(2L) with 4 eps N U < G does. N is the mean length of an episode, L "
    "the longest from any state, and U the largest |u(s)|, u the value of these gains under pi.",
    verdict="proved",
    steps=(
        machine("any size", "J(pi') - J(pi) = sum d' A', as sums over index sets of any size"),
        machine("rate", "J' - J = eps G + eps^2 X; G is a sum of terms >= 0, one for each row"),
        machine("discounted", "gamma < 1: G + eps X > 0 below the bound, whatever the size"),
        machine("ending", "gamma = 1: G + eps X > 0 below the bound, whatever the size"),
        machine("read", "the evaluator's v, q, visits satisfy the formulas, on two tasks"),
        machine("identity", "J(pi') - J(pi) = sum d' A', on a task with 20 symbols"),
        machine("instances", "steps within the bound increase the return, in 48 small tasks"),
    ),
)
def small_steps_improve(
    proof: Proof,
    weights: str = "discounted",
    occupancy_of: str = "new",
    factor: int = 1,
    read_as: str = "discounted",
    **theories: Any,
) -> Evidence:
    """Sums over index sets of any size. The task with a symbol for every number. Small tasks.

    `factor` multiplies the bound on the step in the instances; `theories`: other formulas.
    """
    certificates = []
    for key, shown in shown_by_step(**theories).items():
        proof.step(key, trouble_with(shown))
        certificates += shown
    proof.step("read", misread(read_as))
    proof.step("identity", difference_identity(occupancy_of, weights))
    proof.step("instances", no_gain_within(factor))
    argument = text(
        "For two policies, from v' = r' + gamma P' v' and v = r + gamma P v, whatever the number "
        "of states, with d' = mu + gamma P'^T d',",
        "  J(pi') - J(pi) = sum_s d'(s) sum_o omega(o|s) sum_a (pi'-pi)(a|o) q_pi(s,a)     (*)",
        "For pi' = pi + eps (g - pi) let A(s) = sum_o omega(o|s) sum_a (g-pi)(a|o) q_pi(s,a), and "
        "let u = A + gamma P u be the value of these gains under pi. (*) applied to pi and to u:",
        "  J(pi') - J(pi) = eps G + eps^2 X,   G = sum_s mu(s) u(s),",
        "  X = gamma sum_s d'(s) sum_o omega(o|s) sum_a (g-pi)(a|o) sum_s' p(s'|s,a) u(s')",
        "and by rows, q_pi(o,a) the mean with weights d(s) omega(o|s), G = sum_o d(o) (max_a "
        "q_pi(o,a) - v_pi(o)): a sum of terms >= 0, at least d(o) pi(a|o) (max q - q(o,a)) for "
        "each pair. So G = 0 exactly when pi takes only best actions wherever it goes.",
        "How small. With |u| <= U and N' = sum_s d'(s), X >= -2 gamma N' U. For gamma < 1, N' <= "
        "1/(1-gamma) and U <= A/(1-gamma), so (1-gamma)^2 (G + eps X) >= G (1-gamma)^2 - 2 gamma A "
        "eps. For gamma = 1, N' (1 - eps L) <= N, so N' <= 2N if eps L <= 1/2, and G + eps X >= G "
        "- 4 eps N U.",
        "Each of these lines is a certificate: a combination of what is given that cancels, sums "
        "over index sets of any size. That the formulas are about the evaluator's numbers is "
        "checked on two tasks; (*) is also an identity of the evaluator on the task with two "
        "states and an end, two observations, two actions and a symbol for each of its 16 numbers "
        "and of the 4 choices of the policies.",
        "Left out are G = 0, where the next orders decide (S52.local has decreases), and visits "
        "with gamma < 1.",
    )
    return proved(
        "the rate and both bounds on eps, for tasks of any size",
        argument,
        [*certificates, _certified_identity()],
    )


@cache
def _certified_identity() -> dict[str, Any]:
    """The identity on the generic task with numbers for its chances, and symbols for rewards, gamma
    and policies."""
    numbers = {name: value for name, value in some_numbers().items() if name[0] in "pwm"}
    P = symbol_task(numbers)
    pi, pi_new = symbol_policy(P, "u", {}), symbol_policy(P, "v", {})
    old, new = (evaluate(P, each, weights="discounted") for each in (pi, pi_new))
    right = sum(
        new.visits[s] * w * (pi_new[o, a] - pi[o, a]) * old.q_state[s, a]
        for s in S
        for o, w in P.omega(s).items()
        for a in A
    )
    return identity_certificate("J(pi') - J(pi)", new.value - old.value, right)


small_steps_improve.twin(
    "a start that is not where the visits begin",
    guards="any size",
    difference=DIFFERENCE.replaced(
        mu="mu(s) == d1(s) - sum[s1,o,a](d1(s1)*om(s1,o)*pi1(o,a)*p(s1,a,s))"
    ),
)
small_steps_improve.twin("towards what is not greedy", guards="rate", greedy=GREEDY.without("most"))
small_steps_improve.twin(
    "half of the bound's factor 2",
    guards="discounted",
    discounted=DISCOUNTED.replaced(small="G*(1 - gamma)**2 - gamma*Amax*eps - c >= 0"),
)
small_steps_improve.twin(
    "episodes that may be longer", guards="ending", ending=ENDING.without("half")
)
small_steps_improve.twin("read with visits, gamma = 1/2", guards="read", read_as="visits")
small_steps_improve.twin("visits instead of discounted visits", guards="identity", weights="visits")
small_steps_improve.twin("the occupancy of the old policy", guards="identity", occupancy_of="old")
small_steps_improve.twin("steps up to 60 times the bound", guards="instances", factor=60)
