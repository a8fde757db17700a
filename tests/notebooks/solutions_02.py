"""Answers to the exercises of notebook 02."""

from pomdps import recall
from workbench import Policy, augment


def path(*cells):
    """Press 1, 2, 3 while the bits go through the cells."""
    first, second, third, last = cells
    rows = {first: (1, second), second: (2, third), third: (3, last)}
    return {(m, "o"): rows.get(m, (1, "00")) for m in ("00", "01", "10", "11")}


RIGHT = {
    1: [
        path("00", "01", "10", "11"),
        path("00", "11", "01", "00"),
        path("00", "10", "11", "11"),
        Policy.deterministic(augment(recall(), "B2"), path("00", "01", "11", "00")),
    ],
    2: [lambda k: 1 + 5 * 2**k, lambda k: 1 + sum(2**k for _ in range(5))],
}
WRONG = {
    1: [
        path("01", "10", "11", "00"),
        {key: move for key, move in path("00", "01", "10", "11").items() if key != ("11", "o")},
        {
            ("00", "o"): (1, "01"),
            ("01", "o"): (2, "01"),
            ("10", "o"): (3, "11"),
            ("11", "o"): (3, "11"),
        },
        {("00", "o"): (1, 1), ("01", "o"): (2, 2), ("10", "o"): (3, 3), ("11", "o"): (3, 3)},
        [1, 2, 3],
    ],
    2: [lambda k: 6 * 2**k, lambda k: 5 * 2**k, lambda k: 1 + 10 * k, 21],
}
