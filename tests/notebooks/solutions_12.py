"""Right and wrong answers to the exercises of notebook 12."""

from fractions import Fraction

RIGHT = {
    1: [[[1, 0], [0, 2]], [[3, 0], [0, 1]]],
    2: [Fraction(7, 10), "99/100"],
}

WRONG = {
    1: [[[0, 1], [1, 0]], [[1, 0], [0, 1]], [[1, 0], [0, 4]], [[0.5, 0], [0, 1]], [[1, 2, 3]]],
    2: [Fraction(1, 10), Fraction(13, 20), Fraction(2, 3), 2],
}
