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
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
    """Named formulas; `fixed` are indices that stand for one value and not for all."""

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
        """The certificate of a goal; by induction on n if a base is given.

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
    """What the checker says against a certificate; None if it holds."""
    return _trouble(json.dumps(certificate))


@cache
def _trouble(text: str) -> str | None:
    certificate = json.loads(text)
    try:
        recheck(certificate)
    except Spoiled as error:
        return f"{certificate.get('what', certificate['kind'])}: {error}"
    return None


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
        return self._value(ast.parse(text.strip(), mode="eval").body, dict(at))

    def breaks(self, formula: str, fixed: Mapping[str, Any] | None = None) -> str | None:
        """Where a formula does not hold; None if it does for all indices and the first times."""
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

    def _value(self, node: ast.AST, at: dict[str, Any]) -> Any:
        if isinstance(node, ast.Constant):
            return Fraction(int(str(node.value)))
        if isinstance(node, ast.Name):
            return self.functions[node.id]
        if isinstance(node, ast.UnaryOp):
            return -self._value(node.operand, at)
        if isinstance(node, ast.BinOp):
            left = self._value(node.left, at)
            if left == 0 and isinstance(node.op, ast.Mult):
                return left  # most terms of a sum over all indices are 0 by their first factors
            right = self._value(node.right, at)
            if isinstance(node.op, ast.Add):
                return left + right
            if isinstance(node.op, ast.Sub):
                return left - right
            if isinstance(node.op, ast.Mult):
                return left * right
            return left / right if isinstance(node.op, ast.Div) else left ** int(right)
        assert isinstance(node, ast.Call)
        if isinstance(node.func, ast.Name):
            arguments = [self._index(each, at) for each in node.args]
            if node.func.id == "eq":
                return Fraction(arguments[0] == arguments[1])
            return self.functions[node.func.id](*arguments)
        assert isinstance(node.func, ast.Subscript)
        over = node.func.slice
        indices = [ast.unparse(i) for i in (over.elts if isinstance(over, ast.Tuple) else [over])]
        return sum(
            (
                self._value(node.args[0], {**at, **dict(zip(indices, values, strict=True))})
                for values in product(*(self.sets[sort_of(i)] for i in indices))
            ),
            start=Fraction(0),
        )

    def _index(self, node: ast.AST, at: dict[str, Any]) -> Any:
        if isinstance(node, ast.Name):
            return at[node.id]
        return 0 if isinstance(node, ast.Constant) else at["n"] + 1


def _names(formula: str) -> set[str]:
    """All names in a formula."""
    sides = formula.replace(">=", "==").split("==")
    trees = (ast.walk(ast.parse(side.strip(), mode="eval")) for side in sides)
    return {node.id for tree in trees for node in tree if isinstance(node, ast.Name)}
