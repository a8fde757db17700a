"""A POMDP as the JSON that the explorer's page reads. Labels and exact numbers are text, and tables
are compressed rows.

numbers   the distinct numbers, "19/20" for a fraction; everything else refers to their places
p         ptr[s |A| + a], next, r, prob           omega   ptr[s], o, prob
mu        [[s, number], ...]                      terminal  [s, ...]
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from workbench.core.augment import augment
from workbench.core.numbers import Numbers
from workbench.core.pomdp import POMDP
from workbench.memories import parse_memory
from workbench.text import show

MEMORIES = ("none", "K1", "K2", "B1", "B2", "B3", "O1", "O2", "OA1", "OA2")
"""The memories that the page offers where the product is small enough."""

MOST_STATES = 2_000
"""Products with more states than this are not offered."""

MOST_CODES = 100_000
"""Products with more pairs of an emission and a memory state than this are not even tried."""


@dataclass(frozen=True)
class ExplorerEntry:
    """A task of the page.

    Attributes
    ----------
    id : its name in the page's address.
    title, text : what a visitor reads.
    best : the best history-based value, or None where it is not known.
    encodes : memories with which some deterministic memoryless policy is worth `best`; the page
        looks for itself where there are few policies.
    policies : by memory, a best deterministic policy where there are too many for the page to try:
        the place of its action for each observation of the product, -1 where it never comes.
    weights : how P(s|o) counts visits at first, "visits" or "discounted".
    editable : whether the page shows its rewards as a table r[a1][a2] that can be edited.
    code : the Python expression that makes P, after `import pomdps`.
    grid : {"width", "height", "walls", "marks"} for tasks on a grid.
    """

    id: str
    P: POMDP
    title: str
    text: str
    best: float | None = None
    encodes: tuple[str, ...] = ()
    policies: dict[str, list[int]] = field(default_factory=dict)
    weights: str = "visits"
    editable: bool = False
    code: str = ""
    grid: dict[str, Any] | None = None


class _Numbering:
    """The distinct numbers in order of appearance."""

    def __init__(self) -> None:
        self.places: dict[str, int] = {}

    def place(self, x: Any) -> int:
        return self.places.setdefault(str(x), len(self.places))

    def all(self, numbers: Numbers) -> list[int]:
        return [self.place(numbers[i]) for i in range(len(numbers))]


def export_model(P: POMDP) -> dict[str, Any]:
    """The JSON object of a POMDP.

    >>> coin = POMDP.from_functions(
    ...     name="coin",
    ...     A=["heads", "tails"],
    ...     p=lambda s, a: {("end", int(s == a)): 1},
    ...     omega=lambda s: {"a coin": 1},
    ...     mu={"heads": 1},
    ...     gamma=1,
    ...     terminal={"end"},
    ... )
    >>> export_model(coin)["p"]
    {'ptr': [0, 1, 2, 2, 2], 'next': [1, 1], 'r': [1, 0], 'prob': [1, 1]}
    """
    numbers = _Numbering()
    numbers.place(0)
    return {
        "name": P.name,
        "S": [show(s) for s in P.S],
        "O": [show(o) for o in P.O],
        "A": [show(a) for a in P.A],
        "gamma": str(P.gamma),
        "p": {
            "ptr": P.p.row_ptr.tolist(),
            "next": P.p.s_next.tolist(),
            "r": numbers.all(P.p.r),
            "prob": numbers.all(P.p.prob),
        },
        "omega": {
            "ptr": P.omega.row_ptr.tolist(),
            "o": P.omega.o.tolist(),
            "prob": numbers.all(P.omega.prob),
        },
        "mu": [[int(s), numbers.place(P.mu.prob[int(s)])] for s in P.mu.support],
        "terminal": P.terminal.mask.nonzero()[0].tolist(),
        "numbers": list(numbers.places),
    }


def offered(P: POMDP) -> dict[str, int]:
    """The memories whose product with P is small enough for the page, with its number of states."""
    found = {}
    for name in MEMORIES:
        if len(P.omega.o) * len(parse_memory(name).on(P).M) <= MOST_CODES:
            states = len(augment(P, name).S)
            if states <= MOST_STATES:
                found[name] = states
    return found


def export_entry(entry: ExplorerEntry) -> dict[str, Any]:
    """The JSON object of a task of the page."""
    entry.P.require_all_actions("the explorer")
    return {
        "id": entry.id,
        "title": entry.title,
        "text": entry.text,
        "best": entry.best,
        "encodes": list(entry.encodes),
        "policies": entry.policies,
        "weights": entry.weights,
        "editable": entry.editable,
        "grid": entry.grid,
        "code": entry.code,
        "memories": offered(entry.P),
        "model": export_model(entry.P),
    }
