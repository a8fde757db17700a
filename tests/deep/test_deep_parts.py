"""The parts of neural learners that need jax: steps, networks, advantages, losses, targets."""

from fractions import Fraction

import numpy as np
import pytest
from toy_tasks import small_task

jax = pytest.importorskip("jax", reason="jax is not installed: pip install -e '.[deep]'")
pytest.importorskip("optax", reason="optax is not installed: pip install -e '.[deep]'")

import jax.numpy as jnp  # noqa: E402
from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from jax.test_util import check_grads  # noqa: E402
from reference_deep import (  # noqa: E402
    slow_advantages,
    slow_lstm,
    slow_network,
    slow_targets,
)

from pomdps import gravity, hallway_cookie, recall4  # noqa: E402
from workbench import augment, gradient, random_pomdp, uniform  # noqa: E402
from workbench.deep.advantage import advantages  # noqa: E402
from workbench.deep.ddqn import explore, target_values, td_loss  # noqa: E402
from workbench.deep.lstm import forget_ended, hidden_states, replay_sequence  # noqa: E402
from workbench.deep.networks import (  # noqa: E402
    count_weights,
    lstm_inputs,
    lstm_step,
    start_layer,
    start_lstm,
    start_network,
    trunk,
)
from workbench.deep.pair import MemoryPair, pair_of, views_of  # noqa: E402
from workbench.deep.ppo import Experience, ppo_loss, surrogate, value_error  # noqa: E402
from workbench.deep.settings import PPO  # noqa: E402
from workbench.deep.stepper import begin_copies, choose_actions, layout_of, step_copies  # noqa: E402

# ------------------------------------------------------------------ steps

COPIES = 20_000


def exact_steps(E, pi, n):
    """P((m, o) at step t = 0, ..., n-1, not over) and the expected reward of each step, of episodes
    that begin anew when they end."""
    prob, r = E.p.prob.floats, E.p.r.floats
    rows = np.repeat(np.arange(len(E.p.row_ptr) - 1), np.diff(E.p.row_ptr))
    s, a = rows // len(E.A), rows % len(E.A)
    weight = prob * pi[E.omega.o[s], a]
    at = E.mu.prob.floats.copy()
    seen, gained = [], []
    for _ in range(n):
        seen.append(np.bincount(E.omega.o, at, minlength=len(E.O)))
        gained.append((at[s] * weight * r).sum())
        after = np.bincount(E.p.s_next, at[s] * weight, minlength=len(E.S))
        over = after[E.terminal.mask].sum()
        after[E.terminal.mask] = 0
        at = after + over * E.mu.prob.floats
    return np.array(seen), np.array(gained)


@pytest.mark.parametrize("memory", ["none", "B2", "K1", "O1", "OA2"])
def test_steps_have_the_distribution_of_the_exact_model(memory):
    P = random_pomdp(3, emissions=2)
    E = augment(P, memory)
    policy = np.random.default_rng(0).dirichlet(np.ones(len(E.A)), len(E.O))
    pair = pair_of(E)
    layout, tables = layout_of(pair, None)
    views = views_of(E)
    places = {tuple(view): i for i, view in enumerate(views.tolist())}
    expected, rewards = exact_steps(E, policy, 5)
    moved = jax.jit(step_copies, static_argnums=0)
    key = jax.random.key(7)
    copies = begin_copies(layout, tables, jax.random.bits(key, (COPIES,), jnp.uint32))
    for t in range(5):
        seen = np.array([places[tuple(view)] for view in np.asarray(copies.view).tolist()])
        found = np.bincount(seen, minlength=len(E.O)) / COPIES
        # five standard deviations of a share
        assert np.abs(found - expected[t]).max() < 5 * 0.5 / np.sqrt(COPIES)
        key, one, two = jax.random.split(key, 3)
        action = choose_actions(jnp.asarray(policy[seen]), jax.random.uniform(one, (COPIES,)))
        words = jax.random.bits(two, (COPIES, 2), jnp.uint32)
        copies, outcome = moved(layout, tables, copies, action, words)
        assert float(outcome.r.mean()) == pytest.approx(rewards[t], abs=5 * 2 / np.sqrt(COPIES))
        assert not outcome.cut.any()


