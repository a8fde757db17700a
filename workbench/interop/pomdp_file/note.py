"""The whole model in one comment of a `.POMDP` file, because the format cannot say all of it.

    #@workbench {"tokens": "<SHA-256>", "name": "gravity", "S": [[0, 0], "on"], ..., "p": [...]}

Labels are JSON, tuples are arrays; exact numbers are fractions in text, floats are JSON numbers.
`p` has a row [[s', r, probability], ...] for each (s, a), `omega` a row [[o, probability], ...] for
each s; states, observations and actions are numbers there. Other programs skip the comment.
`tokens` is the digest of everything else in the file, so that an edited file is not taken for what
it was.
"""

from __future__ import annotations

import hashlib
import json
import re
from fractions import Fraction
from typing import Any

import numpy as np

from workbench.core.errors import WorkbenchError
from workbench.core.numbers import Number
from workbench.core.pomdp import POMDP
from workbench.core.rows import row_places
from workbench.core.space import Label
from workbench.interop.pomdp_file.source import PomdpFileError, Source
from workbench.interop.pomdp_file.tables import TooMany
from workbench.results.json import Unreadable, parse_json, read_rational

PREFIX = "#@workbench"
_NOTE = re.compile(rf"^[ \t]*{PREFIX}\b(.*)$", re.MULTILINE)
Row = list[list[Any]]


def note(P: POMDP, text: str) -> str:
    """The comment that goes before the text of a file."""
    nA = len(P.A)

    def moves(row: int) -> Row:
        places = row_places(P.p.row_ptr, row)
        return [[int(P.p.s_next[k]), _written(P.p.r[k]), _written(P.p.prob[k])] for k in places]

    def shown(s: int) -> Row:
        places = row_places(P.omega.row_ptr, s)
        return [[int(P.omega.o[k]), _written(P.omega.prob[k])] for k in places]

    data: dict[str, Any] = {
        "tokens": _digest(Source(text)),
        "name": P.name,
        **{key: list(map(_as_json, space)) for key, space in (("S", P.S), ("O", P.O), ("A", P.A))},
        "gamma": _written(P.gamma),
        "mu": [[int(s), _written(P.mu.prob[int(s)])] for s in P.mu.support],
        "terminal": np.flatnonzero(P.terminal.mask).tolist(),
        "omega": [shown(s) for s in range(len(P.S))],
        "p": [moves(row) for row in range(len(P.S) * nA)],
    }
    if P.allowed is not None:
        data["allowed"] = [np.flatnonzero(row).tolist() for row in P.allowed]
    return f"{PREFIX} {json.dumps(data, ensure_ascii=True, allow_nan=False)}"


def read_note(source: Source, limit: int) -> POMDP | None:
    """Read the model in a file's comment. None if it has no such comment."""
    found = _NOTE.search(source.text)
    if found is None:
        return None
    line = source.text.count("\n", 0, found.start()) + 1
    advice = "Delete the line to read the rest (`goals` ends episodes)"
    try:
        data = parse_json(found[1])
        if data["tokens"] != _digest(source):
            raise source.fault_at_line(
                line, f"the file was changed after save_pomdp wrote this line. {advice}"
            )
        return _model(data, limit)
    except (PomdpFileError, TooMany):
        raise
    except (WorkbenchError, LookupError, TypeError, ValueError, OverflowError) as wrong:
        raise source.fault_at_line(
            line, f"this is no model of this version of save_pomdp: {wrong}. {advice}"
        ) from None


def _digest(source: Source) -> str:
    return hashlib.sha256("\n".join(source.tokens).encode()).hexdigest()


def _model(data: Any, limit: int) -> POMDP:
    S, O, A = ([_as_label(x) for x in data[key]] for key in "SOA")
    p, omega = data["p"], data["omega"]
    if not isinstance(data["name"], str) or len(p) != len(S) * len(A) or len(omega) != len(S):
        raise ValueError("its parts do not fit together")
    if sum(map(len, p)) > limit:
        raise TooMany(sum(map(len, p)))
    place, column = ({label: i for i, label in enumerate(labels)} for labels in (S, A))
    allowed = data.get("allowed")
    return POMDP.from_functions(
        name=data["name"],
        S=S,
        O=O,
        A=A,
        p=lambda s, a: {
            (_at(S, t), _read(r)): _read(x) for t, r, x in p[place[s] * len(A) + column[a]]
        },
        omega=lambda s: {_at(O, o): _read(x) for o, x in omega[place[s]]},
        mu={_at(S, s): _read(x) for s, x in data["mu"]},
        gamma=_read(data["gamma"]),
        terminal=[_at(S, s) for s in data["terminal"]],
        allowed=None if allowed is None else lambda o: [_at(A, a) for a in allowed[O.index(o)]],
    )


def _at(labels: list[Label], i: Any) -> Label:
    if type(i) is not int or i < 0:
        raise ValueError(f"{i!r} is the number of nothing")
    return labels[i]


def _written(x: Number) -> str | float:
    if isinstance(x, float):
        return x
    try:
        text = str(Fraction(x))
        read_rational(text)
    except (Unreadable, ValueError):  # ValueError: thousands of digits
        raise PomdpFileError("a number of so many digits cannot be written") from None
    return text


def _read(x: Any) -> Number:
    return x if type(x) is float else read_rational(x)


def _as_json(label: Label) -> Any:
    """A label as JSON that reads back as an equal label."""
    if isinstance(label, tuple):
        return [_as_json(part) for part in label]
    if label is None or isinstance(label, bool | int | str):
        return label
    if isinstance(label, float) and label - label == 0:
        return float(label)
    if hasattr(label, "item") and getattr(label, "shape", None) == ():  # a numpy scalar
        return _as_json(label.item())
    raise PomdpFileError(
        f"the label {label!r} cannot be written: a file holds strings, numbers, None and tuples of "
        "them. Use P.relabel to give it another"
    )


def _as_label(value: Any) -> Label:
    if isinstance(value, list):
        return tuple(_as_label(part) for part in value)
    if isinstance(value, dict):
        raise ValueError(f"{value} is not a label")
    return value
