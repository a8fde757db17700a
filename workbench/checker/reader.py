"""What a certificate holds, read with suspicion: fields, labels, numbers, tasks, policies,
memories.

A task is refused unless each row mu, omega(.|s) and p(., .|s, a) is there exactly once, has labels
that the task knows, and is a distribution; a policy unless each of its rows is. NumberReader are
fractions in text, such as "-3/4", or formulas in names where a certificate is about all their
values: then a row has to sum to one as a function, and some values of the names have to make a
distribution of it. What is nested too deeply or too large to be worked with is refused at once.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

from workbench.checker.expressions import Quotient, read_polynomial, read_quotient
from workbench.checker.spoiled import Spoiled

PlainLabel = Any
PolicyRows = dict[PlainLabel, dict[PlainLabel, Any]]

LARGEST_FILE, DEEPEST_FILE, MOST_ENTRIES = 200_000_000, 60, 200_000
LARGEST_BITS, LARGEST_BUFFER = 10, 8
MOST_NUMBER_DIGITS = 20_000
LARGEST_COUNT = 100_000

_FRACTION = re.compile(r"(-?)(\d+)(?:/(\d+))?")


def read_json(text: str) -> Any:
    """JSON from text. Text that is too large, too deep or no JSON is refused."""
    if len(text) > LARGEST_FILE:
        raise Spoiled(f"the file has {len(text):,} characters, more than {LARGEST_FILE:,}")

    def no_number(shown: str) -> Any:
        raise Spoiled(f"the file holds {shown}; numbers are fractions in text")

    def whole(shown: str) -> int:
        if len(shown) > 20:
            raise Spoiled(f"the file holds a whole number of {len(shown):,} digits")
        return int(shown)

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            raise Spoiled("the file holds a field twice")
        return found

    try:
        # times and other numbers of a ledger may be floats; certificates refuse them where they are
        found = json.loads(text, parse_constant=no_number, parse_int=whole, object_pairs_hook=once)
    except RecursionError:
        raise Spoiled("the file is nested too deeply") from None
    except ValueError as error:
        raise Spoiled(f"the file holds no JSON: {error}") from None
    check_depth(found)
    return found


def check_depth(found: Any) -> None:
    """Refuse what is nested too deeply, level by level and so without recursion."""
    level = [found]
    for _ in range(DEEPEST_FILE):
        level = [
            inner
            for one in level
            if isinstance(one, dict | list)
            for inner in (one.values() if isinstance(one, dict) else one)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return
    raise Spoiled(f"the certificate is nested more than {DEEPEST_FILE} times")


def field(certificate: Any, name: str, kind: type = object) -> Any:
    """A field of a certificate, which has to be there and of its kind.

    >>> field({"memory": "B1"}, "memory", str)
    'B1'
    """
    if not isinstance(certificate, dict):
        raise Spoiled(f"{str(certificate)[:40]!r} has no fields")
    if name not in certificate:
        raise Spoiled(f"there is no field {name!r}")
    found = certificate[name]
    if not isinstance(found, kind) or (kind is int and isinstance(found, bool)):
        raise Spoiled(f"{name} is not a {kind.__name__}: {str(found)[:40]!r}")
    return found


def read_entries(found: Any, width: int, what: str) -> Iterable[list[Any]]:
    """The entries of a list, each a list of a given width."""
    if not isinstance(found, list) or len(found) > MOST_ENTRIES:
        raise Spoiled(f"{what} is not a list of at most {MOST_ENTRIES:,} entries")
    for one in found:
        if not isinstance(one, list) or len(one) != width:
            raise Spoiled(f"{what} holds {str(one)[:40]!r}, not {width} things")
    return found


def count(found: Any, low: int = 1, high: int = LARGEST_COUNT) -> int:
    """A whole number within bounds."""
    if type(found) is not int or not low <= found <= high:
        raise Spoiled(f"{str(found)[:40]} is not a whole number from {low} to {high}")
    return found


def read_label(value: Any) -> PlainLabel:
    """A label from JSON: text, a whole number, nothing, or {"tuple": [...]} of these.

    >>> read_label({"tuple": ["01", {"tuple": [None, 3]}]})
    ('01', (None, 3))
    """
    if isinstance(value, dict):
        if set(value) != {"tuple"} or not isinstance(value["tuple"], list):
            raise Spoiled(f"{str(value)[:40]} is not a label")
        return tuple(read_label(part) for part in value["tuple"])
    if isinstance(value, bool) or not (value is None or isinstance(value, str | int)):
        raise Spoiled(f"{str(value)[:40]} is not a label")
    return value


def read_fraction(shown: Any) -> Fraction:
    """A fraction from text.

    >>> read_fraction("-3/4")
    Fraction(-3, 4)
    """
    match = _FRACTION.fullmatch(shown) if isinstance(shown, str) else None
    if match is None:
        raise Spoiled(f"{str(shown)[:40]!r} is not a fraction in text")
    sign, num, den = match.groups()
    if max(len(num), len(den or "")) > MOST_NUMBER_DIGITS:
        raise Spoiled(f"a number has {len(shown):,} digits, more than {MOST_NUMBER_DIGITS:,}")
    if den is not None and not den.strip("0"):
        raise Spoiled(f"{shown[:40]} divides by 0")
    value = Fraction(_whole(num), _whole(den or "1"))
    return -value if sign else value


def _whole(digits: str) -> int:
    """A whole number of any length that is allowed here. `int` alone stops at 4,300 digits."""
    total = 0
    for i in range(0, len(digits), 4_000):
        part = digits[i : i + 4_000]
        total = total * 10 ** len(part) + int(part)
    return total


def read_formula(shown: Any) -> Any:
    """A Fraction, or a quotient of polynomials that is no number."""
    if isinstance(shown, str) and _FRACTION.fullmatch(shown):
        return read_fraction(shown)
    found = read_quotient(shown)
    return found if (number := found.number) is None else number


def read_polynomial_number(shown: Any) -> Any:
    """A Fraction, or a polynomial that is no number."""
    if isinstance(shown, str) and _FRACTION.fullmatch(shown):
        return read_fraction(shown)
    found = read_polynomial(shown)
    return found if found.names else found.terms.get((), Fraction(0))


NumberReader = Callable[[Any], Any]


# ---------------------------------------------------------------------- distributions


def distribution(row: Iterable[tuple[PlainLabel, Any]], where: str) -> dict[PlainLabel, Any]:
    """A row as a dictionary, if it is a distribution: no label twice, no sign, sum one."""
    found: dict[PlainLabel, Any] = {}
    for outcome, x in row:
        if outcome in found:
            raise Spoiled(f"{where} holds {outcome!r} twice")
        if isinstance(x, Fraction) and not 0 <= x <= 1:
            raise Spoiled(f"{where} gives {outcome!r} the probability {x}")
        found[outcome] = x
    if not sum(found.values(), Fraction(0)) == 1:
        raise Spoiled(f"{where} does not sum to one")
    return found


def check_possible(rows: Iterable[dict[PlainLabel, Any]]) -> None:
    """Refuse formulas for which no values of the names were found that make distributions of all
    rows.

    Names stand for positive numbers, and every formula has to lie inside (0, 1) for some of them:
    at the ends alone, rows such as 1 + x, -x would do.
    """
    formulas = [x for row in rows for x in row.values() if not isinstance(x, Fraction)]
    names = sorted({name for x in formulas for name in _names(x)})
    for value in (Fraction(1, 2), Fraction(1, 8), Fraction(1, 100)):
        try:
            if all(0 < _value(x, dict.fromkeys(names, value)) < 1 for x in formulas):
                return
        except ZeroDivisionError:
            continue
    if formulas:
        raise Spoiled("no values of the names make distributions of all rows")


def _names(x: Any) -> set[str]:
    return x.num.names | x.den.names if isinstance(x, Quotient) else x.names


def _value(x: Any, values: dict[str, Fraction]) -> Fraction:
    return x.num.at(values) / x.den.at(values) if isinstance(x, Quotient) else x.at(values)


# ---------------------------------------------------------------------- tasks


@dataclass(frozen=True)
class CheckedTask:
    """A POMDP as dictionaries, every row of which has been checked."""

    name: str
    A: list[PlainLabel]
    O: list[PlainLabel]
    mu: dict[PlainLabel, Any]
    p: dict[tuple[PlainLabel, PlainLabel], dict[tuple[PlainLabel, Any], Any]]
    omega: dict[PlainLabel, dict[PlainLabel, Any]]
    terminal: set[PlainLabel]
    gamma: Any


def read_task(data: Any, number: NumberReader = read_fraction) -> CheckedTask:
    """The task of a certificate."""
    A = _labels(field(data, "actions", list), "the actions")
    if not A:
        raise Spoiled("the task has no actions")
    omega = {}
    for s, row in read_entries(field(data, "omega", list), 2, "omega"):
        state = read_label(s)
        if state in omega:
            raise Spoiled(f"omega has two rows for {state!r}")
        pairs = [(read_label(o), number(x)) for o, x in read_entries(row, 2, f"omega(.|{state!r})")]
        omega[state] = distribution(pairs, f"omega(.|{state!r})")
    terminal = set(_labels(field(data, "terminal", list), "the terminal states"))
    p: dict[tuple[PlainLabel, PlainLabel], dict[tuple[PlainLabel, Any], Any]] = {}
    for s, a, row in read_entries(field(data, "p", list), 3, "p"):
        pair = read_label(s), read_label(a)
        where = f"p(.|{pair[0]!r}, {pair[1]!r})"
        if pair in p:
            raise Spoiled(f"{where} is given twice")
        outcomes = [
            ((read_label(t), number(r)), number(x)) for t, r, x in read_entries(row, 3, where)
        ]
        p[pair] = distribution(outcomes, where)
    mu = distribution(
        [(read_label(s), number(x)) for s, x in read_entries(field(data, "mu", list), 2, "mu")],
        "mu",
    )
    gamma = number(field(data, "gamma"))
    if isinstance(gamma, Fraction) and not 0 <= gamma <= 1:
        raise Spoiled(f"the discount {gamma} does not lie in [0, 1]")
    known = set(omega)
    for what, states in (
        ("mu", mu),
        ("the terminal states", terminal),
        ("p", {t for row in p.values() for t, _ in row}),
    ):
        if strange := set(states) - known:
            raise Spoiled(f"{what} holds {next(iter(strange))!r}, which omega does not know")
    if set(p) != set(product(known - terminal, A)):
        raise Spoiled("p has rows for other pairs than the states that go on, with the actions")
    check_possible([mu, *omega.values(), *p.values(), {"gamma": gamma}])
    O = list(dict.fromkeys(o for row in omega.values() for o in row))
    return CheckedTask(field(data, "name", str), A, O, mu, p, omega, terminal, gamma)


def _labels(found: list[Any], what: str) -> list[PlainLabel]:
    labels = [read_label(one) for one in found]
    if len(set(labels)) < len(labels):
        raise Spoiled(f"{what} hold a label twice")
    return labels


# ---------------------------------------------------------------------- memories and policies


@dataclass(frozen=True)
class MemoryRule:
    """A memory: where it starts, what may be written, low to high, and m' = after(m, w, o, a)."""

    name: str
    start: PlainLabel
    W: list[PlainLabel]
    after: Callable[[PlainLabel, PlainLabel, PlainLabel, PlainLabel], PlainLabel]


