"""Runs of neural learners: what they leave behind, how they stop, what they solve."""

from dataclasses import replace

import numpy as np
import pytest
from toy_tasks import small_task

jax = pytest.importorskip("jax", reason="jax is not installed: pip install -e '.[deep]'")
pytest.importorskip("optax", reason="optax is not installed: pip install -e '.[deep]'")

from pomdps import gravity, recall4, t_maze  # noqa: E402
from workbench import (  # noqa: E402
    DDQN,
    PPO,
    MemoryPair,
    RecurrentPPO,
    augment,
    best_memoryless,
    evaluate,
    learn,
    load_run,
    shortcuts,
)
from workbench.core.errors import TooLarge, WorkbenchError, WrongType  # noqa: E402
from workbench.core.learners import OptionError  # noqa: E402
from workbench.deep import train as training  # noqa: E402
from workbench.deep.closed_loop import close_loop  # noqa: E402
from workbench.deep.neural_run import NeuralRun, pays_success_only  # noqa: E402
from workbench.deep.train import Diverged, Stopped  # noqa: E402
from workbench.executors.executor import Cancelled, own  # noqa: E402
from workbench.learning import sampling  # noqa: E402
from workbench.learning.run import Run  # noqa: E402

SMALL = PPO(
    hidden=(16,), n=16, environments=16, minibatches=2, epochs=2, learning_rate=5e-3, gamma=1
)
SMALL_Q = DDQN(hidden=(16,), environments=16, capacity=3200, batch=32, learning_rate=5e-3)
SMALL_LSTM = RecurrentPPO(
    hidden=(8,),
    cells=16,
    n=16,
    environments=16,
    minibatches=2,
    epochs=2,
    learning_rate=1e-2,
    gamma=1,
)

GUESS = small_task(
    "remember the colour",
    lambda s, a: {(s[1:], 0): 1} if len(s) > 1 else {("end", int(s == a[0])): 1},
    {"ll": 0.5, "rr": 0.5},
    A=["left", "right"],
    omega=lambda s: {s[0] if len(s) > 1 else "end" if s == "end" else "choose": 1},
)
"""Two steps: left or right is shown first and has to be chosen then."""


@pytest.fixture(scope="module")
def product():
    return augment(GUESS, "O1")


@pytest.fixture(scope="module")
def run(product):
    return learn(product, SMALL, steps=20_000, seeds=2, every=5_000)


def test_ppo_solves_a_two_step_task_with_one_remembered_observation(run, product):
    assert isinstance(run, Run)
    assert run.final_values().tolist() == [1.0, 1.0]
    pi = run.policy(1)
    assert float(evaluate(product, pi).value) == 1.0
    assert pi[(("l",), "choose"), ("left", "keep")] + pi[(("l",), "choose"), ("left", "push")] == 1
    shortcuts(product, run.softmax(0))  # it is a policy like any other
    assert float(evaluate(product, run.softmax(0)).value) > 0.9
    assert (run.late() > 45).all()  # a reward every two steps
    assert (run.early() < run.late()).all()


def test_a_run_counts_whole_updates(run):
    assert (run.steps, run.every) == (20_224, 5_120)  # updates of 256 steps
    assert run.ends.tolist() == [5_120, 10_240, 15_360, 20_224]
    assert run.episodes.sum(axis=1).tolist() == [10_112, 10_112]
    assert run.values().shape == (2, 4)
    assert run.values()[:, -1].tolist() == run.final_values().tolist()


def test_a_seed_gives_a_run_to_the_last_bit_whatever_runs_beside_it(run, product):
    alone = learn(product, SMALL, steps=20_000, seeds=[1], every=5_000)
    assert np.array_equal(alone.tables["h"][0], run.tables["h"][1])
    assert np.array_equal(alone.rewards[0], run.rewards[1])
    assert not np.array_equal(run.tables["h"][0], run.tables["h"][1])
    longer = learn(product, SMALL, steps=20_000, seeds=[1], every=20_000)
    assert np.array_equal(longer.tables["h"][0], run.tables["h"][1])  # nor how it is cut


