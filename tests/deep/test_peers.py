"""Agents of stable-baselines3 beside the paper's memories, on exact models and on Atari."""

import json
import math
import sys
from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest

from workbench.extras import MissingExtra


def test_a_missing_peer_is_named(monkeypatch):
    pytest.importorskip("gymnasium")
    from workbench import PPO
    from workbench.interop.gym.peers import make_ppo

    monkeypatch.setitem(sys.modules, "stable_baselines3", None)
    with pytest.raises(MissingExtra, match=r"stable_baselines3 is not installed.*\[deep-peers\]"):
        make_ppo(None, PPO())


sb3 = pytest.importorskip("stable_baselines3", reason="pip install -e '.[deep-peers]'")
pytest.importorskip("sb3_contrib", reason="pip install -e '.[deep-peers]'")
torch = pytest.importorskip("torch", reason="pip install -e '.[deep-peers]'")

from stable_baselines3.common.vec_env import DummyVecEnv  # noqa: E402

from pomdps import recall4  # noqa: E402
from workbench import DDQN, PPO, MemoryWrapper, RecurrentPPO, to_gymnasium  # noqa: E402
from workbench.core.errors import WorkbenchError  # noqa: E402
from workbench.interop.gym import atari  # noqa: E402
from workbench.interop.gym.peers import make_double_dqn, make_lstm_ppo, make_ppo  # noqa: E402

SIZES = {"hidden": (8,), "n": 16, "environments": 2, "minibatches": 2, "epochs": 1}


def copies(memory, count):
    return DummyVecEnv([lambda: MemoryWrapper(to_gymnasium(recall4()), memory, flat=True)] * count)


@pytest.mark.parametrize("memory", ["none", "K1", "B1", "O1", "OA1"])
def test_ppo_trains_with_each_memory_and_our_settings(memory):
    agent = make_ppo(copies(memory, 2), PPO(**SIZES, clip=0.1))
    before = [x.clone() for x in agent.policy.parameters()]
    agent.learn(32)
    assert (agent.num_timesteps, agent.n_steps, agent.batch_size) == (32, 16, 16)
    assert agent.clip_range(1.0) == 0.1
    moved = [bool((x != y).any()) for x, y in zip(before, agent.policy.parameters(), strict=True)]
    assert sum(moved) >= len(moved) // 2
    layers = [x for x in agent.policy.features_extractor.layers if isinstance(x, torch.nn.Linear)]
    assert [x.out_features for x in layers] == [8]
    assert isinstance(agent.policy.features_extractor.layers[1], torch.nn.Tanh)


def test_the_lstm_s_cells_are_those_of_the_settings():
    agent = make_lstm_ppo(copies("none", 2), RecurrentPPO(**SIZES, cells=12))
    agent.learn(32)
    assert agent.policy.lstm_actor.hidden_size == 12
    with pytest.raises(WorkbenchError, match="settings are for 2 environments, not 3"):
        make_lstm_ppo(copies("none", 3), RecurrentPPO(**SIZES))


def test_the_targets_are_those_of_double_q_learning(monkeypatch):
    agent = make_double_dqn(copies("B1", 1), DDQN(hidden=(8,), learn_after=4, gamma=0.5))
    q = torch.tensor([[1.0, 3.0], [5.0, 0.0]])
    judged = torch.tensor([[10.0, 20.0], [7.0, 8.0]])
    monkeypatch.setattr(agent, "q_net", lambda seen: q)
    monkeypatch.setattr(agent, "q_net_target", lambda seen: judged)

    class Drawn:
        next_observations = None
        rewards = torch.tensor([[0.5], [2.0]])
        dones = torch.tensor([[0.0], [1.0]])

    # greedy in q is 1, whose other value is 20; the plain maximum would give the same 20
    assert agent.targets(Drawn).tolist() == [[0.5 + 10.0], [2.0]]
    judged[0] = torch.tensor([30.0, 20.0])  # here the plain maximum would be 30
    assert agent.targets(Drawn).tolist() == [[0.5 + 10.0], [2.0]]


