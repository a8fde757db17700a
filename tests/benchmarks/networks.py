"""How fast networks learn: `python tests/benchmarks/networks.py [speed] [table1] [--repeats 3]`.

    speed   training steps a second of PPO, LSTM and DDQN by network and number of environments, and
              the time to compile
    table1  Table 1 of the paper: the speed with each memory relative to an LSTM, the paper's column
              beside it

Repeats are interleaved, so that what else the machine does falls on all alike; the spread is that
of the repeats. The paper's numbers are of another implementation on 16 cores.

Nothing here passes or fails; numbers move with what else the machine does, hence the load is shown.
"""

from __future__ import annotations

import argparse
import os
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from pomdps import hallway_cookie, hallway_keys, memory_s7, red_blue_doors
from workbench import DDQN, PPO, MemoryPair, RecurrentPPO, learn

PAPER = {
    "cookie": {"none": 10.87, "K6": 8.63, "B6": 10.13, "O6": 9.85, "OA6": 8.24},
    "keys": {"none": 7.40, "K6": 5.13, "B6": 5.86, "O6": 5.37, "OA6": 4.32},
    "doors": {"none": 2.99, "K3": 2.26, "B3": 2.90, "O3": 2.18, "OA3": 2.48},
    "memory": {"none": 2.91, "K3": 2.73, "B3": 3.01, "O3": 2.80, "OA3": 2.40},
}
"""Table 1, the column of CPUs."""

DOMAINS = {
    "cookie": hallway_cookie,
    "keys": hallway_keys,
    "doors": red_blue_doors,
    "memory": memory_s7,
}


def jax_speed(pair: MemoryPair, learner: Any, steps: int, seed: int) -> tuple[float, float]:
    """Training steps a second, and the seconds to compile."""
    run: Any = learn(pair, learner, steps=steps, seeds=[seed], every=steps, policies=False)
    return run.steps / run.seconds["training"], run.seconds["compiling"]


def speed(console: Console, repeats: int, steps: int) -> None:
    with_memory, without = MemoryPair(memory_s7(), "O3"), MemoryPair(memory_s7(), "none")
    cases: list[tuple[str, MemoryPair, Any, int]] = [
        ("PPO 2x64, 32 environments", with_memory, PPO.tuned(), 4 * steps),
        ("PPO 2x64, 128 environments", with_memory, PPO.tuned(environments=128), 4 * steps),
        ("PPO 5x128, 16 environments", with_memory, PPO(), steps),
        ("LSTM 64 + 64, 32 environments", without, RecurrentPPO.tuned(), steps),
        ("LSTM 5x128 + 128, 16 environments", without, RecurrentPPO(), steps // 4),
        ("DDQN 2x64, 16 environments", with_memory, DDQN.tuned(), steps),
        ("DDQN 6x128, 1 environment", with_memory, DDQN(), max(2000, steps // 20)),
    ]
    found: dict[str, list[float]] = {name: [] for name, *_ in cases}
    compiled: dict[str, float] = {}
    for repeat in range(repeats):
        for name, pair, learner, count in cases:
            rate, seconds = jax_speed(pair, learner, count, repeat)
            found[name].append(rate)
            compiled.setdefault(name, seconds)
    table = Table("memory_s7", "steps/s", "least", "most", "compiling", title=_load())
    for name, rates in found.items():
        shown = (f"{x:,.0f}" for x in (np.median(rates), min(rates), max(rates)))
        table.add_row(name, *shown, f"{compiled[name]:.1f} s")
    console.print(table)


def table1(console: Console, repeats: int, steps: int, domains: list[str]) -> None:
    table = Table("domain", "memory", "paper", "jax", "spread", title=_load())
    for domain in domains:
        P = DOMAINS[domain]()
        wide = domain in ("cookie", "keys")
        hidden = (64, 64)
        rates: dict[str, list[float]] = {name: [] for name in (*PAPER[domain], "LSTM")}
        for repeat in range(repeats):
            for name in rates:
                lstm = name == "LSTM"
                pair = MemoryPair(P, "none" if lstm else name)
                learner = (
                    RecurrentPPO.tuned(hidden=hidden, n=128 if wide else 64)
                    if lstm
                    else PPO.tuned(hidden=hidden, n=128 if wide else 64)
                )
                rates[name].append(jax_speed(pair, learner, steps, repeat)[0])
        for name in PAPER[domain]:
            table.add_row(domain, name, f"{PAPER[domain][name]:.2f}", *_ratio(rates, name))
    console.print(table)


def _ratio(rates: dict[str, list[float]], name: str) -> tuple[str, str]:
    """The speed relative to the LSTM's of the same repeat: the median, and from least to most."""
    found = np.array(rates[name]) / np.array(rates["LSTM"])
    return f"{np.median(found):.2f}", f"{found.min():.2f} to {found.max():.2f}"


def _load() -> str:
    return f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("parts", nargs="*", default=["speed", "table1"])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--domains", nargs="*", default=list(DOMAINS))
    given = parser.parse_args()
    console = Console(width=110)
    if "speed" in given.parts:
        speed(console, given.repeats, given.steps)
    if "table1" in given.parts:
        table1(console, given.repeats, given.steps, given.domains)


if __name__ == "__main__":
    main()
