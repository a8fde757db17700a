"""`learn` and `Run`: a seed is a run, blocks and pauses do not matter, bad input is refused in
words."""

import dataclasses
import pickle
import threading
from fractions import Fraction

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import pomdps

from pomdps import gravity, recall, recall4
from workbench import Policy, augment, evaluate, uniform
from workbench.core.errors import (
    NotExact,
    PolicyError,
    TooLarge,
    UnknownLabel,
    WorkbenchError,
    WrongType,
)
from workbench.core.learners import OptionError, QLearning, Sarsa
from workbench.core.steps import decreasing, per_visit
from workbench.learning import LEARNERS, learner_by_name, sampling
from workbench.learning import learn as runner
from workbench.learning.actor_critic import ActorCritic
from workbench.learning.learn import learn
from workbench.learning.run import Run
from workbench.learning.textbook_learners import (
    MonteCarlo,
    Prediction,
    SoftQLearning,
    SoftSarsa,
)

ALL = [
    QLearning(),
    SoftQLearning(),
    SoftSarsa(),
    MonteCarlo(max_episode_steps=100),
    Sarsa(lam=0.7),
    ActorCritic(n=4),
]
RECALL = augment(recall(), "OA1")


def same(one, other, rows=slice(None)):
    return (
        np.array_equal(one.rewards[rows], other.rewards)
        and np.array_equal(one.episodes[rows], other.episodes)
        and (one.actions is None or np.array_equal(one.actions[rows], other.actions))
        and all(np.array_equal(one.tables[name][rows], other.tables[name]) for name in other.tables)
    )


# ---------------------------------------------------------------------- a seed is a run


@pytest.mark.parametrize("learner", ALL, ids=lambda L: L.kind)
def test_a_seed_gives_the_same_run_alone_or_in_a_batch_on_one_thread_or_many(learner):
    E = augment(gravity(), "B1")
    batch = learn(E, learner, steps=4000, seeds=6, every=500, threads=4)
    assert same(batch, learn(E, learner, steps=4000, seeds=6, every=500, threads=1))
    assert same(batch, learn(E, learner, steps=4000, seeds=[4, 2], every=500), rows=[4, 2])
    assert not np.array_equal(
        batch.tables[next(iter(batch.tables))][0], batch.tables[next(iter(batch.tables))][1]
    )


@pytest.mark.parametrize("learner", ALL, ids=lambda L: L.kind)
def test_where_a_run_is_paused_does_not_matter(learner, monkeypatch):
    E = augment(gravity(), "B1")
    whole = learn(E, learner, steps=2000, seeds=2, every=300)
    monkeypatch.setattr(runner, "_FIRST_PIECE", 7)
    monkeypatch.setattr(runner, "_SECONDS_A_PIECE", 0)
    assert same(whole, learn(E, learner, steps=2000, seeds=2, every=300))


def test_rewards_that_are_no_integers_are_summed_in_the_same_order_however_a_run_is_paused(
    monkeypatch,
):
    P = recall4().scale_rewards(0.1)
    whole = learn(P, QLearning(epsilon=1), steps=5000, seeds=1, every=2500)
    monkeypatch.setattr(runner, "_FIRST_PIECE", 13)
    monkeypatch.setattr(runner, "_SECONDS_A_PIECE", 0)
    assert same(whole, learn(P, QLearning(epsilon=1), steps=5000, seeds=1, every=2500))


@pytest.mark.parametrize("learner", ALL, ids=lambda L: L.kind)
@given(every=st.integers(1, 1000))
@settings(max_examples=10)
def test_blocks_only_divide_the_reward(learner, every):
    one, many = (learn(RECALL, learner, steps=1000, seeds=2, every=n) for n in (1000, every))
    assert np.allclose(many.rewards.sum(axis=1), one.rewards[:, 0])
    assert np.array_equal(many.episodes.sum(axis=1), one.episodes[:, 0])
    assert np.array_equal(many.actions[:, -1], one.actions[:, -1])
    assert many.ends[-1] == 1000
    assert same(
        dataclasses.replace(
            one, rewards=many.rewards, episodes=many.episodes, actions=many.actions
        ),
        many,
    )


