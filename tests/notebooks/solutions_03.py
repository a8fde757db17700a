"""Answers to the exercises of notebook 03."""

from fractions import Fraction

from pomdps import recall
from workbench import Memory, Policy, augment

SECRET = (1, 2, 3)


def cells(*actions):
    """What the agent sees with these actions in its buffer, None for an empty cell."""
    return tuple(None if a is None else ("o", a) for a in actions), "o"


PROGRESS = Memory(
    "progress",
    M=[0, 1, 2, 3, "lost"],
    W=["-"],
    Gamma=lambda m, w, o, a, r, o_next: {m + 1 if m in (0, 1, 2) and a == SECRET[m] else "lost": 1},
    eta={0: 1},
)

OA1 = {cells(None): (1, "push"), cells(1): (2, "push"), cells(2): (3, "push")}
OA2 = {cells(None, None): (1, "push"), cells(None, 1): (2, "push"), cells(1, 2): (3, "push")}
K2 = {
    ((None, None), "o"): (1, "push"),
    ((None, "o"), "o"): (2, "push"),
    (("o", "o"), "o"): (3, "push"),
}
POLICY = Policy.deterministic(augment(recall(), "OA2"), OA2, otherwise=(2, "push"))
B2 = {("00", "o"): (1, "01"), ("01", "o"): (2, "10"), ("10", "o"): (3, "11")}

RIGHT = {
    1: [Fraction(39, 400), 1 - Fraction(19, 20) ** 2, 0.0975, "39/400"],
    2: [("OA2", OA2), (PROGRESS, {(m, "o"): (m + 1, "-") for m in range(3)}), ("OA2", POLICY)],
}
WRONG = {
    1: [Fraction(1, 20), Fraction(19, 20), 0.1, 0, 1, -1],
    2: [
        ("OA1", OA1),
        ("K2", K2),
        ("B2", B2),
        ("OA2", OA2 | {cells(1, 2): (3, "keep"), cells(None, 1): (3, "push")}),
        ("OA1", Policy.deterministic(augment(recall(), "OA1"), OA1, otherwise=(3, "push"))),
        "OA2",
    ],
}
