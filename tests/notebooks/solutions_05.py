"""Answers to the exercises of notebook 05."""

from fractions import Fraction

EMPTY, HELD0, HELD1 = ((None,), "o"), ((("o", 0),), "o"), ((("o", 1),), "o")
KEEP0, PUSH0, KEEP1, PUSH1 = (0, "keep"), (0, "push"), (1, "keep"), (1, "push")


def mostly(action, rest):
    """A row that gives every other action the probability `rest`."""
    return {a: 1 - 3 * rest if a == action else rest for a in (KEEP0, PUSH0, KEEP1, PUSH1)}


RIGHT = {
    1: [Fraction(1, 3), Fraction(2, 6)],
    2: [
        {EMPTY: mostly(PUSH0, Fraction(1, 20))},
        {EMPTY: mostly(PUSH0, 0.02)},
        {
            o: mostly(a, Fraction(1, 50))
            for o, a in ((EMPTY, PUSH0), (HELD0, PUSH1), (HELD1, PUSH0))
        },
    ],
}
WRONG = {
    1: [Fraction(3, 8), Fraction(2, 3), 1 / 3, Fraction(-1, 3)],
    2: [
        {},
        {HELD1: mostly(PUSH0, Fraction(1, 50))},
        {EMPTY: mostly(PUSH0, Fraction(1, 10))},
        {EMPTY: mostly(PUSH0, Fraction(1, 100))},
        {EMPTY: {PUSH0: 1}, HELD0: {PUSH1: 1}, HELD1: {PUSH0: 1}},
    ],
}
