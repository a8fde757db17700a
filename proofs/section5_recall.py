"""Section 5, the recall task: OA1 and B2 can encode an optimal policy, and what they make of it is
not an MDP.

Doing 1, 2, 3 in this order pays 1 at the third and last step; there is one observation. So every
policy, of the history or not, is worth gamma^2 times the probability that it does 1, 2, 3, and
gamma^2 is the best value.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import sympy

from pomdps import recall
from proofs.ledger import Evidence, Proof, claim, machine, proved
from proofs.ledger.generic import GAMMA
from proofs.ledger.prose import table_text, text
from workbench import POMDP, Memory, Policy, augment, evaluate, memories
from workbench.certificates.values import value_certificate
from workbench.core.space import Label
from workbench.memories import attach
from workbench.results.json import encode, model_json

PAPERS_GAMMA = Fraction(19, 20)


def best_value(P: POMDP) -> Any:
    """The best history-based value: a history-based policy is a mixture of the sequences of three
    actions."""
    worth = {}
    for actions in product(P.A, repeat=3):
        s, total, discount = next(iter(P.mu)), sympy.Integer(0), sympy.Integer(1)
        for a in actions:
            ((s, r),) = P.p(s, a)
            total, discount = total + discount * r, discount * P.gamma
        worth[actions] = sympy.expand(total)
    values = set(worth.values()) - {sympy.Integer(0)}
    return values.pop() if len(values) == 1 else sympy.Max(*values)


def blue(E: POMDP, second_write: str = "push") -> Policy:
    """The blue arrows of Figure 3, for OA(k): 1 push, 2 push, 3 push. 1 keep elsewhere."""
    start = E.S[0][1]
    one, two = ((*start, *pushed)[-len(start) :] for pushed in ([("o", 1)], [("o", 1), ("o", 2)]))
    return Policy.deterministic(
        E,
        {(start, "o"): (1, "push"), (one, "o"): (2, second_write), (two, "o"): (3, "push")},
        otherwise=(1, "keep"),
    )


# ---------------------------------------------------------------------- OA1 can


@claim(
    "S5.oa1-encodes",
    place="Sec. 5",
    statement="In recall with OA1 the blue policy (1 push, 2 push, 3 push) is worth gamma^2. That "
    "is the best history-based value, for every discount.",
    verdict="proved",
    steps=(
        machine("best", "of the 27 sequences of actions one is worth gamma^2, the others 0"),
        machine("value", "the blue policy is worth that, gamma a symbol"),
    ),
)
def oa1_encodes(
    proof: Proof,
    sequence: tuple[int, ...] = (1, 2, 3),
    second_write: str = "push",
    worth: Any = GAMMA**2,
) -> Evidence:
    """gamma is a symbol. `worth` is the best value."""
    P = recall(GAMMA, sequence)
    E = augment(P, "OA1")
    pi = blue(E, second_write)
    value, best = evaluate(E, pi).value, best_value(P)
    proof.step("best", None if sympy.expand(best - worth) == 0 else f"the best value is {best}")
    same = sympy.expand(value - best) == 0
    proof.step("value", None if same else f"the policy is worth {value}, the best value is {best}")
    argument = text(
        "There are 27 sequences of actions; one is worth gamma^2, the others 0, and a "
        "history-based policy mixes them, so none is worth more than gamma^2. The evaluator, gamma "
        "a symbol, finds for the policy",
        "  buffer empty: 1 push;  (o,1): 2 push;  (o,2): 3 push",
        f"the value {value}. (What it does with the buffer (o,3) does not matter: the episode is "
        "over.)",
    )
    return proved(
        "the blue policy is worth gamma^2, and no policy is worth more",
        argument,
        [value_certificate(P, "OA1", pi, value)],
    )


oa1_encodes.twin("2 keep in the place of 2 push", guards="value", second_write="keep")
oa1_encodes.twin("the sequence 1, 1, 3", guards="value", sequence=(1, 1, 3))
oa1_encodes.twin("a best value of gamma", guards="best", worth=GAMMA)


# ---------------------------------------------------------------------- not an MDP

RED = ((("o", 2),), "o"), (3, "push")
"""The bottom arrow of Figure 3: an observation and an action."""


def always_pushing(k: int) -> Memory:
    """OA(k) without keep: the last k pairs, whether the agent wants them or not."""
    family = attach(memories.OA(k), recall())
    return Memory(
        "always",
        family.M,
        ["push"],
        lambda m, w, o, a, r, o_next: {(*m[1:], (o, a)): 1},
        family.eta,
    )


def rewards_by_history(E: POMDP) -> dict[tuple[Label, Label], dict[tuple[Label, ...], Any]]:
    """For each (o, a) what a pays, by the history that ends in o. A history is given by its
    actions.

    E is deterministic and starts in one state, so that a history leads to one state.
    """
    found: dict[tuple[Label, Label], dict[tuple[Label, ...], Any]] = {}
    (start,) = E.mu
    queue: list[tuple[tuple[Label, ...], Label]] = [((), start)]
    for history, s in queue:  # grows while we walk
        (o,) = E.omega(s)
        for a in E.A:
            ((s_next, r),) = E.p(s, a)
            found.setdefault((o, a), {})[history] = r
            if s_next not in E.terminal:
                queue.append(((*history, a), s_next))
    return found


@claim(
    "S5.not-mdp",
    place="Sec. 5",
    statement="Recall with OA1 is not an MDP over its observations (m, o). Let the buffer hold "
    "(o, 2): then 3 push pays 1 after 1 push, 2 push, and 0 after 2 push.",
    verdict="proved",
    steps=(machine("rewards", "3 push at (o, 2) pays 1 after one history and 0 after another"),),
)
def not_an_mdp(proof: Proof, memory: Any = "OA1") -> Evidence:
    """Two histories with the same last observation and different rewards for the same action."""
    P = recall()
    E = augment(P, memory)
    rewards = rewards_by_history(E)
    depends = {pair for pair, by_history in rewards.items() if len(set(by_history.values())) > 1}
    blue_path, red_path = ((1, "push"), (2, "push")), ((2, "push"),)
    here = rewards.get(RED, {})
    told = (here.get(blue_path), here.get(red_path)) == (1, 0)
    proof.step("rewards", None if told else f"{E.name}: {len(depends)} rewards depend on more")
    if not told:
        return proved("")
    lines = [["; ".join(f"{a} {w}" for a, w in history), r] for history, r in rewards[RED].items()]
    certificate = {
        "kind": "history-dependence",
        "model": model_json(P),
        "memory": memory,
        "histories": [
            [[encode(action) for action in history], str(r)] for history, r in rewards[RED].items()
        ],
        "observation": encode(RED[0]),
        "action": encode(RED[1]),
    }
    argument = text(
        "All histories that end with the buffer (o,2) while the episode goes on, and the reward "
        "of 3 push there:",
        table_text(["what was done before", "reward"], lines),
        "In an MDP over (m, o) the reward would have one distribution, whatever was done before. "
        f"The rewards of {len(depends)} of the {len(rewards)} pairs of an observation and an "
        "action depend on the history like this.",
    )
    return proved(
        "the same (m, o) and action pay 1 after one history and 0 after another",
        argument,
        [certificate],
    )


not_an_mdp.twin("a buffer of two that always pushes", guards="rewards", memory=always_pushing(2))


# ---------------------------------------------------------------------- B2 is the smallest


def behaviours(E: POMDP) -> dict[tuple[tuple[Label, Label], ...], Any]:
    """What every deterministic policy of a deterministic task does, step by step (o, a), and what
    that is worth.

    A policy does the same whenever it sees the same; rows that it does not use do not count.
    """
    found: dict[tuple[tuple[Label, Label], ...], Any] = {}

    def go(
        s: Label,
        rows: dict[Label, Label],
        path: tuple[tuple[Label, Label], ...],
        total: Any,
        discount: Any,
    ) -> None:
        if s in E.terminal:
            found[path] = sympy.expand(total)
            return
        (o,) = E.omega(s)
        for a in [rows[o]] if o in rows else E.A:
            ((s_next, r),) = E.p(s, a)
            go(s_next, {**rows, o: a}, (*path, (o, a)), total + discount * r, discount * E.gamma)

    (start,) = E.mu
    go(start, {}, (), sympy.Integer(0), sympy.Integer(1))
    return found


@claim(
    "S5.b2-smallest",
    place="Sec. 5",
    statement="B2 is the smallest B(k) with an optimal memoryless policy for recall, "
    "deterministic or stochastic, for every discount in (0, 1].",
    verdict="proved",
    steps=(
        machine("none below", "no deterministic policy of B0 or B1 is optimal, all behaviours"),
        machine("one", "a deterministic policy of B2 is worth gamma^2"),
    ),
)
def b2_is_smallest(
    proof: Proof,
    sequence: tuple[int, ...] = (1, 2, 3),
    gamma: Any = GAMMA,
    smallest: int = 2,
) -> Evidence:
    """All that deterministic policies of B(k) do, for k = 0, 1, 2."""
    P = recall(gamma, sequence)
    best = best_value(P) if gamma != 0 else sympy.Integer(0)
    lines, path, E = [], None, P
    for k in range(smallest + 1):
        E = augment(P, f"B{k}" if k else "none")
        worth = behaviours(E)
        path = next(
            (steps for steps, value in worth.items() if sympy.expand(value - best) == 0), None
        )
        values = ", ".join(sorted(set(map(str, worth.values()))))
        lines.append([f"B{k}", len(worth), "yes" if path else "no", values])
        if k < smallest:
            proof.step("none below", f"B{k}: {path}" if path else None)
        else:
            proof.step("one", None if path else f"no policy of B{k} is worth {best}")
    if proof.failed or path is None:
        return proved("")
    pi = Policy.deterministic(E, dict(path), otherwise=E.A[0])
    value = evaluate(E, pi).value
    argument = text(
        "Deterministic policies, told apart by what they do, and their values:",
        table_text(["memory", "ways", "optimal?", "values"], lines),
        "Stochastic policies do not help: gamma^2 times the probability of 1, 2, 3 is worth "
        "gamma^2 only if the probability is one; then every episode that has a chance does 1, 2, "
        "3, and so does the deterministic policy that takes, in each memory state, one of the "
        "actions that have a chance there. In words: the three actions differ, so the three memory "
        "states must, and one bit has two.",
        f"With B{smallest}: "
        + ", ".join(f"in {m} do {a} and write {w}" for (m, _), (a, w) in path)
        + f"; worth {value}. A larger B(k) can do "
        "the same. For gamma = 0 every policy is worth 0 and no memory is needed.",
    )
    return proved(
        "no policy of B1 is optimal; one of B2 is",
        argument,
        [value_certificate(P, f"B{smallest}", pi, value)],
    )


b2_is_smallest.twin("the sequence 1, 2, 1", guards="none below", sequence=(1, 2, 1))
b2_is_smallest.twin("B1 is the smallest", guards="one", smallest=1)
b2_is_smallest.twin("a discount of 0", gamma=sympy.Integer(0))
