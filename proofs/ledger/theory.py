"""Formulas about tasks of any size, and what follows from them.

A `Theory` is a list of named formulas between sums over index sets (`workbench.checker.sums`):
definitions, distributions, signs. What it `shows` is a certificate of the kind "sum-claim", which
the checker follows: no size occurs in it, so it holds for every number of states, observations,
actions, memory states. Goals that speak of n are shown by induction on n.

That the formulas are about the workbench's own objects is another matter: an `Interpretation` puts
a task with numbers in the place of the index sets and functions, and `breaks` says which formula
does not hold there.

>>> flow = Theory({"p": "sum[s1](p(s, s1)) == 1", "x": "x(n+1, s1) == sum[s](x(n, s)*p(s, s1))"})
>>> shown = flow.shows("mass", "sum[s](x(n+1, s)) == sum[s](x(n, s))", [("unfold", "x")])
>>> trouble_in(shown) is None
True
"""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

from workbench.checker.recheck import recheck
from workbench.checker.spoiled import Spoiled
from workbench.checker.sums import SumReader, sort_of

Factors = tuple[tuple[str, dict[str, str]], ...]
"""Names of inequalities, and other names for their indices."""

TheoryStep = tuple[Any, ...]
"""("unfold", name), ("add", name, multiplier), ("add", name, multiplier, {index: index}) or
("less",
number, ((name, {index: index}), ...))."""


@dataclass(frozen=True)
class Theory:
    """Named formulas. `fixed` are indices that stand for one value and not for all."""

    given: Mapping[str, str]
    fixed: tuple[str, ...] = ()

    def without(self, *names: str) -> Theory:
        """The theory without some of its formulas."""
        return Theory({name: x for name, x in self.given.items() if name not in names}, self.fixed)

    def replaced(self, **formulas: str) -> Theory:
        """The theory with other formulas in the place of some."""
        return Theory({**self.given, **formulas}, self.fixed)

    def extended(self, **formulas: str) -> Theory:
        """The theory with more formulas."""
        if both := set(formulas) & set(self.given):
            raise ValueError(f"{both} are there already")
        return Theory({**self.given, **formulas}, self.fixed)

    def shows(
        self,
        what: str,
        goal: str,
        steps: Iterable[TheoryStep],
        base: Iterable[TheoryStep] | None = None,
    ) -> dict[str, Any]:
        """The certificate of a goal. By induction on n if a base is given.

        A step whose formula the theory does not hold is left out: the goal is then not shown.
        """
        numbers = {name: i for i, name in enumerate(self.given)} | {"hypothesis": "hypothesis"}

        def written(step: TheoryStep) -> list[Any]:
            if step[0] == "less":
                factors = [[numbers[name], dict(names)] for name, names in step[2]]
                return ["less", str(step[1]), factors]
            return [step[0], numbers[step[1]], *step[2:]]

        def known(step: TheoryStep) -> bool:
            names = [name for name, _ in step[2]] if step[0] == "less" else [step[1]]
            return all(name in numbers for name in names)

        return {
            "kind": "sum-claim",
            "what": what,
            "given": list(self.given.values()),
            "fixed": list(self.fixed),
            "goal": goal,
            "base": None if base is None else [written(step) for step in base if known(step)],
            "steps": [written(step) for step in steps if known(step)],
        }


def trouble_in(certificate: Mapping[str, Any]) -> str | None:
    """What the checker, or the second opinion, says against a certificate. None if it holds."""
    return _trouble(json.dumps(certificate))


@cache
def _trouble(text: str) -> str | None:
    from proofs.ledger.second_opinion import second_opinion  # which draws `Interpretation`s

    certificate = json.loads(text)
    try:
        recheck(certificate)
    except Spoiled as error:
        return f"{certificate.get('what', certificate['kind'])}: {error}"
    return second_opinion(certificate) if certificate["kind"] == "sum-claim" else None


def trouble_with(shown: Iterable[Mapping[str, Any]]) -> str | None:
    """What the checker says against the first of some certificates that does not hold."""
    return next(filter(None, map(trouble_in, shown)), None)


# ---------------------------------------------------------------------- with numbers


