"""Sections 3 and 4: what memoryless policies lose, and what the four kinds of memory can write.

The sentences of Section 4 about writes, one row each. `Gamma` and the sets M and W are those of the
definitions; where a statement is about every k, the part that is the same for every k is a step for
a human reader, and the machine checks k = 1, 2, 3 with a set of labels on which nothing depends.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from fractions import Fraction
from functools import cache
from typing import Any

import sympy

import pomdps
from proofs.ledger import Evidence, Proof, argued, checked, claim, human, machine, proved
from proofs.ledger.inequalities import identical
from proofs.ledger.prose import table_text, text
from workbench import POMDP, Policy, augment, evaluate
from workbench.certificates.values import identity_certificate
from workbench.evaluation.shortcuts import shortcuts
from workbench.model import memories
from workbench.model.memories import attach
from workbench.sufficiency.can_encode import can_encode_optimal
from workbench.sufficiency.expressive import is_sufficiently_expressive

r, p = sympy.symbols("r p")

# ---------------------------------------------------------------------- Section 3


def first_then_other(reward: Any = r, second: int = 1) -> POMDP:
    """Do 0, then `second`, for a reward: one observation, so a memoryless policy does not know
    when."""

    def step(s: str, a: int) -> dict[tuple[str, Any], int]:
        if s == "start":
            return {("right" if a == 0 else "wrong", 0): 1}
        return {("end", reward if s == "right" and a == second else 0): 1}

    return POMDP.from_functions(
        name="0 then 1",
        A=(0, 1),
        p=step,
        omega=lambda s: {"o": 1},
        mu={"start": 1},
        gamma=1,
        terminal={"end"},
    )


@claim(
    "S3.arbitrary",
    place="Sec. 3",
    statement="The best memoryless policy can be arbitrarily worse than the best history-based "
    "one: on `0 then 1` with reward r > 0 it loses 3r/4.",
    verdict="proved",
    steps=(
        machine("memoryless", "Every memoryless policy, pi(1) = p, is worth p (1 - p) r."),
        machine("bound", "r - p (1 - p) r = 3r/4 + r (p - 1/2)^2, so at least 3r/4 is lost."),
        machine("history", "A policy that remembers one observation (K1) is worth r."),
    ),
)
def arbitrarily_worse(
    proof: Proof,
    worth: Any = p * (1 - p) * r,
    lost: Any = Fraction(3, 4),
    then: int = 1,
) -> Evidence:
    """Two steps, two actions, one observation; the reward a symbol."""
    P = first_then_other()
    value = evaluate(P, Policy.from_mapping(P, {"o": {0: 1 - p, 1: p}})).value
    said = sympy.sympify(worth)
    proof.step("memoryless", None if identical(value, said) else f"it is worth {value}")
    bound = sympy.Rational(lost) * r + r * (p - sympy.Rational(1, 2)) ** 2
    proof.step("bound", None if identical(r - value, bound) else f"{r - value} is not {bound}")
    E = augment(P, "K1")
    pi = Policy.deterministic(E, {((None,), "o"): (0, "push"), (("o",), "o"): (then, "push")})
    best = evaluate(E, pi).value
    proof.step("history", None if identical(best, r) else f"it is worth {best}")
    argument = text(
        "Do 0, then 1, and the reward is r; else 0. The two moments look alike. A memoryless "
        f"policy with pi(1) = p is worth {sympy.factor(value)}, at most r/4; one that sees whether "
        "it has acted before is worth r. The loss 3r/4 + r (p - 1/2)^2 is as large as one likes.",
    )
    certificates = [identity_certificate("the loss", str(r - value), str(bound))]
    return proved("3r/4 is lost, r any reward", argument, certificates)


arbitrarily_worse.twin("p r instead of p (1-p) r", guards="memoryless", worth=p * r)
arbitrarily_worse.twin("4/5 is lost", guards="bound", lost=Fraction(4, 5))
arbitrarily_worse.twin("0 then 0 with the memory", guards="history", then=0)


# ---------------------------------------------------------------------- sizes


SIZES = (("B", "2**k"), ("K", "1"), ("O", "2"), ("OA", "2"))
"""The number of writes of each kind of memory."""


@claim(
    "S4.sizes",
    place="Sec. 4",
    statement="With B(k) the actions of the augmented task are |A| 2^k, exponential in k; with "
    "O(k) and OA(k) they are 2|A|, with K(k) |A|, whatever k.",
    verdict="checked",
    steps=(machine("count", "|A'| = |A| |W|, counted for k = 1 to 5 on recall and gravity."),),
)
def sizes_of_actions(proof: Proof, sizes: Any = SIZES) -> Evidence:
    """Counted in the compiled product of recall, and in W itself for gravity."""
    lines, trouble = [], None
    for kind, formula in sizes:
        found = []
        for k in range(1, 6):
            due = eval(formula, {"k": k})
            for P in (pomdps.recall(), pomdps.gravity()):
                W = len(attach(f"{kind}{k}", P).W)
                if due != W:
                    trouble = f"{kind}{k} has {W} writes, not {due}"
            found.append(W * 3)
        if len(augment(pomdps.recall(), f"{kind}2").A) != found[1]:
            trouble = f"recall x {kind}2 has other actions"
        lines.append([f"{kind}(k)", *found])
    proof.step("count", trouble)
    argument = text(
        "Actions of recall (|A| = 3) with a memory of size k = 1, ..., 5:",
        table_text(["", *map(str, range(1, 6))], lines),
    )
    return checked("|A| 2^k, 2|A|, 2|A|, |A|; k <= 5", argument)


sizes_of_actions.twin("O(k) has 2^k writes", guards="count", sizes=(("O", "2**k"),))
sizes_of_actions.twin("B(k) has 2k writes", guards="count", sizes=(("B", "2*k"),))


# ---------------------------------------------------------------------- O(k) and K(k)

LABELS = ("x", "y")
"""Observations of the task whose memories are compared; nothing depends on what they are."""


def _plain_task() -> POMDP:
    """Two states that are seen, two actions, an end."""
    return POMDP.from_functions(
        name="two seen states",
        A=(0, 1),
        p=lambda s, a: {("y" if s == "x" else "x", 0): Fraction(1, 2), ("end", 0): Fraction(1, 2)},
        omega=lambda s: {"x" if s == "end" else s: 1},
        mu={"x": 1},
        gamma=1,
        terminal={"end"},
    )


def _gammas(name: str, w: str) -> dict[Any, Any]:
    """`Gamma(m, w, ...)` for one write and every m, o, a, o'."""
    P = _plain_task()
    memory = attach(name, P)
    return {
        (m, o, a, o_next): memory.Gamma(m, w, o, a, 0, o_next)
        for m in memory.M
        for o in LABELS
        for a in P.A
        for o_next in LABELS
    }


