"""Controllers as files: the workbench's own JSON, PAYNT's, and Storm's schedulers.

| form | what it is | what it cannot say |
|---|---|---|
| `json` | start, act and after with labels and fractions | nothing |
| `paynt` | action and update by node and observation | updates by a, r or o'; a random start |
| `storm` | a scheduler with memory, state by state | updates by r or by chance; a random start |

PAYNT and Storm read the task as `export_drn` writes it, so observations, states and actions have
the numbers and names of that file. What a form cannot say is refused when it is written. A
scheduler may look at the state; one that does so is refused when it is read, with the two states
that it tells apart.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from workbench.agents.controllers import Controller, Entry, Event, Node
from workbench.core.augment import augment
from workbench.core.errors import PolicyError, UnknownLabel, WorkbenchError
from workbench.core.numbers import Number
from workbench.core.pomdp import POMDP
from workbench.core.space import Label
from workbench.interop.storm import action_names
from workbench.output import read_whole, write_whole
from workbench.results.json import Unreadable, decode, encode, parse_json, read_rational
from workbench.text import counted, did_you_mean, shorten, show

Data = dict[str, Any]


def save_controller(controller: Controller, path: str | Path, form: str = "json") -> None:
    """Write a controller to a file.

    Parameters
    ----------
    form : "json", "paynt" or "storm"; see the module's text.

    >>> import tempfile
    >>> from pomdps import recall4
    >>> from workbench import augment, controller_of, uniform
    >>> controller = controller_of(recall4(), "B1", uniform(augment(recall4(), "B1")))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_controller(controller, f"{folder}/bit.json")
    ...     json.loads(Path(folder, "bit.json").read_text())["nodes"]
    ['0', '1']

    See also: `load_controller`, `Controller`, `controller_of`.
    """
    text = json.dumps(controller_data(controller, form), indent=1, ensure_ascii=False)
    write_whole(path, text + "\n")


def load_controller(P: POMDP, path: str | Path) -> Controller:
    """Read a controller for a task from a file of any of the three forms.

    >>> import tempfile
    >>> from pomdps import recall4
    >>> from workbench import augment, controller_of, uniform
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     kept = Path(folder) / "controller.json"
    ...     save_controller(controller_of(recall4(), "B1", uniform(augment(recall4(), "B1"))), kept)
    ...     load_controller(recall4(), kept)
    controller of 2 nodes for recall4

    See also: `save_controller`, `Controller`.
    """
    return controller_from_data(P, parse_json(read_whole(path)))


def controller_data(controller: Controller, form: str = "json") -> Any:
    """The file of a controller, as JSON values."""
    if form not in _WRITERS:
        raise UnknownLabel(
            f"a controller is written as {', '.join(_WRITERS)}, not as {form!r}"
            f"{did_you_mean(form, _WRITERS)}"
        )
    return _WRITERS[form](controller)


def controller_from_data(P: POMDP, data: Any) -> Controller:
    """The controller that JSON values of any of the three forms describe."""
    read: Callable[[POMDP, Any], Controller]
    if isinstance(data, list):
        read = _from_storm
    elif isinstance(data, dict) and "num_nodes" in data:
        read = _from_paynt
    elif isinstance(data, dict) and "after" in data:
        read = _from_own
    else:
        raise Unreadable(
            "no controller: neither nodes with after, nor PAYNT's num_nodes, nor Storm's list of "
            "states"
        )
    try:
        return read(P, data)
    except WorkbenchError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        why = shorten(str(error))
        raise Unreadable(f"no controller: {type(error).__name__}: {why}") from None


class Written:
    """A task as `export_drn` writes it: over pairs (s, o) where a state has several observations.

    Attributes
    ----------
    E : the POMDP whose states are written.
    observations : those of P by their numbers; actions : the names of P's actions.
    """

    def __init__(self, P: POMDP):
        self.E = P if P.omega.is_deterministic else augment(P, "none")
        self.pairs = self.E is not P
        self.observations = [o[1] if self.pairs else o for o in self.E.O]
        self.actions = action_names(self.E)

    def shows(self, s: Label) -> Label:
        """The observation of P in a state that is written."""
        o = next(iter(self.E.omega(s)))
        return o[1] if self.pairs else o

    def successors(self, s: Label, a: Label) -> list[int]:
        """The numbers of the states that an action of P may lead to."""
        E = self.E
        outcomes = E.p(s, (a, "-") if self.pairs else a).items()
        found = dict.fromkeys(E.S.index(t) for (t, _), x in outcomes if x != 0)
        return [*found, *([len(E.S)] if E.gamma != 1 else [])]


# ---------------------------------------------------------------------- our own


def _own(controller: Controller) -> Data:
    P = controller.P
    return {
        "task": P.name,
        "nodes": list(controller.names),
        "start": _row(controller.start, lambda n: n),
        "act": [[n, encode(o), _row(row, encode)] for (n, o), row in controller.act.items()],
        "after": [
            [n, encode(o), encode(a), str(_exact(r)), encode(o_next), _row(row, lambda k: k)]
            for (n, o, a, r, o_next), row in controller.after.items()
        ],
    }


def _from_own(P: POMDP, data: Data) -> Controller:
    float_rewards = any(isinstance(r, float) for r in P.R)

    def reward(text: str) -> Number:
        r = read_rational(text)
        return float(r) if float_rewards else r

    names = tuple(map(str, data["nodes"]))

    def node(n: Any) -> Node:
        return _known(lambda k: isinstance(k, int) and 0 <= k < len(names), n, "node", P)

    def seen(o: Any) -> Label:
        return _known(P.O.__contains__, decode(o), "observation", P)

    def done(a: Any) -> Label:
        return _known(P.A.__contains__, decode(a), "action", P)

    act = {(node(n), seen(o)): _read_row(row, done) for n, o, row in data["act"]}
    after = {
        (node(n), seen(o), done(a), reward(r), seen(o_next)): _read_row(row, node)
        for n, o, a, r, o_next, row in data["after"]
    }
    return Controller(P, names, _read_row(data["start"], node), act, after)


def _row(row: Mapping[Any, Number], name: Callable[[Any], Any]) -> list[list[Any]]:
    return [[name(key), str(_exact(x))] for key, x in row.items()]


def _read_row(row: Any, label: Callable[[Any], Any]) -> dict[Any, Number]:
    return {label(key): read_rational(x) for key, x in row}


def _exact(x: Number) -> Fraction:
    """A float is written as the fraction that it is, so that nothing is lost."""
    return Fraction(x)


def _known(known: Callable[[Any], bool], label: Any, word: str, P: POMDP) -> Any:
    if not known(label):
        whose = "controller" if word == "node" else "task"
        raise PolicyError(
            f"the controller does not fit {P.name}: {show(label)} is no {word} of the {whose}"
        )
    return label


# ---------------------------------------------------------------------- PAYNT


def _paynt(controller: Controller) -> Data:
    controller = _from_zero(controller.pruned(), "PAYNT")
    for what in controller.reads:
        raise PolicyError(
            f"PAYNT's controllers choose the next node by n and o alone; this one reads {what}"
            + (": take its posterior_unaware()" if what == "o'" else "")
        )
    P, written = controller.P, Written(controller.P)
    seen = written.observations
    certain = controller.is_deterministic
    following: dict[Entry, Mapping[Node, Number]] = {}
    for event in controller.events:
        following.setdefault(event[:2], controller.after[event])

    def acting(n: int, o: Label) -> Any:
        row = controller.act.get((n, o))
        return None if row is None else _entry(row, P.A.index, certain)

    def going(n: int, o: Label) -> Any:
        if (n, o) not in controller.act:
            return None
        # An entry after which every episode ends has no node to go to; PAYNT wants one.
        return _entry(following.get((n, o), {n: 1}), int, certain)

    return {
        "num_nodes": len(controller),
        "num_observations": len(seen),
        "action_function": [[acting(n, o) for o in seen] for n in range(len(controller))],
        "update_function": [[going(n, o) for o in seen] for n in range(len(controller))],
        "action_labels": written.actions,
        "observation_labels": [P.O.text(o) for o in seen],
    }


def _entry(row: Mapping[Any, Number], place: Callable[[Any], int], certain: bool) -> Any:
    if certain:
        return next(place(key) for key, x in row.items() if x != 0)
    return {str(place(key)): float(x) for key, x in row.items() if x != 0}


def _from_paynt(P: POMDP, data: Data) -> Controller:
    nodes = int(data["num_nodes"])
    written = Written(P)
    ours = dict(zip(written.actions, P.A, strict=True))
    names = data.get("action_labels") or written.actions
    actions = [ours[_known(ours.__contains__, name, "action", P)] for name in names]
    seen: list[Label | None] = list(written.observations)
    if (shown := data.get("observation_labels")) is not None:
        texts = {P.O.text(o): o for o in P.O}
        seen = [texts.get(name) for name in shown]
        if missing := [P.O.text(o) for o in P.O if o not in seen and P.decides[P.O.index(o)]]:
            raise PolicyError(
                f"the controller does not fit {P.name}: it knows no observation {missing[0]}"
            )
    elif (told := int(data.get("num_observations", len(seen)))) != len(seen):
        raise PolicyError(
            f"the controller does not fit {P.name}: it has {counted(told, 'observation')} without "
            f"labels, the task has {len(seen)}"
        )
    for table in ("action_function", "update_function"):
        if len(data[table]) != nodes:
            raise Unreadable(
                f"no controller: {table} has {counted(len(data[table]), 'row')} for "
                f"{counted(nodes, 'node')}"
            )
    act: dict[Entry, dict[Label, Number]] = {}
    update: dict[Entry, dict[Node, Number]] = {}
    for n in range(nodes):
        acting, going = data["action_function"][n], data["update_function"][n]
        for z, o in enumerate(seen[: len(acting)]):
            if o is not None and acting[z] is not None:
                where = f"node {n} where {P.O.text(o)} is seen"
                row = _from_entry(acting[z], len(actions), "action", where)
                act[n, o] = {actions[a]: x for a, x in row.items()}
                if z >= len(going) or going[z] is None:
                    raise PolicyError(f"the controller goes nowhere from {where}")
                update[n, o] = _from_entry(going[z], nodes, "node", where)
    return _with_updates(P, tuple(map(str, range(nodes))), act, update)


def _from_entry(entry: Any, count: int, word: str, where: str) -> dict[int, Number]:
    """The numbers of the actions or nodes that an entry names, below `count`."""
    found = (
        {int(key): _decimal(x) for key, x in entry.items()}
        if isinstance(entry, dict)
        else {int(entry): Fraction(1)}
    )
    for number in found:
        if not 0 <= number < count:
            raise PolicyError(
                f"the controller has no {word} of number {number}, which stands at {where}: there "
                f"are {count}, from 0"
            )
    return found


def _decimal(x: Any) -> Fraction:
    """A number of a file as the decimal that is written there."""
    if isinstance(x, str):
        return read_rational(x)
    if isinstance(x, bool) or not isinstance(x, int | float):
        raise Unreadable(f"no probability: {show(x)}")
    return Fraction(str(x))


def _with_updates(
    P: POMDP,
    names: tuple[str, ...],
    act: Mapping[Entry, Mapping[Label, Number]],
    update: Mapping[Entry, Mapping[Node, Number]],
) -> Controller:
    """A controller from updates that depend on n and o alone."""
    after: dict[Event, Mapping[Node, Number]] = {}
    for (n, o), row in update.items():
        for s in P.S:
            if P.omega(s).get(o, 0) == 0 or s in P.terminal:
                continue
            for a in act[n, o]:
                for s_next, r in P.p(s, a):
                    for o_next in P.omega(s_next):
                        after[n, o, a, r, o_next] = row
    return Controller(P, names, {0: 1}, act, after)


def _from_zero(controller: Controller, who: str) -> Controller:
    """Renumber a controller so that its start node comes first."""
    starts = [n for n, x in controller.start.items() if x != 0]
    if len(starts) > 1:
        raise PolicyError(f"{who}'s controllers start in one node; this one starts in {starts}")
    order = [starts[0], *(n for n in range(len(controller)) if n != starts[0])]
    to = {n: i for i, n in enumerate(order)}
    return Controller(
        controller.P,
        tuple(controller.names[n] for n in order),
        {0: 1},
        {(to[n], o): row for (n, o), row in controller.act.items()},
        {
            (to[event[0]], *event[1:]): {to[n]: x for n, x in row.items()}
            for event, row in controller.after.items()
        },
    )


# ---------------------------------------------------------------------- Storm


def _storm(controller: Controller) -> list[Data]:
    controller = _from_zero(controller.pruned(), "Storm")
    if "r" in controller.reads:
        raise PolicyError("Storm's schedulers do not see rewards; this controller reads r")
    P, written = controller.P, Written(controller.P)
    E = written.E
    updates: dict[Any, Node] = {}
    for n, o, a, r, o_next in controller.events:
        following = [k for k, x in controller.after[n, o, a, r, o_next].items() if x != 0]
        if len(following) > 1:
            raise PolicyError(
                f"Storm's updates are not left to chance; that of node {controller.names[n]} after "
                f"o={show(o)} is"
            )
        updates[n, o, a, o_next] = following[0]
    found: list[Data] = []
    seen = {t: written.shows(s) for t, s in enumerate(E.S)}
    index = 0
    for s, label in enumerate(E.S):
        if label in E.terminal:
            index += 1
            continue
        o = written.shows(label)
        for n in range(len(controller)):
            row = controller.act.get((n, o))
            choices: Any = "undefined"
            if row is not None:
                choices = [
                    {
                        "labels": [written.actions[P.A.index(a)]],
                        "index": index + P.A.index(a),
                        "prob": float(x),
                        "memory-updates": [
                            {"s'": t, "m'": updates.get((n, o, a, seen.get(t)), n)}
                            for t in written.successors(label, a)
                        ],
                    }
                    for a, x in row.items()
                    if x != 0
                ]
            found.append({"s": s, "m": n, "c": choices})
        index += len(P.A)
    return found


def _from_storm(P: POMDP, data: list[Data]) -> Controller:
    written = Written(P)
    E = written.E
    ours = dict(zip(written.actions, P.A, strict=True))
    act: dict[Entry, dict[Label, Number]] = {}
    moves: dict[tuple[Node, Label, Label, Label], Node] = {}
    told: dict[Any, str] = {}
    states = len(E.S)
    for state in data:
        s, n = state["s"], int(state.get("m", 0))
        if not isinstance(s, int):
            raise Unreadable(
                f"Storm's states are numbers here, as export_drn numbers them, not {show(s)}"
            )
        # Beyond P's states are those that export_drn adds: where nothing is chosen.
        if s >= states or state["c"] == "undefined" or E.S[s] in E.terminal:
            continue
        o, row = written.shows(E.S[s]), {}
        for choice in state["c"]:
            if not choice.get("labels"):
                raise PolicyError(
                    f"the scheduler names no action in state {s} ({E.S.text(E.S[s])}), memory "
                    f"state {n}"
                )
            name = choice["labels"][0]
            a = ours[_known(ours.__contains__, name, "action", P)]
            row[a] = _decimal(choice.get("prob", 1))
            for move in choice.get("memory-updates", ()):
                if move["s'"] < states and E.S[move["s'"]] not in E.terminal:
                    key = n, o, a, written.shows(E.S[move["s'"]])
                    _agree(moves, key, int(move["m'"]), told, s, E)
        _agree(act, (n, o), row, told, s, E)
    nodes = 1 + max((n for n, _ in act), default=0)
    if nodes > len(data):
        raise PolicyError(f"the scheduler speaks of memory state {nodes - 1:,}, and not of others")
    for (n, o, a, _), k in moves.items():
        if not 0 <= k < nodes:
            raise PolicyError(
                f"the scheduler does not say what it does in memory state {k}, where it goes from "
                f"{n} after o={show(o)}, a={show(a)}"
            )
    after: dict[Event, dict[Node, Number]] = {}
    for s_label in P.S:
        if s_label in P.terminal:
            continue
        for o in P.omega(s_label):
            for n in range(nodes):
                for a in act.get((n, o), {}):
                    for s_next, r in P.p(s_label, a):
                        for o_next in P.omega(s_next):
                            k = moves.get((n, o, a, o_next), n)
                            after[n, o, a, r, o_next] = {k: 1}
    return Controller(P, tuple(map(str, range(nodes))), {0: 1}, act, after)


def _agree(
    known: dict[Any, Any], key: Any, value: Any, told: dict[Any, str], s: int, E: POMDP
) -> None:
    """Note what a scheduler does in a state. It must be the same in states that look alike."""
    here = E.S.text(E.S[s])
    if known.setdefault(key, value) != value:
        raise PolicyError(
            f"the scheduler is no controller: in memory state {key[0]} it tells {told[key]} from "
            f"{here}, which both show {show(key[1])}"
        )
    told.setdefault(key, here)


_WRITERS: dict[str, Callable[[Controller], Any]] = {"json": _own, "paynt": _paynt, "storm": _storm}
FORMS = tuple(_WRITERS)
"""The forms that a controller is written in."""
