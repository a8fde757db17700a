"""Re-checking equations and inequalities between sums over index sets of any size.

sum-claim   what is given (definitions, distributions, signs), a goal, and the way from one to the
            other; by induction on n if its "base" is a list of steps and not null

A given formula holds for all values of its indices, except those that are `fixed`, and for all n.
The difference of the two sides of the goal is changed by

    ["unfold", i]             f(...) is replaced, wherever the left side of the i-th formula matches
                              it, by the right side
    ["add", i, multiplier, {index: index}]
                              multiplier times (left side - right side of the i-th formula, its
                              indices named otherwise), summed over all indices that the goal does
                              not hold, is added; no names may be given
    ["less", number, [[i, {index: index}], ...]]
                              number > 0 times a product of what inequalities say is not negative,
                              their indices named otherwise, summed as before, is taken off: for
                              goals with >= only

and nothing may be left of it. In a step of an induction "hypothesis" stands, in the place of i, for
the goal at n. No sizes occur, so what is shown holds for all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import prod
from typing import Any

from workbench.checker.reader import field
from workbench.checker.spoiled import Spoiled
from workbench.checker.sums import (
    MOST_ORDERS,
    NO_DISTRIBUTIONS,
    TIMES,
    Atom,
    Distributions,
    Sum,
    SumReader,
    is_index,
    sort_of,
)

ONE = {((), ()): Fraction(1)}


@dataclass(frozen=True)
class SumFormula:
    """Two sums and what is said of them, == or >=."""

    left: Sum
    right: Sum
    is_equation: bool

    @property
    def difference(self) -> Sum:
        return self.left - self.right

    def at(self, time: str) -> SumFormula:
        """The formula at another time than n."""
        left, right = (side.renamed({"n": time}) for side in (self.left, self.right))
        return SumFormula(left, right, self.is_equation)


def read_sum_formula(text: Any, reader: SumReader) -> SumFormula:
    """A formula from its text."""
    if not isinstance(text, str):
        raise Spoiled("a formula is a text")
    for sign in ("==", ">="):
        sides = text.split(sign)
        if len(sides) == 2:
            return SumFormula(reader.read(sides[0]), reader.read(sides[1]), sign == "==")
    raise Spoiled(f"{text[:60]} is no formula")


def _distribution(formula: SumFormula, fixed: frozenset[str]) -> Distributions:
    """The rule that a formula sum[...](f(...)) == 1 is."""
    if not formula.is_equation or formula.right.parts != ONE or len(formula.left.parts) != 1:
        return NO_DISTRIBUTIONS
    (((bound, factors), x),) = formula.left.parts.items()
    if x != 1 or len(factors) != 1:
        return NO_DISTRIBUTIONS
    ((f, indices),) = factors
    others = {*TIMES, *fixed}
    if not bound or len(set(indices)) < len(indices) or others & set(indices):
        return NO_DISTRIBUTIONS
    return frozenset({(f, frozenset(i for i, index in enumerate(indices) if index in bound))})


def _says(given: SumFormula, goal: SumFormula, fixed: frozenset[str]) -> bool:
    """Whether a formula, for some values of its indices and up to a factor, is the goal itself.

    An equation says both inequalities.
    """
    left, right = given.difference, goal.difference
    if (goal.is_equation and not given.is_equation) or not _functions(right) <= _functions(left):
        return False
    names, there = sorted(left.free - fixed), sorted(right.free | fixed)
    held = {i for _, part in left.parts for _, those in part for i in those}
    times = TIMES if "n" in held and "n+1" not in held else ("n",)
    choices = [[j for j in there if sort_of(j) == sort_of(i)] for i in names]
    if prod(map(len, choices)) * len(times) > MOST_ORDERS:
        raise Spoiled("formulas with so many free indices are too many to compare")
    right = right.scaled(1 / max(map(abs, right.parts.values()), default=Fraction(1)))
    forms = [right, right.scaled(Fraction(-1))] if given.is_equation else [right]
    for time, chosen in product(times, product(*choices)):
        one = left.renamed({"n": time, **dict(zip(names, chosen, strict=True))})
        one = one.scaled(1 / max(map(abs, one.parts.values()), default=Fraction(1)))
        if any((one - form).is_zero for form in forms):
            return True
    return False


def _functions(one: Sum) -> set[str]:
    return {f for _, factors in one.parts for f, _ in factors}


class _Derivation:
    """Rewrite left side minus right side of a goal, proof step by proof step, until it is 0."""

    def __init__(self, certificate: dict[str, Any]):
        reader = SumReader()
        self.fixed = frozenset(map(str, field(certificate, "fixed", list)))
        self.given = [read_sum_formula(text, reader) for text in field(certificate, "given", list)]
        self.goal = read_sum_formula(field(certificate, "goal", str), reader)
        self.reader = reader
        self.rules: Distributions = NO_DISTRIBUTIONS
        for formula in self.given:
            self.rules |= _distribution(formula, self.fixed)
            if any(_says(formula, goal, self.fixed) for goal in (self.goal, self.goal.at("n+1"))):
                raise Spoiled("the goal is among what is given")

    def follow(self, steps: Any, time: str, hypothesis: bool) -> None:
        """Carry out the proof steps for the goal at a time. Something left is an error."""
        self.hypothesis = self.goal if hypothesis else None
        self.now = self.goal.at(time)
        self.left = self.now.difference.renamed({}, self.rules)
        self.open = self.now.difference.free | self.fixed
        if not isinstance(steps, list) or len(steps) > 60:
            raise Spoiled("the steps are a list, and not too long a one")
        for step in steps:
            if not isinstance(step, list) or len(step) not in (2, 3, 4):
                raise Spoiled("a step is a list of two to four things")
            name, *rest = step
            if name == "unfold" and len(rest) == 1:
                self._unfold(self._formula(rest[0]))
            elif name == "add" and len(rest) in (2, 3):
                self._add(self._formula(rest[0]), rest[1], rest[2] if len(rest) == 3 else {})
            elif name == "less" and len(rest) == 2:
                self._less(*rest)
            else:
                raise Spoiled(f"{str(name)[:30]} is no step")
        if not self.left.is_zero:
            raise Spoiled(f"{shown_sum(self.left)} is left")

    def _formula(self, i: Any) -> SumFormula:
        if i == "hypothesis" and self.hypothesis is not None:
            return self.hypothesis
        if type(i) is not int or not 0 <= i < len(self.given):
            raise Spoiled(f"there is no formula {str(i)[:30]}")
        return self.given[i]

    def _unfold(self, formula: SumFormula) -> None:
        if not formula.is_equation:
            raise Spoiled("only equations are unfolded")
        parts = formula.left.parts
        (((bound, factors), x),) = parts.items() if len(parts) == 1 else [(((), ()), Fraction(0))]
        if x != 1 or bound or len(factors) != 1 or factors[0][0] == "eq":
            raise Spoiled("what is unfolded is one function of indices")
        ((f, pattern),) = factors
        variables = [i for i in pattern if i not in TIMES and i not in self.fixed]
        if len(set(variables)) < len(variables):
            raise Spoiled("what is unfolded names an index twice")
        if formula.right.free - {*variables, *self.fixed}:
            raise Spoiled("the right side holds an index that the left side does not")
        found = Sum({})
        for (summed, those), x in self.left.parts.items():
            names = {i: f"{sort_of(i)}'u{k}" for k, i in enumerate(summed)}
            product = Sum({((), ()): x})
            for g, indices in those:
                indices = tuple(names.get(i, i) for i in indices)
                product = product.times(self._replaced((g, indices), (f, pattern), formula.right))
            found = found + product.over(names.values(), self.rules)
        self.left = found

    def _replaced(self, atom: Atom, pattern: Atom, right: Sum) -> Sum:
        names: dict[str, str] = {}
        same = atom[0] == pattern[0] and len(atom[1]) == len(pattern[1])
        for index, asked in zip(atom[1], pattern[1], strict=False) if same else ():
            if asked in TIMES or asked in self.fixed:
                same = same and index == asked
            else:
                names[asked] = index
        if not same:
            return Sum({((), (atom,)): Fraction(1)})
        return right.renamed(names)

    def _add(self, formula: SumFormula, multiplier: Any, names: Any) -> None:
        if not formula.is_equation:
            raise Spoiled("only equations are added")
        other = formula.difference.renamed(self._names(names))
        product = self.reader.read(multiplier).times(other)
        self.left = self.left + product.over(sorted(product.free - self.open), self.rules)

    def _names(self, names: Any) -> dict[str, str]:
        """Other names for the indices of a formula that holds for all their values."""
        if not isinstance(names, dict):
            raise Spoiled("names are an object")
        found = {str(i): str(j) for i, j in names.items()}
        for i, j in found.items():
            if sort_of(i) != sort_of(j) or {i, j} & set(TIMES) or i in self.fixed:
                raise Spoiled("an index gets a name of its sort")
            if not is_index(j):
                raise Spoiled(f"{j[:30]} is no index")
        return found

    def _less(self, number: Any, factors: Any) -> None:
        try:
            coefficient = Fraction(number)
        except (TypeError, ValueError, ZeroDivisionError) as error:
            raise Spoiled("a coefficient is a number") from error
        if self.now.is_equation or coefficient <= 0 or not isinstance(factors, list):
            raise Spoiled("only from goals with >= something is taken off, and a positive multiple")
        product = Sum({((), ()): coefficient})
        for factor in factors:
            if not isinstance(factor, list) or len(factor) != 2:
                raise Spoiled("a factor is the number of a formula, and names")
            formula = self._formula(factor[0])
            if formula.is_equation:
                raise Spoiled("a factor is what an inequality says is not negative")
            product = product.times(formula.difference.renamed(self._names(factor[1])))
        self.left = self.left - product.over(sorted(product.free - self.open), self.rules)


def check_sum_claim(certificate: dict[str, Any]) -> str:
    """A goal follows from what is given, whatever the sizes of the index sets."""
    way = _Derivation(certificate)
    goal = field(certificate, "goal", str)
    what = field(certificate, "what", str)
    base, steps = field(certificate, "base"), field(certificate, "steps", list)
    if base is not None:
        times = {
            i for part in way.goal.difference.parts for _, those in part[1] for i in those
        } & set(TIMES)
        if "n" not in times or "n+1" in times:
            raise Spoiled("an induction is about n, and n + 1 is for its step")
        way.follow(base, "0", hypothesis=False)
        way.follow(steps, "n+1", hypothesis=True)
        return f"{what}: {goal}, for every n and all sizes, by induction"
    way.follow(steps, "n", hypothesis=False)
    return f"{what}: {goal}, for all sizes"


def shown_sum(one: Sum) -> str:
    """A sum as text, cut off after some terms."""
    lines = []
    for (bound, factors), x in list(one.parts.items())[:4]:
        product = "*".join(f"{f}({', '.join(those)})" if those else f for f, those in factors)
        over = f"sum[{', '.join(bound)}]" if bound else ""
        lines.append(f"{x}*{over}({product or '1'})")
    return " + ".join(lines) + (" + ..." if len(one.parts) > 4 else "")
