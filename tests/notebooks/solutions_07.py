"""Answers to the exercises of notebook 07."""

from fractions import Fraction

from workbench import POMDP

STEP = {"000": ("001", "010"), "001": ("011", "100")}
"""Where one step leads from the memory states before it: all right so far, or not; 010 stands for
one wrong step."""


def counts(m, o, a):
    """000: nothing done; 001, 010: one step, right or wrong; 011, 100: two."""
    if m == "010":
        return "100"
    right, wrong = STEP.get(m, ("111", "111"))
    return right if a == {"000": 1, "001": 2}.get(m) else wrong


def forgets_when(m, o, a):
    """A wrong step is remembered, but not how many steps there were."""
    return "100" if m == "010" or counts(m, o, a) in ("010", "100") else counts(m, o, a)


def swap(pays, look=lambda s: "o"):
    """Two states, every action changes the state; `pays` are the pairs (s, a) that pay 1."""
    return POMDP.from_functions(
        name="swap",
        A=["a", "b"],
        p=lambda s, a: {("R" if s == "L" else "L", int((s, a) in pays)): 1},
        omega=lambda s: {look(s): 1},
        mu={"L": 1},
        gamma=Fraction(1, 2),
    )


RIGHT = {
    1: [counts, {(m, "o", a): counts(m, "o", a) for m in ("000", "001", "010") for a in (1, 2, 3)}],
    2: [swap([("L", "a"), ("R", "a")]), swap([("L", "a")]), swap([])],
}
WRONG = {
    1: [
        forgets_when,
        lambda m, o, a: "001",
        lambda m, o, a: counts(m, o, a)[1:],
        {("000", "o", a): counts("000", "o", a) for a in (1, 2, 3)},
    ],
    2: [swap([("L", "a"), ("R", "b")]), swap([("L", "a"), ("R", "a")], look=str), "swap"],
}
