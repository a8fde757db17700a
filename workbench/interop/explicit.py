"""Models of the verification tools, listed state by state, as POMDPs: UMB, DRN, PRISM, JANI.

    choice      an action. States that show one observation must offer the same actions: they are
                those that the observation allows
    terminal    a state that no choice leaves and that pays nothing
    reward      what the state, the choice and the branch pay, added up
    labels      each state is a word with `labels`, which `with_goal` and the writers know
    begin       a first state whose only action is so named stands for mu, as the writers write it

The formats know no discount: gamma is 1 unless it is given.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from workbench.core.errors import ModelError, UnknownLabel, WorkbenchError
from workbench.core.numbers import Number
from workbench.core.pomdp import POMDP
from workbench.core.space import Label
from workbench.text import counted

BEGIN = "begin"
"""The action of the one state that stands for a distribution over starts."""

Rewards = dict[str, Number]
"""What is paid, by the name of the reward model."""


class NamedState(str):
    """The name of a state, with the labels that a model checker knows it by."""

    labels: tuple[str, ...]

    def __new__(cls, name: str, labels: Iterable[str] = ()) -> NamedState:
        made = super().__new__(cls, name)
        made.labels = tuple(labels)
        return made

    def __getnewargs__(self) -> tuple[str, tuple[str, ...]]:  # type: ignore[override]
        return str(self), self.labels


@dataclass(slots=True)
class ListedChoice:
    """An action of a state: its branches are (next state, probability, rewards)."""

    action: str | None
    rewards: Rewards
    branches: list[tuple[int, Number, Rewards]] = field(default_factory=list)


@dataclass(slots=True)
class ListedState:
    """A state of a listed model. The observation is None where nothing is hidden."""

    name: str
    labels: list[str]
    observation: Label
    rewards: Rewards
    choices: list[ListedChoice] = field(default_factory=list)


@dataclass(slots=True)
class Listed:
    """A model as a file lists it."""

    name: str
    states: list[ListedState]
    starts: list[int]
    reward_models: list[str]


def to_pomdp(model: Listed, reward: str | None = None, gamma: Number = 1) -> POMDP:
    """The POMDP of a listed model.

    Parameters
    ----------
    reward : the reward model; needed if there are several.
    gamma : the discount factor, which these formats do not hold.
    """
    if len(model.starts) != 1:
        raise ModelError(
            f"{model.name} has {counted(len(model.starts), 'initial state')}; the workbench needs "
            "one, or a distribution: let one state lead to the others"
        )
    paid = _reward_model(model, reward)
    entries = model.states
    labels = [NamedState(entry.name, entry.labels) for entry in entries]
    place = {label: i for i, label in enumerate(labels)}
    if len(place) < len(labels):  # valuations that do not tell states apart
        labels = [NamedState(f"{i}: {entry.name}", entry.labels) for i, entry in enumerate(entries)]
        place = {label: i for i, label in enumerate(labels)}
    ended = [_is_over(i, entry, paid) for i, entry in enumerate(entries)]
    offered = _offered(model, ended, labels)
    A = list(dict.fromkeys(a for actions in offered.values() for a in actions)) or ["-"]
    first = model.starts[0]
    begins = entries[first].choices
    if len(begins) == 1 and begins[0].action == BEGIN:
        mu = {labels[j]: x for j, x, _ in begins[0].branches}
    else:
        mu = {labels[first]: 1}

    def seen(s: Label) -> Label:
        entry = entries[place[s]]
        return str(s) if entry.observation is None else entry.observation

    def p(s: Label, a: Label) -> dict[tuple[Label, Number], Number]:
        entry = entries[place[s]]
        own = _names([choice.action for choice in entry.choices])
        choice = entry.choices[own.index(a)]
        found: dict[tuple[Label, Number], Number] = {}
        for j, x, rewards in choice.branches:
            r = entry.rewards.get(paid, 0) + choice.rewards.get(paid, 0) + rewards.get(paid, 0)
            key = (labels[j], r)
            found[key] = found.get(key, 0) + x
        return found

    return POMDP.from_functions(
        name=model.name,
        A=A,
        p=p,
        omega=lambda s: {seen(s): 1},
        mu=mu,
        gamma=gamma,
        terminal=lambda s: ended[place[s]],
        allowed=lambda o: offered.get(o, A),
    )


def _reward_model(model: Listed, reward: str | None) -> str:
    known = model.reward_models
    if reward is None:
        if len(known) > 1:
            raise WorkbenchError(
                f"{model.name} has {len(known)} reward models; give one of {', '.join(known)} as "
                "`reward`"
            )
        return known[0] if known else ""
    if reward not in known:
        raise UnknownLabel(
            f"{model.name} has no reward model {reward!r}; known are {', '.join(known) or 'none'}"
        )
    return reward


def _is_over(i: int, entry: ListedState, paid: str) -> bool:
    """Whether nothing leaves a state and nothing is paid in it."""
    return all(
        j == i
        and entry.rewards.get(paid, 0) + choice.rewards.get(paid, 0) + rewards.get(paid, 0) == 0
        for choice in entry.choices
        for j, _, rewards in choice.branches
    )


def _offered(model: Listed, ended: list[bool], labels: list[NamedState]) -> dict[Label, list[str]]:
    """The actions of each observation."""
    found: dict[Label, list[str]] = {}
    example: dict[Label, NamedState] = {}
    for entry, over, label in zip(model.states, ended, labels, strict=True):
        if over or [choice.action for choice in entry.choices] == [BEGIN]:
            continue
        o = str(label) if entry.observation is None else entry.observation
        actions = _names([choice.action for choice in entry.choices])
        if sorted(found.setdefault(o, actions)) != sorted(actions):
            raise ModelError(
                f"in {model.name} the actions depend on the hidden state: {example[o]} and {label} "
                f"show observation {o}, but offer {', '.join(found[o])} and {', '.join(actions)}"
            )
        example.setdefault(o, label)
    return found


def _names(actions: list[str | None]) -> list[str]:
    """The names of the actions of a state, or places where names do not tell them apart."""
    named = [a for a in actions if a]
    return (
        named if len(set(named)) == len(actions) else [str(place) for place in range(len(actions))]
    )
