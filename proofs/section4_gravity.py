"""Section 4, the gravity domain: no memoryless policy is optimal, and with one bit one is.

The force is a function of the history, so a belief is a point and the best history-based value is
that of full information. Its value function is bounded from above by any v that no action can beat,

    v(s)  >=  sum_{s', r} p(s', r | s, a) (r + gamma v(s'))        for all s and a,              (1)

and v(start) = gamma^11 is reached by walking to the button, back and up. Such a v, as a function of
gamma:

    force off    gamma^(d-1), where d is the distance to the cookie
    force on     gamma^(11-x) in the corridor, cell (x, 0); 1 in the top row; u1, u2, u3 in the rows
                 between

    u1 = 10 gamma^10 (1 - 9/10 gamma) (1 - (1-gamma)/100)        at most what keeps (1) at the start
    u3 = 1/10 + 9/10 gamma u2                                      going up from row 3
    u2 = gamma (1/10 u3 + 9/10 u1)    for gamma <= 7/10            going up from row 2
    u2 = u1                           for gamma >= 3/5

Strict inequalities in (1) tell which actions are not optimal.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import sympy
from sympy import Interval, Rational

from pomdps import gravity
from pomdps.grids import FIGURE, Grid
from proofs.ledger import Evidence, Proof, claim, machine, proved
from proofs.ledger.generic import GAMMA
from proofs.ledger.inequalities import DecidedInequality, prove_positive
from proofs.ledger.prose import text
from workbench import (
    POMDP,
    Memory,
    Policy,
    augment,
    best_history,
    best_memoryless,
    can_encode_optimal,
    evaluate,
)
from workbench.certificates.values import value_certificate
from workbench.results.json import encode, model_json
from workbench.text import shown

PAPERS_GAMMA = Fraction(19, 20)
DOWN = Fraction(9, 10)
CORRIDOR = [(x, 0) for x in range(5)]
BUTTON = (4, 0)
PRESSES = ("enter", "arrive")


# ---------------------------------------------------------------------- a function that no action
# beats


def distances() -> dict[tuple[int, int], int]:
    """Steps from each cell to the cookie where no force pulls."""
    grid = Grid(FIGURE)
    found = {grid.marks["C"]: 0}
    queue = list(found)
    for cell in queue:  # grows while we walk; moves can be walked backwards
        for move in ((0, 1), (0, -1), (1, 0), (-1, 0)):
            if (other := grid.go(cell, move)) not in found:
                found[other] = found[cell] + 1
                queue.append(other)
    return found


def above(large_gamma: bool) -> dict[Any, Any]:
    """The function v of the module's text, {(cell, force): v}."""
    g, down, steps = GAMMA, Rational(DOWN), distances()
    u1 = 10 * g**10 * (1 - down * g) * (1 - (1 - g) / 100)
    u2 = u1 if large_gamma else g * (down * u1 + (1 - down) ** 2) / (1 - (1 - down) * down * g**2)
    u3 = 1 - down + down * g * u2
    v: dict[Any, Any] = {(cell, "off"): g ** (d - 1) for cell, d in steps.items() if d > 0}
    for cell in steps:
        if cell[1] > 0:
            v[cell, "on"] = (u1, u2, u3, sympy.Integer(1))[cell[1] - 1]
    v |= {((x, 0), "on"): g ** (11 - x) for x in range(4)}
    return v | {(BUTTON, "on"): g**8}


def promise_gaps(P: POMDP, v: Mapping[Any, Any]) -> dict[tuple[Any, str], Any]:
    """v(s) minus what an action promises, for all s and a."""
    return {
        (s, a): v[s]
        - sum(
            x * (r + (0 if t in P.terminal else P.gamma * v[t])) for (t, r), x in P.p(s, a).items()
        )
        for s in v
        if s in P.S
        for a in P.A
    }


def must_be_strict(s: Any, a: str) -> bool:
    """The inequalities that make the optimal actions of the corridor the only ones."""
    if s[1] == "on":
        return s[0] in CORRIDOR[:4] and a != "right"
    return s[0] in (BUTTON, (3, 0)) and a != "left"


