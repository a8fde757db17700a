"""What theory says of z = (m, o) as a state of the agent, over all histories that can happen.

**Is Q* uniform on z** (Majeed and Hutter 2018)? Q*(h, a) is the best value after history h and
action a. If it is the same for all histories that lead to the same z, Q-learning on z converges to
it, and greedy is optimal. In general let

    spread = max_{z,a} ( max_{h in z} Q*(h,a) - min_{h in z} Q*(h,a) )

q(z,a) in the middle of each range is within spread/2 of Q*, and a policy that is greedy on such a q
loses at most 2 (spread/2) / (1 - gamma) after every history (Singh and Yee 1994).

**Approximate information states** (Subramanian et al. 2022): with a reward r^(z,a) and a law
P^(z' | z,a) of one's choice,

    eps   = max_{h,a} |E[r | h,a] - r^(z,a)|        delta = max_{h,a} |P(z' | h,a) - P^(z' | z,a)|_1

the policy that is optimal for the decision process (r^, P^) over z loses at most

    2 (eps + gamma delta kappa) / (1 - gamma),        kappa = (max V^ - min V^) / 2

Here r^ lies in the middle of its range and P^ is the mean of the laws: delta is then at most twice
the least. Whatever P^ is, eps, delta, kappa and the loss are exact for it. The end of an episode is
a z of its own, worth 0.

Where the beliefs of <P, memory> are not finitely many, expectations given a history are mixtures of
those given a state, so that maxima over the states behind z bound eps and delta from above.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from workbench.agents.beliefs import BeliefGraph
from workbench.core.errors import NeverEnds
from workbench.core.evaluate import evaluate
from workbench.core.fields import FLOATS, RATIONALS
from workbench.core.numbers import Number
from workbench.core.policy import Policy
from workbench.core.pomdp import POMDP
from workbench.core.space import Label
from workbench.optima.history import belief_process
from workbench.optima.mdp import from_states, optimal
from workbench.progress import check_time

END = None
"""The z of an episode that is over."""

StateLaw = Mapping[int | None, Fraction]
"""Probabilities of the next z, by its place in O'."""

Facts = dict[tuple[int, int], list[tuple[Fraction, StateLaw]]]
"""For each z and action (places) the reward and the law of the next z, for each history."""


# ---------------------------------------------------------------------- Q*


@dataclass(frozen=True)
class Uniformity:
    """How far Q* is from being a function of z.

    Attributes
    ----------
    spread : the largest difference of Q*(h, a) between histories of one z.
    where : the z and the action at which it is.
    bound : what the theory says a policy of z need not lose more than; None for gamma = 1.
    best : V*, the best history-based value of <P, memory>.
    """

    spread: Number
    where: tuple[Label, Label]
    bound: Number | None
    best: Number

    @property
    def holds(self) -> bool:
        return bool(self.spread == 0)


def uniformity(graph: BeliefGraph) -> Uniformity:
    """How far Q* is from being a function of z, from a complete graph of beliefs of <P, memory>."""
    E = graph.P
    M = belief_process(graph, RATIONALS)
    found = optimal(M, first=optimal(belief_process(graph, FLOATS)).policy)
    if isinstance(found.value, float):
        raise NeverEnds(f"V* of {E.name} is not defined: gamma is 1")
    best: Number = RATIONALS.back(found.value)
    q = [[RATIONALS.back(x) for x in row] for row in M.q(found.v)]
    ranges: dict[tuple[int, int], tuple[Number, Number]] = {}
    for n, o in enumerate(graph.o):
        for a, x in enumerate(q[n]):
            low, high = ranges.get((o, a), (x, x))
            ranges[o, a] = min(low, x), max(high, x)
    (o, a), (low, high) = max(ranges.items(), key=lambda item: item[1][1] - item[1][0])
    bound = None if E.gamma == 1 else (high - low) / (1 - E.gamma)
    return Uniformity(high - low, (E.O[o], E.A[a]), bound, best)


# ---------------------------------------------------------------------- approximate information


@dataclass(frozen=True, eq=False)
class InformationState:
    """z as an approximate information state.

    Attributes
    ----------
    eps, delta, kappa : as in the module's text.
    bound : what the policy loses at most by the theorem; None for gamma = 1.
    policy : optimal for (r^, P^), a policy of <P, memory>.
    value : what it is worth there; None if it may never end.
    exact : whether eps and delta are maxima over all histories; else over all states behind z,
        which are at least as large.
    """

    eps: Fraction
    delta: Fraction
    kappa: Number | None
    bound: Number | None
    policy: Policy
    value: Number | None
    exact: bool

    @property
    def holds(self) -> bool:
        """Whether z is an information state: nothing is lost."""
        return self.eps == 0 and self.delta == 0


