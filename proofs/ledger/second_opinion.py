"""A second opinion on "sum-claim" certificates: each derivation followed with numbers.

The checker multiplies sums out to a normal form and sees that nothing is left. Here nothing is
multiplied out: the text of the goal is rewritten, step by step, as the certificate says, and what
is left is worked out with functions drawn at random on index sets of two elements (distributions
are normalised, all else is free). If the steps are right it is 0 whatever was drawn; if not, a draw
of numbers up to a million misses it with a chance of about one in ten thousand, three draws never.
The two share the reader of neither formulas nor steps.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Mapping
from fractions import Fraction
from itertools import count, product
from typing import Any

from proofs.ledger.theory import Interpretation
from workbench.checker.sums import TIMES, sort_of

DRAWS, ELEMENTS, LARGEST = 3, (0, 1), 10**6


def second_opinion(certificate: Mapping[str, Any]) -> str | None:
    """What speaks against a derivation. None if all draws leave 0."""
    parts = [("n", certificate["steps"])]
    if certificate["base"] is not None:
        parts = [("0", certificate["base"]), ("n + 1", certificate["steps"])]
    for time, steps in parts:
        left, free = _followed(certificate, time, steps)
        for seed in range(DRAWS):
            found = _value_left(certificate, left, free, random.Random(seed))
            if found:
                return f"{certificate['what']}: {found} is left with numbers"
    return None


def _followed(
    certificate: Mapping[str, Any], time: str, steps: list[Any]
) -> tuple[ast.expr, list[str]]:
    """What the steps leave of the goal, unsimplified, and its free indices."""
    given = [_difference(text) for text in certificate["given"]]
    goal = _difference(certificate["goal"])
    fresh, fixed = count(1000), set(certificate["fixed"])
    now = _At(time).visit(_copied(goal))
    open_ = _free(now) | fixed
    left: ast.expr = now

    def formula(i: Any) -> ast.expr:
        return _copied(goal if i == "hypothesis" else given[i])

    for name, first, *rest in steps:
        if name == "unfold":
            left = _Unfold(formula(first), fixed, fresh).visit(left)
        elif name == "add":
            other = _Rename(dict(rest[1]) if len(rest) > 1 else {}).visit(formula(first))
            part: ast.expr = ast.BinOp(_parsed(rest[0]), ast.Mult(), other)
            left = ast.BinOp(left, ast.Add(), _summed(part, _free(part) - open_))
        else:  # "less": a positive multiple of a product is taken off
            part = _parsed(f"({first})")
            for i, names in rest[0]:
                part = ast.BinOp(part, ast.Mult(), _Rename(dict(names)).visit(formula(i)))
            left = ast.BinOp(left, ast.Sub(), _summed(part, _free(part) - open_))
    return left, sorted(_free(left) | open_)


def _value_left(
    certificate: Mapping[str, Any], left: ast.expr, free: list[str], rng: random.Random
) -> Fraction | None:
    """A value of what is left that is not 0, if there is one."""
    text = ast.unparse(ast.fix_missing_locations(left))
    sorts = {sort_of(x.id) for x in ast.walk(left) if isinstance(x, ast.Name)}
    sets = dict.fromkeys({*sorts, *map(sort_of, free)}, ELEMENTS)
    called = {x.func.id for x in ast.walk(left)
              if isinstance(x, ast.Call) and isinstance(x.func, ast.Name)}  # fmt: skip
    functions = _Drawn(certificate["given"], called, rng)
    model = Interpretation(sets, functions)
    for values in product(ELEMENTS, repeat=len(free)):
        at = {**dict(zip(free, values, strict=True)), "n": 5}
        if found := model.value(text, at):
            return Fraction(found)
    return None


class _Drawn(dict[str, Any]):
    """Functions and numbers, drawn when they are first asked for. Times are 0, 5 and 6."""

    def __init__(self, given: list[str], called: set[str], rng: random.Random):
        super().__init__()
        self.called, self.rng = called, rng
        self.rules = dict(rule for text in given if (rule := _distribution(text)))
        self.known: dict[Any, Any] = {}

    def __missing__(self, name: str) -> Any:
        if name not in self.called:
            return self.known.setdefault(name, self.rng.randint(1, LARGEST))
        return lambda *at: self._drawn(name, at)

    def _drawn(self, name: str, at: tuple[int, ...]) -> Any:
        places = self.rules.get(name)
        if places is None:
            return self.known.setdefault((name, at), self.rng.randint(1, LARGEST))
        key = name, tuple(x for i, x in enumerate(at) if i not in places)
        if key not in self.known:
            row = {
                one: self.rng.randint(1, LARGEST) for one in product(ELEMENTS, repeat=len(places))
            }
            total = sum(row.values())
            self.known[key] = {one: Fraction(x, total) for one, x in row.items()}
        return self.known[key][tuple(at[i] for i in sorted(places))]


def _distribution(text: str) -> tuple[str, frozenset[int]] | None:
    """The function of a formula sum[...](f(...)) == 1, and the arguments that are summed over."""
    left, sign, right = text.partition("==")
    if not sign or right.strip() != "1":
        return None
    match _parsed(left):
        case ast.Call(
            func=ast.Subscript(slice=over), args=[ast.Call(func=ast.Name(id=f)) as inner]
        ):
            summed = {
                ast.unparse(i) for i in (over.elts if isinstance(over, ast.Tuple) else [over])
            }
            places = [i for i, x in enumerate(inner.args) if ast.unparse(x) in summed]
            return f, frozenset(places)
    return None


# ---------------------------------------------------------------------- texts of sums


def _parsed(text: str) -> ast.expr:
    return ast.parse(text.strip(), mode="eval").body


def _copied(node: ast.expr) -> ast.expr:
    return _parsed(ast.unparse(node))


def _difference(formula: str) -> ast.expr:
    left, right = formula.split("==" if "==" in formula else ">=")
    return ast.BinOp(_parsed(left), ast.Sub(), _parsed(right))


def _summed(part: ast.expr, over: set[str]) -> ast.expr:
    return _parsed(f"sum[{', '.join(sorted(over))}]({ast.unparse(part)})") if over else part


def _bound(head: ast.Subscript) -> list[str]:
    over = head.slice
    return [ast.unparse(i) for i in (over.elts if isinstance(over, ast.Tuple) else [over])]


def _free(node: ast.AST) -> set[str]:
    """The indices of a term that are not summed over, times left out."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Subscript):
        return _free(node.args[0]) - set(_bound(node.func))
    if isinstance(node, ast.Call):
        shown = {ast.unparse(x).replace(" ", "") for x in node.args}
        return shown - set(TIMES)
    return set[str]().union(*map(_free, ast.iter_child_nodes(node)))