def test_an_episode_longer_than_the_room_for_it_is_kept_whole():
    """Monte Carlo without a limit on gravity wanders for thousands of steps; the room for an
    episode begins at 4,096."""
    run = learn(gravity(), MonteCarlo(), steps=60_000, seeds=3, every=60_000)
    assert run.episodes.sum(axis=1).min() < 10
    cut = learn(
        gravity(), MonteCarlo(max_episode_steps=60_000), steps=60_000, seeds=3, every=60_000
    )
    assert np.array_equal(run.rewards, cut.rewards)


def test_an_episode_is_cut_off_where_it_is_told_to():
    run = learn(recall(), QLearning(max_episode_steps=2), steps=1000, seeds=1, every=100)
    assert np.all(run.episodes == 50)
    assert run.rewards.sum() == 0


# ---------------------------------------------------------------------- what a run holds


def test_greedy_policies_have_their_exact_values():
    run = learn(RECALL, QLearning(), steps=50_000, seeds=3, every=10_000)
    values = run.values(gamma=1)
    assert values.shape == (3, 5)
    for seed in run.seeds:
        for block in (0, -1):
            exact = evaluate(RECALL.with_gamma(1), run.policy(seed, block)).value
            assert values[seed, block] == pytest.approx(float(exact), abs=1e-12)
        assert np.array_equal(run.policy(seed, -1).actions, run.policy(seed).actions)
    assert np.array_equal(run.final_values(), run.values()[:, -1])


def test_policies_that_act_alike_where_they_get_to_are_evaluated_once():
    E = augment(recall(), "B2")
    run = learn(E, QLearning(), steps=100_000, seeds=4, every=1000)
    told = []
    run.values(progress=lambda *x: told.append(x))
    alike = set()
    for row in run.actions.reshape(-1, len(E.O)):
        visits = evaluate(E, Policy.from_actions(E, row)).reached.raw
        alike.add(tuple(np.where(visits, row, -1).tolist()))
    assert told == [(k, len(alike)) for k in range(1, len(alike) + 1)]
    assert len(alike) < len(np.unique(run.actions.reshape(-1, len(E.O)), axis=0)) < 400


@given(pomdps(most_observations=3, most_actions=3), st.integers(0, 1000))
def test_values_are_those_of_evaluate_on_random_models(P, seed):
    run = learn(P, QLearning(), steps=60, seeds=[seed], every=20)
    exact = [float(evaluate(P, run.policy(seed, block)).value) for block in range(3)]
    assert run.values()[0].tolist() == pytest.approx(exact, abs=1e-9)


def test_an_endless_greedy_policy_has_no_undiscounted_value():
    run = learn(gravity(), QLearning(), steps=1000, seeds=1, every=500)
    assert np.isnan(run.values(gamma=1)).all()
    assert np.isfinite(run.values()).all()


def test_greedy_is_of_the_table_and_of_the_preferences_of_actor_critic():
    run = learn(RECALL, QLearning(), steps=5000, seeds=1)
    assert run.policy(0).actions.tolist() == run.tables["q"][0].argmax(axis=1).tolist()
    actor = learn(RECALL, ActorCritic(), steps=5000, seeds=1)
    assert actor.policy(0).actions.tolist() == actor.tables["h"][0].argmax(axis=1).tolist()
    assert actor.softmax(0).actions.tolist() == actor.policy(0).actions.tolist()
    with pytest.raises(WorkbenchError, match="QLearning has no softmax policy"):
        learn(RECALL, QLearning(), steps=10, seeds=1).softmax(0)


