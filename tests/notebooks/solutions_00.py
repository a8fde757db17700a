"""Answers to the exercises of notebook 00."""

from fractions import Fraction

TWO = ((("o", 2),), "o")


def o1(m, w, o, a, r, o_next):
    return {(o,): 1} if w == "push" else {m: 1}


def o1_with_every_outcome(m, w, o, a, r, o_next):
    if m == (o,):
        return {m: Fraction(1)}
    return {(o,): int(w == "push"), m: int(w == "keep")}


def pushes_what_comes(m, w, o, a, r, o_next):
    return {(o_next,): 1} if w == "push" else {m: 1}


def always_pushes(m, w, o, a, r, o_next):
    return {(o,): 1}


def stores_no_tuple(m, w, o, a, r, o_next):
    return {o: 1} if w == "push" else {m: 1}


def returns_no_distribution(m, w, o, a, r, o_next):
    return (o,) if w == "push" else m


RIGHT = {1: [(TWO, (3, "push"))], 2: [o1, o1_with_every_outcome]}
WRONG = {
    1: [
        (TWO, (3, "keep")),
        (((("o", 3),), "o"), (2, "push")),
        (("o", (("o", 2),)), (3, "push")),
        (TWO, "3 push"),
        TWO,
        ("2", "3 push"),
    ],
    2: [
        pushes_what_comes,
        always_pushes,
        stores_no_tuple,
        returns_no_distribution,
        lambda m, w, o: {(o,): 1},
    ],
}