def test_a_run_ends_with_its_block_where_nobody_waits_for_it(product, monkeypatch):
    told = []

    def beat(done):
        told.append(done)
        raise Cancelled

    monkeypatch.setattr(own, "beat", beat, raising=False)  # as in a thread of an executor
    with pytest.raises(Cancelled):
        learn(product, SMALL, steps=20_480, seeds=[1], every=5_120)
    assert told == [5_120]


def test_the_network_of_a_pair_is_followed_where_it_gets_to(run, product):
    apart = learn(MemoryPair(GUESS, "O1"), SMALL, steps=20_000, seeds=[1], every=5_000)
    assert np.array_equal(apart.rewards[0], run.rewards[1])  # the same run
    assert apart.P is None
    assert apart.tables == {}
    assert apart.final_values().tolist() == [1.0]
    assert apart.final_values(gamma=0.5).tolist() == [0.5]
    loop = run.closed_loop(1)
    assert loop.value == 1.0
    frame = loop.to_frame()
    assert frame["share"].sum() == pytest.approx(1)
    assert set(frame[frame["changes"]]["observation"]) >= {"l", "r"}  # it stores what it saw
    assert loop.average_reward == pytest.approx(0.5)
    with pytest.raises(WorkbenchError, match="does not hold the POMDP"):
        apart.policy(1)


def test_some_seeds_of_a_run(run):
    assert run.only([1]).choose(1, np.zeros((1, 2), np.int32)).shape == (1,)
    assert len(run.only([1]).networks) == 1
    assert type(run.curves()) is Run
    with pytest.raises(WorkbenchError, match="no seed 7"):
        run.choose(7, np.zeros((1, 2), np.int32))


def test_a_run_goes_on_from_a_file_as_if_it_had_not_stopped(run, product, tmp_path):
    half = learn(product, SMALL, steps=10_240, seeds=2, every=5_000)
    kept = load_run(half.save(tmp_path / "half.npz"), product)
    assert np.array_equal(kept.tables["h"], half.tables["h"])
    assert np.array_equal(kept.rewards, half.rewards)
    whole = kept.resume(20_000)
    assert np.array_equal(whole.tables["h"], run.tables["h"])
    assert np.array_equal(whole.rewards, run.rewards)
    assert whole.ends.tolist() == run.ends.tolist()
    with pytest.raises(WorkbenchError, match=r"ends in .npz, not 'half.txt'"):
        half.save(tmp_path / "half.txt")
    with pytest.raises(WorkbenchError, match="is a run on remember the colour×O1, not on"):
        load_run(tmp_path / "half.npz", augment(GUESS, "B1"))
    with pytest.raises(OptionError, match="has to end with a whole block"):
        whole.resume(30_000)


@pytest.mark.parametrize("learner", [SMALL_Q, pytest.param(SMALL_LSTM, marks=pytest.mark.slow)])
def test_other_learners_go_on_from_files_too(learner, product, tmp_path):
    half = learn(product, learner, steps=2_048, seeds=[3], every=1_024)
    whole = learn(product, learner, steps=4_096, seeds=[3], every=1_024)
    found = load_run(half.save(tmp_path / "run.npz"), product).resume(4_096)
    assert np.array_equal(found.rewards, whole.rewards)


def door_and_yard():
    """Going in succeeds with probability 1/4; else one is in the yard for ever."""
    return small_task(
        "door",
        lambda s, a: (
            {("end", 1): 0.25, ("yard", 0): 0.75} if a == "in" and s == "hall" else {("yard", 0): 1}
        ),
        "hall",
        A=["in", "round"],
        omega=lambda s: {s: 1},
        gamma=0.9,
    )


def test_success_counts_policies_that_never_end_as_failures():
    """Going round in circles is no success, and no error."""
    P = door_and_yard()
    pair = MemoryPair(P.with_gamma(1), "none")
    assert close_loop(pair, lambda views: np.zeros(len(views), int)).value == 0.25
    assert close_loop(pair, lambda views: np.ones(len(views), int)).value == 0
    tried = close_loop(pair, lambda views: np.zeros(len(views), int))
    assert tried.reward_within(1) == tried.reward_within(9) == 0.25
    assert pays_success_only(P)
    assert not pays_success_only(recall4())  # it pays in fractions


