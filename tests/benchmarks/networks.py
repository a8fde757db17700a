"""How fast networks learn: `python tests/benchmarks/networks.py [speed] [table1] [atari]`.

    speed   training steps a second of PPO, LSTM and DDQN by network and number of environments,
              beside stable-baselines3 on the same task with the same settings, the time to
              compile, and the share of the machine's matrix speed that is reached
    table1  Table 1 of the paper: the speed with each memory relative to an LSTM, with
              stable-baselines3 and sb3-contrib through `MemoryWrapper`, with ours, and the paper's
              column beside them
    atari   the same for Pong and Seaquest, with stable-baselines3

Repeats are interleaved, so that what else the machine does falls on all alike; a ratio is one of
neighbours in time, and the spread is that of the repeats. Each agent does one update before its
clock runs. The paper's numbers are of OpenAI baselines on 16 cores, 200,000 steps each.

Nothing here passes or fails; numbers move with what else the machine does, hence the load is shown,
and beside steps a second those in a second of processor time, which moves less.
"""

from __future__ import annotations

import argparse
import csv
import os
import time
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from pomdps import hallway_cookie, hallway_keys, memory_s7, red_blue_doors
from workbench import DDQN, PPO, MemoryPair, MemoryWrapper, RecurrentPPO, learn, to_gymnasium

PAPER = {
    "cookie": {"none": 10.87, "K6": 8.63, "B6": 10.13, "O6": 9.85, "OA6": 8.24},
    "keys": {"none": 7.40, "K6": 5.13, "B6": 5.86, "O6": 5.37, "OA6": 4.32},
    "doors": {"none": 2.99, "K3": 2.26, "B3": 2.90, "O3": 2.18, "OA3": 2.48},
    "memory": {"none": 2.91, "K3": 2.73, "B3": 3.01, "O3": 2.80, "OA3": 2.40},
    "Pong": {"none": 1.51, "K3": 1.31, "B3": 1.33, "O3": 1.51, "OA3": 0.57},
    "Seaquest": {"none": 1.40, "K3": 1.26, "B3": 1.19, "O3": 1.06, "OA3": 0.21},
}
"""Table 1, the column of CPUs."""

DOMAINS = {
    "cookie": hallway_cookie,
    "keys": hallway_keys,
    "doors": red_blue_doors,
    "memory": memory_s7,
}

HAS_PEERS = all(find_spec(name) is not None for name in ("stable_baselines3", "sb3_contrib"))

Rates = tuple[float, float, float]
"""Steps a second, the seconds before the first, and steps in a second of processor time (NaN in
records from before it was measured)."""

Trial = Callable[[int], Rates]
"""From a repeat to what it finds."""


def timed(steps: int, work: Callable[[], Any]) -> tuple[float, float]:
    """Steps in a second that work takes, and in a second of its processor time."""
    began, used = time.perf_counter(), time.process_time()
    work()
    return steps / (time.perf_counter() - began), steps / (time.process_time() - used)