def settles(
    p_down: Fraction, large_gamma: bool, where: Interval
) -> tuple[list[dict[str, Any]], str]:
    """Certificates that no gap is negative and that those of the corridor are positive. Or what
    breaks it."""
    v = above(large_gamma)
    needed: dict[Any, bool] = {}
    for press in PRESSES:
        for (s, a), f in promise_gaps(gravity(press, p_down, GAMMA), v).items():
            needed[f] = needed.get(f, False) or must_be_strict(s, a)
    certificates: list[dict[str, Any]] = []
    for f, strict in needed.items():
        if sympy.cancel(f) == 0 and not strict:
            continue
        decided: DecidedInequality = prove_positive(f, {GAMMA: where}, strict)
        if not decided.holds:
            return [], f"{sympy.cancel(f)} at {decided.witness}"
        certificates += decided.certificates
    return certificates, ""


def straight_up(P: POMDP) -> Any:
    """gamma^11 minus the value of always going up, gamma a symbol. a polynomial that has its
    sign."""
    up = evaluate(P, Policy.deterministic(P, {}, otherwise="up")).value
    num, den = sympy.fraction(sympy.factor(GAMMA**11 - up))
    assert sympy.Poly(den, GAMMA).count_roots(0, 1) == 0
    return num if den.subs(GAMMA, 0) > 0 else -num


# ---------------------------------------------------------------------- without memory