CLASSES = ["0", "others", "last"]
"""The memory states of B(k) for all k at once: the first one, the last one, and the 2^k - 2 others
under policies that treat them alike, taken together."""


def read_memory(name: Any) -> MemoryRule:
    """The memory with a given name, by Definitions 4.3, 4.4, A.3 and A.4. Names are "none", "B2",
    "K1", "O1", "OA1", or "B(k)", or "window1", an OA1 that has to push."""
    if name == "none":
        return MemoryRule("none", "-", ["-"], lambda m, w, o, a: m)
    if name == "B(k)":
        return MemoryRule("B(k)", CLASSES[0], CLASSES, lambda m, w, o, a: w)
    match = re.fullmatch(r"(B|K|O|OA|window)([1-9]\d?)", name) if isinstance(name, str) else None
    if match is None:
        raise Spoiled(f"{name!r} is not one of the paper's memories, and no window")
    kind, k = match.group(1), int(match.group(2))
    if k > (LARGEST_BITS if kind == "B" else LARGEST_BUFFER):
        raise Spoiled(f"{name} is too large to be looked at here")
    if kind == "B":
        words = ["".join(bits) for bits in product("01", repeat=k)]
        return MemoryRule(name, words[0], words, lambda m, w, o, a: w)

    def after(m: PlainLabel, w: PlainLabel, o: PlainLabel, a: PlainLabel) -> PlainLabel:
        return m if w == "keep" else (*m[1:], (o, a) if kind in ("OA", "window") else o)

    writes = ["push"] if kind in ("K", "window") else ["keep", "push"]
    return MemoryRule(name, (None,) * k, writes, after)


