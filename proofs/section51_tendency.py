"""Section 5.1: tendencies. Larger memories and shortcuts, B(k) against OA(k), the variance of TD.

"Tends to" and "we would expect" are no universal statements; they are looked at on a complete list
of small tasks: do a sequence of two actions, two or three steps long, for a reward at the end,
gamma = 19/20 (up to the names of the actions all there are). Counted is the most strict shortcuts
that an optimal deterministic policy has.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

from pomdps import recall
from proofs.ledger import Evidence, Proof, checked, claim, machine, proved, refuted
from proofs.ledger.bellman import first_broken, mixed_policy
from proofs.ledger.prose import table_text, text
from proofs.ledger.theory import Interpretation, Theory, trouble_in
from proofs.section51_shortcuts import new_state_each_step, ranges
from workbench import POMDP, Policy, augment, evaluate, td_values
from workbench.certificates.values import q_certificate

SEQUENCES = tuple((1, *rest) for n in (1, 2) for rest in product((1, 2), repeat=n))
"""All sequences of two or three actions, up to the names of the actions."""


def most(sequence: tuple[int, ...], memory: str) -> int:
    """The most strict shortcuts of an optimal deterministic policy."""
    return ranges(sequence, memory).strict[1]


@claim(
    "S51.bigger",
    place="Sec. 5.1",
    statement="A larger memory tends to remove shortcuts. On every sequence task of two actions "
    "and two or three steps K2, O2, OA2 have no more strict ones, over optimal policies, than K1, "
    "O1, OA1. OA2 has none where OA1 has one. Not so with B: B2 has more than B1.",
    verdict="checked",
    steps=(
        machine("buffers", "With K, O and OA the most does not grow from size 1 to size 2."),
        machine("falls", "With OA it falls on some task."),
        machine("bits", "With B it grows on some task."),
    ),
)
def larger_buffers(
    proof: Proof,
    kinds: tuple[str, ...] = ("K", "O", "OA"),
    falling: str = "OA",
    growing: str = "B",
) -> Evidence:
    """Six tasks, four families, two sizes, all optimal deterministic policies, in rationals."""
    table = {
        (kind, k): [most(seq, f"{kind}{k}") for seq in SEQUENCES]
        for kind in ("K", "O", "OA", "B")
        for k in (1, 2)
    }
    for kind in kinds:
        more = [i for i, n in enumerate(table[kind, 2]) if n > table[kind, 1][i]]
        proof.step("buffers", f"{kind}2 has more on {SEQUENCES[more[0]]}" if more else None)
    pairs = list(zip(table[falling, 1], table[falling, 2], strict=True))
    proof.step("falls", None if any(x > y for x, y in pairs) else f"{falling}2 has as many")
    pairs = list(zip(table[growing, 1], table[growing, 2], strict=True))
    proof.step("bits", None if any(x < y for x, y in pairs) else f"{growing}2 has no more")
    lines = [[f"{kind}{k}", *row] for (kind, k), row in table.items()]
    head = ["", *("".join(map(str, seq)) for seq in SEQUENCES)]
    argument = text(
        "The most strict shortcuts of an optimal deterministic policy, by sequence:",
        table_text(head, lines),
        "A buffer holds what happened; a larger one mistakes less. With B every new memory state "
        "is one more place that looks later than it is: on 1, 1, 1, which needs no memory, B2 has "
        "a policy that writes a new state at each step, with two strict shortcuts. Recall for "
        "every gamma, OA(k) and B(k) for every k: S51.bigger*.",
    )
    return checked(
        "on 6 tasks larger K, O and OA have no more shortcuts; B2 has more than B1",
        argument,
        new_state_each_step(),
    )


larger_buffers.twin("B among those that do not grow", guards="buffers", kinds=("K", "B"))
larger_buffers.twin("K falls", guards="falls", falling="K")
larger_buffers.twin("O grows", guards="bits", growing="O")


@claim(
    "S51.b-general",
    place="Sec. 5.1",
    statement="B(k) brings more shortcuts than OA(k), more generally than in recall. With k = 2 B "
    "has at least as many on every sequence task of two actions and two or three steps, and more "
    "on each of three steps. With k = 1 it is not so: on 1, 2, 2 OA1 has one and B1 none.",
    verdict="checked",
    steps=(
        machine("two", "B2 has at least as many as OA2, and more on every task of three steps."),
        machine("one", "On 1, 2, 2 OA1 has more than B1."),
    ),
)
def bits_bring_more(
    proof: Proof, more: str = "B2", fewer: str = "OA2", one: tuple[int, ...] = (1, 2, 2)
) -> Evidence:
    """The most that an optimal policy can have."""
    for seq in SEQUENCES:
        x, y = most(seq, more), most(seq, fewer)
        fails = x < y or (len(seq) == 3 and x == y)
        proof.step("two", f"{more} has {x}, {fewer} {y} on {seq}" if fails else None)
    x, y = most(one, "B1"), most(one, "OA1")
    proof.step("one", None if x < y else f"B1 has {x}, OA1 {y} on {one}")
    lines = [[name, *(most(seq, name) for seq in SEQUENCES)] for name in ("B1", "OA1", "B2", "OA2")]
    head = ["", *("".join(map(str, seq)) for seq in SEQUENCES)]
    argument = text(
        "The most strict shortcuts of an optimal deterministic policy, by sequence:",
        table_text(head, lines),
        "With one bit the only optimal way on 1, 2, 2 leaves no room for a mistake, while OA1 may "
        "push again: 'more generally' needs memories with room to spare.",
    )
    return checked("true on all 6 tasks for k = 2; false for k = 1", argument)


bits_bring_more.twin("B1 against OA1", guards="two", more="B1", fewer="OA1")
bits_bring_more.twin("on 1, 2, 1", guards="one", one=(1, 2, 1))


# ---------------------------------------------------------------------- variance

HALF = Fraction(1, 2)


def crossing(spread: int = 2) -> POMDP:
    """Two starts, s and t, each followed by x or y with probability 1/2. After s nothing is paid,
    after t `spread` at x and -`spread` at y."""

    def p(s: str, a: str) -> dict[tuple[str, int], Any]:
        if s in "st":
            return {(f"{s}x", 0): HALF, (f"{s}y", 0): HALF}
        return {("end", {"tx": spread, "ty": -spread}.get(s, 0)): 1}

    return POMDP.from_functions(
        name="crossing",
        A=("a",),
        p=p,
        omega=lambda s: {s[-1] if s != "end" else "x": 1},
        mu={"s": HALF, "t": HALF},
        gamma=1,
        terminal={"end"},
    )


def variances(P: POMDP, o: str) -> tuple[Any, Any]:
    """The variance of the return after an observation, and of the one-step TD target there."""
    pi = Policy.deterministic(P, dict.fromkeys((o for o in P.O), "a"))
    v = td_values(P, pi, exact=True).v
    returns, targets = [], []
    for (s, r), x in P.p(o, "a").items():
        ((_, later),) = P.p(s, "a")
        returns.append((x, r + later))
        targets.append((x, r + v[s[-1]]))
    return tuple(_variance(found) for found in (returns, targets))


def _variance(found: list[tuple[Any, Any]]) -> Any:
    mean = sum(x * y for x, y in found)
    return sum(x * (y - mean) ** 2 for x, y in found)


@claim(
    "S51.variance",
    place="Sec. 5.1",
    statement="TD estimates have a lower variance than Monte Carlo estimates. There are two "
    "readings. With the true v, in a fully observed task, it is so (S51.variance*). The sentence "
    "is about partially observed tasks, and there the target of one-step TD at its fixed point "
    "can vary where the return does not.",
    verdict="refuted",
    corrected_by="S51.variance*",
    steps=(machine("varies", "After s the return never varies, and the target of TD does."),),
)
def td_varies_less(proof: Proof, spread: int = 2) -> Evidence:
    """Where states look alike, a TD target borrows the noise of other states."""
    P = crossing(spread)
    mc, td = variances(P, "s")
    proof.step(
        "varies", None if td > mc == 0 else f"the TD target has variance {td}, the return {mc}"
    )
    pi = Policy.deterministic(P, dict.fromkeys((o for o in P.O), "a"))
    argument = text(
        "Half of the episodes start in s, half in t; each goes on to a state seen as x or as y, "
        f"with probability 1/2. After s nothing is paid; after t x pays {spread}, y pays "
        f"-{spread}. The return after s is always 0: variance {mc}. TD learns v(x) = {spread // 2}"
        f", v(y) = -{spread // 2}, the means over both kinds of episodes, so its target at s is "
        f"one or the other: variance {td}. Nothing here is to be decided, and no memory of size 0 "
        "helps. In a fully observed task it cannot happen (S51.variance*).",
    )
    return refuted(
        f"the TD target has variance {td}, the return {mc}",
        argument,
        counterexample="starts s and t (1/2 each), then x or y (1/2 each); after t x pays "
        f"{spread} and y -{spread}, after s nothing. At s the return is always 0, and the target "
        f"of TD is {spread // 2} or -{spread // 2}.",
        certificates=[q_certificate(P, "none", evaluate(P, pi, exact=True))],
    )


td_varies_less.twin("nothing is paid after t either", guards="varies", spread=0)


TOTAL = Theory(
    {
        "p": "sum[s,r](p(s,r)) == 1",
        "p+": "p(s,r) >= 0",
        "c+": "c(s) >= 0",
        "gamma+": "gamma >= 0",
        "second": "square(s,r) == reward(r)**2 + 2*gamma*reward(r)*v(s)"
        " + gamma**2*(c(s) + v(s)**2)",
        "return": "varG == sum[s,r](p(s,r)*square(s,r))"
        " - sum[s,r](p(s,r)*(reward(r) + gamma*v(s)))**2",
        "target": "varT == sum[s,r](p(s,r)*(reward(r) + gamma*v(s))**2)"
        " - sum[s,r](p(s,r)*(reward(r) + gamma*v(s)))**2",
    }
)
"""The variance of the return and of the target; `square` is the mean of (r + gamma G')^2 given (s',
r), G' having mean v(s') and variance c(s')."""


@cache
def variance_letters() -> Interpretation:
    """The letters of `TOTAL` at the start of the 4-action recall task whose states are seen. The
    policy gives every action a chance, and the action at the start is 1."""
    P = POMDP.from_functions(
        name="recall4, seen", A=(0, 1, 2, 3), mu={"s*": 1}, gamma=Fraction(9, 10),
        omega=lambda s: {s: 1}, terminal={"end", "out"},
        p=lambda s, a: (
            {("s0", 0): Fraction(1, 2), ("s1", 3): Fraction(1, 3), ("out", 3): Fraction(1, 6)}
            if s == "s*" else {("end", r): x for r, x in _coins(int(s[1]), a).items()}
        ),
    )  # fmt: skip
    pi = mixed_policy(P, 2)
    v = evaluate(P, pi, exact=True).v
    outcomes = dict(P.p("s*", 1).items())
    S, R = sorted({t for t, _ in outcomes}), sorted({r for _, r in outcomes})
    after: dict[Any, dict[Any, Fraction]] = {}  # what follows each state, by its chance
    for s in S:
        after[s] = {}
        for a in () if s in P.terminal else P.A:
            for (_, r), x in P.p(s, a).items():
                after[s][r] = after[s].get(r, Fraction(0)) + pi[s, a] * x
        after[s] = after[s] or {0: Fraction(1)}
    returns = {
        (t, r, later): x * y for (t, r), x in outcomes.items() for later, y in after[t].items()
    }

    def spread(numbers: dict[Any, Fraction]) -> Fraction:
        mean = sum((x * y for x, y in numbers.items()), Fraction(0))
        return sum((y * (x - mean) ** 2 for x, y in numbers.items()), Fraction(0))

    whole: dict[Any, Fraction] = {}
    target: dict[Any, Fraction] = {}
    for (t, r, later), x in returns.items():
        for numbers, value in ((whole, r + P.gamma * later), (target, r + P.gamma * v[t])):
            numbers[value] = numbers.get(value, Fraction(0)) + x
    letters = {
        "p": lambda s, r: Fraction(outcomes.get((s, r), 0)), "reward": lambda r: r,
        "v": lambda s: v[s], "c": lambda s: spread(after[s]), "gamma": P.gamma,
        "square": lambda s, r: sum(
            (y * (r + P.gamma * later) ** 2 for later, y in after[s].items()), Fraction(0)
        ),
        "varG": spread(whole), "varT": spread(target),
    }  # fmt: skip
    return Interpretation({"s": S, "r": R}, letters)


def _coins(first: int, second: int) -> dict[int, Fraction]:
    """Two rewards for a pair of actions, one of them more likely."""
    if first + 2 * second == 2:  # the two would be one
        return {2 - second: Fraction(1)}
    return {first + second: Fraction(1, 3), 2 - second: Fraction(2, 3)}


@claim(
    "S51.variance*",
    place="Sec. 5.1",
    statement="In a fully observed task the one-step TD target with the true v never has a higher "
    "variance than the return. The difference is gamma^2 times the mean variance of what follows.",
    verdict="proved",
    steps=(
        machine(
            "givens",
            "the formulas below hold of a fully observed task of two steps: values from the "
            "evaluator, variances from the list of its episodes",
        ),
        machine("total", "Var(r + gamma G') = Var(r + gamma v(s')) + gamma^2 E Var(G'|s')"),
        machine("less", "so the variance of the target is not the larger one"),
    ),
)
def markov_targets_vary_less(
    proof: Proof, power: int = 2, theory: Theory = TOTAL, givens: Theory = TOTAL
) -> Evidence:
    """The outcomes (s', r) of a step, any number of them. What follows s' has mean v and variance
    c."""
    proof.step("givens", first_broken(givens, variance_letters()))
    rest = "*".join(["gamma"] * power) + "*sum[s,r](p(s,r)*c(s))"
    definitions = [("unfold", "return"), ("unfold", "target"), ("unfold", "second")]
    total = theory.shows("total variance", f"varG == varT + {rest}", definitions)
    less = theory.shows(
        "the target varies no more",
        "varG - varT >= 0",
        [*definitions, ("less", 1, (("gamma+", {}), ("gamma+", {}), ("p+", {}), ("c+", {})))],
    )
    proof.step("total", trouble_in(total))
    proof.step("less", trouble_in(less))
    argument = text(
        "Given (s, a): G = r + gamma G', and in a fully observed task G' depends on s' alone, with "
        "mean v(s') and some variance c(s'). Then Var G = Var(r + gamma v(s')) + gamma^2 E c(s'), "
        "and c >= 0: sums over any number of outcomes (s', r). Where s' is not seen, G' has "
        "another mean than v(o'), and the cross term that vanishes here does not.",
    )
    return proved("the law of total variance, for any number of outcomes", argument, [total, less])


markov_targets_vary_less.twin(
    "a target that reads the return",
    guards="givens",
    givens=TOTAL.replaced(target=TOTAL.given["return"].replace("varG", "varT")),
)
markov_targets_vary_less.twin("gamma instead of gamma^2", guards="total", power=1)
markov_targets_vary_less.twin(
    "a negative variance of what follows",
    guards="less",
    theory=TOTAL.replaced(**{"c+": "0 - c(s) >= 0"}),
)


# ---------------------------------------------------------------------- Figure 3, edge by edge

OA1_EDGES = {
    ("0", "1", 1), ("0", "2", 2), ("0", "3", 3),
    ("1", "2", 2), ("1", "3", 3), ("2", "1", 1),
    ("2", "3", 3), ("3", "1", 1), ("3", "2", 2),
}  # fmt: skip
"""The arrows of the left diagram: from, to, the action that is pushed; all else loops (o/w)."""

B2_EDGES = {(i, j) for i in range(4) for j in range(4)}
"""The arrows of the right diagram: all sixteen are drawn."""


@claim(
    "S5.fig-diagrams",
    place="Sec. 5, Fig. 3",
    statement="The two diagrams of Figure 3 are right, edge by edge. OA1 moves as the nine arrows "
    "say and stays put otherwise. B2 moves from every memory state to every other.",
    verdict="checked",
    steps=(
        machine("oa1", "With OA1 memory changes exactly along the nine labelled arrows."),
        machine("b2", "With B2 there is an arrow from each of the four states to each."),
    ),
)
def diagrams(proof: Proof, oa1: Any = OA1_EDGES, b2: Any = B2_EDGES) -> Evidence:
    """The memory's part of the product, on every reachable state."""
    E = augment(recall(), "OA1")
    found = set()
    for s in E.S:
        if s in E.terminal:
            continue
        for a, w in E.A:
            for t, _ in E.p(s, (a, w)):
                if t not in E.terminal and t[1] != s[1]:
                    name = ["0" if m[0] is None else str(m[0][1]) for m in (s[1], t[1])]
                    found.add((name[0], name[1], a))
    trouble = None if found == set(oa1) else f"{found ^ set(oa1)}"
    proof.step("oa1", trouble)
    F = augment(recall(), "B2")
    seen = {
        (int(s[1], 2), int(t[1], 2))
        for s in F.S
        if s not in F.terminal
        for a in F.A
        for t, _ in F.p(s, a)
        if t not in F.terminal
    }
    proof.step("b2", None if seen == set(b2) else f"{seen ^ set(b2)}")
    argument = text(
        "OA1: in the memory state 'last pushed action i', pushing another action j leads to j, and "
        "everything else (keep, or push i again) loops, as 'o/w' says; from the empty buffer the "
        "three pushes lead to 1, 2, 3. B2: the write is the next state whatever the present one, "
        "so all sixteen arrows are there. The labels 'a w' in the figure are an action and a "
        "write.",
    )
    return checked("all 9 arrows of OA1 and all 16 of B2 are right", argument)


diagrams.twin("no arrow from 3 to 2", guards="oa1", oa1=OA1_EDGES - {("3", "2", 2)})
diagrams.twin("no loop at 0", guards="b2", b2=B2_EDGES - {(0, 0)})
