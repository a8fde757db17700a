"""Sums over index sets, the slow way: random finite models of what is given, and the goal looked at
in each of them."""

from __future__ import annotations

import ast
import random
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

from proofs.ledger.theory import Interpretation
from workbench.checker.sums import Sum, SumReader, sort_of


def value_of_sum(one: Sum, model: Interpretation, at: dict[str, Any]) -> Fraction:
    """The number that a normal form stands for."""
    total = Fraction(0)
    for (bound, factors), x in one.parts.items():
        for values in product(*(model.sets[sort_of(i)] for i in bound)):
            here = {**at, **dict(zip(bound, values, strict=True))}
            part = x
            for f, indices in factors:
                arguments = [here[i] for i in indices]
                if f == "eq":
                    part *= arguments[0] == arguments[1]
                else:
                    given = model.functions[f]
                    part *= given(*arguments) if indices else given
            total += part
    return total


class _Functions:
    """Functions by name: defined by the formulas that are given, distributions, or random."""

    def __init__(self, given: list[str], fixed: list[str], dice: random.Random):
        self.dice, self.known, self.busy = dice, {}, set()
        self.defined: dict[str, list[tuple[list[str], str]]] = {}
        self.shares: dict[str, list[bool]] = {}
        for text in given:
            if "==" not in text:
                continue
            left, right = text.split("==")
            node = ast.parse(left.strip(), mode="eval").body
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                indices = [ast.unparse(i).replace(" ", "") for i in node.args]
                if node.func.id != "eq" and not set(indices) & set(fixed):
                    self.defined.setdefault(node.func.id, []).append((indices, right))
            elif isinstance(node, ast.Name):
                self.defined.setdefault(node.id, []).append(([], right))
            elif isinstance(node, ast.Call) and right.strip() == "1":
                body = node.args[0]
                over = ast.unparse(node.func.slice).strip("()").replace(" ", "").split(",")
                if isinstance(body, ast.Call) and isinstance(body.func, ast.Name):
                    places = [ast.unparse(i) in over for i in body.args]
                    self.shares[body.func.id] = places

    def __getitem__(self, name: str) -> Any:
        if not self.sorts.get(name):
            return self.call(name)
        return partial(self.call, name)

    def call(self, name: str, *arguments: Any) -> Fraction:
        key = (name, arguments)
        if key in self.busy:
            raise RecursionError("defined by itself")
        if key not in self.known:
            self.busy.add(key)
            self.known[key] = self._found(name, arguments)
            self.busy.discard(key)
        return self.known[key]

    def _found(self, name: str, arguments: tuple[Any, ...]) -> Fraction:
        for indices, right in self.defined.get(name, []):
            at: dict[str, Any] = {}
            for index, x in zip(indices, arguments, strict=True):
                if index == "0":
                    at = at if x == 0 else {"no": 1}
                elif index == "n+1":
                    at = {**at, "n": x - 1} if x > 0 else {"no": 1}
                else:
                    at[index] = x
                if "no" in at:
                    break
            if "no" not in at:
                return self.model.value(right, at)
        if name in self.shares:
            return self._share(name, arguments)
        return Fraction(self.dice.randint(0, 4), self.dice.randint(1, 3))

    def _share(self, name: str, arguments: tuple[Any, ...]) -> Fraction:
        places = self.shares[name]
        sets = [
            self.model.sets[sort] if summed else (x,)
            for sort, summed, x in zip(self.sorts[name], places, arguments, strict=True)
        ]
        every = list(product(*sets))
        weights = [self.dice.randint(0, 3) for _ in every]
        weights[self.dice.randrange(len(weights))] += 1
        for other, w in zip(every, weights, strict=True):
            self.known[name, other] = Fraction(w, sum(weights))
        return self.known[name, arguments]


def random_model(certificate: dict[str, Any], seed: int) -> Interpretation | None:
    """A finite model of what a certificate gives; None if this seed finds none."""
    dice = random.Random(seed)
    reader = SumReader()
    texts = [*certificate["given"], certificate["goal"]]
    sides = [side for text in texts for side in text.replace(">=", "==").split("==")]
    for side in sides:
        reader.read(side)
    sorts = {sort for those in reader.signatures.values() for sort in those}
    sets = {sort: tuple(range(dice.randint(1, 3))) for sort in sorted(sorts)}
    functions = _Functions(certificate["given"], certificate["fixed"], dice)
    functions.sorts = reader.signatures
    model = Interpretation(sets, functions, 2)
    functions.model = model
    try:
        if any(model.breaks(text, first_elements(certificate)) for text in certificate["given"]):
            return None
    except (RecursionError, KeyError):
        return None
    return model


def first_elements(certificate: dict[str, Any]) -> dict[str, int]:
    """What the fixed indices stand for: the first element of their set."""
    return dict.fromkeys(certificate["fixed"], 0)


def follows_in_models(certificate: dict[str, Any], models: int = 12) -> bool:
    """Whether the goal holds in all finite models that were found."""
    for seed in range(models):
        model = random_model(certificate, seed)
        if model and model.breaks(certificate["goal"], first_elements(certificate)):
            return False
    return True