@claim(
    "S4.ok-general",
    place="Sec. 4",
    statement="O(k) generalises K(k): an O(k) that always pushes is K(k), and keep, which leaves "
    "the buffer alone, is what it has besides.",
    verdict="argued",
    steps=(
        machine("push", "M and eta are the same, and Gamma of a push is, for k = 1, 2, 3."),
        human("every-k", "Both definitions shift the buffer and append o, whatever k and O are."),
        machine("keep", "Not every Gamma of O(k) is one of K(k): keep leaves the buffer alone."),
    ),
)
def buffers_generalise(proof: Proof, smaller: str = "K", write: str = "keep") -> Evidence:
    """Gamma compared on all its arguments, for two observations and two actions."""
    for k in (1, 2, 3):
        P = _plain_task()
        one, other = attach(f"O{k}", P), attach(f"{smaller}{k}", P)
        same = (
            set(one.M) == set(other.M)
            and dict(one.eta) == dict(other.eta)
            and _gammas(f"O{k}", "push") == _gammas(f"{smaller}{k}", "push")
        )
        proof.step("push", None if same else f"O{k} that pushes is not {smaller}{k}")
    kept = _gammas("O1", write) != _gammas("O1", "push")
    proof.step("keep", None if kept else f"{write} does what push does")
    argument = text(
        "Definition 4.3 and Appendix A.3: both buffers start empty, and a push drops the oldest "
        "entry and appends the current observation. Compared for k = 1, 2, 3 on every m, w = push, "
        "o, a, o' with two observations. So a policy of K(k), given the write push everywhere, is "
        "a policy of O(k) with the same episodes.",
    )
    return argued("K(k) is O(k) that pushes", argument)


buffers_generalise.twin("OA(k) in the place of K(k)", guards="push", smaller="OA")
buffers_generalise.twin("push in the place of keep", guards="keep", write="push")