def test_the_frame_is_tidy():
    run = learn(RECALL, QLearning(), steps=2500, seeds=[7, 3], every=1000)
    frame = run.to_frame(values=True)
    assert list(frame.columns) == [
        "seed",
        "block",
        "step",
        "reward",
        "per_100",
        "episodes",
        "value",
    ]
    assert frame["seed"].tolist() == [7, 7, 7, 3, 3, 3]
    assert frame["step"].tolist() == [1000, 2000, 2500] * 2
    last = frame.iloc[2]
    assert last["per_100"] == pytest.approx(100 * last["reward"] / 500)
    assert "value" not in run.to_frame()
    assert run.early().tolist() == run.per_100[:, 0].tolist()  # a tenth is one block here
    assert run.late().tolist() == run.per_100[:, -1].tolist()


def test_settings_and_seeds_are_kept_and_nothing_can_be_changed():
    run = learn(RECALL, Sarsa(lam=0.25), steps=100, seeds=2)
    assert run.learner.settings()["lam"] == 0.25
    assert run.seeds == (0, 1)
    with pytest.raises(ValueError, match="read-only"):
        run.rewards[0, 0] = 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        run.steps = 5
    assert "Sarsa(lam=0.25" in repr(run)
    assert same(run, pickle.loads(pickle.dumps(run)))


def test_a_run_without_policies_says_how_to_get_them():
    run = learn(RECALL, QLearning(), steps=100, seeds=1, policies=False)
    assert run.actions is None
    with pytest.raises(WorkbenchError, match="policies=True"):
        run.values()
    assert run.final_values().shape == (1,)


def test_the_task_can_be_learned_with_another_discount_or_exact_numbers():
    fraction, number = (
        learn(RECALL, QLearning(gamma=x), steps=500, seeds=1) for x in (Fraction(1, 2), 0.5)
    )
    assert same(fraction, number)
    assert same(learn(RECALL.with_gamma(0.5), QLearning(), steps=500, seeds=1), number)


# ---------------------------------------------------------------------- watching and stopping


def test_progress_is_told_in_the_callers_thread_and_reaches_the_end():
    told = []
    learn(
        RECALL,
        QLearning(),
        steps=1000,
        seeds=3,
        progress=lambda *x: told.append((threading.get_ident(), *x)),
    )
    assert told[-1] == (threading.get_ident(), 3000, 3000)
    assert same(
        learn(RECALL, QLearning(), steps=np.int64(1000), seeds=3),
        learn(RECALL, QLearning(), steps=1000, seeds=3),
    )


def test_a_bar_is_shown_on_the_error_stream_only_where_somebody_sees_it(capsys, monkeypatch):
    learn(RECALL, QLearning(), steps=1000, seeds=1, progress=True)
    assert capsys.readouterr() == ("", "")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr("workbench.progress.PATIENCE", 0.0)
    learn(RECALL, QLearning(), steps=1000, seeds=1, progress=True)
    shown = capsys.readouterr()
    assert "QLearning on recall×OA1" in shown.err
    assert shown.out == ""


def test_ctrl_c_stops_every_thread():
    """Otherwise this test would take hours."""

    def interrupt(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        learn(
            RECALL, QLearning(), steps=10**12, seeds=4, every=10**10, threads=2, progress=interrupt
        )
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("learn")]


# ---------------------------------------------------------------------- sizes


def test_tables_of_a_million_entries_work():
    E = augment(recall4(), "B9")
    run = learn(E, QLearning(), steps=20_000, seeds=1, every=10_000)
    assert run.tables["q"][0].size > 1_000_000
    assert run.episodes.sum() == 10_000


def test_a_table_that_does_not_fit_is_refused_with_its_size(monkeypatch):
    monkeypatch.setattr(sampling, "free_bytes", lambda: 10**6)
    E = augment(gravity(), "OA1")
    with pytest.raises(
        TooLarge, match=r"QLearning on gravity×OA1 needs 0\.0 GB.*30 seeds, 19,208 entries each"
    ):
        learn(E, QLearning(), steps=100, policies=False)
    monkeypatch.setattr(sampling, "free_bytes", lambda: 8 * 10**9)
    with pytest.raises(
        TooLarge, match=r"needs 96\.\d GB.*1,000,000 greedy policies.*but only 8\.0 GB are free"
    ):
        learn(E, QLearning(), steps=1_000_000, seeds=20, every=1)


