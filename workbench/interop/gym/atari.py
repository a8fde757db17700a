"""Pong and Seaquest with the paper's memories (Section 6, Appendix D.4): one frame at a time,
sticky actions, agents of stable-baselines3.

    python -m workbench.interop.gym.atari Pong -m O3 --learner ppo --steps 10000000 --device cuda

The environment is that of the paper: grey pictures of 84x84, one of them at a time; each action
repeated with probability 1/4 (Machado et al. 2018) and up to 30 idle actions at the start; rewards
clipped to their sign; an episode ends when a life is lost (Mnih et al. 2015).

The settings are those of OpenAI baselines, which the paper takes: for PPO eight environments, n
128, 4 minibatches, 4 epochs, entropy 0.01, step 2.5e-4 and clip 0.1, both falling to 0, the network
of Mnih et al. with 512 features, and for the LSTM 128 cells (`ppo2`); for DDQN step 1e-4, 32 out of
10,000, a target after 1,000 steps, an update every 4, epsilon falling to 0.01 over the first tenth
(`deepq`; its duelling heads and its priorities are left out). The paper does not say how long it
trains; ten million steps are the default of baselines.

Needs the extra `deep-peers`.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from workbench.core.errors import WorkbenchError
from workbench.deep.settings import DDQN, PPO, RecurrentPPO
from workbench.extras import need
from workbench.interop.gym.frames import FrameMemory
from workbench.interop.gym.peers import make_double_dqn, make_lstm_ppo, make_ppo

GAMES = ("Pong", "Seaquest")

_PPO = {
    "hidden": (512,),
    "n": 128,
    "environments": 8,
    "minibatches": 4,
    "epochs": 4,
    "entropy": 0.01,
    "learning_rate": 2.5e-4,
    "clip": 0.1,
    "gamma": 0.99,
}

ATARI_PPO = PPO(**_PPO)  # type: ignore[arg-type]
ATARI_LSTM = RecurrentPPO(**_PPO | {"cells": 128})  # type: ignore[arg-type]
ATARI_DDQN = DDQN(
    hidden=(256,),
    learning_rate=1e-4,
    batch=32,
    capacity=10_000,
    learn_after=10_000,
    target_every=1_000,
    epsilon=0.01,
    gamma=0.99,
)
"""The settings of OpenAI baselines for Atari; `hidden` are the features behind the convolutions."""

LEARNERS = ("ppo", "lstm-ppo", "ddqn")


def make_game(game: str, memory: str = "none") -> Any:
    """A game as the paper sets it up, with a memory of its frames."""
    if game not in GAMES:
        raise WorkbenchError(f"the games are {' and '.join(GAMES)}, not {game!r}")
    gymnasium = need("gymnasium")
    ale = need("ale_py", "deep-peers")
    need("cv2", "deep-peers")
    wrappers = need("stable_baselines3.common.atari_wrappers", "deep-peers")
    monitor = need("stable_baselines3.common.monitor", "deep-peers")
    ale.ALEInterface.setLoggerMode(ale.LoggerMode.Error)
    gymnasium.register_envs(ale)
    env = gymnasium.make(f"ALE/{game}-v5", frameskip=1, repeat_action_probability=0.25)
    env = wrappers.AtariWrapper(monitor.Monitor(env), noop_max=30, terminal_on_life_loss=True)
    return FrameMemory(gymnasium.wrappers.ReshapeObservation(env, (84, 84)), memory)


def make_agent(
    learner: str, game: str, memory: str = "none", seed: int = 0, device: str = "auto"
) -> Any:
    """An agent for a game; the LSTM has no memory besides.

    Parameters
    ----------
    learner : "ppo", "lstm-ppo" or "ddqn".
    """
    if learner not in LEARNERS:
        raise WorkbenchError(f"the learners are {', '.join(LEARNERS)}, not {learner!r}")
    if learner == "lstm-ppo" and memory != "none":
        raise WorkbenchError(f"the LSTM has no memory besides its own, but {memory} is given")
    vec = need("stable_baselines3.common.vec_env", "deep-peers")
    count = 1 if learner == "ddqn" else ATARI_PPO.environments
    env = vec.DummyVecEnv([lambda: make_game(game, memory)] * count)
    if learner == "ddqn":
        policy = {"features_extractor_kwargs": {"cnn_output_dim": ATARI_DDQN.hidden[-1]}}
        return make_double_dqn(
            env,
            ATARI_DDQN,
            seed,
            device,
            policy | {"net_arch": []},
            train_freq=4,
            exploration_initial_eps=1.0,
            exploration_fraction=0.1,
        )
    policy = {"features_extractor_kwargs": {"cnn_output_dim": ATARI_PPO.hidden[-1]}}
    make: Any = make_ppo if learner == "ppo" else make_lstm_ppo
    record = ATARI_PPO if learner == "ppo" else ATARI_LSTM
    agent = make(env, record, seed, device, policy | {"net_arch": []})
    # both fall to 0 with the share of the steps that is left
    agent.learning_rate = lambda left: left * record.learning_rate
    agent._setup_lr_schedule()
    agent.clip_range = agent.clip_range_vf = lambda left: left * record.clip
    return agent


def train_from_command_line(arguments: Sequence[str] | None = None) -> None:
    """Train an agent, and keep its network and its curve."""
    parser = argparse.ArgumentParser(
        prog="python -m workbench.interop.gym.atari",
        description="Train an agent on an Atari game with one of the paper's memories.",
    )
    parser.add_argument("game", choices=GAMES)
    parser.add_argument("-m", "--memory", default="none")
    parser.add_argument("--learner", choices=LEARNERS, default="ppo")
    parser.add_argument("--steps", type=int, default=10_000_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="auto", help="cpu, cuda, or what there is")
    parser.add_argument("--out", type=Path, default=Path("atari"))
    given = parser.parse_args(arguments)
    try:
        agent = make_agent(given.learner, given.game, given.memory, given.seed, given.device)
    except WorkbenchError as error:
        raise SystemExit(f"error: {error}") from None
    folder = given.out / f"{given.game}-{given.memory}-{given.learner}-{given.seed}"
    logger = need("stable_baselines3.common.logger", "deep-peers")
    agent.set_logger(logger.configure(str(folder), ["csv"]))
    began = time.perf_counter()
    try:
        agent.learn(given.steps, log_interval=1 if given.learner != "ddqn" else 4)
    except KeyboardInterrupt:
        print("Stopped; what is there is kept.")
    agent.save(folder / "network")
    agent.logger.close()
    agent.get_env().close()
    seconds = time.perf_counter() - began
    scores = [episode["r"] for episode in agent.ep_info_buffer or ()]
    mean = f"{sum(scores) / len(scores):.2f} in the last {len(scores)}" if scores else "none ended"
    done = agent.num_timesteps
    print(
        f"{given.learner} on {given.game} with {given.memory}: {done:,} steps, "
        f"{done / seconds:,.0f} a second, reward per episode {mean}; network and curve in {folder}"
    )


if __name__ == "__main__":
    train_from_command_line()