@dataclass(frozen=True)
class Interpretation:
    """Index sets by sort, and functions of their elements, or numbers, by name.

    >>> two = Interpretation({"s": (0, 1)}, {"v": lambda s: s, "c": 1})
    >>> two.breaks("sum[s](v(s)) == c"), two.breaks("v(s) == c")
    (None, 'v(s) == c: 0 and 1 at s = 0')
    """

    sets: Mapping[str, Sequence[Any]]
    functions: Mapping[str, Any]
    times: int = 3

    def value(self, text: str, at: Mapping[str, Any]) -> Any:
        """The number that a sum is, given its free indices."""
        indices, code = _program(text.strip())
        known = {"f": self.functions, "sets": self.sets, "one": Fraction(1)}
        term = eval(code, {**known, "times": _times, "eq": _equal})
        return term(*(at[i] for i in indices))

    def breaks(self, formula: str, fixed: Mapping[str, Any] | None = None) -> str | None:
        """Where a formula does not hold. None if it does for all indices and the first times."""
        sign = "==" if "==" in formula else ">="
        sides = formula.split(sign)
        reader = SumReader()
        free = sorted((reader.read(sides[0]).free | reader.read(sides[1]).free) - {*(fixed or {})})
        for at in self._assignments(free, "n" in _names(formula)):
            left, right = (self.value(side, {**at, **(fixed or {})}) for side in sides)
            if left != right if sign == "==" else left < right:
                where = ", ".join(f"{i} = {x}" for i, x in at.items())
                return f"{formula}: {left} and {right} at {where}"
        return None

    def _assignments(self, free: Sequence[str], timed: bool) -> Iterator[dict[str, Any]]:
        for values in product(*(self.sets[sort_of(i)] for i in free)):
            for n in range(self.times) if timed else (None,):
                at = dict(zip(free, values, strict=True))
                yield at if n is None else {**at, "n": n}


@cache
def _program(text: str) -> tuple[tuple[str, ...], Any]:
    """A sum as a Python function of its free indices, compiled: it is asked for thousands of them.

    >>> _program("sum[s](v(s, n+1)*c)")[0]
    ('n',)
    """
    free: dict[str, None] = {}
    body = _python(ast.parse(text, mode="eval").body, frozenset(), free)
    return tuple(free), compile(f"lambda {', '.join(free)}: {body}", "<sum>", "eval")


def _python(node: ast.AST, bound: frozenset[str], free: dict[str, None]) -> str:
    """A part of a sum in Python. Free indices are collected in the order in which they are met."""

    def index(each: ast.expr) -> str:
        for name in (x.id for x in ast.walk(each) if isinstance(x, ast.Name)):
            if name not in bound:
                free.setdefault(name)
        return ast.unparse(each)

    match node:
        case ast.Constant():
            return str(node.value)
        case ast.Name():
            return f"f[{node.id!r}]"
        case ast.UnaryOp():
            return f"-({_python(node.operand, bound, free)})"
        case ast.BinOp():
            left, right = (_python(x, bound, free) for x in (node.left, node.right))
            if isinstance(node.op, ast.Mult):
                return f"times({left}, lambda: {right})"
            sign = {ast.Add: "+", ast.Sub: "-", ast.Div: "/", ast.Pow: "**"}[type(node.op)]
            return f"((one * {left}) {sign} ({right}))"  # whole numbers divide exactly, too
        case ast.Call(func=ast.Name(id=name)):
            arguments = ", ".join(index(each) for each in node.args)
            return f"eq({arguments})" if name == "eq" else f"f[{name!r}]({arguments})"
        case ast.Call(func=ast.Subscript(slice=over)):
            names = [ast.unparse(i) for i in (over.elts if isinstance(over, ast.Tuple) else [over])]
            term = _python(node.args[0], bound | {*names}, free)
            loops = " ".join(f"for {i} in sets[{sort_of(i)!r}]" for i in names)
            return f"sum({term} {loops})"
    raise ValueError(f"{ast.unparse(node)} is no part of a sum")


def _times(left: Any, right: Callable[[], Any]) -> Any:
    """A product. Most terms of a sum over all indices are 0 by their first factors."""
    return left * right() if left else left


def _equal(left: Any, right: Any) -> int:
    return int(left == right)


def _names(formula: str) -> set[str]:
    """All names in a formula."""
    sides = formula.replace(">=", "==").split("==")
    trees = (ast.walk(ast.parse(side.strip(), mode="eval")) for side in sides)
    return {node.id for tree in trees for node in tree if isinstance(node, ast.Name)}