def test_free_memory_is_known():
    assert 10**8 < sampling.free_bytes() < 10**14


# ---------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"steps": 0}, "steps must be at least 1, not 0"),
        ({"steps": 10.5}, "steps must be an integer, not 10.5"),
        ({"steps": 10, "every": 0}, "every must be at least 1, not 0"),
        ({"steps": 10, "every": 11}, "a block of 11 does not fit into 10 steps"),
        ({"steps": 10, "seeds": 0}, "seeds must be at least 1, not 0"),
        ({"steps": 10, "seeds": -3}, "seeds must be at least 1, not -3"),
        ({"steps": 10, "seeds": []}, "seeds is empty"),
        ({"steps": 10, "seeds": [1, -1]}, "a seed must be at least 0, not -1"),
        ({"steps": 10, "seeds": [1, 1]}, "seed 1 is given twice"),
        ({"steps": 10, "seeds": [2**64]}, "a seed must be below"),
        ({"steps": 10, "seeds": "ab"}, "seeds must be an integer, not 'ab'"),
        ({"steps": 10, "seeds": [0.5]}, "a seed must be an integer, not 0.5"),
        ({"steps": 10, "threads": 0}, "threads must be at least 1, not 0"),
    ],
)
def test_lengths_and_seeds_out_of_range_are_refused(options, message):
    with pytest.raises(WorkbenchError, match=message):
        learn(RECALL, QLearning(), **options)


@pytest.mark.parametrize("learner", ["qlearning", None, Policy, []])
def test_an_unknown_learner_is_refused(learner):
    with pytest.raises(WrongType, match=r"unknown learner .* choose one of QLearning\(\.\.\.\)"):
        learn(RECALL, learner, steps=10)


def test_a_learner_without_brackets_is_told_so():
    with pytest.raises(WrongType, match=r"write QLearning\(\), with brackets"):
        learn(RECALL, QLearning, steps=10)


def test_only_a_pomdp_can_be_learned():
    with pytest.raises(WrongType, match="learn needs a POMDP"):
        learn("gravity", QLearning(), steps=10)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: QLearning(epsilon=1.5), r"epsilon of QLearning must lie in \[0, 1\], not 1.5"),
        (lambda: QLearning(epsilon=float("nan")), "epsilon of QLearning must lie in"),
        (lambda: QLearning(step=0), r"step of QLearning must lie in \(0, 1\], not 0"),
        (lambda: QLearning(gamma=-0.1), "gamma of QLearning must lie in"),
        (lambda: QLearning(initial=float("inf")), "initial of QLearning must lie in"),
        (lambda: QLearning(step="0.1"), "step of QLearning is a number, not '0.1'"),
        (lambda: QLearning(step=None), "step of QLearning is a number, not None"),
        (
            lambda: MonteCarlo(max_episode_steps=0),
            "max_episode_steps of MonteCarlo must be at least 1, not 0",
        ),
        (lambda: MonteCarlo(max_episode_steps=2.5), "must be an integer, not 2.5"),
        (lambda: Sarsa(lam=2), r"lam of Sarsa must lie in \[0, 1\], not 2"),
        (
            lambda: SoftQLearning(temperature=0),
            r"temperature of SoftQLearning must lie in \(0, inf",
        ),
        (lambda: SoftSarsa(temperature=None), "temperature of SoftSarsa is a number, not None"),
        (lambda: Sarsa(trace_cutoff=-1), "trace_cutoff of Sarsa must lie in"),
        (
            lambda: learner_by_name("r-learning", rate=2),
            r"rate of RLearning must lie in \[0, 1\], not 2",
        ),
        (lambda: ActorCritic(n=0), "n of ActorCritic must be at least 1, not 0"),
        (lambda: ActorCritic(n=True), "n of ActorCritic must be an integer, not True"),
        (lambda: ActorCritic(policy_step=-1), "policy_step of ActorCritic must lie in"),
        (lambda: ActorCritic(update="late"), "update of ActorCritic must be window or batch"),
        (lambda: Prediction("uniform"), "policy of Prediction is a Policy, not 'uniform'"),
        (
            lambda: learner_by_name("sarsa(0)"),
            "unknown learner 'sarsa.0.' .*: choose one of qlearning, expected-sarsa",
        ),
        (
            lambda: learner_by_name("qlearning", lam=1),
            "qlearning has no setting 'lam'; it has epsilon, step",
        ),
    ],
)
def test_settings_out_of_range_are_refused(make, message):
    with pytest.raises(WorkbenchError, match=message):
        make()


