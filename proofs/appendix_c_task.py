"""The 4-action recall task itself (Appendix C): its optimum, and which memories suffice for it.

Two properties of a memory are told apart (`workbench.is_sufficiently_expressive`,
`workbench.can_encode_optimal`): to keep all beliefs with one last observation apart (Definition
A.2), and to have an optimal memoryless policy. The paper says the first of B2 and argues for the
second.
"""

from __future__ import annotations

from typing import Any

from pomdps.recalls import RECALL4_REWARDS
from proofs.appendix_c_setting import A, Rewards, changed_rewards, recall4_task, words
from proofs.ledger import Evidence, Proof, claim, machine, proved, refuted
from proofs.ledger.prose import table_text, text
from workbench import (
    POMDP,
    Policy,
    augment,
    can_encode_optimal,
    evaluate,
    is_sufficiently_expressive,
    memories,
    reachable_beliefs,
)
from workbench.certificates.values import pigeons_certificate, update_certificate, value_certificate
from workbench.checker.recheck import recheck


@claim(
    "C.optimal",
    place="App. C",
    statement="The optimum of the 4-action recall task is 0, then 2. After any other first "
    "action, 3 is a best second action.",
    verdict="proved",
    steps=(
        machine("optimum", "of the sixteen ways to act, 0 then 2 alone is worth the most"),
        machine("second", "after 1, 2 or 3 no second action is worth more than 3"),
    ),
)
def optimum(proof: Proof, rewards: Rewards = RECALL4_REWARDS) -> Evidence:
    """All sixteen ways to act, each as a policy of the task with OA1."""
    P = recall4_task(rewards)
    E = augment(P, "OA1")
    worth, certificates = {}, []
    for i in A:
        for j in A:
            pi = Policy.deterministic(E, {((None,), "o"): (i, "push")}, otherwise=(j, "push"))
            worth[i, j] = evaluate(E, pi, exact=True).value
            certificates.append(value_certificate(P, "OA1", pi, worth[i, j]))
    top = max(worth.values())
    best = [pair for pair, value in worth.items() if value == top]
    after = {i: [j for j in A if worth[i, j] == max(worth[i, k] for k in A)] for i in A}
    shown = table_text(
        ["first", *(f"then {j}" for j in A), "best then"],
        [[i, *(worth[i, j] for j in A), " or ".join(map(str, after[i]))] for i in A],
    )
    proof.step("optimum", None if best == [(0, 2)] else f"best sequences {best}")
    for i in A[1:]:
        proof.step("second", None if 3 in after[i] else f"after {i} the best is {after[i]}")
    argument = text(
        "What each of the sixteen ways to act is worth (the evaluator, on the task with OA1):",
        shown,
        "Any history-based policy, stochastic ones included, is worth a mean of these numbers, so "
        f"the optimum is {top}, and only '0, then 2' reaches it. After 1 the best second action is "
        "3 and no other; after 2 and after 3 it ties with action 1, so 'the optimal action is to "
        "take action 3' holds for 3 as a best action, not as the only one.",
    )
    return proved(
        "all 16 pairs of actions compared; after 2 and 3, action 1 ties with 3",
        argument,
        certificates,
    )


optimum.twin("reward of 1 then 3 raised to 1", guards="optimum", rewards=changed_rewards(1, 3, 1))
optimum.twin(
    "reward of 2 then 1 raised to 3/4",
    guards="second",
    rewards=changed_rewards(2, 1, RECALL4_REWARDS[1][3]),
)


# ---------------------------------------------------------------------- sufficiently expressive


def separating_update(P: POMDP, k: int) -> tuple[dict[str, Any] | None, str]:
    """A certified memory-update function of B(k) that keeps the beliefs apart, or a sentence on why
    there is none."""
    found = is_sufficiently_expressive(P, memories.B(k))
    if not found:
        return None, recheck(pigeons(P, k))
    assert found.f is not None
    f = update_certificate(P, f"B{k}", found.f)
    return f, recheck(f)


def pigeons(P: POMDP, k: int) -> dict[str, Any]:
    """Histories that need a memory state each, as a certificate that they are too many for B(k)."""
    clique = is_sufficiently_expressive(P, memories.B(k)).clique
    return pigeons_certificate(P, f"B{k}", clique)


