"""Read the explicit DRN format of Storm, which `export_drn` writes.

Decimals are read as they are written, so that a model in fractions stays exact. Where some row of
decimals does not sum to one, all numbers become floats. Parameters become symbols.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path

import sympy
from sympy.parsing.sympy_parser import parse_expr

from workbench.core.errors import ModelError
from workbench.core.numbers import Number, is_symbolic, number, to_float
from workbench.core.pomdp import POMDP
from workbench.interop.explicit import Listed, ListedChoice, ListedState, Rewards, to_pomdp
from workbench.output import read_whole
from workbench.text import shorten

KINDS = ("POMDP", "MDP", "DTMC")

_PLAIN = re.compile(r"[-+]?[0-9.]+(e[-+]?[0-9]{1,3})?(/[0-9]+)?", re.I)
_EXPRESSION = re.compile(r"[\w\s.+\-*/^()]*")
_LABEL = re.compile(r'"([^"]+)"|([^\s"]+)')


def load_drn(path: str | Path, reward: str | None = None, gamma: Number = 1) -> POMDP:
    """Read a POMDP, an MDP or a Markov chain from a DRN file.

    Parameters
    ----------
    path : of the file.
    reward : the reward model, if there are several.
    gamma : the discount factor, which the format does not hold.

    The states keep their labels, which `with_goal` takes. An action that a state does not offer is
    not allowed at its observation (`POMDP.allowed`).

    >>> import tempfile
    >>> from pomdps import short_corridor
    >>> from workbench.interop.storm import export_drn
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "corridor.drn"
    ...     _ = path.write_text(export_drn(short_corridor()))
    ...     load_drn(path)
    POMDP corridor: 4 states (1 terminal), 2 observations, 2 actions, 6 outcomes, gamma 1

    See also: `export_drn`, `from_umb`, `from_prism`, `load_pomdp`, `with_goal`.
    """
    path = Path(path)
    listed = parse_drn(path.stem, read_whole(path).decode(errors="replace"))
    return to_pomdp(listed, reward, gamma)


def parse_drn(name: str, text: str) -> Listed:
    """The model that the text of a DRN file lists."""
    lines = iter(enumerate(text.splitlines(), start=1))
    kind, names, value_of = _header(name, lines)
    states: list[ListedState] = []
    starts: list[int] = []
    for at, raw in lines:
        line = raw.strip()
        if line.startswith("//") and states and not states[-1].choices and line[2:].strip():
            states[-1].name = line[2:].strip()  # Storm writes the values of variables so
        if not line or line.startswith("//"):
            continue
        word, _, rest = line.partition(" ")
        try:
            if word == "state":
                states.append(_state(kind, rest, len(states), names, value_of))
                if "init" in states[-1].labels:
                    starts.append(len(states) - 1)
            elif word == "action":
                action, _, rest = rest.partition(" ")
                paid, rest = _rewards(rest, names, value_of)
                states[-1].choices.append(
                    ListedChoice(None if action == "__NOLABEL__" else action, paid)
                )
            else:
                target, _, chance = line.partition(":")
                states[-1].choices[-1].branches.append((int(target), value_of(chance.strip()), {}))
        except (ValueError, LookupError, SyntaxError, TypeError, ArithmeticError, RecursionError):
            raise _wrong(name, at, raw) from None
    if any(not 0 <= j < len(states) for s in states for c in s.choices for j, _, _ in c.branches):
        raise ModelError(f"{name}: a transition leads to a state that is not listed")
    listed = Listed(name, states, starts, names)
    totals = [sum(x for _, x, _ in choice.branches) for s in states for choice in s.choices]
    if any(total != 1 and not is_symbolic(total) for total in totals):
        _change_numbers(listed, to_float)
    return listed


def _header(
    name: str, lines: Iterator[tuple[int, str]]
) -> tuple[str, list[str], Callable[[str], Number]]:
    """The kind of model, its reward models, and how a number is read."""
    kind = ""
    names: list[str] = []
    symbols: dict[str, sympy.Symbol] = {}
    known: dict[str, str] = {}
    section = ""
    for at, raw in lines:
        line = raw.strip()
        if line.startswith("@type:"):
            kind = line[6:].strip()
            if kind not in KINDS:
                raise ModelError(
                    f"{name} is a model of type {kind}; the workbench reads {', '.join(KINDS)}"
                )
        elif line.startswith("@value_type:"):
            if "interval" in line:
                raise ModelError(
                    f"{name} has intervals for probabilities; the workbench has no interval models"
                )
        elif line == "@model":
            if not kind:
                raise ModelError(f"{name} does not say of which @type it is")
            return kind, names, _number_reader(symbols, known)
        elif line.startswith("@"):
            section = line
        elif section == "@parameters":
            symbols |= {word: sympy.Symbol(word) for word in line.split()}
        elif section == "@reward_models":
            # Storm writes a space after each name, and one model may have none
            names += [word or "default" for word in raw.removesuffix(" ").split(" ") if raw]
        elif section == "@placeholders" and line:
            word, _, value = line.partition(":")
            known[word.strip()] = value.strip()
        elif line and not line.startswith("//") and section not in ("@nr_states", "@nr_choices"):
            raise _wrong(name, at, raw)
    raise ModelError(f"{name} ends before its @model; is it a DRN file?")


def _number_reader(
    symbols: dict[str, sympy.Symbol], known: dict[str, str]
) -> Callable[[str], Number]:
    read: dict[str, Number] = {}

    def value_of(text: str) -> Number:
        if text not in read:
            if text.startswith("$"):
                read[text] = value_of(known[text])
            elif _PLAIN.fullmatch(text):
                over, _, under = text.partition("/")
                read[text] = Fraction(over) / Fraction(under or 1)
            elif symbols and len(text) < 10_000 and _EXPRESSION.fullmatch(text):
                words = set(re.findall(r"[A-Za-z_]\w*", text))
                if words - set(symbols):  # nothing but declared parameters is ever evaluated
                    raise ValueError(text)
                plain = text.replace("^", "**")
                read[text] = number(parse_expr(plain, dict(symbols), evaluate=True))
            else:
                raise ValueError(text)
        return read[text]

    return value_of


def _state(
    kind: str, rest: str, at: int, names: list[str], value_of: Callable[[str], Number]
) -> ListedState:
    place, _, rest = rest.partition(" ")
    if int(place) != at:
        raise ValueError(place)
    observation = None
    if kind == "POMDP":
        if not rest.startswith("{"):
            raise ValueError(rest)
        seen, _, rest = rest[1:].partition("}")
        observation = int(seen)
    paid, rest = _rewards(rest.strip(), names, value_of)
    labels = [quoted or plain for quoted, plain in _LABEL.findall(rest)]
    return ListedState(place, labels, observation, paid)


def _rewards(rest: str, names: list[str], value_of: Callable[[str], Number]) -> tuple[Rewards, str]:
    if not rest.startswith("["):
        return {}, rest
    inside, _, rest = rest[1:].partition("]")
    values = [value_of(x.strip()) for x in inside.split(",")]
    names += [str(k) for k in range(len(names), len(values))]  # rewards without a name
    return {name: x for name, x in zip(names, values, strict=False) if x != 0}, rest.strip()


def _change_numbers(listed: Listed, change: Callable[[Number], Number]) -> None:
    def paid(rewards: Rewards) -> Rewards:
        return {name: change(x) for name, x in rewards.items()}

    for state in listed.states:
        state.rewards = paid(state.rewards)
        for choice in state.choices:
            choice.rewards = paid(choice.rewards)
            choice.branches = [(j, change(x), paid(r)) for j, x, r in choice.branches]


def _wrong(name: str, at: int, line: str) -> ModelError:
    return ModelError(f"{name}: line {at} is not as a DRN file has it: {shorten(line.strip())!r}")
