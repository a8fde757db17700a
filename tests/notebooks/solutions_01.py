"""Answers to the exercises of notebook 01."""

from dataclasses import replace
from fractions import Fraction

from pomdps import recall
from workbench import POMDP


def shows(omega, p=None, gamma=Fraction(19, 20)):
    """Recall with other observations."""
    P = recall()
    return POMDP.from_functions(
        name="answer", A=P.A, p=p or P.p, omega=omega, mu=P.mu, gamma=gamma, terminal=P.terminal
    )


def generous(s, a):
    """Pays for every right press."""
    return {(s_next, int("right" in s_next)): x for (s_next, _), x in recall().p(s, a).items()}


def blurred(s):
    return {s: 1} if s == "end" else {s[0]: Fraction(1, 2), "?": Fraction(1, 2)}


RIGHT = {
    1: [
        {1: Fraction(2, 3), 2: Fraction(1, 3)},
        {1: Fraction(2, 3), 2: Fraction(1, 3), 3: 0},
        {1: 2 / 3, 2: 1 / 3, 3: 0.0},
    ],
    2: [
        shows(lambda s: {s.split()[0]: 1}),
        replace(shows(lambda s: {3 if s == "end" else int(s[0]): 1}), name="clock"),
        shows(lambda s: {"0" if s == "end" else s[0]: 1}),
    ],
}
WRONG = {
    1: [
        {1: Fraction(1, 3), 2: Fraction(1, 3), 3: Fraction(1, 3)},
        {1: Fraction(1, 2), 2: Fraction(1, 2), 3: 0},
        {1: 1, 2: 0, 3: 0},
        {1: Fraction(2, 3), 2: Fraction(2, 3)},
        {1: 0.66, 2: 0.34},
    ],
    2: [
        recall(),
        shows(lambda s: {s: 1}),
        shows(lambda s: {"first" if s[0] == "0" else "later": 1}),
        shows(blurred),
        shows(lambda s: {s[0]: 1}, p=generous),
        shows(lambda s: {s[0]: 1}, gamma=1),
    ],
}
