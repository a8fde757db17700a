"""Sentences of the paper that need no theory: a look at a task, a table or a formula decides.

Section 4: gravity's optimal policy presses the button first; K(k) forgets what is older than k
steps. Section 5: B2 makes no MDP of recall either. Section 6 and Appendix D.5: the speed-ups that
the text quotes are those of Table 1. Appendix C: three misprints.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from pomdps import gravity, recall, recall4
from proofs.ledger import Evidence, Proof, checked, claim, machine, misprint, proved
from proofs.ledger.cells import Cells, after_push, k, keeps_the_last, t
from proofs.ledger.prose import table_text, text
from proofs.section5_recall import always_pushing, rewards_by_history
from proofs.section52_steps import locally_best
from workbench import POMDP, Policy, augment, best_history, evaluate, uniform
from workbench.core.space import Label

# ---------------------------------------------------------------------- gravity's button


def without_button(gamma: Fraction) -> POMDP:
    """Gravity in which the button does nothing: the force stays on."""
    P = gravity(gamma=gamma)

    def p(s: Label, a: Label) -> dict[tuple[Label, Any], Any]:
        return {((t[0], "on"), r): x
                for (t, r), x in P.p(s, a).items()}  # fmt: skip

    return POMDP.from_functions(
        name="gravity without button", A=P.A, p=p, omega=P.omega, mu=dict(P.mu.items()),
        gamma=gamma, terminal=lambda s: s in P.terminal,
    )  # fmt: skip


@claim(
    "S4.button",
    place="Sec. 4",
    statement="With the paper's discount 0.95 the optimal policy of gravity presses the button "
    "first: whoever never presses it earns less. With small discounts it does not: at 3/10 going "
    "straight up against the force is worth more than the twelve steps over the button.",
    verdict="checked",
    steps=(
        machine("pressed", "At 19/20 the best that never presses is worth less than the best."),
        machine("straight", "At 3/10 it is worth more than gamma^11, what pressing first earns."),
    ),
)
def the_button_comes_first(
    proof: Proof, large: Fraction = Fraction(19, 20), small: Fraction = Fraction(3, 10)
) -> Evidence:
    """Both tasks solved in rationals."""
    never = best_history(without_button(large), exact=True).value
    best = best_history(gravity(gamma=large), exact=True).value
    proof.step("pressed", None if never < best == large**11 else f"{never} against {best}")
    up = best_history(without_button(small), exact=True).value
    proof.step("straight", None if up > small**11 else f"{up} against {small**11}")
    argument = text(
        f"Without the button the best is worth {float(never):.4f} at discount {large}, with it "
        f"{float(best):.4f}. At {small} it is worth {float(up):.3g} without, and pressing first "
        f"earns {float(small**11):.3g}.",
    )
    return checked("optimal with discount 0.95, and not with 0.3", argument)


the_button_comes_first.twin("a discount of 1/4", guards="pressed", large=Fraction(1, 4))
the_button_comes_first.twin("a discount of 1/2", guards="straight", small=Fraction(1, 2))


# ---------------------------------------------------------------------- K(k) forgets


@claim(
    "S4.k-forgets",
    place="Sec. 4",
    statement="K(k) cannot remember what was seen more than k steps ago. After every step it "
    "holds the last k observations and nothing else. O(k) can: as long as it keeps, its buffer "
    "does not change.",
    verdict="proved",
    steps=(
        machine("last", "K(k) holds the observations t - k, ..., t - 1 after t steps, any k, t."),
        machine("keep", "With keep, Gamma of O(k) leaves a buffer of any length as it is."),
    ),
)
def buffers_forget(proof: Proof, extra: int = 0, write: str = "keep") -> Evidence:
    """The code of Gamma, run on a buffer whose length is a symbol."""
    P = recall()
    proof.step("last", keeps_the_last("K", P, extra))
    held = Cells.run(t - k, k)
    after = after_push("O", P, held, write)
    proof.step("keep", None if after == held else f"after {write} it holds {after}")
    return proved(
        "K(k) holds the last k observations, O(k) whatever it keeps",
        "Both by induction on t, on the code.",
    )


buffers_forget.twin("the last k + 1", guards="last", extra=1)
buffers_forget.twin("push for keep", guards="keep", write="push")


# ---------------------------------------------------------------------- B2 is no MDP either


@claim(
    "S5.b2-not-mdp",
    place="Sec. 5",
    statement="Recall with B2 is not an MDP over its observations (m, o) either. What 3 pays in a "
    "memory state depends on what was done before.",
    verdict="proved",
    steps=(machine("rewards", "An action in a row pays 1 after a history and 0 after another."),),
)
def b2_is_no_mdp(proof: Proof, memory: Any = "B2") -> Evidence:
    """Two histories with the same last observation and different rewards for the same action."""
    rewards = rewards_by_history(augment(recall(), memory))
    depends = {pair: by for pair, by in rewards.items() if set(by.values()) == {0, 1}}
    proof.step("rewards", None if depends else f"no reward depends on more than (m, o): {memory}")
    if not depends:
        return proved("")
    (o, a), by = next(iter(depends.items()))
    paid = next(h for h, r in by.items() if r == 1)
    not_paid = next(h for h, r in by.items() if r == 0)
    argument = text(f"{a} at {o} pays 1 after {paid} and 0 after {not_paid}; {len(depends)} pairs "
                    "of an observation and an action are like this.")  # fmt: skip
    return proved(
        f"for {len(depends)} pairs (m, a) the reward depends on the history",
        argument,
    )


b2_is_no_mdp.twin("a buffer of two that always pushes", guards="rewards", memory=always_pushing(2))


# ---------------------------------------------------------------------- Table 1

TABLE_1 = {
    "Cookie": {"None": (10.87, 2.32), "K": (8.63, 2.43), "B": (10.13, 2.56), "O": (9.85, 2.03),
               "OA": (8.24, 1.92)},
    "Keys": {"None": (7.40, 3.45), "K": (5.13, 2.97), "B": (5.86, 3.09), "O": (5.37, 2.93),
             "OA": (4.32, 2.75)},
    "RedBlueDoors": {"None": (2.99, 3.15), "K": (2.26, 2.89), "B": (2.90, 2.92), "O": (2.18, 2.94),
                     "OA": (2.48, 2.34)},
    "MemoryS7": {"None": (2.91, 2.24), "K": (2.73, 2.78), "B": (3.01, 2.13), "O": (2.80, 2.07),
                 "OA": (2.40, 2.76)},
    "Pong": {"None": (1.51, 2.18), "K": (1.31, 1.21), "B": (1.33, 1.76), "O": (1.51, 1.71),
             "OA": (0.57, 0.67)},
    "Seaquest": {"None": (1.40, 2.72), "K": (1.26, 2.11), "B": (1.19, 1.63), "O": (1.06, 2.11),
                 "OA": (0.21, 0.40)},
}  # fmt: skip
"""The paper's Table 1: speed relative to the LSTM, on CPUs and on GPUs. We have measured no GPU."""


