"""Answers to the exercises of notebook 04."""

from fractions import Fraction

RIGHT = {
    1: [(Fraction(5, 7), Fraction(1, 7)), [Fraction(10, 14), Fraction(2, 14)]],
    2: [(0, 3, Fraction(9, 10)), (1, 2, Fraction(9, 10)), (1, 3, -20), (0, 3, 0.9)],
}
WRONG = {
    1: [
        (Fraction(1, 7), Fraction(5, 7)),
        (5 / 7, 1 / 7),
        (Fraction(5, 7), Fraction(1, 8)),
        (2, Fraction(1, 7)),
    ],
    2: [
        (1, 3, Fraction(1, 2)),
        (0, 0, Fraction(1, 2)),
        (0, 3, 1),
        (0, 2, 5),
        (4, 0, 0),
        (2, 2, Fraction(9, 10)),
    ],
}