@claim(
    "S4.imagine",
    place="Sec. 4",
    statement="O(k) cannot imagine what has not happened: whatever is in its buffer was observed "
    "earlier in the episode. B(k) can: the first write may be any memory state.",
    verdict="argued",
    steps=(
        machine("start", "The buffer starts empty."),
        machine("step", "Entries after a step are entries before it, or the current observation."),
        human("induction", "So every entry of the buffer at time t is one of o_0, ..., o_{t-1}."),
        machine("bits", "With B1 the memory can say 1 after the first step of gravity."),
    ),
)
def buffers_do_not_imagine(
    proof: Proof, kind: str = "O", bit: str = "1", start: str | None = None
) -> Evidence:
    """The inductive step for k = 1, 2, 3, every buffer of two labels, every write."""
    P = _plain_task()
    for k in (1, 2, 3):
        memory = attach(f"{kind}{k}", P)
        begins = memory.eta if start is None else {(start,) * k: 1}
        seen = [x for m in begins for x in m if x is not None]
        proof.step("start", f"{seen[0]} is in the buffer at the start" if seen else None)
        for w in memory.W:
            for (m, o, _, _), row in _gammas(f"{kind}{k}", w).items():
                new = [x for m_next in row for x in m_next if x is not None]
                if odd := [x for x in new if x not in (*m, o)]:
                    proof.step("step", f"{kind}{k}, {w}: {odd[0]} out of nowhere")
    proof.step("step")
    gravity = pomdps.gravity()
    E = augment(gravity, "B1")
    (start,) = [s for s, x in E.mu.items() if x]
    said = {s[1] for a in E.A for (s, _) in E.p(start, a)}
    proof.step("bits", None if said == {"0", bit} else f"after one step it says {sorted(said)}")
    argument = text(
        "The inductive step is checked for O(k), k = 1, 2, 3, on every buffer, write, observation "
        "and next observation over two labels; by the definition it is the same for every k and "
        "every O. In gravity with B1 the first step may write 1, 'gravity is off', five steps "
        "before the button can be reached (S4.premature says what that does to TD).",
    )
    return argued("entries are old entries, or o", argument)


buffers_do_not_imagine.twin("a buffer that starts with x in it", guards="start", start="x")
buffers_do_not_imagine.twin("OA(k): entries are pairs", guards="step", kind="OA")
buffers_do_not_imagine.twin("one bit says 2", guards="bits", bit="2")


# ---------------------------------------------------------------------- premature writes


@cache
def bit_policy_shortcuts() -> tuple[Any, tuple[tuple[Any, Any], ...]]:
    """What the policy of the paper's text is worth in gravity with B1, and its strict shortcuts.

    Go right along the floor; write 1 on entering the button's cell; go back and up.
    """
    E = augment(pomdps.gravity(), "B1")
    way = {("0", (x, 0)): ("right", "1" if x == 3 else "0") for x in range(4)}
    back = {("1", (x, 0)): ("left" if x else "up", "1") for x in range(5)}
    up = {("1", (0, y)): ("up", "1") for y in range(1, 4)}
    pi = Policy.deterministic(E, {**way, **back, **up}, otherwise=("up", "1"))
    found = shortcuts(E, pi, exact=True)
    strict = tuple((x.o, x.a) for x in found if x.kind == "strict")
    return evaluate(E, pi, exact=True).value, strict


@claim(
    "S4.premature",
    place="Sec. 4",
    statement="In gravity with B1, writing 'off' before the button is a non-Markovian shortcut of "
    "the optimal policy whose bit says whether gravity is off: one-step TD values it above the "
    "policy's own action, truly it is worse.",
    verdict="checked",
    steps=(
        machine("optimal", "The policy is worth gamma^11, the best that there is."),
        machine(
            "early",
            "At (0,0), (1,0), (2,0) every action with the write 1 that leads to a "
            "cell of the way back is a strict shortcut.",
        ),
    ),
)
def premature_writes(proof: Proof, now: str = "0", write: str = "1", steps: int = 11) -> Evidence:
    """All strict shortcuts of one policy, in rationals, gamma = 19/20."""
    value, found = bit_policy_shortcuts()
    right = value == Fraction(19, 20) ** steps
    proof.step("optimal", None if right else f"it is worth {float(value):.4f}")
    early = [(o, a) for o, a in found if o[0] == now and a[1] == write]
    counts = [sum(o[1] == (x, 0) for o, _ in early) for x in range(3)]
    proof.step("early", None if min(counts) >= 3 else f"{counts} of them at (0,0), (1,0), (2,0)")
    argument = text(
        "gamma = 19/20, in rationals. The policy goes right along the floor, writes 1 on entering "
        "the button's cell, and goes back and up: 12 steps, S4.gravity-bit says that no other is "
        f"better. It has {len(found)} strict shortcuts, {len(early)} of which write 1 while "
        f"gravity is still on: {counts[0]}, {counts[1]} and {counts[2]} of the four actions at "
        "(0,0), (1,0), (2,0). The row (1, cell) belongs to the way back, whose value is higher, "
        "and one-step TD believes that to write it is to be there.",
    )
    return checked(f"{len(early)} of {len(found)} strict shortcuts", argument)


