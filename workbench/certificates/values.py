"""Certificates about values, memories and formulas as plain JSON, in the forms that
`workbench.checker` verifies.

    policy-value       what a policy is worth
    q-values           its q-values and its return
    greedy-step        the return before and after a step
    falling-step       a step that lowers the return
    td-values          the fixed point of n-step TD
    memory-update      an f that keeps beliefs apart
    clique             more situations to tell apart than memory states
    beliefs-outnumber  more beliefs than words
    identity           two formulas that are the same
    greedy-family      greedy on a family of policies

Each says what was computed, so that another program can compute it again from the task alone. The
numbers may be formulas in symbols; then the checker compares quotients of polynomials.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from workbench.core.evaluate import Evaluation
from workbench.core.policy import Policy
from workbench.core.pomdp import POMDP
from workbench.core.space import Label
from workbench.core.td import TDValues
from workbench.results.json import encode, model_json, policy_json
from workbench.sufficiency.expressive import Expressiveness

Certificate = dict[str, Any]


def td_certificate(P: POMDP, memory: str, found: TDValues) -> Certificate:
    """The fixed point of n-step TD under a policy, and which pairs have no value."""
    return {
        **_about("td-values", P, memory, found.pi),
        "n": found.n,
        "q": _table(found.pi, found.q),
    }


def q_certificate(P: POMDP, memory: str, found: Evaluation) -> Certificate:
    """The q-values of a policy, weighted by visits or by discounted visits, and its return."""
    return {
        **_about("q-values", P, memory, found.pi),
        "discounted": found.weights == "discounted",
        "q": _table(found.pi, found.q),
        "value": str(found.value),
    }


def value_certificate(P: POMDP, memory: str, pi: Policy, value: Any) -> Certificate:
    """What a policy is worth."""
    return {**_about("policy-value", P, memory, pi), "value": str(value)}


def step_certificate(
    P: POMDP,
    pi: Policy,
    step: Any,
    before: Any,
    after: Any,
    discounted: bool = False,
    memory: str = "none",
) -> Certificate:
    """A certificate for the return after a move towards the greedy policy. Among equal actions the
    lower one wins."""
    return {
        **_about("greedy-step", P, memory, pi),
        "discounted": discounted,
        "step": str(step),
        "before": str(before),
        "after": str(after),
    }


def falling_certificate(P: POMDP, memory: str, pi: Policy, weights: str, rate: Any) -> Certificate:
    """A policy from which a small step towards greedy lowers the return, and how fast."""
    return {**_about("falling-step", P, memory, pi), "weights": weights, "rate": str(rate)}


def family_certificate(
    P: POMDP,
    memory: str,
    pi: Policy,
    greedy: Mapping[Label, Label],
    box: Mapping[str, str],
    ties: str = "last",
) -> Certificate:
    """A certificate for a policy with symbols whose greedy actions do not depend on their values.
    Each symbol lies in an interval. The checker derives the inequalities."""
    return {
        **_about("greedy-family", P, memory, pi),
        "greedy": [[encode(o), encode(a)] for o, a in greedy.items()],
        "box": dict(box),
        "ties": ties,
    }


def identity_certificate(what: str, left: Any, right: Any) -> Certificate:
    """Two quotients of polynomials that are the same function."""
    return {"kind": "identity", "what": what, "left": str(left), "right": str(right)}


def update_certificate(
    P: POMDP, memory: str, f: Mapping[tuple[Label, Label, Label], Label], with_mu: bool = True
) -> Certificate:
    """A memory-update function (m, o, a) -> w that keeps all beliefs apart."""
    return {
        "kind": "memory-update",
        "model": model_json(P),
        "memory": memory,
        "starts with mu": with_mu,
        "f": [[*map(encode, argument), encode(w)] for argument, w in f.items()],
    }


def pigeons_certificate(
    P: POMDP, memory: str, histories: Iterable[tuple[Label, ...]]
) -> Certificate:
    """Histories with one last observation and a belief each, more than B(k) has memory states."""
    return {
        "kind": "beliefs-outnumber",
        "model": model_json(P),
        "memory": memory,
        "histories": [[encode(label) for label in history] for history in histories],
    }


def clique_certificate(P: POMDP, memory: str, ways: Iterable[tuple[Label, ...]]) -> Certificate:
    """Ways to go on, o, a, ..., o, a, that need a word each, more than B(k) has words."""
    return {
        "kind": "clique",
        "model": model_json(P),
        "memory": memory,
        "ways": [[encode(x) for x in way] for way in ways],
    }


def bits_certificates(P: POMDP, found: Expressiveness) -> tuple[Certificate, ...]:
    """The f that was found for B(k), or the situations that are too many for it."""
    if not found.memory.startswith("B"):
        return ()
    if found.f is not None:
        return (update_certificate(P, found.memory, found.f),)
    if not found.clique:
        return ()
    # histories end with an observation, situations with an action
    ends = all(len(way) % 2 for way in found.clique)
    make = pigeons_certificate if ends else clique_certificate
    return (make(P, found.memory, found.clique),)


def _about(kind: str, P: POMDP, memory: str, pi: Policy) -> Certificate:
    return {"kind": kind, "model": model_json(P), "memory": memory, "policy": policy_json(pi)}


def _table(pi: Policy, q: Any) -> list[Any]:
    return [
        [encode(o), encode(a), str(x)] for o in pi.O for a in pi.A if (x := q[o, a]) is not None
    ]