def facts_of_beliefs(graph: BeliefGraph) -> Facts:
    """What each history of a complete graph of beliefs says of reward and next z."""
    found: Facts = {}
    for n, o in enumerate(graph.o):
        for a in range(len(graph.P.A)):
            law: dict[int | None, Fraction] = {}
            for edge in graph.edges[n][a]:
                law[edge.o] = law.get(edge.o, Fraction(0)) + edge.prob
            if (rest := 1 - sum(law.values(), Fraction(0))) != 0:
                law[END] = rest
            found.setdefault((o, a), []).append((Fraction(graph.reward(n, a)), law))
    return found


def facts_of_states(E: POMDP) -> Facts:
    """What each state of <P, memory> says of reward and next z."""
    found: Facts = {}
    seen = [int(E.omega.o[E.omega.row_ptr[s]]) for s in range(len(E.S))]
    for s, label in enumerate(E.S):
        if label in E.terminal:
            continue
        check_time()
        for a, action in enumerate(E.A):
            law: dict[int | None, Fraction] = {}
            r = Fraction(0)
            for (t, paid), x in E.p(label, action).items():
                z = END if t in E.terminal else seen[E.S.index(t)]
                law[z] = law.get(z, Fraction(0)) + x
                r += x * paid
            found.setdefault((seen[s], a), []).append((r, law))
    return found


def information_state(E: POMDP, facts: Facts, exact: bool) -> InformationState:
    """z as an approximate information state of an exact <P, memory>."""
    rewards: dict[tuple[int, int], Fraction] = {}
    laws: dict[tuple[int, int], StateLaw] = {}
    eps = delta = Fraction(0)
    for pair, met in facts.items():
        check_time()
        paid = [r for r, _ in met]
        rewards[pair] = (min(paid) + max(paid)) / 2
        eps = max(eps, (max(paid) - min(paid)) / 2)
        distinct = [dict(law) for law in dict.fromkeys(frozenset(law.items()) for _, law in met)]
        laws[pair] = _middle(distinct)
        delta = max(delta, *(distance(law, laws[pair]) for law in distinct))
    v, choice = _solve(E, rewards, laws)
    kappa = (max(v) - min(v)) / 2 if v is not None else None
    bound = None
    if E.gamma != 1 and kappa is not None:
        bound = 2 * (eps + E.gamma * delta * kappa) / (1 - E.gamma)
    policy = Policy.deterministic(E, {E.O[o]: E.A[a] for o, a in choice.items()}, otherwise=E.A[0])
    try:
        weights = "visits" if len(E.terminal) else "discounted"
        value = evaluate(E, policy, exact=True, weights=weights).value
    except NeverEnds:
        value = None
    return InformationState(eps, delta, kappa, bound, policy, value, exact)


def distance(one: StateLaw, other: StateLaw) -> Fraction:
    """The L1 distance of two laws."""
    return sum(
        (abs(one.get(z, Fraction(0)) - other.get(z, Fraction(0))) for z in {*one, *other}),
        Fraction(0),
    )


def _middle(laws: Sequence[StateLaw]) -> StateLaw:
    """The mean of the laws. None of them is further from it than the two furthest apart are from
    each other, so that no choice makes delta less than half."""
    places = dict.fromkeys(z for law in laws for z in law)
    return {z: sum(law.get(z, Fraction(0)) for law in laws) / Fraction(len(laws)) for z in places}


def _solve(
    E: POMDP, rewards: Mapping[tuple[int, int], Fraction], laws: Mapping[tuple[int, int], StateLaw]
) -> tuple[list[Number] | None, dict[int, int]]:
    """V^ (the end included, where there is one) and an optimal policy of (r^, P^), by places."""
    places = sorted({o for o, _ in laws})
    ended = any(END in law for law in laws.values())

    def p(z: int, a: Label) -> dict[tuple[int | None, Number], Number]:
        pair = z, E.A.index(a)
        return {(t, rewards[pair]): x for t, x in laws[pair].items()}

    surrogate = POMDP.from_functions(
        name=f"(r^, P^) of {E.name}",
        A=E.A,
        p=p,
        omega=lambda z: {z: 1},
        mu={z: Fraction(1, len(places)) for z in places},
        gamma=E.gamma,
        terminal=lambda z: z is END,
    )
    floats = optimal(from_states(surrogate, FLOATS))
    M = from_states(surrogate, RATIONALS)
    found = optimal(M, first=floats.policy)
    z_of = [surrogate.S[int(s)] for s in M.behind]
    choice = {z: int(a) for z, a in zip(z_of, found.policy, strict=True)}
    if isinstance(found.value, float) or not found.alive.all():
        return None, choice
    return [*(RATIONALS.back(x) for x in found.v), *([Fraction(0)] if ended else [])], choice