def test_an_outcome_is_drawn_by_the_thresholds_of_the_tabular_learners():
    P = small_task(
        "die",
        lambda s, a: {(f"{i}", i): Fraction(1, 5) for i in range(5)},
        "0",
        A=["roll"],
        omega=lambda s: {s: 1},
        gamma=Fraction(1, 2),
    )
    layout, tables = layout_of(MemoryPair(P, "none"), 2)
    words = jnp.array([0, 858993458, 858993459, 4294967295], jnp.uint32)  # 2^32 / 5 = 858993459.2
    copies = begin_copies(layout, tables, words)
    both = jnp.stack([words, words], axis=1)
    after, outcome = step_copies(layout, tables, copies, jnp.zeros(4, jnp.int32), both)
    assert outcome.r.tolist() == [0, 0, 1, 4]
    assert after.age.tolist() == [1] * 4
    after, outcome = step_copies(layout, tables, after, jnp.zeros(4, jnp.int32), both)
    assert outcome.cut.tolist() == [True] * 4
    assert outcome.view[:, 0].tolist() == [0, 0, 1, 4]  # what was seen at the cut
    assert after.view[:, 0].tolist() == [0] * 4  # a new episode
    assert after.age.tolist() == [0] * 4


def test_the_wrapper_around_the_environment_shows_what_the_pair_shows():
    gymnasium = pytest.importorskip("gymnasium")
    from workbench import MemoryWrapper, to_gymnasium

    P = gravity()
    env = MemoryWrapper(to_gymnasium(P), "OA2")
    pair = MemoryPair(P, "OA2")
    rng = np.random.default_rng(1)
    layout, tables = layout_of(pair, None)
    moved = jax.jit(step_copies, static_argnums=0)
    steps, many = 15, 400
    wrapped = np.zeros((steps, 3))
    for episode in range(many):
        seen, _ = env.reset(seed=episode)
        for t in range(steps):
            full = sum(cell[0] for cell in seen["memory"])
            wrapped[t] += [full == 0, full == 1, seen["observation"] == 0]
            action = {"action": int(rng.integers(4)), "write": int(rng.integers(2))}
            seen, _, over, _, _ = env.step(action)
            assert not over
    key = jax.random.key(0)
    copies = begin_copies(layout, tables, jax.random.bits(key, (COPIES,), jnp.uint32))
    first = int(copies.view[0, 0])
    for t in range(steps):
        full = (np.asarray(copies.view)[:, 1:] > 0).sum(axis=1)
        at_start = np.asarray(copies.view)[:, 0] == first
        mine = [(full == 0).mean(), (full == 1).mean(), at_start.mean()]
        assert np.abs(wrapped[t] / many - mine).max() < 5 * 0.5 / np.sqrt(many)
        key, one, two = jax.random.split(key, 3)
        action = jax.random.randint(one, (COPIES,), 0, 8)
        copies, _ = moved(
            layout, tables, copies, action, jax.random.bits(two, (COPIES, 2), jnp.uint32)
        )
    assert gymnasium is not None


def test_actions_are_drawn_by_their_probabilities():
    pi = jnp.array([[0.25, 0.0, 0.75]] * 4)
    assert choose_actions(pi, jnp.array([0.0, 0.2499, 0.25, 0.9999])).tolist() == [0, 0, 2, 2]
    chances = jnp.array([0.0, 0.049, 0.051, 0.099, 0.1, 0.9])
    assert explore(chances, 0.1, jnp.full(6, 3), 4).tolist() == [0, 1, 2, 3, 3, 3]
    assert explore(chances, 0.0, jnp.full(6, 3), 4).tolist() == [3] * 6


# ------------------------------------------------------------------ networks


@pytest.mark.parametrize("batch", [1, 300])
def test_the_look_up_is_a_layer_on_the_long_binary_vector(batch):
    pair = MemoryPair(hallway_cookie(), "OA2")
    layout, tables = layout_of(pair, None)
    weights = start_network(jax.random.key(0), layout, (8, 6), {"q": (3, 1.0)})
    rng = np.random.default_rng(0)
    view = np.stack([rng.integers(0, n, batch) for n in pair.symbols], axis=1)
    found = trunk(weights, tables, jnp.asarray(view))
    plain = jax.tree.map(np.asarray, weights)
    slow = [slow_network(plain, pair.features, one) for one in view]
    assert np.asarray(found) == pytest.approx(np.array(slow), abs=1e-5)
    count = sum(leaf.size for leaf in jax.tree.leaves(weights))
    assert count == count_weights(layout.widths, (8, 6), 3)


