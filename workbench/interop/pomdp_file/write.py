"""A POMDP as the text of a `.POMDP` file. See `notes.py` for what goes into comments.

One line for each entry: `T: a : s : s' p`, `O: * : s : o p` and `R: a : s : s' : * r`, or `R: a : s
: * : * r` where the reward of (s, a) is the same for every successor. Names are used where all
labels are names of the format, numbers elsewhere. The format has one reward for each (s, a, s'), so
a successor that some (s, a) reaches with n rewards is written n times: the state and n - 1 copies
of it, which behave alike.
"""

from __future__ import annotations

import re
from decimal import Context, Decimal, Inexact, Overflow
from fractions import Fraction
from typing import Any

import numpy as np

from workbench.core.numbers import Number
from workbench.core.pomdp import POMDP
from workbench.core.rows import row_places
from workbench.core.space import Label
from workbench.interop.pomdp_file.grammar import RESERVED
from workbench.interop.pomdp_file.notes import note, writable
from workbench.interop.pomdp_file.source import PomdpFileError
from workbench.text import show

_STRICT_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_LONGEST_DECIMAL = 40
_LONGEST_FRACTION = 4000
_DIGITS = 17
"""Significant digits of a fraction that is no decimal: enough for the nearest float."""


def pomdp_text(P: POMDP) -> str:
    """The text of a file that `parse_pomdp` reads back to the same model."""
    if P.symbols:
        names = ", ".join(sorted(map(str, P.symbols)))
        raise PomdpFileError(
            f"{P.name} holds the symbols {names}: give them values before writing it to a file"
        )
    writer = _Writer(P.with_all_actions())
    if P.allowed is not None:
        some = np.flatnonzero(~P.allowed.all(axis=1)).tolist()
        rows = {str(o): np.flatnonzero(P.allowed[o]).tolist() for o in some}
        writer.notes.append(note("allowed", rows))
    return writer.text()


