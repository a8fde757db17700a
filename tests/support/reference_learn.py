"""Plain-Python twins of the learners, slow and obvious, that draw the same random words; and exact
fixed points.

A twin shares no code with the kernels: its own generator, its own sampling straight from the
POMDP's rows, dense sweeps over traces, returns summed afresh, lists and dictionaries. It yields
after every step, so that a test can look at any moment.
"""

from __future__ import annotations

import math
import struct

import numpy as np

MASK = (1 << 64) - 1


class Generator:
    """xoroshiro128+ seeded by splitmix64, on Python's integers."""

    def __init__(self, seed: int):
        self.words = []
        for k in (1, 2):
            z = (seed + k * 0x9E3779B97F4A7C15) & MASK
            z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
            z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
            self.words.append(z ^ (z >> 31))

    def word(self) -> int:
        a, b = self.words
        result = (a + b) & MASK
        b ^= a
        self.words = [_rotate(a, 24) ^ b ^ ((b << 16) & MASK), _rotate(b, 37)]
        return result

    def happens(self, probability: float) -> bool:
        return self.word() >> 11 < math.floor(probability * 2**53)

    def one_of(self, n: int) -> int:
        return ((self.word() >> 32) * n) >> 32

    def uniform(self) -> float:
        return (self.word() >> 11) / 2**53

    def draw(self, outcomes: list[tuple]) -> tuple:
        """One of (probability, ...); a sure thing takes no word."""
        outcomes = [outcome for outcome in outcomes if outcome[0] > 0]
        if len(outcomes) == 1:
            return outcomes[0]
        u = self.word() >> 11
        cumulative = 0.0
        for outcome in outcomes[:-1]:
            cumulative += outcome[0]
            if u < math.floor(min(cumulative, 1.0) * 2**53):
                return outcome
        return outcomes[-1]


def _rotate(x: int, k: int) -> int:
    return ((x << k) | (x >> (64 - k))) & MASK


class World:
    """A POMDP that can be stepped through, in places: observation None is the end."""

    def __init__(self, P, rng: Generator):
        self.P, self.rng = P, rng
        self.nO, self.nA = len(P.O), len(P.A)

    def begin(self) -> int:
        P = self.P
        starts = [
            (float(P.mu.prob.floats[s]) * x, s, o)
            for s in range(len(P.S))
            if P.mu.prob.floats[s] > 0 and not P.terminal.mask[s]
            for o, x in self._omega(s)
        ]
        if any(P.terminal.mask[s] and P.mu.prob.floats[s] > 0 for s in range(len(P.S))):
            whole = sum(x for x, *_ in starts)
            starts = [(x / whole, s, o) for x, s, o in starts]
        _, self.s, o = self.rng.draw(starts)
        return o

    def _omega(self, s: int) -> list[tuple[int, float]]:
        omega = self.P.omega
        span = range(int(omega.row_ptr[s]), int(omega.row_ptr[s + 1]))
        return [
            (int(omega.o[k]), float(omega.prob.floats[k])) for k in span if omega.prob.floats[k] > 0
        ]

    def act(self, a: int) -> tuple[float, int | None]:
        p, row = self.P.p, self.s * self.nA + a
        outcomes: list[tuple] = []
        for k in range(int(p.row_ptr[row]), int(p.row_ptr[row + 1])):
            s_next, r, x = int(p.s_next[k]), float(p.r.floats[k]), float(p.prob.floats[k])
            if self.P.terminal.mask[s_next]:
                outcomes.append((x, s_next, r, None))
            else:
                outcomes += [(x * y, s_next, r, o) for o, y in self._omega(s_next)]
        _, self.s, r, o_next = self.rng.draw(outcomes)
        return r, o_next