def test_option_errors_are_workbench_errors():
    assert issubclass(OptionError, WorkbenchError)


@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner_can_be_called_by_its_name(name):
    run = learn(RECALL, learner_by_name(name), steps=50, seeds=1)
    assert run.learner == LEARNERS[name]()


def test_a_policy_of_another_task_cannot_be_predicted():
    with pytest.raises(PolicyError, match="other observations"):
        learn(RECALL, Prediction(uniform(gravity())), steps=10)


def test_a_model_with_symbols_needs_values_first():
    with pytest.raises(NotExact, match="g has no float value"):
        learn(recall(gamma=sympy.Symbol("g")), QLearning(), steps=10)


def test_a_seed_that_was_not_run_is_unknown():
    with pytest.raises(UnknownLabel, match="this run has no seed 9; its seeds are 0, 1"):
        learn(RECALL, QLearning(), steps=10, seeds=2).policy(9)


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (decreasing(2.0), r"step of QLearning must lie in \(0, 1\], not 2"),
        (decreasing(0.5, halving=0), r"halving of QLearning must lie in \(0, inf\), not 0"),
        (per_visit(1, power=1.5), r"power of QLearning must lie in \(0, 1\], not 1.5"),
        (per_visit("fast"), "step of QLearning is a number"),
    ],
)
def test_schedules_out_of_range_are_refused(step, message):
    with pytest.raises(WorkbenchError, match=message):
        QLearning(step=step)


def test_a_seed_run_after_another_counts_its_own_updates():
    P = gravity()
    learner = QLearning(step=per_visit())
    together = learn(P, learner, steps=3000, seeds=[1, 2], threads=1)
    alone = learn(P, learner, steps=3000, seeds=[2])
    assert np.array_equal(together.tables["q"][1], alone.tables["q"][0])


# ---------------------------------------------------------------------- runs of one's own, and
# parts