@claim(
    "S4.gravity-none",
    place="Sec. 4",
    statement="No memoryless policy, deterministic or stochastic, is optimal in gravity, for any "
    "discount in [7/20, 1). (The paper uses 0.95.)",
    verdict="proved",
    steps=(
        machine("small", "v bounds every policy, strictly in the corridor, gamma in [7/20, 7/10]"),
        machine("large", "v bounds every policy, strictly in the corridor, gamma in [3/5, 1)"),
        machine("cover", "the two ranges cover [7/20, 1)"),
        machine("conflict", "going right and going left at (3,0) exclude one another"),
        machine("reached", "the policy of S4.gravity-bit is worth v(start) = gamma^11"),
        machine("numbers", "at gamma = 7/20 and 19/20 no memoryless policy is optimal"),
    ),
)
def gravity_needs_memory(
    proof: Proof,
    low: Fraction = Fraction(7, 20),
    p_down: Fraction = DOWN,
    p_down_large: Fraction = DOWN,
    first: Fraction = Fraction(7, 10),
    before: str = "right",
    steps: int = 11,
    at: tuple[Fraction, ...] = (Fraction(7, 20), PAPERS_GAMMA),
) -> Evidence:
    """The bound, as polynomials in gamma. Then two discounts in numbers.

    Parameters
    ----------
    low : the smallest discount of the first range; first : the largest.
    p_down, p_down_large : the strength of the force, in the two ranges.
    before : what an optimal policy does at (3,0) before the button.
    steps : the power of gamma that is the value.
    at : the discounts that are looked at in numbers.
    """
    for gamma in at:
        for press in PRESSES:
            found = can_encode_optimal(gravity(press, DOWN, gamma), "none")
            choice = {o: a for (_, o), (a, _) in (found.choice or {}).items()}
            shown = f"gamma = {gamma}: {choice} is worth {found.best}, the optimum"
            proof.step("numbers", shown if found else None)
    certificates: list[dict[str, Any]] = []
    ranges = {
        "small": (p_down, False, Interval(low, Rational(7, 10))),
        "large": (p_down_large, True, Interval.Ropen(Rational(3, 5), 1)),
    }
    for key, (force, large, where) in ranges.items():
        parts, trouble = settles(force, large, where)
        proof.step(key, trouble)
        certificates += parts
    proof.step("cover", None if first >= Fraction(3, 5) else f"nothing between {first} and 3/5")
    after = {a for a in gravity().A if not must_be_strict(((3, 0), "off"), a)}
    allowed = {a for a in gravity().A if not must_be_strict(((3, 0), "on"), a)}
    told = {before} == allowed and not allowed & after
    proof.step("conflict", None if told else f"{allowed} before the button, {after} after it")
    for press in PRESSES:
        E = augment(gravity(press, DOWN, GAMMA), "B1")
        value = evaluate(E, to_the_button_and_back(E), exact=True).value
        same = sympy.simplify(value - GAMMA**steps) == 0
        proof.step("reached", None if same else f"press={press}: worth {value}")
    if proof.failed:
        return proved("")
    P = gravity()
    history, deterministic = best_history(P, exact=True), best_memoryless(P, exact=True)
    assert history.value == PAPERS_GAMMA**11
    assert deterministic.certified
    certificates += [
        bound_certificate(P),
        value_certificate(P, "none", deterministic.policy, deterministic.value),
    ]
    argument = text(
        "Upper bound. Let v say what comes after an action; then no action of any of the 48 states "
        "promises more than v(s), so no policy of any kind is worth more than v(start) = gamma^11. "
        "With the force off v = gamma^(steps to the cookie - 1); with the force on v = "
        "gamma^(11-x) at (x,0), 1 in the top row and u1, u2, u3 between, with",
        "  u1 = 10 g^10 (1 - 9g/10)(1 - (1-g)/100),   u3 = 1/10 + 9/10 g u2",
        "  u2 = g (u3/10 + 9 u1/10) on [7/20, 7/10],  u2 = u1 on [3/5, 1).",
        "The inequalities are polynomial in g = gamma and hold by their coefficients or by Sturm "
        f"({len(certificates) - 2} certificates, for a button that is pressed on entering and for "
        "one pressed by bumping as well).",
        "Necessity. gamma^11 is reached (S4.gravity-bit), so it is the optimum V*, and a policy is "
        "worth V* only if it takes, after every history that has a chance, an action whose "
        "inequality is an equation. The inequalities are strict for every action but right at "
        "(0,0), ..., (3,0) while the force is on, and for every action but left at (4,0) and (3,0) "
        "when it has been switched off. So a policy worth V* goes right at (3,0) with probability "
        "one before the button and left with probability one after it; but a memoryless policy, "
        "stochastic or not, does the same at (3,0) each time.",
        "With the paper's numbers: best history-based value (19/20)^11 = "
        f"{float(history.value):.6f}, best deterministic memoryless policy {deterministic.value} = "
        f"{float(deterministic.value):.6f} (branch and bound, exact).",
        "End points. gamma^11 minus the value of going straight up has the sign of "
        f"{straight_up(gravity(gamma=GAMMA))}, so going straight up is worth more for gamma < "
        "0.33200...; it needs no memory and is optimal there (at 1/4, for instance). It is optimal "
        "for gamma = 1, too, where it is worth 1 like any policy that ends. The statement needs a "
        "discount between.",
    )
    return proved(
        "at (3,0) only right is optimal before the button, and only left after it",
        argument,
        certificates,
    )


gravity_needs_memory.twin("discounts from 3/10 on", guards="small", low=Fraction(3, 10))
gravity_needs_memory.twin("a force of 4/5", guards="large", p_down_large=Fraction(4, 5))
gravity_needs_memory.twin("a first range up to 1/2", guards="cover", first=Fraction(1, 2))
gravity_needs_memory.twin("up before the button", guards="conflict", before="up")
gravity_needs_memory.twin("worth gamma^10", guards="reached", steps=10)
gravity_needs_memory.twin("a discount of 1/4", guards="numbers", at=(Fraction(1, 4),))
gravity_needs_memory.twin("no discount", guards="numbers", at=(Fraction(1),))


def bound_certificate(P: POMDP) -> dict[str, Any]:
    """The function v at the discount of P, which bounds the value of every policy."""
    v = {s: f.subs(GAMMA, Rational(P.gamma)) for s, f in above(True).items() if s in P.S}
    return {
        "kind": "value-bound",
        "model": model_json(P),
        "v": [[encode(s), str(x)] for s, x in v.items()],
        "bound": str(sum(x * Fraction(str(v[s])) for s, x in P.mu.items())),
    }


# ---------------------------------------------------------------------- with one bit

FORGETFUL = Memory(
    "a bit that forgets", ["0", "1"], ["0", "1"], lambda m, w, o, a, r, o_next: {"0": 1}, {"0": 1}
)