class Trajectory:
    """What all twins count: rewards and finished episodes by block, and the generator's state."""

    def __init__(self, P, learner, seed: int, steps: int, every: int):
        self.P, self.L, self.steps, self.every = P, learner, steps, every
        self.rng = Generator(seed)
        self.world = World(P, self.rng)
        self.nO, self.nA = len(P.O), len(P.A)
        gamma = getattr(learner, "gamma", None)  # R-learning discounts nothing
        self.gamma = float(P.gamma if gamma is None else gamma)
        self.limit = math.inf if learner.max_episode_steps is None else learner.max_episode_steps
        blocks = math.ceil(steps / every)
        self.rewards, self.episodes = [0.0] * blocks, [0] * blocks
        self.greedy: list[list[int]] = []
        self.tables = self.new_tables()
        self.updates: dict[tuple[int, int], int] = {}
        for t, (r, ended) in zip(range(steps), self.run(), strict=False):
            self.rewards[t // every] += r
            self.episodes[t // every] += ended
            if (t + 1) % every == 0 or t + 1 == steps:
                self.greedy.append([row.index(max(row)) for row in self.preferred()])

    def new_tables(self) -> dict:
        return {"q": self.rows(float(self.L.initial))}

    def rows(self, x: float) -> list[list[float]]:
        """A table that holds x, and minus infinity where an action is not allowed."""
        P = self.P
        return [[x if a in P.actions(o) else -math.inf for a in P.A] for o in P.O]

    def preferred(self) -> list[list[float]]:
        return self.tables["q"]

    def step_at(self, t: int, o: int, a: int) -> float:
        """The step of the update of (o, a) at time t; counts it."""
        step = self.L.step
        if hasattr(step, "power"):
            self.updates[o, a] = self.updates.get((o, a), 0) + 1
            return step.first / self.updates[o, a] ** step.power
        if hasattr(step, "halving"):
            return step.first / (1.0 + t / step.halving)
        return step

    def epsilon_greedy(self, row: list[float]) -> int:
        if self.rng.happens(self.L.epsilon):
            there = [a for a, x in enumerate(row) if x > -math.inf]
            return there[self.rng.one_of(len(there))]
        return self.best(row)

    def best(self, row: list[float]) -> int:
        ties = [a for a, x in enumerate(row) if x == max(row)]
        return ties[0] if len(ties) == 1 else ties[self.rng.one_of(len(ties))]


class QLearningTwin(Trajectory):
    def value(self, row: list[float]) -> float:
        return max(row)

    def run(self):
        q, gamma, t = self.tables["q"], self.gamma, 0
        while True:
            o, age, ended = self.world.begin(), 0, False
            while not ended:
                a = self.epsilon_greedy(q[o])
                r, o_next = self.world.act(a)
                age += 1
                future = 0.0 if o_next is None else gamma * self.value(q[o_next])
                q[o][a] += self.step_at(t, o, a) * (r + future - q[o][a])
                t += 1
                o, ended = o_next, o_next is None or age >= self.limit
                yield r, ended


class ExpectedSarsaTwin(QLearningTwin):
    def value(self, row: list[float]) -> float:
        epsilon = math.floor(self.L.epsilon * 2**53) / 2**53  # as the generator draws
        there = [x for x in row if x > -math.inf]
        return (1.0 - epsilon) * max(row) + epsilon * (sum(there) / len(there))


class MonteCarloTwin(Trajectory):
    def run(self):
        q, t = self.tables["q"], 0
        while True:
            o, episode, ended = self.world.begin(), [], False
            while not ended:
                a = self.epsilon_greedy(q[o])
                r, o_next = self.world.act(a)
                episode.append((o, a, r))
                ended = o_next is None or len(episode) >= self.limit
                if ended:
                    G = 0.0
                    for o_t, a_t, r_t in reversed(episode):
                        G = r_t + self.gamma * G
                        q[o_t][a_t] += self.step_at(t, o_t, a_t) * (G - q[o_t][a_t])
                o, t = o_next, t + 1
                yield r, ended


class RLearningTwin(Trajectory):
    def new_tables(self):
        return {**super().new_tables(), "rho": [0.0]}

    def run(self):
        q, rho, t = self.tables["q"], self.tables["rho"], 0
        o, age = self.world.begin(), 0
        while True:
            a = self.epsilon_greedy(q[o])
            was_greedy = q[o][a] == max(q[o])
            r, o_next = self.world.act(a)
            age, over = age + 1, o_next is None
            if over:
                o_next = self.world.begin()
            delta = r - rho[0] + max(q[o_next]) - q[o][a]
            q[o][a] += self.step_at(t, o, a) * delta
            if was_greedy:
                rho[0] += self.L.rate * delta
            t += 1
            ended = over or age >= self.limit
            if ended:
                age = 0
                if not over:
                    o_next = self.world.begin()
            o = o_next
            yield r, ended


class SarsaTwin(Trajectory):
    """Dense traces: every entry of z is visited at every step."""

    def choose(self, o: int) -> int:
        return self.epsilon_greedy(self.tables["q"][o])

    def run(self):
        q, gamma, t = self.tables["q"], self.gamma, 0
        everything = [(o, a) for o in range(self.nO) for a in range(self.nA)]
        while True:
            z = [[0.0] * self.nA for _ in range(self.nO)]
            o, age, ended = self.world.begin(), 0, False
            a = self.choose(o)
            q_old = q[o][a]
            while not ended:
                alpha = self.step_at(t, o, a)
                r, o_next = self.world.act(a)
                t, age = t + 1, age + 1
                ended = o_next is None or age >= self.limit
                a_next = None if o_next is None else self.choose(o_next)
                q_next = 0.0 if o_next is None else q[o_next][a_next]
                z[o][a] = (1.0 - alpha) * z[o][a] + 1.0
                change = q[o][a] - q_old
                delta = r + gamma * q_next - q[o][a]
                for x, b in everything:
                    q[x][b] += alpha * (delta + change) * z[x][b]
                    z[x][b] *= gamma * self.L.lam
                    if z[x][b] <= self.L.trace_cutoff:
                        z[x][b] = 0.0
                q[o][a] -= alpha * change
                q_old = q_next
                o, a = o_next, a_next
                yield r, ended


class Soft:
    """Actions from the softmax of a row instead of epsilon-greedily."""

    def epsilon_greedy(self, row: list[float]) -> int:
        temperature = self.L.temperature
        weights = [
            0.0 if x == -math.inf else exponential((x - max(row)) / temperature) for x in row
        ]
        total = 0.0
        for x in weights:  # `sum` would mend its rounding
            total += x
        u, cumulative = self.rng.uniform() * total, 0.0
        for a, x in enumerate(weights):
            cumulative += x
            if u < cumulative:
                return a
        return self.nA - 1


class SoftQLearningTwin(Soft, QLearningTwin):
    pass


class SoftSarsaTwin(Soft, SarsaTwin):
    pass


class NStepSarsaTwin(Trajectory):
    """Every return is summed anew from the rewards of the whole episode."""

    def run(self):
        q, t, n = self.tables["q"], 0, self.L.n
        while True:
            o, episode, ended = self.world.begin(), [], False
            a = self.epsilon_greedy(q[o])
            while not ended:
                r, o_next = self.world.act(a)
                episode.append((o, a, r))
                a_next = None if o_next is None else self.epsilon_greedy(q[o_next])
                ended = o_next is None or len(episode) >= self.limit
                last = len(episode) if ended else len(episode) - n + 1
                for first in range(max(0, len(episode) - n), last):
                    power, G = 1.0, 0.0
                    for *_, r_t in episode[first:]:
                        G += power * r_t
                        power *= self.gamma
                    if o_next is not None:
                        G += power * q[o_next][a_next]
                    o_t, a_t, _ = episode[first]
                    q[o_t][a_t] += self.step_at(t, o_t, a_t) * (G - q[o_t][a_t])
                o, a, t = o_next, a_next, t + 1
                yield r, ended


class PredictionTwin(SarsaTwin):
    def choose(self, o: int) -> int:
        u = self.rng.word() >> 11
        cumulative = 0.0
        for a, x in enumerate(self.L.policy.prob.floats[o].tolist()[:-1]):
            cumulative += x
            if u < math.floor(min(cumulative, 1.0) * 2**53):
                return a
        return self.nA - 1


class ActorCriticTwin(Trajectory):
    def new_tables(self):
        return {
            "h": self.rows(0.0),
            "v": [float(self.L.v)] * self.nO,
        }

    def preferred(self):
        return self.tables["h"]

    def pi(self, o: int) -> list[float]:
        h = self.tables["h"][o]
        weights = [0.0 if x == -math.inf else exponential(x - max(h)) for x in h]
        share = 1.0 / sum(weights)
        return [x * share for x in weights]

    def update(self, o: int, a: int, rewards: list[float], o_after: int | None) -> None:
        """The return of (o, a) from the rewards that followed it and v of the observation after
        them."""
        h, v = self.tables["h"], self.tables["v"]
        power, G = 1.0, 0.0
        for r in rewards:
            G += power * r
            power *= self.gamma
        if o_after is not None:
            G += power * v[o_after]
        delta = G - v[o]
        move = self.L.policy_step * delta
        pi = self.pi(o)
        for b in range(self.nA):
            h[o][b] -= move * pi[b]
        h[o][a] += move
        v[o] += self.L.value_step * delta

    def update_all(self, batch: list[tuple[int, int, float]], o_after: int | None) -> None:
        """Every pair of a batch with its return to the batch's end, all from the same h and v."""
        h, v = self.tables["h"], self.tables["v"]
        old_pi, old_v = [self.pi(o) for o in range(self.nO)], list(v)
        G = 0.0 if o_after is None else old_v[o_after]
        deltas = []
        for o, _, r in reversed(batch):
            G = r + self.gamma * G
            deltas.insert(0, G - old_v[o])
        for (o, a, _), delta in zip(batch, deltas, strict=True):
            v[o] += self.L.value_step * delta
            for b in range(self.nA):
                h[o][b] -= self.L.policy_step * delta * old_pi[o][b]
            h[o][a] += self.L.policy_step * delta

    def run(self):
        yield from self.run_batches() if self.L.update == "batch" else self.run_window()

    def run_batches(self):
        while True:
            o, age, batch, ended = self.world.begin(), 0, [], False
            while not ended:
                a = self.draw(o)
                r, o_next = self.world.act(a)
                age += 1
                batch.append((o, a, r))
                ended = o_next is None or age >= self.limit
                if ended or len(batch) == self.L.n:
                    self.update_all(batch, o_next)
                    batch = []
                o = o_next
                yield r, ended

    def run_window(self):
        n = self.L.n
        while True:
            o, episode, ended = self.world.begin(), [], False
            while not ended:
                a = self.draw(o)
                r, o_next = self.world.act(a)
                episode.append((o, a, r))
                ended = o_next is None or len(episode) >= self.limit
                last = len(episode) if ended else len(episode) - n + 1
                for first in range(max(0, len(episode) - n), last):
                    o_t, a_t, _ = episode[first]
                    self.update(o_t, a_t, [r_t for *_, r_t in episode[first:]], o_next)
                o = o_next
                yield r, ended

    def draw(self, o: int) -> int:
        u, cumulative = self.rng.uniform(), 0.0
        for a, x in enumerate(self.pi(o)[:-1]):
            cumulative += x
            if u < cumulative:
                return a
        return self.nA - 1


def exponential(x: float) -> float:
    """e^x for x <= 0 by the same series as `softmax_kernels.exp`, with Python's floats."""
    x = max(x, -700.0)
    k = round(x * 1.4426950408889634)
    r = (x - k * 6.93147180369123816490e-01) - k * 1.90821492927058770002e-10
    c = [1 / math.factorial(j) for j in range(14)]
    pairs = [c[j] + c[j + 1] * r for j in range(0, 14, 2)]
    r2 = r * r
    low, middle, high = (pairs[j] + pairs[j + 1] * r2 for j in (0, 2, 4))
    r4 = r2 * r2
    series = (low + middle * r4) + (high + pairs[6] * r4) * (r4 * r4)
    (power,) = struct.unpack("<d", struct.pack("<q", (k + 1023) << 52))
    return series * power


TWINS = {
    "QLearning": QLearningTwin,
    "ExpectedSarsa": ExpectedSarsaTwin,
    "MonteCarlo": MonteCarloTwin,
    "RLearning": RLearningTwin,
    "Sarsa": SarsaTwin,
    "NStepSarsa": NStepSarsaTwin,
    "SoftQLearning": SoftQLearningTwin,
    "SoftSarsa": SoftSarsaTwin,
    "Prediction": PredictionTwin,
    "ActorCritic": ActorCriticTwin,
}


def twin(P, learner, seed: int, steps: int, every: int) -> Trajectory:
    """The slow run that `learn(P, learner, seeds=[seed], ...)` must equal bit for bit."""
    return TWINS[learner.kind](P, learner, seed, steps, every)


# ---------------------------------------------------------------------- exact answers, by dense
# linear algebra


def dense(P, pi: np.ndarray) -> dict[str, np.ndarray]:
    """The model as dense arrays: p[s, a, s'], R[s, a], omega[s, o], and for a policy visits[s] and
    P(s|o)."""
    nS, nA, nO = len(P.S), len(P.A), len(P.O)
    p, R, omega = np.zeros((nS, nA, nS)), np.zeros((nS, nA)), np.zeros((nS, nO))
    for s in range(nS):
        for k in range(int(P.omega.row_ptr[s]), int(P.omega.row_ptr[s + 1])):
            omega[s, P.omega.o[k]] += P.omega.prob.floats[k]
        for a in range(nA):
            for k in range(int(P.p.row_ptr[s * nA + a]), int(P.p.row_ptr[s * nA + a + 1])):
                p[s, a, P.p.s_next[k]] += P.p.prob.floats[k]
                R[s, a] += P.p.prob.floats[k] * P.p.r.floats[k]
    alive = ~P.terminal.mask
    act = omega @ pi * alive[:, None]  # the policy as it looks from a state
    chain = np.einsum("sa,sat->st", act, p)
    visits = np.linalg.solve(np.eye(nS) - chain.T, P.mu.prob.floats) * alive
    joint = visits[:, None] * omega
    with np.errstate(invalid="ignore"):
        s_given_o = joint / joint.sum(axis=0)  # NaN for observations that are never seen
    return {
        "p": p,
        "R": R,
        "omega": omega,
        "act": act,
        "chain": chain,
        "visits": joint,
        "s_given_o": s_given_o,
    }


def monte_carlo_values(P, pi: np.ndarray, gamma: float) -> np.ndarray:
    """q_pi(o,a) = sum_s P_pi(s|o) q_pi(s,a): what every-visit returns average to."""
    d = dense(P, pi)
    v = np.linalg.solve(np.eye(len(P.S)) - gamma * d["chain"], (d["act"] * d["R"]).sum(axis=1))
    return d["s_given_o"].T @ (d["R"] + gamma * d["p"] @ v)


def td0_values(P, pi: np.ndarray, gamma: float) -> np.ndarray:
    """q(o,a) = sum_s P_pi(s|o) [ R(s,a) + gamma sum p(s'|s,a) omega(o'|s') sum_b pi(b|o') q(o',b)
    ], solved at once."""
    d = dense(P, pi)
    nO, nA = pi.shape
    seen = np.nan_to_num(d["s_given_o"])
    alive = ~P.terminal.mask
    to_o = np.einsum("so,sat,tx->oax", seen, d["p"] * alive, d["omega"])
    system = np.eye(nO * nA) - gamma * np.einsum("oax,xb->oaxb", to_o, pi).reshape(nO * nA, nO * nA)
    q = np.linalg.solve(system, (seen.T @ d["R"]).ravel()).reshape(nO, nA)
    return np.where(np.isnan(d["s_given_o"]).any(axis=0)[:, None], np.nan, q)


def expected_actor_update(P, pi: np.ndarray, gamma: float) -> np.ndarray:
    """sum over an episode's steps of E[ (G - baseline) grad log pi ]: visits(o) pi(b|o) (q_pi(o,b)
    - v_pi(o)).

    For gamma = 1 it is the gradient of the return in the softmax's preferences.
    """
    q = monte_carlo_values(P, pi, gamma)
    visits = dense(P, pi)["visits"].sum(axis=0)
    advantage = q - (pi * q).sum(axis=1, keepdims=True)
    return np.where(visits[:, None] > 0, visits[:, None] * pi * advantage, 0.0)


def episodes_of(
    P, pi: np.ndarray, s: int | None = None, so_far: tuple = (), probability: float = 1.0
):
    """Every episode of a model whose episodes have bounded length: (probability, ((o, a, r),
    ...))."""
    nA = len(P.A)
    if s is None:
        for start in np.flatnonzero(P.mu.prob.floats).tolist():
            yield from episodes_of(P, pi, start, (), float(P.mu.prob.floats[start]))
        return
    if P.terminal.mask[s]:
        yield probability, so_far
        return
    for k in range(int(P.omega.row_ptr[s]), int(P.omega.row_ptr[s + 1])):
        o, x = int(P.omega.o[k]), float(P.omega.prob.floats[k])
        for a in range(nA):
            for j in range(int(P.p.row_ptr[s * nA + a]), int(P.p.row_ptr[s * nA + a + 1])):
                step = (o, a, float(P.p.r.floats[j]))
                y = float(pi[o, a]) * x * float(P.p.prob.floats[j])
                yield from episodes_of(P, pi, int(P.p.s_next[j]), (*so_far, step), probability * y)