def test_double_dqn_learns_a_bandit():
    """The better of two arms, whatever the seed: the loss goes down and q finds the rewards."""
    import gymnasium

    class Arms(gymnasium.Env):
        observation_space = gymnasium.spaces.Box(0, 1, (1,), np.float32)
        action_space = gymnasium.spaces.Discrete(2)

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            return np.ones(1, np.float32), {}

        def step(self, action):
            return np.ones(1, np.float32), float(action), True, False, {}

    settings = DDQN(hidden=(16,), learning_rate=1e-2, learn_after=32, epsilon=0.5, batch=32)
    agent = make_double_dqn(Arms(), settings)
    agent.learn(300)
    q = agent.q_net(torch.ones(1, 1)).detach().numpy()
    assert q[0] == pytest.approx([0, 1], abs=0.1)


# ------------------------------------------------------------------ Atari

needs_ale = pytest.mark.skipif(
    find_spec("ale_py") is None or find_spec("cv2") is None,
    reason="pip install -e '.[deep-peers]'",
)


@needs_ale
@pytest.mark.parametrize("game", atari.GAMES)
def test_a_game_shows_one_grey_frame_and_sticks_to_actions(game):
    env = atari.make_game(game, "O3")
    seen, _ = env.reset(seed=0)
    assert seen["frames"].shape == (4, 84, 84)
    assert seen["frames"][:3].max() == 0  # nothing is remembered yet
    assert seen["frames"][3].max() > 0
    after, r, *_ = env.step(1)  # the first action, and push
    assert (after["frames"][2] == seen["frames"][3]).all()
    assert after["rest"].tolist() == [0, 0, 1]
    assert r in (-1.0, 0.0, 1.0)
    assert env.unwrapped.ale.getFloat("repeat_action_probability") == 0.25
    env.close()


@needs_ale
def test_games_and_learners_that_are_not_there_are_named():
    with pytest.raises(WorkbenchError, match="the games are Pong and Seaquest, not 'Chess'"):
        atari.make_game("Chess")
    with pytest.raises(WorkbenchError, match="the learners are ppo, lstm-ppo, ddqn"):
        atari.make_agent("sarsa", "Pong")
    with pytest.raises(WorkbenchError, match="no memory besides its own, but O3"):
        atari.make_agent("lstm-ppo", "Pong", "O3")


@needs_ale
@pytest.mark.slow
@pytest.mark.parametrize(
    ("game", "learner", "memory"),
    [
        ("Pong", "ppo", "O3"),
        ("Seaquest", "ppo", "OA3"),
        ("Pong", "ppo", "LSTM"),
        ("Seaquest", "ddqn", "K3"),
    ],
)
def test_a_few_thousand_steps_of_atari(game, learner, memory, tmp_path, monkeypatch):
    """That it runs, and what it leaves; learning is not claimed."""
    if learner == "ddqn":  # else it only fills its replay memory
        monkeypatch.setattr(
            atari, "ATARI_DDQN", replace(atari.ATARI_DDQN, learn_after=100, capacity=2000)
        )
    torch.set_num_threads(1)
    monkeypatch.setattr(atari, "final_reward", lambda folder, steps: 0.5)  # no episode ends so soon
    options = {"learner": learner, "every": 512, "device": "cpu"}
    atari.train_game(game, memory, 3, tmp_path / "half", steps=1024, **options)
    (tmp_path / "half" / "result.json").unlink()  # as if it had been stopped there
    assert atari.train_game(game, memory, 3, tmp_path / "half", steps=2048, **options) == 0.5
    assert json.loads((tmp_path / "half" / "result.json").read_text())["steps"] == 2048
    curves = [path.parent.name for path in (tmp_path / "half").glob("*/progress.csv")]
    assert sorted(curves) == ["from-0", "from-1024"]  # it went on, and did not begin again
    monkeypatch.setattr(atari, "make_agent", None)
    assert atari.train_game(game, memory, 3, tmp_path / "half", steps=2048, **options) == 0.5


def test_the_final_reward_is_that_of_the_last_tenth(tmp_path):
    for at, rows in (("from-0", "100,-20\n800,3\n"), ("from-900", "900,4\n950,5\n1000,7\n")):
        (tmp_path / at).mkdir()
        head = "time/total_timesteps,rollout/ep_rew_mean\n"
        (tmp_path / at / "progress.csv").write_text(head + rows)
    assert atari.final_reward(tmp_path, 1000) == 6.0
    assert math.isnan(atari.final_reward(tmp_path, 2000))
