"""Slow, obvious twins of what neural learners compute."""

import numpy as np


def slow_advantages(r, v, over, v_last, gamma, lam):
    """A_t as the sum of (gamma lam)^i delta_{t+i} up to the end of the episode, term by term."""
    n, copies = r.shape
    A = np.zeros((n, copies))
    for copy in range(copies):
        for t in range(n):
            weight = 1.0
            for i in range(t, n):
                after = v[i + 1, copy] if i + 1 < n else v_last[copy]
                ended = bool(over[i, copy])
                delta = r[i, copy] + (0.0 if ended else gamma * after) - v[i, copy]
                A[t, copy] += weight * delta
                if ended:
                    break
                weight *= gamma * lam
    return A


def slow_targets(q_next, q_target, r, ended, gamma):
    """The targets of double Q-learning, sample by sample."""
    found = []
    for i in range(len(r)):
        best = max(range(len(q_next[i])), key=lambda a: (q_next[i][a], -a))
        found.append(r[i] + (0.0 if ended[i] else gamma * q_target[i][best]))
    return np.array(found)


def slow_network(weights, features, view):
    """The last hidden layer for one view, on the long binary vector."""
    long = np.concatenate(
        [
            np.eye(len(W))[x] if X is None else X[x]
            for W, X, x in zip(weights["slots"], features, view, strict=True)
        ]
    )
    x = np.tanh(long @ np.concatenate(weights["slots"]) + weights["b"])
    for layer in weights["layers"]:
        x = np.tanh(x @ layer["W"] + layer["b"])
    return x


def slow_lstm(lstm, x, c, h):
    """One step of an LSTM, gate by gate."""
    n = len(c)

    def gate(i):
        part = slice(i * n, (i + 1) * n)
        return x @ lstm["x"][:, part] + h @ lstm["h"][:, part] + lstm["b"][part]

    def logistic(z):
        return 1 / (1 + np.exp(-z))

    c = logistic(gate(1)) * c + logistic(gate(0)) * np.tanh(gate(3))
    return c, logistic(gate(2)) * np.tanh(c)