def to_the_button_and_back(E: POMDP) -> Policy:
    """Write 1 on leaving the button. While the bit is 0 walk to the button, then to the cookie."""

    def choose(bit: str, cell: tuple[int, int]) -> tuple[str, str]:
        if cell == BUTTON:
            return "left", "1"
        if bit == "0":
            return ("right" if cell[1] == 0 else "down"), "0"
        return ("up" if cell[0] == 0 else "left"), "1"

    return Policy.deterministic(E, {(m, o): choose(m, o) for m, o in E.O})


@claim(
    "S4.gravity-bit",
    place="Sec. 4",
    statement="With one bit (B1) a memoryless policy reaches the best history-based value of "
    "gravity, for every discount in [7/20, 1].",
    verdict="proved",
    steps=(
        machine("value", "the policy is worth gamma^11, gamma a symbol"),
        machine("bound", "no policy is worth more than gamma^11 for gamma in [7/20, 1)"),
        machine("one", "no policy is worth more than the one reward of 1 for gamma = 1"),
        machine("numbers", "at gamma = 19/20 that is the best history-based value"),
    ),
)
def a_bit_is_enough(
    proof: Proof,
    memory: Any = "B1",
    low: Fraction = Fraction(7, 20),
    reward: int = 1,
    gamma: Fraction = PAPERS_GAMMA,
) -> Evidence:
    """The policy that records in the bit whether it has been at the button.

    `low`: the smallest discount; `reward`: the most that is paid; `gamma`: the discount in numbers.
    """
    best = best_history(gravity(gamma=PAPERS_GAMMA), exact=True).value
    certificates: list[dict[str, Any]] = []
    for key, aim, at in (("value", GAMMA**11, GAMMA), ("numbers", best, gamma)):
        for press in PRESSES:
            P = gravity(press, DOWN, at)
            E = augment(P, memory if key == "value" else "B1")
            pi = to_the_button_and_back(E)
            value = evaluate(E, pi, exact=True).value
            same = sympy.simplify(value - aim) == 0
            proof.step(key, None if same else f"press={press}: worth {value}, not {aim}")
            if key == "numbers" and same:
                certificates.append(value_certificate(P, "B1", pi, value))
    for large, where in (
        (False, Interval(low, Rational(7, 10))),
        (True, Interval.Ropen(Rational(3, 5), 1)),
    ):
        parts, trouble = settles(DOWN, large, where)
        proof.step("bound", trouble)
        certificates += parts
    paid = {r for s in P.S if s not in P.terminal for a in P.A for _, r in P.p(s, a)}
    ends = all(
        t in P.terminal for s in P.S if s not in P.terminal for a in P.A for t, r in P.p(s, a) if r
    )
    proof.step("one", None if max(paid) == reward and ends else f"rewards {paid}")
    argument = text(
        "In <P, B1> walk right along the corridor with the bit at 0; at the button go left and "
        "write 1; with the bit at 1 go left along the corridor and up the first column, and write "
        "1. The evaluator, gamma a symbol, finds the value",
        "  gamma^11",
        "for this policy (twelve steps, the reward on the last one), whether the button reacts to "
        "entering or to arriving. No history-based policy is worth more for gamma in [7/20, 1) "
        "(S4.gravity-none), and none is worth more than the one reward of 1 for gamma = 1. For "
        "smaller discounts going straight up is better (and needs no memory).",
        f"In rationals, with gamma = 19/20: {shown(value)} on both sides, the right one by policy "
        "iteration over the 48 beliefs.",
    )
    return proved(
        "a policy of B1 is worth gamma^11, and no policy of the history is worth more",
        argument,
        [*certificates, bound_certificate(gravity())],
    )


a_bit_is_enough.twin("a bit that forgets what is written", guards="value", memory=FORGETFUL)
a_bit_is_enough.twin("discounts from 3/10 on", guards="bound", low=Fraction(3, 10))
a_bit_is_enough.twin("a reward of 2", guards="one", reward=2)
a_bit_is_enough.twin("a discount of 9/10", guards="numbers", gamma=Fraction(9, 10))
