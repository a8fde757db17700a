"""A POMDP as the text of a `.POMDP` file: what other programs can use, and all of it (`note.py`).

One line for each entry: `T: a : s : s' p`, `O: * : s : o p` and `R: a : s : s' : * r`, or `R: a : s
: * : * r` where the reward of (s, a) is the same for every successor. Names are used where all
labels are names of the format, numbers elsewhere. Numbers are the nearest floats. The format has
one reward for each (s, a, s'): where a task has several, it is their mean, which changes no value.
"""

from __future__ import annotations

import re

from workbench.core.numbers import Number
from workbench.core.pomdp import POMDP
from workbench.core.rows import row_places
from workbench.core.space import Label
from workbench.interop.pomdp_file.grammar import RESERVED
from workbench.interop.pomdp_file.note import note
from workbench.interop.pomdp_file.source import PomdpFileError

_STRICT_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")


def pomdp_text(P: POMDP) -> str:
    """The text of a file that `parse_pomdp` reads back to the same model."""
    if P.symbols:
        names = ", ".join(sorted(map(str, P.symbols)))
        raise PomdpFileError(
            f"{P.name} holds the symbols {names}: give them values before writing it to a file"
        )
    head = [
        f"# A POMDP of {len(P.S)} states. The first observation is that of the start state, before "
        "any action.",
        *["# Terminal states are absorbing here: an episode ends on reaching them."][
            : len(P.terminal)
        ],
    ]
    text = "\n".join(_lines(P.with_all_actions())) + "\n"
    return "\n".join([*head, note(P, text), "", text])


def _lines(P: POMDP) -> list[str]:
    """Write the lines that every program reads."""
    (S, states), (O, observations), (A, actions) = (_names(list(x)) for x in (P.S, P.O, P.A))
    transitions, rewards = list[str](), list[str]()
    for s in range(len(S)):
        if P.terminal.mask[s]:
            transitions.append(f"T: * : {S[s]} : {S[s]} 1.0")
            continue
        for a in range(len(A)):
            chances, paid = _moves(P, s * len(A) + a)
            transitions += [f"T: {A[a]} : {S[s]} : {S[t]} {_text(x)}" for t, x in chances.items()]
            distinct = set(paid.values())
            if len(distinct) == 1:
                paid = {-1: distinct.pop()}
            rewards += [
                f"R: {A[a]} : {S[s]} : {'*' if t < 0 else S[t]} : * {_text(r)}"
                for t, r in paid.items()
                if r != 0
            ]
    emissions = [
        f"O: * : {S[s]} : {O[int(P.omega.o[k])]} {_text(P.omega.prob[k])}"
        for s in range(len(S))
        for k in row_places(P.omega.row_ptr, s)
    ]
    starts = " ".join(_text(P.mu.prob[s]) for s in range(len(S)))
    return [
        f"discount: {_text(P.gamma)}",
        "values: reward",
        f"states: {states}",
        f"actions: {actions}",
        f"observations: {observations}",
        "",
        "start:",
        starts,
        *("", *transitions, "", *emissions, "", *rewards),
    ]


def _moves(P: POMDP, row: int) -> tuple[dict[int, Number], dict[int, Number]]:
    """The probabilities of the successors of one (s, a), and the mean reward with each."""
    chances: dict[int, Number] = {}
    paid: dict[int, list[tuple[Number, Number]]] = {}
    for k in row_places(P.p.row_ptr, row):
        t, x = int(P.p.s_next[k]), P.p.prob[k]
        if x != 0:
            chances[t] = chances.get(t, 0) + x
            paid.setdefault(t, []).append((P.p.r[k], x))
    means = {
        t: rs[0][0] if len(rs) == 1 else sum(r * x for r, x in rs) / chances[t]
        for t, rs in paid.items()
    }
    return chances, means


def _names(labels: list[Label]) -> tuple[list[str], str]:
    """The written names of states, actions or observations, and the line that declares them."""
    names = [x for x in labels if isinstance(x, str) and _STRICT_NAME.fullmatch(x)]
    if len(names) == len(labels) and not RESERVED & set(names):
        return names, " ".join(names)
    return [str(i) for i in range(len(labels))], str(len(labels))


def _text(x: Number) -> str:
    try:
        return repr(float(x))
    except OverflowError:
        raise PomdpFileError("a number beyond the range of floats cannot be written") from None
