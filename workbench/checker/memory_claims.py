"""Re-checking what memories can keep apart (Definition A.2), by walking through beliefs.

memory-update        an f keeps all beliefs with one last observation apart
clique               situations of which no two may share a state of B(k), too many for it
beliefs-outnumber    more beliefs with one last observation than B(k) has memory states
history-dependence   the same observation and action, different rewards, by replaying histories
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from typing import Any

from workbench.checker.place_graph import PlaceGraph
from workbench.checker.reader import (
    CheckedTask,
    MemoryRule,
    PlainLabel,
    field,
    read_entries,
    read_fraction,
    read_label,
    read_memory,
    read_task,
    shown_task,
)
from workbench.checker.spoiled import Spoiled

WeightsOfStates = frozenset[tuple[PlainLabel, Fraction]]

MOST_PAIRS_WALKED = 50_000
"""So many pairs of a memory state and an observation are walked through."""


def _observed(
    task: CheckedTask, weights: dict[PlainLabel, Fraction]
) -> dict[PlainLabel, WeightsOfStates]:
    """For each observation the belief over the states in which the episode goes on."""
    found: dict[PlainLabel, WeightsOfStates] = {}
    for o in task.O:
        kept = {
            s: x * task.omega[s].get(o, Fraction(0))
            for s, x in weights.items()
            if s not in task.terminal
        }
        if total := sum(kept.values()):
            found[o] = frozenset((s, x / total) for s, x in kept.items() if x)
    return found


def _after(
    task: CheckedTask, b: WeightsOfStates, a: PlainLabel
) -> dict[PlainLabel, WeightsOfStates]:
    moved: dict[PlainLabel, Fraction] = {}
    for s, x in b:
        for (s_next, _), y in task.p[s, a].items():
            moved[s_next] = moved.get(s_next, Fraction(0)) + x * y
    return _observed(task, moved)


def _follow(task: CheckedTask, labels: list[PlainLabel]) -> dict[PlainLabel, WeightsOfStates]:
    """The beliefs after o, a, o, a, ..., by the observation that comes next."""
    found = _observed(task, task.mu)
    for o, a in zip(labels[::2], labels[1::2], strict=False):
        if o not in found or a not in task.A:
            raise Spoiled(f"no history goes {labels}")
        found = _after(task, found[o], a)
    return found


def _subject(certificate: dict[str, Any]) -> tuple[CheckedTask, MemoryRule]:
    task = read_task(field(certificate, "model", dict))
    memory = read_memory(field(certificate, "memory"))
    if memory.name == "B(k)":
        raise Spoiled("this is about one memory, not about all B(k)")
    return task, memory


def _bits(memory: MemoryRule) -> int:
    if not memory.name.startswith("B"):
        raise Spoiled("words are counted for binary memories")
    return len(memory.W)


def check_memory_update(certificate: dict[str, Any]) -> str:
    """Check that f keeps all beliefs with one last observation apart. Where f says nothing, the
    first write is written."""
    task, memory = _subject(certificate)
    f: dict[PlainLabel, PlainLabel] = {}
    for m, o, a, w in read_entries(field(certificate, "f", list), 4, "f"):
        argument = read_label(m), read_label(o), read_label(a)
        if argument in f:
            raise Spoiled(f"f{argument} is given twice")
        f[argument] = read_label(w)
    if wrong := set(f.values()) - set(memory.W):
        raise Spoiled(f"{wrong.pop()!r} is not a write of {memory.name}")
    with_mu = field(certificate, "starts with mu", bool)
    start = task.mu if with_mu else dict.fromkeys(task.omega, Fraction(1))
    holder: dict[tuple[PlainLabel, PlainLabel], WeightsOfStates] = {}
    queue = [(memory.start, o, b) for o, b in _observed(task, start).items()]
    for m, o, b in queue:  # grows while we walk
        if (m, o) in holder:
            if holder[m, o] != b:
                raise Spoiled(f"{m!r} is shared by two beliefs with the observation {o!r}")
            continue
        holder[m, o] = b
        if len(holder) > MOST_PAIRS_WALKED:
            raise Spoiled("there are too many memory states to walk through")
        for a in task.A:
            m_next = memory.after(m, f.get((m, o, a), memory.W[0]), o, a)
            queue += [(m_next, o_next, b_next) for o_next, b_next in _after(task, b, a).items()]
    reading = "" if with_mu else " (beliefs that start without mu)"
    return (
        f"f keeps the beliefs of {shown_task(task, memory)} apart: one behind each of "
        f"{len(holder)} pairs (m, o){reading}"
    )


def check_clique(certificate: dict[str, Any]) -> str:
    """More situations that must be told apart than B(k) has states."""
    task, memory = _subject(certificate)
    words = _bits(memory)
    maps = []
    for way in field(certificate, "ways", list):
        labels = [read_label(x) for x in way] if isinstance(way, list) else [None]
        if len(labels) % 2:
            raise Spoiled("a situation is o, a, o, a, ...")
        maps.append(_follow(task, labels))
    for one, other in combinations(maps, 2):
        if not any(o in other and other[o] != b for o, b in one.items()):
            raise Spoiled("two situations could share a memory state")
    if len(maps) <= words:
        raise Spoiled(f"{len(maps)} situations fit into {words} memory states")
    return (
        f"{task.name}: {len(maps)} situations must be told apart; {memory.name} has {words} states"
    )


def check_beliefs_outnumber(certificate: dict[str, Any]) -> str:
    """More beliefs with one last observation than memory states."""
    task, memory = _subject(certificate)
    states = _bits(memory)
    beliefs, last = set(), set()
    for history in field(certificate, "histories", list):
        labels = [read_label(x) for x in history] if isinstance(history, list) else []
        if len(labels) % 2 == 0:
            raise Spoiled("a history is o, a, o, ..., o")
        after = _follow(task, labels[:-1])
        if labels[-1] not in after:
            raise Spoiled(f"no history goes {labels}")
        beliefs.add(after[labels[-1]])
        last.add(labels[-1])
    if len(last) != 1 or len(beliefs) <= states:
        raise Spoiled(f"{len(beliefs)} beliefs do not outnumber {states} memory states")
    return (
        f"{task.name}: {len(beliefs)} beliefs share a last observation, and {memory.name} has "
        f"{states} memory states"
    )


def check_history_dependence(certificate: dict[str, Any]) -> str:
    """Check histories with one last observation, after which one action pays differently. No chance
    is involved."""
    task, memory = _subject(certificate)
    o, action = (read_label(field(certificate, name)) for name in ("observation", "action"))
    E = PlaceGraph(task, memory)
    if action not in E.actions or len(E.start) != 1:
        raise Spoiled(f"{action!r} is no action, or the start is left to chance")
    rewards = set()
    for done, claimed in read_entries(field(certificate, "histories", list), 2, "histories"):
        if not isinstance(done, list):
            raise Spoiled("a history is a list of actions")
        (place,) = E.start
        for step in map(read_label, done):
            onward = E.steps.get((place, step), {})
            if len(onward) != 1 or set(onward.values()) != {Fraction(1)}:
                raise Spoiled(f"{done} is no history that goes on without chance")
            (place,) = onward
        if place[1:] != o:
            raise Spoiled(f"{done} does not lead to {o!r}")
        paid = {r for (_, r), x in task.p[place[0], action[0]].items() if x}
        if paid != {read_fraction(claimed)}:
            shown = " or ".join(map(str, sorted(paid)))
            raise Spoiled(f"after {done} the reward is {shown}, not {claimed}")
        rewards |= paid
    if len(rewards) < 2:
        raise Spoiled("the reward is the same after all of these histories")
    return (
        f"{shown_task(task, memory)}: {action} at {o} pays "
        f"{' or '.join(map(str, sorted(rewards)))}, by the history"
    )
