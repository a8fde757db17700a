"""Certificates about values and memories as plain JSON, in the forms that `proofs` re-checks.

    td-values            the fixed point of one-step TD under a policy        memory-update   an f that keeps beliefs apart
    q-values             the true q-values of a policy and its return         clique          more ways to go on than words
    policy-exact-value   what a policy is worth                               falling-step    a step that lowers the return

Each says what was computed, so that another program can compute it again from the task alone. The
first two are re-checked by walking through all episodes, and are made for tasks whose episodes have
an end.
"""

from __future__ import annotations

from typing import Any

from workbench.evaluation.evaluate import Evaluation
from workbench.evaluation.td import TDValues
from workbench.model.json import encode, model_json, policy_json
from workbench.model.policy import Policy
from workbench.model.pomdp import POMDP
from workbench.sufficiency.expressive import Expressiveness

Certificate = dict[str, Any]


def td_certificate(P: POMDP, memory: str, found: TDValues) -> Certificate:
    """The one-step TD values of a policy; pairs without memory are named like those with one, ("-",
    o) and (a, "-")."""
    q = _table(found.pi, found.q)
    if memory == "none":
        q = [[{"tuple": ["-", o]}, {"tuple": [a, "-"]}, x] for o, a, x in q]
    return {**_about("td-values", P, memory, found.pi), "n": found.n, "q": q}


def q_certificate(P: POMDP, memory: str, found: Evaluation) -> Certificate:
    """The true q-values of a policy, weighted by visits, and its return."""
    q = _table(found.pi, found.q)
    return {
        **_about("q-values", P, memory, found.pi),
        "discounted": False,
        "q": q,
        "value": str(found.value),
    }


def value_certificate(P: POMDP, memory: str, pi: Policy, value: Any) -> Certificate:
    """What a policy is worth."""
    return {**_about("policy-exact-value", P, memory, pi), "value": str(value)}


def falling_certificate(P: POMDP, memory: str, pi: Policy, weights: str, rate: Any) -> Certificate:
    """A policy from which a small step towards greedy lowers the return, and how fast."""
    return {**_about("falling-step", P, memory, pi), "weights": weights, "rate": str(rate)}


def bits_certificates(P: POMDP, found: Expressiveness) -> tuple[Certificate, ...]:
    """The f that was found for B(k), or the ways to go on that are too many for it."""
    if not found.memory.startswith("B"):
        return ()
    about = {"model": model_json(P), "memory": found.memory}
    if found.f is not None:
        f = [[encode(m), encode(o), encode(a), encode(w)] for (m, o, a), w in found.f.items()]
        return ({"kind": "memory-update", **about, "starts with mu": True, "f": f},)
    if found.clique:
        return (
            {"kind": "clique", **about, "ways": [[encode(x) for x in way] for way in found.clique]},
        )
    return ()


def _about(kind: str, P: POMDP, memory: str, pi: Policy) -> Certificate:
    return {"kind": kind, "model": model_json(P), "memory": memory, "policy": policy_json(pi)}


def _table(pi: Policy, q: Any) -> list[Any]:
    return [
        [encode(o), encode(a), str(x)] for o in pi.O for a in pi.A if (x := q[o, a]) is not None
    ]