def test_an_lstm_step_is_that_of_the_textbook():
    lstm = start_lstm(jax.random.key(3), 5, 4)
    lstm["b"] = jnp.linspace(-1, 1, 16)
    rng = np.random.default_rng(0)
    x, c, h = rng.normal(size=5), rng.normal(size=4), rng.normal(size=4)
    found = lstm_step(lstm, (jnp.asarray(c), jnp.asarray(h)), lstm_inputs(lstm, jnp.asarray(x)))
    slow = slow_lstm(jax.tree.map(np.asarray, lstm), x, c, h)
    for mine, theirs in zip(found, slow, strict=True):
        assert np.asarray(mine) == pytest.approx(theirs, abs=1e-5)


def test_a_replayed_sequence_forgets_where_an_episode_was_over():
    pair = MemoryPair(recall4(), "none")
    layout, tables = layout_of(pair, None)
    weights = start_network(jax.random.key(0), layout, (4,), {})
    weights["lstm"] = start_lstm(jax.random.key(1), 4, 3)
    weights["heads"] = {
        "h": start_layer(jax.random.key(2), 3, 4, 1.0),
        "v": start_layer(jax.random.key(4), 3, 1, 1.0),
    }
    view = jnp.zeros((6, 1, 1), jnp.int32)
    over = jnp.array([[0], [1], [0], [0], [0], [0]], bool)
    start = (jnp.zeros((1, 3)), jnp.zeros((1, 3)))
    log_pis, v = replay_sequence(weights, tables, view, over, start)
    assert v[2:4, 0].tolist() == v[:2, 0].tolist()  # the second episode is the first again
    assert len(set(v[2:, 0].tolist())) == 4  # and within one the state goes on
    assert np.asarray(jnp.exp(log_pis).sum(axis=-1)) == pytest.approx(1.0, abs=1e-6)


def test_a_replayed_batch_is_its_sequences():
    """However many are run at once."""
    pair = MemoryPair(gravity(), "none")
    layout, tables = layout_of(pair, None)
    weights = start_network(jax.random.key(0), layout, (4,), {})
    weights["lstm"] = start_lstm(jax.random.key(1), 4, 3)
    weights["heads"] = {
        "h": start_layer(jax.random.key(2), 3, 4, 1.0),
        "v": start_layer(jax.random.key(4), 3, 1, 1.0),
    }
    view = jax.random.randint(jax.random.key(5), (6, 8, 1), 0, layout.symbols[0])
    over = jax.random.uniform(jax.random.key(6), (6, 8)) < 0.3
    c, h = jax.random.normal(jax.random.key(7), (2, 8, 3))
    log_pis, v = replay_sequence(weights, tables, view, over, (c, h))
    for i in range(8):
        one = slice(i, i + 1)
        alone = replay_sequence(weights, tables, view[:, one], over[:, one], (c[one], h[one]))
        assert np.asarray(log_pis[:, i]) == pytest.approx(np.asarray(alone[0][:, 0]), abs=1e-5)
        assert np.asarray(v[:, i]) == pytest.approx(np.asarray(alone[1][:, 0]), abs=1e-5)


def test_the_derivative_of_an_lstm_is_that_of_its_steps():
    keys = jax.random.split(jax.random.key(5), 5)
    W, inputs = jax.random.normal(keys[0], (3, 12)), jax.random.normal(keys[1], (7, 2, 12))
    over = jax.random.uniform(keys[2], (7, 2)) < 0.3
    c, h = jax.random.normal(keys[3], (2, 2, 3))
    weight = jax.random.normal(keys[4], (7, 2, 3))

    def stepped(W, inputs, c, h):
        found, state = [], (c, h)
        for x, ended in zip(inputs, over, strict=True):
            state = lstm_step({"h": W}, state, x)
            found.append(state[1])
            state = forget_ended(state, ended)
        return (jnp.stack(found) * weight).sum()

    def at_once(W, inputs, c, h):
        return (hidden_states(W, inputs, over, (c, h)) * weight).sum()

    given = (W, inputs, c, h)
    assert over.any()
    assert float(at_once(*given)) == pytest.approx(float(stepped(*given)), rel=1e-5)
    slow, fast = (jax.grad(f, argnums=(0, 1, 2, 3))(*given) for f in (stepped, at_once))
    for mine, theirs in zip(fast, slow, strict=True):
        assert np.asarray(mine) == pytest.approx(np.asarray(theirs), abs=1e-5)


# ------------------------------------------------------------------ advantages, losses, targets


@given(st.integers(0, 2**32 - 1), st.integers(1, 9), st.sampled_from([0.0, 0.5, 0.95, 1.0]))
@settings(max_examples=15)
def test_advantages_are_their_sums(seed, n, lam):
    rng = np.random.default_rng(seed)
    r, v, over = rng.normal(size=(n, 3)), rng.normal(size=(n, 3)), rng.random((n, 3)) < 0.3
    v_last = rng.normal(size=3)
    slow = slow_advantages(r, v, over, v_last, 0.9, lam)
    fast = advantages(*map(jnp.asarray, (r, v, over, v_last)), 0.9, lam)
    assert np.asarray(fast) == pytest.approx(slow, abs=1e-5)


