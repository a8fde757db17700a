"""Slow yardsticks for small tasks: value iteration on reachable beliefs, on states, and over all
memoryless policies."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from workbench import to_arrays


class Dense:
    """A POMDP as dense float arrays: T[s, a, s'], r[s, a], omega[s, o], mu[s]; terminal rows are
    zero."""

    def __init__(self, P):
        arrays = to_arrays(P)
        p = np.array(arrays["p"], dtype=float)
        self.T = p.sum(axis=3)
        self.r = p.sum(axis=2) @ np.array(arrays["R"], dtype=float)
        self.omega = (
            np.array(arrays["omega"], dtype=float) * ~P.terminal.mask[:, None]
        )  # what is seen while acting
        self.mu = np.array(arrays["mu"], dtype=float)
        self.gamma = float(P.gamma)

    def seen(self, b) -> Iterator[tuple[float, np.ndarray]]:
        """The beliefs after seeing an observation, with their probabilities."""
        for o in range(self.omega.shape[1]):
            joint = b * self.omega[:, o]
            if joint.sum() > 1e-13:
                yield joint.sum(), joint / joint.sum()


def best_history(
    P, most: int = 1000, without_first_observation: bool = False
) -> tuple[float, float]:
    """Bounds for the best history-based value, equal (but for rounding) if there are at most `most`
    reachable beliefs.

    Value iteration on the beliefs found first; those that lead to beliefs beyond `most` are not
    improved: they have the value of a memoryless policy in the lower bound and that of full
    information in the upper one.
    """
    D = Dense(P)
    beliefs: list[np.ndarray] = []
    places: dict[tuple, int] = {}

    def place(b) -> int:
        key = tuple(np.round(b, 10))
        if key not in places:
            places[key] = len(beliefs)
            beliefs.append(b)
        return places[key]

    starts = [(1.0, D.mu)] if without_first_observation else list(D.seen(D.mu))
    start = [(x, place(b)) for x, b in starts]
    steps = []
    while len(steps) < len(beliefs) < most:
        b = beliefs[len(steps)]
        steps.append(
            [
                (b @ D.r[:, a], [(x, place(c)) for x, c in D.seen(b @ D.T[:, a])])
                for a in range(D.r.shape[1])
            ]
        )
    n, nA, inner = len(beliefs), D.r.shape[1], len(steps)
    R = np.array([[r for r, _ in step] for step in steps])
    M = np.zeros((nA, inner, n))
    for i, step in enumerate(steps):
        for a, (_, following) in enumerate(step):
            for x, j in following:
                M[a, i, j] += x
    bounds = []
    lower = _memoryless_values(D)[1] if inner < n else np.zeros(len(D.mu))
    for alpha in (lower, _full_information_values(D)):
        v = np.array(beliefs) @ alpha
        for _ in range(3000):
            v[:inner] = (R + D.gamma * (M @ v).T).max(axis=1)
        bounds.append(sum(x * v[i] for x, i in start))
    return bounds[0], bounds[1]


def full_information(P) -> float:
    """The best value of a policy that sees the state."""
    D = Dense(P)
    return float(D.mu @ _full_information_values(D))


def _full_information_values(D: Dense) -> np.ndarray:
    v = np.zeros(len(D.mu))
    for _ in range(4000):
        v = (D.r + D.gamma * D.T @ v).max(axis=1)
    return v


def best_deterministic_memoryless(P) -> float:
    """The best of all deterministic policies of the observation, by trying them all."""
    return _memoryless_values(Dense(P))[0]


def _memoryless_values(D: Dense) -> tuple[float, np.ndarray]:
    """The best deterministic memoryless value from the start, and the values of all states under
    that policy."""
    nO, nA = D.omega.shape[1], D.r.shape[1]
    deciding = np.flatnonzero(D.omega.sum(axis=0))
    best, values = -np.inf, np.zeros(len(D.mu))
    for choice in _chunks(itertools.product(range(nA), repeat=len(deciding)), 4096):
        pi = np.zeros((len(choice), nO, nA))
        pi[np.arange(len(choice))[:, None], deciding, np.array(choice)] = 1
        act = D.omega @ pi  # [policy, s, a]
        move = np.einsum("psa,sat->pst", act, D.T)
        v = np.linalg.solve(
            np.eye(len(D.mu)) - D.gamma * move, (act * D.r).sum(axis=2)[:, :, None]
        )[:, :, 0]
        k = int((v @ D.mu).argmax())
        if v[k] @ D.mu > best:
            best, values = float(v[k] @ D.mu), v[k]
    return best, values


def _chunks(items, size):
    while chunk := list(itertools.islice(items, size)):
        yield chunk