class _At(ast.NodeTransformer):
    """Another time in the place of n, where it is an index."""

    def __init__(self, time: str):
        self.time = time

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if isinstance(node.func, ast.Subscript):
            return self.generic_visit(node)
        args = [_parsed(self.time) if ast.unparse(x) == "n" else x for x in node.args]
        return ast.Call(node.func, args, [])


class _Rename(ast.NodeTransformer):
    """Other names for free indices, or other terms of time."""

    def __init__(self, names: dict[str, str]):
        self.names = names

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if isinstance(node.func, ast.Subscript):
            inner = {i: j for i, j in self.names.items() if i not in _bound(node.func)}
            return ast.Call(node.func, [_Rename(inner).visit(node.args[0])], [])
        args = [_parsed(self.names.get(ast.unparse(x), ast.unparse(x))) for x in node.args]
        return ast.Call(node.func, args, [])


class _Fresh(ast.NodeTransformer):
    """Summed indices under names that occur nowhere else."""

    def __init__(self, numbers: Any):
        self.numbers = numbers

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if not isinstance(node.func, ast.Subscript):
            return node
        names = {i: f"{sort_of(i)}{next(self.numbers)}" for i in _bound(node.func)}
        body = self.visit(_Rename(names).visit(node.args[0]))
        return _summed(body, set(names.values()))


class _Unfold(ast.NodeTransformer):
    """The right side of a formula wherever its left side, one function of indices, occurs."""

    def __init__(self, difference: ast.expr, fixed: set[str], numbers: Any):
        assert isinstance(difference, ast.BinOp)
        pattern, self.right = difference.left, difference.right
        if isinstance(pattern, ast.Name):
            self.f, self.pattern = pattern.id, list[str]()
        else:
            assert isinstance(pattern, ast.Call)
            assert isinstance(pattern.func, ast.Name)
            self.f = pattern.func.id
            self.pattern = [ast.unparse(x).replace(" ", "") for x in pattern.args]
        self.literal, self.numbers = {*fixed, *TIMES}, numbers

    def _right(self, names: dict[str, str]) -> ast.expr:
        found: ast.expr = _Rename(names).visit(_Fresh(self.numbers).visit(_copied(self.right)))
        return found

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return self._right({}) if node.id == self.f and not self.pattern else node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if isinstance(node.func, ast.Subscript):
            return ast.Call(node.func, [self.visit(node.args[0])], [])
        given = [ast.unparse(x).replace(" ", "") for x in node.args]
        if not isinstance(node.func, ast.Name) or node.func.id != self.f:
            return node
        pairs = list(zip(self.pattern, given, strict=True))
        if any(i in self.literal and i != j for i, j in pairs):
            return node
        return self._right({i: j for i, j in pairs if i not in self.literal})