premature_writes.twin("gamma^10", guards="optimal", steps=10)
premature_writes.twin("writing 'on' after the button", guards="early", now="1", write="0")


# ---------------------------------------------------------------------- actions that matter


@claim(
    "S4.ok-actions",
    place="Sec. 4",
    statement="Where the history of actions matters, as in recall, O(k) is insufficient in the "
    "sense of Definition A.2 (k = 1, 2, 3); as a representation O1 is too small, and O2 encodes an "
    "optimal policy all the same: two senses that differ.",
    verdict="checked",
    steps=(
        machine("beliefs", "O1, O2, O3 do not keep the beliefs of recall apart; OA2 does."),
        machine("small", "O1 encodes no optimal policy of recall."),
        machine("encodes", "O2 does: how often it has pushed tells the time."),
    ),
)
def actions_matter(
    proof: Proof,
    blind: Iterable[str] = ("O1", "O2", "O3"),
    small: str = "O1",
    enough: str = "O2",
) -> Evidence:
    """Both predicates on recall, in rationals."""
    P = pomdps.recall()
    seeing = [name for name in blind if is_sufficiently_expressive(P, name)]
    if not is_sufficiently_expressive(P, "OA2"):
        seeing.append("OA2 is not")
    proof.step("beliefs", f"{seeing[0]} is sufficiently expressive" if seeing else None)
    proof.step("small", f"{small} encodes an optimum" if can_encode_optimal(P, small) else None)
    proof.step("encodes", None if can_encode_optimal(P, enough) else f"{enough} encodes none")
    argument = text(
        "Every state of recall looks alike, so a buffer of observations holds nothing but the "
        "number of pushes: beliefs after different actions stay together, and Definition A.2 fails "
        "for O(k). A deterministic policy knows its own actions, though: what it did follows from "
        "the time. O2 (even K2) counts to three, and 1, 2, 3 is a policy of it. In general K(T-1) "
        "is enough for every task of T steps: T.clock.",
    )
    return checked("Def. A.2: no; O2 encodes it", argument)


actions_matter.twin("OA2 among the blind", guards="beliefs", blind=("O1", "OA2"))
actions_matter.twin("O2 too small", guards="small", small="O2")
actions_matter.twin("K1 enough", guards="encodes", enough="K1")


# ---------------------------------------------------------------------- Section 5.3


@claim(
    "S53.lines",
    place="Sec. 5.3",
    statement="A memory takes fewer than 40 lines of code.",
    verdict="checked",
    steps=(machine("lines", "Each of none, B, K, O, OA is defined in fewer than 40 lines here."),),
)
def few_lines(proof: Proof, most: int = 40) -> Evidence:
    """Lines of the functions that define each kind, with their docstrings."""
    lines = {}
    for kind in ("none", "B", "K", "O", "OA"):
        made = getattr(memories, kind)
        source = inspect.getsource(made if callable(made) else type(made))
        lines[kind] = len(source.splitlines())
    large = [f"{kind}: {n} lines" for kind, n in lines.items() if n >= most]
    proof.step("lines", large[0] if large else None)
    shown = ", ".join(f"{kind} {n}" for kind, n in lines.items())
    argument = text(
        f"Lines with docstrings: {shown}. One wrapper for Gymnasium serves them all "
        "(`workbench.interop.gym.memory_wrapper`), so a memory of one's own is a set M, a set W, "
        "Gamma and eta.",
    )
    return checked(f"at most {max(lines.values())} lines", argument)


few_lines.twin("fewer than 5 lines", guards="lines", most=5)
