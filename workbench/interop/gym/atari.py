"""Pong and Seaquest with the paper's memories (Section 6, Appendix D.4). They show one frame at a
time, with sticky actions, to agents of stable-baselines3.

    workbench reproduce fig6-pong fig6-seaquest fig12-pong

runs them (`workbench.reproduction.atari_figures`).
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

import csv
import json
import math
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

STEPS = 10_000_000
"""Of a run."""

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
    """An agent for a game. The LSTM has no memory besides.

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


def train_game(
    game: str,
    memory: str,
    seed: int,
    folder: Path,
    *,
    learner: str = "ppo",
    steps: int = STEPS,
    every: int = 100_000,
    device: str = "auto",
) -> float:
    """Train an agent, or go on with its training, and return its final reward per episode. That is
    the mean over the last tenth of its time steps, NaN if no episode ended there.

    Parameters
    ----------
    memory : its name, or "LSTM" for PPO with one.
    folder : where the network and the curve are; what has finished there is not run again.
    every : steps after which the network is written.
    """
    result = folder / "result.json"
    if result.exists():
        return float(json.loads(result.read_text())["final"])
    kind, name = ("lstm-ppo", "none") if memory == "LSTM" else (learner, memory)
    agent = make_agent(kind, game, name, seed, device)
    network = folder / "network.zip"
    if network.exists():
        saved = need("stable_baselines3.common.save_util", "deep-peers")
        agent.num_timesteps = saved.load_from_zip_file(network)[0]["num_timesteps"]
        agent.set_parameters(network)
    kept = agent.num_timesteps
    logger = need("stable_baselines3.common.logger", "deep-peers")
    agent.set_logger(logger.configure(str(folder / f"from-{kept}"), ["csv"]))

    def keep(*_: Any) -> bool:
        nonlocal kept
        if agent.num_timesteps >= kept + every:
            agent.save(network)
            kept = agent.num_timesteps
        return True

    try:
        agent.learn(
            steps - agent.num_timesteps,
            keep,
            log_interval=1 if kind != "ddqn" else 4,
            reset_num_timesteps=False,
        )
    finally:  # after Ctrl-C too
        agent.save(network)
        agent.logger.close()
        agent.get_env().close()
    final = final_reward(folder, steps)
    result.write_text(json.dumps({"final": final, "steps": agent.num_timesteps}))
    return final


def final_reward(folder: Path, steps: int) -> float:
    """The mean reward per episode over the last tenth of the steps, from the curves in a folder."""
    found = []
    for path in folder.glob("from-*/progress.csv"):
        with path.open(newline="") as file:
            for row in csv.DictReader(file):
                reward, at = row.get("rollout/ep_rew_mean"), row.get("time/total_timesteps")
                if reward and at and float(at) > 0.9 * steps:
                    found.append(float(reward))
    return sum(found) / len(found) if found else math.nan
