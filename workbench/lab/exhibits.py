"""Finds worth showing, as tables of rewards: each is judged anew, in rationals, when it is asked
for.

They are the named tasks of `docs/findings.md`, that of Appendix C, and the smallest cases of the
ledger's own theorems; a gallery of one's own is a folder (`Gallery`).
"""

from __future__ import annotations

from fractions import Fraction as F
from typing import Any

from workbench.core.errors import WorkbenchError
from workbench.lab.find import Find
from workbench.lab.gallery import GalleryEntry, find_json
from workbench.lab.sequences import discounted_sequence_task
from workbench.lab.statements import as_statement

_SMALL = ("K1", "B1", "O1", "OA1", "K2", "B2", "O2", "OA2")

EXHIBITS: tuple[tuple[str, str, dict[str, Any], Any], ...] = (
    ("bits-are-stuck-where-pairs-are-not", "oracle-stuck",
     {"memory": ("B1", "B2"), "but_not": ("OA1",)}, [[5, 4], [0, 6]]),
    ("the-table-of-Appendix-C", "oracle-stuck", {"memory": ("B1", "B2"), "but_not": ("OA1",)},
     [[-5, F(1, 2), 1, F(1, 2)], [0, F(1, 2), F(-1, 2), F(3, 4)], [0, F(1, 2), -5, F(1, 2)],
       [0, F(1, 2), -5, F(1, 2)]]),
    ("pairs-are-stuck-where-bits-are-not", "oracle-stuck",
     {"memory": ("OA1",), "but_not": ("B1", "OA2")}, [[[0, 0], [2, 0]], [[0, 0], [0, 1]]]),
    ("all-memories-are-stuck", "oracle-stuck", {"memory": _SMALL},
     [[[15, 1], [13, 0]], [[11, 13], [14, 14]]]),
    ("a-larger-memory-does-worse", "larger-does-worse", {}, [[3, 2], [0, 4]]),
    ("no-fixed-point", "no-fixed-point", {"memory": "none"}, [[0, 1], [1, 0]]),
    ("no-fixed-point-with-a-bit", "no-fixed-point", {"memory": "B1"}, [[0, 0], [1, 0]]),
    ("no-fixed-point-with-a-pair", "no-fixed-point", {"memory": "OA1"}, [[0, 21], [20, 20]]),
    ("no-fixed-point-with-a-pair-and-one-reward", "no-fixed-point", {"memory": "OA1"},
     [[[0, 0], [0, 0]], [[0, 0], [1, 0]]]),
    ("only-the-worst-is-a-fixed-point", "only-worst-fixed-point", {"memory": "none"},
     [[0, 0], [2, 1]]),
    ("several-fixed-points", "several-fixed-points", {"memory": "none"}, [[1, 0], [0, 2]]),
    ("bits-hurt", "oracle-stuck", {"memory": ("B1", "B2", "B3"), "but_not": ("none",)},
     [[5, 4], [0, 6]]),
    ("every-small-memory-hurts", "oracle-stuck", {"memory": _SMALL, "but_not": ("none",)},
     [[[15, 1], [13, 0]], [[11, 13], [14, 14]]]),
    ("pairs-are-stuck-if-ties-go-to-keep", "oracle-stuck", {"memory": ("OA1",), "ties": "first"},
     [[0, 2], [0, 1]]),
    ("observations-that-must-be-pushed", "oracle-stuck", {"memory": ("K2",), "but_not": ("OA2",)},
     [[[1, 0], [1, 3]], [[2, -1], [-1, -1]]]),
    ("chattering-at-a-saddle", "oracle-chatters", {"memory": ("K1", "B1", "O1")}, [[0, 1], [1, 0]]),
    ("one-bit-chatters-below-the-best", "oracle-chatters", {"memory": ("B1",), "step": F(1, 25)},
     [[0, 5], [4, 2]]),
    ("what-was-seen-is-enough-if-nothing-is-dropped", "encodes-optimum",
     {"memory": ("K2",), "but_not": ("K1",)}, [[[0, 1], [0, 0]], [[0, 0], [0, 0]]]),
    ("a-clock-hurts-on-three-steps", "oracle-stuck", {"memory": ("K1",), "but_not": ("none",)},
     [[[1, 0], [0, 0]], [[1, 0], [0, 2]]]),
    ("a-third-action-leads-bits-astray", "oracle-stuck",
     {"memory": ("B1", "B2"), "but_not": ("OA1",)}, [[0, 0, 2], [1, 1, 0], [0, 1, 0]]),
)  # fmt: skip
"""Each with a name, the statement, its parameters, and the rewards r[a_1]...[a_L]."""

THEOREMS = {
    "the-table-of-Appendix-C": "T.ascent",
    "bits-are-stuck-where-pairs-are-not": "T.bits",
    "a-larger-memory-does-worse": "T.bits",
    "bits-hurt": "T.hurts",
    "every-small-memory-hurts": "T.eight",
    "pairs-are-stuck-if-ties-go-to-keep": "T.oa1",
    "observations-that-must-be-pushed": "T.push",
    "chattering-at-a-saddle": "T.saddle",
    "one-bit-chatters-below-the-best": "T.bits-region",
    "what-was-seen-is-enough-if-nothing-is-dropped": "T.clock",
    "a-clock-hurts-on-three-steps": "T.hurts-often",
    "a-third-action-leads-bits-astray": "T.grows",
}
"""The claim of the ledger, among our own theorems, that an exhibit belongs to."""


def exhibit(name: str) -> GalleryEntry:
    """The find of that name, judged.

    Raises
    ------
    WorkbenchError : if the statement does not hold for its task.

    >>> exhibit("a-larger-memory-does-worse").find.verdict.holds
    True
    """
    for known, statement, parameters, rewards in EXHIBITS:
        if known == name:
            P = discounted_sequence_task(rewards, name=name)
            asked = as_statement(statement, **parameters)
            verdict = asked.exactly(P)
            if not verdict.holds:
                raise WorkbenchError(f"{name}: the statement does not hold for its task")
            find = Find(P, asked, verdict, {"found": "docs/findings.md"})
            return GalleryEntry(name, find, find_json(find))
    raise WorkbenchError(f"there is no exhibit {name!r}: {', '.join(e[0] for e in EXHIBITS)}")