def test_the_gradient_of_the_loss_is_that_of_finite_differences():
    rng = np.random.default_rng(0)
    learner = PPO(hidden=(4,), entropy=0.02, clip=0.2)
    with jax.enable_x64(True):
        logits, v = jnp.asarray(rng.normal(size=(12, 3))), jnp.asarray(rng.normal(size=12))
        old = jax.nn.log_softmax(logits + 0.3 * rng.normal(size=(12, 3)))
        action = jnp.asarray(rng.integers(0, 3, 12))
        taken = Experience(
            None,
            action,
            jnp.take_along_axis(old, action[:, None], axis=1)[:, 0],
            jnp.asarray(v + 0.3 * rng.normal(size=12)),
            jnp.asarray(rng.normal(size=12)),
        )

        def loss_of(logits, v):
            return ppo_loss(learner, jax.nn.log_softmax(logits), v, taken)

        check_grads(loss_of, (logits, v), order=1, modes=["rev"], eps=1e-6)
        slope = np.asarray(jax.grad(loss_of)(logits, v))
    assert np.abs(slope).max() > 1e-3


def test_clipping_stops_the_gradient_only_where_a_step_went_too_far():
    A = jnp.array([1.0, 1.0, -1.0, -1.0])
    rho = jnp.array([1.5, 0.5, 1.5, 0.5])
    slope = jax.grad(lambda x: surrogate(x, jnp.zeros(4), A, 0.2))(jnp.log(rho))
    assert slope.tolist() == pytest.approx([0, 0.125, -0.375, 0])
    assert float(value_error(jnp.array([2.0]), jnp.array([0.0]), jnp.array([1.0]), 0.2)) == 0.5
    assert float(value_error(jnp.array([1.0]), jnp.array([0.0]), jnp.array([1.0]), 0.2)) == (
        pytest.approx(0.32)
    )


@pytest.mark.parametrize("memory", ["B1", "OA1"])
def test_with_full_batches_the_surrogate_follows_the_exact_policy_gradient(memory):
    """All episodes of 4-action recall under the uniform policy are equally likely: together they
    are a batch whose mean is the expectation."""
    E = augment(recall4(), memory)
    exact = np.asarray(gradient(E, uniform(E)).raw, dtype=float)
    exact = (exact - exact.mean(axis=1, keepdims=True)) / len(E.A)  # through the softmax
    start = E.S.index(next(iter(E.mu)))
    o, a, G = [], [], []
    for first in E.A:
        (s1, _), *_ = E.p(E.S[start], first)
        for second in E.A:
            ((_, r),) = E.p(s1, second)
            o += [E.omega.o[start], E.omega.o[E.S.index(s1)]]
            a += [E.A.index(first), E.A.index(second)]
            G += [float(r), float(r)]
    o, a, G = jnp.asarray(np.array(o)), jnp.asarray(np.array(a)), jnp.asarray(np.array(G))
    old = jnp.full(len(G), -np.log(len(E.A)))

    def objective(h):
        log_pi = jax.nn.log_softmax(h)[o, a]
        return 2 * surrogate(log_pi, old, G, 0.2)  # two steps an episode

    found = jax.grad(objective)(jnp.zeros((len(E.O), len(E.A))))
    assert np.asarray(found) == pytest.approx(exact, abs=1e-5)
    assert np.abs(exact).max() > 0.01


def test_targets_are_those_of_double_q_learning():
    q_next = np.array([[1.0, 3.0, 2.0], [0.0, 0.0, -1.0], [5.0, 1.0, 0.0]])
    q_target = np.array([[10.0, 20.0, 30.0], [7.0, 8.0, 9.0], [1.0, 1.0, 1.0]])
    r, ended = np.array([0.5, 1.0, 2.0]), np.array([False, False, True])
    found = target_values(*map(jnp.asarray, (q_next, q_target, r, ended)), 0.5)
    assert found.tolist() == [0.5 + 10, 1 + 3.5, 2.0]
    assert found.tolist() == slow_targets(q_next, q_target, r, ended, 0.5).tolist()
    q = jnp.array([[1.0, 5.0], [2.0, 0.0]])
    assert float(td_loss(q, jnp.array([1, 0]), jnp.array([2.0, 1.5]))) == (2.5 + 0.125) / 2