@claim(
    "S6.speedups",
    place="Sec. 6, App. D.5, Table 1",
    statement="What the text says of speed agrees with Table 1. With O(k) PPO is 1.06 to 9.85 "
    "times faster than with an LSTM on CPUs and 1.71 to 2.94 times on GPUs. Only OA3 in the Atari "
    "games is slower, and some entries are above 10. (That the table is right is not shown by "
    "this.)",
    verdict="checked",
    steps=(
        machine("ranges", "The least and the largest entries of O(k) are the ones quoted."),
        machine("slower", "The entries below 1 are those of OA in Pong and Seaquest, all four."),
        machine("ten", "Some entry is above 10."),
    ),
)
def text_and_table_agree(
    proof: Proof, family: str = "O", least: float = 1.0, most: float = 10.0
) -> Evidence:
    """A comparison of the text with the table."""
    cpu, gpu = zip(*(rows[family] for rows in TABLE_1.values()), strict=True)
    found = (min(cpu), max(cpu), min(gpu), max(gpu))
    proof.step("ranges", None if found == (1.06, 9.85, 1.71, 2.94) else f"{family}: {found}")
    slow = {(task, memory) for task, rows in TABLE_1.items() for memory, both in rows.items()
            if min(both) < least}  # fmt: skip
    due = {("Pong", "OA"), ("Seaquest", "OA")}
    proof.step("slower", None if slow == due else f"{sorted(slow - due)} as well")
    large = [x for rows in TABLE_1.values() for both in rows.values() for x in both if x > most]
    proof.step("ten", None if large else f"none is above {most}")
    return checked(
        "the table has 1.06 to 9.85 on CPUs and 1.71 to 2.94 on GPUs; OA3 is slower",
        "The table is the paper's.",
    )


text_and_table_agree.twin("the range of K", guards="ranges", family="K")
text_and_table_agree.twin("slower than 1.1 times", guards="slower", least=1.1)
text_and_table_agree.twin("above 11", guards="ten", most=11.0)


# ---------------------------------------------------------------------- misprints of Appendix C


@claim(
    "C3.print",
    place="App. C, Lemma C.3",
    statement="The proof of Lemma C.3 as printed has the wrong probabilities in its third line "
    "from the end. Its sum over i has p~, those after the step, where those before it, p, are "
    "meant.",
    verdict="misprint",
    corrected_by="C3",
    steps=(
        machine("printed", "With p~ the line is not the q-value, for a policy and a step of 1/2."),
        machine("meant", "With p it is, for all eight pairs of an action and a write."),
    ),
)
def sum_after_the_step(proof: Proof, printed: str = "after", meant: str = "before") -> Evidence:
    """Both lines beside the evaluator, in rationals. Memory 0, the uniform policy, step 1/2."""
    sides = {which: q_of_lemma_c3(which) for which in ("before", "after")}
    due = q_of_lemma_c3("evaluator")
    proof.step("printed", None if sides[printed] != due else "the printed line is right")
    proof.step("meant", None if sides[meant] == due else "the line that is meant is not right")
    rows = [[str(aw), due[aw], sides["before"][aw], sides["after"][aw]] for aw in due]
    argument = table_text(["a, w", "q", "with p", "with p~"], rows)
    return misprint(
        "p~ is printed and p is meant", argument, counterexample="the uniform policy, step 1/2"
    )