def seen_label(task: CheckedTask, memory: MemoryRule, o: PlainLabel) -> PlainLabel:
    """The label (m, o). Without memory an observation may be named alone."""
    return ("-", o) if memory.name == "none" and o in task.O else o


def done_label(task: CheckedTask, memory: MemoryRule, a: PlainLabel) -> PlainLabel:
    """The label (a, w). Without memory an action may be named alone."""
    return (a, "-") if memory.name == "none" and a in task.A else a


def read_policy(
    rows: Any, task: CheckedTask, memory: MemoryRule, number: NumberReader = read_fraction
) -> PolicyRows:
    """A policy as {(m, o): {(a, w): probability}}, every row of it a distribution over actions."""
    found: PolicyRows = {}
    actions = set(product(task.A, memory.W))
    for o, row in read_entries(rows, 2, "the policy"):
        seen = seen_label(task, memory, read_label(o))
        pairs = [
            (done_label(task, memory, read_label(a)), number(x))
            for a, x in read_entries(row, 2, f"the policy at {seen!r}")
        ]
        if seen in found:
            raise Spoiled(f"the policy has two rows for {seen!r}")
        if not isinstance(seen, tuple) or len(seen) != 2 or seen[1] not in task.O:
            raise Spoiled(f"the policy has a row for {seen!r}, which is no (m, o) of the task")
        if strange := {a for a, _ in pairs} - actions:
            raise Spoiled(f"the policy at {seen!r} takes {next(iter(strange))!r}, no action there")
        found[seen] = distribution(pairs, f"the policy at {seen!r}")
    check_possible(found.values())
    return found


def shown_task(task: CheckedTask, memory: MemoryRule) -> str:
    """The names of a task and its memory."""
    return task.name + ("" if memory.name == "none" else f" with {memory.name}")