class _Writer:
    def __init__(self, P: POMDP):
        self.P = P
        self.nS, self.nA = len(P.S), len(P.A)
        self.spell = _Speller(P.is_exact)
        self.rows = [self._row(row) for row in range(self.nS * self.nA)]
        self.copies, self.ids = self._copy_states()
        originals = [*range(self.nS), *self.copies]
        self.notes: list[str] = [note("name", P.name)]
        self.declared: dict[str, str] = {}
        self.A = self._names("actions", list(P.A))
        self.O = self._names("observations", list(P.O))
        self.S = self._names("states", list(P.S))
        if P.terminal:
            self.notes.append(
                note("terminal", [i for i, s in enumerate(originals) if P.terminal.mask[s]])
            )
        if self.copies:
            self.notes.append(note("copies", self.copies))
        self.originals = originals

    # ------------------------------------------------------------------ what there is to write

    def _row(self, row: int) -> dict[int, dict[Number, Number]]:
        """{s_next: {r: probability}} of one (s, a), without zeros."""
        p = self.P.p
        found: dict[int, dict[Number, Number]] = {}
        for k in row_places(p.row_ptr, row):
            if (prob := p.prob[k]) != 0:
                rewards = found.setdefault(int(p.s_next[k]), {})
                rewards[p.r[k]] = rewards[p.r[k]] + prob if p.r[k] in rewards else prob
        return found

    def _copy_states(self) -> tuple[list[int], list[list[int]]]:
        """The states that the copies are of, and for each state its number and those of its
        copies."""
        needed = [1] * self.nS
        for row in self.rows:
            for s_next, rewards in row.items():
                needed[s_next] = max(needed[s_next], len(rewards))
        copies: list[int] = []
        ids: list[list[int]] = []
        for s, count in enumerate(needed):
            ids.append([s, *range(self.nS + len(copies), self.nS + len(copies) + count - 1)])
            copies += [s] * (count - 1)
        return copies, ids

    def _names(self, kind: str, labels: list[Label]) -> list[str]:
        """How the states, actions or observations are written. They are names where all labels are
        names of the format, and otherwise numbers, with a note where these are not the labels."""
        copies = self.copies if kind == "states" else []
        if all(
            isinstance(x, str) and _STRICT_NAME.fullmatch(x) and x not in RESERVED for x in labels
        ):
            names, taken = list(labels), set(labels)
            for i, original in enumerate(copies):
                name = f"{labels[original]}-copy{i}"
                while name in taken:
                    name += "-"
                names.append(name)
                taken.add(name)
            self.declared[kind] = " ".join(names)
            return names
        if not all(type(x) is int and x == i for i, x in enumerate(labels)):
            self.notes.append(note(kind, [writable(label) for label in labels]))
        self.declared[kind] = str(len(labels) + len(copies))
        return [str(i) for i in range(len(labels) + len(copies))]

    # ------------------------------------------------------------------ the text

    def text(self) -> str:
        P, spell = self.P, self.spell
        S, O = self.S, self.O
        body = [
            f"discount: {spell(P.gamma)}",
            "values: reward",
            *(f"{kind}: {self.declared[kind]}" for kind in ("states", "actions", "observations")),
            "",
            "start:",
            " ".join(
                spell(P.mu.prob[s]) if s < self.nS else spell(P.mu.prob[0] * 0)
                for s in range(len(self.originals))
            ),
            "",
        ]
        for s, original in enumerate(self.originals):
            body += self._transitions(s, original)
        body.append("")
        for s, original in enumerate(self.originals):
            span = row_places(P.omega.row_ptr, original)
            body += [
                f"O: * : {S[s]} : {O[int(P.omega.o[k])]} {spell(P.omega.prob[k])}" for k in span
            ]
        body.append("")
        for s, original in enumerate(self.originals):
            body += self._rewards(s, original)
        if P.is_exact:
            self.notes.append(note("exact", spell.fractions))
        head = [f"# {line}" for line in self._introduction()] + self.notes
        return "\n".join([*head, "", *body]) + "\n"

    def _introduction(self) -> list[str]:
        lines = [
            f"A POMDP of {self.nS} states. The first observation is that of the start state, "
            "before any action."
        ]
        if self.P.terminal:
            lines.append("Terminal states are absorbing here: an episode ends on reaching them.")
        return lines

    def _transitions(self, s: int, original: int) -> list[str]:
        S, A = self.S, self.A
        if self.P.terminal.mask[original]:
            return [f"T: * : {S[s]} : {S[s]} 1.0"]
        return [
            f"T: {A[a]} : {S[s]} : {S[self.ids[s_next][i]]} {self.spell(prob)}"
            for a in range(self.nA)
            for s_next, rewards in self.rows[original * self.nA + a].items()
            for i, prob in enumerate(rewards.values())
        ]

    def _rewards(self, s: int, original: int) -> list[str]:
        lines, S, A = list[str](), self.S, self.A
        for a in range(self.nA):
            row = self.rows[original * self.nA + a]
            distinct = {r for rewards in row.values() for r in rewards}
            if len(distinct) == 1 and (r := distinct.pop()) != 0:
                lines.append(f"R: {A[a]} : {S[s]} : * : * {self.spell(r)}")
            elif len(distinct) > 1:
                lines += [
                    f"R: {A[a]} : {S[s]} : {S[self.ids[s_next][i]]} : * {self.spell(r)}"
                    for s_next, rewards in row.items()
                    for i, r in enumerate(rewards)
                    if r != 0
                ]
        return lines


class _Speller:
    """Numbers as text: floats as Python prints them, fractions as decimals.

    A fraction that is no short decimal is written as a rounded decimal with an exponent, a spelling
    that stands for this fraction alone; `fractions` maps these spellings to the fractions.
    """

    def __init__(self, exact: bool):
        self.exact = exact
        self.fractions: dict[str, str] = {}
        self.known: dict[Fraction, str] = {}

    def __call__(self, x: Any) -> str:
        if not self.exact:
            return repr(float(x))
        if x not in self.known:
            self.known[x] = _decimal(x) or self._rounded(x)
        return self.known[x]

    def _rounded(self, x: Fraction) -> str:
        if x.denominator.bit_length() + x.numerator.bit_length() >= 3 * _LONGEST_FRACTION:
            raise PomdpFileError(
                f"a number with more than {_LONGEST_FRACTION} digits cannot be written: "
                f"{show(float(x))}"
            )
        fraction = str(x)
        digits = _DIGITS
        while True:
            context = Context(prec=digits, Emax=10**6, Emin=-(10**6))
            spelling = (
                f"{context.divide(Decimal(x.numerator), Decimal(x.denominator)):.{digits - 1}e}"
            )
            if spelling not in self.fractions:
                self.fractions[spelling] = fraction
                return spelling
            digits += 1


def _decimal(x: Fraction) -> str | None:
    """The decimal that equals a fraction, if it is short."""
    context = Context(prec=_LONGEST_DECIMAL, Emax=_LONGEST_DECIMAL, Emin=-_LONGEST_DECIMAL)
    context.traps[Inexact] = context.traps[Overflow] = True
    try:
        found = f"{context.divide(Decimal(x.numerator), Decimal(x.denominator)):f}"
    except ArithmeticError:
        return None
    return found if "." in found else f"{found}.0"