def test_rewards_of_ones_own_learner_are_a_run_like_any_other():
    learned = learn(RECALL, Sarsa(), steps=2500, seeds=[7, 3], every=1000)
    own = Run.from_rewards(
        learned.rewards, every=1000, steps=2500, seeds=[7, 3], learner="mine", P=RECALL
    )
    for name in ("ends", "per_100"):
        assert np.array_equal(getattr(own, name), getattr(learned, name))
    assert np.array_equal(own.late(), learned.late())
    assert own.to_frame().seed.tolist() == [7, 7, 7, 3, 3, 3]
    assert repr(own).startswith(f"Run of mine on {RECALL.name}: 2 seeds, 2,500 steps each")
    with pytest.raises(WorkbenchError, match="does not hold the tables"):
        own.policy(7)
    with pytest.raises(WorkbenchError, match="mine has no softmax policy"):
        own.softmax(7)
    with pytest.raises(ValueError, match="read-only"):
        own.rewards[0, 0] = 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rewards": [1, 2]}, r"rewards\[seed, block\], not of shape \(2,\)"),
        ({"rewards": [[]]}, "not of shape"),
        ({"rewards": [[1, np.nan]]}, "not finite"),
        ({"rewards": [[1, 2]], "every": 0}, "every must be at least 1"),
        ({"rewards": [[1, 2]], "every": 10, "steps": 21}, "2 blocks of 10 do not make 21 steps"),
        ({"rewards": [[1, 2]], "every": 10, "steps": 10}, "2 blocks of 10 do not make 10 steps"),
        ({"rewards": [[1, 2]], "seeds": [1, 2]}, "rewards has 1 rows, but the seeds are 1, 2"),
        ({"rewards": [[1], [2]], "seeds": [1, 1]}, "seed 1 is given twice"),
        ({"rewards": [[1, 2]], "measured": [[1]]}, r"measured has shape \(1, 1\)"),
        ({"rewards": [[1, 2], [3]]}, r"rewards\[seed, block\] of numbers, not \[\[1, 2\], \[3\]\]"),
        ({"rewards": [["1", "2"]]}, r"rewards\[seed, block\] of numbers, not"),
        ({"rewards": [[Fraction(1, 2), "2"]]}, r"rewards\[seed, block\] of numbers, not"),
        ({"rewards": [[10**400]]}, r"rewards\[seed, block\] of numbers, not"),
        ({"rewards": "text"}, r"rewards\[seed, block\] of numbers, not 'text'"),
        ({"rewards": [[1]], "measured": [["a"]]}, r"measured\[seed, block\] of numbers, not"),
        ({"rewards": [[1]], "every": 1.5}, "every must be an integer, not 1.5"),
        ({"rewards": [[1]], "steps": "a"}, "steps must be an integer, not 'a'"),
        ({"rewards": [[1]], "steps": 0.5}, "steps must be an integer, not 0.5"),
        ({"rewards": [[1]], "seeds": ["a"]}, "a seed must be an integer, not 'a'"),
        ({"rewards": [[1]], "seeds": [-1]}, "a seed must be at least 0, not -1"),
        ({"rewards": [[1]], "seeds": "1"}, "seeds must be an integer, not '1'"),
        ({"rewards": [[1]], "learner": 5}, "learner is a learner or its name, not 5"),
        ({"rewards": [[1]], "P": "x"}, "P is a POMDP, not 'x'"),
    ],
)
def test_rewards_that_are_no_run_are_refused(arguments, message):
    with pytest.raises(WorkbenchError, match=message):
        Run.from_rewards(**arguments)


@given(st.integers(1, 4), st.integers(1, 5), st.integers(1, 7), st.booleans(), st.data())
def test_a_run_is_the_sum_of_its_seeds_and_survives_as_columns(n, blocks, every, measured, data):
    steps = (blocks - 1) * every + data.draw(st.integers(1, every))
    numbers = st.floats(-1e9, 1e9)
    table = [[data.draw(numbers) for _ in range(blocks)] for _ in range(n)]
    seeds = data.draw(st.permutations(range(10, 10 + n)))
    values = np.array(table) / 3 if measured else None
    run = Run.from_rewards(table, every=every, steps=steps, seeds=seeds, measured=values)
    parts = Run.join([run.only([seed]) for seed in seeds])
    again = Run.from_columns(run.columns())
    for other in (parts, again):
        assert other.seeds == run.seeds == tuple(seeds)
        assert np.array_equal(other.ends, run.ends)
        assert np.array_equal(other.rewards, run.rewards)
        assert (other.measured is None) == (not measured)
        assert not measured or np.array_equal(other.measured, values)


def test_runs_that_do_not_fit_together_are_not_joined():
    one, other = (Run.from_rewards([[1, 2]], every=every) for every in (5, 6))
    with pytest.raises(WorkbenchError, match="different blocks"):
        Run.join([one, other])
    with pytest.raises(WorkbenchError, match="share a seed"):
        Run.join([one, one])
