"""Answers to the exercises of notebook 08."""

from workbench import Memory
from workbench.lab.search import search
from workbench.lab.sequences import SequenceTasks

FOUND = search("oracle-stuck", SequenceTasks(2, 2, -3, 3), memory="B1", keep=1)[0].rewards

CLOCK = Memory(
    "clock",
    M=["first", "later"],
    W=["-"],
    Gamma=lambda m, w, o, a, r, o_next: {"later": 1},
    eta={"first": 1},
)
ZERO = Memory(
    "was it 0?",
    M=["no", "yes"],
    W=["-"],
    Gamma=lambda m, w, o, a, r, o_next: {"yes" if a == 0 else "no": 1},
    eta={"no": 1},
)
FIRST = Memory(
    "first",
    M=["-", 0, 1, 2],
    W=["-"],
    Gamma=lambda m, w, o, a, r, o_next: {a if m == "-" else m: 1},
    eta={"-": 1},
)

RIGHT = {1: [FOUND, [list(map(str, row)) for row in FOUND]], 2: [CLOCK, "K1"]}
WRONG = {
    1: [
        [[0, 1], [2, 0]],
        [[0, 1], [1, 0]],
        [[0, 10], [1, 0]],
        [[0, 1, 2]],
        [[-1, 0, 2], [0, 1, 0], [0, 0, 0]],
    ],
    2: ["B1", "OA1", ZERO, FIRST, "none"],
}