def test_what_a_policy_writes_and_when():
    P = door_and_yard()
    pushing = close_loop(MemoryPair(P, "O1"), lambda views: np.ones(len(views), int))
    # the hall at step 1, the yard at step 2 if it is reached, then the yard again and again
    assert pushing.writes_by_age(5) == [1, 0.5, 0]
    assert pushing.stored_within(5) == {"hall": 4 / 7, "yard": 3 / 7}
    keeping = close_loop(MemoryPair(P, "O1"), lambda views: np.zeros(len(views), int))
    assert keeping.writes_by_age(3) == [0, 0]
    assert keeping.stored_within(3) == {}
    bit = close_loop(MemoryPair(P, "B1"), lambda views: np.ones(len(views), int))
    assert bit.writes_by_age(3) == [1, 0]
    assert bit.stored_within(3) == {"1": 1}


def test_ctrl_c_leaves_a_whole_shorter_run(product):
    told = []

    def stop(done, total):
        told.append(done)
        if len(told) == 5:  # the first seed in the third block
            raise KeyboardInterrupt

    with pytest.raises(Stopped, match="stopped after 10,240 steps") as stopped:
        learn(product, SMALL, steps=20_000, seeds=2, every=5_000, progress=stop)
    kept = stopped.value.run
    assert isinstance(kept, NeuralRun)
    assert kept.rewards.shape == (2, 2)
    whole = learn(product, SMALL, steps=10_240, seeds=2, every=5_000)
    assert np.array_equal(kept.tables["h"], whole.tables["h"])


def test_ctrl_c_in_the_first_block_stops_and_leaves_nothing(product):
    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as stopped:
        learn(product, SMALL, steps=20_000, seeds=2, every=5_000, progress=stop)
    assert not isinstance(stopped.value, Stopped)


def test_weights_that_are_not_finite_stop_the_run_and_what_was_there_is_kept(product, monkeypatch):
    updates = training.run_updates
    calls = []

    def spoiled(*arguments):
        calls.append(1)
        state, r, over, finite = updates(*arguments)
        return state, r, over, finite if len(calls) < 4 else np.bool_(False)

    monkeypatch.setattr(training, "run_updates", spoiled)
    with pytest.raises(
        Diverged, match=r"seed 0, after 10,240 steps.*smaller learning_rate"
    ) as told:
        learn(product, SMALL, steps=20_000, seeds=1, every=5_000)
    assert told.value.run.steps == 10_240
    assert np.isfinite(told.value.run.tables["h"]).all()


def test_nan_later_in_training_stops_the_run_and_what_was_there_is_kept():
    """DDQN begins to learn after 1,000 steps; a step as large as this is finite once, not twice."""
    wild, E = DDQN.tuned(hidden=(8,), learning_rate=1e38), augment(recall4(), "OA1")
    with pytest.raises(Diverged, match=r"DDQN on .*seed 0, after 1,008 steps.*is kept") as told:
        learn(E, wild, steps=5_040, seeds=2, every=336)
    kept = told.value.run
    assert (kept.steps, kept.seeds, kept.rewards.shape) == (1_008, (0, 1), (2, 3))
    whole = learn(E, wild, steps=1_008, seeds=2, every=336)
    assert np.array_equal(kept.tables["q"], whole.tables["q"])
    assert np.array_equal(kept.rewards, whole.rewards)
    assert np.isfinite(kept.final_values()).all()


@pytest.mark.slow
def test_nan_is_noticed(product):
    wild = replace(SMALL, learning_rate=1e38, max_gradient=1e30)
    with pytest.raises(Diverged, match="no longer finite") as told:
        learn(product, wild, steps=2_000, seeds=1)
    assert told.value.run is None or np.isfinite(told.value.run.tables["h"]).all()


def test_ddqn_solves_the_same_task(product):
    run = learn(product, SMALL_Q, steps=16_000, seeds=2, every=4_000)
    assert run.final_values().tolist() == [1.0, 1.0]
    assert run.tables["q"].shape == (2, len(product.O), 4)
    best = run.tables["q"][0].max(axis=1)[product.O.index((("l",), "choose"))]
    assert best == pytest.approx(1.0, abs=0.1)


def test_a_network_that_needs_the_history_has_no_policy_of_what_it_sees(run):
    assert training.ALGORITHMS[RecurrentPPO].heads == ()
    blind = replace(run, says=None, tables={}, P=None)  # what a run without heads holds
    assert np.isnan(blind.final_values()).all()
    with pytest.raises(WorkbenchError, match="depends on the whole history"):
        blind.closed_loop(0)