def jax_speed(pair: MemoryPair, learner: Any, steps: int, seed: int) -> Rates:
    """The rates of ours; the seconds before the first step are those to compile."""
    one = learner.quantum
    run: Any = learn(pair, learner, steps=one, seeds=[seed], every=one, policies=False)
    whole = -(-steps // one) * one
    options = {"steps": whole, "seeds": [seed], "every": whole, "policies": False}
    rate, by_processor = timed(whole, lambda: learn(pair, learner, **options))
    return rate, run.seconds["compiling"], by_processor


def matrix_speed(size: int = 1024, repeats: int = 5) -> float:
    """Floating-point operations in a second of processor time of a large product of matrices, in
    the precision of the networks."""
    import jax

    x = jax.numpy.ones((size, size))
    product = jax.jit(lambda x: x @ x / size)
    product(x).block_until_ready()
    return max(
        timed(2 * size**3, lambda: product(x).block_until_ready())[1] for _ in range(repeats)
    )


def operations_per_step(learner: Any, actions: int) -> int:
    """Floating-point operations of the products of matrices in a step of training: two for each
    weight behind the first layer, which is looked up, and three times as many with a gradient."""
    hidden, cells = learner.hidden, getattr(learner, "cells", 0)
    behind = sum(n * m for n, m in pairwise(hidden)) + (hidden[-1] + cells) * 4 * cells
    weights = behind + (cells or hidden[-1]) * (actions + (not isinstance(learner, DDQN)))
    if isinstance(learner, DDQN):  # an action, a gradient, and two networks at what follows
        return 2 * weights * (1 + 5 * learner.batch // learner.environments)
    return 2 * weights * (1 + 3 * learner.epochs)


def peer_speed(make: Callable[[int], Any], steps: int, seed: int) -> Rates:
    """The same of an agent of stable-baselines3, after a first update."""
    began = time.perf_counter()
    agent = make(seed)
    per_update = agent.n_steps * agent.n_envs if hasattr(agent, "n_epochs") else 1_000
    agent.learn(per_update)
    first = time.perf_counter() - began
    before = agent.num_timesteps
    wall, processor = timed(
        1, lambda: agent.learn(max(per_update, steps), reset_num_timesteps=False)
    )
    done = agent.num_timesteps - before
    return done * wall, first, done * processor


def make_peer(P: Any, memory: str, learner: Any, seed: int) -> Any:
    """An agent of stable-baselines3 with the settings of one of ours."""
    import torch
    from stable_baselines3.common.vec_env import DummyVecEnv

    from workbench.interop.gym.peers import make_double_dqn, make_lstm_ppo, make_ppo

    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", os.cpu_count() or 1)))
    env = DummyVecEnv(
        [lambda: MemoryWrapper(to_gymnasium(P), memory, flat=True)] * learner.environments
    )
    make: Any = {PPO: make_ppo, RecurrentPPO: make_lstm_ppo, DDQN: make_double_dqn}[type(learner)]
    return make(env, learner, seed)


def interleave(
    part: str, trials: dict[str, Trial], repeats: int, kept: Path | None
) -> dict[str, list[Rates]]:
    """What each trial finds, one after the other, again and again.

    Parameters
    ----------
    kept : a file that every rate is written to at once, and from which an earlier call's are read.
    """
    known: dict[tuple[str, str, int], Rates] = {}
    if kept is not None and kept.exists():
        with kept.open(newline="") as file:
            for of, name, repeat, rate, first, *rest in csv.reader(file):
                by_processor = float(rest[0]) if rest else np.nan
                known[of, name, int(repeat)] = float(rate), float(first), by_processor
    found: dict[str, list[Rates]] = {name: [] for name in trials}
    for repeat in range(repeats):
        for name, trial in trials.items():
            at = (part, name, repeat)
            if at not in known:
                known[at] = trial(repeat)
                if kept is not None:
                    with kept.open("a", newline="") as file:
                        csv.writer(file, lineterminator="\n").writerow([*at, *known[at]])
            found[name].append(known[at])
    return found


def speed(console: Console, repeats: int, steps: int, kept: Path | None) -> None:
    P = memory_s7()
    cases: list[tuple[str, str, Any, int]] = [
        ("PPO 2x64, 32 environments", "O3", PPO.tuned(), 4 * steps),
        ("PPO 2x64, 128 environments", "O3", PPO.tuned(environments=128), 4 * steps),
        ("PPO 5x128, 16 environments", "O3", PPO(), steps),
        ("PPO 5x128, 64 environments", "O3", PPO(environments=64), steps),
        ("LSTM 64 + 64, 32 environments", "none", RecurrentPPO.tuned(), steps),
        ("LSTM 5x128 + 128, 16 environments", "none", RecurrentPPO(), steps // 4),
        ("DDQN 2x64, 16 environments", "O3", DDQN.tuned(), steps),
        ("DDQN 6x128, 1 environment", "O3", DDQN(), max(2000, steps // 20)),
    ]
    trials: dict[str, Trial] = {}
    for name, memory, learner, count in cases:
        trials[name] = partial(jax_speed, MemoryPair(P, memory), learner, count)
        if HAS_PEERS:
            make = partial(make_peer, P, memory, learner)
            trials[f"peer {name}"] = partial(peer_speed, make, max(1_000, count // 50))
    found = interleave("speed", trials, repeats, kept)
    columns = ["memory_s7", "steps/s", "least", "most", "by cpu", "compiling", "of matrix speed"]
    most = matrix_speed()
    table = Table(*columns, "sb3", "by cpu", "ratio", title=_load())
    for name, memory, learner, _ in cases:
        rates = np.array(found[name])
        needed = operations_per_step(learner, MemoryPair(P, memory).actions)
        shown = [f"{x:,.0f}" for x in (np.median(rates[:, 0]), *_ends(rates[:, 0]))]
        shown += [f"{np.median(rates[:, 2]):,.0f}", f"{rates[0, 1]:.1f} s"]
        shown.append(f"{needed * np.median(rates[:, 2]) / most:.0%}")
        if HAS_PEERS:
            theirs = np.array(found[f"peer {name}"])
            shown += [f"{np.median(theirs[:, i]):,.0f}" for i in (0, 2)]
            shown.append(f"{np.median(rates[:, 2] / theirs[:, 2]):.0f}")
        table.add_row(name, *shown)
    console.print(table)


def table1(
    console: Console, repeats: int, steps: int, domains: list[str], small: bool, kept: Path | None
) -> None:
    columns = ["domain", "memory", "paper", "sb3", "spread", "ours", "spread"]
    table = Table(*columns, title=_load())
    for domain in domains:
        P = DOMAINS[domain]()
        fast, slow = _settings(domain, small)
        trials: dict[str, Trial] = {}
        for name in (*PAPER[domain], "LSTM"):
            memory, learner = ("none", slow) if name == "LSTM" else (name, fast)
            trials[f"ours {name}"] = partial(jax_speed, MemoryPair(P, memory), learner, steps)
            if HAS_PEERS:
                make = partial(make_peer, P, memory, learner)
                trials[f"sb3 {name}"] = partial(peer_speed, make, max(1, steps // 5))
        found = interleave(f"{domain} small" if small else domain, trials, repeats, kept)
        for name, theirs in PAPER[domain].items():
            row = [domain, name, f"{theirs:.2f}"]
            row += _ratio(found, "sb3", name) if HAS_PEERS else ["-", "-"]
            table.add_row(*row, *_ratio(found, "ours", name))
        rates = {
            who: f"{np.median(np.array(found[f'{who} LSTM'])[:, 0]):,.0f}"
            for who in ("sb3", "ours")
            if f"{who} LSTM" in found
        }
        table.add_row(
            domain,
            "LSTM",
            "1.00",
            "1.00",
            f"{rates.get('sb3', '-')}/s",
            "1.00",
            f"{rates['ours']}/s",
        )
        table.add_section()
    console.print(table)


def _settings(domain: str, small: bool) -> tuple[PPO, RecurrentPPO]:
    """The paper's settings for a domain, without and with an LSTM; a small network of each kind."""
    hall = domain in ("cookie", "keys")
    if small:
        return PPO.tuned(environments=16), RecurrentPPO.tuned(environments=16)
    if not hall:
        return PPO(), RecurrentPPO()
    # 2,048 steps an update, as in the paper, and by 16 environments for both: with one of them the
    # cost of asking a network for a single action would be compared
    return PPO.hallway(n=128), RecurrentPPO.hallway()


def atari_table(
    console: Console, repeats: int, steps: int, games: list[str], kept: Path | None
) -> None:
    from workbench.interop.gym.atari import make_agent

    table = Table("game", "memory", "paper", "sb3", "spread", title=_load())
    for game in games:
        trials: dict[str, Trial] = {}
        for name in (*PAPER[game], "LSTM"):
            learner, memory = ("lstm-ppo", "none") if name == "LSTM" else ("ppo", name)
            make = partial(_atari_agent, make_agent, learner, game, memory)
            trials[f"sb3 {name}"] = partial(peer_speed, make, steps)
        found = interleave(game, trials, repeats, kept)
        for name, theirs in PAPER[game].items():
            table.add_row(game, name, f"{theirs:.2f}", *_ratio(found, "sb3", name))
        rate = np.median(np.array(found["sb3 LSTM"])[:, 0])
        table.add_row(game, "LSTM", "1.00", "1.00", f"{rate:,.0f}/s")
        table.add_section()
    console.print(table)


def _atari_agent(make: Any, learner: str, game: str, memory: str, seed: int) -> Any:
    import torch

    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", os.cpu_count() or 1)))
    return make(learner, game, memory, seed, "cpu")


def _ends(rates: Any) -> tuple[float, float]:
    return float(rates.min()), float(rates.max())


def _ratio(found: dict[str, list[Rates]], who: str, name: str) -> tuple[str, str]:
    """The speed relative to the LSTM's of the same repeat, by processor time where a record has it:
    the median, and from least to most."""
    ours, lstm = (np.array(found[f"{who} {one}"]) for one in (name, "LSTM"))
    ratios = ours / lstm
    by_processor = np.isfinite(ratios[:, 2]).all()
    chosen = ratios[:, 2 if by_processor else 0]
    low, high = _ends(chosen)
    return f"{np.median(chosen):.2f}", f"{low:.2f} to {high:.2f}"


def _load() -> str:
    return f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("parts", nargs="*", default=["speed", "table1"])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--domains", nargs="*", default=list(DOMAINS))
    parser.add_argument("--games", nargs="*", default=["Pong", "Seaquest"])
    parser.add_argument("--small", action="store_true", help="table1 with networks of 64 units")
    parser.add_argument("--keep", type=Path, help="a file of rates, to go on with later")
    given = parser.parse_args()
    console = Console(width=110)
    if "speed" in given.parts:
        speed(console, given.repeats, given.steps, given.keep)
    if "table1" in given.parts:
        table1(console, given.repeats, given.steps, given.domains, given.small, given.keep)
    if "atari" in given.parts:
        atari_table(console, given.repeats, given.steps // 100, given.games, given.keep)


if __name__ == "__main__":
    main()
