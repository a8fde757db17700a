"""UMB, the binary format that PRISM, Storm and other model checkers share.

A file is written as `export_drn` writes its text: R(s, a) as rewards of choices, gamma < 1 as a
probability of stopping, observations by number, `init`, `done` and the labels that states carry.
The format's Python package writes no names of states, so they come back as numbers. It needs the
extra `umb`: pip install 'memory-workbench[umb]'.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from workbench.core.augment import augment
from workbench.core.errors import ModelError, WorkbenchError
from workbench.core.numbers import Number
from workbench.core.pomdp import POMDP
from workbench.extras import need
from workbench.interop.explicit import Listed, ListedChoice, ListedState, Rewards, to_pomdp
from workbench.interop.storm import listed_states
from workbench.output import read_whole, write_whole


def from_umb(path: str | Path, reward: str | None = None, gamma: Number = 1) -> POMDP:
    """Read a POMDP, an MDP or a Markov chain from a UMB file. Arguments as for `load_drn`.

    >>> import tempfile
    >>> from pomdps import short_corridor
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     to_umb(short_corridor(), f"{folder}/corridor.umb")
    ...     from_umb(f"{folder}/corridor.umb")
    POMDP corridor: 4 states (1 terminal), 2 observations, 2 actions, 6 outcomes, gamma 1

    See also: `to_umb`, `load_drn`, `from_prism`, `with_goal`.
    """
    umbi = need("umbi", "umb")
    path = Path(path)
    read_whole(path)  # says why a file cannot be read
    try:
        umb = umbi.umb.read(path)
    except Exception as error:  # the package has no error of its own for broken files
        raise ModelError(f"{path.name} is no UMB file that umbi reads: {error}") from error
    return to_pomdp(_listed(umb, path.stem), reward, gamma)


def to_umb(P: POMDP, path: str | Path) -> None:
    """Write a POMDP as a UMB file.

    >>> import tempfile
    >>> from pomdps import tiger
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     to_umb(tiger(), f"{folder}/tiger.umb")

    See also: `from_umb`, `export_drn`, `save_pomdp`.
    """
    umbi = need("umbi", "umb")
    if P.symbols:
        raise WorkbenchError(
            f"UMB holds no parameters, but {P.name} has {', '.join(sorted(map(str, P.symbols)))}"
        )
    P = P if P.omega.is_deterministic else augment(P, "none")
    ats = umbi.ats.ExplicitAts(num_players=1, model_info=umbi.ats.ModelInfo(name=P.name))
    states = list(listed_states(P))
    places: dict[str, int] = {}
    paid: list[Number] = []
    for _ in states:
        ats.add_state()
    for s, (_, _, choices) in enumerate(states):
        for name, r, row in choices:
            choice = ats.add_state_choice(s)
            choice.action = places.setdefault(name, len(places))
            paid.append(r)
            for j, x in row.items():
                choice.add_branch(j, x)
    ats.set_initial_states([s for s, (_, labels, _) in enumerate(states) if "init" in labels])
    ats.num_choice_actions, ats.choice_action_to_name = len(places), list(places)
    ats.add_reward_annotation("reward").set_choice_values(paid)
    for word in dict.fromkeys(word for _, labels, _ in states for word in labels):
        if word != "init":
            has = [word in labels for _, labels, _ in states]
            ats.add_ap_annotation(word).set_state_values(has)
    seen = {o: k for k, o in enumerate(sorted({o for o, _, _ in states}))}
    ats.add_observation_annotation(len(seen)).set_state_values([seen[o] for o, _, _ in states])
    umb = umbi.ats.explicit_ats_to_explicit_umb(ats)
    system, rewards = umb.index.transition_system, umb.index.annotations["rewards"]["reward"]
    system.branch_probability_type = _wide(
        system.branch_probability_type, umb.branch_to_probability
    )
    rewards.type = _wide(rewards.type, umb.annotations["rewards"]["reward"]["choices"])
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "model.umb"
        umbi.umb.write(umb, made)
        write_whole(path, made.read_bytes())


def _wide(size: Any, values: Sequence[Number]) -> Any:
    """The room that fractions need: numerator and denominator have half of it each."""
    if not isinstance(values[0], Fraction):
        return size
    parts = [y for x in values for y in (x.numerator, x.denominator)]
    return replace(size, size_bits=128 * max(1 + y.bit_length() // 64 for y in parts))


def _listed(umb: Any, name: str) -> Listed:
    system = umb.index.transition_system
    _refuse(system, name)
    notes: dict[str, Any] = umb.annotations or {}
    rewards = notes.get("rewards", {})

    def paid(kind: str, k: int) -> Rewards:
        found = {model: values[kind][k] for model, values in rewards.items() if kind in values}
        return {model: x for model, x in found.items() if x != 0}

    labels = {word: values["states"] for word, values in notes.get("aps", {}).items()}
    seen = umb.entity_to_observation
    described = (umb.valuations or {}).get("states")
    first = umb.state_to_choices or list(range(system.num_states + 1))
    words = umb.choice_action_to_string
    states = []
    for s in range(system.num_states):
        text = str(s)
        if described is not None:
            text = ", ".join(f"{variable}={value}" for variable, value in described[s].items())
        carried = [word for word, holds in labels.items() if holds[s]]
        entry = ListedState(text, carried, None if seen is None else seen[s], paid("states", s))
        for c in range(first[s], first[s + 1]):
            action = None
            if umb.choice_to_choice_action is not None:
                a = umb.choice_to_choice_action[c]
                action = words[a] if words else str(a)
            choice = ListedChoice(action, paid("choices", c))
            for b in range(umb.choice_to_branches[c], umb.choice_to_branches[c + 1]):
                target, chance = umb.branch_to_target[b], umb.branch_to_probability
                x = 1 if chance is None else chance[b]
                choice.branches.append((target, x, paid("branches", b)))
            entry.choices.append(choice)
        states.append(entry)
    starts = [s for s, is_start in enumerate(umb.state_is_initial) if is_start]
    return Listed(name, states, starts, list(rewards))


def _refuse(system: Any, name: str) -> None:
    """Say which feature the workbench lacks."""
    lacks = {
        "continuous time": system.time != "discrete",
        f"{system.num_players} players": system.num_players > 1,
        "observations of branches": system.observations_apply_to == "branches",
        "stochastic observations": system.observation_probability_type is not None,
        "intervals for probabilities": "interval" in str(system.branch_probability_type).lower(),
        "nondeterminism without probabilities": system.branch_probability_type is None
        and system.num_branches > system.num_choices,
    }
    for feature, found in lacks.items():
        if found:
            raise ModelError(f"{name} has {feature}, which the workbench does not read from UMB")
