"""Agents of stable-baselines3 beside a memory: widely used implementations of the paper's learners.

    make_ppo         PPO, feed-forward
    make_lstm_ppo    PPO with an LSTM (sb3-contrib)
    make_double_dqn  deep Q-learning with replay, made double:
                       y = r + gamma q_target(o', argmax_b q(o', b))       y = r after the end

They take the records of `workbench.deep.settings`, and so the same settings as ours: the widths,
steps, minibatches and epochs of the paper, tanh, one trunk for policy and value.

Needs the extra `deep-peers`. Threads are torch's own to choose.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import Any

from workbench.core.errors import WorkbenchError
from workbench.deep.settings import DDQN, PPO, RecurrentPPO
from workbench.extras import need

_EXTRA = "deep-peers"


def _common(env: Any, learner: PPO, seed: int, device: str) -> dict[str, Any]:
    """The arguments that both kinds of PPO take."""
    if learner.environments != env.num_envs:
        raise WorkbenchError(
            f"the settings are for {learner.environments} environments, not {env.num_envs}"
        )
    return {
        "env": env,
        "learning_rate": learner.learning_rate,
        "n_steps": learner.n,
        "batch_size": learner.quantum // learner.minibatches,
        "n_epochs": learner.epochs,
        "gamma": 0.99 if learner.gamma is None else learner.gamma,
        "gae_lambda": learner.lam,
        "clip_range": learner.clip,
        "clip_range_vf": learner.clip,
        "ent_coef": learner.entropy,
        "vf_coef": learner.value_weight,
        "max_grad_norm": learner.max_gradient,
        "seed": seed,
        "device": device,
    }


def _trunk(hidden: tuple[int, ...]) -> dict[str, Any]:
    """One trunk for policy and value: a features extractor, and heads behind it."""
    return {
        "features_extractor_class": _dense_extractor(),
        "features_extractor_kwargs": {"hidden": hidden},
        "net_arch": [],
    }


@cache
def _dense_extractor() -> Any:
    torch = need("torch", _EXTRA)
    layers = need("stable_baselines3.common.torch_layers", _EXTRA)

    class DenseExtractor(layers.BaseFeaturesExtractor):  # type: ignore[name-defined]
        """Tanh layers on a vector."""

        def __init__(self, observation_space: Any, hidden: tuple[int, ...]):
            super().__init__(observation_space, hidden[-1])
            widths = (int(observation_space.shape[0]), *hidden)
            parts: list[Any] = []
            for before, after in pairwise(widths):
                parts += [torch.nn.Linear(before, after), torch.nn.Tanh()]
            self.layers = torch.nn.Sequential(*parts)

        def forward(self, seen: Any) -> Any:
            return self.layers(seen)

    return DenseExtractor


def make_ppo(
    env: Any, learner: PPO, seed: int = 0, device: str = "cpu", policy: dict[str, Any] | None = None
) -> Any:
    """PPO of stable-baselines3.

    Parameters
    ----------
    env : a vectorised environment, as many copies as the settings say.
    policy : arguments of a policy for pictures; None for tanh layers on vectors.
    """
    sb3 = need("stable_baselines3", _EXTRA)
    kind = "MlpPolicy" if policy is None else "MultiInputPolicy"
    chosen = _trunk(learner.hidden) if policy is None else policy
    return sb3.PPO(kind, **_common(env, learner, seed, device), policy_kwargs=chosen)


def make_lstm_ppo(
    env: Any,
    learner: RecurrentPPO,
    seed: int = 0,
    device: str = "cpu",
    policy: dict[str, Any] | None = None,
) -> Any:
    """PPO with an LSTM of sb3-contrib, one for policy and value. Arguments as in `make_ppo`."""
    contrib = need("sb3_contrib", _EXTRA)
    kind = "MlpLstmPolicy" if policy is None else "MultiInputLstmPolicy"
    chosen = {
        **(_trunk(learner.hidden) if policy is None else policy),
        "lstm_hidden_size": learner.cells,
        "shared_lstm": True,
        "enable_critic_lstm": False,
    }
    return contrib.RecurrentPPO(kind, **_common(env, learner, seed, device), policy_kwargs=chosen)


@cache
def double_dqn_class() -> Any:
    """Deep Q-learning of stable-baselines3 with the targets of van Hasselt et al. (2016)."""
    torch = need("torch", _EXTRA)
    sb3 = need("stable_baselines3", _EXTRA)

    class DoubleDQN(sb3.DQN):  # type: ignore[name-defined]
        """DQN whose next action is chosen by the learned network and judged by the other."""

        def targets(self, drawn: Any) -> Any:
            """y for what was drawn from the replay memory."""
            with torch.no_grad():
                b = self.q_net(drawn.next_observations).argmax(dim=1, keepdim=True)
                judged = self.q_net_target(drawn.next_observations).gather(1, b)
                return drawn.rewards + self.gamma * (1 - drawn.dones) * judged

        def train(self, gradient_steps: int, batch_size: int = 32) -> None:
            self.policy.set_training_mode(True)
            self._update_learning_rate(self.policy.optimizer)
            for _ in range(gradient_steps):
                drawn = self.replay_buffer.sample(batch_size, env=self._vec_normalize_env)
                q = self.q_net(drawn.observations).gather(1, drawn.actions.long())
                loss = torch.nn.functional.smooth_l1_loss(q, self.targets(drawn))
                self.policy.optimizer.zero_grad()
                loss.backward()
                torch.nn.utils.clip_grad_norm_(self.policy.parameters(), self.max_grad_norm)
                self.policy.optimizer.step()
            self._n_updates += gradient_steps
            self.logger.record("train/n_updates", self._n_updates, exclude="tensorboard")
            self.logger.record("train/loss", float(loss.detach()))

    return DoubleDQN


def make_double_dqn(
    env: Any,
    learner: DDQN,
    seed: int = 0,
    device: str = "cpu",
    policy: dict[str, Any] | None = None,
    **others: Any,
) -> Any:
    """Double deep Q-learning. Arguments as in `make_ppo`, and others of stable-baselines3's DQN."""
    chosen = _trunk(learner.hidden) if policy is None else policy
    given: dict[str, Any] = {
        "learning_rate": learner.learning_rate,
        "buffer_size": learner.capacity,
        "learning_starts": learner.learn_after,
        "batch_size": learner.batch,
        "gamma": 0.99 if learner.gamma is None else learner.gamma,
        "train_freq": 1,
        "target_update_interval": learner.target_every,
        "exploration_initial_eps": learner.epsilon,
        "exploration_final_eps": learner.epsilon,
        "max_grad_norm": learner.max_gradient,
        "policy_kwargs": chosen,
        "seed": seed,
        "device": device,
    }
    kind = "MlpPolicy" if policy is None else "MultiInputPolicy"
    return double_dqn_class()(kind, env, **given | others)
