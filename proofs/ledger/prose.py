"""Certificates about policies, and small tables in plain text.

q-values        the q-values and the return of a policy, numbers or formulas; re-checked by walking through episodes
policy-value    the return alone
greedy-step     the return before and after a step towards the greedy policy, the step a number or a symbol
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

from proofs.certificates import encode, model_json, policy_json
from workbench import POMDP, Policy
from workbench.evaluation.evaluate import Evaluation


def q_certificate(P: POMDP, memory: str, found: Evaluation) -> dict[str, Any]:
    """The q-values and the return that the evaluator found for `found.pi` in P with a memory."""
    pi = found.pi
    return {
        "kind": "q-values",
        "model": model_json(P),
        "memory": memory,
        "policy": policy_json(pi),
        "discounted": found.weights == "discounted",
        "q": [
            [encode(o), encode(a), str(x)]
            for o in pi.O
            for a in pi.A
            if (x := found.q[o, a]) is not None
        ],
        "value": str(found.value),
    }


def value_certificate(P: POMDP, memory: str, pi: Policy, value: Any) -> dict[str, Any]:
    """What a policy is worth in P with a memory."""
    return {
        "kind": "policy-value",
        "model": model_json(P),
        "memory": memory,
        "policy": policy_json(pi),
        "value": str(value),
    }


def step_certificate(
    P: POMDP,
    pi: Policy,
    step: Any,
    before: Any,
    after: Any,
    discounted: bool = False,
    memory: str = "none",
) -> dict[str, Any]:
    """What a step towards the greedy policy does to the return; among equal actions the lower one
    wins."""
    return {
        "kind": "greedy-step",
        "model": model_json(P),
        "memory": memory,
        "policy": policy_json(pi),
        "discounted": discounted,
        "step": str(step),
        "before": str(before),
        "after": str(after),
    }


def text(*parts: str) -> str:
    """Paragraphs filled to 78 columns, one below the other; parts that begin with a blank stay as
    they are."""
    return "\n".join(part if part.startswith(" ") else textwrap.fill(part, 78) for part in parts)


def identity_certificate(what: str, left: Any, right: Any) -> dict[str, Any]:
    """Two quotients of polynomials that are the same function."""
    return {"kind": "identity", "what": what, "left": str(left), "right": str(right)}


def table_text(head: Sequence[str], lines: Sequence[Sequence[Any]]) -> str:
    """A small table in plain text."""
    cells = [list(map(str, head)), *(list(map(str, line)) for line in lines)]
    widths = [max(len(line[j]) for line in cells) for j in range(len(head))]
    return "\n".join(
        "  " + "  ".join(x.rjust(w) for x, w in zip(line, widths, strict=True)) for line in cells
    )