@claim(
    "C.b2-expressive",
    place="App. C",
    statement="B2 is sufficiently expressive (Definition A.2) for the 4-action recall task.",
    verdict="refuted",
    corrected_by="C.b2-expressive*",
    steps=(machine("pigeons", "five beliefs share the observation; B2 has four memory states"),),
)
def b2_is_expressive(proof: Proof, k: int = 2) -> Evidence:
    """Five beliefs share the only observation. B(k) has 2^k memory states."""
    P = recall4_task()
    f, why = separating_update(P, k)
    if not proof.step("pigeons", None if f is None else f"f for B{k}: {why}"):
        return proved(f"f for B{k}", why)
    graph = reachable_beliefs(P)
    shown = table_text(
        ["history", "belief"],
        [[", ".join(map(str, graph.history(n))), node.b] for n, node in enumerate(graph.nodes)],
    )
    argument = text(
        "The histories whose episode goes on, all with the last observation o, and their beliefs:",
        shown,
        f"Definition A.2 asks for an f that never lets two of these {len(graph)} beliefs share a "
        f"memory state; each of them has at least one, and B{k} has {2**k}. So there is no such f, "
        "whatever it writes. (If the history after the last action counts as well, there is a "
        "sixth belief.)",
        "What the paper shows is another property: a policy of the task with B2 that is optimal. "
        "The missing hypothesis is 2^k >= 5, or the weaker property.",
    )
    return refuted(
        "5 beliefs must be told apart; two bits give 4 memory states",
        argument,
        counterexample=shown,
        certificates=[pigeons(P, k)],
    )


b2_is_expressive.twin("B3 in the place of B2", guards="pigeons", k=3)


@claim(
    "C.b2-expressive*",
    place="App. C",
    statement="B(k) is sufficiently expressive for the 4-action recall task exactly when k >= 3. "
    "B2, and already B1, has an optimal memoryless policy.",
    verdict="proved",
    steps=(
        machine("separates", "an f keeps the five beliefs apart in B3, so in every larger B(k)"),
        machine("pigeons", "B1 and B2 have fewer memory states than there are beliefs"),
        machine("encodes", "B1 and B2 have an optimal memoryless policy, no memory has none"),
    ),
)
def what_b2_and_b3_can_do(
    proof: Proof, enough: int = 3, too_few: int = 2, encodes: int = 1
) -> Evidence:
    """Judge the claim. `enough`: a k said to be sufficiently expressive. `too_few`: the largest
    said not to be. `encodes`: the smallest with an optimal policy."""
    P = recall4_task()
    certificates = []
    f, why = separating_update(P, enough)
    proof.step("separates", None if f is not None else why)
    certificates += [f] if f else []
    for k in range(1, too_few + 1):
        f, why = separating_update(P, k)
        proof.step("pigeons", None if f is None else why)
        certificates += [pigeons(P, k)] if f is None else []
    lines = []
    for k, memory in enumerate((memories.none, memories.B(1), memories.B(2))):
        found = can_encode_optimal(P, memory)
        proof.step("encodes", None if bool(found) == (k >= encodes) else repr(found))
        lines.append(
            [memory, max(_constant_actions(P)) if k == 0 else _paper_value(P, k, certificates)]
        )
    argument = text(
        "k >= 3: in memory 0 write number a+1 after action a. The five beliefs then have a memory "
        "state each, which B3 "
        "verifies and any larger memory repeats. k <= 2: five beliefs, at most four memory states.",
        "The paper's policy for B2 (in 00 <0,01>; in 01 action 2; in any other memory state action "
        "3) and the same with one bit reach the optimum 1 (C.optimal). Without memory no policy "
        "does; the best constant action reaches:",
        table_text(["memory", "value"], lines),
    )
    return proved(
        "3 bits tell all 5 beliefs apart, 2 cannot; 1 bit has an optimal policy",
        argument,
        certificates,
    )


def _paper_value(P: POMDP, k: int, certificates: list[dict[str, Any]]) -> Any:
    """What the paper's policy is worth: in 0 take 0 and write 1. In 1 take 2. In any other memory
    state 3."""
    E = augment(P, memories.B(k))
    first, second, *_ = words(k)
    pi = Policy.deterministic(
        E, {(first, "o"): (0, second), (second, "o"): (2, second)}, otherwise=(3, second)
    )
    value = evaluate(E, pi, exact=True).value
    certificates.append(value_certificate(P, f"B{k}", pi, value))
    return value


def _constant_actions(P: POMDP) -> list[Any]:
    return [evaluate(P, Policy.deterministic(P, {"o": a}), exact=True).value for a in A]


what_b2_and_b3_can_do.twin("B2 separates", guards="separates", enough=2)
what_b2_and_b3_can_do.twin("B3 is too small", guards="pigeons", too_few=3)
what_b2_and_b3_can_do.twin("an optimal policy without memory", guards="encodes", encodes=0)