@pytest.mark.slow
def test_an_lstm_solves_it_without_a_memory_and_has_no_policy_of_what_it_sees():
    run = learn(GUESS, SMALL_LSTM, steps=20_000, seeds=1, every=5_000)
    assert run.late()[0] > 45
    assert run.tables == {}
    assert np.isnan(run.final_values()).all()
    with pytest.raises(WorkbenchError, match="depends on the whole history"):
        run.closed_loop(0)
    blind = learn(augment(GUESS, "none"), SMALL, steps=20_000, seeds=1)
    assert blind.final_values()[0] == pytest.approx(0.5)


def test_networks_too_large_for_memory_are_refused_with_their_size(product, monkeypatch):
    monkeypatch.setattr(sampling, "free_bytes", lambda: 10**9)
    with pytest.raises(TooLarge, match=r"needs 3\.2 GB, most of it for the networks of 2 seeds"):
        learn(product, replace(SMALL, hidden=(10_000, 10_000)), steps=1000, seeds=2)


def test_updates_too_large_for_memory_are_refused_with_their_size(product, monkeypatch):
    monkeypatch.setattr(sampling, "free_bytes", lambda: 10**9)
    many = replace(SMALL, environments=2**20)
    with pytest.raises(TooLarge, match=r"most of it for an update of 16,777,216 steps \(2\.0 GB\)"):
        learn(product, many, steps=1000, seeds=2)
    big = replace(SMALL_Q, batch=2**24)
    with pytest.raises(TooLarge, match=r"most of it for an update of 16 steps \(2\.1 GB\)"):
        learn(product, big, steps=1000, seeds=2)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: learn(GUESS, PPO(), steps=10, every=20, seeds=1), OptionError, "every must be"),
        (lambda: learn("recall", PPO(), steps=10, seeds=1), WrongType, "a POMDP or a MemoryPair"),
    ],
)
def test_bad_runs_are_refused(make, error, message):
    with pytest.raises(error) as told:
        make()
    assert message in str(told.value)


# ------------------------------------------------------------------ longer ones


BANDIT = small_task(
    "bandit",
    lambda s, a: {("end", {"left": 0.2, "middle": 1, "right": 0.5}[a]): 1},
    "arms",
    A=["left", "middle", "right"],
    omega=lambda s: {s: 1},
)


@pytest.mark.slow
@pytest.mark.parametrize("learner", [PPO.tuned(), DDQN.tuned(), RecurrentPPO.tuned()])
def test_a_bandit_is_solved_by_each_learner(learner):
    run = learn(BANDIT, learner, steps=30_000, seeds=2)
    assert (run.late() > 94).all()  # DDQN explores a tenth of the time
    if not isinstance(learner, RecurrentPPO):
        assert run.final_values().tolist() == [1, 1]


@pytest.mark.slow
@pytest.mark.parametrize("learner", [PPO.tuned(), DDQN.tuned()])
def test_four_action_recall_is_solved_with_oa1(learner):
    run = learn(augment(recall4(), "OA1"), learner, steps=30_000, seeds=2)
    assert run.final_values().tolist() == [1, 1]


@pytest.mark.slow
def test_ppo_finds_the_best_policy_of_gravity_with_one_observation():
    E = augment(gravity(), "O1")
    run = learn(E, PPO.tuned(), steps=400_000, seeds=3)
    assert np.median(run.final_values()) == pytest.approx(0.5688, abs=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("memory", ["none", "O1", "lstm"])
def test_the_t_maze_is_solved_by_an_lstm_and_by_ppo_with_o1_and_not_without_memory(memory):
    P = t_maze()
    if memory == "lstm":
        run = learn(P, RecurrentPPO.tuned(), steps=600_000, seeds=1)
    else:
        run = learn(augment(P, memory), PPO.tuned(), steps=600_000, seeds=1)
    best = best_memoryless(augment(P, "O1"))
    pace = 100 * float(evaluate(augment(P, "O1"), best.policy).average_reward)
    assert (run.late()[0] > 0.85 * pace) == (memory != "none")
    if memory == "O1":
        assert run.final_values()[0] == pytest.approx(float(best.value), abs=1e-6)