def q_of_lemma_c3(which: str) -> dict[Any, Any]:
    """The line of the proof for memory 0 with p "before" or "after" the step, or the evaluator's
    q-values."""
    E, eps = augment(recall4(), "B1"), Fraction(1, 2)
    pi = uniform(E)
    new = pi.toward(locally_best(E), eps)
    zero, one = ("0", "o"), ("1", "o")
    after = evaluate(E, new, exact=True)
    if which == "evaluator":
        return {aw: after.q[zero, aw] for aw in E.A}
    r = {(i, a): next(r for (_, r), _ in recall4().p(f"s{i}", a).items())
         for i in range(4) for a in range(4)}  # fmt: skip
    kept = sum(pi[zero, (j, "0")] for j in range(4))
    b = {i: pi[zero, (i, "0")] / (1 + kept) for i in range(4)}
    alpha = (1 + kept) / (1 + (1 - eps) * kept)
    inner = pi if which == "before" else new
    found = {}
    for a, w in E.A:
        row = zero if w == "0" else one
        later = sum((inner[row, (i, "0")] + inner[row, (i, "1")]) * r[a, i] for i in range(4))
        greedy = eps * (r[a, 1] if w == "0" else r[a, 3])
        found[a, w] = (1 - eps) * alpha * sum(r[i, a] * b[i] for i in range(4)) + alpha * (
            1 - sum(b.values())
        ) * (greedy + (1 - eps) * later)
    return found


sum_after_the_step.twin("p printed", guards="printed", printed="before")
sum_after_the_step.twin("p~ meant", guards="meant", meant="after")


@claim(
    "C5.beta",
    place="App. C, Lemma C.5",
    statement="The proof of Lemma C.5 as printed: beta^k has the probabilities p of B(k) where "
    "its derivation has q, those of B1. And 'the base case of Lemma C.2' is that of Lemma C.4, "
    "since Lemma C.2 has none.",
    verdict="misprint",
    corrected_by="C5",
    steps=(
        machine("printed", "With p, beta^k b^1 / 2^(k-1) is not b^k, k = 2, 3, 4."),
        machine("meant", "With q it is."),
    ),
)
def beta_of_b1(proof: Proof, printed: str = "p", meant: str = "q") -> Evidence:
    """Uniform policies: p = 1/2^(k+2) and q = 1/8 for each action and write."""
    rows = []
    for n in (2, 3, 4):
        share = {"p": Fraction(1, 2 ** (n + 2)), "q": Fraction(1, 8)}
        due = share["p"] / (1 + 4 * share["p"])
        first = share["q"] / (1 + 4 * share["q"])
        shrink = Fraction(1, 2 ** (n - 1))
        found = {
            name: (1 + 4 * x) / (1 + shrink * 4 * x) * shrink * first for name, x in share.items()
        }
        proof.step("printed", None if found[printed] != due else f"k = {n}: the printed line holds")
        proof.step("meant", None if found[meant] == due else f"k = {n}: {found[meant]}, not {due}")
        rows.append([n, due, found["q"], found["p"]])
    argument = table_text(["k", "b^k", "with q", "with p"], rows)
    return misprint(
        "p is printed for q in beta^k, and Lemma C.2 for Lemma C.4",
        argument,
        counterexample="k = 2",
    )


beta_of_b1.twin("q printed", guards="printed", printed="q")
beta_of_b1.twin("p meant", guards="meant", meant="p")


@claim(
    "C.minimum",
    place="App. C",
    statement="The algorithm 'will get stuck in a local minimum' as printed. The policy pi_l "
    "where it is stuck is no local minimum of the return. Small changes of one row never gain, "
    "and some lose: it is a local maximum in each row that is meant.",
    verdict="misprint",
    corrected_by="C2",
    steps=(
        machine("rows", "Changes of one row by 1/100 never raise the return, and some lower it."),
    ),
)
def stuck_at_a_maximum(proof: Proof, second: int = 3) -> Evidence:
    """The return after each change of one row, in rationals, B1."""
    E = augment(recall4(), "B1")
    pi = locally_best(E, second)
    worth = evaluate(E, pi, exact=True).value
    after = {}
    for o in E.O:
        for aw in E.A:
            taken = {x: E.A[int(pi.actions[E.O.index(x)])] for x in E.O} | {o: aw}
            near = pi.toward(Policy.deterministic(E, taken), Fraction(1, 100))
            after[o, aw] = evaluate(E, near, exact=True).value
    low, high = min(after.values()), max(after.values())
    proof.step("rows", None if low < worth == high else f"{low} to {high}, and {worth}")
    lines = f"pi_l is worth {worth}; after changes of one row {low} to {high}."
    return misprint(
        "pi_l is a maximum in each row, not a minimum",
        text(lines),
        counterexample="memory 0: action 0",
    )


stuck_at_a_maximum.twin("action 2 in memory 1", guards="rows", second=2)
